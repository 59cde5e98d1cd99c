"""Parameters and motion on one factor graph: a driven linkage, and one that swings freely."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import four_bar_recordings as made
from sysid_ros.errors import EstimationError, ParameterError
from sysid_ros.estimation.trajectory.graph.factors import Trapezoidal
from sysid_ros.estimation.trajectory.graph.free_parameters import ParameterPrior, free_parameters_of
from sysid_ros.estimation.trajectory.graph.identification import identify
from sysid_ros.estimation.trajectory.graph.mechanism_factors import Dynamics
from sysid_ros.estimation.trajectory.graph.smoother import FixedLagSmoother


@pytest.fixture(scope='module')
def powered():
    """A short recording: two seconds at 4 ms."""
    return made.Recording(4e-3, 501)


@pytest.fixture(scope='module')
def estimate(powered):
    return identify(powered.graph(3))


def test_masses_and_friction_are_found_within_their_intervals(estimate, powered):
    assert estimate.status.ok and not estimate.held and not estimate.notes
    assert (np.abs(estimate.values - made.TRUTH) <= 3.5 * estimate.standard_deviation).all()
    # Better than where it began, and known to a few per cent from two seconds.
    assert (estimate.standard_deviation <= 0.05 * made.TRUTH).all()
    angle = estimate.solution.variables['z'][:, 0]
    assert np.sqrt(np.mean((angle - powered.truth[0])**2)) < 0.5 * made.ENCODER
    low, high = estimate.interval('coupler.mass')
    assert low < estimate.values[1] < high


def test_the_information_is_the_curvature_of_the_cost(estimate, powered):
    # Parameters moved and held there, states adapted: the cost rises by half the square.
    graph, step = powered.graph(3), 2.0 * estimate.standard_deviation[3]
    costs = []
    for sign in (-1.0, 1.0):
        moved = estimate.values + sign * step * np.eye(4)[3]
        held = graph.parameters._replace(start=moved, lower=moved, upper=moved)
        costs.append(replace(graph, free_parameters=held).solve(estimate.solution.variables).cost)
    rise = 0.5 * sum(costs) - estimate.solution.cost
    wanted = 0.5 * estimate.solution.information[3, 3] * step**2
    assert rise == pytest.approx(wanted, rel=0.02)


def test_integration_and_dynamics_may_be_exact_with_parameters_sought(powered, estimate):
    graph = powered.graph(3)
    exact = [
        replace(factor, sigma=0.0) if isinstance(factor, (Dynamics, Trapezoidal)) else factor
        for factor in graph.factors]
    found = identify(replace(graph, factors=exact), estimate.solution.variables)
    assert found.status.ok
    # Tight factors are a thousandth of the sensors' noise: they tell nearly the same.
    off = (found.values - estimate.values) / estimate.standard_deviation
    assert np.abs(off).max() < 0.02
    # The lag up to which scores count as correlated may be another.
    np.testing.assert_allclose(found.standard_deviation, estimate.standard_deviation, rtol=0.03)
    z, dz, ddz = (found.solution.variables[name] for name in ('z', 'dz', 'ddz'))
    half = 0.5 * graph.step
    np.testing.assert_allclose(np.diff(z, axis=0), half * (dz[1:] + dz[:-1]), atol=1e-8)
    np.testing.assert_allclose(np.diff(dz, axis=0), half * (ddz[1:] + ddz[:-1]), atol=1e-8)


def test_without_a_torque_only_ratios_are_known_and_that_is_said():
    graph = made.Recording(4e-3, 401, powered=False).graph(1)
    found = identify(graph)
    assert len(found.held) == 1
    assert np.isinf(found.standard_deviation).all()
    assert 'tell only the ratios' in found.notes[0] and 'Measure a torque' in found.notes[0]
    # The ratios are right, whatever the scale that was held.
    scale = found.values / made.TRUTH
    assert np.ptp(scale) / scale.mean() < 0.1
    # With that one known, so are the others.
    known = found.names.index(found.held[0])
    right = graph.parameters.start.copy()
    right[known] = made.TRUTH[known]
    again = identify(replace(graph, free_parameters=graph.parameters._replace(start=right)))
    assert np.abs(again.values / made.TRUTH - 1.0).max() < 0.1


def test_a_prior_of_a_parameter_counts_as_a_reading(powered):
    graph = powered.graph(3)
    prior = ParameterPrior(['rocker.mass'], np.array([4.2]), [1e-6])
    found = identify(replace(graph, factors=[*graph.factors, prior]))
    assert found.values[2] == pytest.approx(4.2, abs=1e-4)
    with pytest.raises(ParameterError, match=r"not sought.*found 'theta.mass'"):
        identify(replace(graph, factors=[
            *graph.factors, ParameterPrior(['theta.mass'], np.zeros(1), 1.0)]))


def test_mistakes_are_said(powered):
    graph = powered.graph(3)
    with pytest.raises(EstimationError, match='no parameters are sought'):
        identify(replace(graph, free_parameters=None))
    with pytest.raises(ParameterError, match='sought twice'):
        free_parameters_of(graph.mechanism, ['crank.mass', 'crank.mass'])
    with pytest.raises(ParameterError, match='no such parameter'):
        free_parameters_of(graph.mechanism, ['crank.weight'])


@pytest.mark.parametrize('window', [3, 10])
def test_the_smoother_carries_parameters_along_and_ends_where_the_whole_graph_does(
    powered, window
):
    graph = powered.graph(3)
    prior = ParameterPrior(made.NAMES, graph.parameters.start, 0.3 * made.TRUTH)
    graph = replace(graph, factors=[*graph.factors, prior])
    whole, smoother = identify(graph), FixedLagSmoother(graph, window)
    smoother.run()
    off = (smoother.values - whole.values) / whole.standard_deviation
    assert np.abs(off).max() < 0.05
    np.testing.assert_allclose(
        np.sqrt(np.diag(smoother.covariance())), whole.standard_deviation, rtol=0.01)
