"""Published robots that move under control, with dry friction that sticks: recordings to try on.

The plant is Pinocchio's forward dynamics of the published description; what a user would have,
the prior, is the same description with other masses, centres of mass and frictions.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np
import pinocchio as pin

from sysid_ros.demo.bristle_friction import BristleFriction, bristle_stiffness

#: Arms, a mobile arm, legs: description of each in the package example-robot-data.
ROBOTS = {
    'UR3': 'ur3_robot.urdf', 'UR5': 'ur5_robot.urdf', 'UR10': 'ur10_robot.urdf',
    'Jaco': 'kinova.urdf', 'Panda': 'panda.urdf', 'xArm7': 'xarm7.urdf',
    'Talos arm': 'talos_left_arm.urdf', 'Tiago': 'tiago_no_hand.urdf',
    'finger': 'finger_edu.urdf', 'Bolt legs': 'bolt.urdf', 'two joints': 'TwoDofs.urdf',
    'SCARA': 'scara.urdf', 'Z1': 'z1.urdf', 'Solo 12': 'solo12.urdf',
}
#: Robots of the same package that no rule was made with: quadrupeds, hands, arms of classrooms.
FOREIGN = {
    'Go1': 'go1.urdf', 'A1': 'a1.urdf', 'Laikago': 'laikago.urdf', 'HyQ': 'hyq_no_sensors.urdf',
    'Allegro': 'allegro_right_hand.urdf', 'SO-101': 'so101.urdf', 'Baxter': 'baxter.urdf',
    'B1': 'b1.urdf', 'UR10 limited': 'ur10_joint_limited_robot.urdf',
    'Borinot': 'borinot_flying_arm_2.urdf', 'SO-100': 'so100.urdf',
}
_OWN = Path(__file__).parent
RATE, STEPS = 200.0, 5
# How far the prior is off: masses and frictions in parts, centres of mass in parts of a link's
# radius of gyration and at most so many metres.
_MASS, _FRICTION, _CENTRE, _FAR = 0.2, 0.3, 0.3, 0.02
# Dry and viscous friction in parts of the rigid-body torque, noise in parts of the torque.
_DRY, _VISCOUS, _NOISE = 0.2, 0.1, 0.02
# A load in parts of the robot's mass, its radius and where it is held, in [m].
_LOAD, _LOAD_RADIUS, _LOAD_CENTRE = 0.1, 0.05, (0.03, -0.02, 0.08)
# Motion: harmonics, lowest frequency in [Hz], and amplitude in [rad].
_HARMONICS, _SLOWEST, _AMPLITUDE = 5, 0.1, 0.7
# Bandwidth of the joint controllers in [rad/s].
_BANDWIDTH = 80.0
# Friction has turned round after two such ways, and slides after so many.
_SLIDING = 3.0
# Friction of a joint that carries next to nothing is that of an acceleration of this, in [rad/s^2].
_LEAST_ACCELERATION = 2.0


def published(name: str) -> Path | None:
    """The description of a robot; None where its package is not installed."""
    wanted = (ROBOTS | FOREIGN)[name]
    own = _OWN / wanted
    if own.is_file():
        return own
    try:
        found = files('example-robot-data') or ()
    except PackageNotFoundError:
        return None
    return next((Path(str(f.locate())) for f in found if f.name == wanted), None)


@dataclass(frozen=True, eq=False)
class Recorded:
    """What a driver reports: stamps ``(T,)``, positions and efforts ``(T, n)``."""

    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray


class Plant:
    """A robot whose parameters differ from its description.

    Args:
        path: The published description, which is the truth.
        seed: Of the prior's errors, of friction and motions.
    """

    def __init__(self, path: Path, seed: int) -> None:
        self._tree = _plain(ET.parse(path))
        self.model = pin.buildModelFromXML(self.description)
        self._data = self.model.createData()
        self._random = np.random.default_rng(seed)
        self.bits = int(self._random.integers(14, 20))
        self.joints = tuple(str(name) for name in self.model.names)[1:]
        size = len(self.joints)
        rigid = np.sqrt(np.mean(self._rigid(*self.reference(0).sampled(20.0)) ** 2, axis=0))
        rigid = np.maximum(rigid, _LEAST_ACCELERATION * self._inertia)
        self.dry = _DRY * rigid * self._random.uniform(0.5, 1.5, size)
        self.viscous = _VISCOUS * rigid * self._random.uniform(0.5, 1.5, size)
        self.prior = self._prior()

    @property
    def description(self) -> str:
        """The truth as a URDF."""
        return ET.tostring(self._tree.getroot(), encoding='unicode')

    def reference(self, number: int) -> Reference:
        """The motion of a number; each begins and ends at rest."""
        return Reference(self.model, np.random.default_rng([number, 7]))

    @property
    def load(self) -> float:
        """Mass of the load that it can carry, a tenth of its own, in [kg]."""
        return _LOAD * float(sum(inertia.mass for inertia in self.model.inertias))

    @cached_property
    def _last(self) -> int:
        """The last joint that turns, of the longest chain."""
        turning = [k for k in range(1, self.model.njoints)
                   if not self.model.joints[k].shortname().startswith('JointModelP')]
        return max(turning, key=lambda k: len(self.model.supports[k]))

    @property
    def hand(self) -> str:
        """The link that carries the load."""
        return next(frame.name for frame in self.model.frames if frame.parentJoint == self._last
                    and frame.type == pin.FrameType.BODY)

    def recording(
        self, number: int, seconds: float = 20.0, *, loaded: bool = False
    ) -> Recorded:
        """The robot tracks a motion; encoders and noisy torques are recorded."""
        t, q, tau = self._simulated(self.reference(number), seconds, loaded)
        random = np.random.default_rng([number, 11])
        tau = tau + _NOISE * np.sqrt(np.mean(tau**2, axis=0)) * random.normal(size=tau.shape)
        step = 2.0 * np.pi / 2**self.bits
        return Recorded(t, np.round(q / step) * step, tau)

    def fresh(
        self, number: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """A motion without noise, its true torque, and where joints slide.

        Returns:
            q, v, a and tau, and True where a joint has gone far enough since it turned for dry
            friction to be what it is in sliding; shape ``(T, n)`` each.
        """
        q, v, a = self.reference(number).sampled(20.0)
        tau = self._rigid(q, v, a) + self.viscous * v + self.dry * np.sign(v)
        return q, v, a, tau, _way_since_turning(q, v) > _SLIDING * self.dry / self._stiffness

    @cached_property
    def _inertia(self) -> np.ndarray:
        """Diagonal of the mass matrix at rest."""
        return np.diag(pin.crba(self.model, self._data, pin.neutral(self.model))).copy()

    @cached_property
    def _stiffness(self) -> np.ndarray:
        """Stiffness of friction that sticks."""
        return bristle_stiffness(self.dry, self._inertia, 1.0 / (RATE * STEPS))

    def _rigid(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return np.array([
            pin.rnea(self.model, self._data, *row).copy() for row in zip(q, v, a, strict=True)])

    def _simulated(
        self, reference: Reference, seconds: float, loaded: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Computed torque at 1 kHz, against friction that sticks like a stiff spring."""
        model = self.model
        if loaded:
            model = pin.Model(model)
            model.appendBodyToJoint(
                self._last, pin.Inertia.FromSphere(self.load, _LOAD_RADIUS),
                pin.SE3(np.eye(3), np.array(_LOAD_CENTRE)))
        data = model.createData()
        dt = 1.0 / (RATE * STEPS)
        wanted, speed, ahead = reference.sampled(seconds, RATE * STEPS)
        friction = BristleFriction(self.dry, self._stiffness)
        q, v = wanted[0].copy(), np.zeros(len(self.joints))
        kept, drive = np.empty_like(wanted), np.empty_like(wanted)
        for k in range(len(wanted)):
            driven = ahead[k] + _BANDWIDTH**2 * (wanted[k] - q) + 2.0 * _BANDWIDTH * (speed[k] - v)
            tau = pin.rnea(model, data, q, v, driven).copy()
            kept[k], drive[k] = q, tau
            a = pin.aba(model, data, q, v, tau - friction.force - self.viscous * v)
            v = v + dt * a
            q = q + dt * v
            friction.move(v, dt)
        t = np.arange(len(wanted)) * dt
        return t[::STEPS], kept[::STEPS], drive[::STEPS]

    def _prior(self) -> str:
        """The description with other masses, centres of mass and frictions."""
        root, random = ET.fromstring(ET.tostring(self._tree.getroot())), self._random
        for inertial in root.iter('inertial'):
            mass, origin = inertial.find('mass'), inertial.find('origin')
            moment = inertial.find('inertia')
            if mass is None or moment is None or float(mass.get('value', 0)) <= 0.0:
                continue
            size = math.sqrt(float(moment.get('ixx', 0)) / float(mass.get('value', 1)))
            factor = random.uniform(1.0 - _MASS, 1.0 + _MASS)
            mass.set('value', repr(float(mass.get('value', 0)) * factor))
            for key in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'):
                moment.set(key, repr(float(moment.get(key, 0)) * factor))
            if origin is not None:
                centre = np.array(origin.get('xyz', '0 0 0').split(), dtype=float)
                centre += min(_CENTRE * size, _FAR) * random.uniform(-1.0, 1.0, 3)
                origin.set('xyz', ' '.join(map(repr, centre.tolist())))
        for joint in root.iter('joint'):
            if joint.get('name') not in self.joints:
                continue
            k = self.joints.index(str(joint.get('name')))
            for old in joint.findall('dynamics'):
                joint.remove(old)
            off = random.uniform(1.0 - _FRICTION, 1.0 + _FRICTION, 2)
            ET.SubElement(joint, 'dynamics', damping=repr(float(self.viscous[k] * off[0])),
                          friction=repr(float(self.dry[k] * off[1])))
        return ET.tostring(root, encoding='unicode')


