"""Small mechanisms in MuJoCo: what is true of them, what people guess, and what sensors record.

MuJoCo integrates with its own implicit method at 0.2 ms; dry friction is its constraint, not a
smooth curve, and Stribeck friction is added as an applied torque.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np
from _robot_plants import urdf_for_mujoco

# Step of the plant in [s].
PLANT_STEP = 2e-4
# Velocity in [rad/s] over which Stribeck friction decays, and over which it changes its sign.
STRIBECK, STICKS = 0.3, 0.01


@dataclass(frozen=True)
class Link:
    """A link of a chain and the joint that moves it.

    Attributes:
        joint: Type of the joint.
        axis: Its axis.
        origin: Where it sits in the link before, in [m].
        mass: In [kg].
        centre: Centre of mass in [m].
        inertia: Principal moments about it in [kg·m²].
        damping: Viscous friction in [N·m·s/rad] or [N·s/m].
        friction: Dry friction in [N·m] or [N].
        stribeck: Further friction that decays with speed, in [N·m] or [N].
        stiffness: Of a spring that no description tells of, about zero, in [N·m/rad].
    """

    joint: str
    axis: tuple[float, float, float]
    origin: tuple[float, float, float]
    mass: float
    centre: tuple[float, float, float]
    inertia: tuple[float, float, float]
    damping: float
    friction: float
    stribeck: float = 0.0
    stiffness: float = 0.0

    @classmethod
    def rod(
        cls, axis: tuple[float, float, float], origin: tuple[float, float, float], mass: float,
        length: float, damping: float, friction: float, joint: str = 'continuous',
        stribeck: float = 0.0, stiffness: float = 0.0,
    ) -> Link:
        """A rod that hangs down from its joint."""
        across, along = mass * length**2 / 12.0, mass * (0.1 * length) ** 2 / 2.0
        return cls(joint, axis, origin, mass, (0.0, 0.0, -0.5 * length),
                   (across, across, along), damping, friction, stribeck, stiffness)


@dataclass(frozen=True)
class Mechanism:
    """A chain, and how it is made to move.

    Attributes:
        links: From the base on.
        driven: Which joints a motor drives.
        poses: Positions that recordings begin at, at rest, shape of each ``(n,)``.
        torque: Amplitudes of the multi-sine that drives each joint, in [N·m] or [N].
        servo: Stiffness and damping of a servo that keeps driven joints at their start.
        duration: Of a recording in [s].
        encoder: Standard deviation of the encoders' noise in [rad] or [m].
        terms: Joint terms that the settings name beside damping and dry friction.
    """

    links: tuple[Link, ...]
    driven: tuple[bool, ...]
    poses: tuple[tuple[float, ...], ...]
    torque: tuple[float, ...]
    servo: tuple[float, float] = (0.0, 0.0)
    duration: float = 8.0
    encoder: float = 5e-4
    terms: tuple[str, ...] = ()

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(f'joint{k + 1}' for k in range(len(self.links)))


UP, SIDE, ALONG = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)
MECHANISMS: dict[str, Mechanism] = {
    'pendulum': Mechanism(
        (Link.rod(SIDE, (0, 0, 0), 0.4, 0.5, 4e-3, 6e-3),), (False,), ((2.2,), (1.2,)), (0.0,)),
    'driven pendulum': Mechanism(
        (Link.rod(SIDE, (0, 0, 0), 0.4, 0.5, 8e-3, 2e-2),), (True,), ((0.0,), (0.4,)), (0.5,)),
    'double pendulum': Mechanism(
        (Link.rod(SIDE, (0, 0, 0), 0.25, 0.2, 1e-3, 1e-3),
         Link.rod(SIDE, (0, 0, -0.2), 0.15, 0.24, 6e-4, 6e-4)),
        (False, False), ((1.6, 0.8), (2.4, -0.9)), (0.0, 0.0)),
    'driven double pendulum': Mechanism(
        (Link.rod(SIDE, (0, 0, 0), 0.6, 0.3, 8e-3, 2e-2),
         Link.rod(SIDE, (0, 0, -0.3), 0.3, 0.3, 4e-3, 1e-2)),
        (True, True), ((0.0, 0.0), (0.3, -0.5)), (0.6, 0.25)),
    'cart-pole': Mechanism(
        (Link('prismatic', ALONG, (0, 0, 0), 1.0, (0, 0, 0), (1e-2, 1e-2, 1e-2), 0.6, 0.5),
         Link.rod(SIDE, (0, 0, 0), 0.2, 0.6, 1.5e-3, 1e-3)),
        (True, False), ((0.0, 0.4), (0.1, 2.0)), (4.0, 0.0), servo=(10.0, 1.0)),
    'acrobot': Mechanism(
        (Link.rod(SIDE, (0, 0, 0), 0.5, 0.3, 4e-3, 4e-3, stribeck=4e-3),
         Link.rod(SIDE, (0, 0, -0.3), 0.4, 0.35, 6e-3, 1e-2, stribeck=1e-2)),
        (False, True), ((0.2, 0.0), (0.9, 0.4)), (0.0, 0.5), terms=('stribeck_friction',)),
    'sprung pendulum': Mechanism(
        (Link.rod(SIDE, (0, 0, 0), 0.6, 0.3, 8e-3, 1e-2),
         Link.rod(SIDE, (0, 0, -0.3), 0.3, 0.3, 4e-3, 3e-3, stiffness=0.8)),
        (True, False), ((0.0, 0.0), (0.3, -0.5)), (0.6, 0.0), terms=('stiffness',)),
    'Furuta pendulum': Mechanism(
        (Link('continuous', UP, (0, 0, 0), 0.3, (0.1, 0, 0), (1e-4, 1.2e-3, 1.2e-3), 4e-3, 6e-3),
         Link.rod(ALONG, (0.2, 0, 0), 0.12, 0.3, 4e-4, 3e-4)),
        (True, False), ((0.0, 0.3), (0.5, 2.0)), (0.12, 0.0)),
    'arm of 3 joints': Mechanism(
        (Link('revolute', UP, (0, 0, 0.3), 3.0, (0.02, 0, 0.05), (2e-2, 2e-2, 1e-2), 0.4, 0.6),
         Link.rod(SIDE, (0, 0, 0.1), 2.0, 0.4, 0.3, 0.5, joint='revolute'),
         Link.rod(SIDE, (0, 0, -0.4), 1.0, 0.35, 0.15, 0.25, joint='revolute')),
        (True, True, True), ((0.0, 0.6, -0.9), (0.4, -0.5, 1.0)), (6.0, 8.0, 3.0),
        servo=(20.0, 2.0), encoder=1e-4),
    'arm of 6 joints': Mechanism(
        (Link('revolute', UP, (0, 0, 0.3), 4.0, (0.02, 0, 0.05), (3e-2, 3e-2, 2e-2), 1.0, 1.5),
         Link.rod(SIDE, (0, 0, 0.1), 4.0, 0.4, 0.8, 1.2, joint='revolute'),
         Link.rod(SIDE, (0, 0, -0.4), 2.5, 0.35, 0.5, 0.8, joint='revolute'),
         Link.rod(UP, (0, 0, -0.35), 1.5, 0.1, 0.2, 0.3, joint='revolute'),
         Link.rod(SIDE, (0, 0, -0.1), 1.0, 0.12, 0.15, 0.2, joint='revolute'),
         Link('revolute', UP, (0, 0, -0.12), 0.6, (0.01, 0.005, -0.05), (1.2e-3, 1e-3, 6e-4),
              0.05, 0.08)),
        (True,) * 6,
        ((0, 0.6, -0.9, 0.2, 0.7, 0), (0.4, -0.5, 1.0, -0.6, -0.8, 0.5)),
        (15.0, 20.0, 10.0, 2.0, 2.0, 0.6), servo=(30.0, 3.0), encoder=1e-4),
}


def urdf(mechanism: Mechanism, factors: Callable[[str], float] = lambda _: 1.0) -> str:
    """Description of a mechanism, its values times factors that are asked for by their kind."""
    text = ['<robot name="mechanism"><link name="base"/>']
    for k, link in enumerate(mechanism.links):
        mass, inertia = factors('mass'), factors('inertia')
        centre = ' '.join(f'{factors("centre") * x:.9g}' for x in link.centre)
        xx, yy, zz = (mass * inertia * x for x in link.inertia)
        parent = f'link{k}' if k else 'base'
        limits = '' if link.joint == 'continuous' else (
            '<limit lower="-3.1" upper="3.1" velocity="50" effort="500"/>')
        text.append(
            f'<link name="link{k + 1}"><inertial><origin xyz="{centre}"/>'
            f'<mass value="{mass * link.mass:.9g}"/><inertia ixx="{xx:.9g}" ixy="0" ixz="0" '
            f'iyy="{yy:.9g}" iyz="0" izz="{zz:.9g}"/></inertial></link>'
            f'<joint name="joint{k + 1}" type="{link.joint}"><parent link="{parent}"/>'
            f'<child link="link{k + 1}"/><origin xyz="{_numbers(link.origin)}"/>'
            f'<axis xyz="{_numbers(link.axis)}"/>{limits}'
            f'<dynamics damping="{factors("friction") * link.damping:.9g}" '
            f'friction="{factors("friction") * link.friction:.9g}"/></joint>')
    return ''.join(text) + '</robot>'


def _numbers(values: tuple[float, ...]) -> str:
    return ' '.join(f'{x:g}' for x in values)


def guessed(mechanism: Mechanism, seed: int, spread: float) -> str:
    """A description whose values are off by up to a part, frictions by up to three times that."""
    rng = np.random.default_rng([seed, 1])

    def factor(kind: str) -> float:
        width = {'centre': 0.5, 'friction': 3.0}.get(kind, 1.0) * spread
        return float(np.exp(rng.uniform(-width, width)))

    return urdf(mechanism, factor)


@dataclass(frozen=True, eq=False)
class Motion:
    """What is recorded.

    Attributes:
        t: Stamps in [s], shape ``(T,)``.
        q: Positions without noise in [rad] or [m], shape ``(T, n)``.
        v: Velocities without noise, shape ``(T, n)``.
        tau: Torques of the motors, shape ``(T, n)``.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray


