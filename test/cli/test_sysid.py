"""The command as a user meets it: verbs, files, exit codes, errors in one line."""

import json
import subprocess
import sys

import numpy as np
import pytest

from support.two_joint_robot import SETTINGS, write_recording
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS
from sysid_ros.robot.model import RobotModel


@pytest.fixture(scope='module')
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp('recordings')
    return write_recording(folder, 'first', 1), write_recording(folder, 'second', 2)


@pytest.fixture(scope='module')
def fitted(recordings, tmp_path_factory):
    """A run folder of a good fit."""
    folder = tmp_path_factory.mktemp('runs') / 'first'
    first, second = recordings
    assert main(['fit', str(first), '--validate', str(second), '-o', str(folder)]) == ExitCode.OK
    return folder


def test_a_fit_leaves_everything_in_the_run_folder(fitted):
    names = {path.name for path in fitted.iterdir()}
    assert names == {
        'brief.txt', 'estimate.json', 'evaluation.json', 'friction.json', 'friction.txt',
        'identified.urdf', 'identified.yaml', 'prior.urdf', 'report.html', 'report.json',
        'settings.yaml', 'simulation.png', 'summary.txt', 'torque_held_out.png',
        'torque_training.png', 'validation.yaml', 'verdict.json',
    }
    assert json.loads((fitted / 'verdict.json').read_text())['committable'] is True
    summary = (fitted / 'summary.txt').read_text()
    assert summary.startswith('VERDICT: committable')
    assert 'held-out' in summary
    assert (fitted / 'brief.txt').read_text().startswith('VERDICT: committable')
    for figure in ('torque_training.png', 'simulation.png'):
        assert (fitted / figure).read_bytes().startswith(b'\x89PNG')


def test_the_page_has_lights_of_the_recording_that_it_is_judged_by(fitted):
    sections = json.loads((fitted / 'report.json').read_text())['sections']
    data = next(each for each in sections if each['section'] == 'data_quality')['recordings']
    assert [each['judged_by'] for each in data] == [False, True]
    first, second = ({check['name'] for check in each['checks']} for each in data)
    # What its efforts are is what the verdict is about.
    assert first - second == {'Efforts'} and 'Range' in second
    assert data[0]['source'] != data[1]['source']


def test_the_run_folder_holds_the_simulated_motion(fitted):
    simulation = json.loads((fitted / 'evaluation.json').read_text())['simulation']
    candidate, prior = simulation['candidate'], simulation['prior']
    assert candidate['relative_to_coasting'] < 0.1 * prior['relative_to_coasting']
    assert simulation['units'] == ['rad', 'm']
    assert 'open loop under the measured torque' in (fitted / 'summary.txt').read_text()


def test_folds_count_as_weak_evidence(recordings, tmp_path, capsys):
    run = tmp_path / 'run'
    assert main(['fit', str(recordings[0]), '--folds', '3', '-o', str(run)]) == ExitCode.OK
    text = ' '.join(capsys.readouterr().out.split())
    assert 'VERDICT: committable' in text
    assert 'Folds: 3 stretches' in text
    assert 'weak evidence' in text
    folds = json.loads((run / 'evaluation.json').read_text())['folds']
    assert len(folds['errors']) == 3
    assert max(folds['errors']) < 0.05


@pytest.mark.parametrize('count', ['1', '-3'])
def test_folds_that_leave_nothing_out_are_refused(recordings, tmp_path, capsys, count):
    arguments = ['fit', str(recordings[0]), '--folds', count, '-o', str(tmp_path / 'run')]
    assert main(arguments) == ExitCode.BAD_INPUT
    assert '--folds' in capsys.readouterr().err


@pytest.mark.slow
def test_all_estimators_are_compared_and_the_recommended_one_is_written(
    recordings, tmp_path, capsys
):
    first, second = recordings
    run = tmp_path / 'run'
    code = main(['fit', str(first), '--validate', str(second), '--estimator', 'all',
                 '-o', str(run)])
    assert code == ExitCode.OK
    comparison = json.loads((run / 'comparison.json').read_text())
    tried = [row['estimator'] for row in comparison['estimators']] + list(comparison['failures'])
    assert sorted(tried) == sorted(REGRESSION_ESTIMATORS)
    assert comparison['failures'] == {}
    # Folds are of those whose bodies can exist.
    for row in comparison['estimators']:
        assert (row['fold_error'] is not None) == row['consistent']
        assert not row['consistent'] or 0.0 < row['fold_error'] < 1.0
    recommended = comparison['recommended']
    assert json.loads((run / 'estimate.json').read_text())['estimator'] == recommended
    table = (run / 'comparison.txt').read_text()
    assert f'Recommended: {recommended}' in table
    assert ' '.join(table.split()) in ' '.join(capsys.readouterr().out.split())
    assert {'unseen_error', 'fold_error', 'training_error', 'milliseconds', 'committable'} <= set(
        comparison['estimators'][0])


