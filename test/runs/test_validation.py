"""One more recording agrees to no refused model, and is itself looked at like a fitted one."""

import json
import shutil

import numpy as np
import pytest
import yaml

from sysid_ros.estimation.identification import Identification
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.runs.fit import fit_to_folder
from sysid_ros.runs.run_folder import RunFolder
from sysid_ros.runs.validation import validate_run

OTHER_MOTION = 40.0
OFF = 0.5
# A load on the last link, about its joint.
LOAD = np.array([0.6, 0.02, -0.01, 0.05, 0.01, 0.0, 0.01, 0.0, 0.0, 0.004])


@pytest.fixture(scope='module')
def recordings(fits, tmp_path_factory):
    """Settings by name: two motions, each with the zero of the elbow off, and one with a load."""
    folder = tmp_path_factory.mktemp('recordings')
    arm = fits.arm
    (folder / 'arm.urdf').write_text(arm.description)
    t, settings = np.arange(0.0, 12.0, 0.01), {}
    elbow = arm.joint_names.index('elbow_pitch')
    for name, begin, zero, carried in (
        ('first', 0.0, 0.0, 0.0), ('second', OTHER_MOTION, 0.0, 0.0), ('first_off', 0.0, OFF, 0.0),
        ('second_off', OTHER_MOTION, OFF, 0.0), ('second_loaded', OTHER_MOTION, 0.0, 1.0),
    ):
        noise = np.random.default_rng(int(begin)).normal(0.0, 0.02, (len(t), len(arm.joint_names)))
        q, v, a = arm.motion(t + begin)
        load = inertial_regressor(arm.model.robot, q, v, a)[:, :, -10:] @ (carried * LOAD)
        np.savez(folder / f'{name}.npz', t=t, tau=arm.torque(t + begin) + load + noise,
                 q=q + zero * (np.arange(len(arm.joint_names)) == elbow))
        content = yaml.safe_load(fits.settings.read_text()) | {'automatic': False}
        content['recording']['file'] = f'{name}.npz'
        (folder / f'{name}.yaml').write_text(yaml.safe_dump(content))
        settings[name] = Identification.load(folder / f'{name}.yaml')
    return settings


@pytest.fixture(scope='module')
def runs(recordings, tmp_path_factory):
    """``runs(name, holdout)``: a copy of the fit of a recording; without, judged by nothing."""
    made = {}

    def run(name, holdout=None):
        if (name, holdout) not in made:
            folder = made[name, holdout] = tmp_path_factory.mktemp('runs') / name
            fit_to_folder(recordings[name], folder, estimator='entropic', holdout=holdout)
        copy = tmp_path_factory.mktemp('copies') / name
        return RunFolder.open(shutil.copytree(made[name, holdout], copy))
    return run


@pytest.mark.parametrize('holdout', [None, 0.25])
def test_a_model_that_was_good_or_only_not_tried_is_committable_by_another_recording(
    runs, recordings, holdout
):
    run = runs('first', holdout)
    assert json.loads((run.path / 'verdict.json').read_text())['committable'] is (
        holdout is not None)
    verdict = validate_run(run, recordings['second'], 'second').verdict
    assert verdict.committable, verdict.reasons


def test_a_model_whose_fit_was_refused_is_not_committable_by_another_recording(runs, recordings):
    """The zero is off in both alike, so that the model predicts the other one well."""
    run = runs('first_off')
    refused = json.loads((run.path / 'verdict.json').read_text())
    verdict = validate_run(run, recordings['second_off'], 'second').verdict
    assert not verdict.committable
    carried = [one for one in refused['reasons'] if 'the efforts agree with its positions' in one]
    assert carried
    for reason in carried:
        k = verdict.reasons.index(f'The fit itself was refused: {reason}')
        assert verdict.next_steps[k] == refused['next_steps'][refused['reasons'].index(reason)]
    assert not any('not tried on data' in reason for reason in verdict.reasons)


def test_the_other_recording_is_refused_for_its_own_contradictions(runs, recordings):
    verdict = validate_run(runs('first'), recordings['second_off'], 'second').verdict
    assert any('the efforts agree with its positions' in reason
               and 'refused' not in reason for reason in verdict.reasons), verdict.reasons


def test_positions_that_tell_no_accelerations_are_said_of_the_other_recording(
    runs, recordings, tmp_path
):
    other = recordings['second']
    data = dict(np.load(other.base / 'second.npz'))
    step = 2.0 * np.pi / 64.0
    np.savez(tmp_path / 'second.npz', **(data | {'q': np.round(data['q'] / step) * step}))
    coarse = Identification(other.settings, tmp_path, other.path)
    fine, said = (
        [remark for remark in validate_run(runs('first'), one, 'second').verdict.remarks
         if 'too coarse in the data to judge by' in remark] for one in (other, coarse))
    assert fine == []
    assert len(said) == 1


def test_a_load_in_the_other_recording_alone_is_named(runs, recordings):
    reasons = validate_run(runs('first'), recordings['second_loaded'], 'second').verdict.reasons
    assert any(reason.startswith('The recording to judge by looks as if the robot carried 0.')
               for reason in reasons), reasons


def test_a_run_that_was_edited_after_it_was_judged_is_refused(runs, recordings):
    run = runs('first')
    with (run.path / 'estimate.json').open('a') as file:
        file.write(' ')
    verdict = validate_run(run, recordings['second'], 'second').verdict
    assert 'The fit itself was refused: estimate.json changed after it was judged.' in (
        verdict.reasons)


@pytest.mark.parametrize('text', [None, '', '{}', '[]'])
def test_a_run_without_a_verdict_is_refused(runs, recordings, text):
    run = runs('first')
    (run.path / 'verdict.json').unlink()
    if text is not None:
        (run.path / 'verdict.json').write_text(text)
    verdict = validate_run(run, recordings['second'], 'second').verdict
    assert not verdict.committable
    assert verdict.reasons[0].endswith('no verdict.json that can be read.')
