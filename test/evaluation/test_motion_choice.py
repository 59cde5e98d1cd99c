"""How dry friction acts, and what links are, is chosen by the motion that simulations fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml

from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.trajectory.regression_start import regression_start
from sysid_ros.estimation.trajectory.shooting_estimator import ShootingEstimator
from sysid_ros.evaluation.study import Study
from sysid_ros.mechanics.actuators.actuators import Actuators, JointActuator
from sysid_ros.mechanics.actuators.command import HeldCommand
from sysid_ros.mechanics.actuators.kinds import kind_named
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, Simulator
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    LoadFriction,
    StribeckFriction,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

PENDULUM = """<mujoco model="pendulum"><compiler angle="radian"/><worldbody>
<body name="link"><joint name="hinge" axis="0 1 0" damping="0.2" frictionloss="0.2"
armature="0.01"/><inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.004 0.004 0.001"/></body>
</worldbody></mujoco>"""
MASS = 0.5
STRIBECK = {'stribeck_friction': 0.15, 'stribeck_velocity': 0.15}
LOAD = {'load_friction': 0.2}
LAWS = {'stribeck_friction': StribeckFriction, 'load_friction': LoadFriction}
TRUTH = {'viscous_friction': 0.15, 'coulomb_friction': 0.3, 'armature': 0.02}
STEP, SECONDS, NOISE = 0.005, 6.0, 3e-5
# Smoothing that settings without a word on it begin with, in [rad/s], and a sharp one.
DEFAULT, SHARP = 0.02, 5e-4


def recorded(folder, smoothing, more, filtered=0.0):
    """Commands and readings of a servo whose friction is smoothed so; columns t, u and q."""
    (folder / 'pendulum.xml').write_text(PENDULUM)
    robot = RobotModel.from_description(folder / 'pendulum.xml')
    servo = JointActuator('hinge', kind_named('position_servo'), (20.0, 0.5))
    model = TorqueModel(robot, [
        ViscousFriction(), CoulombFriction(smoothing=smoothing),
        *(law(smoothing=smoothing) for key, law in LAWS.items() if key in more), Armature(),
        Actuators((servo,), 0.0, time_constant=filtered)])
    values = model.parameters.prior.copy()
    for field, value in (TRUTH | more).items():
        values[model.parameters.index(f'hinge.{field}')] = value
    t = np.arange(round(SECONDS / STEP) + 1) * STEP
    u = 0.3 * np.arcsin(np.sin(2.0 * np.pi * (0.4 * t + 0.06 * t**2)))[:, None]
    motion = Simulator(model, np.zeros(0, dtype=int), False, 100).run(values, [
        InputTrajectory(np.zeros((2, 1)), np.zeros((len(t), 1)), STEP, HeldCommand(t, u))])[0]
    read = motion.states[:, 0] + np.random.default_rng(0).normal(0.0, NOISE, (len(t), 1))
    return np.column_stack([t, u, read])


def study_of(folder, smoothing, more=None, mass=MASS, fit=None, filtered=0.0, said=None, **terms):
    """The study of such a servo, maybe with more friction, another mass, or a filter."""
    rows = recorded(folder, smoothing, more or {}, filtered)
    (folder / 'pendulum.xml').write_text(PENDULUM.replace(f'mass="{MASS}"', f'mass="{mass}"'))
    np.savetxt(folder / 'data.csv', rows, delimiter=',', comments='', header='t,u_hinge,q_hinge')
    robot = {
        'description': 'pendulum.xml', 'command_delay': 0.0, **(said or {}),
        'actuators': {'hinge': {'kind': 'position_servo', 'kp': 20.0, 'kd': 0.5}}}
    (folder / 'settings.yaml').write_text(yaml.safe_dump({
        'robot': robot | ({'terms': terms} if terms else {}), 'fit': fit or {},
        'recording': {
            'format': 'csv', 'file': 'data.csv', 'joints': ['hinge'], 'time': {'column': 't'},
            'position': {'prefix': 'q_'}, 'command': {'prefix': 'u_'}}}))
    return Study.load(
        FitSetup.load(folder / 'settings.yaml'), holdout=0.2, estimator='shooting')


def driven_study(folder, smoothing, estimator):
    """The study of such a pendulum, its friction smoothed so, under measured torques."""
    (folder / 'pendulum.xml').write_text(PENDULUM)
    robot = RobotModel.from_description(folder / 'pendulum.xml')
    terms = [ViscousFriction(), CoulombFriction(smoothing=smoothing), Armature()]
    model = TorqueModel(robot, terms)
    values = model.parameters.prior.copy()
    for field, value in TRUTH.items():
        values[model.parameters.index(f'hinge.{field}')] = value
    t = np.arange(round(SECONDS / STEP) + 1) * STEP
    torque = 0.9 * np.sin(2.0 * np.pi * (0.4 * t + 0.06 * t**2))[:, None]
    motion = Simulator(model, np.zeros(0, dtype=int), False, 100).run(values, [
        InputTrajectory(np.zeros((2, 1)), torque, STEP)])[0]
    read = motion.states[:, 0] + np.random.default_rng(0).normal(0.0, NOISE, (len(t), 1))
    np.savetxt(folder / 'data.csv', np.column_stack([t, read, torque]), delimiter=',', comments='',
               header='t,q_hinge,tau_hinge')
    (folder / 'settings.yaml').write_text(yaml.safe_dump({
        'robot': {'description': 'pendulum.xml', 'terms': {'torque_offset': []}},
        'recording': {
            'format': 'csv', 'file': 'data.csv', 'joints': ['hinge'], 'time': {'column': 't'},
            'position': {'prefix': 'q_'}, 'effort': {'prefix': 'tau_'}}}))
    return Study.load(FitSetup.load(folder / 'settings.yaml'), holdout=0.2, estimator=estimator)


@pytest.mark.slow
@pytest.mark.parametrize('truth, estimator, least, most', [
    (SHARP, 'shooting', 1e-3, 0.25 * DEFAULT), (DEFAULT, 'shooting', DEFAULT, DEFAULT),
    (SHARP, 'collocation', DEFAULT, DEFAULT)])
def test_under_torques_shooting_chooses_too_and_all_others_take_the_first_guess(
        tmp_path, truth, estimator, least, most):
    study = driven_study(tmp_path, truth, estimator)
    chosen = [choice.value for choice in study.choice.choices
              if choice.key == 'robot.terms.coulomb_smoothing']
    assert len(chosen) == 1 and least <= chosen[0] <= most
    assert study.setup.settings.robot.terms.coulomb_smoothing == chosen[0]
    # A fit begins where a regression leads to, whatever the choice has found.
    assert not study.trajectory.near
    estimate = study.fit(estimator).estimate
    assert estimate.status.ok
    error = abs(estimate.parameters['hinge.coulomb_friction'] / TRUTH['coulomb_friction'] - 1.0)
    assert error < (0.05 if estimator == 'collocation' else 0.01)


@pytest.mark.slow
def test_sharp_friction_is_fitted_with_a_sharp_sign_and_found_without_bias(tmp_path):
    study = study_of(tmp_path, SHARP)
    choice, = study.choice.choices
    assert choice.key == 'robot.terms.coulomb_smoothing' and choice.value <= 0.25 * DEFAULT
    # It is said in the settings that a run is kept with, and everything simulates with it.
    assert study.setup.settings.robot.terms.coulomb_smoothing == choice.value
    assert not study.setup.settings.automatic
    evaluation = study.fit('shooting')
    estimate, errors = evaluation.estimate, {}
    for smoothing in (None, DEFAULT):
        if smoothing is not None:
            estimate = study_of(
                tmp_path, SHARP, coulomb_smoothing=smoothing).fit('shooting').estimate
        assert estimate.status.ok
        errors[smoothing] = np.array([
            abs(estimate.parameters[f'hinge.{field}'] / truth - 1.0)
            for field, truth in TRUTH.items()])
    assert errors[None].max() < 0.02
    assert errors[None].sum() < 0.5 * errors[DEFAULT].sum()


def test_friction_that_is_no_sharper_than_the_first_guess_keeps_it(tmp_path):
    study = study_of(tmp_path, DEFAULT)
    choice, = study.choice.choices
    assert choice.value == DEFAULT and 'the likelihood gains nothing' in choice.reason


@pytest.mark.slow
@pytest.mark.parametrize('law', [STRIBECK, LOAD], ids=['falls with speed', 'grows with the load'])
def test_a_law_of_friction_is_found_and_no_other_is_added(tmp_path, law):
    study = study_of(tmp_path, DEFAULT, law)
    key, *_ = law
    keys = [choice.key for choice in study.choice.choices]
    assert keys == ['robot.terms.coulomb_smoothing', f'robot.terms.{key}']
    assert getattr(study.setup.settings.robot.terms, key) == 'all'
    estimate = study.fit('shooting').estimate
    for field, truth in (TRUTH | law).items():
        place = estimate.parameters.index(f'hinge.{field}')
        off = abs(estimate.parameters.values[place] - truth)
        assert off < max(0.02 * truth, 3.0 * estimate.standard_deviation[place])


def test_a_search_begins_where_the_choice_ended(tmp_path):
    study = study_of(tmp_path, DEFAULT)
    assert study.trajectory.near
    assert regression_start(study.trajectory) is study.trajectory.parameters.values
    assert study.fit('shooting').estimate.iterations <= 3


@pytest.mark.parametrize('terms', [{'coulomb_smoothing': 0.01}, {'coulomb_friction': []},
    {'coulomb_smoothing': DEFAULT, 'coulomb_friction': 'all'}])
def test_what_settings_say_stays(tmp_path, terms):
    study = study_of(tmp_path, SHARP, **terms)
    assert not study.choice.choices
    assert study.setup.settings.robot.terms.coulomb_smoothing == terms.get(
        'coulomb_smoothing', 0.0)


@pytest.mark.slow
def test_links_that_are_not_as_described_are_sought(tmp_path):
    study = study_of(tmp_path, DEFAULT, mass=0.7)
    sharpness, links = study.choice.choices
    assert sharpness.key == 'robot.terms.coulomb_smoothing'
    assert links.key == 'fit.fixed' and links.value == []
    assert 'not as described' in links.reason
    # A run that is repeated finds it in the settings it is kept with.
    assert study.setup.settings.fit.fixed == ()
    estimate = study.fit('shooting').estimate
    assert estimate.status.ok
    parameters = estimate.parameters
    assert parameters['link.first_moment_z'] == pytest.approx(-0.1 * MASS, rel=0.01)
    assert parameters['hinge.coulomb_friction'] == pytest.approx(
        TRUTH['coulomb_friction'], rel=0.01)


def test_links_are_sought_by_a_search_that_ended_early_as_well(tmp_path, monkeypatch):
    """What it left explains no less than what it explained so far."""
    continued = ShootingEstimator.continued

    def early(self, problem, found):
        found = continued(self, problem, found)
        return replace(found, status=Status.INACCURATE) if problem.frees_bodies else found

    monkeypatch.setattr(ShootingEstimator, 'continued', early)
    study = study_of(tmp_path, DEFAULT, mass=0.7)
    assert 'fit.fixed' in {choice.key for choice in study.choice.choices}


def test_links_that_settings_hold_stay_as_described(tmp_path):
    study = study_of(tmp_path, DEFAULT, mass=0.7, fit={'fixed': ['link.*']})
    assert 'fit.fixed' not in [choice.key for choice in study.choice.choices]
    estimate = study.fit('shooting').estimate
    assert estimate.parameters['link.mass'] == 0.7


@pytest.mark.slow
@pytest.mark.parametrize('filtered', [0.03, 0.3])
def test_a_filter_before_the_commands_is_found_with_its_friction(tmp_path, filtered):
    study = study_of(tmp_path, DEFAULT, filtered=filtered)
    chosen = {choice.key: choice for choice in study.choice.choices}
    assert set(chosen) == {'robot.terms.coulomb_smoothing', 'robot.command_time_constant'}
    assert 'drives filter what they are told' in chosen['robot.command_time_constant'].reason
    assert study.setup.settings.robot.command_time_constant == 'sought'
    estimate = study.fit('shooting').estimate
    assert estimate.parameters['command.time_constant'] == pytest.approx(filtered, rel=0.02)
    for field, truth in TRUTH.items():
        assert estimate.parameters[f'hinge.{field}'] == pytest.approx(truth, rel=0.05), field


@pytest.mark.slow
def test_a_filter_is_found_beside_links_that_are_not_as_described(tmp_path):
    study = study_of(tmp_path, DEFAULT, filtered=0.05, mass=2.0 * MASS)
    chosen = {choice.key for choice in study.choice.choices}
    assert {'fit.fixed', 'robot.command_time_constant'} <= chosen
    parameters = study.fit('shooting').estimate.parameters
    assert parameters['command.time_constant'] == pytest.approx(0.05, rel=0.03)


def test_a_filter_that_settings_deny_or_nothing_asks_for_is_none(tmp_path):
    for filtered, said in ((0.0, {}), (0.1, {'command_time_constant': 0.0})):
        study = study_of(tmp_path, DEFAULT, filtered=filtered, said=said)
        assert 'robot.command_time_constant' not in {
            choice.key for choice in study.choice.choices}
