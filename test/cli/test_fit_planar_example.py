"""``sysid fit`` of a planar mechanism: the example of the four-bar linkage."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from support import four_bar_recordings as recordings
from support import four_bar_reference as reference
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.robot.model import RobotModel

EXAMPLE = Path(__file__).parents[2] / 'examples' / 'four_bar'


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """A run of the example, in a copy of its folder."""
    folder = shutil.copytree(EXAMPLE, tmp_path_factory.mktemp('four_bar') / 'example')
    code = main([
        'fit', str(folder / 'fit.yaml'), str(folder / 'second.yaml'), '-o', str(folder / 'run'),
        '--holdout', '0.3'])
    assert code == ExitCode.OK, (folder / 'run' / 'summary.txt').read_text()
    return folder


def crank_torque(mechanism, motion):
    """Torque of the crank by the equation that was reduced by hand, of uniform rods or not."""
    theta, rate, acceleration = motion
    bar = reference.FourBar(gravity=9.80665)
    (first, second), (u, w), (du, dw) = bar.points(theta)
    starts = {'crank': (np.zeros_like(first), 0.0 * u, 0.0 * du, first, u, du),
              'coupler': (first, u, du, second, w, dw),
              'rocker': (second, w, dw, np.broadcast_to(reference.PIVOT, second.shape), 0.0 * w,
                         0.0 * dw)}
    total = mechanism['angles']['theta'].get('viscous_friction', 0.0) * rate
    for name, (start, su, sdu, end, eu, edu) in starts.items():
        body = mechanism['bodies'][name]
        length = np.linalg.norm(end - start, axis=1)[:, None]
        x, y = body['center']

        def placed(along, start):
            way = along / length  # noqa: B023
            return start + x * way + y * np.stack([-way[:, 1], way[:, 0]], 1)  # noqa: B023

        speed, change = placed(eu - su, su), placed(edu - sdu, sdu)
        height = speed[:, 1]
        way, turn = end - start, eu - su
        spin = (way[:, 0] * turn[:, 1] - way[:, 1] * turn[:, 0]) / length[:, 0]**2
        curve = edu - sdu
        spin_rate = (way[:, 0] * curve[:, 1] - way[:, 1] * curve[:, 0]) / length[:, 0]**2
        about_centre = body['inertia'] - body['mass'] * (x * x + y * y)
        inertia = body['mass'] * np.sum(speed**2, 1) + about_centre * spin**2
        half = body['mass'] * np.sum(speed * change, 1) + about_centre * spin * spin_rate
        total = total + inertia * acceleration + half * rate**2 + body['mass'] * 9.80665 * height
    return total


@pytest.mark.slow
def test_the_recordings_are_those_of_a_simulation_that_nothing_of_the_package_is_used_for(
    tmp_path
):
    for number, name in ((1, 'first.csv'), (2, 'second.csv')):
        recordings.write_example(tmp_path / name, number)
        again, kept = (
            np.loadtxt(each / name, delimiter=',', skiprows=1) for each in (tmp_path, EXAMPLE))
        np.testing.assert_allclose(again, kept, atol=2e-4)
        assert (EXAMPLE / name).stat().st_size < 300_000


def test_the_identified_mechanism_has_the_torques_of_the_true_one(folder):
    rng = np.random.default_rng(0)
    motion = rng.uniform(-np.pi, np.pi, 500), *rng.normal(scale=(8.0, 20.0), size=(500, 2)).T
    truth = reference.FourBar(gravity=9.80665, friction=6.0).torque(*motion)
    found = yaml.safe_load((folder / 'run' / 'identified_mechanism.yaml').read_text())
    drawn = yaml.safe_load((folder / 'as_drawn.yaml').read_text())
    for name, body in drawn['bodies'].items():
        length = reference.LENGTHS[('crank', 'coupler', 'rocker').index(name)]
        body |= {'center': (length / 2, 0.0), 'inertia': body['mass'] * length**2 / 3}
    error, before = (
        np.linalg.norm(crank_torque(each, motion) - truth) / np.linalg.norm(truth)
        for each in (found, drawn))
    assert error < 0.01 and before > 0.08
    assert found['angles']['theta']['viscous_friction'] == pytest.approx(6.0, rel=0.02)


def test_the_run_is_one_like_any_other(folder):
    run = folder / 'run'
    estimate = json.loads((run / 'estimate.json').read_text())
    assert estimate['status'] == 'CONVERGED' and estimate['estimator'] == 'entropic'
    assert (run / 'report.html').stat().st_size > 10_000
    verdict = json.loads((run / 'verdict.json').read_text())
    assert verdict['committable']
    # Its file, kept in the run, is all that it takes to judge another recording by it.
    for name in ('as_drawn.yaml', 'fit.yaml'):
        (folder / name).rename(folder / f'moved_{name}')
    try:
        settings = yaml.safe_load((run / 'settings.yaml').read_text())
        assert settings['robot']['description'] == 'prior_mechanism.yaml'
        code = main(['validate', str(run), str(folder / 'second.yaml')])
        assert code in (ExitCode.OK, ExitCode.NOT_COMMITTABLE)
    finally:
        for name in ('as_drawn.yaml', 'fit.yaml'):
            (folder / f'moved_{name}').rename(folder / name)
    # The tree as a URDF, which other programs load; and what it does not hold is said.
    tree = RobotModel.from_urdf(run / 'identified.urdf')
    assert tree.joint_names == ('theta', 'coupler_joint', 'rocker_joint')
    assert 'nothing in a URDF closes its loops' in (run / 'summary.txt').read_text()


def test_a_mechanism_in_the_place_of_settings_is_called_so(capsys):
    assert main(['fit', str(EXAMPLE / 'as_drawn.yaml'), '--holdout', '0.3']) == ExitCode.BAD_INPUT
    told = capsys.readouterr().err
    assert 'found a planar mechanism' in told
    assert 'robot: {description: as_drawn.yaml}' in told


def test_the_check_of_a_model_says_what_follows(capsys):
    assert main(['model', str(EXAMPLE / 'as_drawn.yaml')]) == ExitCode.OK
    told = capsys.readouterr().out
    assert 'which move coupler_joint, rocker_joint' in told
