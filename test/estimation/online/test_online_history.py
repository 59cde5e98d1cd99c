"""What is kept of an estimate that follows a robot."""

import numpy as np

from support.followed_robot import START, change, described, followed, history
from sysid_ros.estimation.online.online_history import OnlineHistory
from sysid_ros.robot.parameters import ParameterSet, inertial_parameter_list


def test_days_take_no_more_than_hours_and_are_spread_evenly():
    kept, parameters = OnlineHistory(), described()
    for second in range(30_000):
        kept.add(followed(START + second, parameters), None)
        assert len(kept.instants) <= 400
        assert kept.instants[-1].time == START + second
    times = np.array([instant.time for instant in kept.instants])
    assert times[0] == START
    # But for the last one, which is always the newest.
    apart = np.diff(times)[:-1]
    assert len(times) > 150 and apart.min() > 0.0
    assert apart.max() <= 2.5 * np.median(apart)


def test_a_change_is_kept_once_while_it_lasts_and_again_when_it_comes_back():
    kept, parameters = OnlineHistory(), described()
    found = [kept.add(followed(START + k, parameters, change=each), None) for k, each in enumerate([
        None, change(), change(), change('elbow', 'friction'), None, change()])]
    assert found == [False, True, False, True, False, True]
    assert [(each.time - START, each.change.where) for each in kept.changes] == [
        (1.0, 'hand'), (3.0, 'elbow'), (5.0, 'hand')]
    for k in range(300):
        kept.add(followed(START + 10.0 + k, parameters, change=change() if k % 2 else None), None)
    assert len(kept.changes) == 100 and kept.changes[-1].time == START + 309.0


def test_values_are_forgotten_where_it_began_anew_with_other_parameters():
    kept = history()
    fewer = ParameterSet.of(inertial_parameter_list('other', np.arange(1.0, 11.0)))
    kept.add(followed(START + 1e5, fewer), None)
    assert [len(instant.values) for instant in kept.instants] == [10]
    assert kept.newest.parameters.names == fewer.names and kept.committed is None
