"""An SRDF of MoveIt says which collisions count."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.errors import ModelError
from sysid_ros.excitation.configuration import ClearanceSettings
from sysid_ros.excitation.geometry.exact_shapes import GeometryClearance
from sysid_ros.excitation.geometry.meeting_pairs import self_clearance
from sysid_ros.excitation.geometry.shapes import capsules_of
from sysid_ros.robot.description.srdf import AllowedCollisions
from sysid_ros.robot.model import RobotModel

LINKS = ('link0', 'link1', 'link2', 'link3')
ADJACENT = ''.join(
    f'<disable_collisions link1="link{k + 1}" link2="link{k}" reason="Adjacent"/>'
    for k in range(3))


@pytest.fixture(scope='module')
def robot():
    parts, previous = ['<link name="base"/>'], 'base'
    for name in LINKS:
        parts.append(
            f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" '
            'izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial><collision><origin xyz="0 0 0.15"/>'
            '<geometry><box size="0.05 0.05 0.2"/></geometry></collision></link>'
            f'<joint name="j_{name}" type="revolute"><parent link="{previous}"/>'
            f'<child link="{name}"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>'
            '<limit lower="-2" upper="2" velocity="2" effort="50"/></joint>')
        previous = name
    return RobotModel.from_urdf(f'<robot name="arm">{"".join(parts)}</robot>')


def srdf(folder, body):
    path = folder / 'arm.srdf'
    path.write_text(f'<robot name="arm"><group name="arm"/>{body}</robot>')
    return path


def linked(clearance, names):
    found = {frozenset((names[i], names[j])) for i, j in clearance.pairs}
    # The base has no shape, but a capsule.
    return {pair for pair in found if 'base' not in pair}


def pairs_of(robot, allowed):
    """Pairs of links that keep clear, by shapes and by capsules."""
    rest = np.zeros(len(robot.joint_names))
    shapes = GeometryClearance.of(robot, rest, allowed=allowed)
    capsules = capsules_of(robot)
    own = self_clearance(robot, capsules, rest, allowed=allowed)
    return (
        linked(shapes, [solid.name for solid in shapes.solids]),
        linked(own, [capsule.name for capsule in capsules]))


def pairs(*names):
    return {frozenset(f'link{digit}' for digit in name) for name in names}


def test_without_an_srdf_all_but_neighbours_count(robot):
    assert pairs_of(robot, None)[0] == pairs('02', '03', '13')


def test_pairs_that_the_srdf_disables_do_not_count(robot, tmp_path):
    path = srdf(tmp_path, ADJACENT + '<disable_collisions link1="link0" link2="link2"/>')
    allowed = AllowedCollisions.load(path, LINKS)
    assert pairs_of(robot, allowed) == (pairs('03', '13'), pairs('03', '13'))


def test_neighbours_that_it_does_not_disable_count(robot, tmp_path):
    path = srdf(tmp_path, ADJACENT.replace('link1="link1" link2="link0"', 'link1="x" link2="y"'))
    assert pairs_of(robot, AllowedCollisions.load(path, LINKS))[0] == pairs('01', '02', '03', '13')


def test_a_link_may_be_silent_but_for_pairs_that_are_enabled(robot, tmp_path):
    path = srdf(tmp_path, ADJACENT + '<disable_default_collisions link="link3"/>'
                '<enable_collisions link1="link3" link2="link0"/>')
    assert pairs_of(robot, AllowedCollisions.load(path, LINKS))[0] == pairs('02', '03')


def test_the_settings_name_the_file_relative_to_their_own(robot, tmp_path):
    srdf(tmp_path, ADJACENT + '<disable_collisions link1="link0" link2="link3"/>')
    settings = ClearanceSettings(srdf='arm.srdf')
    allowed = settings.allowed(robot, tmp_path)
    shapes, = settings.checks(settings.meeting(robot, allowed), np.zeros(4))
    assert linked(shapes, [solid.name for solid in shapes.solids]) == pairs('02', '13')
    assert ClearanceSettings().allowed(robot, tmp_path) is None


@pytest.mark.parametrize(('text', 'words'), [
    ('<robot name="r"><link name="link0"/></robot>', 'is not an SRDF .*as a URDF has'),
    ('<sdf/>', 'is not an SRDF .found root element <sdf>'),
    ('<robot name="r"><disable_collisions link1="a" link2="b"/></robot>',
     'names no link of the robot .found a, b; allowed link0'),
])
def test_a_file_that_is_another_or_of_another_robot_is_refused(tmp_path, text, words):
    path = tmp_path / 'other.srdf'
    path.write_text(text)
    with pytest.raises(ModelError, match=words):
        AllowedCollisions.load(path, LINKS)
    with pytest.raises(ModelError, match='cannot be read'):
        AllowedCollisions.load(tmp_path / 'absent.srdf', LINKS)
