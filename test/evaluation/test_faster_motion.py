"""The error on faster motion than what was fitted, which the choice of a friction model tells."""

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.friction_models import FrictionSelection
from sysid_ros.estimation.outer_iteration import OuterIteration
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.faster_motion import FasterMotion
from sysid_ros.evaluation.friction_selection import select_friction
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.joint_terms.terms import (
    CoulombFriction,
    PowerLawFriction,
    SmoothCoulombFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

PLAIN = (ViscousFriction(), CoulombFriction(), TorqueOffset())


def chosen_as_coulomb(terms, **truths):
    """The choice where there is but one candidate, for an arm with some friction; and its data."""
    model = TorqueModel(RobotModel.from_urdf(simulated.arm_urdf()), terms)
    truth = simulated.true_parameters(model)
    for k, name in enumerate(model.parameters.names):
        truth[k] = truths.get(name.rpartition('.')[2], truth[k])
    data = simulated.Golden(model, truth, 800).dataset(0.01)
    return data, select_friction(
        model.robot, TermSettings(), lambda m: RegressionProblem.from_dataset(m, data),
        np.abs(data.v), OuterIteration(make_estimator('wls')),
        FrictionSelection(folds=3, candidates=('coulomb',)))


def test_it_is_the_error_of_the_chosen_candidate_up_to_the_fastest_rows():
    data, choice = chosen_as_coulomb(PLAIN)
    faster, errors = choice.faster, choice.candidates[0].faster
    assert faster.relative_error == errors.mean()
    speed = np.abs(data.v)
    for joint, factor in faster.factors.items():
        column = speed[:, data.joint_names.index(joint)]
        assert 0.9 * column.max() < factor * np.median(column) <= column.max()
    assert choice.to_json()['faster_motion'] == faster.to_json()


def test_a_model_with_the_wrong_friction_is_further_off_on_faster_motion():
    _, right = chosen_as_coulomb(PLAIN)
    _, wrong = chosen_as_coulomb(
        (ViscousFriction(), SmoothCoulombFriction(), PowerLawFriction(), TorqueOffset()),
        power_friction=3.0, power_exponent=0.3, coulomb_smoothing=0.05)
    assert wrong.faster.relative_error > 2.0 * right.faster.relative_error


def test_it_says_how_much_faster_and_how_far_off():
    speeds = np.stack([np.linspace(0.0, 1.0, 2001), np.linspace(1.0, 1.5, 2001)], axis=1)
    found = FasterMotion.of(
        np.array([0.04, 0.05]), ('a', 'b'), speeds, np.ones((2001, 2), dtype=bool))
    assert found.factors['a'] == pytest.approx(1.99)
    assert found.factors['b'] == pytest.approx(1.4975 / 1.25)
    assert found.sentence == (
        'Fitted to the slower half of the training rows alone, this model is 4.5 ± 0.5 % off on '
        'the faster half, which goes up to 1.2 to 2.0 times as fast, by joint.')
    assert FasterMotion.from_json(found.to_json()) == found


@pytest.mark.parametrize('data', [None, {}, {'relative_error': 1.0}, {
    'relative_error': 1.0, 'deviation': 0.1, 'speed_factors': {}}])
def test_nothing_is_said_where_nothing_is_known(data):
    assert FasterMotion.from_json(data) is None


def test_folds_that_failed_and_joints_at_rest_tell_nothing():
    speeds, usable = np.ones((10, 1)), np.ones((10, 1), dtype=bool)
    assert FasterMotion.of(np.array([0.1, np.inf]), ('a',), speeds, usable) is None
    assert FasterMotion.of(np.zeros(0), ('a',), speeds, usable) is None
    assert FasterMotion.of(np.array([0.1, 0.1]), ('a',), 0.0 * speeds, usable) is None
