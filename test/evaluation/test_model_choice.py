"""What settings leave open is chosen by the data, and what they say stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.evaluation import delay_choice, term_choice
from sysid_ros.evaluation.study import Study
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.recording.recording import Channel
from sysid_ros.report.evidence import choices_section

RATE = 200.0


def written(folder, name, arm, recording, **sections):
    """A recording and its settings as files."""
    t = recording.channel('position').t
    np.savez(folder / f'{name}.npz', t=t, q=recording.channel('position').values,
             tau=recording.channel('effort').values)
    (folder / 'arm.urdf').write_text(arm.description)
    settings = {
        'robot': {'urdf': 'arm.urdf'},
        'recording': {
            'format': 'npz', 'file': f'{name}.npz', 'time': {'array': 't'},
            'position': {'array': 'q'}, 'effort': {'array': 'tau'},
            'joints': list(arm.joint_names)},
    } | sections
    (folder / f'{name}.yaml').write_text(yaml.safe_dump(settings))
    return Identification.load(folder / f'{name}.yaml')


def study(identification, **options):
    return Study.load(FitSetup.of(identification), **options)


def chosen(found):
    return {choice.key: choice.value for choice in found.choice.choices}


def sticking(arm, recording):
    """Efforts of joints whose dry friction sticks: beside a turn it is anything but sliding's."""
    q, tau = recording.channel('position'), recording.channel('effort')
    v = np.gradient(q.values, 1.0 / RATE, axis=0)
    dry = arm.truth[[arm.model.parameters.index(f'{name}.coulomb_friction')
                     for name in arm.joint_names]]
    slow = np.clip(v / 0.1, -1.0, 1.0)
    effort = tau.values - dry * np.sign(v) + dry * slow
    return type(recording)(
        (q, Channel('effort', tau.names, 'N·m', tau.t, effort)), 'simulated', '')


@pytest.fixture(scope='module')
def arm(simulated_arm):
    return simulated_arm(4)


@pytest.fixture(scope='module')
def found(arm, tmp_path_factory):
    """A study of an arm with friction that sticks, nothing but robot and recording given."""
    folder = tmp_path_factory.mktemp('open')
    recording = sticking(arm, arm.recording(20.0, RATE, bits=17))
    return study(written(folder, 'first', arm, recording), holdout=0.25)


def test_filters_and_the_slowest_rows_are_chosen(found):
    keys = chosen(found)
    assert {'processing.position_filter', 'processing.parallel_filter',
            'fit.minimum_velocity'} <= set(keys)
    assert (np.array(keys['fit.minimum_velocity']) > 0.02).all()


def test_the_model_that_is_found_is_better_than_with_rows_at_standstill(found, arm):
    as_written = found.setup.identification.with_fit(minimum_velocity=0.0)
    other = study(as_written.with_terms(TermSettings()), holdout=0.25)
    truth = arm.truth
    masses = [k for k, name in enumerate(arm.model.parameters.names)
              if name.endswith('coulomb_friction')]

    def worst(fitted):
        values = [fitted.estimate.parameters[arm.model.parameters.names[k]] for k in masses]
        return np.abs(np.array(values) / truth[masses] - 1.0).max()

    ours, theirs = found.fit('wls'), other.fit('wls')
    assert worst(ours) < 0.3 * worst(theirs)
    assert ours.verdict.committable


def test_the_settings_of_a_run_fit_the_same_again(found):
    assert not found.setup.identification.settings.automatic
    again = study(found.setup.identification, holdout=0.25)
    assert again.choice.choices == ()
    np.testing.assert_array_equal(again.training.torque, found.training.torque)
    np.testing.assert_array_equal(again.training.regressor, found.training.regressor)
    assert again.training.model.parameters.names == found.training.model.parameters.names


def test_every_choice_has_its_line_and_its_reason(found):
    text = choices_section(found.choice.choices)
    for choice in found.choice.choices:
        assert f'  {choice.key}: ' in text
    assert 'fast ones are predicted' in text or 'faster ones' in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_what_is_given_stays(arm, tmp_path):
    given = written(
        tmp_path, 'first', arm, arm.recording(12.0, RATE, bits=17),
        robot={'urdf': 'arm.urdf', 'terms': {
            'coulomb_friction': 'all', 'armature': [], 'stiffness': []}},
        processing={'position_filter': {'cutoff': 30.0}, 'stamps': 'measured',
                    'torque_delay': 0.0},
        fit={'minimum_velocity': 0.03})
    found = study(given, holdout=0.25)
    assert found.choice.choices == ()
    assert found.setup.identification.settings == given.settings


