"""What drives a motion, where it starts, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.mechanics.integrators.variational.discrete_lagrangian import Drive


class MotionStatus(Enum):
    """How a simulation ended; the value is the sentence for people."""

    COMPLETED = 'The motion was computed to its end.'
    UNSOLVED = "Newton's method did not solve a step, however short."
    SINGULAR = 'The closures of the loops depend on each other there, or a body has no inertia.'
    UNSTABLE = (
        'The forces in the closures make the motion so stiff that the shortest steps allowed '
        'would blow it up.')
    RAN_AWAY = 'A joint ran away.'

    @property
    def ok(self) -> bool:
        """Whether the motion is there to its end."""
        return self is MotionStatus.COMPLETED


#: In the order of the kernels' codes.
STATUSES = tuple(MotionStatus)


@dataclass(frozen=True, eq=False)
class Hold:
    r"""What holds joints to a reference: :math:`-K_p(q - r) - K_d(\dot q - \dot r)`.

    Attributes:
        joints: Indices of the a joints, shape ``(a,)``.
        reference: Their positions at the nodes, linear in between, shape ``(N + 1, a)``.
        stiffness: Gains :math:`K_p` in [N·m/rad] or [N/m], shape ``(a, a)``, or one for each of
            the N intervals.
        damping: Gains :math:`K_d` in [N·m·s/rad] or [N·s/m], shaped as ``stiffness``.

    Raises:
        RecordingError: The arrays do not belong together, or are not finite.
    """

    joints: np.ndarray
    reference: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray

    def __post_init__(self) -> None:
        square = (len(self.joints),) * 2
        counts = (1, len(self.reference) - 1)
        for name in ('stiffness', 'damping'):
            gains = np.array(getattr(self, name), dtype=float, order='C', ndmin=3)
            object.__setattr__(self, name, gains)
            if gains.shape[1:] != square or len(gains) not in counts:
                raise RecordingError(
                    'gains do not fit the joints and the intervals they are for', where=name,
                    found=gains.shape, allowed=f'{square}, or one for each of {counts[1]}')
        for name in ('reference', 'stiffness', 'damping'):
            if not np.isfinite(getattr(self, name)).all():
                raise RecordingError('what joints are held by is not finite', where=name)
        if self.reference.shape[1:] != square[:1]:
            raise RecordingError(
                'the reference does not belong to the joints that are held',
                found=self.reference.shape, allowed=f'(nodes, {square[0]})')


@dataclass(frozen=True, eq=False)
class DrivenTrajectory:
    """Where a motion starts, and what drives it.

    Attributes:
        start: Positions and velocities in [rad, rad/s] or [m, m/s], shape ``(2, n)``.
        torque: Joint torques at the nodes in [N·m] or [N], linear in between, ``(N + 1, n)``.
        step: Time from node to node in [s].
        hold: What holds joints to a reference besides.
        start_slopes: Derivatives of positions and velocities at the start by the w quantities
            that the motion is differentiated by, shape ``(2, n, w)``; None where it depends on
            none of them.

    Raises:
        RecordingError: The derivatives are not of this start.
    """

    start: np.ndarray
    torque: np.ndarray
    step: float
    hold: Hold | None = None
    start_slopes: np.ndarray | None = None

    def __post_init__(self) -> None:
        slopes = self.start_slopes
        if slopes is not None and slopes.shape[:-1] != self.start.shape:
            raise RecordingError(
                'derivatives of a start are none of this start', found=slopes.shape,
                allowed=f'{self.start.shape} and one more for what it depends on')

    @property
    def drive(self) -> Drive:
        """Start, torques and gains of the playback as plain arrays, for compiled code."""
        # Copies, since arrays that cannot be written are of another type to the compiler.
        torque = np.array(self.torque, dtype=float, order='C')
        hold = self.hold
        if hold is None:
            nothing = np.zeros((1, 0, 0))
            return Drive(
                torque, np.zeros(0, dtype=np.int64), np.zeros((len(torque), 0)),
                np.zeros((len(torque) - 1, 0)), nothing, nothing)
        reference = np.array(hold.reference, dtype=float, order='C')
        return Drive(
            torque, np.array(hold.joints, dtype=np.int64), reference,
            np.diff(reference, axis=0) / self.step, hold.stiffness, hold.damping)


@dataclass(frozen=True, eq=False)
class DiscreteMotion:
    """A motion by a variational integrator; NaN from where it ended early.

    Attributes:
        status: How it ended.
        reached: Number of the last node that it came to.
        positions: At the nodes in [rad] or [m], shape ``(N + 1, n)``.
        momenta: At the nodes, before the impulse of the constraints there, ``(N + 1, n)``.
        slopes: Derivatives of both by w quantities, shape ``(N + 1, 2, n, w)``.
        steps: Steps of each interval, shape ``(N,)``.
        inner: Positions between all steps, shape ``(S + 1, n)``.
        multipliers: Impulses of the constraints at the beginning of each step, ``(S, r)``.
    """

    status: MotionStatus
    reached: int
    positions: np.ndarray
    momenta: np.ndarray
    slopes: np.ndarray
    steps: np.ndarray
    inner: np.ndarray
    multipliers: np.ndarray