class Reference:
    """Sums of sines about the middle of each joint's range, faded in and out.

    Args:
        model: The robot.
        random: Random numbers.
    """

    def __init__(self, model: pin.Model, random: np.random.Generator) -> None:
        lower, upper = model.lowerPositionLimit, model.upperPositionLimit
        reach = 0.5 * (upper - lower)
        wide = ~np.isfinite(reach) | (reach > 3.2)
        self._middle = np.where(wide, 0.0, 0.5 * (np.where(wide, 0.0, upper) + np.where(
            wide, 0.0, lower)))
        size = np.where(wide, _AMPLITUDE, np.minimum(_AMPLITUDE, 0.8 * np.where(wide, 1.0, reach)))
        joints = len(size)
        self._omega = 2.0 * np.pi * _SLOWEST * random.uniform(
            0.7, 1.3, (joints, _HARMONICS)) * np.arange(1, _HARMONICS + 1)
        self._phase = random.uniform(0.0, 2.0 * np.pi, (joints, _HARMONICS))
        self._amplitude = random.uniform(0.5, 1.0, (joints, _HARMONICS)) / np.arange(
            1, _HARMONICS + 1)
        self._amplitude *= (size / self._amplitude.sum(axis=1))[:, None]

    def sampled(
        self, seconds: float, rate: float = RATE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, velocities and accelerations, shape ``(T, n)``."""
        t = np.arange(round(seconds * rate)) / rate
        angle = t[:, None, None] * self._omega + self._phase
        q = (self._amplitude * np.sin(angle)).sum(axis=2)
        fade = np.clip(np.minimum(t, seconds - t), 0.0, 1.0)[:, None]
        q = self._middle + q * (fade**3 * (10.0 - 15.0 * fade + 6.0 * fade**2))
        v = np.gradient(q, 1.0 / rate, axis=0)
        return q, v, np.gradient(v, 1.0 / rate, axis=0)


def _way_since_turning(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """How far each joint is from where it last turned or began, shape ``(T, n)``."""
    turns = np.zeros(q.shape, dtype=bool)
    turns[0] = True
    turns[1:] = np.sign(v[1:]) != np.sign(v[:-1])
    last = np.maximum.accumulate(np.where(turns, np.arange(len(q))[:, None], 0), axis=0)
    return np.abs(q - np.take_along_axis(q, last, axis=0))


def _plain(tree: ET.ElementTree) -> ET.ElementTree:
    """The description with wide limits where there are none, no meshes and no mimicking joints."""
    for joint in tree.iter('joint'):
        for mimic in joint.findall('mimic'):
            joint.remove(mimic)
        if joint.get('type') == 'continuous':
            joint.set('type', 'revolute')
            limit = joint.find('limit')
            limit = ET.SubElement(joint, 'limit') if limit is None else limit
            limit.set('lower', '-10')
            limit.set('upper', '10')
            limit.set('velocity', limit.get('velocity', '10'))
            limit.set('effort', limit.get('effort', '1000'))
    for link in tree.iter('link'):
        for kind in ('visual', 'collision'):
            for shape in link.findall(kind):
                link.remove(shape)
    return tree