@pytest.mark.slow
def test_a_strength_found_by_cross_validation_is_in_the_summary_and_the_run_folder(
    recordings, tmp_path, capsys
):
    settings = recordings[0].with_name('auto.yaml')
    settings.write_text(
        recordings[0].read_text() + 'fit: {estimator: lmi, prior_strength: auto}\n')
    run = tmp_path / 'run'
    code = main(['fit', str(settings), '--validate', str(recordings[1]), '-o', str(run)])
    assert code == ExitCode.OK
    for text in (capsys.readouterr().out, (run / 'summary.txt').read_text()):
        assert 'Strength of the prior: 5 stretches of the training data' in text
    estimate = json.loads((run / 'estimate.json').read_text())
    search = estimate['settings']['prior_strength_search']
    assert estimate['settings']['prior_strength'] == search['chosen']
    assert len(search['errors']) == 5


def test_where_every_estimator_fails_each_reason_is_said(
    recordings, tmp_path, monkeypatch, capsys
):
    def fail(self, problem):
        raise EstimationError('the sky has fallen')

    for estimator in REGRESSION_ESTIMATORS.values():
        monkeypatch.setattr(estimator, 'fit', fail)
    code = main(['fit', str(recordings[0]), '--estimator', 'all', '-o', str(tmp_path / 'run')])
    assert code == ExitCode.BAD_INPUT
    error = capsys.readouterr().err
    for name in REGRESSION_ESTIMATORS:
        assert f'{name}: the sky has fallen' in error


def test_the_identified_urdf_is_nearer_to_the_truth_than_the_prior(fitted):
    identified = RobotModel.from_urdf(fitted / 'identified.urdf')
    first_moment = identified.inertial_prior[0, 3]
    assert first_moment == pytest.approx(1.8 * 0.14, rel=0.02)
    assert abs(first_moment - 1.8 * 0.14) < abs(1.5 * 0.12 - 1.8 * 0.14)


def test_a_run_is_repeated_from_its_own_folder(fitted, tmp_path):
    code = main(['fit', str(fitted / 'settings.yaml'), '--holdout', '0.3',
                 '-o', str(tmp_path / 'again')])
    assert code == ExitCode.OK
    again = json.loads((tmp_path / 'again' / 'estimate.json').read_text())
    first = json.loads((fitted / 'estimate.json').read_text())
    assert again['parameters']['names'] == first['parameters']['names']


def test_without_held_out_data_the_exit_code_says_not_committable(recordings, tmp_path, capsys):
    code = main(['fit', str(recordings[0]), '-o', str(tmp_path / 'run')])
    assert code == ExitCode.NOT_COMMITTABLE
    assert 'Validate it on another recording' in capsys.readouterr().out


@pytest.mark.slow
def test_an_inconsistent_fit_writes_no_urdf_and_says_why(recordings, tmp_path, capsys):
    first, second = recordings
    run = tmp_path / 'run'
    code = main(['fit', str(first), '--estimator', 'ols', '--validate', str(second),
                 '-o', str(run)])
    text = capsys.readouterr().out
    estimate = json.loads((run / 'estimate.json').read_text())
    inconsistent = min(estimate['margins'].values()) <= 0.0
    assert (run / 'identified.urdf').exists() is not inconsistent
    assert code == (ExitCode.NOT_COMMITTABLE if inconsistent else ExitCode.OK)
    assert ('No URDF was written' in text) is inconsistent


def test_validate_judges_a_run_by_another_recording(fitted, recordings, capsys):
    assert main(['validate', str(fitted), str(recordings[1])]) == ExitCode.OK
    text = capsys.readouterr().out
    assert 'VERDICT: committable' in text
    assert (fitted / 'verdict_second.json').is_file()
    assert 'Simulation: ' in text
    for name in (
        'verdict_second.json', 'torque_second.png', 'simulation_second.png', 'report_second.json',
        'report_second.html',
    ):
        (fitted / name).unlink()


def test_validating_on_the_fitted_recording_itself_proves_nothing(fitted, recordings, capsys):
    assert main(['validate', str(fitted), str(recordings[0])]) == ExitCode.NOT_COMMITTABLE
    assert 'not tried on data the fit has not seen' in capsys.readouterr().out
    for name in (
        'verdict_first.json', 'torque_first.png', 'simulation_first.png', 'report_first.json',
        'report_first.html',
    ):
        (fitted / name).unlink()


def test_nor_does_a_copy_of_it_in_another_file(fitted, recordings, tmp_path, capsys):
    first = recordings[0].with_suffix('.csv')
    header = first.read_text().splitlines()[0]
    np.savetxt(tmp_path / 'other.csv', np.loadtxt(first, delimiter=',', skiprows=1),
               delimiter=',', header=header, comments='', fmt='%.10g')
    other = tmp_path / 'other.yaml'
    other.write_text(SETTINGS.format(name='other'))
    assert main(['validate', str(fitted), str(other)]) == ExitCode.NOT_COMMITTABLE
    assert 'not tried on data the fit has not seen' in capsys.readouterr().out
    for path in fitted.glob('*_other.*'):
        path.unlink()


