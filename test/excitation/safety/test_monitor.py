"""What the monitor judges, with a clock of paper. FAULTS 1, 37 to 39, 42 and 46."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.excitation.playback.checks import Observation, PlaybackChecks, PlaybackTolerances
from sysid_ros.excitation.playback.playback import Phase, Setpoint
from sysid_ros.excitation.safety.limit_monitor import (
    LimitMonitor,
    MonitorSettings,
    braking_range,
)
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.excitation.safety.monitor import Command, MotionMonitor, Pulse, TorqueResidual
from sysid_ros.mechanics.torque_model import TorqueModel

NOW = 50.0
Q = np.array([0.3, -0.2, 0.1])


@pytest.fixture
def monitor(model: TorqueModel, limits: MotionLimits) -> MotionMonitor:
    return MotionMonitor(model, limits, ('/one', '/two'), PlaybackTolerances())


def explained(model: TorqueModel, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    return model.torque(model.parameters.prior, Q[None], v[None], a[None])[0]


@pytest.fixture
def moving(model: TorqueModel) -> Observation:
    v = np.array([0.5, 0.0, -0.3])
    return Observation(Q, v, explained(model, v, np.zeros(3)), 0.01, 100.0)


RESTING = Observation(Q, np.zeros(3), np.zeros(3), 0.01, 100.0)
HEARD = {'/one': Pulse(NOW - 0.05, True), '/two': Pulse(NOW - 0.1, False)}
TOLD = Command(True, NOW - 0.01, Q, np.zeros(3))


def test_a_motion_that_goes_as_it_should_is_left_alone(monitor, moving) -> None:
    assert monitor.findings(NOW, moving, TOLD, HEARD) == ()
    assert monitor.findings(NOW, moving, None, HEARD) == ()


def test_a_robot_at_rest_that_nobody_moves_is_no_reason_for_anything(monitor) -> None:
    stale = replace(RESTING, age=100.0)
    nothing = Observation(*(np.full(3, np.nan) for _ in range(3)), np.inf)
    for seen in (RESTING, nothing, stale):
        assert monitor.findings(NOW, seen, None, {}) == ()
        assert monitor.findings(NOW, seen, Command(False, 0.0), HEARD) == ()
    assert monitor.at_rest(RESTING) and not monitor.at_rest(stale)
    assert not monitor.moving(NOW, nothing, None) and not monitor.moving(NOW, RESTING, None)
    assert monitor.moving(NOW, stale, None) and monitor.moving(NOW, RESTING, TOLD)


@pytest.mark.parametrize(('pulses', 'words'), [
    ({'/one': Pulse(NOW - 0.3, False), '/two': HEARD['/two']}, '/one is silent for 0.3 s; 0.2 s'),
    ({'/one': HEARD['/one']}, '/two is not heard of'),
])
def test_42_a_node_that_is_silent_while_the_robot_is_told_to_move(
    monitor, moving, pulses, words
) -> None:
    found, = monitor.findings(NOW, moving, TOLD, pulses)
    assert words in found


def test_42_a_motion_whose_node_died_is_found_when_nothing_else_is_heard(monitor, moving) -> None:
    killed = replace(TOLD, received=NOW - 0.4)
    pulses = HEARD | {'/one': Pulse(NOW - 0.4, True)}
    found = monitor.findings(NOW, moving, killed, pulses)
    assert len(found) == 2 and '/one is silent' in found[0]
    assert 'Nothing is heard of the motion for 0.4 s' in found[1]


def test_a_robot_that_others_move_is_stopped_only_for_who_fell_silent_at_work(
    monitor, moving
) -> None:
    assert monitor.findings(NOW, moving, None, {}) == ()
    idle = {name: Pulse(NOW - 9.0, False) for name in HEARD}
    assert monitor.findings(NOW, moving, None, idle) == ()
    found = monitor.findings(NOW, moving, None, idle | {'/two': Pulse(NOW - 9.0, True)})
    assert any('/two is silent for 9 s' in each for each in found)


@pytest.mark.parametrize(('changes', 'words'), [
    ({'age': 0.15}, 'The last joint state is 0.15 s old'),
    ({'q': Q + 0.2}, 'waist is 0.2 rad away from its command'),
    ({'q': np.array([2.95, 0.0, 0.0]), 'v': np.array([4.0, 0.0, 0.0])}, 'cannot stop before'),
    ({'v': np.array([6.0, 0.0, 0.0])}, 'The velocity of waist is 6'),
    ({'bad_in_a_row': 6}, '6 joint states in a row'),
    ({'q': np.full(3, np.nan)}, 'The position of waist is not finite'),
], ids=['37', '38', '39', 'velocity', '01', '01 nan'])
def test_what_the_robot_does_wrong_is_found(monitor, moving, changes, words) -> None:
    found = monitor.findings(NOW, replace(moving, **changes), TOLD, HEARD)
    assert any(words in each for each in found)


def test_37_joint_states_that_stay_out_count_when_the_robot_was_seen_moving(
    monitor, moving
) -> None:
    stale = replace(moving, age=0.15)
    assert any('0.15 s old' in each for each in monitor.findings(NOW, stale, None, HEARD))


def test_39_limits_hold_whoever_moves_the_robot(monitor, moving) -> None:
    running = replace(moving, q=np.array([2.95, 0.0, 0.0]), v=np.array([4.0, 0.0, 0.0]))
    assert any('cannot stop before' in each
               for each in monitor.findings(NOW, running, None, {}))


def findings_of(monitor: MotionMonitor, seen: Observation, seconds: float) -> list[tuple[str, ...]]:
    return [
        monitor.findings(now, seen, replace(TOLD, received=now),
                          {name: Pulse(now, True) for name in HEARD})
        for now in NOW + np.arange(0.0, seconds, 0.01)
    ]


def test_46_torque_that_no_model_explains_is_found_when_it_lasts(
    monitor, model, moving, limits
) -> None:
    monitor.predict_by(model, model.parameters.prior, identified=True)
    assert not any(findings_of(monitor, moving, 0.5))
    pushed = replace(moving, effort=moving.effort + np.array([0.0, 0.5, 0.0]) * limits.effort)
    found = findings_of(monitor, pushed, 0.5)
    assert not found[0] and 'The torque of elbow is' in found[-1][0]
    assert 'is allowed (residual). Contact, or a payload?' in found[-1][0]
    # Of several joints what may explain them is asked once.
    both = replace(moving, effort=moving.effort + np.array([0.0, 0.5, 0.5]) * limits.effort)
    told = findings_of(monitor, both, 0.5)[-1]
    assert len(told) == 2 and ' '.join(told).count('Contact, or a payload?') == 1
    assert told[-1].endswith('Contact, or a payload?')
    # Not given is not unexplained.
    silent = replace(moving, effort=np.full(3, np.nan))
    assert monitor.findings(NOW + 9.0, silent, replace(TOLD, received=NOW + 9.0), {
        name: Pulse(NOW + 9.0, True) for name in HEARD}) == ()


def test_02_an_effort_that_is_lost_in_motion_is_found_and_hides_no_other(
    monitor, moving, model, limits
) -> None:
    lost = replace(
        moving, effort=np.where([True, False, False], np.nan, moving.effort),
        lost_efforts={'waist': 5})
    assert monitor.findings(NOW, lost, TOLD, HEARD) == ()
    longer = replace(lost, lost_efforts={'waist': 6})
    found, = monitor.findings(NOW, longer, TOLD, HEARD)
    assert 'The effort of waist is no longer given, in 6 joint states in a row; 5' in found
    assert monitor.findings(NOW, replace(longer, v=np.zeros(3)), None, HEARD) == ()
    warned = MotionMonitor(
        model, limits, ('/one', '/two'), PlaybackTolerances(), lost_effort='warn')
    assert warned.findings(NOW, longer, TOLD, HEARD) == ()
    pushed = replace(longer, effort=longer.effort + np.array([0.0, 0.95, 0.0]) * limits.effort)
    found = findings_of(warned, pushed, 0.5)[-1]
    assert 'The torque of elbow is' in found[-1]
    assert np.isnan(warned.unexplained[0])


def test_46_a_description_may_be_more_wrong_than_what_was_identified(
    monitor, moving, limits
) -> None:
    def pushed(part):
        return replace(moving, effort=moving.effort + np.array([0.0, part, 0.0]) * limits.effort)

    assert not any(findings_of(monitor, pushed(0.6), 0.5))
    found = findings_of(monitor, pushed(0.95), 0.5)[-1][0]
    assert 'what the description predicts' in found and '(first_residual)' in found


def test_46_one_noisy_sample_is_no_contact(monitor, moving, limits) -> None:
    assert not any(findings_of(monitor, moving, 0.2))
    spike = replace(moving, effort=moving.effort + 0.9 * limits.effort)
    assert not monitor.findings(NOW + 0.2, spike, replace(TOLD, received=NOW + 0.2), {
        name: Pulse(NOW + 0.2, True) for name in HEARD})


def test_46_a_committed_payload_is_explained(model, limits, moving) -> None:
    values = model.parameters.prior.copy()
    values[model.parameters.index('hand.mass')] += 3.0
    values[model.parameters.index('hand.first_moment_x')] += 1.5
    heavy = replace(
        moving, effort=model.torque(values, Q[None], moving.v[None], np.zeros((1, 3)))[0])
    residual = TorqueResidual(model, 5.0)
    for now in np.arange(0.0, 1.0, 0.01):
        left = residual.update(now, heavy, np.zeros(3))
    assert np.abs(left).max() > 5.0
    residual.use(model, values)
    for now in np.arange(1.0, 2.0, 0.01):
        left = residual.update(now, heavy, np.zeros(3))
    assert np.abs(left).max() < 1e-9


def test_the_filter_is_the_step_response_of_one_pole(model, moving) -> None:
    residual = TorqueResidual(model, 2.0)
    pushed = replace(moving, effort=moving.effort + 1.0)
    for now in np.arange(101) * 0.001:
        left = residual.update(now, pushed, np.zeros(3))
    np.testing.assert_allclose(left, 1.0 - np.exp(-2.0 * np.pi * 2.0 * 0.1), rtol=1e-9)


@pytest.mark.parametrize(('lag', 'explained_all_along'), [(0.0, True), (0.09, True), (0.4, False)])
def test_46_a_robot_that_follows_a_stop_later_is_no_contact(
    model, moving, lag, explained_all_along
) -> None:
    residual, braking = TorqueResidual(model, 5.0), np.array([-8.0, 8.0, 8.0])
    largest = 0.0
    for now in np.arange(0.0, 1.0, 0.01):
        told, done = (np.where(now >= begins, braking, 0.0) for begins in (0.5, 0.5 + lag))
        seen = replace(moving, effort=explained(model, moving.v, done))
        largest = max(largest, np.abs(residual.update(now, seen, told)).max())
    assert bool(largest < 1e-9) is explained_all_along


def test_46_a_command_of_before_a_stall_explains_what_is_done_after_it(model, moving) -> None:
    residual = TorqueResidual(model, 5.0)
    residual.update(0.0, moving, np.zeros(3))
    assert np.abs(residual.update(0.3, moving, np.full(3, 8.0))).max() < 1e-9
    assert np.abs(residual.update(0.31, moving, np.full(3, 8.0))).max() < 1e-9
    assert np.abs(residual.update(0.45, moving, np.full(3, 8.0))).max() > 0.1


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize(('reaction', 'stops'), [(0.0, False), (0.1, True)])
def test_82_the_way_until_the_robot_reacts_counts_wherever_limits_are_watched(
    model: TorqueModel, limits: MotionLimits, reaction: float, stops: bool, side: float
) -> None:
    """Half of what the reaction takes lies between braking and the limit."""
    v = side * np.array([1.0, 0.0, 0.0])
    low, high = braking_range(limits, v, np.zeros(3))
    q = np.array([limits.upper[0] - high[0] if side > 0.0 else limits.lower[0] - low[0], 0.0, 0.0])
    q -= 0.05 * v
    types, tolerances = model.robot.joint_types, PlaybackTolerances(reaction_time=reaction)
    seen = Observation(q, v, np.full(3, np.nan), 0.0)
    checks = PlaybackChecks(limits, types, tolerances)
    point = Setpoint(q, v, np.zeros(3), Phase.PLAYING, 0.5)
    for found in (
        LimitMonitor(limits, types, MonitorSettings(reaction)).findings(q, v),
        checks.forbids(seen), checks.findings(seen, point),
        MotionMonitor(model, limits, (), tolerances).findings(1.0, seen, None, {}),
    ):
        assert any('cannot stop before' in words for words in found) is stops
    left = checks.margin(seen, np.zeros(3)) * 2.0 * limits.reach[0]
    assert left == pytest.approx(0.05 - reaction, abs=1e-9)


@pytest.mark.parametrize(('age', 'judged'), [(0.19, True), (0.21, False)])
def test_38_a_command_that_was_heard_long_ago_is_none_to_judge_by(
    monitor, moving, age, judged
) -> None:
    told, astray = replace(TOLD, received=NOW - age), replace(moving, q=Q + 0.2)
    found = monitor.findings(NOW, astray, told, HEARD)
    assert any('away from its command' in each for each in found) is judged
    assert monitor.moving(NOW, RESTING, told) is judged


@pytest.mark.parametrize(('pause', 'begins_anew'), [(0.5, False), (0.51, True), (-0.01, True)])
def test_46_the_filter_begins_anew_after_a_pause(model, moving, pause, begins_anew) -> None:
    residual = TorqueResidual(model, 2.0)
    pushed = replace(moving, effort=moving.effort + 1.0)
    for now in 1.0 + np.arange(101) * 0.01:
        left = residual.update(now, pushed, np.zeros(3))
    assert left.min() > 0.99
    left = residual.update(2.0 + pause, pushed, np.zeros(3))
    np.testing.assert_allclose(left, 0.0 if begins_anew else 1.0, atol=0.01)


def test_a_robot_of_which_a_joint_is_unknown_was_not_seen_moving(monitor, moving) -> None:
    unknown = np.array([np.nan, 0.0, 0.0])
    assert monitor.seen_moving(moving) and not monitor.seen_moving(RESTING)
    assert not monitor.seen_moving(replace(moving, q=Q + unknown, v=moving.v + unknown))
    # Whose speed alone is unknown may move.
    assert monitor.seen_moving(replace(RESTING, v=unknown))


def test_a_monitor_that_does_not_see_the_robot_says_so(monitor, moving, limits) -> None:
    assert monitor.unseen(moving) == monitor.unseen(RESTING) == ''
    late = monitor.unseen(replace(RESTING, age=0.3))
    assert 'The last joint state is 0.3 s old; 0.1 s is allowed' in late
    # Slow joint states may be older.
    assert monitor.unseen(replace(RESTING, age=0.3, rate=5.0)) == ''
    never = replace(RESTING, age=np.inf, missing=limits.joint_names[1:], unheard='QoS differs.')
    assert monitor.unseen(never).startswith(', '.join(limits.joint_names[1:]))
    assert monitor.unseen(never).endswith('does not see the robot. QoS differs.')


def test_a_robot_rests_below_a_fiftieth_of_its_speed(model, limits) -> None:
    monitor = MotionMonitor(model, limits, (), PlaybackTolerances())
    for part, rests in ((0.02, True), (-0.02, True), (0.0201, False), (-0.0201, False)):
        seen = replace(RESTING, v=part * limits.velocity * [0.0, 1.0, 0.0])
        assert monitor.at_rest(seen) is rests
        assert monitor.seen_moving(seen) is not rests
        assert monitor.moving(NOW, seen, None) is not rests
    for age, fresh in ((0.1, True), (0.101, False)):
        assert monitor.at_rest(replace(RESTING, age=age)) is fresh
        # As late as five periods at their rate.
        assert monitor.at_rest(replace(RESTING, age=2.0 * age, rate=25.0)) is fresh


def test_a_node_may_be_silent_as_long_as_it_is_told_and_its_motion_half_as_long_again(
    model, limits, moving
) -> None:
    tolerant = MotionMonitor(model, limits, ('/one',), PlaybackTolerances(heartbeat_timeout=0.25))
    for silence, count in ((0.25, 0), (0.26, 1)):
        pulses = {'/one': Pulse(NOW - silence, True)}
        assert len(tolerant.findings(NOW, moving, TOLD, pulses)) == count
        assert len(tolerant.absent(NOW, pulses)) == count
    for silence, count in ((0.375, 0), (0.376, 1)):
        told = replace(TOLD, received=NOW - silence)
        found = tolerant.findings(NOW, moving, told, {'/one': Pulse(NOW, True)})
        assert len(found) == count
        assert all('Nothing is heard of the motion' in each for each in found)


def test_01_as_many_states_without_a_position_are_passed_over_as_is_tolerated(
    monitor, moving
) -> None:
    for count, found in ((5, 0), (6, 1)):
        bad = replace(moving, bad_in_a_row=count)
        assert len(monitor.findings(NOW, bad, TOLD, HEARD)) == found


@pytest.mark.parametrize('change', [{'a': None}, {'received': NOW - 0.3}])
def test_46_without_a_fresh_acceleration_no_contact_is_judged(
    monitor, moving, limits, change
) -> None:
    pushed = replace(moving, effort=moving.effort + 0.95 * limits.effort)
    for now in NOW + np.arange(0.0, 0.5, 0.01):
        told = replace(TOLD, received=now + change.get('received', NOW) - NOW)
        told = replace(told, a=change.get('a', told.a))
        found = monitor.findings(now, pushed, told, {name: Pulse(now, True) for name in HEARD})
        assert not any('torque' in each for each in found)
    assert not monitor.unexplained.any()
