"""What the report of a planned motion is made from, and how its information grows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sysid_ros.excitation.design.constraints import MotionState
from sysid_ros.excitation.design.information import expected_deviations
from sysid_ros.excitation.excitation import Excitation, Motion
from sysid_ros.excitation.geometry.clearance import UNIT, Box, Surroundings
from sysid_ros.excitation.geometry.exact_shapes import GeometryClearance, ShapeClearance

if TYPE_CHECKING:  # the report of a fit needs neither
    from sysid_ros.excitation.design.design import Designer
    from sysid_ros.excitation.safety.verification import Verification

# Samples in the shortest period of a motion that let it be played and looked at.
_PER_PERIOD = 20
# Points in time at which the information is judged.
_INSTANTS = 60
# Instants at which distances are looked at.
_LOOKS = 200
# Singular values below this part of the largest are rounding: they are roots of eigenvalues.
_ROUNDING = 1e-7


@dataclass(frozen=True, eq=False)
class PlannedMotion:
    """A motion that was designed, and what is known of it before it is played.

    Attributes:
        name: Of the motion, as its folder is called.
        designer: Robot, limits, and what is known before the motion.
        excitation: The motion.
        rate: Least rate of its samples in [Hz].
        verification: What was found on it.
        stopping_time: Time in which it can be stopped anywhere in [s].
    """

    name: str
    designer: Designer
    excitation: Excitation
    rate: float
    verification: Verification
    stopping_time: float

    @cached_property
    def motion(self) -> Motion:
        """The motion in samples that show it well."""
        return self.excitation.grid(max(self.rate, least_rate(self.excitation)))

    @cached_property
    def torque(self) -> np.ndarray:
        """Torque at the prior in [N·m] or [N], shape ``(T, n)``."""
        from sysid_ros.excitation.safety.verification import predicted_torque

        return predicted_torque(self.designer.model, self.motion)

    @cached_property
    def deviations(self) -> tuple[np.ndarray, np.ndarray]:
        """Expected deviations of the base parameters by some instants.

        Returns:
            Instants in [s], shape ``(S,)``, and deviations by then in parts of usual changes,
            shape ``(S, r)``.
        """
        information, motion = self.designer.information, self.motion
        total, first, found = information.known, 0, []
        for sample in _instants(motion):
            total = total + self._information(first, int(sample) + 1)
            first = int(sample) + 1
            found.append(expected_deviations(information, total))
        return motion.t[_instants(motion)], np.array(found)

    @cached_property
    def singular_values(self) -> np.ndarray:
        """Singular values of the base regressor of the motion alone, the largest first.

        Rows are brought to one noise and columns to one size; directions without any effect are
        left out.
        """
        gained = self._information(0, len(self.motion.t))
        size = np.sqrt(np.diag(gained))
        active = size > 0.0
        if not active.any():
            return np.zeros(0)
        correlation = gained[np.ix_(active, active)] / np.outer(size[active], size[active])
        values = np.sqrt(np.maximum(np.linalg.eigvalsh(correlation), 0.0))[::-1]
        return np.asarray(values[values > _ROUNDING * values[0]])

    def _information(self, first: int, stop: int) -> np.ndarray:
        """Information of some samples alone, shape ``(r, r)``."""
        designer, motion = self.designer, self.motion
        part = slice(first, stop)
        rows = designer.settings.rows_per_second * (motion.t[1] - motion.t[0])
        regressor = designer.model.regressor(motion.q[part], motion.v[part], motion.a[part])
        return designer.information.matrix(regressor, rows) - designer.information.known

    @cached_property
    def clearances(self) -> tuple[tuple[str, float, float], ...]:
        """What can be hit, the smallest room beyond what is required in [m], and when in [s].

        The nearest first, at instants that are spread evenly. Distances of shapes are asked for
        at each of them: those of the verification are lower bounds in between.
        """
        rows = np.unique(np.linspace(0, len(self.motion.t) - 1, _LOOKS).round().astype(int))
        state, found = self._state(rows), dict[str, tuple[float, float]]()
        for check in (*self.designer.obstacles, *self.designer.checks):
            exact = ShapeClearance(check) if isinstance(check, GeometryClearance) else check
            slack = exact.slack(state)
            for k, (label, row) in enumerate(zip(
                    check.labels(), slack.argmin(axis=0), strict=True)):
                here = UNIT * float(slack[row, k]), float(self.motion.t[rows[row]])
                # A link of several shapes counts once.
                found[label] = min(found.get(label, here), here)
        return tuple(sorted(
            ((label, *where) for label, where in found.items()), key=lambda each: each[1]))

    def boxes(self) -> list[Box]:
        """Boxes that are kept free, and the one that the tool stays in, in the base frame."""
        around = Surroundings.of((*self.designer.obstacles, *self.designer.checks))
        return [*around.obstacles, *around.kept_in]

    def _state(self, rows: np.ndarray) -> MotionState:
        motion = self.motion
        return MotionState(self.designer.model.robot, np.array([
            part[rows] for part in (motion.q, motion.v, motion.a, motion.jerk, self.torque)]))


def least_rate(excitation: Excitation) -> float:
    """Samples per second that show a motion well in [Hz]."""
    return _PER_PERIOD * excitation.basis.highest_frequency * excitation.speed


def _instants(motion: Motion) -> np.ndarray:
    """Samples by which the information is judged, at even times, the last one included."""
    last = len(motion.t) - 1
    return np.unique(np.linspace(last // _INSTANTS, last, _INSTANTS).round().astype(int))

