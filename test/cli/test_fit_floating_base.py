"""A robot whose base floats goes through the commands as one that stands does."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from support.flying_robot import HAND_ORIGIN, HAND_RPY, flying_robot, pose
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.robot.floating_base import with_floating_base
from sysid_ros.robot.model import RobotModel


@pytest.fixture(scope='module')
def flying(tmp_path_factory):
    return flying_robot(tmp_path_factory.mktemp('flying'))


@pytest.fixture(scope='module')
def run(flying):
    """A fit with default settings but for plain friction."""
    path = flying.settings(robot={
        'urdf': 'robot.urdf', 'base': 'floating', 'terms': {'viscous_friction': 'all'}})
    folder = flying.folder / 'run'
    assert main(['fit', str(path), '--holdout', '0.3', '-o', str(folder)]) == ExitCode.OK
    return folder


@pytest.mark.slow
def test_base_and_joints_are_fitted_judged_and_may_be_committed(run, flying):
    evaluation = json.loads((run / 'evaluation.json').read_text())
    assert evaluation['committable'], evaluation
    assert evaluation['held_out']['relative_error'] < 0.01
    assert evaluation['held_out']['prior_relative_error'] > 0.05
    # The base follows its measured motion: its joints are not simulated.
    assert set(evaluation['simulation']['joints']) == set(flying.robot.joint_names[6:])
    assert evaluation['simulation']['candidate']['relative_to_coasting'] < 0.1


def test_the_exported_description_has_the_base_that_was_found(run, flying):
    described = RobotModel.from_urdf(flying.folder / 'robot.urdf')
    found = RobotModel.from_urdf(run / 'identified.urdf')
    total = sum(phi[0] for phi in flying.truth.reshape(-1, 10))
    masses = [
        robot.base_inertial[0] + robot.inertial_prior[:, 0].sum()
        for robot in (described, found)]
    assert abs(masses[1] / total - 1.0) < 1e-3 < abs(masses[0] / total - 1.0)
    floating = with_floating_base(found)
    estimate = json.loads((run / 'estimate.json').read_text())
    values = dict(zip(
        estimate['parameters']['names'], estimate['parameters']['values'], strict=True))
    assert floating.inertial_prior[0][0] == pytest.approx(values['link0.mass'], rel=1e-9)


def test_the_run_is_reported_and_validated_as_any_other(run, flying, capsys):
    text = (run / 'summary.txt').read_text()
    assert 'link0.force_x' in text and 'link0.moment_z' in text
    assert 'did not move' not in text and 'Weights and accelerations' not in text
    assert main(['report', str(run)]) == ExitCode.OK
    assert (run / 'report.html').stat().st_size > 100_000
    # Of motion that was fitted itself nothing follows, whatever it is called.
    other = flying.settings('other.yaml', processing={'trim': [8.0, 0.2]})
    assert main(['validate', str(run), str(other)]) == ExitCode.NOT_COMMITTABLE
    said = capsys.readouterr().out
    assert 'none was kept to judge by' in said and 'joint1   rad' in said


@pytest.mark.parametrize(('sections', 'words'), [
    ({'fit': {'estimator': 'collocation'}}, 'a base that floats is measured, and not sought'),
    ({'robot': {'base': 'fixed'}}, 'robot: {base: floating}'),
    ({'robot': {'base': 'fixed'}, 'fit': {'estimator': 'collocation'}},
     'forces on links are for estimators by regression.*force, moment'),
    ({'robot': {'actuators': {'*': {'kind': 'torque'}}}}, 'base: floating, and actuators'),
    ({'recording': {'sensors': {}}}, 'needs one gyroscope|nothing says what pushes'),
])
def test_what_cannot_be_fitted_is_refused_with_what_to_write(flying, sections, words, capsys):
    path = flying.settings('refused.yaml', **sections)
    assert main(['fit', str(path), '-o', str(flying.folder / 'none')]) == ExitCode.BAD_INPUT
    said = ' '.join(capsys.readouterr().err.split())
    assert re.search(words, said), said


def test_motions_are_planned_for_a_base_that_is_held(flying, capsys):
    path = flying.folder / 'plan.yaml'
    path.write_text('robot: {urdf: robot.urdf, base: floating}\n')
    assert main(['excite', str(path)]) == ExitCode.BAD_INPUT
    assert 'base is held' in capsys.readouterr().err


def test_what_pushes_an_arm_at_its_hand_is_no_torque_of_its_motion(flying):
    own = flying.sections['recording']['sensors']
    hand = {name: {**own[name], 'link': 'link4'} for name in ('force', 'moment')}
    setup = FitSetup.load(
        flying.settings('arm.yaml', robot={'base': 'fixed'}, recording={'sensors': hand}))
    recording = setup.identification.recording()
    pushed = setup.align(recording)
    free = setup.align(replace(recording, sensors=()))
    model, placed = setup.model.robot.pinocchio_model, pin.SE3(pose(HAND_RPY, HAND_ORIGIN))
    data, frame = model.createData(), model.getBodyId('link4')
    force, moment = (channel for channel in recording.sensors)
    for row in range(0, len(free), 400):
        felt = np.concatenate([
            [np.interp(free.t[row], channel.t, column) for column in channel.values.T]
            for channel in (force, moment)])
        jacobian = pin.computeFrameJacobian(
            model, data, free.q[row], frame, pin.ReferenceFrame.LOCAL)
        expected = jacobian.T @ placed.act(pin.Force(felt)).vector
        np.testing.assert_allclose(pushed.tau[row] - free.tau[row], expected, atol=1e-9)
