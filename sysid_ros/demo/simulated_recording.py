"""Recordings of a simulated arm whose true parameters differ from its description."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np

from sysid_ros.demo.mujoco_plant import Plant
from sysid_ros.demo.true_robot import Deviations
from sysid_ros.recording.bag.write import write_bag
from sysid_ros.robot.model import RobotModel

_SEED = 7
_RATE = 1000.0
_DURATION = 25.0
# Torque noise in [N·m] and encoder steps per turn.
_TORQUE_NOISE = 0.05
_ENCODER_STEPS = 2**16
# Stiffness and damping of the tracking controller, per unit of each joint's inertia.
_STIFFNESS, _DAMPING = 400.0, 40.0

_SETTINGS = """\
# The simulated arm, motion {number}. What a settings file of your own robot needs, too.
robot:
  urdf: demo_arm.urdf
  terms:
    armature: all
    coulomb_smoothing: 0.02     # rad/s
recording:
  format: rosbag
  file: motion_{number}
  topic: /joint_states
  joints: [base_yaw, shoulder_pitch, elbow_pitch, wrist_roll]
processing:
  position_filter: {{cutoff: 30.0, order: 4}}
  parallel_filter: {{cutoff: 10.0, order: 4, decimate_to: 25.0}}
fit:
  minimum_velocity: 0.02        # rad/s; below it dry friction is not at its limit
"""


def simulate_demo(folder: Path) -> tuple[Path, Path]:
    """Write the arm's description, two bags and their settings files.

    The second motion is other than the first and half as fast again, so that predicting it is
    more than repeating.

    Args:
        folder: Existing folder; bags of an earlier call are replaced.

    Returns:
        The settings files.
    """
    description = files('sysid_ros.demo').joinpath('demo_arm.urdf').read_text(encoding='utf-8')
    (folder / 'demo_arm.urdf').write_text(description, encoding='utf-8')
    robot = RobotModel.from_urdf(description)
    rng = np.random.default_rng(_SEED)
    plant, inertia = _true_plant(robot, rng)
    settings = []
    for number, speed in ((1, 1.0), (2, 1.5)):
        bag = folder / f'motion_{number}'
        for old in bag.glob('*'):
            old.unlink()
        if bag.is_dir():
            bag.rmdir()
        write_bag(bag, *_record(robot, plant, inertia, rng, speed))
        settings.append(folder / f'motion_{number}.yaml')
        settings[-1].write_text(_SETTINGS.format(number=number), encoding='utf-8')
    return settings[0], settings[1]


def _true_plant(robot: RobotModel, rng: np.random.Generator) -> tuple[Plant, np.ndarray]:
    """Masses 20 % off, centres of mass 2 cm off, friction off by half."""
    armature = np.array([0.12, 0.12, 0.05, 0.01])
    # Largest inertia each joint carries: gains from it suit every configuration.
    inertia = np.array([0.9, 0.9, 0.25, 0.03])
    return Plant.of(robot, Deviations.drawn(robot, rng, armature).of(robot)), inertia


def _record(
    robot: RobotModel, plant: Plant, inertia: np.ndarray, rng: np.random.Generator, speed: float
) -> tuple[np.ndarray, tuple[str, ...], np.ndarray, np.ndarray, np.ndarray]:
    """Track a random periodic motion; what encoders and torque sensors would say."""
    samples = int(_DURATION * _RATE)
    t = np.arange(samples) / _RATE
    reference, rate = _motion(t, robot, rng, speed)
    q, v, tau = (np.empty((samples, len(robot.joint_names))) for _ in range(3))
    plant.reset(reference[0])
    for k in range(samples):
        q[k], v[k] = plant.q, plant.v
        pull = _STIFFNESS * (reference[k] - q[k]) + _DAMPING * (rate[k] - v[k])
        tau[k] = inertia * pull
        plant.step(tau[k])
    step = 2.0 * np.pi / _ENCODER_STEPS
    encoders = np.round(q / step) * step
    return t, robot.joint_names, encoders, v, tau + rng.normal(0.0, _TORQUE_NOISE, tau.shape)


def _motion(
    t: np.ndarray, robot: RobotModel, rng: np.random.Generator, speed: float
) -> tuple[np.ndarray, np.ndarray]:
    """Five random harmonics within half the limits, from rest and back, ``(T, n)`` each."""
    joints = len(robot.joint_names)
    pace = 2.0 * np.pi * 0.1 * speed * np.arange(1, 6)
    weights = rng.normal(size=(5, joints)) / np.arange(1, 6)[:, None]
    phases = rng.uniform(0.0, 2.0 * np.pi, (5, joints))
    waves = np.sin(pace[:, None] * t[:, None, None] + phases)
    motion = np.einsum('tkj,kj->tj', waves, weights)
    reach = np.minimum(np.where(np.isfinite(robot.limits.upper), robot.limits.upper, 2.5), 2.5)
    motion *= 0.5 * reach / np.abs(motion).max(axis=0)
    ends = np.clip(np.minimum(t, t[-1] - t) / 2.0, 0.0, 1.0)
    motion *= (ends**3 * (10.0 - 15.0 * ends + 6.0 * ends**2))[:, None]
    return motion, np.gradient(motion, t, axis=0)
