"""Mechanisms with known motions for tests and benchmarks of discrete steps, and their states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from support import furuta_truth as truth
from sysid_ros.estimation.trajectory.discrete.coordinates import Coordinates
from sysid_ros.estimation.trajectory.discrete.mechanism import Body, Joint, Mechanism
from sysid_ros.estimation.trajectory.discrete.stepper import Motion, simulate
from sysid_ros.robot.inertia import inertial_parameters

GRAVITY = 9.81
#: Rotation vectors that bring z up, along y, and outwards, along x.
UP, OUT = (-0.5 * np.pi, 0.0, 0.0), (0.0, 0.5 * np.pi, 0.0)
#: Joints so stiff that their give is below what tests look at.
STIFF = {'compliance': 1e-11, 'angular_compliance': 1e-11}


def body(name: str, mass: float, inertia: Sequence[float]) -> Body:
    """A body with its origin at the centre of mass, and principal moments of inertia."""
    return Body(name, inertial_parameters(mass, np.zeros(3), np.diag(inertia)))


def frame(place: Sequence[float] = (0.0, 0.0, 0.0), turn: Sequence[float] = (0.0, 0.0, 0.0)):
    """A frame at a place, turned by a rotation vector, shape ``(4, 4)``."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = Rotation.from_rotvec(turn).as_matrix(), place
    return pose


def moving(
    place: Sequence[float] = (0.0, 0.0, 0.0), turn: Sequence[float] = (0.0, 0.0, 0.0),
    velocity: Sequence[float] = (0.0, 0.0, 0.0), spin: Sequence[float] = (0.0, 0.0, 0.0),
) -> np.ndarray:
    """State of a body: place, rotation vector, velocity and angular velocity, shape ``(13,)``."""
    return np.concatenate([place, Rotation.from_rotvec(turn).as_quat(), velocity, spin])


def stepped(
    mechanism: Mechanism, start: np.ndarray, steps: int, h: float,
    torques: np.ndarray | None = None,
) -> Motion:
    """A motion of a mechanism whose parameters are as it was described."""
    if torques is None:
        torques = np.zeros((steps, len(mechanism.drives)))
    parameters = mechanism.body_parameters(mechanism.parameters.values)
    return simulate(mechanism.arrays, parameters, start, torques, h)


def angles(mechanism: Mechanism, motion: Motion) -> np.ndarray:
    """Angles of hinges and places of prismatic joints, without jumps, shape ``(K + 1, j)``."""
    names = tuple(j.name for j in mechanism.joints if j.kind in ('hinge', 'prismatic'))
    return np.unwrap(Coordinates(mechanism, names).of(motion.states).position, axis=0)


def pendulum(
    mass: float = 0.5, length: float = 0.3, inertia: float = 0.01, drive: dict | None = None,
    levers: tuple[float, float] = (1.0, 1.0), **softness: float,
) -> Mechanism:
    """A pendulum that turns about z; gravity is along -y, and hanging its frame is the world's."""
    joint = Joint(
        'hinge', 'hinge', 'rod', child_pose=frame((0.0, length, 0.0)), drive=drive or {},
        levers=levers, **(STIFF | softness))
    return Mechanism(
        [body('rod', mass, (inertia, 0.5 * inertia, inertia))], [joint],
        np.array([0.0, -GRAVITY, 0.0]))


def pendulum_state(angle: float, speed: float, length: float = 0.3) -> np.ndarray:
    """State of :func:`pendulum`."""
    s, c = np.sin(angle), np.cos(angle)
    return moving(
        (length * s, -length * c, 0.0), (0.0, 0.0, angle),
        (length * c * speed, length * s * speed, 0.0), (0.0, 0.0, speed))


