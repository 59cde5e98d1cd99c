"""What is tolerated before and in a motion: to its bound, and no further. FAULTS 1, 12, 14, 37, 45.

The numbers are what the documentation of the settings says; each bound is tried at its value,
which is allowed, and just beyond, which is not.
"""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.playback.checks import Observation, PlaybackChecks, PlaybackTolerances
from sysid_ros.excitation.playback.playback import Phase, Setpoint
from sysid_ros.excitation.safety.limits import MotionLimits

ONES = np.ones(2)
LIMITS = MotionLimits(
    ('a', 'b'), -2.0 * ONES, 2.0 * ONES, 1.5 * ONES, 4.0 * ONES, 30.0 * ONES, 20.0 * ONES)
WELL = Observation(0.1 * ONES, 0.0 * ONES, 0.0 * ONES, 0.01, 100.0)
POINT = Setpoint(0.1 * ONES, np.array([0.3, 0.0]), 0.0 * ONES, Phase.PLAYING, 0.5)
NUMBERS = st.floats(-10.0, 10.0) | st.sampled_from([np.nan, np.inf, -np.inf, 0.0, 5e-324])
MAY_BE_ZERO = {'reaction_time', 'over'}


def checks(**tolerances: float) -> PlaybackChecks:
    return PlaybackChecks(LIMITS, ('revolute', 'prismatic'), PlaybackTolerances(**tolerances))


def in_motion(seen: Observation, watched: PlaybackChecks | None = None) -> tuple[str, ...]:
    watched = watched or checks()
    watched.begin(WELL)
    return watched.findings(seen, POINT)


def test_what_is_tolerated_without_other_word() -> None:
    assert asdict(PlaybackTolerances()) == {
        'tracking_error': 0.1, 'state_timeout': 0.1, 'heartbeat_timeout': 0.2, 'overrun': 0.05,
        'bad_in_a_row': 5, 'reaction_time': 0.05, 'over': 0.05}
    assert asdict(PlaybackTolerances().limits(np.nan)) == {
        'reaction_time': 0.05, 'tracking_error': 0.1, 'state_timeout': 0.1, 'over': 0.05}
    assert PlaybackChecks(LIMITS, ('revolute', 'revolute')).settings == PlaybackTolerances()


@given(st.fixed_dictionaries(dict.fromkeys(asdict(PlaybackTolerances()), NUMBERS)))
@settings(max_examples=300, deadline=None)
def test_tolerances_are_finite_numbers_above_zero_or_refused_by_their_name(given_) -> None:
    usable = {
        name: value >= 0.0 and np.isfinite(value) and (value > 0.0 or name in MAY_BE_ZERO)
        for name, value in given_.items()}
    try:
        tolerances = PlaybackTolerances(**given_)
    except ConfigurationError as error:
        name = str(error).partition(': cannot')[0].rpartition(': ')[2]
        assert not usable[name]
    else:
        assert all(usable.values())
        # What is tolerated of joint states never gets less by their rate.
        for rate in (np.nan, 1.0, 1e3):
            assert tolerances.limits(rate).state_timeout >= given_['state_timeout']


def test_37_joint_states_may_be_late_by_five_periods_if_that_is_longer() -> None:
    tolerances = PlaybackTolerances(state_timeout=0.1)
    assert tolerances.limits(20.0).state_timeout == 0.25
    assert tolerances.limits(100.0).state_timeout == 0.1


@pytest.mark.parametrize(('change', 'beyond', 'words'), [
    ({'monitor_silence': 0.2}, {'monitor_silence': 0.21}, 'The monitor is silent for 0.21 s; 0.2'),
    ({'publishers': 1}, {'publishers': 2}, '2 publishers send joint states'),
    ({'publishers': 0}, {'publishers': 3}, '3 publishers send joint states'),
    ({'bad_in_a_row': 5}, {'bad_in_a_row': 6}, '6 joint states in a row'),
    ({'late': 0.05}, {'late': 0.051}, 'A tick was late by 0.051 s; 0.05 s is allowed'),
    ({'age': 0.1}, {'age': 0.101}, 'The last joint state is 0.101 s old; 0.1 s is allowed'),
    ({'age': -0.1}, {'age': -0.101}, 'The last joint state is -0.101 s old'),
    ({'clock_resets': 0}, {'clock_resets': 1}, 'The clock of the joint states jumped back.'),
    ({'q': 0.1 * ONES + [0.0, 0.0999]}, {'q': 0.1 * ONES + [0.0, 0.1001]}, 'b is 0.1 m away'),
    ({'v': np.array([0.0, 1.575])}, {'v': np.array([0.0, 1.5751])}, 'The velocity of b is 1.575'),
    ({'effort': np.array([-21.0, 0.0])}, {'effort': np.array([-21.01, 0.0])}, 'The effort of a'),
    ({'monitor_fault': ''}, {'monitor_fault': 'It hurts.'}, 'monitor forbids motion: It hurts.'),
])
def test_a_bound_is_allowed_and_what_is_beyond_stops_the_motion(change, beyond, words) -> None:
    assert in_motion(replace(WELL, **change)) == ()
    found, = in_motion(replace(WELL, **beyond))
    assert words in found


