"""``sysid fit --estimator collocation|shooting|variational``: from settings to a run folder."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from support import trajectory_problems as made
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main

SETTINGS = """
robot:
  urdf: pendulum.urdf
  terms: {viscous_friction: all, coulomb_friction: all, coulomb_smoothing: 0.05}
recording:
  format: csv
  joints: [swing]
  time: {rate: 100.0}
  position: {file: recording.csv, columns: [q]}
  effort: {file: recording.csv, columns: [tau]}
processing:
  position_filter: {cutoff: 10}
fit:
  estimator: collocation
"""


@pytest.fixture
def folder(tmp_path):
    """A pendulum that is driven, its recording, and a description with the wrong lever."""
    model = made.model_of(made.PENDULUM)
    t = 0.01 * np.arange(601)
    torque = (0.5 * np.sin(5.0 * t) + 0.3 * np.sin(11.0 * t))[:, None]
    q, _ = made.simulated(model, model.parameters.values, t, torque, np.array([[0.5], [0.0]]))
    q = q + 1e-3 * np.random.default_rng(2).normal(size=q.shape)
    np.savetxt(tmp_path / 'recording.csv', np.hstack([q, torque]), delimiter=',', header='q,tau',
               comments='')
    wrong = made.PENDULUM.replace('xyz="0 0 -0.2"', 'xyz="0 0 -0.24"').replace(
        'damping="0.01"', 'damping="0.03"')
    (tmp_path / 'pendulum.urdf').write_text(wrong)
    (tmp_path / 'fit.yaml').write_text(SETTINGS)
    return tmp_path


def fit(folder, *options):
    """The exit code of a fit into ``run``."""
    return main(['fit', str(folder / 'fit.yaml'), '-o', str(folder / 'run'), *options])


@pytest.mark.parametrize('estimator', ['collocation', 'shooting', 'variational', 'graph'])
def test_a_recording_is_fitted_by_states_and_parameters(folder, capsys, estimator):
    assert fit(folder, '--holdout', '0.3', '--estimator', estimator) == 0
    assert 'VERDICT: committable' in capsys.readouterr().out
    estimate = json.loads((folder / 'run' / 'estimate.json').read_text())
    assert estimate['estimator'] == estimator and estimate['status'] == 'CONVERGED'
    names = estimate['parameters']['names']
    values = dict(zip(names, estimate['parameters']['values'], strict=True))
    deviations = dict(zip(names, estimate['standard_deviation'], strict=True))
    for name, truth in (
        ('rod.first_moment_z', -0.1), ('rod.inertia_yy', 0.024),
        ('swing.viscous_friction', 0.01),
    ):
        assert abs(values[name] - truth) < 4.0 * deviations[name] < 0.1 * abs(truth)
    # Only the part that was not held back.
    assert sum(estimate['residuals']['rows']) < 0.7 * 601
    assert (folder / 'run' / 'identified.urdf').is_file()
    assert (folder / 'run' / 'readings.png').stat().st_size > 10_000
    with (folder / 'run' / 'iterations.csv').open(newline='') as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == estimate['iterations'] > 0
    assert {'stage', 'iteration', 'cost', 'step', 'damping', 'gradient', 'seconds', 'accepted'} == (
        set(lines[0]))
    report = json.loads((folder / 'run' / 'report.json').read_text())
    shown, = (each for each in report['sections'] if each['section'] == 'iterations')
    assert sum(len(stage['cost']) for stage in shown['stages']) == len(lines)
    assert 'iterations-cost' in (folder / 'run' / 'report.html').read_text()


def test_settings_of_the_sections_arrive(folder, capsys):
    (folder / 'fit.yaml').write_text(SETTINGS + (
        '  trajectory: {step: 0.02, position_noise: 0.001, huber: 3.0}\n'
        '  collocation: {scheme: trapezoidal, process_noise: 0.1}\n'))
    assert fit(folder, '--holdout', '0.3') in (0, 1)
    old = ('fit: {trajectory: {huber: 3.0}} is an old spelling, which is read for now; '
           'write fit: {collocation: {huber: 3.0}}.')
    assert ' '.join(capsys.readouterr().out.split()).count(old) == 1
    estimate = json.loads((folder / 'run' / 'estimate.json').read_text())
    assert estimate['settings'].pop('plausibility')['mass_factor'] == 3.0
    assert estimate['settings'] == {
        'scheme': 'trapezoidal', 'process_noise': 0.1, 'huber': 3.0, 'prior_strength': 0.1,
        'estimate_noise': False, 'max_iterations': 600, 'tolerance': 1e-10,
        'parameter_tolerance': 0.01, 'horizon': None}
    assert estimate['provenance']['step'] == 0.02


def test_levels_of_noise_are_found_and_told(folder, capsys):
    (folder / 'fit.yaml').write_text(SETTINGS + (
        '  collocation: {process_noise: {swing: 0.1}, estimate_noise: true}\n'))
    assert fit(folder, '--holdout', '0.3') == 0
    text = ' '.join(capsys.readouterr().out.split())
    assert 'Noise of encoder of swing: 0.00' in text and 'Process noise: swing' in text


@pytest.mark.parametrize(('section', 'options', 'words'), [
    ('', ['--folds', '3'], '--holdout'),
    ('  trajectory: {scheme: euler}\n', [], 'hermite_simpson'),
    ('  trajectory: {steps: 0.01}\n', [], "'step'"),
    ('  trajectory: {step: 1.0e-6}\n', [], 'the nodes are far closer than the samples'),
    ('  trajectory: {substeps: 3}\n', [], 'fit: {shooting: {substeps: 3}}'),
    ('  reference_cutoff: 5.0\n', [], 'reference_cutoff'),
    ('  collocation: {substeps: 3}\n', [], 'fit.collocation.substeps'),
    ('  friction_selection: {}\n', [], 'chosen by regression'),
    ('', ['--estimator', 'colocation'], 'collocation'),
])
def test_what_does_not_go_together_is_said(folder, capsys, section, options, words):
    (folder / 'fit.yaml').write_text(SETTINGS + section)
    assert fit(folder, *options) not in (0, 1)
    assert words in capsys.readouterr().err


def test_dry_friction_that_jumps_is_refused(folder, capsys):
    text = SETTINGS.replace(', coulomb_smoothing: 0.05', ', coulomb_smoothing: 0')
    (folder / 'fit.yaml').write_text(text)
    assert fit(folder) not in (0, 1)
    assert 'coulomb_smoothing' in capsys.readouterr().err


def test_a_fit_that_ends_early_says_where_and_what_to_change(folder, capsys):
    (folder / 'fit.yaml').write_text(SETTINGS + '  shooting: {max_iterations: 2}\n')
    assert fit(folder, '--holdout', '0.3', '--estimator', 'shooting') == ExitCode.NOT_CONVERGED
    said = ' '.join(capsys.readouterr().out.split())
    assert 'NOT committable' in said and 'fit: {shooting: {max_iterations: 4}}' in said
    notes = json.loads((folder / 'run' / 'estimate.json').read_text())['notes']
    assert any('swing fits worst, from ' in note for note in notes)
    tried, = (note for note in notes if note.startswith('Tried one after another: '))
    assert 'pieces of 0.3 s (2 steps' in tried
    assert len((folder / 'run' / 'iterations.csv').read_text().splitlines()) == 3
