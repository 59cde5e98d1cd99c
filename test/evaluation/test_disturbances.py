"""Knocks are left out of a fit and named where a model is judged; what a model lacks is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.disturbances import disturbances
from sysid_ros.evaluation.study import Study
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.recording import Channel
from sysid_ros.runs.initial_settings import initial_settings
from sysid_ros.runs.recording_check import check_recording

RATE, SECONDS = 200.0, 24.0


def knock(t, tau, at, size=3.0, width=0.15):
    """A push at the end of an arm, which all joints feel."""
    lever = np.linspace(1.0, 0.2, tau.shape[1]) * tau.std(axis=0)
    return tau + size * lever * np.exp(-(((t - at) / width) ** 2))[:, None]


def found_in(arm, change):
    data = arm.dataset(SECONDS, 50.0)
    problem = RegressionProblem.from_dataset(
        arm.model, replace(data, tau=change(data.t, data.tau, data)))
    return disturbances(problem, data.t)


@pytest.mark.parametrize('seed', range(4))
def test_two_knocks_are_found_where_they_are(simulated_arm, seed):
    found = found_in(simulated_arm(seed), lambda t, tau, _: knock(t, knock(t, tau, 6.0), 15.0))
    assert len(found.stretches) == 2
    for (start, stop), at in zip(found.stretches, (6.0, 15.0), strict=True):
        assert start < at - 0.1 < at + 0.1 < stop
        assert stop - start < 1.2
    assert found.squares > 0.95


@pytest.mark.parametrize('change', [
    lambda t, tau, data: tau,
    lambda t, tau, data: np.clip(tau, *np.percentile(tau, [4, 96], axis=0)),
    lambda t, tau, data: tau + 0.3 * tau.std(axis=0) * np.sign(data.v) * np.exp(-np.abs(data.v)),
    lambda t, tau, data: tau * np.linspace(1.0, 1.2, len(t))[:, None],
    lambda t, tau, data: np.where((t > 12.0)[:, None], 1.3 * tau, tau),
    lambda t, tau, data: tau[:, ::-1],
    lambda t, tau, data: np.random.default_rng(0).normal(size=tau.shape),
], ids=['nothing', 'clipped', 'stiction', 'drift', 'load', 'order', 'noise'])
@pytest.mark.parametrize('seed', range(3))
def test_what_is_no_knock_is_left_in(simulated_arm, seed, change):
    assert found_in(simulated_arm(seed), change) is None


def hand(t, tau, since=3.0, until=3.6, size=2.0):
    """A hand on an arm for a while, as every joint feels it."""
    on = ((t >= since) & (t < until))[:, None]
    return tau + size * on * tau.std(axis=0)


@pytest.mark.parametrize('seed', range(4))
def test_a_hand_that_stays_a_while_is_found_although_it_draws_a_fit_towards_it(
    simulated_arm, seed
):
    found = found_in(simulated_arm(seed), lambda t, tau, _: hand(t, tau, 9.0, 10.0))
    ((start, stop),) = found.stretches
    assert (start, stop) == pytest.approx((9.0, 10.0), abs=0.2)


def study(folder, arm, changed, automatic=True, **processing):
    recording = arm.recording(SECONDS, RATE)
    position, effort = recording.channels
    t = position.t
    np.savez(folder / 'a.npz', t=t, q=position.values, tau=changed(t, effort.values))
    (folder / 'arm.urdf').write_text(arm.description)
    (folder / 'a.yaml').write_text(yaml.safe_dump({
        'robot': {'urdf': 'arm.urdf'}, 'processing': processing, 'automatic': automatic,
        'recording': {
            'format': 'npz', 'file': 'a.npz', 'time': {'array': 't'},
            'position': {'array': 'q'}, 'effort': {'array': 'tau'},
            'joints': list(arm.joint_names)}}))
    return Study.load(FitSetup.of(Identification.load(folder / 'a.yaml')), holdout=0.25)


def test_a_fit_leaves_a_knock_out_and_says_so(simulated_arm, tmp_path):
    arm = simulated_arm(1)
    found = study(tmp_path, arm, lambda t, tau: knock(t, tau, 8.0))
    (chosen,) = [one for one in found.choice.choices if one.key == 'processing.leave_out']
    ((start, stop),) = chosen.value
    assert start < 7.9 < 8.1 < stop
    evaluation = found.fit('entropic')
    assert evaluation.held_out.candidate.relative_error < 0.02
    assert any('torques are left out from' in said for said in found.training.warnings)

    # Without it, the knock is the most of what is fitted.
    kept = study(tmp_path, arm, lambda t, tau: knock(t, tau, 8.0), leave_out=[])
    spoiled = kept.fit('entropic')
    assert (spoiled.held_out.candidate.relative_error
            > 2.0 * evaluation.held_out.candidate.relative_error)


def test_a_knock_where_a_model_is_judged_is_named_and_overfitting_is_not(simulated_arm, tmp_path):
    arm = simulated_arm(1)

    def changed(t, tau):
        return knock(t, tau, 21.0)

    verdict = study(tmp_path, arm, changed).fit('entropic').verdict
    assert not verdict.committable
    (reason,) = [one for one in verdict.reasons if 'as where something touches' in one]
    assert not any('overfitted' in one for one in verdict.reasons)
    line = next(step for step in verdict.next_steps if 'leave_out' in step)
    stretch = yaml.safe_load(line.partition('leave_out: ')[2].partition('}')[0])
    assert stretch[0][0] < 20.9 < 21.1 < stretch[0][1]
    # The line does what it says.
    again = study(tmp_path, arm, changed, leave_out=stretch).fit('entropic')
    assert again.verdict.committable, again.verdict.reasons


def test_a_stretch_that_ends_before_it_begins_is_refused():
    with pytest.raises(ConfigurationError, match='leave_out'):
        Processing(leave_out=((5.2, 4.5),))


def test_torques_of_a_stretch_do_not_count(simulated_arm):
    from sysid_ros.recording.processing.align import align

    arm = simulated_arm(0)
    recording = arm.recording(10.0, 100.0)
    data = align(recording, arm.joint_names, Processing(leave_out=((2.0, 3.0),)))
    inside = (data.t >= 2.0) & (data.t <= 3.0)
    assert not data.mask[inside].any() and data.mask[~inside].all()
    assert isinstance(recording.channels[0], Channel)


PROCESSING = {'position_filter': {'cutoff': 15.0},
              'parallel_filter': {'cutoff': 10.0, 'decimate_to': 25.0}}


def test_where_nothing_is_chosen_a_hand_is_named_and_no_sensor_is_accused(
    simulated_arm, tmp_path
):
    found = study(tmp_path, simulated_arm(1), hand, automatic=False, **PROCESSING)
    assert not any(one.suggestion for one in found.data.efforts)
    verdict = found.fit('entropic').verdict
    assert not verdict.committable
    assert 'Of the data that was fitted' in verdict.reasons[0]
    assert not any('whatever the masses are' in reason for reason in verdict.reasons)
    assert 'processing: {leave_out: [[' in verdict.next_step


def test_an_estimator_that_leaves_rows_out_needs_no_word_on_a_hand(simulated_arm, tmp_path):
    found = study(tmp_path, simulated_arm(1), hand, automatic=False, **PROCESSING)
    evaluation = found.fit('irls_lmi')
    assert evaluation.verdict.committable, evaluation.verdict.reasons
    assert evaluation.held_out.candidate.relative_error < 0.02


def test_who_asks_to_keep_a_hand_is_not_told_to_leave_it_out(simulated_arm, tmp_path):
    found = study(
        tmp_path, simulated_arm(1), hand, automatic=False, leave_out=[], **PROCESSING)
    assert found.data.touched is None
    assert not any(one.suggestion for one in found.data.efforts)


def test_a_check_names_a_hand_and_accuses_no_sensor(simulated_arm, tmp_path):
    found = study(tmp_path, simulated_arm(1), hand)
    check = check_recording(FitSetup.of(Identification.load(tmp_path / 'a.yaml')))
    lights = {one.name: one for one in check.lights.checks}
    assert lights['Efforts'].light == 'good'
    assert lights['Touched'].light == 'look' and check.usable
    assert found.fit('entropic').verdict.committable


def test_settings_are_guessed_as_without_a_hand(simulated_arm, tmp_path):
    study(tmp_path, simulated_arm(1), hand)
    guessed = initial_settings(tmp_path / 'arm.urdf', tmp_path / 'a.npz', tmp_path)
    said = [str(one) for one in guessed.findings if one.subject == 'effort']
    assert any('not looked at from' in line for line in said)
    assert not any('look at it before the fit' in line for line in said)
