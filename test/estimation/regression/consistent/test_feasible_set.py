"""What physics allows, written as constraints on the prior's steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.regression.consistent.body_extents import body_extents
from sysid_ros.estimation.regression.consistent.feasible_set import feasible_set
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.mechanics.base_parameters import random_motion
from sysid_ros.robot.inertia import central_inertia, consistency_margin, inertial_parameters


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
])
def test_each_bound_is_there_and_says_what_it_is(problem, name, value, label):
    allowed = feasible_set(problem, Plausibility())
    slack = allowed.slack(changed(problem, **{name.replace('.', '__'): value}))
    broken = {text for text, left in zip(allowed.labels, slack, strict=True) if left < 0.0}
    assert label in broken
    assert all(text == label or text.startswith('moving mass') for text in broken)


def left_of(allowed, label, z):
    """What is left of the one bound whose label begins like this."""
    (row,) = (k for k, text in enumerate(allowed.labels) if text.startswith(label))
    return allowed.slack(z)[row]


def scaled_bodies(problem, factor, shoulder=1.0):
    """Steps to bodies so many times as heavy as the prior's."""
    parameters, theta = problem.parameters, problem.reference.copy()
    for body in parameters.bodies:
        theta[parameters.body_slice(body)] *= factor * (shoulder if body == 'shoulder' else 1.0)
    return steps(problem, theta)


@pytest.mark.parametrize('robot', simulated.NAMES)
def test_masses_count_together_that_torques_feel(robot):
    problem = simulated.golden(robot).problem()
    allowed = feasible_set(problem, Plausibility())
    parameters, model = problem.parameters, problem.model
    masses = [parameters.index(f'{body}.mass') for body in parameters.bodies]
    rows = model.regressor(*random_motion(model.robot, 50, 0))
    bodies = np.arange(len(parameters)) < 10 * len(parameters.bodies)
    points = []
    for body in parameters.bodies:
        mass, com, _ = central_inertia(parameters.prior[parameters.body_slice(body)])
        block = np.zeros(len(parameters))
        block[parameters.body_slice(body)] = inertial_parameters(mass, com, np.zeros((3, 3)))
        points.append(block)
    made = np.sqrt(np.mean((rows @ np.array(points).T)**2, axis=0))
    of_all = np.sqrt(np.mean((rows @ np.where(bodies, parameters.prior, 0.0))**2, axis=0))
    felt = np.linalg.norm(made / of_all[:, None], axis=0) > 0.1
    found = [k for k, label in enumerate(allowed.labels) if label.startswith('moving mass')]
    assert len(found) == 2 * felt.any()
    for row in allowed.matrix[found]:
        # In parameters, each mass that counts has the same weight and all else none.
        in_parameters = np.linalg.solve(problem.scale[problem.free].T, row)
        weight = np.abs(in_parameters / np.abs(in_parameters).max())
        expected = np.zeros(len(weight))
        expected[np.array(masses)[felt]] = 1.0
        np.testing.assert_allclose(weight, expected, atol=1e-9)


@pytest.mark.parametrize(('factor', 'shoulder'), [(1.8, 0.35), (1 / 2.9, 2.9 * 1.5)])
def test_a_shoulder_that_no_torque_feels_does_not_make_up_for_all_others(factor, shoulder):
    problem = simulated.golden('arm').problem()
    allowed = feasible_set(problem, Plausibility())
    z = scaled_bodies(problem, factor, shoulder)
    masses = [problem.parameters.index(f'{body}.mass') for body in problem.parameters.bodies]
    theta = problem.reference + problem.scale @ z
    total = theta[masses].sum() / problem.reference[masses].sum()
    assert abs(total - 1.0) < 0.3
    label = f'moving mass that torques feel {"<=" if factor > 1.0 else ">="}'
    assert left_of(allowed, label, z) < 0.0


@pytest.mark.parametrize('name', ['lmi', 'irls_lmi', 'entropic', 'log_cholesky', 'recursive'])
@pytest.mark.parametrize('factor', [1.8, 1 / 2.9])
def test_fits_of_far_too_light_and_heavy_descriptions_leave_an_unfelt_shoulder_alone(name, factor):
    golden = simulated.golden('arm')
    truth, parameters = golden.truth.copy(), golden.model.parameters
    bodies = slice(0, 10 * len(parameters.bodies))
    truth[bodies] = factor * parameters.prior[bodies]
    found = make_estimator(name).fit(simulated.Golden(golden.model, truth).problem(0.01))
    ratio = {body: found.parameters[f'{body}.mass'] / parameters.prior[
        parameters.index(f'{body}.mass')] for body in parameters.bodies}
    assert ratio['shoulder'] == pytest.approx(1.0, abs=0.1)
    # Upper arm and hand, of 3 and 1.5 kg, share what is allowed.
    assert 0.7 - 1e-6 <= (2.0 * ratio['upper'] + ratio['hand']) / 3.0 <= 1.3 + 1e-6
    # Where masses may not follow, centres of mass do.
    assert found.residuals.relative_error < 0.011


