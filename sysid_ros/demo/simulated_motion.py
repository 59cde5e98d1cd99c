"""Recordings of a hidden robot that plays a motion in MuJoCo.

Its drives make torques, by the law that its description gives, or are position servos, which are
told the motion and measure no torque.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sysid_ros.demo.bristle_friction import BristleFriction, bristle_stiffness
from sysid_ros.demo.hidden_robot import STEPS, STRIBECK, HiddenRobot
from sysid_ros.demo.mujoco_plant import Plant
from sysid_ros.errors import ExcitationError
from sysid_ros.excitation.excitation import Motion
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.control import ComputedTorque
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.numerics.progress import tell

#: Steps of the simulation and of the controller per second. MuJoCo takes velocities half a step
#: late: at 1 ms that is more than what noise leaves unknown, and parameters of a UR5 were
#: up to seven of their standard deviations off.
STEPS_PER_SECOND = 4000.0
# Natural frequency of the controller in [rad/s]; rest before and after each pass in [s].
_FREQUENCY, _REST = 80.0, 0.5
# Steps after which it is told how far the simulation is.
_TOLD = 2000
# A robot that is so far from its motion in [rad] or [m] does not follow it.
_LOST = 0.3
_GENTLER = (
    'Plan a gentler motion, as sysid excite --speed 0.5, or give the joint the effort limit that '
    'its drive has')

# Torques in [N·m] or [N] of the drives in step k, at positions and velocities, (n,) each.
_Drives = Callable[[int, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class SimulatedRecording:
    """What a driver reports, and how well the robot followed.

    Attributes:
        t: Stamps in [s], shape ``(T,)``.
        q: Positions of the encoders in [rad] or [m], shape ``(T, n)``.
        v: Their differences in [rad/s] or [m/s], shape ``(T, n)``.
        tau: Measured torques in [N·m] or [N], shape ``(T, n)``; None of servos.
        command: Commanded positions in [rad] or [m], shape ``(T, n)``; None without servos.
        deviation: Largest distance from the motion in [rad] or [m], shape ``(n,)``.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray | None
    command: np.ndarray | None
    deviation: np.ndarray


@dataclass(frozen=True)
class PositionServos:
    """Drives with the torque kp (u - q) - kd v at the commanded position u.

    Attributes:
        kp: Stiffness in [N·m/rad] or [N/m].
        kd: Damping in [N·m·s/rad] or [N·s/m].
    """

    kp: float
    kd: float


