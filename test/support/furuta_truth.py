"""True motions of pendulums in joint coordinates, for tests and benchmarks of estimators.

The Furuta pendulum is that of the paper on discrete multibody dynamics, Table G.5. Its y axis is
up. Arm A turns about y by theta1; at zero it points along x. Pendulum B turns about the arm's
direction a, outwards, by theta2; at zero it hangs. With t = da/dtheta1, the rod points along
p = -cos(theta2) y + sin(theta2) t.

The body frame of A has x along the arm and z along hinge 1, since only J_Azz moves with theta1.
That of B has x along the rod and y along hinge 2: J_Byy is what the paper knows best, and J_Bxx
is small. Both inertias are about centres of mass. Lengths are from hinge 1 to A's centre of mass
(l1), from hinge 1 to hinge 2 (lA), and from hinge 2 to B's centre of mass (l2). The paper's text
leaves open from where lA counts; 0.248 m is about twice l1 if it is the whole arm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from support import stick_slip as joints

Friction, Motion, simulate = joints.Friction, joints.Motion, joints.simulate
GRAVITY = 9.82


@dataclass(frozen=True)
class Pendulum(joints.Plant):
    """A single pendulum; the angle is zero hanging.

    Attributes:
        mass: In [kg].
        length: From the hinge to the centre of mass in [m].
        inertia: About the centre of mass in [kg·m²].
        friction: Of its hinge.
        gain: Torque per control signal.
    """

    mass: float = 0.428
    length: float = 0.092
    inertia: float = 0.004
    friction: tuple[Friction] = (Friction(viscous=2e-4),)
    gain: float = 0.0

    def equations(self, q: Sequence[float], v: Sequence[float], u: float) -> tuple:
        """Mass matrix as rows, and torques without dry friction."""
        weight = self.mass * GRAVITY * self.length * math.sin(q[0])
        moment = self.inertia + self.mass * self.length**2
        return ((moment,),), (self.gain * u - weight - self.friction[0].viscous * v[0],)

    def reactions(self, q: Sequence[float], v: Sequence[float], a: Sequence[float]) -> tuple:
        """Of the hinge the sum of absolute forces [N], and no torque."""
        s, c, square = math.sin(q[0]), math.cos(q[0]), v[0] * v[0]
        across = self.length * (c * a[0] - s * square)
        up = self.length * (s * a[0] + c * square) + GRAVITY
        return ((self.mass * (abs(across) + abs(up)), 0.0),)

    def energy(self, q: Sequence[float], v: Sequence[float]) -> float:
        """Kinetic and potential energy in [J], zero at rest hanging."""
        moment = self.inertia + self.mass * self.length**2
        height = self.length * (1.0 - math.cos(q[0]))
        return 0.5 * moment * v[0] ** 2 + self.mass * GRAVITY * height


@dataclass(frozen=True)
class Furuta(joints.Plant):
    """The Furuta pendulum of Table G.5, its `0.92 m` read as 0.092 m.

    Attributes:
        arm_com: l1 in [m].
        arm_length: lA in [m].
        rod_com: l2 in [m].
        arm_mass: In [kg].
        rod_mass: In [kg].
        arm_inertia: J_A about A's axes in [kg·m²]; the first two never show.
        rod_inertia: J_B about B's axes in [kg·m²].
        shaft: Inertia of the motor's shaft about hinge 1 in [kg·m²].
        friction: Of both hinges.
        gain: K, torque per control signal; of the size that Table 4 found.
        tilt: Rotation vector of gravity in [rad].
    """

    arm_com: float = 0.128
    arm_length: float = 0.248
    rod_com: float = 0.092
    arm_mass: float = 0.238
    rod_mass: float = 0.428
    arm_inertia: tuple[float, float, float] = (1e-4, 0.003, 0.003)
    rod_inertia: tuple[float, float, float] = (1e-4, 0.004, 0.004)
    shaft: float = 1e-4
    friction: tuple[Friction, Friction] = (Friction(viscous=1e-3), Friction(viscous=1e-4))
    gain: float = 7.28
    tilt: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'gravity', tuple(_rotated(self.tilt, (0.0, -GRAVITY, 0.0))))

    def inertias(self, theta2: float) -> tuple[float, float, float, float]:
        """M11, M12, M22 and half the slope of M11, over sin·cos, at an angle of the rod."""
        s, c = math.sin(theta2), math.cos(theta2)
        jx, jy, jz = self.rod_inertia
        square = self.rod_mass * self.rod_com**2
        m11 = (
            self.arm_inertia[2] + self.shaft + self.arm_mass * self.arm_com**2
            + self.rod_mass * self.arm_length**2 + jx * c * c + (jz + square) * s * s)
        m12 = self.rod_mass * self.arm_length * self.rod_com * c
        return m11, m12, jy + square, jz + square - jx

    def equations(self, q: Sequence[float], v: Sequence[float], u: float) -> tuple:
        """Mass matrix as rows, and torques without dry friction (Lagrange)."""
        s, c = math.sin(q[1]), math.cos(q[1])
        m11, m12, m22, half = self.inertias(q[1])
        along, across, up = self._in_arm(q[0], self.gravity)
        moment = self.rod_mass * self.rod_com
        far = self.arm_mass * self.arm_com + self.rod_mass * self.arm_length
        pull = self.rod_mass * self.arm_length * self.rod_com * s
        one = (
            self.gain * u - self.friction[0].viscous * v[0] - 2.0 * s * c * half * v[0] * v[1]
            + pull * v[1] ** 2 + far * across - moment * s * along)
        two = (
            s * c * half * v[0] ** 2 - self.friction[1].viscous * v[1]
            + moment * (s * up + c * across))
        return ((m11, m12), (m12, m22)), (one, two)

    @staticmethod
    def _in_arm(theta1: float, vector: Sequence[float]) -> tuple[float, float, float]:
        """Parts of a world vector along the arm, across it (t) and up."""
        s, c = math.sin(theta1), math.cos(theta1)
        x, y, z = vector
        return c * x - s * z, -s * x - c * z, y

    def wrenches(self, q: Sequence[float], v: Sequence[float], a: Sequence[float]) -> tuple:
        """Forces and torques that each hinge hands on, parts along the arm, across and up.

        Returns:
            Force and torque at hinge 1 by the stand, then at hinge 2 by the arm.
        """
        s, c = math.sin(q[1]), math.cos(q[1])
        (v1, v2), (a1, a2) = v, a
        along, across, up = self._in_arm(q[0], self.gravity)
        jx, jy, jz = self.rod_inertia
        r, l, m = self.arm_length, self.rod_com, self.rod_mass  # noqa: E741
        # Newton for the rod: parts of its centre's acceleration less gravity.
        f2 = (
            m * (-r * v1**2 - l * (2.0 * c * v1 * v2 + s * a1) - along),
            m * (r * a1 + l * (c * a2 - s * (v1**2 + v2**2)) - across),
            m * (l * (s * a2 + c * v2**2) - up))
        # Euler: the rate of its spin, and the lever of the force at the hinge, l p x f.
        skew = (jz - jx) * s * c
        spin = (
            jy * a2 - v1 * skew * v1,
            (jz - jx) * (c * c - s * s) * v1 * v2 + skew * a1 + v1 * jy * v2,
            2.0 * skew * v1 * v2 + (jx * c * c + jz * s * s) * a1)
        t2 = (
            spin[0] + l * (s * f2[2] + c * f2[1]), spin[1] - l * c * f2[0], spin[2] - l * s * f2[0])
        f1 = (
            f2[0] + self.arm_mass * (-self.arm_com * v1**2 - along),
            f2[1] + self.arm_mass * (self.arm_com * a1 - across), f2[2] - self.arm_mass * up)
        rest = r - self.arm_com
        t1 = (
            t2[0], t2[1] - self.arm_com * f1[2] - rest * f2[2],
            t2[2] + self.arm_com * f1[1] + rest * f2[1] + self.arm_inertia[2] * a1)
        return (f1, t1), (f2, t2)

    def reactions(self, q: Sequence[float], v: Sequence[float], a: Sequence[float]) -> tuple:
        """Of each hinge the sums of absolute forces [N] and of absolute torques [N·m]."""
        s, c = math.sin(q[0]), math.cos(q[0])
        (f1, t1), (f2, t2) = self.wrenches(q, v, a)

        def level(w: tuple) -> float:
            return abs(c * w[0] - s * w[1]) + abs(s * w[0] + c * w[1])

        return (
            (level(f1) + abs(f1[2]), level(t1)),
            (level(f2) + abs(f2[2]), abs(t2[1]) + abs(t2[2])))

    def energy(self, q: Sequence[float], v: Sequence[float]) -> float:
        """Kinetic and potential energy in [J]; without tilt zero at rest hanging."""
        m11, m12, m22, _ = self.inertias(q[1])
        along, across, up = self._in_arm(q[0], self.gravity)
        far = self.arm_mass * self.arm_com + self.rod_mass * self.arm_length
        moment = self.rod_mass * self.rod_com
        high = math.sin(q[1]) * across - math.cos(q[1]) * up - GRAVITY
        return (
            0.5 * (m11 * v[0] ** 2 + m22 * v[1] ** 2) + m12 * v[0] * v[1]
            - far * along - moment * high)


def _rotated(turn: Sequence[float], vector: Sequence[float]) -> np.ndarray:
    """A vector turned by a rotation vector (Rodrigues)."""
    turn, vector = np.asarray(turn, dtype=float), np.asarray(vector, dtype=float)
    angle = float(np.linalg.norm(turn))
    if angle == 0.0:
        return vector
    axis = turn / angle
    return (
        math.cos(angle) * vector + math.sin(angle) * np.cross(axis, vector)
        + (1.0 - math.cos(angle)) * axis * (axis @ vector))




def release(plant: joints.Plant, seconds: float = 20.0, angle: float = math.pi - 0.03) -> Motion:
    """The last joint is let go near upright, all at rest."""
    n = len(plant.friction)
    return simulate(plant, [0.0] * (n - 1) + [angle], [0.0] * n, seconds)


def pulse(
    plant: joints.Plant, seconds: float = 20.0, height: float = 0.02, begin: float = 1.0,
    length: float = 1.0,
) -> Motion:
    """From rest, hanging, one pulse of the control signal."""
    n = len(plant.friction)

    def control(t: float, q: Sequence[float], v: Sequence[float]) -> float:
        return height if begin <= t < begin + length else 0.0

    return simulate(plant, [0.0] * n, [0.0] * n, seconds, control)


def swing_up(
    plant: Furuta, seconds: float = 20.0, limit: float = 0.1, kick: float = 0.2,
    goal: float = 1.15, pumping: float = 30.0, centring: tuple[float, float] = (4.0, 1.0),
) -> Motion:
    """From rest, hanging, the rod is brought to the energy it has upright, and over the top.

    The arm is to accelerate by ``pumping`` times missing energy and cos(theta2) times the rod's
    speed, which adds to its energy (Åström and Furuta 2000), and back to where it began.

    Args:
        plant: What moves.
        seconds: How long.
        limit: Largest control signal.
        kick: How long the signal is first at its limit in [s].
        goal: Wanted energy as a part of that upright; what is more, the arm's motion takes.
        pumping: In [1/(J·s)].
        centring: Arm's acceleration per angle in [1/s²] and per speed in [1/s].
    """
    weight = plant.rod_mass * GRAVITY * plant.rod_com
    inertia, _, moment, _ = plant.inertias(0.0)

    def control(t: float, q: Sequence[float], v: Sequence[float]) -> float:
        if t < kick:
            return limit
        missing = weight * (2.0 * goal - 1.0 + math.cos(q[1])) - 0.5 * moment * v[1] ** 2
        wanted = -pumping * missing * math.cos(q[1]) * v[1]
        wanted -= centring[0] * q[0] + centring[1] * v[0]
        return max(-limit, min(limit, inertia * wanted / plant.gain))

    return simulate(plant, [0.0, 0.0], [0.0, 0.0], seconds, control)


def mjcf(plant):
    """The mechanism as MJCF, without Coulomb friction."""
    arm, rod = plant.arm_inertia, plant.rod_inertia
    gravity = ' '.join(map(repr, map(float, plant.gravity)))
    one, two = (f.viscous for f in plant.friction)
    return f"""<mujoco><option gravity="{gravity}"><flag contact="disable"/></option><worldbody>
      <body><joint axis="0 1 0" armature="{plant.shaft}" damping="{one}"/>
        <inertial pos="{plant.arm_com} 0 0" mass="{plant.arm_mass}"
          diaginertia="{arm[0]} {arm[2]} {arm[1]}"/>
        <body pos="{plant.arm_length} 0 0"><joint axis="1 0 0" damping="{two}"/>
          <inertial pos="0 {-plant.rod_com} 0" mass="{plant.rod_mass}"
            diaginertia="{rod[1]} {rod[0]} {rod[2]}"/></body></body></worldbody></mujoco>"""
