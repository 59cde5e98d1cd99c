"""Scenes as messages for RViz, and nodes that do without the package of these messages."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from support import ideal_robot
from support.golden_problems import arm_urdf
from support.robot_factory import random_urdf
from sysid_ros.data_folder import DataFolder
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.excitation.geometry.clearance import Box, BoxClearance, Surroundings
from sysid_ros.mechanics.tree.tip_paths import tip_paths
from sysid_ros.nodes.estimate_markers import EstimateMarkers
from sysid_ros.nodes.excitation_goal import prepare_goal
from sysid_ros.nodes.markers import MarkerTopic, marker_array
from sysid_ros.nodes.motion_markers import MotionMarkers
from sysid_ros.nodes.node import LATCHED
from sysid_ros.release.store import RevisionStore
from sysid_ros.report.inertia_scene import (
    DESCRIBED,
    DESCRIBED_COM,
    IDENTIFIED_COM,
    IDENTIFIED_INERTIA,
    inertia_scene,
)
from sysid_ros.report.motion_scene import motion_scene
from sysid_ros.robot.model import RobotModel

messages = pytest.importorskip(
    'visualization_msgs.msg', reason='visualization_msgs is not installed')


class FakeNode:
    """Stands for a node: remembers what it advertises, publishes and logs, and has one timer."""

    def __init__(self, frame_prefix=''):
        self.settings = SimpleNamespace(frame_prefix=frame_prefix)
        self.advertised, self.published, self.warnings = [], [], []
        self.due, self.callback = True, None

    def every(self, period, callback):
        self.callback = callback
        return self

    def cancel(self):
        self.due = False

    def reset(self):
        self.due = True

    def spin_until(self, reached):
        end = time.monotonic() + 60.0
        while not reached():
            assert self.due and time.monotonic() < end
            self.callback()
            time.sleep(0.01)

    def advertise(self, kind, topic, qos):
        self.advertised.append((kind, topic, qos))
        return self

    def publish(self, message):
        self.published.append(message)

    def get_logger(self):
        return self

    def warning(self, text):
        self.warnings.append(text)


@pytest.fixture(scope='module')
def robot():
    return RobotModel.from_urdf(random_urdf(2, 5, bare_frames=True))


def test_markers_are_the_inertias_of_pinocchio_in_the_frames_of_links(robot):
    (clear, *markers) = marker_array(inertia_scene(robot)).markers
    assert clear.action == messages.Marker.DELETEALL
    model = robot.pinocchio_model
    drawn = {}
    for marker in markers:
        assert marker.action == messages.Marker.ADD
        # Without a stamp, TF gives the pose of the link now.
        assert (marker.header.stamp.sec, marker.header.stamp.nanosec) == (0, 0)
        assert marker.frame_locked
        if marker.ns == DESCRIBED:
            assert marker.type == messages.Marker.SPHERE
            position, turn = marker.pose.position, marker.pose.orientation
            pose = pin.SE3(
                pin.Quaternion(turn.w, turn.x, turn.y, turn.z).toRotationMatrix(),
                np.array([position.x, position.y, position.z]))
            body = robot.body_names.index(marker.header.frame_id)
            scale = marker.scale
            own = pin.Inertia.FromEllipsoid(
                robot.inertial_prior[body, 0], 0.5 * scale.x, 0.5 * scale.y, 0.5 * scale.z)
            frame = model.frames[model.getFrameId(
                marker.header.frame_id, pin.FrameType.BODY)].placement
            drawn[body] = (frame * pose).act(own).toDynamicParameters()
    assert sorted(drawn) == list(range(len(robot.body_names)))
    for body, phi in drawn.items():
        np.testing.assert_allclose(phi, robot.inertial_prior[body], rtol=1e-7, atol=1e-9)


def test_no_two_markers_take_the_place_of_one_another(robot):
    around = Surroundings.of((BoxClearance((), (Box('a', (0, 0, 0), (1, 1, 1)),
                                                Box('b', (2, 2, 2), (3, 3, 4)))),))
    shapes = [*inertia_scene(robot), *motion_scene(robot, around, {'tip': np.eye(3)})]
    markers = marker_array(shapes).markers[1:]
    assert len({(marker.ns, marker.id) for marker in markers}) == len(shapes)
    kinds = {marker.ns: marker.type for marker in markers}
    assert kinds['path'] == messages.Marker.LINE_STRIP
    assert kinds['obstacles'] == messages.Marker.CUBE
    assert kinds['kept free'] == messages.Marker.LINE_LIST
    path = next(marker for marker in markers if marker.ns == 'path')
    np.testing.assert_array_equal([[p.x, p.y, p.z] for p in path.points], np.eye(3))
    # RViz draws nothing of a marker without thickness, and lines by the first length alone.
    assert all(marker.scale.x > 0.0 for marker in markers)
    assert {marker.header.frame_id for marker in markers[len(inertia_scene(robot)):]} == {
        robot.base_name}


def test_a_topic_is_latched_and_holds_the_last_scene(robot):
    node = FakeNode()
    topic = MarkerTopic(node, '~/inertia_markers')
    assert node.advertised == [(messages.MarkerArray, '~/inertia_markers', LATCHED)]
    topic.show(inertia_scene(robot))
    assert len(node.published) == 1 and not node.warnings


def test_frames_have_the_prefix_that_the_publisher_of_tf_puts_before_links(robot):
    node = FakeNode('left/')
    MarkerTopic(node, '~/inertia_markers').show(inertia_scene(robot))
    frames = {marker.header.frame_id for marker in node.published[0].markers[1:]}
    assert frames == {f'left/{name}' for name in robot.body_names}


def test_without_the_package_a_node_says_so_once_and_goes_on(robot, monkeypatch):
    # An entry of None makes the import fail as an absent package does.
    monkeypatch.setitem(sys.modules, 'visualization_msgs.msg', None)
    node = FakeNode()
    topic = MarkerTopic(node, '~/inertia_markers')
    topic.show(inertia_scene(robot))
    topic.show([])
    (warning,) = node.warnings
    assert '~/inertia_markers' in warning and 'Install visualization_msgs' in warning
    assert not node.advertised and not node.published


def groups(message):
    return {marker.ns for marker in message.markers[1:]}


def placed(message):
    """What is where; colours are rounded on their way."""
    return [(marker.ns, marker.id, marker.header.frame_id, marker.pose, marker.scale)
            for marker in message.markers]


def test_the_description_is_shown_at_once_and_an_estimate_when_it_is_read(fits):
    node, robot = FakeNode(), fits.arm.model.robot
    markers = EstimateMarkers(node, robot)
    (first,) = node.published
    assert node.advertised[0][1] == '~/inertia_markers'
    assert groups(first) == {DESCRIBED, DESCRIBED_COM}
    assert not node.due
    markers.show(fits.folder)
    node.spin_until(lambda: len(node.published) == 2)
    assert not node.due
    assert groups(node.published[1]) == {
        DESCRIBED, DESCRIBED_COM, IDENTIFIED_INERTIA, IDENTIFIED_COM}
    parameters = Estimate.load(fits.folder / 'estimate.json').parameters
    assert node.published[1] == marker_array(inertia_scene(robot, parameters))
    markers.close()


def test_the_path_of_a_motion_is_shown_before_it_is_played(tmp_path):
    _, designer = ideal_robot.write_plan(tmp_path, arm_urdf())
    node = FakeNode()
    markers = MotionMarkers(node, designer)
    assert node.advertised[0][1:] == ('~/motion_markers', LATCHED)
    goal = SimpleNamespace(motion='wave', motion_yaml='', speed_scale=1.0)
    prepared = prepare_goal(
        goal, DataFolder(tmp_path), designer, designer.limits.centre, 0.05, markers.show)
    empty, shown = node.published
    assert groups(empty) == set()
    (path,) = shown.markers[1:]
    (points,) = tip_paths(designer.model.robot, prepared.path.q).values()
    assert path.header.frame_id == designer.model.robot.base_name
    np.testing.assert_allclose([[p.x, p.y, p.z] for p in path.points], points)


def test_every_node_shows_something_at_once_and_the_server_follows_commits_and_rollbacks(
    ros, server, fits, tmp_path,
):
    plan, _ = ideal_robot.write_plan(tmp_path, arm_urdf())
    seen, estimated, moved = (
        ros.hear(messages.MarkerArray, topic, LATCHED) for topic in (
            'model_server/inertia_markers', 'identification_node/inertia_markers',
            'excitation_node/motion_markers'))
    heard = server.start()
    ros.start('identification_node', {
        'data_folder': str(server.data), 'settings': str(fits.settings), 'fit_standby': False})
    ros.start('excitation_node', {'data_folder': str(tmp_path), 'plan': str(plan)})
    ros.wait(lambda: seen and estimated and moved)
    assert groups(seen[-1]) == groups(estimated[-1]) == {DESCRIBED, DESCRIBED_COM}
    assert groups(moved[-1]) == set()
    for what in ('measured', 'predicted', 'residual'):
        topic = f'identification_node/{what}_efforts'
        ros.wait(lambda topic=topic: ros.client.count_publishers(topic) == 1)
    # By another process, which takes no judgement: that has its own tests.
    parameters = Estimate.load(fits.folder / 'estimate.json').parameters
    with RevisionStore(server.data / 'revisions.sqlite') as store:
        initial = store.current()
        store.commit(replace(
            initial.content, estimate='fit_1', parameters=parameters), initial.id)
    # Of two topics the one or the other may be heard first.
    ros.wait(lambda: heard[-1].estimate == 'fit_1' and len(seen) == 2)
    assert placed(seen[-1]) == placed(
        marker_array(inertia_scene(fits.arm.model.robot, parameters)))
    # Whoever comes late is shown the same.
    late = ros.hear(messages.MarkerArray, 'model_server/inertia_markers', LATCHED)
    ros.wait(lambda: late)
    assert late[-1] == seen[-1]
    answer = server.rollback(revision=initial.id)
    assert answer.success, answer.message
    ros.wait(lambda: len(seen) == 3)
    assert groups(seen[-1]) == {DESCRIBED, DESCRIBED_COM}
