"""``sysid fit`` of several recordings of a robot, with the same parameters."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

from support import trajectory_problems as made
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.recording.bag.write import write_bag

ROBOT = """
robot:
  urdf: pendulum.urdf
  terms: {viscous_friction: all, coulomb_friction: all, coulomb_smoothing: 0.05}
"""
PROCESSING = """
processing:
  position_filter: {cutoff: 10}
"""
FIT = """
fit:
  estimator: collocation
"""
RECORDING = """
recording:
  format: csv
  joints: [swing]
  time: {column: t}
  file: %s.csv
  position: {columns: [q]}
  effort: {columns: [tau]}
"""
NAMES = ('rod.first_moment_z', 'rod.inertia_yy', 'swing.viscous_friction')
TRUTH = (-0.1, 0.024, 0.01)


def driven(seed, period=0.01):
    """Four seconds of a pendulum that is driven, another motion for each seed."""
    model, rng = made.model_of(made.PENDULUM), np.random.default_rng(seed)
    t = period * np.arange(round(4.0 / period) + 1)
    torque = (0.5 * np.sin((4.0 + seed) * t) + 0.3 * np.sin((10.0 + seed) * t))[:, None]
    q, v = made.simulated(model, model.parameters.values, t, torque, np.array([[0.5], [0.0]]))
    return t, q + 1e-3 * rng.normal(size=q.shape), v, torque


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Recordings one to three, the third at half the rate, and a wrong description."""
    folder = tmp_path_factory.mktemp('several')
    wrong = made.PENDULUM.replace('xyz="0 0 -0.2"', 'xyz="0 0 -0.24"').replace(
        'damping="0.01"', 'damping="0.03"')
    (folder / 'pendulum.urdf').write_text(wrong)
    for seed, name in enumerate(('one', 'two', 'three')):
        t, q, v, torque = driven(seed, 0.02 if name == 'three' else 0.01)
        np.savetxt(folder / f'{name}.csv', np.column_stack([t, q, torque]), delimiter=',',
                   header='t,q,tau', comments='')
        (folder / f'{name}.yaml').write_text(RECORDING % name + PROCESSING)
        write_bag(folder / name, t, ['swing'], q, v, torque)
    (folder / 'first.yaml').write_text(ROBOT + RECORDING % 'one' + PROCESSING + FIT)
    (folder / 'robot.yaml').write_text(ROBOT + PROCESSING + FIT)
    return folder


def fit(folder, run, *arguments):
    """The exit code of a fit of files in the folder."""
    return main(['fit', *(
        str(folder / argument) if (folder / argument).exists() else argument
        for argument in arguments), '-o', str(run)])


def fitted(run):
    """Values and standard deviations of the three parameters, and the whole estimate."""
    estimate = json.loads((run / 'estimate.json').read_text())
    names = estimate['parameters']['names']
    index = [names.index(name) for name in NAMES]
    values = np.array(estimate['parameters']['values'])[index]
    deviations = np.array([estimate['standard_deviation'][k] for k in index], dtype=float)
    return values, deviations, estimate


@pytest.mark.slow
@pytest.mark.parametrize('estimator', ['collocation', 'shooting', 'variational', 'graph'])
def test_two_recordings_tell_more_than_one(folder, tmp_path, capsys, estimator):
    deviations = []
    for sources in (['first.yaml'], ['first.yaml', 'two.yaml']):
        run = tmp_path / f'run{len(sources)}'
        code = fit(folder, run, *sources, '--holdout', '0.3', '--estimator', estimator, '-v')
        assert code == ExitCode.OK
        values, deviation, estimate = fitted(run)
        deviations.append(deviation)
        assert (np.abs(values - TRUTH) < 4.0 * deviation).all()
    # Twice the data; single deviations scatter, being told from correlated residuals themselves.
    assert np.prod(deviations[1]) < 0.8 * np.prod(deviations[0])
    # The last part of each was held back.
    assert sum(estimate['residuals']['rows']) < 0.75 * 2 * 401
    assert len(estimate['provenance']['sha256'].split(', ')) == 2
    assert 'Recording 2 of 2' in capsys.readouterr().out
    assert (run / 'readings.png').stat().st_size > 10_000


