"""What physics allows, written as constraints on the prior's steps."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.regression.feasible_set import Plausibility, feasible_set
from sysid_ros.robot.inertia import consistency_margin

simulated = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / 'golden_problems.py')))


@pytest.fixture(scope='module')
def problem():
    return simulated.golden('arm').problem()


def steps(problem, theta):
    return np.linalg.lstsq(problem.scale, theta - problem.reference, rcond=None)[0]


def changed(problem, **values):
    names = {name.replace('__', '.'): value for name, value in values.items()}
    return steps(problem, problem.parameters.with_values(names).values)


def test_the_prior_and_the_truth_are_allowed(problem):
    allowed = feasible_set(problem, Plausibility())
    assert allowed.contains(np.zeros(problem.scale.shape[1]))
    assert allowed.contains(steps(problem, simulated.golden('arm').truth))


def test_the_matrices_are_margins_against_the_prior(problem, rng):
    allowed = feasible_set(problem, Plausibility(margin=0.02))
    z = 0.3 * rng.normal(size=problem.scale.shape[1])
    theta = problem.reference + problem.scale @ z
    smallest = np.linalg.eigvalsh(allowed.pseudo_inertias(z))[:, 0]
    for body, found in zip(allowed.names, smallest, strict=True):
        block = problem.parameters.body_slice(body)
        expected = consistency_margin(theta[block], problem.parameters.prior[block])
        assert found + 0.02 == pytest.approx(float(expected), abs=1e-9)


def test_a_body_that_no_masses_make_up_is_not_allowed(problem):
    allowed = feasible_set(problem, Plausibility())
    prior = problem.parameters.prior[problem.parameters.index('hand.inertia_zz')]
    assert not allowed.contains(changed(problem, hand__inertia_zz=-prior))
    assert not allowed.contains(changed(problem, hand__inertia_zz=10 * prior))


@pytest.mark.parametrize(('name', 'value', 'label'), [
    ('elbow.viscous_friction', -0.1, 'elbow.viscous_friction >= 0'),
    ('elbow.coulomb_friction', -0.1, 'elbow.coulomb_friction >= 0'),
    ('elbow.armature', -0.1, 'elbow.armature >= 0'),
    ('hand.mass', 4.6, 'hand.mass <= 4.5'),
    ('hand.mass', 0.45, 'hand.mass >= 0.5'),
    ('shoulder.mass', 7.0, 'moving mass <= 11.05 kg'),
    ('shoulder.mass', 1.4, 'moving mass >= 5.95 kg'),
])
def test_each_bound_is_there_and_says_what_it_is(problem, name, value, label):
    allowed = feasible_set(problem, Plausibility())
    slack = allowed.slack(changed(problem, **{name.replace('.', '__'): value}))
    broken = {text for text, left in zip(allowed.labels, slack, strict=True) if left < 0.0}
    assert label in broken
    assert broken <= {label, 'moving mass <= 11.05 kg', 'moving mass >= 5.95 kg'}


def test_an_offset_has_no_bound(problem):
    allowed = feasible_set(problem, Plausibility())
    assert allowed.contains(changed(problem, elbow__torque_offset=-1e3))


def test_bounds_of_the_user_hold_too(problem):
    upper = problem.parameters.upper.copy()
    upper[problem.parameters.index('elbow.viscous_friction')] = 0.25
    bounded = replace(problem, parameters=replace(problem.parameters, upper=upper))
    allowed = feasible_set(bounded, Plausibility())
    assert 'elbow.viscous_friction <= 0.25' in allowed.labels
    assert not allowed.contains(changed(bounded, elbow__viscous_friction=0.3))


def test_slack_is_a_distance_in_steps_of_the_prior(problem):
    allowed = feasible_set(problem, Plausibility())
    np.testing.assert_allclose(np.linalg.norm(allowed.matrix, axis=1), 1.0)


def test_a_body_described_without_mass_is_not_held_to_any():
    urdf = simulated.arm_urdf()
    hand = simulated.link('hand', 1.5, (0.15, 0.02, 0.01), (0.3, 0.1, 0.12))
    assert hand in urdf
    bare = simulated.golden_of(urdf.replace(hand, '<link name="hand"/>')).problem()
    labels = feasible_set(bare, Plausibility()).labels
    assert 'hand.mass >= 0' in labels
    assert not any(label.startswith(('hand.mass <=', 'moving mass')) for label in labels)


def test_fixed_bodies_are_not_constrained(problem):
    fixed = simulated.golden('arm').problem(fixed=('upper.*', 'elbow.*'))
    allowed = feasible_set(fixed, Plausibility())
    assert allowed.names == ('shoulder', 'hand')
    assert not any(label.startswith(('upper', 'elbow')) for label in allowed.labels)
    # What is fixed still weighs in the sum.
    assert any(label.startswith('moving mass <=') for label in allowed.labels)


def test_nothing_to_constrain_allows_all():
    fixed = simulated.golden('arm').problem(fixed=('*.m*', '*.i*', '*.f*', '*_friction', '*.a*'))
    allowed = feasible_set(fixed, Plausibility())
    assert allowed.names == allowed.labels == ()
    assert allowed.contains(np.full(3, 1e9))


@pytest.mark.parametrize('fixed', [(), ('upper.*', 'hand.mass', 'elbow.*'), ('*.*_y',)])
def test_constraints_of_a_group_concern_its_steps_only(fixed):
    problem = simulated.golden('arm').problem(fixed=fixed)
    allowed = feasible_set(problem, Plausibility())
    steps = problem.scale.shape[1]
    sizes = np.diff(allowed.groups)
    group = np.repeat(np.arange(len(sizes)), sizes)
    assert len(group) == steps
    for c, name in enumerate(allowed.names):
        (own,) = np.flatnonzero(allowed.group_body == c)
        used = np.abs(allowed.slopes[c]).max(axis=(1, 2)) > 0.0
        assert set(group[used]) == {own}
        assert sizes[own] == problem.free[problem.parameters.body_slice(name)].sum()
    assert (sizes[allowed.group_body < 0] == 1).all()
    for row, owner, label in zip(allowed.matrix, allowed.owner, allowed.labels, strict=True):
        touched = set(group[np.flatnonzero(row)])
        assert (owner == -1) == (len(touched) > 1)
        assert owner >= 0 or label.startswith('moving mass')
        assert owner == -1 or touched == {owner}
    names = np.array(problem.parameters.names)[problem.free]
    unbent = [name.endswith('torque_offset') for name in names]
    np.testing.assert_array_equal(allowed.unbent, unbent)


def test_the_prior_is_moved_inside_of_its_bounds(problem):
    allowed = feasible_set(problem, Plausibility())
    theta = problem.reference + problem.scale @ allowed.interior()
    for k, name in enumerate(problem.parameters.names):
        if name.endswith(('_friction', '.armature')):
            assert problem.parameters.prior[k] == 0.0
            assert theta[k] > 0.0
        else:
            assert theta[k] == pytest.approx(problem.parameters.prior[k])


def test_a_prior_outside_has_no_interior_point():
    golden = simulated.golden('arm')
    # Held at a mass that its own moments of inertia contradict.
    values = golden.model.parameters.with_values({'hand.mass': 0.01}).fixed('hand.mass')
    problem = replace(golden.problem(), parameters=values)
    assert feasible_set(problem, Plausibility()).interior() is None


def test_the_derivatives_of_the_barrier_are_those_of_its_logarithms(problem, rng):
    allowed = feasible_set(problem, Plausibility())

    def barrier(z):
        determinants = np.linalg.slogdet(allowed.pseudo_inertias(z))[1]
        return -determinants.sum() - np.log(allowed.slack(z)).sum()

    z = allowed.interior() + 0.02 * rng.normal(size=problem.scale.shape[1])
    h = 1e-6
    slopes = [(barrier(z + e) - barrier(z - e)) / (2 * h) for e in h * np.eye(len(z))]
    np.testing.assert_allclose(allowed.barrier_gradient(z), slopes, rtol=1e-6, atol=1e-6)
    bends = [(allowed.barrier_gradient(z + e) - allowed.barrier_gradient(z - e)) / (2 * h)
             for e in h * np.eye(len(z))]
    np.testing.assert_allclose(allowed.barrier_hessian(z), bends, rtol=1e-6, atol=1e-6)


def test_inside_nothing_is_active(problem):
    allowed = feasible_set(problem, Plausibility())
    active = allowed.active(allowed.interior())
    assert active.labels == ()
    assert active.gradients.shape == (0, problem.scale.shape[1])


def test_active_bounds_are_told_with_their_gradients(problem):
    allowed = feasible_set(problem, Plausibility())
    z = changed(problem, elbow__armature=0.0, elbow__viscous_friction=0.3)
    active = allowed.active(z)
    row = active.gradients[active.labels.index('elbow.armature >= 0')]
    assert 'elbow.viscous_friction >= 0' not in active.labels
    # Out of what is allowed is towards less armature.
    step = changed(problem, elbow__armature=-1.0, elbow__viscous_friction=0.3) - z
    assert row @ step == pytest.approx(np.linalg.norm(step))


@pytest.mark.parametrize('rank', [1, 2, 3])
def test_movements_along_the_edge_of_consistency_stay_on_it(problem, rng, rank):
    allowed = feasible_set(problem, Plausibility())
    # A hand whose whitened matrix has a null space of this size.
    body = allowed.names.index('hand')
    start, stop = allowed.steps[body]
    slopes = allowed.slopes[body, start:stop].reshape(-1, 16).T
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    wanted = turn @ np.diag([0.0] * rank + [1.0] * (4 - rank)) @ turn.T
    z = allowed.interior()
    z[start:stop] = np.linalg.lstsq(
        slopes, (wanted - allowed.constant[body]).ravel(), rcond=None)[0]
    active = allowed.active(z)
    held = [label == 'consistency of hand' for label in active.labels]
    gradients = active.gradients[held]
    assert len(gradients) == rank * (rank + 1) // 2
    basis = np.linalg.svd(gradients)[2][len(gradients):]
    h = 1e-4
    for along in basis[rng.integers(len(basis), size=5)]:
        changes = np.abs(np.linalg.eigvalsh(allowed.pseudo_inertias(z + h * along)[body])[:rank])
        assert changes.max() < 10.0 * h**2
    across = np.linalg.eigvalsh(allowed.pseudo_inertias(z + h * gradients[0])[body])[:rank]
    assert np.abs(across).max() > 0.1 * h * np.linalg.norm(gradients[0])


@pytest.mark.parametrize('wrong', [
    {'margin': 0.0}, {'margin': 1.0}, {'mass_factor': 1.0}, {'total_mass': 0.0},
])
def test_a_range_without_the_prior_is_refused(wrong):
    (name,) = wrong
    with pytest.raises(ConfigurationError, match=f'{name}: the plausible range'):
        Plausibility(**wrong)
