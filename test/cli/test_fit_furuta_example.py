"""``sysid fit --estimator discrete``: the example of the Furuta pendulum, on a true motion."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from support import furuta_truth as truth
from sysid_ros.cli.main import main

TESTS = Path(__file__).parents[1]
SECONDS, SIGMA = 6.0, 1e-3
DRY = (truth.Friction(viscous=1e-3, dry=2e-2), truth.Friction(viscous=1e-4, dry=2e-3))


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    """The run folder of a fit to a swing up with dry friction, and the machine that moved."""
    folder = tmp_path_factory.mktemp('furuta')
    for name in ('furuta.urdf', 'fit.yaml'):
        shutil.copy(TESTS.parent / 'examples' / 'furuta' / name, folder)
    plant = truth.Furuta(friction=DRY)
    motion = truth.swing_up(plant, SECONDS, limit=0.3, pumping=10.0)
    torque = np.column_stack([plant.gain * motion.u, np.zeros(len(motion.t))])
    table = np.column_stack([motion.t, motion.measured(SIGMA, 3), torque])[::5]
    np.savetxt(
        folder / 'recording.csv', table, delimiter=',', comments='',
        header='t,q_shoulder,q_elbow,tau_shoulder,tau_elbow')
    code = main(['fit', str(folder / 'fit.yaml'), '-o', str(folder / 'run'), '--holdout', '0.3'])
    return plant, folder / 'run', code


@pytest.mark.slow
def test_the_example_finds_inertias_and_dry_friction(run):
    plant, folder, code = run
    # The verdict is by torques of filtered samples, where a torque that jumps leaves its mark.
    assert code in (0, 1)
    estimate = json.loads((folder / 'estimate.json').read_text())
    assert estimate['estimator'] == 'discrete' and estimate['status'] == 'CONVERGED'
    names = estimate['parameters']['names']
    values = dict(zip(names, estimate['parameters']['values'], strict=True))
    deviations = dict(zip(names, estimate['standard_deviation'], strict=True))
    lever = plant.rod_mass * plant.rod_com
    assert values['rod.first_moment_z'] == pytest.approx(-lever, rel=0.03)
    moment = plant.rod_inertia[1] + lever * plant.rod_com
    assert values['rod.inertia_xx'] == pytest.approx(moment, rel=0.03)
    for name, friction in zip(('shoulder', 'elbow'), DRY, strict=True):
        dry = f'{name}.coulomb_friction'
        assert abs(values[dry] - friction.dry) < 4.0 * deviations[dry]
    # The description says 1e-4.
    assert values['shoulder.coulomb_friction'] == pytest.approx(DRY[0].dry, rel=0.3)


def test_readings_and_fit_are_drawn(run):
    _, folder, _ = run
    assert (folder / 'readings.png').stat().st_size > 10_000
    assert (folder / 'identified.urdf').is_file()
