"""Glitches of one to three samples are bridged, and what joints do is left alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_ros.recording.processing.glitches import dropped_rows, glitches, without_glitches
from sysid_ros.recording.processing.track import Track

RATE = 200.0
T = np.arange(4000) / RATE


def track(values, quantity='position', joint='elbow', t=T):
    return Track(joint, quantity, t, values, [(t[0], t[-1])], 5.0 / RATE, 1.0 / RATE)


def motion(seed, noise=0.0):
    random = np.random.default_rng(seed)
    amplitude, phase = random.normal(size=5), random.uniform(0.0, 2.0 * np.pi, 5)
    omega = 2.0 * np.pi * np.array([0.1, 0.3, 0.5, 0.8, 1.1])
    return (amplitude * np.sin(np.outer(T, omega) + phase)).sum(axis=1) + noise * random.normal(
        size=len(T))


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), bits=st.sampled_from([None, 9, 16]),
       every=st.sampled_from([1, 2, 20]))
def test_motion_has_none_however_coarse_or_slowly_sampled(seed, bits, every):
    q = motion(seed, 1e-5)
    if bits is not None:
        step = 2.0 * np.pi / 2**bits
        q = np.round(q / step) * step
    assert glitches(q[::every], 'position') == []


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), dry=st.floats(0.0, 3.0), noise=st.floats(0.0, 0.3))
def test_dry_friction_that_turns_round_and_noise_are_none(seed, dry, noise):
    q = motion(seed)
    v = np.gradient(q, T) + 0.01 * np.random.default_rng(seed).normal(size=len(T))
    tau = np.sin(q) + dry * np.sign(v) + noise * np.random.default_rng(seed + 1).normal(size=len(T))
    assert glitches(tau, 'effort') == []


def test_an_encoder_that_wraps_has_none():
    assert glitches(np.angle(np.exp(3j * np.cumsum(motion(0)) / RATE)), 'position') == []


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), at=st.integers(10, 3900), long=st.integers(1, 3),
       away=st.sampled_from([-1.0, 1.0]))
def test_samples_that_jump_away_and_back_are_found_and_bridged(seed, at, long, away):
    q = motion(seed, 1e-5)
    spoiled = q.copy()
    spoiled[at:at + long] += away * 12.0 * np.abs(np.diff(q)).max()
    assert glitches(spoiled, 'position') == [(at, at + long)]
    warnings = []
    (bridged,), = without_glitches([track(spoiled)], [], warnings)
    np.testing.assert_allclose(bridged.values, q, atol=0.02)
    (sentence,) = warnings
    assert f'position of elbow jumps away and back once, at {T[at]:.3f} s' in sentence


def test_an_effort_that_kicks_within_its_range_is_left_alone():
    tau = np.sin(motion(1))
    tau[1000] += 0.3
    assert glitches(tau, 'effort') == []
    tau[1000] += 5.0
    assert glitches(tau, 'effort') == [(1000, 1001)]


def test_four_samples_may_be_something_else():
    q = motion(2)
    q[500:504] += 3.0
    assert glitches(q, 'position') == []


def test_rows_of_zeros_are_dropped_where_no_jump_shows():
    q = np.stack([motion(3), motion(4)])
    at = int(np.argmin(np.abs(q[0, 100:])) + 100)
    q[:, at], q[:, 50:53] = 0.0, 0.0
    tau = np.sin(q)
    tracks = [track(values, joint=name) for values, name in zip(q, 'ab', strict=True)]
    efforts = [track(values, 'effort', name) for values, name in zip(tau, 'ab', strict=True)]
    assert dropped_rows(tracks) == sorted([(50, 53), (at, at + 1)])
    warnings = []
    positions, others = without_glitches(tracks, [efforts], warnings)
    assert (positions[0].values[at] != 0.0) and (others[1].values[51] != 0.0)
    assert len(warnings) == 2


@pytest.mark.parametrize('start', [0, 3990])
def test_a_robot_that_rests_at_zero_is_believed(start):
    q = np.stack([motion(3), motion(4)])
    q[:, start:start + 10] = 0.0
    assert dropped_rows([track(values) for values in q]) == []


def test_of_one_joint_or_joints_sampled_apart_zero_is_a_position_as_any_other():
    q = motion(5)
    q[100] = 0.0
    assert dropped_rows([track(q)]) == []
    assert dropped_rows([track(q), track(q, t=T + 1e-3)]) == []
