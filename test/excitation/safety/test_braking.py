"""Braking joint by joint: smooth, within its limits, at rest in the end, and no way too far."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_ros.errors import ExcitationError
from sysid_ros.excitation.safety.braking import BrakingStop
from sysid_ros.excitation.safety.limit_monitor import braking_range
from sysid_ros.excitation.safety.limits import MotionLimits

ACCELERATION, JERK = np.array([4.0, 1.0, 20.0]), np.array([30.0, 50.0, 100.0])
STATE = st.tuples(
    st.floats(-2.0, 2.0), st.floats(-1.0, 1.0), st.floats(-5.0, 5.0),
    st.floats(-4.0, 4.0), st.floats(-1.0, 1.0), st.floats(-20.0, 20.0),
)


def limits() -> MotionLimits:
    ones = np.ones(3)
    return MotionLimits(('a', 'b', 'c'), -9.0 * ones, 9.0 * ones, 6.0 * ones, ACCELERATION, JERK,
                        20.0 * ones)


def stop_of(state: tuple[float, ...]) -> tuple[BrakingStop, np.ndarray, np.ndarray]:
    v, a = np.array(state[:3]), np.array(state[3:])
    return BrakingStop(limits(), np.array([0.5, -1.0, 0.0]), v, a), v, a


@given(state=STATE)
@settings(max_examples=150, deadline=None)
def test_it_begins_as_the_robot_moves_and_ends_at_rest_within_its_bounds(state) -> None:
    stop, v, a = stop_of(state)
    motion = stop.grid(1000.0)
    np.testing.assert_allclose(motion.q[0], [0.5, -1.0, 0.0])
    np.testing.assert_allclose(motion.v[0], v, atol=1e-12)
    np.testing.assert_allclose(motion.a[0], a, atol=1e-12)
    assert (np.abs(motion.a) <= ACCELERATION * (1.0 + 1e-12)).all()
    assert set(np.abs(motion.jerk).ravel()) <= {0.0, *JERK}
    after = stop.sample(stop.duration + np.array([0.0, 1e-9, 0.1, 100.0]))
    assert not after.v.any() and not after.a.any()
    np.testing.assert_array_equal(after.q, np.tile(stop.rest, (4, 1)))


@given(state=STATE)
@settings(max_examples=150, deadline=None)
def test_velocity_and_acceleration_are_the_derivatives(state) -> None:
    motion = stop_of(state)[0].sample(np.arange(-0.01, 8.0, step := 0.002)[5:])
    # The trapezoidal rule errs by the change of the slope's slope within a step.
    for values, slopes, bound in (
        (motion.q, motion.v, JERK * step**3), (motion.v, motion.a, JERK * step**2),
    ):
        error = np.diff(values, axis=0) - 0.5 * step * (slopes[1:] + slopes[:-1])
        assert (np.abs(error) <= bound + 1e-12).all()


@given(state=STATE)
@settings(max_examples=150, deadline=None)
def test_the_way_is_the_braking_range(state) -> None:
    stop, v, a = stop_of(state)
    q = stop.grid(2000.0).q
    low, high = braking_range(limits(), v, a)
    np.testing.assert_allclose(q.min(axis=0) - q[0], low, atol=1e-5)
    np.testing.assert_allclose(q.max(axis=0) - q[0], high, atol=1e-5)


@given(state=STATE, reaction=st.floats(0.0, 0.5))
@settings(max_examples=150, deadline=None)
def test_until_braking_begins_the_joints_go_on_as_they_are(state, reaction: float) -> None:
    _, v, a = stop_of(state)
    t = np.linspace(0.0, reaction, 501)[:, None]
    reacting = t * v + 0.5 * t**2 * a
    stop = BrakingStop(limits(), reacting[-1], v + reaction * a, a).grid(2000.0)
    q = np.concatenate([reacting, stop.q])
    low, high = braking_range(limits(), v, a, reaction)
    np.testing.assert_allclose(q.min(axis=0), low, atol=2e-5)
    np.testing.assert_allclose(q.max(axis=0), high, atol=2e-5)


@pytest.mark.parametrize(('v', 'expected'), [(2.0, 2.0 / 4.0 + 4.0 / 30.0),
                                             (0.1, 2.0 * (0.1 / 30.0) ** 0.5)])
def test_from_steady_motion_the_time_is_the_textbook_formula(v: float, expected: float) -> None:
    stop = BrakingStop(limits(), np.zeros(3), np.array([v, 0.0, 0.0]), np.zeros(3))
    assert stop.duration == pytest.approx(expected)


def test_a_robot_at_rest_stays_where_it_is() -> None:
    stop = BrakingStop(limits(), np.ones(3), np.zeros(3), np.zeros(3))
    assert stop.duration == 0.0
    motion = stop.grid(100.0)
    assert not np.diff(motion.q, axis=0).any() and (motion.q == 1.0).all()


def test_an_acceleration_beyond_its_limit_counts_up_to_it() -> None:
    stop = BrakingStop(limits(), np.zeros(3), np.ones(3), 1e3 * np.ones(3))
    assert (np.abs(stop.grid(1000.0).a) <= ACCELERATION * (1.0 + 1e-12)).all()


def test_a_state_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ExcitationError, match='braking needs every velocity'):
        BrakingStop(limits(), np.zeros(3), np.array([0.0, np.nan, 0.0]), np.zeros(3))


@pytest.mark.parametrize('name', ['position', 'velocity', 'acceleration'])
def test_every_value_of_a_state_has_to_be_finite(name: str) -> None:
    for value in (np.nan, np.inf):
        state = {each: np.zeros(3) for each in ('position', 'velocity', 'acceleration')}
        state[name] = np.array([0.0, 0.0, value])
        with pytest.raises(ExcitationError, match=f'braking needs every {name}'):
            BrakingStop(limits(), *state.values())


def test_a_joint_without_a_limit_to_brake_by_is_refused() -> None:
    for name in ('acceleration', 'jerk'):
        endless = replace(limits(), **{name: np.array([1.0, np.inf, 1.0])})
        with pytest.raises(ExcitationError, match=f'braking needs every limit of {name}'):
            BrakingStop(endless, *np.zeros((3, 3)))


def test_a_grid_has_both_ends_and_no_fewer_samples_than_its_rate_asks_for() -> None:
    # At 0.5 rad/s: 0.25 s from onset to release, as 0.5 < 4² / 30.
    stop = BrakingStop(limits(), np.zeros(3), np.array([0.5, 0.0, 0.0]), np.zeros(3))
    assert stop.duration == pytest.approx(2.0 * (0.5 / 30.0) ** 0.5)
    motion = stop.grid(100.0)
    assert len(motion.t) == 1 + int(np.ceil(100.0 * stop.duration))
    assert (motion.t[0], motion.t[-1]) == (0.0, stop.duration)
    resting = BrakingStop(limits(), np.zeros(3), np.zeros(3), np.zeros(3)).grid(100.0)
    assert len(resting.t) == 2
