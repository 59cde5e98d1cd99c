"""Braking distances against an optimum that a solver finds, and what the monitor notices."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.safety.limit_monitor import LimitMonitor, MonitorSettings, braking_range
from sysid_ros.excitation.safety.limits import MotionLimits

DECELERATION, JERK = 4.0, 30.0
SPEED = st.floats(-2.0, 2.0)


def limits(joints: int = 1) -> MotionLimits:
    ones = np.ones(joints)
    return MotionLimits(
        tuple(f'joint{k}' for k in range(joints)), -2.0 * ones, 2.0 * ones, 1.5 * ones,
        DECELERATION * ones, JERK * ones, 20.0 * ones,
    )


def shortest_stop(v: float, a: float, steps: int = 60) -> tuple[float, float]:
    """Lowest and highest displacement of the fastest stop, by bisection over linear programs."""

    def stop(time: float) -> np.ndarray | None:
        step = time / steps
        after = np.arange(1, steps + 1)[:, None] - np.arange(steps)[None]
        # Acceleration, velocity and position after k pieces of constant jerk.
        speed = np.where(after > 0, (after - 0.5) * step**2, 0.0)
        slope = np.where(after > 0, step, 0.0)
        bound = np.concatenate([np.full(steps, DECELERATION - a), np.full(steps, DECELERATION + a)])
        found = linprog(
            np.zeros(steps), A_ub=np.vstack([slope, -slope]), b_ub=bound,
            A_eq=np.array([slope[-1], speed[-1]]), b_eq=[-a, -v - a * time],
            bounds=[(-JERK, JERK)] * steps,
        )
        return found.x if found.status == 0 else None

    low, high = 0.0, 4.0
    for _ in range(22):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if stop(middle) is not None else (middle, high)
    jerk, step = stop(high), high / steps
    q, path = 0.0, [0.0]
    for piece in jerk:
        for part in np.linspace(0.0, step, 11)[1:]:
            path.append(q + v * part + 0.5 * a * part**2 + piece * part**3 / 6.0)
        q, v, a = path[-1], v + a * step + 0.5 * piece * step**2, a + piece * step
    return min(path), max(path)


@pytest.mark.parametrize(('v', 'a'), [
    (1.0, 0.0), (0.1, 0.0), (1.5, 3.0), (1.0, -3.0), (-0.8, 2.0), (0.05, -4.0), (-0.01, 3.9),
])
def test_it_is_the_distance_of_the_fastest_stop(v: float, a: float) -> None:
    low, high = braking_range(limits(), np.array([v]), np.array([a]))
    expected = shortest_stop(v, a)
    assert low[0] == pytest.approx(expected[0], abs=0.02 * abs(v) + 2e-3)
    assert high[0] == pytest.approx(expected[1], abs=0.02 * abs(v) + 2e-3)


@given(v=SPEED, a=st.floats(-4.0, 4.0), reaction=st.floats(0.0, 0.2))
@settings(max_examples=200, deadline=None)
def test_both_directions_are_alike_and_waiting_never_helps(
    v: float, a: float, reaction: float
) -> None:
    low, high = braking_range(limits(), np.array([v]), np.array([a]), reaction)
    other = braking_range(limits(), np.array([-v]), np.array([-a]), reaction)
    assert low[0] <= 0.0 <= high[0]
    assert (low[0], high[0]) == pytest.approx((-other[1][0], -other[0][0]), abs=1e-12)
    if v * a >= 0.0:
        now = braking_range(limits(), np.array([v]), np.array([a]))
        assert high[0] - low[0] >= now[1][0] - now[0][0] - 1e-12


@given(v=SPEED)
@settings(max_examples=100, deadline=None)
def test_from_steady_motion_it_is_the_textbook_formula(v: float) -> None:
    low, high = braking_range(limits(), np.array([v]), np.zeros(1), 0.1)
    if abs(v) >= DECELERATION**2 / JERK:
        way = 0.5 * v**2 / DECELERATION + 0.5 * abs(v) * DECELERATION / JERK
    else:
        way = abs(v) * np.sqrt(abs(v) / JERK)
    assert high[0] - low[0] == pytest.approx(0.1 * abs(v) + way, rel=1e-9, abs=1e-15)


def monitor(**settings: float) -> LimitMonitor:
    return LimitMonitor(limits(2), ('revolute', 'prismatic'), MonitorSettings(**settings))


def test_a_robot_that_does_as_it_is_told_is_left_alone() -> None:
    q, v = np.array([0.3, -1.0]), np.array([1.0, -0.5])
    assert monitor().findings(q, v, effort=np.zeros(2), commanded=q + 0.05, age=0.01) == ()


@pytest.mark.parametrize(('state', 'words'), [
    ({'q': [1.9, 0.0], 'v': [1.2, 0.0]}, 'joint0 at 1.9 rad cannot stop before'),
    ({'q': [0.0, -1.95], 'v': [0.0, -0.9]}, 'joint1 at -1.95 m cannot stop before'),
    ({'q': [2.1, 0.0]}, 'its limit is 2.'),
    ({'v': [0.0, 1.7]}, 'The velocity of joint1 is 1.7 m/s'),
    ({'effort': [-25.0, 0.0]}, 'The effort of joint0 is -25 N·m'),
    ({'commanded': [0.3, 0.0]}, 'joint0 is 0.3 rad away from its command'),
    ({'q': [float('nan'), 0.0]}, 'The position of joint0 is not finite'),
    ({'effort': [0.0, float('inf')]}, 'The effort of joint1 is not finite'),
    ({'age': 0.2}, 'The last joint state is 0.2 s old'),
    ({'age': float('nan')}, 'The last joint state is nan s old'),
    ({'age': -5.0}, 'The last joint state is -5 s old'),
])
def test_what_calls_for_a_stop_is_said(state: dict[str, object], words: str) -> None:
    given = {'q': [0.0, 0.0], 'v': [0.0, 0.0]} | state
    arrays = {name: np.array(value) if name != 'age' else value for name, value in given.items()}
    findings = monitor().findings(**arrays)
    assert len(findings) == 1 and words in findings[0]


def test_a_robot_that_has_no_limit_to_brake_by_is_not_monitored() -> None:
    endless = replace(limits(2), jerk=np.array([10.0, np.inf]))
    with pytest.raises(ConfigurationError, match='braking needs a limit'):
        LimitMonitor(endless, ('revolute', 'revolute'))


def test_moving_away_from_a_limit_is_no_reason_to_stop() -> None:
    q, v = np.array([1.999, 0.0]), np.array([-0.3, 0.0])
    assert monitor().findings(q, v) == ()


@pytest.mark.parametrize('change', [
    {'reaction_time': -0.1}, {'tracking_error': 0.0}, {'state_timeout': float('nan')},
    {'over': float('inf')},
])
def test_settings_that_cannot_be_used_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match='monitor'):
        monitor(**change)


def test_what_is_tolerated_without_other_word() -> None:
    assert asdict(MonitorSettings()) == {
        'reaction_time': 0.05, 'tracking_error': 0.1, 'state_timeout': 0.1, 'over': 0.05}


NUMBERS = st.floats(-10.0, 10.0) | st.sampled_from([np.nan, np.inf, -np.inf, 0.0, 5e-324])


@given(st.fixed_dictionaries(dict.fromkeys(asdict(MonitorSettings()), NUMBERS)))
@settings(max_examples=300, deadline=None)
def test_settings_are_finite_numbers_above_zero_or_refused_by_their_name(given_) -> None:
    usable = {
        name: np.isfinite(value) and (value > 0.0 or (
            value == 0.0 and name in ('reaction_time', 'over')))
        for name, value in given_.items()}
    try:
        MonitorSettings(**given_)
    except ConfigurationError as error:
        named = [name for name in given_ if f'monitor: {name}: ' in str(error)]
        assert len(named) == 1 and not usable[named[0]]
    else:
        assert all(usable.values())


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_a_bound_is_allowed_and_what_is_beyond_is_not(side: float) -> None:
    end, still = side * np.array([2.0, -2.0]), np.zeros(2)
    assert monitor().findings(end, still) == ()
    assert len(monitor().findings(1.0001 * end, still)) == 2
    assert monitor().findings(still, still, age=side * 0.1) == ()
    assert len(monitor().findings(still, still, age=side * 0.1001)) == 1
    for part, count in ((1.05, 0), (1.0501, 2)):
        fast, strong = side * part * np.array([1.5, -1.5]), side * part * np.array([20.0, -20.0])
        assert len(monitor().findings(still, fast)) == count
        assert len(monitor().findings(still, still, effort=strong)) == count
    for far, count in ((0.125, 0), (0.1251, 2)):
        found = monitor(tracking_error=0.125).findings(still, still, commanded=side * far + still)
        assert len(found) == count


def test_an_effort_that_is_not_measured_hides_no_other() -> None:
    still = np.zeros(2)
    assert monitor().findings(still, still, effort=np.array([np.nan, 0.0])) == ()
    found, = monitor().findings(still, still, effort=np.array([np.nan, 25.0]))
    assert 'The effort of joint1 is 25 N' in found


def test_a_planned_acceleration_that_is_not_finite_is_said() -> None:
    still = np.zeros(2)
    found = monitor().findings(still, still, a=np.array([0.0, np.nan]))
    assert found == ('The acceleration of joint1 is not finite.',)
    found = monitor().findings(still, still, commanded=np.array([np.inf, np.nan]))
    assert found == ('The command of joint0 is not finite.', 'The command of joint1 is not finite.')


def test_a_joint_that_turns_round_by_plan_is_not_expected_to_go_on() -> None:
    q, v = np.array([1.95, 0.0]), np.array([0.4, 0.0])
    assert len(monitor().findings(q, v)) == 1
    assert monitor().findings(q, v, a=np.array([-4.0, 0.0])) == ()
