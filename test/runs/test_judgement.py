"""A commit judges again: edited estimates, verdicts and recordings are found out."""

import json
import re
import shutil

import numpy as np
import pytest
import yaml

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.evaluation.study import Study
from sysid_ros.mechanics.base_parameters import base_parameters
from sysid_ros.release.store import RevisionStore
from sysid_ros.runs.commit import initial_content, prepare
from sysid_ros.runs.fit import fit_to_folder
from sysid_ros.runs.judged import (
    JUDGED_BY,
    NotCommittableError,
    RecordingsGoneError,
)
from sysid_ros.runs.judgement import judge_again

OTHER_MOTION = 40.0


def scaled(name, factor):
    """An edit of one parameter of an estimate."""
    def edit(data):
        k = data['parameters']['names'].index(name)
        data['parameters']['values'][k] *= factor
    return edit


@pytest.fixture(scope='module')
def recordings(fits, tmp_path_factory):
    """A folder with the robot, a recording of it, and one of another motion."""
    folder = tmp_path_factory.mktemp('recordings')
    arm = fits.arm
    (folder / 'arm.urdf').write_text(arm.description)
    t = np.arange(0.0, 12.0, 0.01)
    for name, begin in (('first', 0.0), ('second', OTHER_MOTION), ('third', 80.0)):
        noise = np.random.default_rng(int(begin)).normal(0.0, 0.02, (len(t), len(arm.joint_names)))
        np.savez(folder / f'{name}.npz', t=t, q=arm.motion(t + begin)[0],
                 tau=arm.torque(t + begin) + noise)
        settings = yaml.safe_load(fits.settings.read_text()) | {'automatic': False}
        settings['recording']['file'] = f'{name}.npz'
        (folder / f'{name}.yaml').write_text(yaml.safe_dump(settings))
    return folder


def fitted(recordings, folder, estimator='entropic', terms=None, **judged_by):
    """A fit of the first recording; returns its folder."""
    if terms is not None:
        settings = yaml.safe_load((recordings / 'first.yaml').read_text())
        settings['robot']['terms'] = terms
        (recordings / 'shaped.yaml').write_text(yaml.safe_dump(settings))
    first = Identification.load(recordings / ('first.yaml' if terms is None else 'shaped.yaml'))
    fit_to_folder(first, folder, estimator=estimator, **judged_by)
    return folder


def test_an_untouched_fit_is_judged_as_it_was(fits, tmp_path):
    folder = fits.copy(tmp_path, 'a')
    errors = json.loads((folder / 'evaluation.json').read_text())['held_out']
    assert judge_again('a', folder) == (
        f'Judged again by its recordings: {100 * errors["relative_error"]:.3g} % off on held-out '
        f'data, {100 * errors["prior_relative_error"]:.3g} % by the prior.')


@pytest.mark.parametrize('estimator', ['entropic', 'irls_lmi', 'recursive'])
def test_another_recording_and_several_ones_are_found_again(recordings, tmp_path, estimator):
    folder = fitted(
        recordings, tmp_path / 'fit', estimator,
        others=[Identification.load(recordings / 'third.yaml')],
        validation=Identification.load(recordings / 'second.yaml'))
    assert 'Judged again by its recordings' in judge_again('fit', folder)


def test_fit_judgement_and_validation_say_alike_how_much_faster_a_motion_is(
    recordings, fits, tmp_path, capsys
):
    mine = shutil.copytree(recordings, tmp_path / 'recordings')
    t = np.arange(0.0, 6.0, 0.01)
    # The path that is fitted, at twice the speed.
    np.savez(mine / 'second.npz', t=t, q=fits.arm.motion(2.0 * t)[0],
             tau=faster_torque(fits.arm, t))
    folder = fitted(
        mine, tmp_path / 'fit', validation=Identification.load(mine / 'second.yaml'))
    said = re.search(
        r'This motion goes beyond the one that was fitted: (\d\.\d) times the speed \([a-z_]*\)',
        judge_again('fit', folder))
    assert float(said[1]) == pytest.approx(2.0, abs=0.1)
    assert said[0] in (folder / 'summary.txt').read_text()
    capsys.readouterr()
    main(['validate', str(folder), str(mine / 'second.yaml')])
    assert said[0] in capsys.readouterr().out