def test_automatic_false_takes_the_defaults(arm, tmp_path):
    plain = written(tmp_path, 'first', arm, arm.recording(12.0, RATE), automatic=False)
    found = study(plain, holdout=0.25)
    assert found.choice.choices == ()
    assert found.training.rate == RATE


def test_stamps_that_jitter_on_arrival_are_taken_as_even(arm, tmp_path):
    recording = arm.recording(12.0, RATE, bits=17)
    jitter = 0.3 / RATE * np.random.default_rng(2).uniform(-1.0, 1.0, round(12.0 * RATE))
    late = type(recording)(tuple(
        Channel(c.quantity, c.names, c.unit, c.t + jitter, c.values)
        for c in recording.channels), 'simulated', '')
    options = {'fit': {'minimum_velocity': 0.0}, 'robot': {
        'urdf': 'arm.urdf', 'terms': {'coulomb_friction': 'all', 'armature': [], 'stiffness': []}}}
    found = study(written(tmp_path, 'first', arm, late, **options), holdout=0.25)
    assert chosen(found)['processing.stamps'] == 'uniform'
    # Another recording is judged by its own stamps: those that are exact stay.
    exact = written(tmp_path, 'second', arm, recording, **options)
    assert found.choice.read(exact).parts[0].setup.settings.processing.stamps == 'measured'
    again = written(tmp_path, 'third', arm, late, **options)
    assert found.choice.read(again).parts[0].setup.settings.processing.stamps == 'uniform'


@pytest.mark.slow
def test_late_torques_are_moved_back(arm, tmp_path):
    late = arm.recording(20.0, RATE, bits=17, delays=np.full(len(arm.joint_names), 0.03))
    first = written(tmp_path, 'first', arm, late)
    found = study(first, holdout=0.25)
    delays = chosen(found)['processing.torque_delay']
    assert list(delays) == list(arm.joint_names)
    np.testing.assert_allclose(list(delays.values()), 0.03, atol=0.002)
    assert found.fit('entropic').verdict.committable


@pytest.mark.slow
def test_a_joint_that_lags_alone_moves_no_other(arm, tmp_path, monkeypatch):
    names, late = [], np.zeros(len(arm.joint_names))
    late[0] = 0.03
    recording = arm.recording(20.0, RATE, bits=17, delays=late)
    plain = delay_choice.candidate_errors

    def errors(name, *rest):
        names.append(name)
        return plain(name, *rest)

    monkeypatch.setattr(delay_choice, 'candidate_errors', errors)
    monkeypatch.setattr(
        delay_choice, 'errors_side_by_side', lambda attempts: [each() for each in attempts])
    found = study(written(tmp_path, 'first', arm, recording), holdout=0.25)
    assert names == ['none', 'one for each joint']
    assert list(chosen(found)['processing.torque_delay']) == [arm.joint_names[0]]


@pytest.mark.slow
def test_drive_inertia_and_springs_are_found_where_they_are(arm, tmp_path, monkeypatch):
    recording = arm.recording(20.0, RATE, bits=18)
    t = recording.channel('position').t
    q, _, a = arm.motion(t)
    tau = recording.channel('effort')
    size = np.sqrt(np.mean(tau.values**2, axis=0))
    # The drive of the last joint turns fast; the first has a spring.
    effort = tau.values.copy()
    effort[:, -1] += 0.5 * size[-1] * a[:, -1] / a[:, -1].std()
    effort[:, 0] += 0.5 * size[0] * q[:, 0] / q[:, 0].std()
    more = type(recording)(
        (recording.channel('position'), Channel('effort', tau.names, 'N·m', t, effort)),
        'simulated', '')
    first = written(tmp_path, 'first', arm, more)
    assert chosen(study(first, holdout=0.25))['robot.terms.stiffness'] == 'all'
    # Rows that hardly tell them from the links would leave both unknown.
    monkeypatch.setattr(term_choice, 'WARNED', 1.0)
    assert 'robot.terms.stiffness' not in chosen(study(first, holdout=0.25))
    monkeypatch.undo()
    plain = study(written(tmp_path, 'second', arm, recording), holdout=0.25)
    assert 'robot.terms.stiffness' not in chosen(plain)


