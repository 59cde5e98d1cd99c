"""Traces of joint states, decimated for pages."""

import math

import numpy as np

from support.paper_robot import joint_states
from sysid_ros.studio.live.traces import JointTraces

START = 1_700_000_000_000_000_000
MS = 1_000_000


def filled(seconds=1.0, rate=1000):
    traces = JointTraces(seconds=10.0, rate=50.0)
    stamps = [START + round(number * 1e9 / rate) for number in range(round(seconds * rate))]
    # As a node takes them in: some tens at a time.
    for first in range(0, len(stamps), 40):
        part = stamps[first:first + 40]
        traces.receive(joint_states(part), part)
    return traces, stamps[-1]


def test_a_kilohertz_is_decimated_to_what_an_eye_sees():
    traces, last = filled(seconds=1.0)
    seen = traces.since(0, last)
    assert traces.joints == ('shoulder', 'elbow')
    assert len(seen['points']) == 50
    _, age, *rows = seen['points'][-1]
    assert (age, rows) == (0.0, [[0.5, 0.5], [1.0, 1.0], [1.5, 1.5]])


def test_what_is_older_than_the_window_is_gone():
    traces, last = filled(seconds=12.0, rate=100)
    ages = [point[1] for point in traces.since(0, last)['points']]
    assert len(ages) == 500 and max(ages) <= 10.0


def test_only_what_is_new_is_given_and_the_last_point_once_more():
    traces, last = filled(seconds=1.0)
    after = traces.since(0, last)['next']
    later = [last + MS * number for number in range(1, 41)]
    traces.receive(joint_states(later, value=0.7), later)
    new = traces.since(after, later[-1])
    assert [point[0] for point in new['points']] == list(range(after, new['next'] + 1))
    assert new['points'][-1][2] == [0.7, 0.7]


def test_joints_of_several_messages_are_merged_and_what_is_not_known_is_none():
    traces = JointTraces()
    traces.receive(joint_states([START], joints=('shoulder',)), [START])
    traces.receive(joint_states([START + 30 * MS], joints=('wrist',)), [START + 30 * MS])
    points = traces.since(0, START + 30 * MS)['points']
    assert traces.joints == ('shoulder', 'wrist')
    assert [point[2] for point in points] == [[0.5], [0.5, 0.5]]
    assert np.isfinite(traces.latest()).all()


def test_rate_and_age_are_told():
    traces, last = filled(seconds=2.0)
    assert 950 <= traces.rate(last) <= 1050
    assert math.isclose(traces.age(last + 300 * MS), 0.3)
    assert math.isinf(JointTraces().age(START))
    assert traces.rate(last + 3000 * MS) == 0.0


def test_damaged_messages_are_counted_and_do_not_end_the_traces():
    traces, last = filled(seconds=0.1)
    traces.receive([b'nonsense'], [last + MS])
    assert traces.damaged == 1
    traces.receive(joint_states([last + 30 * MS]), [last + 30 * MS])
    assert traces.age(last + 30 * MS) == 0.0


def test_a_stranger_cannot_make_joints_without_end():
    traces = JointTraces()
    for number in range(40):
        stamp = START + 30 * MS * number
        names = tuple(f'joint_{number}_{one}' for one in range(4))
        traces.receive(joint_states([stamp], joints=names), [stamp])
    assert len(traces.joints) == 64
