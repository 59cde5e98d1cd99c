"""``sysid fit`` of recordings in which nothing drives the robot: no effort, an honest scale."""

from __future__ import annotations

import json

import numpy as np
import pytest

from support import trajectory_problems as made
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.recording.bag.write import write_bag

SETTINGS = """
robot:
  urdf: pendulum.urdf
  terms: {viscous_friction: all, torque_offset: [], coulomb_friction: all, coulomb_smoothing: 0.05}
recording:
  format: csv
  joints: [swing]
  file: swing.csv
  time: {column: t}
  position: {columns: [q]}
  unpowered: [swing]
processing:
  position_filter: {cutoff: 10}
fit:
  estimator: collocation
"""
DRIVEN = """
recording:
  format: csv
  joints: [swing]
  file: driven.csv
  time: {column: t}
  position: {columns: [q]}
  effort: {columns: [tau]}
processing:
  position_filter: {cutoff: 10}
"""
# Of the true pendulum; the description's lever is a fifth too long, so its inertia is wrong, too.
LEVER, INERTIA, VISCOUS = -0.1, 0.024, 0.01
HELD = 0.004 + 0.5 * 0.24**2


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """A free swing, a driven motion, and a wrong description."""
    folder, rng = tmp_path_factory.mktemp('free'), np.random.default_rng(5)
    model, t = made.model_of(made.PENDULUM), 0.01 * np.arange(601)
    for name, amplitude, start in (('swing', 0.0, 2.5), ('driven', 1.0, 0.5)):
        torque = amplitude * (0.5 * np.sin(5.0 * t) + 0.3 * np.sin(11.0 * t))[:, None]
        q, v = made.simulated(
            model, model.parameters.values, t, torque, np.array([[start], [0.0]]))
        q = q + 1e-3 * rng.normal(size=q.shape)
        noise = 0.02 * rng.normal(size=q.shape)
        np.savetxt(folder / f'{name}.csv', np.column_stack([t, q, torque, noise]),
                   delimiter=',', header='t,q,tau,noise', comments='')
    write_bag(folder / 'bag', t, ['swing'], *(
        np.loadtxt(folder / 'swing.csv', delimiter=',', skiprows=1)[:, [k]] for k in (1, 3, 3)))
    wrong = made.PENDULUM.replace('xyz="0 0 -0.2"', 'xyz="0 0 -0.24"').replace(
        'damping="0.01"', 'damping="0.03"')
    (folder / 'pendulum.urdf').write_text(wrong)
    (folder / 'fit.yaml').write_text(SETTINGS)
    (folder / 'driven.yaml').write_text(DRIVEN)
    return folder


def fit(folder, run, *options, settings=None):
    """The exit code of a fit, with other settings in place of those of the folder."""
    file = folder / 'fit.yaml'
    if settings is not None:
        file = folder / 'other.yaml'
        file.write_text(settings)
    return main(['fit', str(file), *options, '-o', str(run)])


def fitted(run):
    """Values by name, and the whole estimate."""
    estimate = json.loads((run / 'estimate.json').read_text())
    parameters = estimate['parameters']
    return dict(zip(parameters['names'], parameters['values'], strict=True)), estimate


@pytest.mark.parametrize('estimator', ['collocation', 'shooting', 'variational', 'graph'])
def test_a_free_swing_is_fitted_without_any_effort(folder, tmp_path, capsys, estimator):
    code = fit(folder, tmp_path, '--holdout', '0.3', '--estimator', estimator)
    assert code == ExitCode.OK
    text = ' '.join(capsys.readouterr().out.split())
    # One parameter is held and named, with all that depends on it.
    assert 'rod.inertia_yy was held' in text and 'Nothing drove the robot' in text
    values, estimate = fitted(tmp_path)
    names = estimate['parameters']['names']
    assert values['rod.inertia_yy'] == pytest.approx(HELD, rel=1e-6)
    for name, truth, within in (
        ('rod.first_moment_z', LEVER, 2e-3), ('swing.viscous_friction', VISCOUS, 0.05)
    ):
        assert values[name] == pytest.approx(truth * HELD / INERTIA, rel=within)
        assert estimate['standard_deviation'][names.index(name)] is None
    assert (tmp_path / 'identified.urdf').is_file()
    # Judged by motion: the simulated one is far nearer than the prior's.
    simulation = json.loads((tmp_path / 'evaluation.json').read_text())['simulation']
    assert simulation['candidate']['position_rms'][0] < 0.1 * simulation['prior'][
        'position_rms'][0]
    assert (tmp_path / 'simulation.png').stat().st_size > 10_000


