"""What is known from elsewhere: weighed links and totals become priors and bounds."""

from __future__ import annotations

import numpy as np
import pytest

from support.simulated_arm import SimulatedArm
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.identification import IdentificationSettings
from sysid_ros.estimation.payload.known import Known, LoadFinding
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.robot.inertia import is_consistent


@pytest.fixture(scope='module')
def arm():
    return SimulatedArm(3)


def masses(parameters):
    return {body: parameters.prior[parameters.index(f'{body}.mass')] for body in parameters.bodies}


def test_nothing_known_changes_nothing(arm):
    assert Known().parameters(arm.model) is arm.model.parameters


def test_a_weighed_link_has_that_mass_and_its_whole_body_is_scaled(arm):
    body = arm.model.robot.body_names[1]
    before = arm.model.parameters
    found = Known(masses={body: 5.0}, accuracy=0.02).parameters(arm.model)
    block = found.body_slice(body)
    np.testing.assert_allclose(
        found.prior[block], before.prior[block] * 5.0 / before.prior[block.start])
    assert is_consistent(found.prior[block])
    np.testing.assert_array_equal(found.values, found.prior)
    assert (found.lower[block.start], found.upper[block.start]) == pytest.approx((4.7, 5.3))
    others = np.ones(len(found), dtype=bool)
    others[block] = False
    for field in ('prior', 'lower', 'upper'):
        np.testing.assert_array_equal(getattr(found, field)[others],
                                      getattr(before, field)[others])


def test_what_was_not_weighed_shares_the_rest_of_the_total(arm):
    first, *rest = arm.model.robot.body_names
    described = masses(arm.model.parameters)
    found = masses(Known(masses={first: 4.0}, total_mass=14.0).parameters(arm.model))
    assert found[first] == 4.0
    assert sum(found.values()) == pytest.approx(14.0)
    ratios = [found[body] / described[body] for body in rest]
    assert ratios == pytest.approx([ratios[0]] * len(rest))


@pytest.mark.parametrize(('known', 'words'), [
    (Known(masses={'no_such': 1.0}), 'no such moving link'),
    (Known(masses={'upper_arm': 9.0}, total_mass=8.0), 'together'),
])
def test_what_does_not_fit_the_robot_is_refused(arm, known, words):
    with pytest.raises(ConfigurationError, match=words):
        known.parameters(arm.model)


def test_a_link_weighed_under_two_names_is_refused(arm):
    robot = arm.model.robot
    shared = [link.name for link in robot.links if link.body == robot.links[-1].body]
    assert len(shared) > 1
    with pytest.raises(ConfigurationError, match='moves as one'):
        Known(masses=dict.fromkeys(shared[:2], 1.0)).parameters(arm.model)


@pytest.mark.parametrize('estimator', ['lmi', 'entropic', 'log_cholesky', 'recursive'])
def test_a_fit_keeps_what_was_weighed(arm, estimator):
    body = arm.model.robot.body_names[2]
    parameters = Known(masses={body: 7.0}).parameters(arm.model)
    problem = RegressionProblem.from_dataset(arm.model, arm.dataset(), parameters=parameters)
    found = make_estimator(estimator).fit(problem)
    assert found.status.ok
    assert found.parameters[f'{body}.mass'] == pytest.approx(7.0, rel=0.031)


def test_a_weighed_total_is_what_a_fit_keeps(arm):
    data = {'recording': {'format': 'rosbag', 'file': 'a.mcap'}}
    settings = IdentificationSettings.model_validate(data | {'known': {'total_mass': 20.0}})
    assert settings.fit.plausibility == Plausibility(weighed_mass=0.03)
    given = data | {'known': {'total_mass': 20.0}, 'fit': {'plausibility': {'weighed_mass': 0.1}}}
    assert IdentificationSettings.model_validate(given).fit.plausibility.weighed_mass == 0.1
    again = IdentificationSettings.model_validate(settings.model_dump(exclude_unset=True))
    assert again.fit.plausibility == settings.fit.plausibility


@pytest.mark.parametrize('estimator', ['lmi', 'entropic', 'log_cholesky', 'recursive'])
def test_a_fit_keeps_the_weighed_total_though_torques_do_not_tell_it(arm, estimator):
    described = sum(masses(arm.model.parameters).values())
    known = Known(total_mass=1.15 * described)
    problem = RegressionProblem.from_dataset(
        arm.model, arm.dataset(), parameters=known.parameters(arm.model))
    plausibility = Plausibility(**known.plausibility)
    parameters = make_estimator(estimator, plausibility=plausibility).fit(problem).parameters
    total = sum(parameters[f'{body}.mass'] for body in parameters.bodies)
    assert total == pytest.approx(1.15 * described, rel=0.0301)


@pytest.mark.parametrize(('found', 'deviation', 'told', 'off'), [
    (2.02, 0.01, True, False),   # within chance
    (2.06, 0.001, True, False),  # sure, but too little to matter
    (2.6, 0.02, True, True),
    (2.44, 0.09, True, True),    # by two deviations and a half
    (2.16, 0.06, True, False),
    (1.0, 0.02, True, True),
    (-2.0, 0.02, True, True),    # the recordings exchanged, or the signs
    (3.0, 0.4, False, False),    # nothing tells it
    (2.0, np.inf, False, False),
])
def test_a_load_tells_the_scale_beyond_chance(found, deviation, told, off):
    finding = LoadFinding(2.0, found, deviation)
    assert (finding.determined, finding.off) == (told, off)
