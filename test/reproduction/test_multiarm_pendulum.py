"""Single and double pendulum on real bearings: free swing, fitted whole and tried on more of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import furuta_recordings as furuta
from support import pendulum_recordings as pendulums
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.shooting import Shooting

SINGLE, DOUBLE = pendulums.SINGLE, pendulums.DOUBLE
# Every tenth sample: steps of 10 ms, in which the integration is 100 times finer than the noise.
EVERY = 10
# Bars in [rad]. The published parameters give 0.0059 and 0.0084 on the double pendulum, MuJoCo's
# toolbox 0.0049 and 0.0079. What a fit takes is measured by benchmarks/pendulum.py.
SINGLE_BAR, DOUBLE_BAR = 0.02, np.array([0.0055, 0.0078])


@pytest.fixture(scope='module')
def recordings(shared_data):
    if not (shared_data / 'multiarm_pendulum').is_dir():
        pytest.skip(f'no multiarm_pendulum in {shared_data}')
    return shared_data


@pytest.fixture(scope='module')
def fits(recordings):
    """Problem and solution of viscous friction, by pendulum."""
    found = {}
    for pendulum in (SINGLE, DOUBLE):
        model = pendulum.model()
        segments = pendulum.segments(recordings, 'id', EVERY)
        problem = TrajectoryProblem(model, pendulum.parameters(model), segments)
        found[pendulum] = problem, pendulums.fitted(problem)
    return found


def errors(fits, pendulum, recordings, starts):
    problem, solution = fits[pendulum]
    unseen = pendulum.segments(recordings, 'vad')
    return pendulums.held_out(problem, solution.values, unseen, starts)


@pytest.mark.parametrize('pendulum', [SINGLE, DOUBLE], ids=lambda p: p.name)
def test_the_fit_converges_from_uniform_rods(fits, pendulum):
    _, solution = fits[pendulum]
    print(f'\n{pendulum.name}: {len(solution.iterations)} iterations after the rough ones')
    assert solution.status is Status.CONVERGED


def test_the_single_pendulum_swings_on_as_simulated(fits, recordings):
    recorded, estimated = (
        errors(fits, SINGLE, recordings, starts)[:, 0] for starts in ('recorded', 'estimated'))
    print(f'\nsingle pendulum on unseen segments: {estimated.round(4)} rad, '
          f'from the recorded start {recorded.round(4)} rad')
    assert (estimated <= SINGLE_BAR).all()


def test_the_double_pendulum_swings_on_as_simulated_from_the_recorded_start(fits, recordings):
    recorded, estimated = (
        errors(fits, DOUBLE, recordings, starts).mean(axis=0)
        for starts in ('recorded', 'estimated'))
    print(f'\ndouble pendulum on unseen segments: {recorded.round(4)} rad, '
          f'with the start estimated {estimated.round(4)} rad')
    assert (recorded <= DOUBLE_BAR).all()


def test_starts_taken_as_recorded_meet_the_bar_too(fits, recordings):
    problem, _ = fits[DOUBLE]
    solution = pendulums.fitted(problem, starts='recorded')
    unseen = DOUBLE.segments(recordings, 'vad')
    found = pendulums.held_out(problem, solution.values, unseen, 'recorded').mean(axis=0)
    print(f'\ndouble pendulum, fitted from recorded starts: {found.round(4)} rad')
    assert (found <= DOUBLE_BAR).all()


@pytest.mark.parametrize('rule', ['midpoint', 'trapezoidal'])
def test_a_variational_integrator_meets_the_bar_too(fits, recordings, rule):
    problem, _ = fits[DOUBLE]
    solution = pendulums.fitted(problem, integrator=rule, substeps=4)
    unseen = DOUBLE.segments(recordings, 'vad')
    found = pendulums.held_out(problem, solution.values, unseen, 'recorded').mean(axis=0)
    print(f'\ndouble pendulum, fitted by the {rule} rule: {found.round(4)} rad')
    assert solution.status is Status.CONVERGED
    assert (found <= DOUBLE_BAR).all()


def test_free_swing_does_not_show_the_scale_of_the_masses(fits):
    problem, solution = fits[DOUBLE]
    parameters = problem.parameters.with_values(solution.values)
    free = parameters.free.copy()
    free[parameters.index('upper.first_moment_z')] = True
    scaled = replace(problem, parameters=replace(parameters, free=free))
    again = Shooting(max_iterations=1).solve(scaled)
    information, at = again.information, parameters.with_values(again.values)
    unit = np.sqrt(np.diag(information))
    values, vectors = np.linalg.eigh(information / np.outer(unit, unit))
    assert values[0] < 1e-8 < 1e-6 < values[1]
    # All of them together, bodies and friction alike.
    direction = vectors[:, 0] / unit
    names = np.array(parameters.names)[free]
    moved = dict(zip(names, direction, strict=True))
    ratio = moved['shoulder.viscous_friction'] / at['shoulder.viscous_friction']
    expected = ratio * at['lower.first_moment_z']
    assert moved['lower.first_moment_z'] == pytest.approx(expected, rel=1e-3)
    held = solution.information / np.outer(*2 * [np.sqrt(np.diag(solution.information))])
    assert np.linalg.eigvalsh(held)[0] > 1e-6


def test_more_friction_never_costs_more_and_dry_friction_foretells_better(recordings):
    unseen = DOUBLE.segments(recordings, 'vad', EVERY)
    segments = DOUBLE.segments(recordings, 'id', 2 * EVERY)
    found = pendulums.nested(DOUBLE, segments, horizon=0.7, max_iterations=40)
    costs, tried = [], []
    print('\ndouble pendulum                cost   unseen, recorded start')
    for name, (problem, solution) in found.items():
        costs.append(pendulums.cost(problem, solution))
        tried.append(pendulums.held_out(problem, solution.values, unseen, 'recorded').mean(axis=0))
        print(f'{name:26s} {costs[-1]:9.1f}   {tried[-1].round(4)}   {solution.status.name}')
    # Shapes of friction go the general way, which rounds otherwise.
    assert costs[1] <= costs[0] * (1.0 + 1e-9)
    assert costs[2] <= costs[1] * (1.0 + 1e-9)
    assert (tried[1] < tried[0]).all()


def test_periods_of_the_single_pendulum_are_those_of_the_published_parameters(recordings):
    mass, length, inertia, _, gravity = SINGLE.published(recordings)
    published = mass * gravity * length / (inertia + mass * length**2)
    swings = [swing for kind in ('id', 'vad') for swing in SINGLE.swings(recordings, kind)]
    found = np.concatenate([
        furuta.stiffness_per_inertia(swing.t, swing.joints[:, 0])[:, 1] for swing in swings])
    print(f'\nm g l / J from {len(found)} periods: {found.mean():.2f} ± {found.std():.2f} 1/s², '
          f'published {published:.2f}')
    assert found == pytest.approx(published, rel=0.005)
