"""Friction that grows with the load, found with the states of a pendulum that torques drive."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from sysid_ros.errors import ModelError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.evaluation.study import Study
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, Simulator
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    LoadFriction,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

PENDULUM = """<mujoco model="pendulum"><compiler angle="radian"/><worldbody>
<body name="link"><joint name="hinge" axis="0 1 0" damping="0.2" frictionloss="0.2"
armature="0.01"/><inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.004 0.004 0.001"/></body>
</worldbody></mujoco>"""
TRUTH = {
    'viscous_friction': 0.15, 'coulomb_friction': 0.3, 'armature': 0.02, 'load_friction': 0.2}
STEP, SECONDS, NOISE, SMOOTHING = 0.005, 6.0, 3e-5, 0.02


@pytest.fixture(scope='module')
def settings(tmp_path_factory):
    """Settings of a recording whose load changes its sign with gravity and with acceleration."""
    folder = tmp_path_factory.mktemp('pendulum')
    (folder / 'pendulum.xml').write_text(PENDULUM)
    model = TorqueModel(RobotModel.from_description(folder / 'pendulum.xml'), [
        ViscousFriction(), CoulombFriction(smoothing=SMOOTHING), Armature(),
        LoadFriction(smoothing=SMOOTHING)])
    values = model.parameters.prior.copy()
    for field, value in TRUTH.items():
        values[model.parameters.index(f'hinge.{field}')] = value
    t = np.arange(round(SECONDS / STEP) + 1) * STEP
    torque = 0.9 * np.sin(2.0 * np.pi * (0.4 * t + 0.06 * t**2))[:, None]
    motion = Simulator(model, np.zeros(0, dtype=int), False, 20, 20).run(values, [
        InputTrajectory(np.zeros((2, 1)), torque, STEP)])[0]
    read = motion.states[:, 0] + np.random.default_rng(0).normal(0.0, NOISE, (len(t), 1))
    np.savetxt(folder / 'data.csv', np.column_stack([t, read, torque]), delimiter=',', comments='',
               header='t,q_hinge,tau_hinge')
    (folder / 'settings.yaml').write_text(yaml.safe_dump({
        'robot': {'description': 'pendulum.xml', 'terms': {
            'load_friction': 'all', 'coulomb_friction': 'all', 'coulomb_smoothing': SMOOTHING,
            'armature': 'all', 'torque_offset': []}},
        'recording': {
            'format': 'csv', 'file': 'data.csv', 'joints': ['hinge'], 'time': {'column': 't'},
            'position': {'prefix': 'q_'}, 'effort': {'prefix': 'tau_'}}}))
    return folder / 'settings.yaml'


@pytest.mark.slow
@pytest.mark.parametrize('estimator', ['shooting', 'collocation', 'graph'])
def test_it_is_found_with_all_other_friction(settings, estimator):
    study = Study.load(FitSetup.load(settings), holdout=0.2, estimator=estimator)
    estimate = study.fit(estimator).estimate
    assert estimate.status.ok
    for field, truth in TRUTH.items():
        place = estimate.parameters.index(f'hinge.{field}')
        off = abs(estimate.parameters.values[place] - truth)
        assert off < max(0.01 * truth, 3.0 * estimate.standard_deviation[place]), field


@pytest.mark.parametrize('estimator, match', [
    ('variational', 'Leave out friction by load'), ('discrete', 'LoadFriction: .*Leave it out')])
def test_methods_that_do_not_know_it_say_so(settings, estimator, match):
    with pytest.raises(ModelError, match=match):
        Study.load(FitSetup.load(settings), holdout=0.2, estimator=estimator).fit(estimator)