def furuta(plant: truth.Furuta, averaged: bool = True, **softness: float) -> Mechanism:
    """The Furuta pendulum of the truth in joint coordinates; at zero all frames are the world's."""
    (ax, ay, az), (bx, by, bz) = plant.arm_inertia, plant.rod_inertia
    bodies = [
        body('arm', plant.arm_mass, (ax, az, ay)), body('rod', plant.rod_mass, (by, bx, bz))]
    poses = (
        (frame((-plant.arm_com, 0.0, 0.0), UP), frame((0.0, 0.0, 0.0), UP)),
        (frame((0.0, plant.rod_com, 0.0), OUT),
         frame((plant.arm_length - plant.arm_com, 0.0, 0.0), OUT)))
    joints = []
    for k, (child, parent) in enumerate((('arm', 'world'), ('rod', 'arm'))):
        own, (here, there) = plant.friction[k], poses[k]
        drive = {
            'viscous_friction': own.viscous, 'coulomb_friction': own.dry,
            'bearing_friction': own.load}
        if own.extra:
            drive |= {
                'stribeck_friction': own.extra * own.dry,
                'stribeck_bearing_friction': own.extra * own.load,
                'stribeck_velocity': own.rate**-0.5}
        drive = {name: value for name, value in drive.items() if value}
        if k == 0:
            drive |= {'armature': plant.shaft, 'drive_gain': plant.gain}
        joints.append(Joint(
            f'hinge_{k + 1}', 'hinge', child, parent, here, there, drive=drive,
            levers=(own.arm, 1.0), **(STIFF | softness)))
    return Mechanism(bodies, joints, np.array(plant.gravity), averaged)


def furuta_state(plant: truth.Furuta, q: Sequence[float], v: Sequence[float]) -> np.ndarray:
    """State of :func:`furuta` at angles and speeds."""
    arm = Rotation.from_rotvec((0.0, q[0], 0.0))
    rod = arm * Rotation.from_rotvec((q[1], 0.0, 0.0))
    along, down = arm.apply((1.0, 0.0, 0.0)), rod.apply((0.0, -1.0, 0.0))
    spin = np.array([0.0, v[0], 0.0])
    turning = spin + v[1] * along
    tip = plant.arm_length * along
    parts = (
        plant.arm_com * along, arm.as_quat(), np.cross(spin, plant.arm_com * along), spin,
        tip + plant.rod_com * down, rod.as_quat(),
        np.cross(spin, tip) + np.cross(turning, plant.rod_com * down), turning)
    return np.concatenate(parts)


def half_a_step_before(
    plant: truth.Furuta, q: Sequence[float], v: Sequence[float], h: float, u: float = 0.0,
) -> np.ndarray:
    """A start as steps mean it: velocities are those half a step before the poses.

    Those of the bodies, which turn meanwhile, not only those of the joints.
    """
    a = plant.motion(list(q), list(v), u, (1, 1))[0]
    v, half = np.asarray(v, dtype=float), 0.5 * h
    state = furuta_state(plant, q, v).reshape(2, 13)
    before = furuta_state(plant, np.asarray(q) - half * v, v - half * np.asarray(a))
    state[:, 7:] = before.reshape(2, 13)[:, 7:]
    return state.ravel()


def box(
    slope: float, friction: float, half: Sequence[float] = (0.1, 0.08, 0.05), mass: float = 2.0,
    **softness: float,
) -> Mechanism:
    """A box with contacts at its lower corners, on a plane that falls by an angle along x."""
    a, b, c = half
    inertia = mass / 3.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    joints = [
        Joint(f'corner_{k}', 'contact', 'box', child_pose=frame((x, y, -c)),
              parent_pose=frame(turn=(0.0, slope, 0.0)), drive={'bearing_friction': friction},
              **({'compliance': 1e-8} | softness))
        for k, (x, y) in enumerate(((a, b), (a, -b), (-a, b), (-a, -b)))]
    return Mechanism([body('box', mass, inertia)], joints, np.array([0.0, 0.0, -GRAVITY]))


def on_slope(slope: float, height: float, speed: float = 0.0) -> np.ndarray:
    """State of a box that lies on the plane and slides down."""
    turn = Rotation.from_rotvec((0.0, slope, 0.0))
    return moving(
        turn.apply((0.0, 0.0, height)), (0.0, slope, 0.0), turn.apply((speed, 0.0, 0.0)))


