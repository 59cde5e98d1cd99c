r"""What residuals have in common with time and with the torque itself.

Residuals of a right model are noise and friction. A sensor that warms up leaves a trend along the
recording in them, one that saturates, or whose gain grows with the load, what is odd in the
predicted torque but not linear: :math:`\hat\tau|\hat\tau|`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.problem import RegressionProblem

# A pattern is there if it explains this part of a joint's squared residuals and is this part of its
# torque. Of real recordings and clean simulated ones nothing came near both, of efforts that drift,
# saturate or grow 0.34 and 0.09 was the least.
_EXPLAINED, _SIZE = 0.3, 0.05
# More than this of squared residuals is most of them.
_MOSTLY = 0.5
# A joint with less torque than this part of the largest carries next to nothing but friction, which
# has patterns of its own.
_CARRIES = 0.05
# Stretches of at least this part of all rows have a trend of their own.
_STRETCH = 0.2
_LEAST_ROWS = 50


class Pattern(enum.Enum):
    """Patterns of a joint's residuals; the values are clauses for sentences."""

    TREND = 'drifts along the recording'
    SATURATION = 'is too small where it should be large, as if it saturated'
    GROWTH = 'is too large where it should be large, as if its gain grew with the load'

    @property
    def next_step(self) -> str:
        """The next step, in words."""
        if self is Pattern.TREND:
            return 'Warm the drives up, zero the torque sensors, and record again.'
        return (
            'Check limits of the drives and the torque constants at high load; record slower '
            'motion or a smaller load.')


@dataclass(frozen=True)
class ResidualPattern:
    """A pattern in the residuals of a joint.

    Attributes:
        joint: Name of the joint.
        pattern: What they follow.
        explained: Part of the squared residuals that it explains.
    """

    joint: str
    pattern: Pattern
    explained: float


def residual_patterns(
    problem: RegressionProblem, values: np.ndarray, size: float = _SIZE
) -> tuple[ResidualPattern, ...]:
    """Patterns in the residuals of every joint that has any.

    Args:
        problem: Rows.
        values: Parameters, shape ``(p,)``.
        size: Part of its torque that a pattern is at least.
    """
    residual, trends = problem.residuals(values), _trends(problem)
    sizes = np.array([
        np.std(torque[rows]) if rows.any() else 0.0
        for torque, rows in zip(problem.torque.T, problem.usable.T, strict=True)])
    found = []
    for joint, name in enumerate(problem.model.robot.joint_names):
        rows = problem.usable[:, joint]
        left, torque = residual[rows, joint], problem.torque[rows, joint]
        if len(left) < _LEAST_ROWS or not sizes[joint] > _CARRIES * sizes.max():
            continue
        predicted, one = torque - left, np.ones(len(left))
        odd = predicted * np.abs(predicted)
        least = size * float(np.linalg.norm(torque - torque.mean()))
        trend = _following(left, trends[rows], one[:, None])
        bent = _following(left, odd[:, None], np.column_stack([one, predicted]))
        for follows, pattern in (
            (trend, Pattern.TREND),
            (bent, Pattern.GROWTH if bent @ odd > 0.0 else Pattern.SATURATION),
        ):
            explained = float(follows @ follows / max(left @ left, 1e-300))
            if explained > _EXPLAINED and np.linalg.norm(follows) > least:
                found.append(ResidualPattern(name, pattern, explained))
    return tuple(found)


def drifting_joints(problem: RegressionProblem, values: np.ndarray) -> tuple[str, ...]:
    """Joints most of whose residuals are a trend along the recording, however small.

    Args:
        problem: Rows.
        values: Parameters, shape ``(p,)``.
    """
    return tuple(
        one.joint for one in residual_patterns(problem, values, 0.0)
        if one.pattern is Pattern.TREND and one.explained > _MOSTLY)


def _trends(problem: RegressionProblem) -> np.ndarray:
    """A ramp for each long stretch of rows, shape ``(T, k)``."""
    count = len(problem.torque)
    ramps = np.zeros((count, len(problem.segments)))
    for column, (start, stop) in zip(ramps.T, problem.segments, strict=True):
        if stop - start >= _STRETCH * count:
            column[start:stop] = np.linspace(-1.0, 1.0, stop - start)
    return ramps[:, ramps.any(axis=0)]


def _following(left: np.ndarray, columns: np.ndarray, given: np.ndarray) -> np.ndarray:
    """The part of residuals that follows columns, beside what given ones explain."""
    basis = np.linalg.qr(given)[0]
    beside = columns - basis @ (basis.T @ columns)
    return np.asarray(beside @ np.linalg.lstsq(beside, left, rcond=None)[0])
