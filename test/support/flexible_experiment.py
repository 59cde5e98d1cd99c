"""An arm that bends a flexible loop, as in Caldwell, Coleman and Correll: model, motion, noise.

The loop has a radius of 0.355 m and weighs 0.132 kg. The arm has seven joints and the size of the
one in the paper; its numbers are our own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from support.variational_systems import closed_configuration
from sysid_ros.estimation.trajectory.playback.costs import JointAngles
from sysid_ros.estimation.trajectory.playback.problem import (
    FreeParameter,
    InputNoise,
    Playback,
    playback_problem,
)
from sysid_ros.mechanics.integrators.variational.driven_trajectory import DrivenTrajectory, Hold
from sysid_ros.mechanics.integrators.variational.integrator import VariationalIntegrator
from sysid_ros.mechanics.integrators.variational.system import discrete_system
from sysid_ros.mechanics.joint_terms.terms import Stiffness, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.robot.flexible import FlexibleLoop, attach
from sysid_ros.robot.model import RobotModel

# Length, mass, radius and axis of each link of the arm, and viscous friction of its joint.
_LINKS = (
    (0.27, 5.7, 0.07, '0 0 1', 0.6), (0.10, 3.2, 0.06, '0 1 0', 0.6),
    (0.27, 4.3, 0.06, '0 0 1', 0.4), (0.10, 2.1, 0.05, '0 1 0', 0.4),
    (0.27, 2.2, 0.05, '0 0 1', 0.3), (0.11, 1.6, 0.04, '0 1 0', 0.3),
    (0.12, 0.6, 0.04, '0 0 1', 0.2))
#: Where the arm stands when the loop is clamped, in [rad].
POSE = np.array([0.0, 0.6, 0.0, 1.2, 0.0, 0.9, 0.0])
RADIUS, MASS, THICKNESS = 0.355, 0.132, 0.03
#: True stiffness in the loop's plane and out of it in [N·m/rad], and damping in [N·m·s/rad].
TRUTH, DAMPING = np.array([4.45, 0.97]), 0.01
#: Where the paper's search begins.
START = 5.0
#: The recording: seconds, rate in [Hz], noise of positions in [rad] and of torques in [N·m].
SECONDS, RATE, SIGMA_Q, SIGMA_TAU = 20.0, 100.0, 3e-3, 0.1
# Gains of the controller that moved the arm, and steps of the truth in each period: 1 ms.
_STIFF = np.array([400.0, 400.0, 300.0, 300.0, 100.0, 100.0, 50.0])
_BRAKE = np.array([60.0, 60.0, 40.0, 40.0, 10.0, 10.0, 4.0])
TRUE_STEPS = 10
#: Gains of the playback in [N·m/rad] and [N·m·s/rad], and cut-off of its reference in [Hz].
HOLD_STIFF = np.array([120.0, 120.0, 80.0, 80.0, 30.0, 30.0, 16.0])
HOLD_BRAKE = np.array([40.0, 40.0, 24.0, 24.0, 8.0, 8.0, 4.0])
CUTOFF = 4.0


def arm_urdf() -> str:
    """Seven links that are solid cylinders along z."""
    parts, parent, height = ['<link name="base"/>'], 'base', 0.0
    for k, (length, mass, radius, axis, friction) in enumerate(_LINKS, start=1):
        across, spin = mass * (3 * radius**2 + length**2) / 12, 0.5 * mass * radius**2
        parts.append(
            f'<link name="link{k}"><inertial><origin xyz="0 0 {length / 2}"/>'
            f'<mass value="{mass}"/><inertia ixx="{across}" iyy="{across}" izz="{spin}" '
            f'ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="joint{k}" type="revolute"><parent link="{parent}"/>'
            f'<child link="link{k}"/><origin xyz="0 0 {height}"/><axis xyz="{axis}"/>'
            f'<limit lower="-3" upper="3" velocity="3" effort="150"/>'
            f'<dynamics damping="{friction}"/></joint>')
        parent, height = f'link{k}', length
    parts.append(
        '<link name="gripper"/><joint name="grasp" type="fixed"><parent link="link7"/>'
        f'<child link="gripper"/><origin xyz="0 0 {height}"/></joint>')
    return f'<robot name="arm">{"".join(parts)}</robot>'


@dataclass(frozen=True, eq=False)
class Bench:
    """The arm with the loop.

    Attributes:
        robot: The tree of both, with the loop's closures.
        model: Torque model of the tree, with friction everywhere and springs in the loop.
        groups: Names of the stiffnesses about x, then of those about y.
        start: Where everything rests, shape ``(n,)``.
        links: How many links the loop has.
    """

    robot: RobotModel
    model: TorqueModel
    groups: tuple[tuple[str, ...], tuple[str, ...]]
    start: np.ndarray
    links: int

    def integrator(self, **settings):
        """An integrator of it."""
        return VariationalIntegrator(
            self.model, self.robot.loops.closures, self.start, **settings)

    def values(self, stiffness=TRUTH):
        """Parameter values with the stiffnesses of both groups, a number or one for each joint."""
        named = {}
        for group, value in zip(self.groups, stiffness, strict=True):
            named |= dict(zip(group, np.broadcast_to(value, len(group)), strict=True))
        return self.model.parameters.with_values(named).values

    def free_parameters(self, start=START):
        """Both stiffnesses."""
        return tuple(
            FreeParameter(name, members, start)
            for name, members in zip(('kappa_theta', 'kappa_psi'), self.groups, strict=True))


def bench(links: int = 12, damping: float = DAMPING) -> Bench:
    """Put the loop into the gripper, hanging straight down."""
    arm = RobotModel.from_urdf(arm_urdf())
    at = dict(zip(arm.joint_names, POSE, strict=True))
    pitch = POSE[[1, 3, 5]].sum()
    # The gripper is turned about y by the sum of the pitches; the loop's z points down.
    down = np.eye(4)
    c, s = np.cos(np.pi - pitch), np.sin(np.pi - pitch)
    down[:3, :3] = [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]
    loop = FlexibleLoop(
        'loop', links, MASS, THICKNESS, (TRUTH[0], TRUTH[1]), (damping, damping), radius=RADIUS)
    held = attach(arm, 'gripper', loop, pose=down, at=at)
    robot = RobotModel.from_urdf(held.urdf, loops=held.settings(arm.joint_names, at))
    joints = tuple(name for group in held.joints for name in group)
    model = TorqueModel(robot.opened, (
        ViscousFriction(robot.opened.joint_names), Stiffness(joints)))
    guess = robot.loops.assembly
    start = closed_configuration(
        discrete_system(model, robot.loops.closures), robot.loops.closures, guess,
        held=range(len(POSE)))
    groups = tuple(tuple(f'{name}.stiffness' for name in group) for group in held.joints)
    return Bench(robot, model, groups, start, links)


def wanted(seconds=SECONDS, seed=0, size=0.12, rate=RATE):
    """A smooth motion of the arm's joints about its pose, from rest, shape ``(N + 1, 7)``."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * rate) + 1) / rate
    begin = np.clip(t / 2.0, 0.0, 1.0)
    begin = begin**3 * (10.0 - 15.0 * begin + 6.0 * begin**2)
    motion = np.zeros((len(t), 7))
    for joint in range(7):
        omega = 2.0 * np.pi * rng.uniform(0.1, 0.6, 3)
        phase = rng.uniform(0.0, 2.0 * np.pi, 3)
        motion[:, joint] = (np.sin(omega * t[:, None] + phase) / 3.0).sum(axis=1)
    return POSE + size * begin[:, None] * motion


