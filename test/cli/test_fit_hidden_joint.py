"""``sysid fit`` of a cart whose pendulum has a spring and no encoder."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

from support import cart_with_pendulum as cart
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main

STIFFNESS = 0.9
SETTINGS = {
    'robot': {'urdf': 'cart.urdf', 'terms': {'stiffness': ['swing'], 'coulomb_friction': []}},
    'recording': {
        'format': 'npz', 'file': '0.npz', 'joints': ['slide'], 'time': {'array': 't'},
        'position': {'array': 'q'}, 'effort': {'array': 'force'}, 'unpowered': ['swing']},
    'fit': {
        'estimator': 'shooting', 'trajectory': {'observed': ['slide'], 'step': 0.01},
        'prior': {'swing.stiffness': 0.7}},
}


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Two recordings, and a description whose masses are a fifth too large."""
    folder, random = tmp_path_factory.mktemp('cart'), np.random.default_rng(2)
    (folder / 'cart.urdf').write_text(cart.urdf(1.2))
    for k, start in enumerate(((0.0, 0.0), (0.1, 0.5))):
        motion = cart.motion(start, seed=k, stiffness=STIFFNESS)
        q = motion.q[:, :1] + 2e-4 * random.standard_normal((len(motion.t), 1))
        np.savez(folder / f'{k}.npz', t=motion.t, q=q, force=motion.force[:, None])
        recording = SETTINGS['recording'] | {'file': f'{k}.npz'}
        (folder / f'{k}.yaml').write_text(
            yaml.safe_dump(SETTINGS | {'recording': recording}))
    return folder


@pytest.mark.slow
def test_spring_and_masses_are_found_and_committable(folder, tmp_path, capsys):
    run = tmp_path / 'run'
    code = main(['fit', str(folder / '0.yaml'), str(folder / '1.yaml'), '--holdout', '0.3', '-v',
                 '-o', str(run)])
    said = capsys.readouterr().out
    assert code == ExitCode.OK, said
    estimate = json.loads((run / 'estimate.json').read_text())
    found = dict(zip(
        estimate['parameters']['names'], estimate['parameters']['values'], strict=True))
    assert found['swing.stiffness'] == pytest.approx(STIFFNESS, rel=0.1)
    assert found['cart.mass'] + found['pendulum.mass'] == pytest.approx(
        cart.CART + cart.PENDULUM, rel=0.02)
    assert 'swing moves as nothing measured' in ' '.join(said.split())


def refused(folder, settings, run, capsys):
    """What is said of settings that cannot be used."""
    (folder / 'other.yaml').write_text(yaml.safe_dump(settings))
    assert main(['fit', str(folder / 'other.yaml'), '-o', str(run)]) == ExitCode.BAD_INPUT
    return ' '.join(capsys.readouterr().err.split())


def test_regression_needs_all_positions(folder, tmp_path, capsys):
    fit = {'estimator': 'entropic', 'trajectory': {'observed': ['slide']}}
    said = refused(folder, SETTINGS | {'fit': fit}, tmp_path / 'no', capsys)
    assert 'fit: {estimator: shooting}' in said


def test_a_joint_without_positions_is_named_with_the_line_that_seeks_them(
    folder, tmp_path, capsys
):
    recording = {
        key: value for key, value in SETTINGS['recording'].items() if key != 'unpowered'}
    settings = SETTINGS | {'fit': {'estimator': 'shooting'}, 'recording': recording}
    said = refused(folder, settings, tmp_path / 'no', capsys)
    assert 'fit: {estimator: shooting, trajectory: {observed: [slide]}}' in said


@pytest.mark.parametrize(('prior', 'words'), [
    ({'swing.stifness': 0.7}, 'swing.stiffness'),
    ({'cart.mass': 1.0}, 'masses and inertias are those of the description'),
    ({'swing.stiffness': -0.7}, 'not a value that the parameter may have')])
def test_first_guesses_that_cannot_be_are_refused(folder, tmp_path, capsys, prior, words):
    settings = SETTINGS | {'fit': SETTINGS['fit'] | {'prior': prior}}
    assert words in refused(folder, settings, tmp_path / 'no', capsys)
