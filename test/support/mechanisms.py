"""Mechanisms for tests: every kind of joint, and states at which constraints are violated."""

from __future__ import annotations

import numpy as np

from sysid_ros.estimation.trajectory.discrete.mechanism import Body, Joint, Mechanism
from sysid_ros.estimation.trajectory.state_space import StateSpace
from sysid_ros.robot.inertia import inertial_parameters

DRIVE = {
    'viscous_friction': 0.03, 'coulomb_friction': 0.05, 'stribeck_friction': 0.04,
    'stribeck_velocity': 0.7, 'bearing_friction': 0.06, 'stribeck_bearing_friction': 0.02,
    'armature': 0.01, 'drive_gain': 1.3, 'torque_offset': 0.2, 'stribeck_exponent': 1.4}


def pose_of(rng: np.random.Generator) -> np.ndarray:
    """A random pose, a few centimetres away."""
    pose = np.eye(4)
    pose[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    pose[:3, :3] *= np.linalg.det(pose[:3, :3])
    pose[:3, 3] = 0.1 * rng.normal(size=3)
    return pose


def body_of(rng: np.random.Generator, name: str) -> Body:
    """A random body, its origin away from the centre of mass."""
    points = 0.1 * rng.normal(size=(6, 3))
    masses = rng.uniform(0.1, 0.5, 6)
    centre = masses @ points / masses.sum()
    arms = points - centre
    inertia = sum(
        m * (a @ a * np.eye(3) - np.outer(a, a)) for m, a in zip(masses, arms, strict=True))
    return Body(name, inertial_parameters(masses.sum(), centre, inertia))


def every_kind(rng: np.random.Generator, compliance: float = 1e-3) -> Mechanism:
    """Four bodies, with every kind of joint and a contact between them."""
    soft = {'compliance': compliance, 'angular_compliance': 2.0 * compliance, 'damping': 0.01}
    drive = {'prismatic': DRIVE, 'hinge': DRIVE, 'contact': {'bearing_friction': 0.3}}
    kinds = [
        ('hinge', 'a', 'world'), ('prismatic', 'b', 'a'), ('spherical', 'c', 'b'),
        ('distance', 'c', 'a'), ('contact', 'd', 'world'), ('weld', 'd', 'c')]
    joints = [
        Joint(f'{kind}_{child}', kind, child, parent, pose_of(rng), pose_of(rng), length=0.2,
              drive=drive.get(kind, {}), **soft)
        for kind, child, parent in kinds]
    return Mechanism([body_of(rng, name) for name in 'abcd'], joints, np.array([0.3, -9.0, 2.0]))


def random_states(
    rng: np.random.Generator, mechanism: Mechanism, count: int, speed: float = 1.0
) -> np.ndarray:
    """Random states, constraints violated, shape ``(S, 13 b)``."""
    parts = rng.normal(size=(count, len(mechanism.bodies), 13))
    parts[:, :, :3] *= 0.1
    parts[:, :, 3:7] /= np.linalg.norm(parts[:, :, 3:7], axis=2)[:, :, None]
    parts[:, :, 7:] *= speed
    return parts.reshape(count, -1)


def space_of(mechanism: Mechanism) -> StateSpace:
    """The space that states live in."""
    size = 13 * len(mechanism.bodies)
    return StateSpace(size, tuple(range(3, size, 13)))
