"""Robots with closed loops, for tests and benchmarks: planar linkages and a leg."""

from __future__ import annotations

import numpy as np

from sysid_ros.robot.loops import LoopSettings
from sysid_ros.robot.model import RobotModel

WORLD = 'world'


class Linkage:
    """A planar linkage in the x-y plane as a URDF, with what closes its loops.

    Args:
        name: Name of the robot.
        gravity: Gravity in [m/s²].
    """

    def __init__(self, name, gravity=(0.0, -9.80665, 0.0)):
        self.name, self.gravity = name, gravity
        self.links, self.joints, self.closures = [f'<link name="{WORLD}"/>'], [], []

    def rod(self, name, parent, place, mass, length, limits=None, centre=None, inertia=None):
        """A rod along x on a joint about z, uniform unless its centre and inertia are given."""
        centre = (length / 2, 0.0) if centre is None else centre
        moment = mass * length**2 / 12 if inertia is None else inertia
        self.links.append(
            f'<link name="{name}"><inertial><origin xyz="{centre[0]!r} {centre[1]!r} 0"/>'
            f'<mass value="{mass!r}"/><inertia ixx="{0.4 * moment!r}" iyy="{0.8 * moment!r}" '
            f'izz="{moment!r}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        kind = 'continuous' if limits is None else 'revolute'
        bounds = '' if limits is None else (
            f'<limit lower="{limits[0]}" upper="{limits[1]}" velocity="10" effort="100"/>')
        self.joints.append(
            f'<joint name="{name}_joint" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{name}"/><origin xyz="{place[0]!r} {place[1]!r} 0"/>'
            f'<axis xyz="0 0 1"/>{bounds}</joint>'
        )
        return self

    def close(self, name, first, first_place, second, second_place, kind='point', **options):
        """Hold a place on one link to a place on another."""
        self.closures.append({
            'name': name, 'kind': kind, **options,
            'first': {'link': first, 'origin': (*map(float, first_place), 0.0)},
            'second': {'link': second, 'origin': (*map(float, second_place), 0.0)},
        })
        return self

    @property
    def urdf(self):
        """The tree."""
        return f'<robot name="{self.name}">{"".join(self.links)}{"".join(self.joints)}</robot>'

    def loops(self, actuated, assembly=None):
        """Settings that close the loops."""
        return LoopSettings.model_validate({
            'actuated': tuple(actuated), 'closures': self.closures, 'assembly': assembly or {}})

    def robot(self, actuated, assembly=None):
        """The robot."""
        return RobotModel.from_urdf(
            self.urdf, gravity=self.gravity, loops=self.loops(actuated, assembly))


def four_bar_linkage():
    """Crank 1 m, coupler 2 m, rocker √13 m, ground 4 m: that of the ADAMS recording."""
    rocker = float(np.sqrt(13.0))
    return (
        Linkage('four_bar')
        .rod('crank', WORLD, (0.0, 0.0), 1.0, 1.0)
        .rod('coupler', 'crank', (1.0, 0.0), 2.0, 2.0)
        .rod('rocker', WORLD, (4.0, 0.0), 4.0, rocker)
        .close('tip', 'coupler', (2.0, 0.0), 'rocker', (rocker, 0.0))
    )


FOUR_BAR_ASSEMBLY = {'crank_joint': 0.0, 'coupler_joint': 1.5, 'rocker_joint': 2.5}


def four_bar():
    """The four-bar linkage, driven at the crank, its coupler up."""
    return four_bar_linkage().robot(['crank_joint'], FOUR_BAR_ASSEMBLY)


def pick_and_place():
    """The parallel robot of the ADAMS recording, driven at two cranks: see its YAML file."""
    points = np.array([
        (0, 0), (0.5, -0.5), (-1, -1), (-0.5, -1.5), (-1, -2), (0, -4.5), (-0.5, -5), (1.5, -4.5),
        (2, -5), (2.5, -2), (2, -1.5), (2.5, -1), (1, -0.5), (1.5, 0),
    ], dtype=float)
    bodies = (
        # Name, points (the first is the joint, x points at the second), parent's name, mass.
        ('upper_left', (0, 2), WORLD, 1.0), ('crank_left', (1, 3), WORLD, 1.0),
        ('elbow_left', (3, 2), 'crank_left', 1.0), ('outer_left', (4, 6), 'elbow_left', 3.0),
        ('inner_left', (3, 5), 'crank_left', 3.0), ('hand', (5, 7), 'inner_left', 6.0),
        ('upper_right', (13, 11), WORLD, 1.0), ('crank_right', (12, 10), WORLD, 1.0),
        ('elbow_right', (10, 11), 'crank_right', 1.0), ('outer_right', (9, 8), 'elbow_right', 3.0),
        ('inner_right', (10, 7), 'crank_right', 3.0),
    )
    frames = {WORLD: (np.zeros(2), 0.0)}
    linkage, assembly = Linkage('pick_and_place'), {}
    for name, (start, tip), parent, mass in bodies:
        along = points[tip] - points[start]
        length, angle = float(np.hypot(*along)), float(np.arctan2(along[1], along[0]))
        origin, turned = frames[parent]
        frames[name] = points[start], angle
        extra = _three_point_body(points, name, frames[name])
        linkage.rod(name, parent, _local(points[start], origin, turned), mass, length, **extra)
        assembly[f'{name}_joint'] = float(np.angle(np.exp(1j * (angle - turned))))
    for point, (first, second) in {
        2: ('upper_left', 'elbow_left'), 6: ('outer_left', 'hand'), 7: ('inner_right', 'hand'),
        11: ('upper_right', 'elbow_right'), 8: ('outer_right', 'hand'),
    }.items():
        linkage.close(
            f'point {point}', first, _local(points[point], *frames[first]),
            second, _local(points[point], *frames[second]),
        )
    return linkage.robot(['crank_left_joint', 'crank_right_joint'], assembly), assembly


def _three_point_body(points, name, frame):
    """Centre and inertia of the bodies of the YAML file that are no rods."""
    about = {'elbow_left': ((2, 3, 4), 2 / 3), 'elbow_right': ((9, 10, 11), 2 / 3)}
    if name == 'hand':
        centre = points[5] + np.array([0.75, -0.25])
        return {'centre': _local(centre, *frame), 'inertia': 11.375 - 6.0 * (0.75**2 + 0.25**2)}
    if name not in about:
        return {}
    (first, second, _), moment = about[name]
    centre = 0.5 * (points[first] + points[second])
    arm = float(np.hypot(*(points[first] - centre)))
    return {'centre': _local(centre, *frame), 'inertia': moment - arm**2}


def _local(point, origin, angle):
    away, c, s = point - origin, np.cos(angle), np.sin(angle)
    return float(c * away[0] + s * away[1]), float(c * away[1] - s * away[0])


FIVE_BAR_ASSEMBLY = {
    'left_joint': 2.2, 'left_tip_joint': -1.2, 'right_joint': 0.9, 'right_tip_joint': 1.2}


def five_bar_linkage():
    """Two driven cranks whose second links meet at their tips."""
    return (
        Linkage('five_bar')
        .rod('left', WORLD, (0.0, 0.0), 0.8, 0.3, (1.4, 2.8))
        .rod('left_tip', 'left', (0.3, 0.0), 0.5, 0.45)
        .rod('right', WORLD, (0.25, 0.0), 0.8, 0.3, (0.3, 1.7))
        .rod('right_tip', 'right', (0.3, 0.0), 0.5, 0.45)
        .close('tips', 'left_tip', (0.45, 0.0), 'right_tip', (0.45, 0.0))
    )


def five_bar():
    """The five-bar robot, elbows out."""
    return five_bar_linkage().robot(['left_joint', 'right_joint'], FIVE_BAR_ASSEMBLY)


def rod_five_bar():
    """Two driven cranks and a swing on the right one; a rod from the left crank holds it."""
    linkage = (
        Linkage('rod_five_bar')
        .rod('left', WORLD, (0.0, 0.0), 0.8, 0.3, (1.4, 2.8))
        .rod('right', WORLD, (0.25, 0.0), 0.8, 0.3, (0.3, 1.7))
        .rod('swing', 'right', (0.3, 0.0), 0.5, 0.45)
        .close('rod', 'left', (0.3, 0.0), 'swing', (0.45, 0.0), kind='rod', length=0.5)
    )
    return linkage.robot(['left_joint', 'right_joint'], {
        'left_joint': 2.2, 'right_joint': 0.9, 'swing_joint': 1.2})


# Name, parent, place in it, joints (name and axis), mass, centre, half axes of an ellipsoid.
_LEG = (
    ('hip', WORLD, (0, 0, 0), (('hip_roll', 'x'),), 1.8, (-0.02, 0.01, -0.01), (.06, .05, .05)),
    ('pelvis', 'hip', (0, 0, -0.06), (('hip_yaw', 'z'),), 1.5, (0.01, 0.02, -0.03),
     (.05, .06, .05)),
    ('thigh', 'pelvis', (0, 0, -0.06), (('hip_pitch', 'y'),), 4.5, (0.01, 0.02, -0.16),
     (.07, .06, .2)),
    ('shin', 'thigh', (0, 0, -0.4), (('knee', 'y'),), 2.0, (0.02, 0.005, -0.17), (.04, .04, .19)),
    ('tarsus', 'shin', (0.05, 0, -0.38), (('tarsus_swing', 'y'),), 1.6, (-0.01, 0.0, -0.13),
     (.05, .05, .17)),
    ('achilles', 'thigh', (-0.06, 0, -0.1), (('achilles_pitch', 'y'), ('achilles_roll', 'x')),
     0.25, (0.005, 0, -0.33), (.05, .05, .33)),
    ('crank_a', 'tarsus', (0, 0.05, -0.1), (('toe_a', 'y'),), 0.3, (-0.02, 0.01, 0),
     (.05, .02, .03)),
    ('rod_a', 'crank_a', (-0.05, 0, 0), (('rod_a_pitch', 'y'), ('rod_a_roll', 'x')), 0.12,
     (0, 0, -0.12), (.015, .015, .12)),
    ('crank_b', 'tarsus', (0, -0.05, -0.14), (('toe_b', 'y'),), 0.3, (-0.02, -0.01, 0),
     (.05, .02, .03)),
    ('rod_b', 'crank_b', (-0.05, 0, 0), (('rod_b_pitch', 'y'), ('rod_b_roll', 'x')), 0.11,
     (0, 0, -0.1), (.015, .015, .1)),
    ('foot', 'tarsus', (0, 0, -0.36), (('toe_pitch', 'y'), ('toe_roll', 'x')), 0.9,
     (0.04, 0.0, -0.03), (.1, .05, .03)),
)
_LOOPS = (
    ('achilles', (0.01, 0, -0.66), 'tarsus'), ('rod_a', (0, -0.01, -0.25), 'foot'),
    ('rod_b', (0, 0.01, -0.21), 'foot'),
)
_AXES = {'x': '1 0 0', 'y': '0 1 0', 'z': '0 0 1'}
#: Range in [rad], torque in [N·m], armature, viscous and dry friction of the leg's motors.
LEG_MOTORS = {
    'hip_roll': (0.5, 80.0, 0.17, 1.6, 2.2), 'hip_yaw': (0.5, 60.0, 0.11, 1.1, 1.8),
    'hip_pitch': (0.7, 100.0, 0.24, 2.0, 3.0), 'knee': (0.6, 100.0, 0.22, 1.8, 2.8),
    'toe_a': (0.5, 30.0, 0.06, 0.5, 0.9), 'toe_b': (0.5, 30.0, 0.06, 0.5, 0.9),
}


def leg_mjcf(*, friction=True, options='', reach=None):
    """A leg of six motors and nine passive joints in three loops, closed by nine equations.

    The knee loop is a four-bar of thigh, shin, tarsus and a rod; two cranks on the tarsus move
    the foot by rods. Rods end in a ball joint and begin in a universal one.

    Args:
        friction: Whether motors have dry friction, for which MuJoCo needs its solver.
        options: Attributes of ``<option>``.
        reach: Ranges of motors in [rad], by name, in place of the usual ones.
    """
    reach = {name: motor[0] for name, motor in LEG_MOTORS.items()} | (reach or {})
    children = {name: '' for name, *_ in _LEG} | {WORLD: ''}
    for name, parent, place, joints, mass, centre, size in reversed(_LEG):
        a, b, c = (float(x) ** 2 for x in size)
        moments = [mass / 5 * x for x in (b + c, a + c, a + b)]
        hinges = ''.join(_hinge(joint, axis, friction, reach) for joint, axis in joints)
        children[parent] = (
            f'<body name="{name}" pos="{_vector(place)}">{hinges}<inertial pos="{_vector(centre)}" '
            f'mass="{mass}" diaginertia="{_vector(moments)}"/>{children[name]}</body>'
        ) + children[parent]
    motors = ''.join(
        f'<motor name="{name}" joint="{name}" forcerange="{-torque} {torque}"/>'
        for name, (_, torque, *_) in LEG_MOTORS.items()
    )
    connects = ''.join(
        f'<connect name="{first}_end" body1="{first}" body2="{second}" anchor="{_vector(anchor)}" '
        'solref="0.0004 1" solimp="0.9999 0.9999 0.001"/>'
        for first, anchor, second in _LOOPS
    )
    return (
        f'<mujoco model="leg"><compiler angle="radian"/><option {options}/>'
        f'<worldbody>{children[WORLD]}</worldbody><equality>{connects}</equality>'
        f'<actuator>{motors}</actuator></mujoco>'
    )


def _hinge(name, axis, friction, reach):
    if name not in LEG_MOTORS:
        return f'<joint name="{name}" axis="{_AXES[axis]}" range="-1.4 1.4"/>'
    _, _, armature, viscous, dry = LEG_MOTORS[name]
    return (
        f'<joint name="{name}" axis="{_AXES[axis]}" range="{-reach[name]} {reach[name]}" '
        f'armature="{armature}" damping="{viscous}" frictionloss="{dry if friction else 0.0}" '
        'solreffriction="0.0004 1" solimpfriction="0.9999 0.9999 0.001"/>'
    )


def _vector(values):
    return ' '.join(f'{float(value):.12g}' for value in values)


def leg(reach=None):
    """The leg; ranges of motors as for :func:`leg_mjcf`."""
    return RobotModel.from_mjcf(leg_mjcf(reach=reach))


def framed_four_bar():
    """The four-bar linkage as a chain whose last link is welded to the ground.

    Three of the six equations say what the others say.
    """
    rocker = float(np.sqrt(13.0))
    linkage = (
        Linkage('framed_four_bar')
        .rod('crank', WORLD, (0.0, 0.0), 1.0, 1.0)
        .rod('coupler', 'crank', (1.0, 0.0), 2.0, 2.0)
        .rod('rocker', 'coupler', (2.0, 0.0), 4.0, rocker)
        .rod('pin', 'rocker', (rocker, 0.0), 0.1, 0.1)
        .close('ground', 'pin', (0.0, 0.0), WORLD, (4.0, 0.0), kind='frame')
    )
    return linkage.robot(['crank_joint'], {
        'crank_joint': 0.0, 'coupler_joint': 1.5, 'rocker_joint': -2.2, 'pin_joint': 0.6})


#: A spatial loop between two moving links: a slide, ball joints as three hinges, skewed axes.
SPATIAL = """
<mujoco model="spatial"><compiler angle="radian"/>
  <worldbody>
    <body name="base"><joint name="turn" axis="0.2 0.1 1"/>
      <inertial pos="0.1 0 0" mass="2" diaginertia="0.02 0.03 0.04"/>
      <body name="arm" pos="0.1 0.2 0.1"><joint name="swing" axis="1 0.3 0.2"/>
        <inertial pos="0 0.1 0.1" mass="1" diaginertia="0.01 0.01 0.005"/>
        <body name="slider" pos="0 0.3 0.1"><joint name="slide" type="slide" axis="0.1 1 0.2"/>
          <inertial pos="0 0 0" mass="0.5" diaginertia="0.001 0.001 0.001"/></body></body>
      <body name="lever" pos="-0.1 0.1 0.2"><joint name="lever_a" axis="1 0 0"/>
        <joint name="lever_b" axis="0.1 0.2 1"/>
        <inertial pos="0 0.2 0" mass="0.7" diaginertia="0.01 0.003 0.01"/></body>
    </body>
  </worldbody>
  <equality>{}</equality>
  <actuator><motor joint="turn"/><motor joint="swing"/></actuator>
</mujoco>
"""
SPATIAL_CONNECT = '<connect body1="slider" body2="lever" anchor="0.02 0.05 0.01"/>'


def spatial():
    """The spatial loop: three passive joints, three equations between two moving links."""
    return RobotModel.from_mjcf(SPATIAL.format(SPATIAL_CONNECT))


CLOSED = {
    'four_bar': four_bar, 'framed_four_bar': framed_four_bar, 'five_bar': five_bar,
    'rod_five_bar': rod_five_bar, 'spatial': spatial, 'leg': leg,
}


def smooth_motion(robot, t, seed=0, part=0.6):
    """Sums of sines within the limits of the driven joints, with derivatives, ``(T, n)`` each."""
    random = np.random.default_rng(seed)
    limits = robot.limits
    lower = np.where(np.isfinite(limits.lower), limits.lower, -1.0)
    upper = np.where(np.isfinite(limits.upper), limits.upper, 1.0)
    shape = (len(lower), 3)
    omega, phase = random.uniform(1.0, 7.0, shape), random.uniform(0.0, 6.3, shape)
    size = part * 0.5 * (upper - lower)[:, None] * random.dirichlet(np.ones(3), len(lower))
    angle = t[:, None, None] * omega + phase
    return (
        0.5 * (lower + upper) + (size * np.sin(angle)).sum(2),
        (size * omega * np.cos(angle)).sum(2), -(size * omega**2 * np.sin(angle)).sum(2),
    )
