"""The friction model is chosen that the robot has, and the plain one where there is no other."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.friction_models import FrictionSelection, friction_candidate
from sysid_ros.estimation.outer_iteration import OuterIteration
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation import candidates
from sysid_ros.evaluation.friction_selection import choose_friction, select_friction
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.joint_terms.load_friction import LoadFriction
from sysid_ros.mechanics.joint_terms.terms import (
    CoulombFriction,
    SmoothCoulombFriction,
    StribeckFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.numerics import forked
from sysid_ros.report.evidence import friction_section
from sysid_ros.robot.model import RobotModel
from sysid_ros.settings import parse_settings

VISCOUS, OFFSET = ViscousFriction(), TorqueOffset()
PLANTS = {
    'coulomb': ((VISCOUS, CoulombFriction(), OFFSET), {}),
    'stribeck': (
        (VISCOUS, SmoothCoulombFriction(), StribeckFriction(smoothing=None), OFFSET),
        {'stribeck_friction': 0.6, 'stribeck_velocity': 0.4, 'coulomb_smoothing': 0.1},
    ),
    'load': ((VISCOUS, CoulombFriction(), LoadFriction(), OFFSET), {'load_friction': 0.15}),
}


# Not told from Coulomb friction by those who choose: it is so where slow rows are there alone.
SMOOTH = ((VISCOUS, SmoothCoulombFriction(), OFFSET), {'coulomb_smoothing': 0.1})


def plant(name):
    """The arm with the friction of a model."""
    terms, truths = (PLANTS | {'smooth': SMOOTH})[name]
    model = TorqueModel(RobotModel.from_urdf(simulated.arm_urdf()), terms)
    truth = simulated.true_parameters(model)
    for k, parameter in enumerate(model.parameters.names):
        truth[k] = truths.get(parameter.rpartition('.')[2], truth[k])
    return simulated.Golden(model, truth, 800)


def select(data, robot, estimator=None, **settings):
    return select_friction(
        robot, TermSettings(), lambda model: RegressionProblem.from_dataset(model, data),
        np.abs(data.v), estimator or OuterIteration(make_estimator('wls')),
        FrictionSelection(folds=3, **settings),
    )


@pytest.fixture(scope='module')
def choices():
    return {
        name: select(plant(name).dataset(0.01), plant(name).model.robot,
                     candidates=('coulomb', 'smooth_coulomb', 'stribeck', 'load'))
        for name in PLANTS
    }


@pytest.mark.parametrize('name', PLANTS)
def test_the_friction_that_the_robot_has_is_chosen(choices, name):
    assert choices[name].chosen == name


def test_friction_that_has_decayed_at_the_slowest_rows_is_not_made_up():
    golden = plant('coulomb')
    data, slowest = golden.dataset(0.05), 0.4
    terms = friction_candidate(TermSettings(), 'stribeck')
    model = TorqueModel(golden.model.robot, terms.build(golden.model.robot))
    problem = RegressionProblem.from_dataset(model, data, minimum_velocity=slowest)
    estimate = OuterIteration(make_estimator('wls')).fit(problem)
    found = estimate.parameters
    velocities = [
        found[f'{joint}.stribeck_velocity'] for joint in golden.model.robot.joint_names
        if found[f'{joint}.stribeck_friction'] > 0.0]
    assert velocities and min(velocities) >= slowest


@pytest.mark.parametrize('left_out', [True, False])
def test_a_sign_is_not_smoothed_where_slow_rows_are_left_out(left_out):
    # Torques whose dry friction is still rising at the slowest rows ask for a wide sign.
    golden = plant('smooth')
    robot, slowest = golden.model.robot, 0.2
    model = TorqueModel(robot, friction_candidate(TermSettings(), 'smooth_coulomb').build(robot))
    data = golden.dataset(0.001)
    problem = RegressionProblem.from_dataset(
        model, data, minimum_velocity=slowest if left_out else 0.0)
    estimate = OuterIteration(make_estimator('wls')).fit(problem)
    widths = np.array([
        estimate.parameters[f'{joint}.coulomb_smoothing'] for joint in robot.joint_names])
    if left_out:
        assert widths.max() <= 0.26 * slowest
    else:
        np.testing.assert_allclose(widths, SMOOTH[1]['coulomb_smoothing'], rtol=0.1)


def test_the_simplest_within_one_standard_error_is_chosen(choices):
    for choice in choices.values():
        names = [each.name for each in choice.candidates]
        counts = [each.parameters for each in choice.candidates]
        assert counts == sorted(counts)
        mean, error = choice.excess.T
        assert mean.min() == 0.0
        first = int(np.flatnonzero(mean <= np.maximum(error, 0.01))[0])
        assert choice.chosen == names[first]
    assert [each.parameters for each in choices['load'].candidates] == [9, 12, 15, 18]


def test_friction_of_the_description_is_not_left_out_for_noise():
    golden, candidates = plant('coulomb'), ('viscous', 'coulomb', 'stribeck')
    urdf = ET.fromstring(simulated.arm_urdf())
    for joint in urdf.iter('joint'):
        ET.SubElement(joint, 'dynamics', friction='0.3')
    described = RobotModel.from_urdf(ET.tostring(urdf, encoding='unicode'))
    drowned = golden.dataset(2.0)
    assert select(drowned, golden.model.robot, candidates=candidates).chosen == 'viscous'
    kept = select(drowned, described, candidates=candidates)
    assert kept.chosen == 'coulomb'
    assert kept.reason('viscous') == (
        'not surely better than one with the friction that the description has')
    assert kept.reason('coulomb') == (
        'chosen: viscous leaves out friction that the description has, and is not surely better')
    clear = select(golden.dataset(0.01), described, candidates=candidates)
    assert clear.chosen == 'coulomb'
    assert clear.reason('viscous') == 'worse'


def test_a_fit_that_fails_is_begun_anew_with_more_steps(monkeypatch):
    golden = plant('load')
    problem = RegressionProblem.from_dataset(golden.model, golden.dataset(0.01))
    speeds = np.abs(golden.dataset(0.01).v)
    impatient = OuterIteration(make_estimator('wls'), max_iterations=1)
    assert impatient.values(problem) is None
    found = candidates.candidate_errors('load', problem, speeds, impatient, folds=3)
    assert np.isfinite(found.errors).all()
    assert not candidates.ranked([found]).unfitted
    monkeypatch.setattr(candidates, '_MORE_STEPS', 1)
    failed = candidates.candidate_errors('load', problem, speeds, impatient, folds=3)
    assert candidates.ranked([found, failed]) == (0, 0.0, ('load',))


def test_every_candidate_has_its_reason(choices):
    choice = choices['stribeck']
    assert choice.best == 'stribeck'
    assert choice.reason('stribeck') == 'chosen: the best, and no simpler one is as good'
    assert choice.reason('coulomb') == choice.reason('load') == 'worse'
    # Errors of what is not there are the same but for rounding: none of it is taken.
    excess = np.array([[0.004, 0.001], [0.0, 0.0], [0.02, 0.03], [0.05, 0.01]])
    tied = replace(choices['coulomb'], excess=excess)
    assert [tied.reason(each.name) for each in tied.candidates] == [
        f'chosen: the simplest that is as good as {tied.best}',
        'the best, but a simpler one is as good', 'as good, but not the simplest', 'worse',
    ]
    assert 'chosen from coulomb, smooth_coulomb, ' in tied.note
    assert 'as good as smooth_coulomb' in tied.note


def test_the_table_shows_errors_parameters_time_and_reasons(choices):
    text = friction_section(choices['stribeck'])
    for each in choices['stribeck'].candidates:
        line = next(row for row in text.splitlines() if row.startswith(f'  {each.name} '))
        assert f' {each.parameters} ' in line
        assert f'{100 * each.stretches.mean():.2f} ±' in line
        assert f'{100 * each.faster.mean():.2f} ±' in line
    assert '  stribeck: chosen: the best' in text
    assert all(len(row) <= 100 for row in text.splitlines())


def test_the_choice_is_plain_json(choices):
    data = json.loads(json.dumps(choices['load'].to_json(), allow_nan=False))
    assert data['chosen'] == 'load'
    assert {each['model'] for each in data['candidates']} == {
        'coulomb', 'smooth_coulomb', 'stribeck', 'load'}
    assert all(len(each['stretches']) == len(each['faster']) == 3 for each in data['candidates'])


class FailingOn:
    """Weighted least squares that fails where a joint term is present."""

    def __init__(self, field):
        self.field = field

    def fit(self, problem):
        estimate = make_estimator('wls').fit(problem)
        failed = any(name.endswith(self.field) for name in problem.parameters.names)
        return replace(estimate, status=Status.FAILED) if failed else estimate


def test_a_candidate_that_cannot_be_fitted_is_not_chosen():
    case = plant('coulomb')
    data, robot = case.dataset(0.05), case.model.robot
    choice = select(data, robot, OuterIteration(FailingOn('load_friction')),
                    candidates=('coulomb', 'load'))
    assert choice.chosen == 'coulomb'
    assert choice.reason('load') == 'not fitted to every fold'
    assert choice.to_json()['candidates'][1]['stretches'] == [None] * 3
    assert 'failed' in friction_section(choice)
    with pytest.raises(EstimationError, match='no friction model could be fitted to all folds'):
        select(data, robot, OuterIteration(FailingOn('mass')),
               candidates=('coulomb', 'smooth_coulomb'))


def test_two_processors_choose_as_one_does(choices, monkeypatch):
    monkeypatch.setattr(forked, 'processors', lambda: 2)
    case, one = plant('load'), choices['load']
    two = select(case.dataset(0.01), case.model.robot,
                 candidates=('coulomb', 'smooth_coulomb', 'stribeck', 'load'))
    assert two.chosen == one.chosen and two.faster == one.faster
    np.testing.assert_allclose(two.excess, one.excess, rtol=1e-9)
    assert [each.parameters for each in two.candidates] == [
        each.parameters for each in one.candidates]


def test_candidates_keep_the_other_joint_terms():
    terms = parse_settings(TermSettings, {
        'coulomb_friction': ['waist'], 'torque_offset': [], 'coulomb_smoothing': 0.1,
        'power_friction': 'all', 'coupled_axes': [{'name': 'both', 'weights': {'waist': 1}}],
    }, 'terms')
    stribeck = friction_candidate(terms, 'stribeck')
    assert stribeck.stribeck_friction == ('waist', 'both')
    assert stribeck.power_friction == ()
    assert stribeck.torque_offset == ()
    assert stribeck.coulomb_smoothing == 'identified'
    # What the description says of drives and springs is still to be filled in.
    assert 'armature' not in stribeck.model_fields_set
    assert friction_candidate(terms, 'coulomb').coulomb_smoothing == 0.1
    assert friction_candidate(stribeck, 'coulomb').coulomb_smoothing == 0.0
    assert friction_candidate(stribeck, 'asymmetric').asymmetric_coulomb == ('waist',)


@pytest.mark.parametrize(('settings', 'message'), [
    ({'candidates': ['stribek']}, 'candidates'), ({'candidates': []}, 'candidates'),
    ({'folds': 1}, 'folds'), ({'gap': -1.0}, 'gap'),
    ({'candidate': ['coulomb']}, "Did you mean 'candidates'"),
])
def test_settings_that_cannot_be_used_are_refused(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        parse_settings(FrictionSelection, settings, 'friction_selection')


def test_more_folds_than_rows_are_refused():
    case = plant('coulomb')
    with pytest.raises(ConfigurationError, match='number of folds'):
        select_friction(
            case.model.robot, TermSettings(),
            lambda model: RegressionProblem.from_dataset(model, case.dataset(samples=20)),
            np.ones((20, 3)), OuterIteration(make_estimator('ols')), FrictionSelection(folds=30))


def test_a_recording_that_does_not_fit_into_memory_is_refused():
    identification = SimpleNamespace(robot=lambda: SimpleNamespace(terms=None))
    setup = SimpleNamespace(settings=SimpleNamespace(fit=None), identification=identification)
    measured = SimpleNamespace(
        setup=setup, bag='long', dataset=SimpleNamespace(source='long_bag'))
    with pytest.raises(ConfigurationError, match='whole recording in memory.*long_bag.*Cut the'):
        choose_friction(measured)
