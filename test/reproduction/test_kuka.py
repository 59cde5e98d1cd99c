"""KUKA LWR4+, real: fitted on one recording, tried on another, and handed over as a URDF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.evaluation.prediction import predict
from sysid_ros.evaluation.verdict import judge
from sysid_ros.mechanics.base_parameters import base_parameters
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.description_export import verify_export, write_description
from sysid_ros.robot.inertia import is_consistent
from sysid_ros.robot.model import RobotModel

HERE = Path(__file__).parent
ESTIMATORS = ('ols', 'wls', 'lmi', 'entropic')
CONSISTENT = ('lmi', 'entropic')


@pytest.fixture(scope='module')
def runs(shared_data):
    """The problems of both runs, with one model."""
    first, second = (
        Identification.load(HERE / f'kuka_run{run}.yaml', shared_data / 'kuka_lwr4')
        for run in (1, 2))
    setup = FitSetup.of(first)
    return [
        each.problem(each.align(each.identification.recording()))
        for each in (setup, setup.recording_of(second))]


@pytest.fixture(scope='module')
def estimates(runs):
    fit = Identification.load(HERE / 'kuka_run1.yaml').settings.fit
    return {name: fit.build(name).fit(runs[0]) for name in ESTIMATORS}


@pytest.fixture(scope='module')
def predictions(estimates, runs):
    return {name: predict(estimate, runs[1]) for name, estimate in estimates.items()}


def masses(estimate):
    parameters = estimate.parameters
    prior = {body: parameters.prior[parameters.index(f'{body}.mass')] for body in parameters.bodies}
    return np.array([[parameters[f'{body}.mass'], mass] for body, mass in prior.items()]).T


def test_the_table(estimates, predictions, record_property):
    print('\nKUKA LWR4+, trained on run 1     run 1   run 2   joints on run 2, RMS beside OLS')
    reference = predictions['ols'].candidate.rms_per_joint
    for name, prediction in predictions.items():
        training = estimates[name].residuals.relative_error
        error = prediction.candidate.relative_error
        record_property(f'{name} on run 2', float(error))
        ratios = ' '.join(f'{r:5.2f}' for r in prediction.candidate.rms_per_joint / reference)
        print(f'{name:28s} {100 * training:6.2f} % {100 * error:5.2f} %   {ratios}')
    prior = predictions['ols'].prior.relative_error
    print(f'{"prior":28s}          {100 * prior:5.2f} %')
    assert 0.09 < prior < 0.12


@pytest.mark.parametrize(('name', 'bar'), [('wls', 0.0225), ('lmi', 0.025), ('entropic', 0.025)])
def test_the_other_run_is_predicted(predictions, name, bar):
    assert predictions[name].candidate.relative_error <= bar


@pytest.mark.parametrize('name', CONSISTENT)
def test_no_joint_is_much_worse_than_by_least_squares(predictions, name):
    ols = predictions['ols'].candidate.rms_per_joint
    assert (predictions[name].candidate.rms_per_joint <= 1.25 * ols).all()


@pytest.mark.parametrize('name', CONSISTENT)
def test_what_is_found_is_physical(estimates, name):
    estimate = estimates[name]
    assert estimate.status.ok
    assert estimate.consistent
    parameters = estimate.parameters
    terms = [k for k, full in enumerate(parameters.names)
             if full.endswith(('friction', 'armature', 'stiffness'))]
    assert (parameters.values[terms] >= 0.0).all()
    found, prior = masses(estimate)
    print(f'\nKUKA {name}: masses over prior {np.round(found / prior, 2)}, '
          f'moving total {found.sum() / prior.sum():.3f}')
    assert (found <= 3.0 * prior * (1 + 1e-6)).all()
    assert (found >= prior / 3.0 * (1 - 1e-6)).all()
    assert abs(found.sum() / prior.sum() - 1.0) <= 0.3 + 1e-6


def test_the_rigid_body_has_43_base_parameters(runs):
    base = base_parameters(TorqueModel(runs[0].model.robot))
    assert base.rank == 43
    assert base.gap[0] > 1e-3
    assert base.gap[1] < 1e-12


@pytest.mark.parametrize('name', CONSISTENT)
def test_the_verdict_is_to_commit(estimates, predictions, name):
    assert judge(estimates[name], predictions[name]).committable


@pytest.mark.parametrize('name', ('ols', 'wls'))
def test_least_squares_is_not_to_be_committed(estimates, predictions, name):
    verdict = judge(estimates[name], predictions[name])
    assert not verdict.committable
    assert 'No real mass distribution' in verdict.reasons[0]


@pytest.mark.parametrize('name', CONSISTENT)
def test_the_identified_urdf_reloads_and_reproduces_the_torques(estimates, runs, tmp_path, name):
    robot, parameters = runs[0].model.robot, estimates[name].parameters
    path = tmp_path / 'identified.urdf'
    exported = write_description(path, robot, parameters)
    assert path.read_bytes() == exported.xml
    difference = verify_export(robot, parameters, exported)
    print(f'\nKUKA {name}: the reloaded URDF differs by {difference:.1e} N·m')
    assert difference <= 1e-9
    assert is_consistent(RobotModel.from_urdf(path).inertial_prior)
