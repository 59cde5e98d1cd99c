"""``sysid fit`` with a gyroscope, an accelerometer and a tracker on a link, as MuJoCo's measure."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

from support import sensed_arm
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main

pytest.importorskip('mujoco')
# Coarse encoders in [rad] beside good sensors on the forearm, standard deviations.
ENCODER, NOISE = 2e-3, {'gyroscope': 5e-3, 'accelerometer': 5e-2, 'position': 5e-4}
SETTINGS = {
    'robot': {'urdf': 'arm.urdf', 'terms': {'coulomb_friction': [], 'torque_offset': []}},
    'recording': {
        'format': 'csv', 'file': 'arm.csv', 'joints': ['shoulder', 'elbow'],
        'time': {'column': 't'}, 'position': {'columns': ['q0', 'q1']},
        'effort': {'columns': ['f0', 'f1']}},
    'fit': {
        'estimator': 'collocation', 'trajectory': {'step': 0.01},
        # What motion about two axes tells beside these is held, so that few are left.
        'fixed': ['*.mass', '*.first_moment_x', '*.first_moment_y', '*.inertia_?y',
                  '*.inertia_?z', 'upper.inertia_xx']},
}


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """A recording of an arm, and a description of it with other friction."""
    folder, random = tmp_path_factory.mktemp('sensed'), np.random.default_rng(0)
    sensed = sensed_arm.simulated(20.0)
    columns = {'t': sensed.t[:, None], 'q': sensed.q + ENCODER * random.normal(
        size=sensed.q.shape), 'f': sensed.torque}
    for kind, noise in NOISE.items():
        values = getattr(sensed, kind)
        columns[kind[0]] = values + noise * random.normal(size=values.shape)
    header = ['t'] + [
        f'{name}{k}' for name in ('q', 'f', 'g', 'a', 'p')
        for k in range(columns[name].shape[1])]
    np.savetxt(folder / 'arm.csv', np.hstack(list(columns.values())), delimiter=',',
               header=','.join(header), comments='')
    (folder / 'arm.urdf').write_text(sensed_arm.URDF.replace(
        'damping="0.02"', 'damping="0.05"').replace('damping="0.01"', 'damping="0.03"'))
    sensors = {
        kind: {'kind': kind, 'link': 'fore', 'origin': list(sensed_arm.PLACE),
               'rpy': list(sensed_arm.TURN), 'columns': [f'{kind[0]}{k}' for k in range(3)]}
        for kind in NOISE}
    with_sensors = SETTINGS | {'recording': SETTINGS['recording'] | {'sensors': sensors}}
    for name, settings in (('encoders', SETTINGS), ('sensors', with_sensors)):
        (folder / f'{name}.yaml').write_text(yaml.safe_dump(settings))
    return folder


def fitted(folder, name):
    """Values and standard deviations of a fit."""
    run = folder / f'run_{name}'
    code = main(['fit', str(folder / f'{name}.yaml'), '-o', str(run), '--holdout', '0.3'])
    assert code == ExitCode.OK, (run / 'summary.txt').read_text()
    estimate = json.loads((run / 'estimate.json').read_text())
    assert estimate['status'] == 'CONVERGED'
    assert (run / 'readings.png').stat().st_size > 10_000
    names = estimate['parameters']['names']
    return (dict(zip(names, estimate['parameters']['values'], strict=True)),
            dict(zip(names, estimate['standard_deviation'], strict=True)))


@pytest.mark.slow
def test_sensors_on_the_forearm_make_up_for_coarse_encoders(folder):
    truth, name = -0.06, 'fore.first_moment_z'
    (coarse, wide), (found, narrow) = fitted(folder, 'encoders'), fitted(folder, 'sensors')
    assert narrow[name] < 0.6 * wide[name]
    assert abs(found[name] - truth) < 4.0 * narrow[name]
    assert abs(coarse[name] - truth) < 4.0 * wide[name]


def test_an_estimator_that_seeks_no_motion_refuses_them(folder, capsys):
    code = main([
        'fit', str(folder / 'sensors.yaml'), '--estimator', 'wls', '--holdout', '0.3', '-o',
        str(folder / 'refused')])
    assert code == ExitCode.BAD_INPUT
    told = capsys.readouterr().err
    assert 'accelerometer' in told
    assert '--estimator collocation' in told