def test_that_nothing_drives_a_joint_may_be_said_once_for_all_recordings(folder, tmp_path):
    settings = SETTINGS.replace('  unpowered: [swing]\n', '').replace(
        'estimator: collocation', 'estimator: collocation\n  trajectory: {unpowered: [swing]}')
    assert fit(folder, tmp_path / 'other', '--holdout', '0.3', settings=settings) == ExitCode.OK
    assert fit(folder, tmp_path / 'one', '--holdout', '0.3') == ExitCode.OK
    assert fitted(tmp_path / 'other')[0] == fitted(tmp_path / 'one')[0]


def test_a_driven_recording_beside_it_tells_the_scale(folder, tmp_path, capsys):
    code = fit(folder, tmp_path, str(folder / 'driven.yaml'), '--holdout', '0.3')
    assert code == ExitCode.OK
    assert 'was held' not in capsys.readouterr().out
    values, estimate = fitted(tmp_path)
    names = estimate['parameters']['names']
    for name, truth in (
        ('rod.first_moment_z', LEVER), ('rod.inertia_yy', INERTIA),
        ('swing.viscous_friction', VISCOUS),
    ):
        deviation = estimate['standard_deviation'][names.index(name)]
        assert abs(values[name] - truth) < 4.0 * deviation < 0.1 * abs(truth)


def test_efforts_that_were_recorded_all_the_same_are_not_used(folder, tmp_path, capsys):
    settings = SETTINGS.replace(
        'unpowered: [swing]', 'unpowered: [swing]\n  effort: {columns: [noise]}')
    assert fit(folder, tmp_path / 'other', '--holdout', '0.3', settings=settings) == ExitCode.OK
    shown = ' '.join(capsys.readouterr().out.split())
    assert 'recorded efforts of swing are not used' in shown
    fit(folder, tmp_path / 'one', '--holdout', '0.3')
    assert fitted(tmp_path / 'other')[0] == fitted(tmp_path / 'one')[0]


def test_a_bag_of_a_free_swing(folder, tmp_path):
    settings = folder / 'bag.yaml'
    section = SETTINGS[:SETTINGS.index('recording:')]
    settings.write_text(
        section + SETTINGS[SETTINGS.index('processing:'):] + 'recording: {unpowered: [swing]}\n')
    code = main(['fit', str(folder / 'bag'), '--settings', str(settings), '--holdout', '0.3',
                 '-o', str(tmp_path)])
    assert code == ExitCode.OK
    assert fitted(tmp_path)[0]['rod.first_moment_z'] == pytest.approx(
        LEVER * HELD / INERTIA, rel=2e-3)


@pytest.mark.parametrize(('change', 'options', 'words'), [
    (('  unpowered: [swing]\n', ''), (), 'recording: {unpowered: [swing]}'),
    (('[swing]\nprocessing', '[swung]\nprocessing'), (), 'no position was recorded for swung'),
    (('', ''), ('--estimator', 'entropic'), 'collocation or shooting'),
    (('', ''), ('--estimator', 'all'), 'collocation or shooting'),
])
def test_what_cannot_be_fitted_without_torques_is_said(
    folder, tmp_path, capsys, change, options, words
):
    settings = SETTINGS.replace(*change) if change[0] else SETTINGS
    assert fit(folder, tmp_path, *options, settings=settings) == ExitCode.BAD_INPUT
    assert words in capsys.readouterr().err