@pytest.mark.slow
def test_terms_that_could_not_be_fitted_are_named(arm, tmp_path, monkeypatch):
    plain = term_choice.candidate_errors

    def failing(name, *arguments, **more):
        errors = plain(name, *arguments, **more)
        return replace(errors, faster=np.full(5, np.inf)) if name == 'springs' else errors

    monkeypatch.setattr(term_choice, 'candidate_errors', failing)
    found = study(
        written(tmp_path, 'first', arm, arm.recording(12.0, RATE, bits=17)), holdout=0.25)
    assert 'robot.terms.stiffness' not in chosen(found)
    said = ' '.join(choices_section(found.choice.choices, found.choice.left).split())
    assert 'joint terms: springs could not be fitted to every part of the data' in said


@pytest.mark.slow
def test_coupled_drives_come_from_the_transmission(arm, tmp_path):
    recording = arm.recording(12.0, RATE, bits=17)
    gears = np.diag(np.full(len(arm.joint_names), 50.0))
    gears[-1, -2] = 50.0
    path = written(tmp_path, 'first', arm, recording, fit={'minimum_velocity': 0.0})
    settings = yaml.safe_load(path.path.read_text())
    settings['recording']['transmission'] = {'motor_per_joint': gears.tolist()}
    path.path.write_text(yaml.safe_dump(settings))
    axes = chosen(study(Identification.load(path.path), holdout=0.25))['robot.terms.coupled_axes']
    before, last = arm.joint_names[-2:]
    assert axes == [{'name': f'motor_of_{last}', 'weights': {before: 1.0, last: 1.0}}]


def test_a_recording_too_short_to_choose_from_is_fitted_as_it_is(arm, tmp_path):
    short = written(tmp_path, 'first', arm, arm.recording(2.0, RATE, bits=17))
    found = study(short)
    assert 'fit.minimum_velocity' not in chosen(found)


def test_estimators_of_states_smooth_dry_friction_and_are_judged_behind_filters(arm, tmp_path):
    plain = written(tmp_path, 'first', arm, arm.recording(6.0, RATE, bits=13))
    found = study(plain, holdout=0.25, estimator='collocation')
    assert chosen(found).keys() >= {'robot.terms.coulomb_smoothing', 'processing.position_filter'}
    assert chosen(found).keys().isdisjoint({'fit.minimum_velocity', 'robot.terms'})
    terms = found.setup.identification.robot().terms
    assert terms.coulomb_smoothing == 0.02
    # Estimates of states see the samples as they are.
    raw = study(replace(plain, settings=plain.settings.model_copy(update={'automatic': False})),
                holdout=0.25, estimator='collocation')
    assert chosen(raw).keys() == {'robot.terms.coulomb_smoothing'}
    for one, other in zip(
            found.trajectory.segments, raw.trajectory.segments, strict=True):
        np.testing.assert_array_equal(one.observations[0].values, other.observations[0].values)
    # Accelerations of 13 bits are no evidence without a filter.
    noise = [float(np.std(each.training.torque - each.training.regressor @ (
        each.training.parameters.values))) for each in (found, raw)]
    assert noise[0] < 0.7 * noise[1]


def test_a_smoothing_that_is_given_and_friction_that_may_jump_stay(arm, tmp_path):
    sharp = written(tmp_path, 'sharp', arm, arm.recording(3.0, RATE, bits=17), robot={
        'urdf': 'arm.urdf', 'terms': {'coulomb_friction': 'all', 'coulomb_smoothing': 0.001}})
    assert 'robot.terms.coulomb_smoothing' not in chosen(
        study(sharp, holdout=0.25, estimator='shooting'))
    plain = written(tmp_path, 'plain', arm, arm.recording(3.0, RATE, bits=17))
    assert 'robot.terms.coulomb_smoothing' not in chosen(
        study(plain, holdout=0.25, estimator='discrete'))


def test_a_model_for_controllers_has_plain_friction(arm, tmp_path):
    recording = sticking(arm, arm.recording(12.0, RATE, bits=17))
    first = written(tmp_path, 'first', arm, recording, fit={'minimum_velocity': 0.0})
    found = study(first, holdout=0.25, handed_over=True)
    assert {each.name for each in found.friction.candidates} == {'viscous', 'dry', 'coulomb'}
    assert not found.training.model.shapes


