"""Robots with the joints of usual drivers, and recordings as drivers and their tools write them.

Columns, units and side channels are those of the drivers; motion and torque are a simulated arm's.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from support.simulated_arm import SimulatedArm
from sysid_ros.recording.bag.write import write_bag

RATE, DURATION = 125.0, 16.0
# Torque at the joint per ampere, from the shoulder to the wrist.
CONSTANTS = np.array([13.3, 13.3, 9.5, 9.6, 7.5, 5.0, 4.0])
ENCODER = 2.0 * np.pi / 2**17
_NOISE = 0.005
_LENGTHS = (0.15, 0.30, 0.28, 0.20, 0.12, 0.10, 0.08)
_MASSES = (4.0, 5.0, 3.5, 2.5, 1.6, 1.2, 0.6)
_AXES = ('0 0 1', '0 1 0', '0 1 0', '1 0 0', '0 1 0', '1 0 0', '0 1 0')

UR = ('shoulder_pan_joint', 'shoulder_lift_joint', 'elbow_joint', 'wrist_1_joint',
      'wrist_2_joint', 'wrist_3_joint')
PANDA = tuple(f'panda_joint{k}' for k in range(1, 8))
FR3 = tuple(f'fr3_joint{k}' for k in range(1, 8))
LBR = tuple(f'lbr_A{k}' for k in range(1, 8))
IIWA = tuple(f'iiwa_joint_{k}' for k in range(1, 8))
XARM = tuple(f'joint{k}' for k in range(1, 8))
GEN3 = tuple(f'joint_{k}' for k in range(1, 8))
JACO = tuple(f'j2n6s300_joint_{k}' for k in range(1, 7))
SERVOS = ('shoulder_pan', 'shoulder_lift', 'elbow_flex', 'wrist_flex')


def arm_urdf(joints, limit=2.9, continuous=(), fingers=()):
    """A serial arm with these joints, and fingers on its last link."""
    parts = ['<link name="base"/>']
    parent, length = 'base', 0.2
    for k, joint in enumerate(joints):
        kind = 'continuous' if joint in continuous else 'revolute'
        ends = '' if joint in continuous else f'lower="{-limit}" upper="{limit}" '
        parts.append(_joint(
            joint, kind, parent, f'link_{k}', f'0 0 {length}', _AXES[k],
            f'{ends}velocity="3.2" effort="300"'))
        mass, length = _MASSES[k], _LENGTHS[k]
        parts.append(_link(f'link_{k}', mass, length))
        parent = f'link_{k}'
    for finger in fingers:
        parts.append(_joint(
            finger, 'prismatic', parent, f'{finger}_link', f'0 0 {length}', '0 1 0',
            'lower="0.0" upper="0.04" velocity="0.2" effort="20"'))
        parts.append(_link(f'{finger}_link', 0.05, 0.04))
    return f'<robot name="arm">{"".join(parts)}</robot>'


def _joint(name, kind, parent, child, origin, axis, limit):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{origin}"/><axis xyz="{axis}"/><limit {limit}/></joint>')


def _link(name, mass, length):
    slim, round_ = mass * length**2 / 12 + 1e-3 * mass, 2e-3 * mass
    return (
        f'<link name="{name}"><inertial><origin xyz="0.02 0.01 {length / 2}"/>'
        f'<mass value="{mass}"/><inertia ixx="{slim}" ixy="0" ixz="0" iyy="{slim}" iyz="0" '
        f'izz="{round_}"/></inertial></link>')


@dataclass(frozen=True, eq=False)
class Driver:
    """A robot, and what its driver measures.

    Attributes:
        joints: Joints that move.
        fingers: Joints of a gripper that stands still.
        continuous: Joints without limits.
        limit: That of the others in [rad].
    """

    joints: tuple[str, ...]
    fingers: tuple[str, ...] = ()
    continuous: tuple[str, ...] = ()
    limit: float = 2.9
    arm: SimulatedArm = field(init=False)

    def __post_init__(self):
        moving = arm_urdf(self.joints, self.limit, self.continuous)
        object.__setattr__(self, 'arm', SimulatedArm(11, moving, friction=0.2))

    @property
    def urdf(self):
        return arm_urdf(self.joints, self.limit, self.continuous, self.fingers)

    @property
    def constants(self):
        return CONSTANTS[:len(self.joints)]

    def measured(self):
        """Stamps in [s], positions, velocities and torques with the noise of real sensors."""
        t = np.arange(int(RATE * DURATION)) / RATE
        q, v, _ = self.arm.motion(t)
        tau = self.arm.torque(t)
        rng = np.random.default_rng(3)
        tau = tau + _NOISE * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
        return t, np.rint(q / ENCODER) * ENCODER, v + 1e-3 * rng.normal(size=v.shape), tau


@cache
def driver(joints, fingers=(), continuous=(), limit=2.9):
    """A driver, made once."""
    return Driver(joints, fingers, continuous, limit)


def named(form, count, first=0):
    """Names of one quantity's columns."""
    return [form.format(k) for k in range(first, first + count)]


def write_table(path, columns, delimiter=',', decimal='.', header=True):
    """Write columns, ``(names, values)`` each, as a table."""
    names = [name for own, _ in columns for name in own]
    table = np.column_stack([values for _, values in columns])
    rows = [delimiter.join(names)] if header else []
    for row in table:
        # Seconds since 1970 have as many digits as clocks tell, counts are whole.
        cells = [
            f'{x:.9g}' if abs(x) < 1e6 else f'{x:.0f}' if x == np.rint(x) else f'{x:.6f}'
            for x in row]
        rows.append(delimiter.join(cell.replace('.', decimal) for cell in cells))
    path.write_text('\n'.join(rows) + '\n', encoding='utf-8')
    return path


def write_states(path, own, t, q, v, tau, *, names=None, order=None, topic='/joint_states'):
    """Write a bag of joint states: fingers at rest and without effort, joints in some order."""
    names = list(names or own.joints)
    still = np.full((len(t), len(own.fingers)), 0.02)
    q, v, tau = np.hstack([q, still]), np.hstack([v, 0 * still]), np.hstack([tau, 0 * still])
    names += own.fingers
    order = list(range(len(names))) if order is None else order
    write_bag(path, t, [names[k] for k in order], q[:, order], v[:, order], tau[:, order],
              start=1.7e9, topic=topic)
    return path