def test_regression_takes_several_recordings_too(folder, tmp_path):
    code = fit(folder, tmp_path / 'run', 'first.yaml', 'two.yaml', '--holdout', '0.3',
               '--estimator', 'entropic')
    assert code == ExitCode.OK
    values, _, estimate = fitted(tmp_path / 'run')
    np.testing.assert_allclose(values, TRUTH, rtol=0.05)
    # Beside the intervals of the noise stand those between the recordings.
    assert estimate['between_recordings']['recordings'] == 2
    text = (tmp_path / 'run' / 'summary.txt').read_text()
    assert '± between' in text
    assert '2 recordings tell that roughly' in text
    widths = yaml.safe_load((tmp_path / 'run' / 'identified.yaml').read_text())['intervals_95']
    assert set(widths) == {'noise', 'between_recordings'}
    k = estimate['parameters']['names'].index('swing.viscous_friction')
    assert widths['between_recordings']['swing.viscous_friction'] == pytest.approx(
        12.706 * estimate['between_recordings']['standard_deviation'][k], rel=1e-4)


@pytest.mark.slow
def test_a_run_of_several_recordings_can_be_repeated_from_its_folder(folder, tmp_path):
    once, again = tmp_path / 'once', tmp_path / 'again'
    assert fit(folder, once, 'first.yaml', 'two.yaml', '--holdout', '0.3') == ExitCode.OK
    kept = [once / 'settings.yaml', once / 'settings_2.yaml']
    assert fit(folder, again, *map(str, kept), '--holdout', '0.3') == ExitCode.OK
    assert fitted(again)[2]['parameters'] == fitted(once)[2]['parameters']
    # Settings of more recordings than there are now would be a trap.
    assert fit(folder, once, 'first.yaml', '--holdout', '0.3') == ExitCode.OK
    assert not (once / 'settings_2.yaml').exists()


def test_bags_are_fitted_together_by_the_settings_that_name_their_robot(folder, tmp_path):
    code = fit(folder, tmp_path / 'run', 'one', 'two', '--settings', str(folder / 'robot.yaml'),
               '--validate', 'three')
    assert code == ExitCode.OK
    values, deviations, _ = fitted(tmp_path / 'run')
    assert (np.abs(values - TRUTH) < 4.0 * deviations).all()


def test_recordings_of_different_rates_have_rows_at_the_fastest(folder, tmp_path, capsys):
    code = fit(folder, tmp_path / 'run', 'first.yaml', 'three.yaml', '--holdout', '0.3')
    assert code == ExitCode.OK
    values, deviations, _ = fitted(tmp_path / 'run')
    assert (np.abs(values - TRUTH) < 4.0 * deviations).all()
    # Again from its folder, whose settings leave nothing to be chosen.
    kept = [str(tmp_path / 'run' / name) for name in ('settings.yaml', 'settings_2.yaml')]
    assert fit(folder, tmp_path / 'again', *kept, '--holdout', '0.3') == ExitCode.OK
    np.testing.assert_array_equal(fitted(tmp_path / 'again')[0], values)
    for name in ('first', 'three'):
        text = (folder / f'{name}.yaml').read_text()
        (folder / f'{name}_plain.yaml').write_text(f'automatic: false\n{text}')
    capsys.readouterr()
    code = fit(folder, tmp_path / 'other', 'first_plain.yaml', 'three_plain.yaml')
    assert code == ExitCode.BAD_INPUT
    assert 'processing.rate' in capsys.readouterr().err


@pytest.mark.slow
def test_a_recording_that_was_fitted_with_others_is_not_unseen(folder, tmp_path, capsys):
    run = tmp_path / 'run'
    fit(folder, run, 'first.yaml', 'two.yaml', '--holdout', '0.3')
    for name, code in (('two', ExitCode.NOT_COMMITTABLE), ('three', ExitCode.OK)):
        assert main(['validate', str(run), str(folder / f'{name}.yaml')]) == code
    assert 'not tried on data the fit has not seen' in capsys.readouterr().out


def test_a_recording_that_is_given_twice_is_refused(folder, tmp_path, capsys):
    assert fit(folder, tmp_path / 'run', 'first.yaml', 'one.yaml') == ExitCode.BAD_INPUT
    assert 'given twice' in capsys.readouterr().err


def test_a_bag_too_large_for_memory_is_fitted_alone(folder, tmp_path, capsys):
    settings = folder / 'small.yaml'
    settings.write_text(
        ROBOT + PROCESSING + FIT + 'recording: {memory_limit: 0.01, format: rosbag, file: one}\n')
    code = fit(folder, tmp_path / 'run', 'one', 'two', '--settings', str(settings),
               '--estimator', 'wls')
    assert code == ExitCode.BAD_INPUT
    assert 'fitted alone' in capsys.readouterr().err


def test_another_recording_that_does_not_exist_is_named(folder, tmp_path, capsys):
    assert fit(folder, tmp_path / 'run', 'first.yaml', 'nothing.yaml') == ExitCode.BAD_INPUT
    assert 'nothing.yaml' in capsys.readouterr().err