def as_text(identification, folder):
    """The same recording as a table of text, with its settings."""
    with np.load(folder / f'{identification.settings.recording.file}') as data:
        columns = np.column_stack([data['t'], data['q'], data['tau']])
    names = list(identification.settings.recording.joints)
    header = ','.join(['t', *names, *(f'tau_{name}' for name in names)])
    np.savetxt(folder / 'copy.csv', columns, delimiter=',', header=header, comments='', fmt='%.8g')
    settings = {'recording': {
        'format': 'csv', 'file': 'copy.csv', 'time': {'column': 't'}, 'joints': names,
        'position': {'columns': names}, 'effort': {'columns': [f'tau_{n}' for n in names]}}}
    (folder / 'copy.yaml').write_text(yaml.safe_dump(settings))
    return Identification.load(folder / 'copy.yaml')


def test_the_fitted_recording_is_no_validation_under_another_name_or_format(arm, tmp_path):
    first = written(tmp_path, 'first', arm, arm.recording(12.0, RATE, bits=17))
    renamed = written(tmp_path, 'renamed', arm, arm.recording(12.0, RATE, bits=17))
    for copy in (renamed, as_text(first, tmp_path)):
        with pytest.raises(ConfigurationError, match='holds samples that are fitted'):
            study(first, validation=copy)


@pytest.mark.slow
def test_encoders_too_coarse_for_accelerations_are_no_evidence(arm, tmp_path):
    found = study(written(tmp_path, 'first', arm, arm.recording(12.0, RATE, bits=5)), holdout=0.25)
    assert set(found.data.coarse) <= set(arm.joint_names)
    assert found.data.coarse
    verdict = found.fit('entropic').verdict
    assert not verdict.committable
    assert any('are too coarse' in reason for reason in verdict.reasons)


def test_a_motion_beyond_the_fitted_one_is_said(arm, simulated_arm, tmp_path):
    options = {'automatic': False, 'processing': {
        'position_filter': {'cutoff': 20.0}, 'parallel_filter': {
            'cutoff': 10.0, 'decimate_to': 25.0}}}
    recording = arm.recording(12.0, RATE, bits=17)
    first = written(tmp_path, 'first', arm, recording, **options)
    # The same way in half the time.
    fast = arm.recording(24.0, RATE / 2.0, bits=17, noise=0.02)
    faster = written(tmp_path, 'faster', arm, type(recording)(tuple(
        Channel(c.quantity, c.names, c.unit, c.t / 2.0, c.values) for c in fast.channels),
        'simulated', ''), **options)
    judged = study(first, validation=faster).fit('wls')
    said = [text for text in judged.verdict.remarks if 'goes beyond' in text]
    assert len(said) == 1
    assert 'times the speed (' in said[0]
    fitted, tried = (judged.estimate.provenance[key] for key in ('fitted_range', 'judged_range'))
    for name in arm.joint_names:
        assert tried[name]['speed'] == pytest.approx(2.0 * fitted[name]['speed'], rel=0.25)
    own = study(first, holdout=0.3).fit('wls')
    assert not any('2.0 times' in text for text in own.verdict.remarks)


def test_a_robot_that_rests_before_it_moves_has_its_model_chosen(simulated_arm, tmp_path):
    arm = simulated_arm(2)
    recording = arm.recording(24.0, RATE, bits=17)
    position, effort = recording.channels
    t, q = position.t, position.values
    # It waits where it stands for a third of what is fitted, then starts as smoothly as robots do.
    part = np.clip((t - 6.0) / 1.5, 0.0, 1.0)
    begun = (part**3 * (10.0 - 15.0 * part + 6.0 * part**2))[:, None]
    moved = q[0] + (q - q[0]) * begun
    v = np.gradient(moved, 1.0 / RATE, axis=0)
    a = np.gradient(v, 1.0 / RATE, axis=0)
    joints = len(arm.joint_names)
    dry, viscous = arm.truth[-2 * joints:-joints], arm.truth[-3 * joints:-2 * joints]
    tau = arm.rigid(moved, v, a) + viscous * v + dry * np.sign(v)
    tau += 0.01 * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    resting = type(recording)(
        (replace(position, values=moved), replace(effort, values=tau)), 'simulated', '')
    found = study(written(tmp_path, 'rest', arm, resting), holdout=0.25)
    assert not found.choice.left
    assert {'fit.minimum_velocity', 'robot.terms'} <= set(chosen(found))
    assert found.fit('entropic').held_out.candidate.relative_error < 0.02