@dataclass(frozen=True, eq=False)
class Truth:
    """What really happened: positions of the arm and torques of its motors at the nodes."""

    positions: np.ndarray
    torque: np.ndarray
    motion: object


def truth(table: Bench, stiffness=TRUTH, seed=0, seconds=SECONDS, size=0.12) -> Truth:
    """Move the arm under control, in steps of a millisecond."""
    rate = TRUE_STEPS * RATE
    reference = wanted(seconds, seed, size, rate)
    integrator, values = table.integrator(), table.values(stiffness)
    feed = np.zeros((len(reference), len(table.start)))
    hold = Hold(np.arange(7), reference, np.diag(_STIFF), np.diag(_BRAKE))
    trajectory = DrivenTrajectory(np.array([table.start, 0.0 * table.start]), feed, 1.0 / rate,
        hold)
    motion = integrator.run(values, [trajectory], derivatives=False)[0]
    if not motion.status.ok:
        raise RuntimeError(f'{motion.status.value} {motion.reached}')
    speed = integrator.read(values, motion).velocities[:, :7]
    positions = motion.positions[:, :7]
    fast = np.gradient(reference, 1.0 / rate, axis=0)
    torque = -_STIFF * (positions - reference) - _BRAKE * (speed - fast)
    return Truth(positions[::TRUE_STEPS], torque[::TRUE_STEPS], motion)


def recorded(
    table: Bench, real: Truth, seed: int, noise: float = 1.0, told: bool = False
) -> Playback:
    """The recording with noise, whose level may be told, ready to be played back."""
    rng = np.random.default_rng(1000 + seed)
    measured = real.positions + noise * SIGMA_Q * rng.normal(size=real.positions.shape)
    torque = np.zeros((len(measured), len(table.start)))
    torque[:, :7] = real.torque + noise * SIGMA_TAU * rng.normal(size=real.torque.shape)
    reference = LowPass(cutoff=CUTOFF).apply(measured, RATE)
    hold = Hold(np.arange(7), reference, np.diag(HOLD_STIFF), np.diag(HOLD_BRAKE))
    start = np.array([table.start, 0.0 * table.start])
    sigma = np.zeros(len(table.start))
    sigma[:7] = SIGMA_TAU
    return Playback(
        DrivenTrajectory(start, torque, 1.0 / RATE, hold),
        (JointAngles(np.arange(7), measured, np.full(7, SIGMA_Q)),),
        InputNoise(sigma, lambda x: LowPass(cutoff=CUTOFF).apply(x, RATE)) if told else None)


def problem_of(table: Bench, *playbacks: Playback, free_parameters=None, **settings):
    """The identification of both stiffnesses."""
    return playback_problem(
        table.integrator(**settings), {}, free_parameters or table.free_parameters(), playbacks)


def held_by(playback: Playback, factor: float) -> Playback:
    """A playback with all gains multiplied."""
    hold = playback.trajectory.hold
    other = replace(hold, stiffness=factor * hold.stiffness, damping=factor * hold.damping)
    return replace(playback, trajectory=replace(playback.trajectory, hold=other))
