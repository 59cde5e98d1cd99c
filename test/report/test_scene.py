"""Scenes for viewers: inertia ellipsoids in the frames of links, paths and boxes in the base's."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from support.robot_factory import random_urdf
from sysid_ros.errors import ParameterError
from sysid_ros.excitation.geometry.clearance import Box, BoxClearance, KeepIn, Surroundings
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.tip_paths import tip_paths
from sysid_ros.report.inertia_scene import (
    DESCRIBED,
    DESCRIBED_COM,
    IDENTIFIED_COM,
    IDENTIFIED_INERTIA,
    inertia_scene,
)
from sysid_ros.report.motion_scene import KEPT_FREE, KEPT_IN, OBSTACLES, PATH, motion_scene
from sysid_ros.report.plots import BEFORE, IDENTIFIED
from sysid_ros.report.scene import box_edges
from sysid_ros.robot.model import RobotModel

TABLE = Box('table', (-1.0, -1.0, -0.5), (1.0, 0.5, -0.1))
CELL = Box('cell', (-0.6, -0.6, 0.1), (0.6, 0.6, 1.2))
# An arm on a plate whose tool is fixed 0.1 m beyond the last joint.
ARM = """<robot name="arm"><link name="plate"/>
<joint name="j1" type="revolute"><parent link="plate"/><child link="upper"/>
<origin xyz="0 0 0.3"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="2" effort="9"/>
</joint>
<link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.025"/></inertial></link>
<joint name="flange" type="fixed"><parent link="upper"/><child link="tool"/>
<origin xyz="0.5 0 0"/></joint><link name="tool"/></robot>"""


@pytest.fixture(scope='module')
def arm() -> RobotModel:
    return RobotModel.from_description(ARM)


def groups(shapes) -> list[str]:
    return [shape.group for shape in shapes]


def rebuilt(shapes, group, robot, masses) -> dict[str, np.ndarray]:
    """Inertial parameters at joint-frame origins of what is drawn, by link."""
    model, found = robot.pinocchio_model, {}
    for shape in shapes:
        if shape.group == group:
            own = pin.Inertia.FromEllipsoid(masses[shape.frame], *(0.5 * shape.size).tolist())
            frame = model.frames[model.getFrameId(shape.frame, pin.FrameType.BODY)]
            placed = frame.placement * pin.SE3(np.array(shape.pose))
            found[shape.frame] = placed.act(own).toDynamicParameters()
    return found


def test_what_is_drawn_has_the_inertia_of_the_described_and_of_the_identified_robot() -> None:
    model = TorqueModel(RobotModel.from_urdf(random_urdf(4, 6, bare_frames=True)), ())
    robot, parameters = model.robot, model.parameters
    masses = dict(zip(robot.body_names, robot.inertial_prior[:, 0].tolist(), strict=True))
    identified = parameters.with_values({
        name: 1.5 * parameters[name] for name in parameters.names if parameters.is_inertial(name)})
    shapes = inertia_scene(robot, identified)
    for group, factor in ((DESCRIBED, 1.0), (IDENTIFIED_INERTIA, 1.5)):
        drawn = rebuilt(shapes, group, robot, {
            link: factor * mass for link, mass in masses.items()})
        assert set(drawn) == set(robot.body_names)
        for body, phi in zip(robot.body_names, robot.inertial_prior, strict=True):
            np.testing.assert_allclose(drawn[body], factor * phi, rtol=1e-7, atol=1e-9)


def test_before_and_after_have_the_colours_of_the_report_and_groups_of_their_own(arm) -> None:
    parameters = TorqueModel(arm, ()).parameters
    shapes = inertia_scene(arm, parameters)
    assert groups(shapes) == [DESCRIBED, DESCRIBED_COM, IDENTIFIED_INERTIA, IDENTIFIED_COM]
    assert [shape.colour for shape in shapes] == [BEFORE, BEFORE, IDENTIFIED, IDENTIFIED]
    for shape in shapes:
        assert shape.frame == 'upper'
        np.testing.assert_allclose(shape.pose[:3, 3], [0.2, 0.0, 0.0])
    assert groups(inertia_scene(arm)) == [DESCRIBED, DESCRIBED_COM]


def test_a_number_that_is_none_is_refused(arm) -> None:
    parameters = TorqueModel(arm, ()).parameters
    with pytest.raises(ParameterError, match='not finite'):
        inertia_scene(arm, parameters.with_values({'upper.inertia_zz': np.nan}))


def test_the_path_is_that_of_the_outermost_link_as_pinocchio_places_it(arm) -> None:
    angle = np.linspace(0.0, 2.0, 31)
    paths = tip_paths(arm, angle[:, None])
    assert list(paths) == ['tool']
    np.testing.assert_allclose(paths['tool'], np.column_stack([
        0.5 * np.cos(angle), 0.5 * np.sin(angle), np.full(31, 0.3)]), atol=1e-12)
    robot = RobotModel.from_urdf(random_urdf(1, 6))
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (5, len(robot.joint_names)))
    model = robot.pinocchio_model
    data = model.createData()
    for name, points in tip_paths(robot, q).items():
        for k, point in enumerate(points):
            pin.framesForwardKinematics(
                model, data, robot.tree.coupling @ q[k] + robot.tree.coupling_offset)
            placed = data.oMf[model.getFrameId(name, pin.FrameType.BODY)]
            np.testing.assert_allclose(point, placed.translation, atol=1e-9)


def test_boxes_stand_where_the_settings_say_with_the_distance_that_is_kept(arm) -> None:
    around = Surroundings.of((BoxClearance((), (TABLE,), 0.05), KeepIn(0, (0.0, 0.0, 0.0), CELL)))
    shapes = motion_scene(arm, around, {'tool': np.eye(3)})
    assert groups(shapes) == [PATH, OBSTACLES, KEPT_FREE, KEPT_IN]
    assert {shape.frame for shape in shapes} == {'plate'}
    _, obstacle, free, inside = shapes
    np.testing.assert_allclose(obstacle.pose[:3, 3], [0.0, -0.25, -0.3])
    np.testing.assert_allclose(obstacle.size, [2.0, 1.5, 0.4])
    np.testing.assert_allclose(free.points.min(axis=0), [-1.05, -1.05, -0.55])
    np.testing.assert_allclose(free.points.max(axis=0), [1.05, 0.55, -0.05])
    np.testing.assert_allclose(inside.points.max(axis=0), CELL.upper)


def test_long_paths_keep_their_ends_and_no_more_points_than_one_sees(arm) -> None:
    points = np.column_stack([np.linspace(0.0, 1.0, 9001), np.zeros((9001, 2))])
    (path,) = motion_scene(arm, Surroundings(), {'tool': points})
    assert len(path.points) == 2000
    np.testing.assert_array_equal(path.points[[0, -1]], points[[0, -1]])


def test_a_box_has_twelve_edges_along_its_axes() -> None:
    edges = box_edges((0.0, 0.0, 0.0), (1.0, 2.0, 3.0))
    along = edges[:, 1] - edges[:, 0]
    assert sorted(map(tuple, along.tolist())) == sorted(
        4 * [(1.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 3.0)])
    assert len({frozenset(map(tuple, edge)) for edge in edges.tolist()}) == 12
