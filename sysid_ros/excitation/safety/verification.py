"""Verification: is a motion, whoever planned it, one that this robot may play?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BPoly

from sysid_ros.errors import ExcitationError, UnreachableError
from sysid_ros.excitation.design.constraints import (
    ANGULAR_UNITS,
    LINEAR_UNITS,
    QUANTITIES,
    Check,
    JointLimitConstraint,
    MotionState,
)
from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.geometry.clearance import UNIT
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.mechanics.torque_model import TorqueModel

# A motion is at rest below these parts of the limits of velocity and acceleration.
_AT_REST, _STEADY = 1e-3, 1e-2
# Neighbouring samples may differ by this much more than their velocities say, in parts of
# what the limit of the next derivative allows in the time between them.
_JUMP = 1.5
# Limits that are broken by less than this part of them are kept but for rounding.
_LIMIT_TOLERANCE = 1e-9
# Samples farther apart than this cannot be verified, in [s].
_COARSEST = 0.05
# Samples whose torque is predicted at a time; a regressor of all would take much memory.
_AT_ONCE = 5000


@dataclass(frozen=True, eq=False)
class Verification:
    """Result of the verification of a motion.

    Attributes:
        findings: What forbids it, one sentence each; empty when it may be played.
        used: Largest part of each joint's limits that is used, by quantity, shape ``(n,)``
            each; 1 is the limit itself.
        clearance: Smallest clearance beyond what is required, in [m]; infinite when
            nothing can be hit.
    """

    findings: tuple[str, ...]
    used: dict[str, np.ndarray]
    clearance: float

    @property
    def allowed(self) -> bool:
        """Whether the motion may be played."""
        return not self.findings

    def require(self) -> None:
        """Refuse the motion unless it may be played.

        Raises:
            ExcitationError: Everything that was found.
        """
        if self.findings:
            raise ExcitationError(
                'the motion must not be played', found=' '.join(self.findings),
                fix='Plan it again within the limits, or play it slower',
            )


def verify(
    model: TorqueModel, limits: MotionLimits, motion: Motion,
    obstacles: Sequence[Check] = (), loops: Sequence[Check] = (),
) -> Verification:
    """Check a motion sample by sample.

    Args:
        model: Torque model; its prior predicts the torques.
        limits: Limits, drawn in by the margins that are to be kept.
        motion: The motion, densely sampled.
        obstacles: Clearances to keep.
        loops: What passive joints of closed loops keep.

    Returns:
        Findings: values that are not finite, times that do not rise or are too far apart,
        jumps, a beginning or end that is not at rest, limits that are broken, clearances that
        are not kept, loops that cannot follow.
    """
    broken = _unreadable(limits, motion)
    if broken:
        return Verification(broken, {}, -np.inf)
    try:
        torque = predicted_torque(model, motion)
    except UnreachableError as error:
        return Verification((f'It cannot be played: {error}',), {}, -np.inf)
    if not np.isfinite(torque).all():
        return Verification(('The predicted torque is not finite.',), {}, -np.inf)
    state = MotionState(
        model.robot, np.array([motion.q, motion.v, motion.a, motion.jerk, torque])
    )
    room = [constraint.slack(state).min(initial=np.inf) for constraint in obstacles]
    return Verification(
        findings=(
            *_jumps(limits, motion), *_ends(limits, motion),
            *_beyond(JointLimitConstraint(limits), state),
            *_violations((*obstacles, *loops), state),
        ),
        used=_used(limits, state),
        clearance=min((UNIT * float(slack) for slack in room), default=np.inf),
    )


def predicted_torque(model: TorqueModel, motion: Motion) -> np.ndarray:
    """Torque at the prior in [N·m] or [N], shape ``(T, n)``."""
    parts = [slice(k, k + _AT_ONCE) for k in range(0, len(motion.t), _AT_ONCE)]
    prior = model.parameters.prior
    return np.concatenate([
        model.torque(prior, motion.q[part], motion.v[part], motion.a[part]) for part in parts
    ])


def resampled(motion: Motion, rate: float) -> Motion:
    """A motion between its samples, by quintic polynomials through all that they say.

    Args:
        motion: T samples, at rising times.
        rate: Samples per second in [Hz].
    """
    count = int(np.ceil((motion.t[-1] - motion.t[0]) * rate)) + 1
    t = np.linspace(motion.t[0], motion.t[-1], count)
    given = np.stack([motion.q, motion.v, motion.a], axis=1)
    path = BPoly.from_derivatives(motion.t, given)
    return Motion(t, *(path(t, nu=order) for order in range(4)))


def _unreadable(limits: MotionLimits, motion: Motion) -> tuple[str, ...]:
    """Shapes, values and times with which nothing else can be checked."""
    shape = (len(motion.t), len(limits.joint_names))
    arrays = {'position': motion.q, 'velocity': motion.v, 'acceleration': motion.a,
              'jerk': motion.jerk}
    for name, values in arrays.items():
        if values.shape != shape:
            return (f'The {name} has shape {values.shape} instead of {shape}.',)
        if not np.isfinite(values).all():
            sample, joint = np.argwhere(~np.isfinite(values))[0]
            return (f'The {name} of {limits.joint_names[joint]} is not finite at sample {sample}.',)
    if len(motion.t) < 2 or not (np.diff(motion.t) > 0.0).all():
        return ('The times do not rise from sample to sample.',)
    if np.diff(motion.t).max() > _COARSEST * (1.0 + 1e-6):
        return (
            f'Samples are up to {np.diff(motion.t).max():.3g} s apart; '
            f'{_COARSEST} s or less is needed to verify a motion.',
        )
    return ()


def _jumps(limits: MotionLimits, motion: Motion) -> list[str]:
    """Positions and velocities that do not follow from the derivatives beside them."""
    step = np.diff(motion.t)[:, None]
    findings = []
    for name, values, slopes, bound in (
        ('position', motion.q, motion.v, limits.acceleration * step**2),
        ('velocity', motion.v, motion.a, limits.jerk * step**2),
    ):
        expected = 0.5 * (slopes[1:] + slopes[:-1]) * step
        excess = np.abs(np.diff(values, axis=0) - expected) / bound
        if excess.max() > _JUMP:
            sample, joint = np.unravel_index(excess.argmax(), excess.shape)
            findings.append(
                f'The {name} of {limits.joint_names[joint]} jumps at {motion.t[sample]:.3f} s.'
            )
    return findings


def _ends(limits: MotionLimits, motion: Motion) -> list[str]:
    findings = []
    for name, index in (('begin', 0), ('end', -1)):
        moving = np.abs(motion.v[index]) > _AT_REST * limits.velocity
        moving |= np.abs(motion.a[index]) > _STEADY * limits.acceleration
        if moving.any():
            joints = ', '.join(np.array(limits.joint_names)[moving])
            findings.append(f'It does not {name} at rest: {joints}.')
    return findings


def _beyond(constraint: JointLimitConstraint, state: MotionState) -> list[str]:
    """Limits that are broken, the worst sample of each."""
    names, types = constraint.limits.joint_names, state.robot.joint_types
    slack = constraint.slack(state).min(axis=0).reshape(len(QUANTITIES), 2, len(names))
    bounds = constraint.bounds()
    findings = []
    for quantity, side, joint in np.argwhere(slack < -_LIMIT_TOLERANCE):
        values = state.values[quantity, :, joint]
        unit = (LINEAR_UNITS if types[joint] == 'prismatic' else ANGULAR_UNITS)[quantity]
        findings.append(
            f'The {QUANTITIES[quantity]} of {names[joint]} reaches '
            f'{values.max() if side else values.min():.4g} {unit}; '
            f'{bounds[side][quantity, joint]:.4g} {unit} is allowed.'
        )
    return findings


def _violations(obstacles: Sequence[Check], state: MotionState) -> list[str]:
    findings = []
    for constraint in obstacles:
        slack = constraint.slack(state)
        for k in np.flatnonzero(slack.min(axis=0) < -_LIMIT_TOLERANCE):
            findings.append(
                f'The {constraint.labels()[k]} is not kept at sample {int(slack[:, k].argmin())}.'
            )
    return findings


def _used(limits: MotionLimits, state: MotionState) -> dict[str, np.ndarray]:
    """Part of every limit that is used, ``(n,)`` per quantity."""
    bounded = np.isfinite(limits.upper - limits.lower)  # nothing is used up of endless turns
    share = np.abs(state.values[0] - limits.centre).max(axis=0) / limits.reach
    used = {'position': np.where(bounded, share, 0.0)}
    for k, name in enumerate(QUANTITIES[1:], start=1):
        used[name] = np.abs(state.values[k]).max(axis=0) / getattr(limits, name)
    return used
