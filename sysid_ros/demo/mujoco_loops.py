"""Closed loops for the plant: the tree of a description with MuJoCo's own equality constraints."""

from __future__ import annotations

import mujoco
import numpy as np

from sysid_ros.errors import ModelError
from sysid_ros.robot.loops import WORLD, LoopClosure
from sysid_ros.robot.model import RobotModel

_KINDS = {'point': mujoco.mjtEq.mjEQ_CONNECT, 'frame': mujoco.mjtEq.mjEQ_WELD}
# As stiff as the integration allows: a time constant below two steps counts as two.
_SOLREF, _SOLIMP = (1e-4, 1.0), (0.9999, 0.9999, 0.001, 0.5, 2.0)


def closed_description(robot: RobotModel) -> str:
    """The description of a robot as an MJCF whose loops are closed.

    Args:
        robot: A robot with loops. An MJCF closes them itself; to a URDF they are added.

    Raises:
        ModelError: MuJoCo cannot load the description; a rod closes a loop, which MuJoCo has no
            constraint for; or loops were added to an MJCF that has its own.
    """
    assert robot.loops is not None
    text = robot.description.xml.decode()
    try:
        spec = mujoco.MjSpec.from_string(text)
    except ValueError as error:
        raise ModelError(f'MuJoCo cannot load the description: {error}') from error
    own = sum(equality.type in _KINDS.values() for equality in spec.equalities)
    if own == len(robot.loops.closures):
        return text
    if own:
        raise ModelError(
            'loops that are closed in an MJCF and others beside it are not simulated together',
            where=robot.name, found=', '.join(closure.name for closure in robot.loops.closures),
            fix='Close all loops in the MJCF',
        )
    for closure in robot.loops.closures:
        _close(spec, robot, closure)
    spec.compile()
    return str(spec.to_xml())


def _close(spec: mujoco.MjSpec, robot: RobotModel, closure: LoopClosure) -> None:
    """Hold two sites together."""
    if closure.kind not in _KINDS:
        raise ModelError(
            'a loop that a rod closes cannot be simulated', where=f'closure {closure.name!r}',
            allowed=', '.join(_KINDS), fix='Describe the rod as a link with joints at its ends',
        )
    names = []
    for link, own in zip(closure.links, closure.poses, strict=True):
        body, pose = robot.place_of(link)
        pose, quaternion = pose @ own, np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(pose[:3, :3]).ravel())
        owner = next(
            (name for name in robot.body_names if robot.joint_of_body(name) - 1 == body), WORLD)
        place = spec.body(owner)
        names.append(f'{closure.name}: {link}')
        place.add_site(name=names[-1], pos=pose[:3, 3], quat=quaternion)
    equality = spec.add_equality(
        name=closure.name, type=_KINDS[closure.kind], objtype=mujoco.mjtObj.mjOBJ_SITE,
        name1=names[0], name2=names[1])
    equality.solref, equality.solimp = _SOLREF, _SOLIMP
