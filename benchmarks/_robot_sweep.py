"""One public robot through everything: described, simulated, fitted, exported, loaded again."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import _robot_plants as plants
import numpy as np
import pinocchio as pin

from sysid_ros.demo.mujoco_urdf import urdf_for_mujoco
from sysid_ros.errors import SysidError
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.consistent.log_det import EntropicLeastSquares
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.base_motion import BaseMotion
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.floating_base import MeasuredWrench, floating_base_dataset
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.signals import ParallelFilter
from sysid_ros.recording.recording import Channel, Recording
from sysid_ros.release.description_export import export_description, verify_export
from sysid_ros.robot.floating_base import with_floating_base
from sysid_ros.robot.inertia import inertial_parameters, pseudo_inertia
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet

SECONDS, NOISE, HARMONICS = 10.0, 0.01, 3
# Sampling rate in [Hz]; robots with more joints than so many are sampled at half of it.
RATE, MANY = 100.0, 25
# Of robots with more joints than the first number, the second moves: a fit of all takes minutes.
LARGE, MOVED = 50, 30
# Held-out torque error in parts of the torque that counts as a fit.
FITTED = 0.05
# Torques after reloading agree to this part of the largest one: right angles that were rounded in
# writing count as right angles here, and stay rounded in the export.
AGREED = 1e-6


@dataclass
class Outcome:
    """What became of one robot.

    Attributes:
        name: Its file, from the package on.
        joints: Independent joints that move.
        locked: Joints that are locked because there are so many.
        bodies: Moving bodies.
        floats: Whether its base is free.
        prior: Held-out error of the description in parts of the torque.
        fitted: The same of the fit.
        pinocchio: Largest difference after reloading in Pinocchio, in parts of the largest torque.
        mujoco: The same in MuJoCo.
        seconds: Time of everything.
        reason: Why it is refused, or where it failed; empty where all went well.
        refused: Whether the description was refused with a reason.
    """

    name: str
    joints: int = 0
    locked: int = 0
    bodies: int = 0
    floats: bool = False
    prior: float = np.nan
    fitted: float = np.nan
    pinocchio: float = np.nan
    mujoco: float = np.nan
    seconds: float = 0.0
    reason: str = ''
    refused: bool = False

    @property
    def ok(self) -> bool:
        """Whether all went well."""
        return not self.reason


def sweep(path: Path, name: str) -> Outcome:
    """Take one description through everything.

    Args:
        path: The file.
        name: What it is called in the table.
    """
    outcome, start = Outcome(name), time.perf_counter()
    try:
        try:
            robot = RobotModel.from_description(path)
        except SysidError:
            outcome.refused = True
            raise
        _through(robot, path, outcome)
    except SysidError as error:
        outcome.reason = str(error).replace(f'{path}: ', '')
    except Exception as error:  # A traceback is a failure of its own, and is to be seen.
        outcome.reason = f'{type(error).__name__}: {error}'
    outcome.seconds = time.perf_counter() - start
    return outcome


def _through(robot: RobotModel, path: Path, outcome: Outcome) -> None:
    rng = np.random.default_rng(0)
    if len(robot.joint_names) > LARGE:
        outcome.locked = len(robot.joint_names) - MOVED
        robot = RobotModel.from_description(
            robot.description, locked_joints='rest', moving_joints=robot.joint_names[:MOVED])
    free, urdf = robot.free_joint, robot.description.format == 'urdf'
    if free:
        robot = with_floating_base(robot)
    base = len(robot.base_joints)
    outcome.joints, outcome.bodies = len(robot.joint_names) - base, len(robot.body_names)
    outcome.floats = bool(free)
    plant = (
        plants.UrdfPlant(path.read_text(), robot) if urdf
        else plants.MjcfPlant(plants.original_spec(path), robot, free))
    truth = _truth(robot, rng)
    plant.set_inertials(truth)
    model = TorqueModel(robot, TermSettings().described(robot).build(robot))
    friction: dict[str, np.ndarray] = {}
    data = _recorded(robot, plant, rng, friction)
    parallel = ParallelFilter(cutoff=0.08 * data.rate, decimate_to=0.25 * data.rate)
    problem = RegressionProblem.from_dataset(model, data, parallel_filter=parallel)
    estimate = EntropicLeastSquares().fit(problem)
    _judge(estimate.parameters, model, plant, rng, friction, outcome)
    parameters = estimate.parameters
    export = export_description(robot, parameters)
    verify_export(robot, parameters, export, states=10)
    identified = np.array([parameters.inertial(body) for body in robot.body_names])
    plant.set_inertials(identified)
    (_reload_urdf if urdf else _reload_mjcf)(robot, plant, export.xml, path, free, outcome)
    if not outcome.fitted < FITTED:
        outcome.reason = f'held-out error {outcome.fitted:.2%}'
    elif not max(outcome.pinocchio, outcome.mujoco) <= AGREED:
        outcome.reason = 'the reloaded robot has other torques'


def _truth(robot: RobotModel, rng: np.random.Generator) -> np.ndarray:
    """Bodies stretched and moved by some percent: mass distributions stay real, shape (b, 10)."""
    found = []
    for phi in robot.reference_inertials:
        pseudo = pseudo_inertia(phi)
        size = np.sqrt(max(np.trace(pseudo[:3, :3]) / max(phi[0], 1e-12), 0.0))
        map_ = np.eye(4)
        map_[:3, :3] += rng.uniform(-0.05, 0.05, (3, 3))
        map_[:3, 3] = size * rng.uniform(-0.1, 0.1, 3)
        moved = rng.uniform(0.85, 1.15) * map_ @ pseudo @ map_.T
        mass, com = moved[3, 3], moved[:3, 3] / moved[3, 3]
        spread = moved[:3, :3] - mass * np.outer(com, com)
        central = np.trace(spread) * np.eye(3) - spread
        found.append(inertial_parameters(float(mass), com, central))
    return np.array(found)


def _motion(robot: RobotModel, rng: np.random.Generator, t: np.ndarray) -> np.ndarray:
    """Sums of sines inside of the limits, with two derivatives, shape ``(3, T, n)``."""
    base, limits = len(robot.base_joints), robot.limits
    motion = np.zeros((3, len(t), len(robot.joint_names)))
    for k, kind in enumerate(robot.joint_types):
        lower, upper = np.sort([limits.lower[k], limits.upper[k]])
        reach = 0.8 if kind != 'prismatic' else 0.15
        middle = 0.0
        if np.isfinite(upper - lower) and upper > lower:
            middle, reach = 0.5 * (lower + upper), min(reach, 0.4 * (upper - lower))
        omega = 2.0 * np.pi * rng.uniform(0.15, 0.7, HARMONICS)
        phase = rng.uniform(0.0, 2.0 * np.pi, HARMONICS)
        size = reach * rng.dirichlet(np.full(HARMONICS, 3.0))
        angle = t[:, None] * omega + phase
        motion[:, :, k] = (
            middle + np.sin(angle) @ size, np.cos(angle) @ (size * omega),
            -np.sin(angle) @ (size * omega**2))
    if base:
        motion[0, :, :6] = 0.0
        # Of the base: turning about its axes; acceleration of its origin, and of the turning.
        motion[1, :, :3] = 0.0
        motion[2, :, :3] *= 3.0
    return motion


def _recorded(
    robot: RobotModel, plant: plants.UrdfPlant | plants.MjcfPlant, rng: np.random.Generator,
    friction: dict[str, np.ndarray],
) -> Dataset:
    """A recording of joint positions and torques with noise, aligned as that of a robot is."""
    base = len(robot.base_joints)
    rate = RATE if len(robot.joint_names) <= MANY else 0.5 * RATE
    t = np.arange(round(SECONDS * rate)) / rate
    motion = _motion(robot, rng, t)
    tau = plant.torque(*motion)
    size = np.sqrt(np.mean(tau[:, base:]**2, axis=0))
    speed = np.sqrt(np.mean(motion[1, :, base:]**2, axis=0))
    friction['viscous'] = 0.05 * size / speed * rng.uniform(0.5, 1.5, len(size))
    friction['coulomb'] = 0.05 * size * rng.uniform(0.5, 1.5, len(size))
    tau[:, base:] += _friction(motion[1, :, base:], friction)
    noisy = tau + NOISE * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    names = robot.joint_names[base:]
    channels = (
        Channel('position', names, 'rad', t, motion[0, :, base:]),
        Channel('effort', names, 'N·m', t, noisy[:, base:]),
    )
    joints = align(
        Recording(channels, 'simulated', ''), names,
        Processing(position_filter=LowPass(cutoff=0.2 * rate), differentiation='central4'))
    if not base:
        return joints
    kept = np.searchsorted(t, joints.t - 1e-9)
    felt = motion[2, kept, :3] - plant.gravity
    turning = BaseMotion(motion[1, kept, 3:6], motion[2, kept, 3:6], felt)
    wrench = MeasuredWrench(robot.base_name, noisy[kept, :3], noisy[kept, 3:6])
    return floating_base_dataset(robot, joints, turning, wrenches=[wrench], all_measured=True)


def _friction(v: np.ndarray, friction: dict[str, np.ndarray]) -> np.ndarray:
    return friction['viscous'] * v + friction['coulomb'] * np.sign(v)


def _judge(
    found: ParameterSet, model: TorqueModel, plant: plants.UrdfPlant | plants.MjcfPlant,
    rng: np.random.Generator, friction: dict[str, np.ndarray], outcome: Outcome,
) -> None:
    """Errors of the torques of another motion, of the description and of the fit."""
    robot, base = model.robot, len(model.robot.base_joints)
    q, v, a = _motion(robot, rng, np.arange(60) / 12.0)
    expected = plant.torque(q, v, a)
    expected[:, base:] += _friction(v[:, base:], friction)
    if base:
        q, v, a = BaseMotion(v[:, 3:6], a[:, 3:6], a[:, :3] - plant.gravity).with_joints(
            q[:, 6:], v[:, 6:], a[:, 6:])
    size = np.sqrt(np.mean(expected**2, axis=0))
    tells = size > 1e-6 * size.max()
    for field, values in (('prior', found.prior), ('fitted', found.values)):
        error = np.sqrt(np.mean((model.torque(values, q, v, a) - expected)**2, axis=0))
        setattr(outcome, field, float(np.sqrt(np.mean((error[tells] / size[tells])**2))))


def _states(robot: RobotModel) -> np.ndarray:
    return _motion(robot, np.random.default_rng(1), np.arange(10) / 3.0)


def _difference(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-3))


def _reload_urdf(
    robot: RobotModel, plant: plants.UrdfPlant, xml: bytes, path: Path, free: str, outcome: Outcome
) -> None:
    q, v, a = _states(robot)
    expected = plant.torque(q, v, a)
    again = plants.UrdfPlant(xml.decode(), robot)
    outcome.pinocchio = _difference(again.torque(q, v, a), expected)
    coupling = {name: again.coupling(name) for name in again.joints}
    found = plants.mujoco_torque(urdf_for_mujoco(xml), coupling, q, v, a)
    outcome.mujoco = _difference(found, expected)


def _reload_mjcf(
    robot: RobotModel, plant: plants.MjcfPlant, xml: bytes, path: Path, free: str, outcome: Outcome
) -> None:
    q, v, a = _states(robot)
    again = plants.MjcfPlant(plants.text_spec(xml, path.parent), robot, free)
    for one in (plant, again):
        one.without_springs()
    expected = plant.torque(q, v, a)
    outcome.mujoco = _difference(again.torque(q, v, a), expected)
    # Pinocchio holds what this package reads from the export: its own reader knows few MJCF.
    reloaded = RobotModel.from_description(
        type(robot.description)(path, xml, '', expanded_from_xacro=False),
        locked_joints=robot.locked_joints)
    if free:
        reloaded = with_floating_base(reloaded)
    model, base = reloaded.pinocchio_model, len(robot.base_joints)
    data, found = model.createData(), np.empty_like(q)
    rows, offset = robot.tree.coupling[:model.nv], robot.tree.coupling_offset[:model.nv]
    if base:
        q, v, a = BaseMotion(v[:, 3:6], a[:, 3:6], a[:, :3] - plant.gravity).with_joints(
            q[:, 6:], v[:, 6:], a[:, 6:])
    for t in range(len(q)):
        found[t] = pin.rnea(model, data, rows @ q[t] + offset, rows @ v[t], rows @ a[t]) @ rows
    outcome.pinocchio = _difference(found, expected)
