r"""Commands of servos that their joints do not follow as servos do: columns or units are others.

The controlled quantity x of joint j, its position or velocity, is compared with the commands
:math:`u_k` of all joints at earlier times. With both about their means, at the lag :math:`\ell`
where they are most alike,

.. math::
    \rho_{jk} = \frac{\overline{x_j\, u_k(t - \ell)}}{\sigma_{x_j} \sigma_{u_k}}, \qquad
    g_{jk} = \rho_{jk}\, \frac{\sigma_{x_j}}{\sigma_{u_k}}.

A servo under load stands off its command and goes late, but a correlation near one with a gain of
a degree in radians, of minus one, or with the command of another joint, no servo makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.recording.units import DEGREE

# What counts as motion and as a change of a command in [rad] or [m], or per second.
_MOVES = 1e-2
# Longest lag of a servo that is looked at in [s], lags tried, and most rows.
_LAG, _LAGS, _ROWS = 0.3, 16, 4000
# A joint follows a command from this correlation on, and below that one it surely does not; where
# most follow by a degree in radians, less of it tells.
_FOLLOWS, _DOES_NOT, _ALIKE = 0.9, 0.5, 0.7
# Gains within so many times of one, or of that of a unit, are that.
_ABOUT = 2.0
# Part of the moving joints that show a mistake of all commands; and part of the largest change from
# which a command moves its joint more than loads do.
_MOST, _LARGE = 0.5, 0.2
# Units that commands are given in by mistake, with their size in the one that they are taken for.
_SMALLER = {'rad': ('deg', DEGREE), 'm': ('mm', 1e-3), 'rad/s': ('deg/s', DEGREE),
            'm/s': ('mm/s', 1e-3)}


class Followed(NamedTuple):
    """How alike controlled quantities and commands are.

    Attributes:
        correlation: Largest correlation of joint j with the command of joint k at an earlier
            time, shape ``(n, n)``.
        gain: Change of the joint per change of the command there, shape ``(n, n)``.
        against: Least correlation of each joint with its own command, shape ``(n,)``.
        slope: Change of the joint per change of its own command there, shape ``(n,)``.
    """

    correlation: np.ndarray
    gain: np.ndarray
    against: np.ndarray
    slope: np.ndarray


def require_followed(
    names: tuple[str, ...], t: np.ndarray, x: np.ndarray,
    command_at: Callable[[np.ndarray], np.ndarray], unit: str, source: str,
) -> None:
    """Refuse commands that never change, or are of another unit, sign or joint than said.

    Args:
        names: Joints whose servos control one quantity.
        t: Times in [s], shape ``(T,)``.
        x: What is controlled, shape ``(T, n)``.
        command_at: Commands at given times, shape ``(K, n)`` for K of them.
        unit: Unit of quantity and commands.
        source: Where they were recorded.

    Raises:
        RecordingError: They are.
    """
    u = command_at(t)
    moves, change = np.ptp(x, axis=0) >= _MOVES, np.ptp(u, axis=0)
    if moves.any() and not change.any():
        raise RecordingError(
            'no command changes while joints move, so that nothing that was recorded drives them',
            where=source, found=', '.join(
                f'{name} moves by {size:.3g} {unit}'
                for name, size in zip(names, np.ptp(x, axis=0), strict=True) if size >= _MOVES),
            fix='Name the columns or the topic of what the drives are told in recording: '
            '{command: …}, and record while a controller commands them')
    moving = moves & (change >= max(_MOVES, _LARGE * float(change.max())))
    if not moving.any():
        return
    found = followed(t, x, command_at)
    for mistake in _mistakes(names, found, moving, unit, source):
        raise mistake


def unchanged_commands(
    names: tuple[str, ...], x: np.ndarray, u: np.ndarray, unit: str
) -> Iterator[str]:
    """Sentences on joints that move far while their commands stay the same.

    Args:
        names: Joints whose servos control one quantity.
        x: What is controlled, shape ``(T, n)``.
        u: Commands at the same times, shape ``(T, n)``.
        unit: Unit of both.
    """
    largest = float(np.ptp(x, axis=0).max())
    for name, own, told in zip(names, x.T, u.T, strict=True):
        if not np.ptp(told) and np.ptp(own) >= max(_MOVES, _DOES_NOT * largest):
            yield (
                f'the command of {name} never changes while the joint moves by '
                f'{np.ptp(own):.3g} {unit}, as far as any: check that its column is what the drive '
                'is told, and that nothing else moves the joint')


def followed(
    t: np.ndarray, x: np.ndarray, command_at: Callable[[np.ndarray], np.ndarray]
) -> Followed:
    """How alike controlled quantities and earlier commands are; see :class:`Followed`.

    Args:
        t: Times in [s], shape ``(T,)``.
        x: What is controlled, shape ``(T, n)``.
        command_at: Commands at given times, shape ``(K, n)`` for K of them.
    """
    rows = t >= t[0] + min(_LAG, 0.25 * (t[-1] - t[0]))
    picked = np.flatnonzero(rows)[::max(1, np.count_nonzero(rows) // _ROWS)]
    times, mine = t[picked], x[picked] - x[picked].mean(axis=0)
    size = np.maximum(mine.std(axis=0), np.finfo(float).tiny)
    rho, gains = [], []
    for lag in np.linspace(0.0, t[picked[0]] - t[0], _LAGS):
        u = command_at(times - lag)
        u = u - u.mean(axis=0)
        spread = u.std(axis=0)
        spread[spread == 0.0] = np.inf
        rho.append(mine.T @ u / len(u) / np.outer(size, spread))
        gains.append(rho[-1] * np.outer(size, 1.0 / spread))
    alike, gain = np.array(rho), np.array(gains)
    best = alike.argmax(axis=0)[None]
    own, slopes = (np.diagonal(part, axis1=1, axis2=2) for part in (alike, gain))
    least = own.argmin(axis=0)[None]
    return Followed(
        np.take_along_axis(alike, best, axis=0)[0], np.take_along_axis(gain, best, axis=0)[0],
        np.take_along_axis(own, least, axis=0)[0], np.take_along_axis(slopes, least, axis=0)[0])


def _mistakes(
    names: tuple[str, ...], found: Followed, moving: np.ndarray, unit: str, source: str
) -> Iterator[RecordingError]:
    own, gain = np.diagonal(found.correlation), np.diagonal(found.gain)
    other, factor = _SMALLER[unit]
    small = moving & (own >= _ALIKE) & (gain > factor / _ABOUT) & (gain < factor * _ABOUT)
    if np.count_nonzero(small) > _MOST * np.count_nonzero(moving):
        said = [name for name, one in zip(names, small, strict=True) if one]
        yield RecordingError(
            f'joints move by {_as_words(factor)} of what they are told, as they do under commands '
            f'in {other}', where=source, found=f'commands of {", ".join(said)} taken for {unit}',
            fix=f'Say recording: {{command: {{unit: {other}}}}}')
    yield from _other_columns(names, found, moving, source)
    against = moving & (own < _DOES_NOT) & (found.against <= -_FOLLOWS) & (
        found.slope < -1.0 / _ABOUT) & (found.slope > -_ABOUT)
    if against.any():
        signs = ', '.join(str(-1 if one else 1) for one in against)
        yield RecordingError(
            'joints move against their commands', where=source,
            found=', '.join(name for name, one in zip(names, against, strict=True) if one),
            fix=f'Say recording: {{command: {{sign: [{signs}]}}}}, joints in the order of '
            f'{", ".join(names)}; or name the columns of these joints, if these are not theirs')


def _other_columns(
    names: tuple[str, ...], found: Followed, moving: np.ndarray, source: str
) -> Iterator[RecordingError]:
    """Joints that follow the command of another one, which does not follow it itself."""
    lost = np.flatnonzero(moving & (np.diagonal(found.correlation) < _DOES_NOT))
    pairs = [
        f'{names[j]} follows the command of {names[k]}'
        for j in lost for k in (int(np.argmax(found.correlation[j])),)
        if k in lost and found.correlation[j, k] >= _FOLLOWS
        and 1.0 / _ABOUT < found.gain[j, k] < _ABOUT]
    if pairs:
        yield RecordingError(
            'joints follow commands of other joints', where=source, found='; '.join(pairs),
            fix='Name the columns in the order of the joints in recording: {command: {columns: '
            '[…]}}, or, of a topic without names, the joints in the order of its numbers: '
            '{command: {joints: […]}}')


def _as_words(factor: float) -> str:
    return f'a {1.0 / factor:.0f}th'
