"""Small robots and settings, by which compiled functions meet all kinds of arguments."""

from __future__ import annotations


def _link(name: str, mass: float, com: str, moments: tuple[float, float, float]) -> str:
    """A link with its centre of mass and moments of inertia about it."""
    x, y, z = moments
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}"/><mass value="{mass}"/>'
        f'<inertia ixx="{x}" iyy="{y}" izz="{z}" ixy="0" ixz="0" iyz="0"/></inertial></link>\n')


def _joint(
    name: str, parent: str, child: str, axis: str, *, place: str = '0 0 0',
    kind: str = 'continuous', extra: str = '',
) -> str:
    """A joint; what it has beside its axis is ``extra``."""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{place}"/><axis xyz="{axis}"/>{extra}</joint>\n')


def _limited(reach: float, effort: float, damping: float) -> str:
    """Limits of a joint, and its friction."""
    return (
        f'<limit lower="-{reach}" upper="{reach}" effort="{effort}" velocity="5"/>'
        f'<dynamics damping="{damping}" friction="{damping}"/>')


def _robot(name: str, *parts: str) -> str:
    return f'<robot name="{name}">\n{"".join(parts)}</robot>\n'


#: Two revolute joints and a prismatic one.
ARM = _robot(
    'arm', '<link name="base"/>',
    _link('upper', 3.0, '0.2 0.01 0.02', (0.008, 0.05, 0.05)),
    _link('lower', 1.5, '0.15 0 0.01', (0.003, 0.015, 0.015)),
    _link('slide', 0.8, '0.02 0.01 0.05', (0.003, 0.003, 0.002)),
    _joint('shoulder', 'base', 'upper', '0 1 0', place='0 0 0.4', kind='revolute',
           extra=_limited(2.0, 100.0, 0.5)),
    _joint('elbow', 'upper', 'lower', '0 0 1', place='0.4 0 0', kind='revolute',
           extra=_limited(2.0, 50.0, 0.2)),
    _joint('lift', 'lower', 'slide', '0 0 1', place='0.3 0 0', kind='prismatic',
           extra=_limited(0.8, 50.0, 1.0)))

#: A double pendulum.
PENDULUM = _robot(
    'pendulum', '<link name="stand"/>',
    _link('upper', 0.5, '0 0 -0.1', (0.004, 0.004, 0.0005)),
    _link('lower', 0.3, '0 0 -0.12', (0.002, 0.002, 0.0003)),
    _joint('shoulder', 'stand', 'upper', '0 1 0',
           extra='<dynamics damping="0.05" friction="0.02"/>'),
    _joint('elbow', 'upper', 'lower', '0 1 0', place='0 0 -0.2',
           extra='<dynamics damping="0.02" friction="0.01"/>'))

#: A crank of 1 m, a coupler of 2 m and a rocker of 3 m on a ground of 3.5 m, in the x-y plane.
FOUR_BAR = _robot(
    'four_bar', '<link name="ground"/>',
    _link('crank', 1.0, '0.5 0 0', (0.02, 0.08, 0.09)),
    _link('coupler', 2.0, '1 0 0', (0.2, 0.6, 0.7)),
    _link('rocker', 3.0, '1.5 0 0', (0.6, 1.8, 2.2)),
    _joint('crank_joint', 'ground', 'crank', '0 0 1'),
    _joint('coupler_joint', 'crank', 'coupler', '0 0 1', place='1 0 0'),
    _joint('rocker_joint', 'ground', 'rocker', '0 0 1', place='3.5 0 0'))

#: What closes it.
FOUR_BAR_LOOPS = """
actuated: [crank_joint]
assembly: {crank_joint: 0.0, coupler_joint: 1.4, rocker_joint: 2.4}
closures:
  - name: tip
    kind: point
    first: {link: coupler, origin: [2, 0, 0]}
    second: {link: rocker, origin: [3, 0, 0]}
"""

#: Settings of recordings of each, as formats that take the estimator's name.
SETTINGS = {
    'arm': """
robot:
  urdf: arm.urdf
  terms:
    armature: all
    stiffness: [shoulder]
    viscous_friction: all
    coulomb_friction: [shoulder, lift]
    asymmetric_coulomb: [elbow]
    stribeck_friction: [shoulder]
    torque_offset: [shoulder, lift]
    coulomb_smoothing: 0.05
recording: {format: rosbag, file: motion, joints: [shoulder, elbow, lift]}
processing:
  position_filter: {cutoff: 20.0}
  parallel_filter: {cutoff: 10.0, decimate_to: 25.0}
""",
    'plain_arm': """
robot: {urdf: arm.urdf}
recording: {format: rosbag, file: motion, joints: [shoulder, elbow, lift]}
processing: {parallel_filter: {cutoff: 10.0, decimate_to: 25.0}}
""",
    'loaded_arm': """
robot:
  urdf: arm.urdf
  terms: {coulomb_smoothing: 0.05, load_friction: [shoulder], power_friction: [elbow]}
recording: {format: rosbag, file: motion, joints: [shoulder, elbow, lift]}
processing: {position_filter: {cutoff: 20.0}}
""",
    'pendulum': """
robot:
  urdf: pendulum.urdf
  terms: {viscous_friction: all, coulomb_friction: all, coulomb_smoothing: 0.05, torque_offset: []}
recording: {format: rosbag, file: motion, joints: [shoulder, elbow]}
processing: {position_filter: {cutoff: 10.0}}
""",
    'dry_pendulum': """
robot:
  urdf: pendulum.urdf
  terms: {viscous_friction: all, coulomb_friction: all, torque_offset: []}
recording: {format: rosbag, file: motion, joints: [shoulder, elbow]}
processing: {position_filter: {cutoff: 10.0}}
""",
    'four_bar': """
robot:
  urdf: four_bar.urdf
  loops: loops.yaml
  gravity: [0, -9.80665, 0]
  terms: {viscous_friction: [crank_joint, rocker_joint], coulomb_smoothing: 0.05}
recording: {format: rosbag, file: motion, joints: [crank_joint]}
processing: {position_filter: {cutoff: 10.0}}
""",
}

#: Settings of a search for a motion.
EXCITATION = """
robot: {urdf: arm.urdf}
motion: {duration: 4.0, harmonics: [1, 2, 3]}
clearance:
  boxes: [{name: wall, lower: [1.5, -2, -2], upper: [1.7, 2, 2]}]
design: {starts: 1, iterations: 3}
"""
