"""``sysid fit``: the example of the double pendulum, on two free swings of a true one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from support import trajectory_problems as made
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.mechanics.tree.acceleration import accelerations

TESTS = Path(__file__).parents[1]
EXAMPLE = TESTS.parent / 'examples' / 'double_pendulum'
# What the true pendulum has in place of what is described, and the noise of its encoders in [rad].
TRUE = (
    ('xyz="0 0 -0.10"', 'xyz="0 0 -0.112"'), ('iyy="9e-4"', 'iyy="1.1e-3"'),
    ('xyz="0 0 -0.12"', 'xyz="0 0 -0.105"'), ('iyy="7e-4"', 'iyy="8e-4"'),
    ('damping="1e-3"', 'damping="4e-4"'), ('friction="1e-3"', 'friction="4e-4"'))
SIGMA = 5e-4


def swing(model, start):
    """Eight seconds at 200 Hz, by SciPy's eighth-order method at 1e-10."""
    still = np.zeros((1, 2))

    def slope(_, x):
        a = accelerations(model, model.parameters.values, x[None, :2], x[None, 2:], still)
        return np.concatenate([x[2:], a[0]])

    t = 0.005 * np.arange(1601)
    path = solve_ivp(slope, (0.0, t[-1]), start, method='DOP853', t_eval=t, rtol=1e-10, atol=1e-12)
    return t, path.y[:2].T


@pytest.fixture(scope='module')
def pendulum(tmp_path_factory):
    """The example with recordings, and the true model."""
    folder, rng = tmp_path_factory.mktemp('pendulum'), np.random.default_rng(4)
    for name in ('double_pendulum.urdf', 'fit.yaml', 'second.yaml'):
        shutil.copy(EXAMPLE / name, folder)
    text = (EXAMPLE / 'double_pendulum.urdf').read_text()
    for described, true in TRUE:
        assert described in text
        text = text.replace(described, true)
    model = made.model_of(text)
    for name, start in (('first', [1.6, 0.4, 0.0, 0.0]), ('second', [-1.2, 1.5, 0.0, 0.0])):
        t, q = swing(model, start)
        np.savetxt(folder / f'{name}.csv', np.column_stack([t, q + SIGMA * rng.normal(
            size=q.shape)]), delimiter=',', comments='', header='t,q_shoulder,q_elbow')
    return folder, model


@pytest.mark.slow
@pytest.mark.parametrize('estimator', ['collocation', 'shooting'])
def test_the_example_finds_the_pendulum_but_for_its_scale(pendulum, tmp_path, capsys, estimator):
    folder, model = pendulum
    code = main(['fit', str(folder / 'fit.yaml'), str(folder / 'second.yaml'), '-o',
                 str(tmp_path), '--holdout', '0.3', '--estimator', estimator])
    text = ' '.join(capsys.readouterr().out.split())
    assert code == ExitCode.OK
    assert 'was held, since this motion tells only' in text
    estimate = json.loads((tmp_path / 'estimate.json').read_text())
    assert estimate['estimator'] == estimator and estimate['status'] == 'CONVERGED'
    names, values = (estimate['parameters'][key] for key in ('names', 'values'))
    found = dict(zip(names, values, strict=True))
    true = dict(zip(model.parameters.names, model.parameters.values, strict=True))
    # Ratios do not depend on the scale that is held.
    for name, within in (
        ('lower.first_moment_z', 0.01), ('elbow.viscous_friction', 0.05),
        ('shoulder.viscous_friction', 0.1),
    ):
        ratio, right = (known[name] / known['lower.inertia_yy'] for known in (found, true))
        assert ratio == pytest.approx(right, rel=within)


def test_the_fit_and_the_simulation_of_what_was_held_back_are_drawn(pendulum, tmp_path):
    folder, _ = pendulum
    main(['fit', str(folder / 'fit.yaml'), '-o', str(tmp_path), '--holdout', '0.3'])
    for name in ('readings', 'simulation', 'torque_held_out'):
        assert (tmp_path / f'{name}.png').stat().st_size > 20_000
    simulation = json.loads((tmp_path / 'evaluation.json').read_text())['simulation']
    # Half a second from differentiated starts: far nearer than the description's motion.
    for mine, before in zip(
        simulation['candidate']['position_rms'], simulation['prior']['position_rms'], strict=True
    ):
        assert mine < 0.2 * before
