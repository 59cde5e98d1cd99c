"""Units that recordings may be in, with their factors to SI."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping

from sysid_ros.errors import did_you_mean

TIME_UNITS: Mapping[str, float] = {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9}

DEGREE, TURN = math.pi / 180, 2.0 * math.pi
_ANGLES = {
    'rad': (1.0, 'rad'), 'deg': (DEGREE, 'rad'), 'rev': (TURN, 'rad'), 'm': (1.0, 'm'),
    'mm': (1e-3, 'm')}
_KILOGRAM, _POUND, _OUNCE, _INCH = 9.80665, 4.4482216152605, 0.27801385095378, 0.0254
#: Units of torque with their factors to N·m.
TORQUE_UNITS = {
    'N·m': 1.0, 'Nm': 1.0, 'N*m': 1.0, 'N·mm': 1e-3, 'Nmm': 1e-3, 'mN·m': 1e-3, 'mNm': 1e-3,
    'N·cm': 1e-2, 'Ncm': 1e-2, 'kN·m': 1e3, 'kNm': 1e3, 'kgf·m': _KILOGRAM,
    'kgf·cm': 1e-2 * _KILOGRAM, 'lbf·ft': 12.0 * _INCH * _POUND, 'lbf·in': _INCH * _POUND,
    'ozf·in': _INCH * _OUNCE,
}
_EFFORTS = {unit: (factor, 'N·m') for unit, factor in TORQUE_UNITS.items()} | {'N': (1.0, 'N')}

_SPEEDS = {f'{unit}/s': (factor, f'{si}/s') for unit, (factor, si) in _ANGLES.items()}

# Accepted unit -> (factor to SI, SI unit), per quantity.
UNITS: Mapping[str, Mapping[str, tuple[float, str]]] = {
    'position': _ANGLES,
    'velocity': _SPEEDS,
    'acceleration': {
        f'{unit}/{second}': (factor, f'{si}/s²')
        for unit, (factor, si) in _ANGLES.items() for second in ('s²', 's^2', 's2')
    },
    'effort': _EFFORTS,
    # What actuators are told is of a kind that the robot's settings say.
    'command': _ANGLES | _SPEEDS | _EFFORTS | {
        'A': (1.0, 'A'), 'mA': (1e-3, 'A'), 'V': (1.0, 'V'), 'mV': (1e-3, 'V'),
        '1': (1.0, '1'), '%': (1e-2, '1'), 'rpm': (math.pi / 30.0, 'rad/s')},
}

# Words for units, as regular expressions, and the symbols for them.
_UNIT_WORDS = (
    ('degrees?|°', 'deg'), ('radians?', 'rad'), ('turns?|revolutions?|revs', 'rev'),
    ('milli-?met(er|re)s?', 'mm'),
    ('milli-?newtons?', 'mn'), ('newtons?', 'n'), ('met(er|re)s?', 'm'),
    ('seconds?|sec', 's'), (r'\s*per\s*', '/'),
)


def torque_units_of(scale: float, factor: float) -> list[str]:
    """Units of torque of which so many make about one N·m, the nearest first.

    Args:
        scale: How many.
        factor: By how much that may be off.
    """
    near: dict[float, str] = {}
    for unit, size in TORQUE_UNITS.items():
        off = abs(math.log(scale * size))
        if size != 1.0 and off < math.log(factor):
            near.setdefault(off, unit)
    return [near[off] for off in sorted(near)]


def nearest_unit(unit: str, known: Collection[str]) -> str | None:
    """The ``fix`` for an unknown unit: by its words first, then by its letters."""
    short = unit.lower()
    for word, symbol in _UNIT_WORDS:
        short = re.sub(word, symbol, short)
    same = next((one for one in known if _letters(one) == _letters(short)), None)
    return did_you_mean(same or short, known)


def _letters(unit: str) -> str:
    return re.sub(r'[\s·*.()_-]', '', unit).lower()