def test_all_of_the_mass_counts_that_was_weighed(problem):
    allowed = feasible_set(problem, Plausibility(weighed_mass=0.1))
    for mass, label in ((4.9, 'moving mass <= 9.35 kg'), (3.1, 'moving mass >= 7.65 kg')):
        z = changed(problem, shoulder__mass=mass)
        assert left_of(allowed, label, z) < 0.0
        assert left_of(allowed, 'moving mass that torques feel <=', z) > 0.0


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
    # Nor is anything known of its size.
    assert [label.split()[0] for label in labels if ' within ' in label] == ['shoulder', 'upper']


def arm_with_shapes(size):
    """The golden arm, whose hand is drawn as a box of this size in [m] along its link."""
    shape = (f'<collision><origin xyz="0.15 0 0"/><geometry><box size="{size} 0.12 0.12"/>'
             '</geometry></collision></link>')
    hand = simulated.link('hand', 1.5, (0.15, 0.02, 0.01), (0.3, 0.1, 0.12))
    return simulated.golden_of(
        simulated.arm_urdf().replace(hand, hand.removesuffix('</link>') + shape))


def test_a_body_is_kept_inside_of_its_shapes():
    problem = arm_with_shapes(0.3).problem()
    allowed = feasible_set(problem, Plausibility(shape_margin=1.0, tool_mass=0.0))
    assert 'hand inside of its shapes' in allowed.labels
    prior = problem.parameters.inertial('hand')
    names = problem.parameters.names[problem.parameters.body_slice('hand')]
    # The ellipsoid reaches half a metre from the joint at most.
    for centre, kept in (([0.2, 0.03, 0.0], True), ([0.5, 0.0, 0.0], False)):
        mass, _, inertia = central_inertia(prior)
        moved = inertial_parameters(mass, np.array(centre), inertia)
        values = dict(zip(names, moved, strict=True))
        z = steps(problem, problem.parameters.with_values(values).values)
        assert (left_of(allowed, 'hand inside', z) > 0.0) == kept
    assert allowed.notes == ()
    anywhere = feasible_set(problem, Plausibility(shape_margin=None))
    assert not any('inside of' in label or 'within' in label for label in anywhere.labels)


def test_an_end_may_carry_a_tool_that_the_description_lacks():
    # A hand of 0.1 kg at an arm of 7 kg.
    light = simulated.arm_urdf().replace('<mass value="1.5"/>', '<mass value="0.1"/>')
    problem = simulated.golden_of(light).problem()

    def bounds(**given):
        allowed = feasible_set(problem, Plausibility(**given))
        return {label.partition(' <= ')[0]: float(label.partition(' <= ')[2])
                for label in allowed.labels if '.mass <= ' in label}

    assert bounds()['hand.mass'] == pytest.approx(0.1 + 0.3 * 7.1)
    assert bounds(tool_mass=0.1)['hand.mass'] == pytest.approx(0.1 + 0.1 * 7.1)
    # No other body carries one, and who says how far masses are off means all of them.
    assert bounds()['upper.mass'] == pytest.approx(9.0)
    for given in ({'tool_mass': 0.0}, {'mass_factor': 3.0}):
        assert bounds(**given)['hand.mass'] == pytest.approx(0.3)
    with pytest.raises(ConfigurationError, match='tool_mass'):
        Plausibility(tool_mass=-0.1)


def test_shapes_that_do_not_hold_the_prior_are_told_and_not_believed():
    problem = arm_with_shapes(0.01).problem()
    allowed = feasible_set(problem, Plausibility())
    assert any(label.startswith('hand within') for label in allowed.labels)
    (note,) = allowed.notes
    assert note.startswith('The shapes of hand do not hold the mass')
    assert allowed.contains(np.zeros(problem.scale.shape[1]))
    for name in ('lmi', 'irls_lmi', 'entropic', 'log_cholesky', 'recursive'):
        assert note in make_estimator(name).fit(problem).notes


