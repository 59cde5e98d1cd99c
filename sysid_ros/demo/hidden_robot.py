"""A robot that nobody measured: its description with deviations that a seed draws by names.

Each body and each joint draws from a generator of its own, of the seed and its name: the robot is
the same for every recording of it, and for whoever compares what was identified with the truth.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.demo.true_robot import BodyDeviation, Deviations, Truth
from sysid_ros.mechanics.base_parameters import random_motion
from sysid_ros.mechanics.joint_terms.term import described_dynamics
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.inertia import central_inertia
from sysid_ros.robot.model import RobotModel

#: What is drawn: how far masses are off, in parts; centres of mass in parts of the radius of
#: gyration and at most in [m]; frictions that are described, in parts.
MASS, CENTRE, FARTHEST, FRICTION = 0.2, 0.3, 0.02, 0.5
#: Where nothing is described: dry friction, and viscous friction at a velocity of one, in parts of
#: the torque that the described bodies take at random motion; drive inertia at most, in parts of
#: the inertia that the joint carries. Breaking loose takes so much more than sliding, in parts.
DRY, VISCOUS, ARMATURE, STRIBECK = 0.15, 0.08, 0.2, 0.3
#: Of the sensors: noise of torques in parts of their usual size, and steps of encoders per turn or
#: metre.
NOISE, STEPS = 0.01, 2**17
#: How late commands take effect in [s], at least and at most; in whole milliseconds.
DELAY = (0.002, 0.012)
_SAMPLES = 200


@dataclass(frozen=True, eq=False)
class HiddenRobot:
    """A robot as it is, and as its sensors are.

    Attributes:
        robot: The robot as described.
        truth: Its true parameters; the dry friction is that of sliding.
        inertia: Diagonal of the described mass matrix with the true drives, at random poses, in
            [kg·m²] or [kg], shape ``(n,)``.
        noise: Standard deviation of the torque sensors in [N·m] or [N], shape ``(n,)``.
        delay: Time from a command of position servos to its effect in [s].
        seed: What all was drawn by.
    """

    robot: RobotModel
    truth: Truth
    inertia: np.ndarray
    noise: np.ndarray
    delay: float
    seed: int

    @classmethod
    def drawn(cls, robot: RobotModel, seed: int) -> HiddenRobot:
        """Draw a robot whose description is known.

        Args:
            robot: The robot as described, without closed loops.
            seed: Of the random numbers, zero or more.
        """
        inertia, torque = _usual(robot)
        truth = Deviations(bodies=_bodies(robot, seed)).of(robot)
        rows = [_joint(name, seed) for name in robot.joint_names]
        dry, viscous, drive = np.array(rows).T
        armature = np.where(truth.armature > 0.0, truth.armature, ARMATURE * drive * inertia)
        return cls(robot, replace(
            truth,
            viscous=_friction(robot, 'damping', VISCOUS * torque, viscous),
            coulomb=_friction(robot, 'friction', DRY * torque, dry),
            armature=armature), inertia + armature, NOISE * torque,
            round(_random(seed, 'drives', 'delay').uniform(*DELAY), 3), seed)


def _bodies(robot: RobotModel, seed: int) -> dict[str, BodyDeviation]:
    """Other masses and centres of mass of all bodies."""
    found = {}
    for name, phi in zip(robot.body_names, robot.reference_inertials, strict=True):
        random = _random(seed, 'body', name)
        mass, _, inertia = central_inertia(phi)
        direction = random.normal(size=3)
        size = min(CENTRE * np.sqrt(np.trace(inertia) / (2.0 * mass)), FARTHEST)
        shift = size * random.uniform(0.5, 1.0) * direction / np.linalg.norm(direction)
        x, y, z = (float(part) for part in shift)
        found[name] = BodyDeviation(
            mass=random.uniform(1.0 - MASS, 1.0 + MASS), shift=(x, y, z))
    return found


def _joint(name: str, seed: int) -> tuple[float, float, float]:
    """Factors of dry and viscous friction about one, and a part of the largest drive inertia."""
    random = _random(seed, 'joint', name)
    dry, viscous = random.uniform(1.0 - FRICTION, 1.0 + FRICTION, 2)
    return dry, viscous, random.uniform(0.2, 1.0)


def _friction(
    robot: RobotModel, attribute: str, usual: np.ndarray, factor: np.ndarray
) -> np.ndarray:
    described = described_dynamics(robot, attribute)
    return np.where(described > 0.0, described, usual) * factor


def _usual(robot: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """Inertia that each joint carries, and root mean square of its torque, at random motion."""
    model = TorqueModel(robot)
    bodies = robot.reference_inertials.ravel()
    q, v, a = random_motion(robot, _SAMPLES, seed=0)
    still = np.zeros_like(q)
    torque = np.sqrt(np.mean(model.torque(bodies, q, v, a) ** 2, axis=0))
    inertia = np.array([
        np.mean(model.torque(bodies, q, still, still + unit)
                - model.torque(bodies, q, still, still), axis=0)[k]
        for k, unit in enumerate(np.eye(q.shape[1]))])
    # A joint on a vertical axis through its body's centre carries next to nothing.
    return inertia, np.maximum(torque, 2.0 * inertia)


def _random(seed: int, kind: str, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(f'{kind} {name}'.encode())])
