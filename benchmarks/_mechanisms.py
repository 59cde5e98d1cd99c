"""Small mechanisms in MuJoCo: what is true of them, what people guess, and what sensors record.

MuJoCo integrates with its own implicit method at 0.2 ms, forces of velocity centred in each step;
dry friction is its constraint, not a smooth curve, Stribeck friction is added as an applied torque,
and a loop is closed by a constraint between two sites.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from sysid_ros.demo.mujoco_urdf import urdf_for_mujoco

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
        root: Whether the base carries it, and not the link before.
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
    root: bool = False

    @classmethod
    def rod(
        cls, axis: tuple[float, float, float], origin: tuple[float, float, float], mass: float,
        length: float, damping: float, friction: float, joint: str = 'continuous',
        stribeck: float = 0.0, stiffness: float = 0.0, root: bool = False,
    ) -> Link:
        """A rod that hangs down from its joint."""
        across, along = mass * length**2 / 12.0, mass * (0.1 * length) ** 2 / 2.0
        return cls(joint, axis, origin, mass, (0.0, 0.0, -0.5 * length),
                   (across, across, along), damping, friction, stribeck, stiffness, root)


@dataclass(frozen=True)
class Loop:
    """What closes a loop: a place on one link is held to a place on another.

    Attributes:
        first: Index of a link.
        second: Index of another.
        first_place: In the first link in [m].
        second_place: In the second.
        assembly: Positions of all joints in [rad] near which it is closed.
    """

    first: int
    second: int
    first_place: tuple[float, float, float]
    second_place: tuple[float, float, float]
    assembly: tuple[float, ...]


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
        loop: What closes a loop; then sensors are at the driven joints alone, and poses theirs.
    """

    links: tuple[Link, ...]
    driven: tuple[bool, ...]
    poses: tuple[tuple[float, ...], ...]
    torque: tuple[float, ...]
    servo: tuple[float, float] = (0.0, 0.0)
    duration: float = 8.0
    encoder: float = 5e-4
    terms: tuple[str, ...] = ()
    loop: Loop | None = None

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(f'joint{k + 1}' for k in range(len(self.links)))

    @property
    def recorded(self) -> list[int]:
        """Indices of joints with sensors: all, or of a loop the driven ones."""
        return [k for k, driven in enumerate(self.driven) if driven or self.loop is None]


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
    'five-bar': Mechanism(
        (Link.rod(SIDE, (-0.125, 0, 0), 0.4, 0.3, 8e-3, 2e-2, root=True),
         Link.rod(SIDE, (0, 0, -0.3), 0.25, 0.45, 0.0, 0.0),
         Link.rod(SIDE, (0.125, 0, 0), 0.4, 0.3, 8e-3, 2e-2, root=True),
         Link.rod(SIDE, (0, 0, -0.3), 0.25, 0.45, 0.0, 0.0)),
        (True, False, True, False), ((0.9, -0.9), (0.5, -1.2)), (1.2, 0.0, 1.2, 0.0),
        servo=(3.0, 0.3),
        loop=Loop(1, 3, (0, 0, -0.45), (0, 0, -0.45), (0.9, -1.83, -0.9, 1.83))),
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
        parent = 'base' if link.root or not k else f'link{k}'
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


