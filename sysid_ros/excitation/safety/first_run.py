"""What the description of a robot fails to explain, learned from motions that ended well.

Masses of a description may be off by a third and its friction by a factor, so that the torque
residual of a first motion is as large as that of a contact. What one joint misses is much the same
from motion to motion, though: gravity and dry friction do not depend on speed, and the first motion
is a slow one. Later motions are held against it.
"""

from __future__ import annotations

import numpy as np


class MissedTorque:
    """Largest torque residual of n joints in motions that were played to their end.

    A joint is known that moved in both directions, so that its dry friction showed both its signs.

    Args:
        joints: Number n of joints.

    Attributes:
        level: Largest absolute residual in [N·m] or [N], shape ``(n,)``; NaN where none is known.
    """

    def __init__(self, joints: int) -> None:
        self.level = np.full(joints, np.nan)
        self._forget_motion()

    def _forget_motion(self) -> None:
        self._largest = np.zeros(len(self.level))
        self._forward = np.zeros(len(self.level), dtype=bool)
        self._backward = np.zeros(len(self.level), dtype=bool)
        self._moved, self._trusted = False, True

    def update(self, residual: np.ndarray, v: np.ndarray, slow: np.ndarray) -> None:
        """Take the residual of an instant of the motion under way.

        Args:
            residual: Torque residual in [N·m] or [N], shape ``(n,)``; NaN where it is not known.
            v: Measured velocities in [rad/s] or [m/s], shape ``(n,)``.
            slow: Velocities below which a joint is at rest, shape ``(n,)``.
        """
        self._moved = True
        self._largest = np.fmax(self._largest, np.abs(residual))
        self._forward |= np.isfinite(residual) & (v > slow)
        self._backward |= np.isfinite(residual) & (v < -slow)

    def distrust(self) -> None:
        """Learn nothing of the motion under way: something was wrong with it."""
        self._trusted = False

    def end(self, *, done: bool) -> None:
        """The motion has ended; what it showed counts where it was played to its end.

        Args:
            done: Whether it was.
        """
        if not self._moved:
            return
        if done and self._trusted:
            known = self._forward & self._backward
            self.level[known] = np.fmax(self.level, self._largest)[known]
        self._forget_motion()


def allowed_residual(
    level: np.ndarray, effort: np.ndarray, *, multiple: float, least: float, most: float
) -> tuple[np.ndarray, list[str]]:
    """Torque residual that is allowed of each joint while the description predicts torques.

    Args:
        level: What the description was seen to miss, shape ``(n,)``; NaN where that is not known.
        effort: Effort limits in [N·m] or [N], shape ``(n,)``.
        multiple: Multiple of the level that is allowed; 0 for what is allowed of unknown joints.
        least: Part of the effort limit that is allowed in any case, as of an identified model.
        most: Part of the effort limit that is allowed of joints of which nothing is known, and of
            no joint more.

    Returns:
        What is allowed in [N·m] or [N], shape ``(n,)``, and which setting of the monitor decides
        for each joint.
    """
    least = min(least, most)
    # Nothing known, nothing to multiply: as much as the description may miss at all.
    asked = np.where(np.isfinite(level) & (multiple > 0.0), multiple * level, np.inf)
    allowed = np.clip(asked, least * effort, most * effort)
    names = [
        'first_residual' if value >= most * limit
        else 'residual' if value <= least * limit else 'first_run'
        for value, limit in zip(asked, effort, strict=True)
    ]
    return allowed, names
