"""Arms to move: serial ones of any number of joints, and a branched one."""

from __future__ import annotations

from sysid_ros.mechanics.joint_terms.terms import Armature, CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

_LENGTH = 0.3
# Mass, speed and torque of the first joint's link and motor; each joint further out has less.
_MASS, _SPEED, _EFFORT = 6.0, 1.5, 150.0


def serial(joints: int) -> TorqueModel:
    """An arm whose axes alternate, with bodies that shrink outwards."""
    parts = ['<link name="base"/>']
    for k in range(joints):
        parts += _joint(f'link{k}' if k else 'base', f'link{k + 1}', k, '0 0 1' if k % 2 == 0
                        else '0 1 0')
    return _model('arm', parts)


def branched() -> TorqueModel:
    """A trunk that turns and carries two arms of two joints."""
    parts = ['<link name="base"/>', *_joint('base', 'trunk', 0, '0 0 1')]
    for side, y in (('left', 0.3), ('right', -0.3)):
        parts += _joint('trunk', f'{side}_upper', 1, '0 1 0', y)
        parts += _joint(f'{side}_upper', f'{side}_fore', 2, '1 0 0')
    return _model('trunk', parts)


def _joint(parent: str, child: str, depth: int, axis: str, y: float = 0.0) -> list[str]:
    """A link and the joint that carries it, ``depth`` joints from the base."""
    share = 0.75**depth
    mass, length = _MASS * share, _LENGTH * share
    moment = mass * length**2 / 12.0
    return [
        f'<link name="{child}"><inertial><origin xyz="0.01 0.02 {length / 2}"/>'
        f'<mass value="{mass}"/><inertia ixx="{moment}" ixy="0" ixz="0" iyy="{moment}" iyz="0" '
        f'izz="{moment / 3}"/></inertial></link>',
        f'<joint name="joint_{child}" type="revolute"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="0 {y} {length}"/><axis xyz="{axis}"/>'
        f'<limit lower="-2.5" upper="2.5" velocity="{_SPEED / share}" '
        f'effort="{_EFFORT * share**2}"/></joint>',
    ]


def _model(name: str, parts: list[str]) -> TorqueModel:
    robot = RobotModel.from_urdf(f'<robot name="{name}">{"".join(parts)}</robot>')
    return TorqueModel(
        robot, [ViscousFriction(), CoulombFriction(smoothing=0.05), Armature()]
    )
