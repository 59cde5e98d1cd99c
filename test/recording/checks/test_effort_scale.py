"""Scales of efforts, told by all joints together: recovered, and never where the prior explains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.signal
from scipy.optimize import minimize

from sysid_ros.recording.checks import effort_scale
from sysid_ros.recording.checks.effort import _with_scales, effort_findings
from sysid_ros.recording.checks.effort_evidence import RANGE, ScaleEvidence, most_likely
from sysid_ros.recording.checks.effort_finding import EffortFinding, EffortKind
from sysid_ros.recording.checks.effort_reading import _halves, readings
from sysid_ros.recording.checks.effort_scale import effort_scales

SEEDS = range(6)


def scales_of(arm, data):
    return effort_scales({
        name: both[0] for name, both in zip(
            arm.joint_names, readings(data, arm.model), strict=True)})


@pytest.mark.parametrize('joint', [1, 2])
@pytest.mark.parametrize('factor', [2.0, 0.5])
def test_an_effort_of_another_scale_than_the_others_is_found_with_its_scale(
    simulated_arm, joint, factor
):
    found = 0
    for seed in SEEDS:
        arm = simulated_arm(seed)
        data = arm.dataset()
        tau = data.tau.copy()
        tau[:, joint] *= factor
        odd = scales_of(arm, replace(data, tau=tau)).odd
        assert set(odd) <= {arm.joint_names[joint]}
        if odd:
            found += 1
            assert np.exp(odd[arm.joint_names[joint]]) == pytest.approx(factor, rel=0.25)
    assert found >= 5


def test_a_prior_that_is_off_accuses_no_effort(simulated_arm):
    for seed in range(20):
        arm = simulated_arm(seed)
        found = scales_of(arm, arm.dataset())
        assert found.odd == {}
        assert not found.all_off


def test_a_scale_of_all_efforts_is_found_together(simulated_arm):
    # What one of the arms tells is at the edge: on some processors the last bits decide.
    told = 0
    for seed in SEEDS:
        arm = simulated_arm(seed)
        data = arm.dataset()
        found = scales_of(arm, replace(data, tau=2.0 * data.tau))
        assert found.odd == {}
        if found.all_off:
            assert np.exp(found.common) == pytest.approx(2.0, rel=0.3)
            told += 1
    assert told >= len(SEEDS) - 1


@pytest.mark.parametrize(('away', 'told'), [(0.0, True), (0.3, False)])
def test_a_search_that_ends_for_rounding_is_believed_at_the_best_point_alone(
    simulated_arm, monkeypatch, away, told
):
    arm = simulated_arm(0)
    data = arm.dataset()
    data = replace(data, tau=data.tau * [1.0, 2.0, 1.0, 1.0])
    expected, search = scales_of(arm, data), effort_scale.most_likely

    def abnormal(evidence, start):
        found = search(evidence, start)
        found.x, found.success = found.x + away, False
        return found

    monkeypatch.setattr(effort_scale, 'most_likely', abnormal)
    assert expected.odd
    assert scales_of(arm, data).odd == (pytest.approx(expected.odd) if told else {})


def test_two_joints_contradict_each_other_and_both_ways_to_mend_it_are_said(simulated_arm):
    for seed in SEEDS:
        arm = simulated_arm(seed)
        data, pair = arm.dataset(), arm.joint_names[1:3]

        def of_two(tau, arm=arm, data=data, pair=pair):
            every = zip(arm.joint_names, readings(replace(data, tau=tau), arm.model), strict=True)
            return effort_scales({name: both[0] for name, both in every if name in pair})

        assert of_two(data.tau).odd == {}
        found = of_two(data.tau * [1.0, 2.0, 1.0, 1.0])
        ((joint, logarithm),) = found.odd.items()
        assert found.agreeing == tuple(name for name in pair if name != joint)
        assert np.exp(abs(logarithm)) == pytest.approx(2.0, rel=0.25)
    finding = EffortFinding(joint, EffortKind.JOINT_TORQUE, 1.0, 0.9, 0.9)
    (said,) = _with_scales([finding], found)
    assert 'recording: {effort: {scale: [0.' in said.suggestion
    assert f'or the scale of {found.agreeing[0]} to ' in said.suggestion


def test_one_sentence_says_it_for_all_joints_with_the_line_to_paste(simulated_arm):
    arm = simulated_arm(0)
    data = arm.dataset()
    *joints, every = effort_findings(replace(data, tau=2.0 * data.tau), arm.model)
    assert [finding.kind for finding in joints] == [EffortKind.JOINT_TORQUE] * 4
    assert every.kind is EffortKind.INCONSISTENT
    assert every.joint == 'all joints'
    assert 'recording.effort.scale: 0.' in every.suggestion
    assert 'masses of the description' in every.suggestion
    assert 'correlation' not in every.sentence


@pytest.mark.parametrize('room', [True, False])
def test_derivatives_of_the_evidence_are_those_of_finite_differences(simulated_arm, room):
    arm = simulated_arm(2)
    evidence = ScaleEvidence([both[0] for both in readings(arm.dataset(), arm.model)], room)
    here, step = np.array([0.3, -0.2, 0.1, 0.5]), 1e-5
    sides = [(evidence.value(here + step * e), evidence.value(here - step * e)) for e in np.eye(4)]
    np.testing.assert_allclose(
        evidence.value(here)[1], [(above[0] - below[0]) / (2 * step) for above, below in sides],
        rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(
        evidence.hessian(here), [(above[1] - below[1]) / (2 * step) for above, below in sides],
        rtol=1e-5, atol=1e-4)


def test_scales_beyond_double_precision_have_no_evidence(simulated_arm):
    arm = simulated_arm(2)
    evidence = ScaleEvidence([both[0] for both in readings(arm.dataset(), arm.model)])
    for far in (40.0, 400.0, 1000.0):
        value, gradient = evidence.value(np.full(4, far))
        assert value == np.inf or np.isfinite(gradient).all()
        assert not np.isnan(evidence.hessian(np.full(4, far))).any()
    assert evidence.value(np.full(4, 1000.0))[0] == np.inf


@pytest.mark.parametrize('room', [True, False])
def test_scales_with_the_most_evidence_are_those_of_a_bounded_search(simulated_arm, room):
    arm, reach = simulated_arm(2), np.log(RANGE)
    data = arm.dataset()
    tiny = replace(data, tau=data.tau * np.array([1.0, 1e-4, 1.0, 1.0]))
    ends = []
    for one in (data, tiny):
        evidence = ScaleEvidence([both[0] for both in readings(one, arm.model)], room)
        found = most_likely(evidence, np.zeros(4))
        other = minimize(
            evidence.value, np.zeros(4), jac=True, method='L-BFGS-B',
            bounds=[(-reach, reach)] * 4, options={'ftol': 1e-14, 'gtol': 1e-8})
        assert found.fun == pytest.approx(other.fun, rel=1e-8)
        np.testing.assert_allclose(found.x, other.x, atol=1e-3)
        ends.append(found.x)
    assert np.abs(ends[0]).max() < 1.0
    assert ends[1][1] == pytest.approx(-reach)


def test_of_an_effort_that_vanishes_beside_its_noise_nothing_is_explained(simulated_arm):
    arm = simulated_arm(2)
    reading = next(iter(readings(arm.dataset(), arm.model)))[0]
    reading.scale_rows(0.0)
    assert reading.predicted(1.0) == (0.0, 0.0)


def test_the_evidence_is_that_of_the_gaussian_written_out(simulated_arm):
    # -2 log N(tau; s g, 1 + s^2 G G^T) over all joints together, but for its constant.
    arm = simulated_arm(3)
    found = [both[0] for both in readings(arm.dataset(), arm.model)]
    evidence, rows = ScaleEvidence(found), [reading.rows() for reading in found]

    def written_out(logarithm):
        s = np.exp(logarithm)
        gains = np.vstack([s[j] * part[0] for j, part in enumerate(rows)])
        rest = np.concatenate([part[2] - s[j] * part[1] for j, part in enumerate(rows)])
        covariance = np.eye(len(rest)) + gains @ gains.T
        return rest @ np.linalg.solve(covariance, rest) + np.linalg.slogdet(covariance)[1]

    here, there = np.zeros(4), np.array([0.4, -0.1, 0.2, 0.0])
    assert evidence.value(there)[0] - evidence.value(here)[0] == pytest.approx(
        written_out(there) - written_out(here), rel=1e-6)


@pytest.mark.parametrize('clock', [0.8, 1.25])
def test_a_clock_that_runs_wrong_is_told_by_weight_and_acceleration(simulated_arm, clock):
    for seed in SEEDS:
        arm = simulated_arm(seed)
        data = arm.dataset()
        found = scales_of(arm, replace(data, v=data.v / clock, a=data.a / clock**2))
        assert found.clock_off
        assert found.clock == pytest.approx(clock, rel=0.1)


def test_the_right_clock_is_not_accused(simulated_arm):
    for seed in range(20):
        arm = simulated_arm(seed)
        assert not scales_of(arm, arm.dataset()).clock_off


def without_slow_part(data):
    """Efforts through a high-pass, as of a controller that takes off what holds the robot."""
    low = scipy.signal.butter(2, 0.5, fs=data.rate, output='sos')
    return replace(data, tau=data.tau - scipy.signal.sosfilt(low, data.tau, axis=0))


def test_efforts_without_their_slow_part_are_told_by_the_fast_one(simulated_arm):
    accused = 0
    for seed in SEEDS:
        arm = simulated_arm(seed)
        whole, filtered = (
            [one.kind for one in effort_findings(data, arm.model)]
            for data in (arm.dataset(), without_slow_part(arm.dataset())))
        assert EffortKind.FILTERED not in whole
        accused += EffortKind.FILTERED in filtered
    # Of a motion that is fast throughout hardly anything is missing.
    assert accused >= 4


def test_halves_of_the_power_of_a_prediction_are_compared_one_by_one():
    t = np.arange(4000) / 100.0
    slow, fast = np.sin(2 * np.pi * 0.1 * t), np.sin(2 * np.pi * 2.0 * t)
    # One deviation adds a fifth of the slow part, another is nothing like the prediction.
    spread = np.stack([0.2 * slow, np.cos(2 * np.pi * 0.1 * t)], axis=1)
    below, above = _halves(slow + fast, 0.3 * slow + 2.0 * fast, spread)
    assert below == pytest.approx((0.3, 1.0, 0.2), abs=0.02)
    assert above == pytest.approx((2.0, 1.0, 0.0), abs=0.02)
    assert _halves(np.zeros(50), np.ones(50), np.ones((50, 1)))[0] == (1.0, 0.0, np.inf)


@pytest.mark.parametrize(('scale', 'unit'), [
    (1e3, 'N·mm'), (1e2, 'N·cm'), (1.0 / 0.0980665, 'kgf·cm'), (1e-3, 'kN·m'), (141.6, 'ozf·in'),
])
def test_efforts_in_another_unit_are_one_line_that_names_it(simulated_arm, scale, unit):
    for seed in SEEDS:
        arm = simulated_arm(seed)
        data = arm.dataset()
        findings = effort_findings(replace(data, tau=scale * data.tau), arm.model)
        (told,) = (one for one in findings if not one.kind.usable)
        assert told.kind is EffortKind.OTHER_UNIT
        assert told.joint == 'all joints'
        assert unit in told.suggestion
        assert told.scale == pytest.approx(scale, rel=0.3)