def simulated(
    mechanism: Mechanism, start: np.ndarray, period: float, seed: int, *,
    duration: float | None = None,
) -> Motion:
    """A motion from rest.

    Args:
        mechanism: The mechanism.
        start: Positions, shape ``(n,)``.
        period: Time between samples in [s].
        seed: Of the torques.
        duration: In place of the mechanism's, in [s].
    """
    model = mujoco.MjModel.from_xml_string(urdf_for_mujoco(urdf(mechanism).encode()))
    model.opt.timestep, model.opt.integrator = PLANT_STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.gravity[:] = 0.0, 0.0, -9.81
    model.jnt_limited[:] = 0
    for name, link in zip(mechanism.joints, mechanism.links, strict=True):
        model.jnt_stiffness[model.joint(name).id] = link.stiffness
    # Dry friction as hard as the step allows; its default yields over 20 ms.
    model.dof_solref[:] = 2.0 * PLANT_STEP, 1.0
    model.dof_solimp[:, :2] = 0.999
    data = mujoco.MjData(model)
    order = [model.joint(name).dofadr[0] for name in mechanism.joints]
    data.qpos[order] = start
    drive = _multisine(mechanism, seed)
    every = max(round(period / PLANT_STEP), 1)
    samples = int(round((duration or mechanism.duration) / (every * PLANT_STEP))) + 1
    t, q, v, tau = np.zeros(samples), *np.zeros((3, samples, len(order)))
    stribeck = np.array([link.stribeck for link in mechanism.links])
    for k in range((samples - 1) * every + 1):
        torque = drive(data.time, data.qpos[order], data.qvel[order], start)
        if k % every == 0:
            row = k // every
            t[row], q[row], v[row], tau[row] = (
                data.time, data.qpos[order], data.qvel[order], torque)
        speed = data.qvel[order]
        data.qfrc_applied[order] = torque - stribeck * np.tanh(speed / STICKS) * np.exp(
            -((speed / STRIBECK) ** 2))
        mujoco.mj_step(model, data)
    return Motion(t, q, v, tau)


def _multisine(
    mechanism: Mechanism, seed: int
) -> Callable[[float, np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """Torques of the motors by time and state: a multi-sine and a soft servo."""
    rng = np.random.default_rng([seed, 2])
    count = len(mechanism.links)
    rates = 2.0 * np.pi * rng.uniform(0.15, 1.6, (5, count))
    phases = rng.uniform(0.0, 2.0 * np.pi, (5, count))
    driven, size = np.array(mechanism.driven), np.array(mechanism.torque)
    stiffness, damping = (gain * size / max(size.max(), 1e-9) for gain in mechanism.servo)

    def torque(t: float, q: np.ndarray, v: np.ndarray, start: np.ndarray) -> np.ndarray:
        free = size * np.sin(rates * t + phases).sum(axis=0) / np.sqrt(5.0)
        return np.asarray(
            np.where(driven, free - stiffness * (q - start) - damping * v, 0.0))

    return torque