def test_a_body_that_came_without_mass_is_kept_inside_of_its_shapes_alone():
    for size, label in ((0.3, 'hand inside of its shapes'), (0.001, 'hand within ')):
        described = arm_with_shapes(size).model.robot.description.xml.decode()
        hand = simulated.link('hand', 1.5, (0.15, 0.02, 0.01), (0.3, 0.1, 0.12))
        inertial = hand[hand.index('<inertial>'):hand.index('</link>')]
        assert inertial in described
        problem = simulated.golden_of(described.replace(inertial, '')).problem()
        allowed = feasible_set(problem, Plausibility())
        assert any(text.startswith(label) for text in allowed.labels)
        # Nobody gave it a mass that its shapes could contradict.
        assert allowed.notes == ()


@pytest.mark.parametrize('fixed', [
    ('*.mass', '*.first_*', '*.inertia_xx', '*.inertia_yy', '*.inertia_zz'),
    ('hand.m*', 'hand.f*'), ('*.inertia_*',),
])
def test_what_is_fixed_of_a_body_leaves_bounds_on_the_rest_alone(fixed):
    problem = simulated.golden('arm').problem(fixed=fixed)
    allowed = feasible_set(problem, Plausibility())
    assert np.isfinite(allowed.matrix).all()
    assert np.isfinite(allowed.bound).all()
    assert allowed.contains(np.zeros(problem.scale.shape[1]))
    # A ball holds no product of inertia.
    within = sum(' within ' in label for label in allowed.labels)
    assert within == (0 if '*.mass' in fixed else 3)


@pytest.mark.parametrize('name', ['lmi', 'entropic', 'log_cholesky', 'recursive'])
def test_a_fit_leaves_the_centre_of_mass_inside_of_the_shapes_and_says_so(name):
    golden = arm_with_shapes(0.3)
    far = inertial_parameters(1.5, np.array([0.9, 0.0, 0.0]), 0.01 * np.eye(3))
    truth = golden.truth.copy()
    truth[golden.model.parameters.body_slice('hand')] = far
    problem = simulated.Golden(golden.model, truth).problem(0.01)
    wide = {'mass_factor': 10.0, 'total_mass': 10.0}
    ellipsoid = body_extents(golden.model.robot)['hand'].ellipsoid.grown(1.2)
    free, kept = (
        make_estimator(name, plausibility=Plausibility(**wide, shape_margin=margin)).fit(problem)
        for margin in (None, 1.2))
    assert free.status.ok
    assert kept.status.ok
    assert kept.consistent
    assert ellipsoid.spread(free.parameters.inertial('hand')) > 1.0
    assert ellipsoid.spread(kept.parameters.inertial('hand')) <= 1.0 + 1e-6
    leans = [note for note in kept.notes if 'hand inside of its shapes' in note]
    # Barriers stop short of bounds.
    assert len(leans) == (name in ('lmi', 'log_cholesky'))


def test_fixed_bodies_are_not_constrained(problem):
    fixed = simulated.golden('arm').problem(fixed=('upper.*', 'elbow.*'))
    allowed = feasible_set(fixed, Plausibility())
    assert allowed.names == ('shoulder', 'hand')
    assert not any(label.startswith(('upper', 'elbow')) for label in allowed.labels)
    # What is fixed still weighs on the scales.
    weighed = feasible_set(fixed, Plausibility(weighed_mass=0.1))
    assert 'moving mass <= 9.35 kg' in weighed.labels


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
    unbounded = [name.endswith('torque_offset') for name in names]
    np.testing.assert_array_equal(allowed.unbounded, unbounded)


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


def test_bounds_that_a_point_all_but_touches_bend_no_more_than_active_ones(problem):
    allowed = feasible_set(problem, Plausibility())
    row = allowed.labels.index('elbow.armature >= 0')
    normal = allowed.matrix[row]
    for left in (1e-4, 1e-9):
        z = allowed.interior() + (allowed.slack(allowed.interior())[row] - left) * normal
        assert allowed.slack(z)[row] == pytest.approx(left, rel=1e-3)
        along = float(normal @ allowed.barrier_hessian(z) @ normal)
        assert along == pytest.approx(max(left, 1e-6) ** -2.0, rel=1e-3)


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
    {'weighed_mass': 0.0}, {'shape_margin': 0.99}, {'size_factor': 1.0},
])
def test_a_range_without_the_prior_is_refused(wrong):
    (name,) = wrong
    with pytest.raises(ConfigurationError, match=f'{name}: the plausible range'):
        Plausibility(**wrong)
