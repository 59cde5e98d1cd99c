"""Measured, predicted and unexplained torques over time, each sample once."""

from __future__ import annotations

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from sysid_ros.evaluation.live_torque import LiveTorque
from sysid_ros.nodes.conversions import to_nanoseconds
from sysid_ros.nodes.effort_topics import EffortTopics

START = 1_700_000_000.0


class Publisher:
    def __init__(self):
        self.sent, self.listeners = [], 1

    def publish(self, message):
        self.sent.append(message)

    def get_subscription_count(self):
        return self.listeners

    @property
    def times(self):
        return [1e-9 * to_nanoseconds(message.header.stamp) - START for message in self.sent]


class FakeNode(dict):
    """Stands for a node: its publishers by topic."""

    def advertise(self, kind, topic, qos):
        assert kind is JointState
        self[topic] = Publisher()
        return self[topic]


def torque(start, stop, rate=100.0):
    t = START + np.arange(start, stop, 1.0 / rate)
    measured = np.column_stack([t - START, np.full(len(t), 2.0)])
    return LiveTorque(t, measured, 0.5 * measured)


@pytest.fixture
def node():
    return FakeNode()


@pytest.fixture
def topics(node):
    return EffortTopics(node, ('shoulder', 'elbow'))


def test_windows_that_overlap_give_each_sample_once_at_what_the_eye_needs(node, topics):
    for start in (0.0, 0.5, 1.0):
        topics.publish(torque(start, start + 2.0))
    for publisher in node.values():
        steps = np.diff(publisher.times)
        assert steps == pytest.approx(np.full(len(steps), 0.02), abs=1e-5)
        assert publisher.times[0] == pytest.approx(0.0, abs=1e-5)
        assert publisher.times[-1] == pytest.approx(2.98, abs=1e-5)


def test_the_residual_is_measured_less_predicted_at_the_same_stamps(node, topics):
    topics.publish(torque(1.0, 2.0))
    measured, predicted, residual = (
        node[f'~/{name}_efforts'].sent for name in ('measured', 'predicted', 'residual'))
    assert measured
    for one, two, three in zip(measured, predicted, residual, strict=True):
        assert one.header == two.header == three.header
        assert list(one.name) == ['shoulder', 'elbow'] and not one.position and not one.velocity
        np.testing.assert_allclose(three.effort, np.subtract(one.effort, two.effort))


def test_what_is_known_of_one_joint_alone_is_no_number_for_the_other():
    found = torque(0.0, 1.0)
    found.measured[:, 1] = np.nan
    np.testing.assert_allclose(found.rms, [np.sqrt(np.mean(np.arange(0, 1, 0.01)**2)), np.nan])
    np.testing.assert_allclose(found.residual_rms, 0.5 * found.rms)


def test_nothing_is_sent_to_nobody_and_a_clock_that_went_back_begins_anew(node, topics):
    predicted = node['~/predicted_efforts']
    predicted.listeners = 0
    topics.publish(torque(10.0, 11.0))
    assert not predicted.sent and len(node['~/measured_efforts'].sent) == 50
    predicted.listeners = 1
    topics.publish(torque(10.0, 11.0))
    assert not predicted.sent
    topics.publish(torque(0.0, 1.0))
    assert len(predicted.sent) == 50


def test_slow_samples_are_all_sent(node, topics):
    topics.publish(torque(0.0, 1.0, rate=25.0))
    assert len(node['~/measured_efforts'].sent) == 25
