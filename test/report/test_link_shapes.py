"""Shapes of links on the page: where the description has them, and as far as they can be drawn."""

import json

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from support.player_script import needs_node, played, view_of
from support.report_runs import report
from sysid_ros.mechanics.tree.kinematics import body_poses
from sysid_ros.report.link_shapes import LinkShape, link_shapes
from sysid_ros.report.plots import LINK
from sysid_ros.report.robot_motion import MotionPoses
from sysid_ros.report.sections.robot_view import RobotViewSection
from sysid_ros.robot.model import RobotModel

INERTIAL = (
    '<inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'
    '</inertial>')
BOX = np.array([0.2, 0.4, 0.6])


def shape(geometry, xyz='0 0 0'):
    return f'<collision><origin xyz="{xyz}"/><geometry>{geometry}</geometry></collision>'


def robot(base='', first='', second='', folder=None):
    text = f"""<robot name="drawn">
        <link name="base">{base}</link>
        <joint name="turn" type="revolute"><parent link="base"/><child link="first"/>
          <origin xyz="0 0 0.5"/><axis xyz="0 0 1"/>
          <limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
        <link name="first">{INERTIAL}{first}</link>
        <joint name="stuck" type="fixed"><parent link="first"/><child link="second"/>
          <origin xyz="1 0 0"/></joint>
        <link name="second">{INERTIAL}{second}</link></robot>"""
    if folder is None:
        return RobotModel.from_description(text)
    (folder / 'drawn.urdf').write_text(text)
    return RobotModel.from_urdf(folder / 'drawn.urdf')


def corners(found):
    return np.array(found.corners).reshape(-1, 3)


def box_corners(middle):
    return np.array(middle) + 0.5 * BOX * np.array(
        np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T


def same_points(a, b):
    return len({tuple(row) for row in np.round(np.vstack([a, b]), 4) + 0.0}) == len(a) == len(b)


def test_shapes_move_with_the_body_that_their_link_belongs_to():
    box = shape('<box size="0.2 0.4 0.6"/>', '0 0 0.1')
    found = link_shapes(robot(base=box, first=box, second=box))
    assert [(each.link, each.tree_index) for each in found] == [
        ('base', -1), ('first', 0), ('second', 0)]
    for each, middle in zip(found, ([0, 0, 0.1], [0, 0, 0.1], [1, 0, 0.1]), strict=True):
        assert same_points(corners(each), box_corners(middle))


def test_a_mesh_that_is_not_there_or_cannot_be_read_is_left_out(tmp_path):
    (tmp_path / 'broken.stl').write_bytes(b'no mesh at all')
    found = link_shapes(robot(
        base=shape('<mesh filename="absent.stl"/>'), first=shape('<mesh filename="broken.stl"/>'),
        second=shape('<sphere radius="0.1"/>'), folder=tmp_path))
    assert [each.link for each in found] == ['second']


def test_a_mesh_of_many_corners_keeps_its_size_and_is_drawn_by_few(tmp_path):
    random = np.random.default_rng(0)
    points = random.normal(size=(4000, 3))
    points *= np.array([0.3, 0.1, 0.2]) / np.linalg.norm(points, axis=1)[:, None]
    hull = ConvexHull(points)
    lines = ['v {:.6f} {:.6f} {:.6f}'.format(*point) for point in points]
    lines += ['f {} {} {}'.format(*(corner + 1)) for corner in hull.simplices]
    (tmp_path / 'egg.obj').write_text('\n'.join(lines))
    found, = link_shapes(robot(first=shape('<mesh filename="egg.obj"/>'), folder=tmp_path))
    few = corners(found)
    assert 30 <= len(few) <= 60
    np.testing.assert_allclose(np.ptp(few, axis=0), np.ptp(points, axis=0), rtol=0.06)
    assert ConvexHull(few).volume > 0.75 * hull.volume


@needs_node
@pytest.mark.parametrize('degrees', [0.0, 40.0])
def test_the_page_draws_the_outline_of_each_shape_where_the_robot_is(degrees, tmp_path):
    drawn = robot(first=shape('<box size="0.2 0.4 0.6"/>', '0.5 0 0'))
    t = np.linspace(0.0, 1.0, 11)
    q = np.full((11, 1), np.deg2rad(degrees))
    view = RobotViewSection.of_bodies(MotionPoses.of(drawn, t, q), [])
    assert view_of(report()).shapes == []  # the arm of that run has none
    shown = played(view.players()['motion'], tmp_path)
    assert shown['names'] == ['links']
    outline = [line['path'] for line in shown['first']['lines'] if line['colour'] == LINK]
    assert len(outline) == 2  # it is drawn again when the size of the canvas is known
    poses = body_poses(drawn, q[:1])
    placed = corners(view.shapes[0]) @ poses.rotation[0, 0].T + poses.origin[0, 0]
    ca, sa, ce, se = np.cos(0.8), np.sin(0.8), np.cos(0.45), np.sin(0.45)
    seen = placed @ np.array([[-sa, ca, 0.0], [se * ca, se * sa, -ce]]).T
    expected = seen[ConvexHull(seen).vertices]
    found = np.array(outline[-1])
    assert len(found) == len(expected) == 6
    centred, shape_seen = (each - each.mean(axis=0) for each in (expected, found))
    scale = np.linalg.norm(shape_seen) / np.linalg.norm(centred)
    order, other = (np.lexsort(np.round(each, 3).T) for each in (centred, shape_seen / scale))
    np.testing.assert_allclose(shape_seen[other] / scale, centred[order], atol=1e-3)


@needs_node
def test_corners_that_are_no_numbers_and_a_flat_shape_do_no_harm(tmp_path):
    layer = {'name': 'links', 'colour': LINK, 'solids': [], 'hulls': [
        {'body': 0, 'corners': [None, 0.0, 1.0, 0.0, 0.0, 0.0]},
        {'body': -1, 'corners': [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]}, {'body': 0, 'corners': []}]}
    shown = view_of(report()).players()['motion']
    found = played(shown | {'layers': [*shown['layers'], layer]}, tmp_path)
    assert found['shown'] == 'yes'
    assert not [line for line in found['first']['lines'] if line['colour'] == LINK]


def test_a_report_without_shapes_is_read_as_before():
    document = json.loads(report().model_dump_json())
    for section in document['sections']:
        section.pop('shapes', None)
    assert type(report()).model_validate(document)
    assert LinkShape(link='base', tree_index=-1, corners=[]).corners == []