def test_export_writes_urdf_and_yaml(fitted, tmp_path, capsys):
    urdf, yaml = tmp_path / 'out.urdf', tmp_path / 'out.yaml'
    assert main(['export', str(fitted), '-o', str(urdf), '--yaml', str(yaml)]) == ExitCode.OK
    assert urdf.read_bytes() == (fitted / 'identified.urdf').read_bytes()
    assert 'swing.torque_offset' in yaml.read_text()
    assert 'no place' in capsys.readouterr().out


def test_a_urdf_is_not_written_under_the_name_of_an_mjcf(fitted, tmp_path, capsys):
    assert main(['export', str(fitted), '-o', str(tmp_path / 'out.xml')]) == ExitCode.BAD_INPUT
    assert f'--mjcf {tmp_path / "out.xml"}' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_model_shows_joints_bodies_and_base_parameters(recordings, capsys):
    assert main(['model', str(recordings[0].parent / 'robot.urdf'), '--equations']) == ExitCode.OK
    text = capsys.readouterr().out
    assert 'swing' in text and 'prismatic' in text
    assert 'Base parameters' in text
    assert 'upper.inertia_yy' in text


def test_model_locks_joints(recordings, capsys):
    code = main(['model', str(recordings[0].parent / 'robot.urdf'), '--lock', 'slide=0.1'])
    assert code == ExitCode.OK
    assert '1 joints, 1 moving bodies' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['fit', 'nowhere.yaml'], 'nowhere.yaml'),
        (['model', 'nowhere.urdf'], 'nowhere.urdf'),
        (['export', 'nowhere', '-o', 'x.urdf'], 'nowhere'),
        (['validate', 'nowhere', 'x.yaml'], 'nowhere'),
        (['payload', 'nowhere.yaml', '--empty', 'x.yaml'], 'nowhere.yaml'),
    ],
)
def test_a_missing_file_is_one_clear_line(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == ExitCode.BAD_INPUT
    error = capsys.readouterr().err
    assert error.count('\n') == 1
    assert error.startswith(f'sysid {arguments[0]}: ')
    assert words in error


def test_a_misspelt_key_names_the_nearest_known_one(recordings, tmp_path, capsys):
    settings = tmp_path / 'settings.yaml'
    settings.write_text(recordings[0].read_text().replace('joints:', 'jonts:'))
    assert main(['fit', str(settings)]) == ExitCode.BAD_INPUT
    assert "Did you mean 'joints'" in capsys.readouterr().err


def test_an_unknown_estimator_is_refused_before_any_work(recordings, tmp_path, capsys):
    run = tmp_path / 'run'
    assert main(['fit', str(recordings[0]), '--estimator', 'lmy', '-o', str(run)]) == 2
    assert "Did you mean 'lmi'" in capsys.readouterr().err
    assert not run.exists()


def test_a_folder_that_holds_something_else_is_left_alone(recordings, tmp_path, capsys):
    (tmp_path / 'thesis.tex').write_text('years of work')
    assert main(['fit', str(recordings[0]), '-o', str(tmp_path)]) == ExitCode.BAD_INPUT
    assert (tmp_path / 'thesis.tex').read_text() == 'years of work'
    assert 'holds something else' in capsys.readouterr().err


def test_a_holdout_that_is_no_fraction_is_refused(recordings, tmp_path, capsys):
    arguments = ['fit', str(recordings[0]), '--holdout', '1.5', '-o', str(tmp_path / 'run')]
    assert main(arguments) == ExitCode.BAD_INPUT
    assert '--holdout' in capsys.readouterr().err


def test_the_command_runs_as_a_process_of_its_own(recordings):
    done = subprocess.run(
        [sys.executable, '-m', 'sysid_ros.cli.main', 'model',
         str(recordings[0].parent / 'robot.urdf')],
        capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert 'two_joints' in done.stdout


@pytest.mark.slow
def test_the_simulated_demo_ends_with_a_committable_model(tmp_path, capsys):
    pytest.importorskip('mujoco')
    assert main(['demo', '--recorded', 'simulated', '-o', str(tmp_path)]) == ExitCode.OK
    assert 'VERDICT: committable' in capsys.readouterr().out
    estimate = json.loads((tmp_path / 'run' / 'estimate.json').read_text())
    assert estimate['residuals']['relative_error'] < 0.015


def test_an_effort_of_the_wrong_sign_is_refused_before_the_fit(recordings, tmp_path, capsys):
    settings = recordings[0].parent / 'wrong_sign.yaml'
    settings.write_text(recordings[0].read_text().replace(
        'columns: [f1, f2],', 'columns: [f1, f2], sign: [-1, -1],'
    ))
    assert main(['fit', str(settings), '-o', str(tmp_path / 'run')]) == ExitCode.BAD_INPUT
    assert 'sign' in capsys.readouterr().err


def test_the_summary_says_what_the_data_is_like(fitted):
    assert 'Data\n  15 s in 1 segment, recorded at 100 Hz' in (fitted / 'summary.txt').read_text()


def test_a_misspelt_verb_is_answered_with_all_there_are(capsys):
    assert main(['fti']) == ExitCode.BAD_INPUT
    told = capsys.readouterr().err
    assert all(verb in told for verb in ('model', 'excite', 'fit', 'payload', 'export'))
