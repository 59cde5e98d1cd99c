"""Parameters for simulators, whose dry friction changes its sign at once.

What was found belongs to a sign that is smoothed over a velocity, and a simulator that has none of
it moves otherwise. The fit leaves the values by which dry friction makes the same motion; see
:mod:`sysid_ros.estimation.trajectory.friction_law_error`.
"""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import SysidError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.trajectory.friction_law_error import DRY_FRICTION
from sysid_ros.robot.parameters import ParameterSet

# Changes below this part of a value are not worth a word, and not seen in three digits.
_WORTH = 1e-2


def dry_friction_parameters(estimate: Estimate) -> tuple[ParameterSet, tuple[str, ...]]:
    """Parameters by which dry friction makes the motion of an estimate, and what to know of them.

    Args:
        estimate: The estimate; its own parameters stand where the fit left no others.
    """
    parameters, given = estimate.parameters, estimate.provenance.get(DRY_FRICTION)
    values = parameters.values.copy()
    try:
        for name, value in dict(given or {}).items():
            values[parameters.index(name)] = float(value)
        dry = parameters.with_values(values)
    except (SysidError, TypeError, ValueError):
        return parameters, ()
    told = np.abs(values - parameters.values) > _WORTH * np.abs(parameters.values)
    k = int(np.argmax(np.where(told, _changes(estimate, values), -1.0)))
    if not told[k]:
        return dry, ()
    unit = f' {parameters.units[k]}'.rstrip()
    return dry, (
        'Friction of simulators changes its sign at once, that of the fit over a velocity: written '
        'are the values by which dry friction makes the same motion, most of all '
        f'{parameters.names[k]}, {values[k]:.3g}{unit} in place of {parameters.values[k]:.3g}.',)


def _changes(estimate: Estimate, values: np.ndarray) -> np.ndarray:
    """How far other values are from those of an estimate, in standard deviations, ``(p,)``."""
    deviation = np.asarray(estimate.standard_deviation)
    known = np.isfinite(deviation) & (deviation > 0.0)
    change = np.abs(values - estimate.parameters.values)
    return np.where(known, change / np.where(known, deviation, 1.0), 0.0)