def loops(mechanism: Mechanism, loop: Loop) -> dict[str, Any]:
    """What closes a loop, as the package reads it."""
    ends = ((loop.first, loop.first_place), (loop.second, loop.second_place))
    first, second = (
        {'link': f'link{link + 1}', 'origin': [float(x) for x in place]} for link, place in ends)
    return {
        'actuated': [mechanism.joints[k] for k in mechanism.recorded],
        'assembly': dict(zip(mechanism.joints, loop.assembly, strict=True)),
        'closures': [{'name': 'loop', 'kind': 'point', 'first': first, 'second': second}]}


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
        start: Positions of the joints with sensors, shape ``(n,)``.
        period: Time between samples in [s].
        seed: Of the torques.
        duration: In place of the mechanism's, in [s].
    """
    model = _model(mechanism)
    data = mujoco.MjData(model)
    order = [model.joint(name).dofadr[0] for name in mechanism.joints]
    seen = [order[k] for k in mechanism.recorded]
    if mechanism.loop is not None:
        data.qpos[order] = mechanism.loop.assembly
    data.qpos[seen] = start
    _close(model, data, [row for row in order if row not in seen])
    drive = _multisine(mechanism, seed)
    every = max(round(period / PLANT_STEP), 1)
    samples = int(round((duration or mechanism.duration) / (every * PLANT_STEP))) + 1
    t, q, v, tau = np.zeros(samples), *np.zeros((3, samples, len(seen)))
    begin = data.qpos[order]
    stribeck = np.array([link.stribeck for link in mechanism.links])
    for k in range((samples - 1) * every + 1):
        torque = drive(data.time, data.qpos[order], data.qvel[order], begin)
        if k % every == 0:
            row = k // every
            t[row], q[row], v[row], tau[row] = (
                data.time, data.qpos[seen], data.qvel[seen], torque[mechanism.recorded])
        ahead, forces = _centred(model, data)
        speed = ahead[order]
        data.qfrc_applied[order] = forces[order] + torque - stribeck * np.tanh(
            speed / STICKS) * np.exp(-((speed / STRIBECK) ** 2))
        mujoco.mj_step(model, data)
    return Motion(t, q, v, tau)


def _model(mechanism: Mechanism) -> mujoco.MjModel:
    """The mechanism in MuJoCo, its constraints as hard as its step allows."""
    spec = mujoco.MjSpec.from_string(urdf_for_mujoco(urdf(mechanism).encode()))
    loop = mechanism.loop
    if loop is not None:
        closure = spec.add_equality(
            type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE, name1='first',
            name2='second')
        closure.solref[:], closure.solimp[:2] = (2.0 * PLANT_STEP, 1.0), 0.9999
        for name, link, place in (
                ('first', loop.first, loop.first_place),
                ('second', loop.second, loop.second_place)):
            spec.body(f'link{link + 1}').add_site(name=name, pos=place)
    model = spec.compile()
    model.opt.timestep, model.opt.integrator = PLANT_STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.gravity[:] = 0.0, 0.0, -9.81
    model.jnt_limited[:] = 0
    for name, link in zip(mechanism.joints, mechanism.links, strict=True):
        model.jnt_stiffness[model.joint(name).id] = link.stiffness
    # Dry friction as hard as the step allows; its default yields over 20 ms.
    model.dof_solref[:] = 2.0 * PLANT_STEP, 1.0
    model.dof_solimp[:, :2] = 0.999
    return model


def _close(model: mujoco.MjModel, data: mujoco.MjData, passive: list[int]) -> None:
    """Move passive joints until the loop is closed, by Newton's method.

    Args:
        model: The mechanism.
        data: Its positions, near those that close it.
        passive: Indices of the passive joints; none where there is no loop.
    """
    jacobian = np.zeros((2, 3, model.nv))
    for _ in range(20 if passive else 0):
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        for site, slope in zip(('first', 'second'), jacobian, strict=True):
            mujoco.mj_jacSite(model, data, slope, None, model.site(site).id)
        gap = data.site('first').xpos - data.site('second').xpos
        slope = (jacobian[0] - jacobian[1])[:, passive]
        data.qpos[passive] -= np.linalg.lstsq(slope, gap, rcond=None)[0]


def _centred(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """Velocities in the middle of a step, and forces that make its error one of second order.

    Velocities are half a step before positions. Coriolis forces are of those, damping of the
    next: both half a step off, which intervals of free swings are narrow enough to show.
    """
    before = data.qvel.copy()
    lead = 0.5 * PLANT_STEP * data.qacc
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    forces = model.dof_damping * lead + data.qfrc_bias
    data.qvel[:] = before + lead
    mujoco.mj_fwdVelocity(model, data)
    forces -= data.qfrc_bias
    data.qvel[:] = before
    return before + lead, forces


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