def faster_torque(arm, t):
    """Torque of the arm that goes through its motion at twice the speed."""
    q, v, a = arm.motion(2.0 * t)
    noise = np.random.default_rng(9).normal(0.0, 0.02, q.shape)
    return arm.model.torque(arm.truth, q, 2.0 * v, 4.0 * a) + noise


def test_friction_with_a_shape_is_judged_again(recordings, tmp_path):
    folder = fitted(
        recordings, tmp_path / 'fit', holdout=0.25,
        terms={'coulomb_smoothing': 'identified', 'load_friction': 'all'})
    assert 'Judged again' in judge_again('fit', folder)


def test_stretches_are_left_out_again_where_nothing_else_was_judged_by(recordings, tmp_path):
    folder = fitted(recordings, tmp_path / 'fit', folds=3)
    assert judge_again('fit', folder) == 'Judged again by stretches of its recordings.'


@pytest.mark.parametrize(('name', 'factor'), [
    ('forearm.mass', 1.02), ('upper_arm.first_moment_z', 1.1),
    ('elbow_pitch.coulomb_friction', 1.2), ('shoulder_pitch.viscous_friction', 1.2)])
def test_an_edited_value_is_found_though_the_digests_fit(fits, tmp_path, name, factor):
    folder = fits.copy(tmp_path, 'a')
    fits.edit(folder, 'estimate.json', scaled(name, factor))
    with pytest.raises(NotCommittableError, match=r'its base parameters are not those of its'):
        judge_again('a', folder)


def test_edited_masses_are_found_though_base_parameters_follow_them(fits, tmp_path):
    folder = fits.copy(tmp_path, 'a')
    fits.edit(folder, 'estimate.json', scaled('forearm.mass', 1.1))
    estimate = Estimate.load(folder / 'estimate.json')
    model = Identification.load(folder / 'settings.yaml').model()
    free = estimate.parameters.free
    base = base_parameters(model, free=free).values(np.where(free, estimate.parameters.values, 0.0))
    fits.edit(folder, 'estimate.json', lambda data: data.update(base_values=base.tolist()))
    with pytest.raises(NotCommittableError, match=r'its values are .* off in .*, not .* it says'):
        judge_again('a', folder)


def test_an_estimate_at_the_prior_is_refused_by_its_recordings(fits, tmp_path):
    """All that is written agrees with itself; only the torques say that it is no better."""
    folder = fits.copy(tmp_path, 'a')
    estimate = Estimate.load(folder / 'estimate.json')
    model = Identification.load(folder / 'settings.yaml').model()
    prior, free = estimate.parameters.prior, estimate.parameters.free
    base = base_parameters(model, free=free).values(np.where(free, prior, 0.0))
    errors = {}

    def to_the_prior(data):
        data['parameters']['values'] = prior.tolist()
        data['base_values'] = base.tolist()
        data['residuals'].update(errors)

    fits.edit(folder, 'estimate.json', to_the_prior)
    with pytest.raises(NotCommittableError, match='as it says') as found:
        judge_again('a', folder)
    assert 'off in' in str(found.value)
    study = reopened(folder)
    rms = {
        name: np.sqrt((problem.residuals(prior)**2).sum(axis=0) / problem.counts).tolist()
        for name, problem in (('training', study.training), ('held_out', study.held_out.problem))}
    errors['rms_per_joint'] = rms['training']
    fits.edit(folder, 'estimate.json', to_the_prior)
    fits.edit(folder, 'verdict.json', lambda data: data[JUDGED_BY].update(
        training_rms=rms['training'], held_out_rms=rms['held_out']))
    with pytest.raises(NotCommittableError, match='verdict is against it.*no better'):
        judge_again('a', folder)


def reopened(folder):
    """The recordings of a run that kept the last quarter back."""
    return Study.load(FitSetup.load(folder / 'settings.yaml'), holdout=0.25, coarse=())


