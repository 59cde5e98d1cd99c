"""A recording of a hidden robot that plays a motion in MuJoCo, by the law its description gives."""

from __future__ import annotations

import zlib
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


@dataclass(frozen=True, eq=False)
class SimulatedRecording:
    """What a driver reports, and how well the robot followed.

    Attributes:
        t: Stamps in [s], shape ``(T,)``.
        q: Positions of the encoders in [rad] or [m], shape ``(T, n)``.
        v: Their differences in [rad/s] or [m/s], shape ``(T, n)``.
        tau: Measured torques in [N·m] or [N], shape ``(T, n)``.
        deviation: Largest distance from the motion in [rad] or [m], shape ``(n,)``.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    deviation: np.ndarray


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
    reference = _with_rest(motion, repeat)
    q, tau = _simulated(hidden, reference)
    deviation = np.abs(q - reference[0]).max(axis=0)
    _require_followed(hidden, deviation)
    q, tau = q[::every], tau[::every]
    # Noise of its own for every motion: two recordings with the same one were one that is copied.
    random = np.random.default_rng([hidden.seed, zlib.crc32(motion.q.tobytes())])
    step = 2.0 * np.pi / STEPS
    encoders = np.round(q / step) * step
    period = every / STEPS_PER_SECOND
    t = np.arange(len(q)) * period
    v = np.diff(encoders, axis=0, prepend=encoders[:1]) / period
    return SimulatedRecording(
        t, encoders, v, tau + hidden.noise * random.normal(size=tau.shape), deviation)


def _with_rest(motion: Motion, repeat: int) -> np.ndarray:
    """Positions, velocities and accelerations of all passes, ``(3, T, n)``.

    Between two passes the robot goes back on the way that it came, where it ends elsewhere.
    """
    once = np.stack([motion.q, motion.v, motion.a])
    if repeat > 1 and np.abs(motion.q[-1] - motion.q[0]).max() > 1e-6:
        once = np.concatenate([once, once[:, ::-1] * np.array([1.0, -1.0, 1.0])[:, None, None]], 1)
    rest = round(_REST * STEPS_PER_SECOND)
    still = np.zeros((3, rest, once.shape[2]))
    before, after = still.copy(), still.copy()
    before[0], after[0] = once[0, 0], once[0, -1]
    return np.concatenate([before, *[once, after] * repeat], axis=1)


def _simulated(hidden: HiddenRobot, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """True positions and torques of the drives at every step, ``(T, n)`` each."""
    robot, truth, step = hidden.robot, hidden.truth, 1.0 / STEPS_PER_SECOND
    # Dry friction acts from outside: MuJoCo's own knows no Stribeck curve.
    plant = Plant.of(robot, truth.without_coulomb(), timestep=step)
    friction = BristleFriction(
        truth.coulomb, bristle_stiffness(truth.coulomb, hidden.inertia, step), stribeck=STRIBECK)
    model = TorqueModel(robot, TermSettings().described(robot).build(robot))
    law = ComputedTorque(model, model.parameters.prior, natural_frequency=_FREQUENCY)
    q, tau = np.empty_like(reference[0]), np.empty_like(reference[0])
    plant.reset(reference[0, 0])
    for k, (q_ref, v_ref, a_ref) in enumerate(reference.swapaxes(0, 1)):
        v = plant.v
        q[k] = plant.q
        if k % _TOLD == 0:
            tell(k, len(q))
        if not np.isfinite(q[k]).all() or np.abs(q[k] - q_ref).max() > 10.0 * _LOST:
            _require_followed(hidden, np.abs(q[k] - q_ref))
        tau[k] = law.command(q[k], v, q_ref, v_ref, a_ref).torque
        friction.move(v, step)
        plant.step(tau[k] - friction.force)
    return q, tau


def _require_followed(hidden: HiddenRobot, deviation: np.ndarray) -> None:
    lost = ~(deviation <= _LOST)
    if lost.any():
        worst = int(np.argmax(np.where(np.isfinite(deviation), deviation, np.inf)))
        raise ExcitationError(
            'the simulated robot does not follow the motion',
            where=hidden.robot.joint_names[worst], found=f'{deviation[worst]:.2g} away from it',
            allowed=f'{_LOST} rad or m',
            fix='Plan a gentler motion, as sysid excite --speed 0.5, or give the joint the effort '
                'limit that its drive has')