def play(hidden: HiddenRobot, motion: Motion, *, repeat: int, every: int) -> SimulatedRecording:
    """Let a hidden robot play a motion under computed torque by its description.

    Args:
        hidden: The robot.
        motion: The motion, at :data:`STEPS_PER_SECOND`.
        repeat: How often, one after the other.
        every: Steps of the simulation per sample that is recorded.

    Raises:
        ExcitationError: The robot does not follow the motion.
        ModelError: MuJoCo cannot simulate the robot.
    """
    robot = hidden.robot
    model = TorqueModel(robot, TermSettings().described(robot).build(robot))
    law = ComputedTorque(model, model.parameters.prior, natural_frequency=_FREQUENCY)
    reference = _with_rest(motion, repeat)

    def torque(k: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return law.command(q, v, *reference[:, k]).torque

    q, tau = _simulated(hidden, reference[0], torque, _GENTLER)
    # Noise of its own for every motion: two recordings with the same one were one that is copied.
    random = np.random.default_rng([hidden.seed, zlib.crc32(motion.q.tobytes())])
    measured = tau[::every]
    measured = measured + hidden.noise * random.normal(size=measured.shape)
    return _recorded(q, reference[0], every, measured, None)


def play_commanded(
    hidden: HiddenRobot, motion: Motion, servos: PositionServos, *, repeat: int, every: int
) -> SimulatedRecording:
    """Let a hidden robot with position servos play a motion.

    A command comes with every sample, holds until the next one, and takes effect after the delay
    that the robot has. Torques stay within the effort limits of the description.

    Args:
        hidden: The robot.
        motion: The motion, at :data:`STEPS_PER_SECOND`.
        servos: Its drives.
        repeat: How often, one after the other.
        every: Steps of the simulation per command, and per sample that is recorded.

    Raises:
        ExcitationError: The robot does not follow the motion.
        ModelError: MuJoCo cannot simulate the robot.
    """
    reference = _with_rest(motion, repeat)[0]
    command = reference[::every]
    late = round(hidden.delay * STEPS_PER_SECOND)
    limits = hidden.robot.limits.effort
    most = np.where(limits > 0.0, limits, np.inf)

    def torque(k: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        told = command[max(k - late, 0) // every]
        return np.clip(servos.kp * (told - q) - servos.kd * v, -most, most)

    q, _ = _simulated(
        hidden, reference, torque,
        f'Give the servos more stiffness, as --servos kp={2.0 * servos.kp:g},kd={servos.kd:g}, or '
        'plan a gentler motion, as sysid excite --speed 0.5')
    # From when the servos carry the robot's weight: it is let go where it is commanded to be.
    after = _rest_steps() // every
    return _recorded(q[after * every:], reference[after * every:], every, None, command[after:])


def _recorded(
    q: np.ndarray, reference: np.ndarray, every: int, tau: np.ndarray | None,
    command: np.ndarray | None,
) -> SimulatedRecording:
    """What the encoders make of positions at every step."""
    deviation = np.abs(q - reference).max(axis=0)
    step = 2.0 * np.pi / STEPS
    encoders = np.round(q[::every] / step) * step
    period = every / STEPS_PER_SECOND
    t = np.arange(len(encoders)) * period
    v = np.diff(encoders, axis=0, prepend=encoders[:1]) / period
    return SimulatedRecording(t, encoders, v, tau, command, deviation)


def _with_rest(motion: Motion, repeat: int) -> np.ndarray:
    """Positions, velocities and accelerations of all passes, ``(3, T, n)``.

    Between two passes the robot goes back on the way that it came, where it ends elsewhere.
    """
    once = np.stack([motion.q, motion.v, motion.a])
    if repeat > 1 and np.abs(motion.q[-1] - motion.q[0]).max() > 1e-6:
        once = np.concatenate([once, once[:, ::-1] * np.array([1.0, -1.0, 1.0])[:, None, None]], 1)
    still = np.zeros((3, _rest_steps(), once.shape[2]))
    before, after = still.copy(), still.copy()
    before[0], after[0] = once[0, 0], once[0, -1]
    return np.concatenate([before, *[once, after] * repeat], axis=1)


def _rest_steps() -> int:
    return round(_REST * STEPS_PER_SECOND)


def _simulated(
    hidden: HiddenRobot, reference: np.ndarray, drives: _Drives, fix: str
) -> tuple[np.ndarray, np.ndarray]:
    """True positions and torques of the drives at every step, ``(T, n)`` each."""
    robot, truth, step = hidden.robot, hidden.truth, 1.0 / STEPS_PER_SECOND
    # Dry friction acts from outside: MuJoCo's own knows no Stribeck curve.
    plant = Plant.of(robot, truth.without_coulomb(), timestep=step)
    friction = BristleFriction(
        truth.coulomb, bristle_stiffness(truth.coulomb, hidden.inertia, step), stribeck=STRIBECK)
    q, tau = np.empty_like(reference), np.empty_like(reference)
    plant.reset(reference[0])
    for k, wanted in enumerate(reference):
        v = plant.v
        q[k] = plant.q
        if k % _TOLD == 0:
            tell(k, len(q))
        if not np.abs(q[k] - wanted).max() <= 10.0 * _LOST:
            _require_followed(hidden, np.abs(q[k] - wanted), fix)
        tau[k] = drives(k, q[k], v)
        friction.move(v, step)
        plant.step(tau[k] - friction.force)
    _require_followed(hidden, np.abs(q - reference).max(axis=0), fix)
    return q, tau


def _require_followed(hidden: HiddenRobot, deviation: np.ndarray, fix: str) -> None:
    lost = ~(deviation <= _LOST)
    if lost.any():
        worst = int(np.argmax(np.where(np.isfinite(deviation), deviation, np.inf)))
        raise ExcitationError(
            'the simulated robot does not follow the motion',
            where=hidden.robot.joint_names[worst], found=f'{deviation[worst]:.2g} away from it',
            allowed=f'{_LOST} rad or m', fix=fix)