def test_a_written_yes_does_not_make_it_committable(fits, recordings, tmp_path):
    folder = fitted(recordings, tmp_path / 'fit')
    assert not json.loads((folder / 'verdict.json').read_text())['committable']
    fits.edit(folder, 'verdict.json', lambda data: data.update(committable=True, reasons=[]))
    model = Identification.load(folder / 'settings.yaml').model()
    with RevisionStore(tmp_path / 'revisions.sqlite') as store:
        store.begin(initial_content(model))
    with pytest.raises(NotCommittableError, match=r'against it: It was not tried on data.*Valid'):
        prepare(tmp_path / 'revisions.sqlite', 'fit', folder, model.robot)


@pytest.mark.parametrize(('edit', 'message'), [
    (lambda data: data['provenance']['fitted_range']['elbow_pitch'].update(speed=9.0),
     'its fitted range is not that of the recordings'),
    (lambda data: data['provenance']['judged_range']['elbow_pitch'].update(torque=900.0),
     'its judged range is not that of the recordings'),
    (lambda data: data['parameters']['prior'].__setitem__(10, 7.0),
     'the prior of .*mass is not that of the description'),
    (lambda data: data['parameters']['upper'].__setitem__(-1, 1e6),
     'the upper bound of .* is not that'),
    (lambda data: data['base_names'].reverse(), 'are not those of the model'),
])
def test_an_edited_range_prior_or_bound_is_found(fits, tmp_path, edit, message):
    folder = fits.copy(tmp_path, 'a')
    fits.edit(folder, 'estimate.json', edit)
    with pytest.raises(NotCommittableError, match=message):
        judge_again('a', folder)


def test_another_part_that_was_kept_back_is_found(fits, tmp_path):
    folder = fits.copy(tmp_path, 'a')
    fits.edit(folder, 'verdict.json', lambda data: data[JUDGED_BY].update(holdout=0.1))
    with pytest.raises(NotCommittableError, match='is not what its recordings give'):
        judge_again('a', folder)


@pytest.mark.parametrize('spoil', [
    lambda data: data.pop(JUDGED_BY), lambda data: data.update({JUDGED_BY: 'a recording'}),
    lambda data: data[JUDGED_BY].update(folds='many'),
    lambda data: data[JUDGED_BY].update(training_rms=[10**400])])
def test_a_verdict_that_does_not_say_by_what_is_refused(fits, tmp_path, spoil):
    folder = fits.copy(tmp_path, 'a')
    fits.edit(folder, 'verdict.json', spoil)
    with pytest.raises(NotCommittableError, match='does not say what it was judged by.*Fit again'):
        judge_again('a', folder)


@pytest.mark.parametrize('content', [
    b'', b'{"committable": tr', b'\xff', b'[]', b'3', b'[' * 100_000, b'{"judged_by": NaN}'])
def test_a_damaged_verdict_is_refused_by_one_clear_error(fits, tmp_path, capsys, content):
    folder = fits.copy(tmp_path, 'a')
    (folder / 'verdict.json').write_bytes(content)
    with pytest.raises(ConfigurationError, match=r'verdict\.json: .*[Ff]it again'):
        judge_again('a', folder)
    assert main(['report', str(folder), '--recordings']) == ExitCode.BAD_INPUT
    said = capsys.readouterr().err
    assert 'verdict.json' in said
    assert 'Traceback' not in said


def test_recordings_that_are_gone_are_asked_for_by_name(recordings, tmp_path):
    mine = shutil.copytree(recordings, tmp_path / 'recordings')
    folder = fitted(
        mine, tmp_path / 'fit', validation=Identification.load(mine / 'second.yaml'))
    (mine / 'second.npz').rename(mine / 'elsewhere.npz')
    with pytest.raises(RecordingsGoneError, match=r'second\.npz.*Put them back'):
        judge_again('fit', folder)
    (mine / 'elsewhere.npz').rename(mine / 'second.npz')
    assert judge_again('fit', folder)


@pytest.mark.parametrize(('name', 'message'), [
    ('first', r'first.npz has changed since the fit'),
    ('second', r'second.npz is not what it was judged by')])
def test_a_recording_that_was_replaced_is_found(recordings, tmp_path, name, message):
    mine = shutil.copytree(recordings, tmp_path / 'recordings')
    folder = fitted(
        mine, tmp_path / 'fit', validation=Identification.load(mine / 'second.yaml'))
    shutil.copy(mine / 'third.npz', mine / f'{name}.npz')
    with pytest.raises(NotCommittableError, match=message):
        judge_again('fit', folder)