def test_a_monitor_that_was_never_heard_is_not_there() -> None:
    found, = in_motion(replace(WELL, monitor_silence=np.inf))
    assert 'The monitor is not there; 0.2 s is allowed' in found
    found, = in_motion(replace(WELL, monitor_silence=np.nan))
    assert 'The monitor is not there' in found


def test_efforts_that_are_not_measured_are_not_judged() -> None:
    assert in_motion(replace(WELL, effort=np.array([np.nan, 0.0]))) == ()


def test_an_effort_that_is_not_measured_hides_no_other() -> None:
    found, = in_motion(replace(WELL, effort=np.array([np.nan, 99.0])))
    assert 'The effort of b is 99' in found


def test_12_a_clock_that_jumped_back_before_the_motion_is_none_of_its_business() -> None:
    watched = checks()
    watched.begin(replace(WELL, clock_resets=2))
    assert watched.findings(replace(WELL, clock_resets=2), POINT) == ()
    assert len(watched.findings(replace(WELL, clock_resets=3), POINT)) == 1


def test_14_a_joint_is_stuck_that_is_told_to_move_and_stopped_since_the_motion_began() -> None:
    stuck = replace(WELL, stuck=('a', 'b'))
    # The second is not told to move.
    assert in_motion(stuck) == ('The position of a is stuck.',)
    for part, found in ((0.9, ()), (1.1, ('The position of a is stuck.',))):
        for sign in (1.0, -1.0):
            crawling = replace(POINT, v=sign * part * 1e-3 * LIMITS.velocity * [1.0, 0.0])
            watched = checks()
            watched.begin(WELL)
            assert watched.findings(stuck, crawling) == found
    # What stood still before has time to move, once.
    watched = checks()
    watched.begin(stuck)
    assert watched.findings(stuck, POINT) == ()
    assert watched.findings(WELL, POINT) == ()
    assert watched.findings(stuck, POINT) == ('The position of a is stuck.',)


def test_the_rate_when_the_motion_begins_says_how_late_joint_states_may_be() -> None:
    watched = checks()
    watched.begin(replace(WELL, rate=20.0))
    assert watched.findings(replace(WELL, age=0.25, rate=20.0), POINT) == ()
    assert len(watched.findings(replace(WELL, age=0.26, rate=20.0), POINT)) == 1


def test_a_start_needs_joint_states_and_a_monitor() -> None:
    watched = checks()
    assert watched.absent(WELL) == ()
    assert watched.absent(replace(WELL, age=0.1)) == ()
    found, = watched.absent(replace(WELL, age=0.101))
    assert 'The last joint state is 0.101 s old; 0.1 s is allowed (state_timeout)' in found
    assert len(watched.absent(replace(WELL, age=np.nan))) == 1
    found, = watched.absent(replace(WELL, monitor_silence=0.3))
    assert 'The monitor is silent' in found
    missing = replace(WELL, missing=('a', 'b'), monitor_silence=0.3)
    assert watched.absent(missing) == ('No joint state names a, b.',)
    assert watched.absent(replace(missing, unheard='Policies differ.')) == ('Policies differ.',)


def test_a_start_is_unsafe_with_two_publishers_unreadable_states_or_beyond_limits() -> None:
    watched = checks()
    assert watched.forbids(WELL) == ()
    for change, words in (
        ({'publishers': 2}, '2 publishers'), ({'bad_in_a_row': 6}, '6 joint states in a row'),
        ({'q': np.array([2.1, 0.0])}, 'cannot stop before'), ({'age': 0.2}, 's old'),
    ):
        found, = watched.forbids(replace(WELL, **change))
        assert words in found
    # As late as five periods at their rate.
    assert watched.forbids(replace(WELL, age=0.2, rate=20.0)) == ()


@pytest.mark.parametrize('end', [1.0, -1.0])
def test_the_margin_is_the_least_of_all_joints_and_both_sides(end: float) -> None:
    watched = checks(reaction_time=0.1)
    near = replace(WELL, q=end * np.array([0.0, 1.6]))
    assert watched.margin(near, np.zeros(2)) == pytest.approx(0.4 / 4.0)
    # 0.04 m until the robot reacts, then |v| sqrt(|v| / J) while it brakes from 0.4 m/s.
    moving = replace(near, v=end * np.array([0.0, 0.4]))
    way = 0.04 + 0.4 * (0.4 / 30.0) ** 0.5
    assert watched.margin(moving, np.zeros(2)) == pytest.approx((0.4 - way) / 4.0)