def four_bar(masses: Sequence[float] = (1.0, 2.0, 1.5), **softness: float) -> Mechanism:
    """Crank, coupler and rocker in the plane of x and y between four hinges about z.

    Twenty rows for eighteen coordinates: hinges of a plane agree on three of its directions.
    """
    bars = [body(name, mass, (1e-3, mass * length**2 / 12.0, mass * length**2 / 12.0))
            for name, mass, length in zip(BARS, masses, BAR_LENGTHS, strict=True)]
    near = {name: (-0.5 * length, 0.0, 0.0) for name, length in zip(BARS, BAR_LENGTHS, strict=True)}
    far = {name: (0.5 * length, 0.0, 0.0) for name, length in zip(BARS, BAR_LENGTHS, strict=True)}
    hinges = (
        ('crank', 'world', near['crank'], (0.0, 0.0, 0.0)),
        ('coupler', 'crank', near['coupler'], far['crank']),
        ('coupler', 'rocker', far['coupler'], far['rocker']),
        ('rocker', 'world', near['rocker'], (GROUND_BAR, 0.0, 0.0)))
    joints = [
        Joint(f'{child}_{parent}', 'hinge', child, parent, frame(here), frame(there),
              **(STIFF | softness)) for child, parent, here, there in hinges]
    return Mechanism(bars, joints, np.array([0.0, -GRAVITY, 0.0]))


BARS, BAR_LENGTHS, GROUND_BAR = ('crank', 'coupler', 'rocker'), (0.1, 0.3, 0.25), 0.28


def four_bar_angles(crank: float) -> np.ndarray:
    """Angles of the bars with the x axis, the coupler's end on the upper side, shape ``(3,)``."""
    one, two, three = BAR_LENGTHS
    tip = one * np.exp(1j * crank)
    to_ground = GROUND_BAR - tip
    away = abs(to_ground)
    corner = np.arccos((two**2 + away**2 - three**2) / (2.0 * two * away))
    coupler = np.angle(to_ground) + corner
    rocker = np.angle(tip + two * np.exp(1j * coupler) - GROUND_BAR)
    return np.array([crank, coupler, rocker])


def four_bar_motion(angles: np.ndarray, masses: Sequence[float]) -> tuple:
    """How all moves with the crank: rates of bars and centres, their slopes, and acceleration.

    Returns:
        Centres of the bars as complex numbers, derivatives of centres and of angles by that of
        the crank, second derivatives, all shape ``(3,)``, and a function that tells the crank's
        acceleration at its speed.
    """
    lengths = np.array(BAR_LENGTHS)
    bars = lengths * np.exp(1j * angles)
    loop = np.array([[bars[1].imag, -bars[2].imag], [bars[1].real, -bars[2].real]])
    rates = np.ones(3)
    rates[1:] = np.linalg.solve(loop, [-bars[0].imag, -bars[0].real])
    bent = rates**2 * bars
    rest = bent[0] + bent[1] - bent[2]
    curves = np.zeros(3)
    # i (b1 k1' - b2 k2') = rest.
    curves[1:] = np.linalg.solve(loop, [-rest.real, rest.imag])
    turning, curling = 1j * bars * rates, 1j * bars * curves - bent

    def centres_of(parts: np.ndarray, ground: float = 0.0) -> np.ndarray:
        return np.array([0.5 * parts[0], parts[0] + 0.5 * parts[1], ground + 0.5 * parts[2]])

    places, moved, curved = centres_of(bars, GROUND_BAR), centres_of(turning), centres_of(curling)
    heavy = np.asarray(masses)
    inert = heavy * lengths**2 / 12.0

    def acceleration(speed: float) -> float:
        mass = heavy @ np.abs(moved) ** 2 + inert @ rates**2
        bias = heavy @ (moved.conj() * curved).real + inert @ (rates * curves)
        return (-GRAVITY * heavy @ moved.imag - bias * speed**2) / mass

    return places, moved, rates, curved, curves, acceleration


def four_bar_state(crank: float, speed: float) -> np.ndarray:
    """State of :func:`four_bar`."""
    turned = four_bar_angles(crank)
    places, moved, rates, *_ = four_bar_motion(turned, (1.0, 1.0, 1.0))
    return np.concatenate([
        moving((place.real, place.imag, 0.0), (0.0, 0.0, angle),
               (speed * rate.real, speed * rate.imag, 0.0), (0.0, 0.0, speed * turn))
        for place, angle, rate, turn in zip(places, turned, moved, rates, strict=True)])
