"""The best of the parameters that physics allows, near a fit of states and parameters."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from support import trajectory_problems as made
from sysid_ros.errors import SysidError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.trajectory.assessment import determined_parameters
from sysid_ros.estimation.trajectory.collocation_estimator import CollocationEstimator
from sysid_ros.estimation.trajectory.consistency import QuadraticModel, consistent_values
from sysid_ros.estimation.trajectory.consistency_rounds import ConsistencyRounds
from sysid_ros.estimation.trajectory.search_log import SearchLog


def quadratic(problem):
    free = len(problem.free)
    return QuadraticModel(np.eye(free), np.eye(free), np.zeros(free))


def with_inertia(parameters, values):
    """Parameters whose rod could only be a body if its moment of inertia were larger."""
    values = values.copy()
    values[parameters.index('rod.inertia_yy')] = 1e-9
    return values


def test_parameters_held_where_no_body_is_left_end_a_fit_early():
    problem, _, _ = made.swinging()
    parameters = problem.parameters.fixed('rod.inertia_yy')
    held = replace(problem, parameters=parameters.with_values(
        with_inertia(parameters, parameters.values)))
    values, status = consistent_values(
        held, held.parameters.values, quadratic(held), 0.1, Plausibility())
    assert status is Status.INACCURATE
    np.testing.assert_array_equal(values, held.parameters.values)


def test_a_prior_that_is_no_body_is_refused():
    problem, _, _ = made.swinging()
    parameters = problem.parameters.fixed('rod.inertia_yy')
    wrong = replace(parameters, prior=with_inertia(parameters, parameters.prior))
    wrong = replace(problem, parameters=wrong.with_values(wrong.prior))
    with pytest.raises(SysidError, match='inconsistent|not strictly inside'):
        consistent_values(wrong, wrong.parameters.values, quadratic(wrong), 0.1, Plausibility())


def test_masses_keep_the_range_of_the_settings():
    problem, _, _ = made.swinging()
    mass = problem.parameters.index('rod.mass')
    pull = quadratic(problem)
    pull.gradient[list(problem.free).index(mass)] = -1e4
    prior = problem.parameters.prior[mass]
    for factor in (1.2, 2.0):
        values, status = consistent_values(
            problem, problem.parameters.values, pull, 1e-6,
            Plausibility(mass_factor=factor, total_mass=10.0))
        assert status is Status.CONVERGED
        assert values[mass] == pytest.approx(factor * prior, rel=1e-3)


@dataclass(frozen=True)
class Overshooting:
    """An estimator whose cost bends so many times as much as the information it tells."""

    bends: float
    start: object
    prior_strength: float = 1e-6
    parameter_tolerance: float = 0.01
    plausibility: Plausibility = field(default_factory=Plausibility)

    def at(self, problem, motion):
        away = (problem.parameters.values - self.start.values)[problem.free]
        gradient = self.bends * self.start.information @ away
        # Scores as white noise of unit variance would leave, but for that gradient.
        size, vectors = np.linalg.eigh(self.start.information)
        root = vectors * np.sqrt(np.maximum(size, 0.0))
        white = np.random.default_rng(0).normal(size=self.start.scores.shape)
        scores = (white - white.mean(axis=0)) @ root.T / np.sqrt(len(white))
        return replace(
            self.start, values=problem.parameters.values, scores=scores + gradient / len(white))

    def search(self, problem, start, log):
        return replace(start, status=Status.CONVERGED)


@pytest.mark.parametrize('bends', [1.0, 1.8, 2.0, 2.5])
def test_rounds_that_jump_to_and_fro_are_halved_until_they_settle(bends):
    problem, _, _ = made.swinging()
    start = CollocationEstimator().at(problem, None)
    known = determined_parameters(problem, start.information)
    index = int(problem.free[np.flatnonzero(known.mask)[-1]])
    values = start.values.copy()
    deviation = 1.0 / np.sqrt(start.information[np.flatnonzero(known.mask)[-1]].max())
    values[index] += 5.0 * deviation
    rounds = ConsistencyRounds(Overshooting(bends, start), problem, known, SearchLog(100))
    found = rounds.run(replace(start, values=values))
    assert found.status is Status.CONVERGED
    assert abs(found.values[index] - start.values[index]) < 0.1 * deviation


@dataclass(frozen=True)
class Vanishing(Overshooting):
    """One whose data tell nothing of a parameter where the search ended."""

    lost: int = 0

    def at(self, problem, motion):
        found = super().at(problem, motion)
        information, scores = found.information.copy(), found.scores.copy()
        information[self.lost], information[:, self.lost], scores[:, self.lost] = 0.0, 0.0, 0.0
        return replace(found, information=information, scores=scores)


def test_what_nothing_tells_where_the_search_ended_is_held_there():
    problem, _, _ = made.swinging()
    start = CollocationEstimator().at(problem, None)
    known = determined_parameters(problem, start.information)
    index = problem.parameters.index('swing.coulomb_friction')
    lost = int(np.flatnonzero(problem.free == index)[0])
    assert known.mask[lost]
    values = start.values.copy()
    values[index] *= 3.0
    rounds = ConsistencyRounds(
        Vanishing(1.0, start, lost=lost), problem, known, SearchLog(100))
    found = rounds.run(replace(start, values=values))
    assert found.status is Status.CONVERGED
    assert found.values[index] == values[index]
