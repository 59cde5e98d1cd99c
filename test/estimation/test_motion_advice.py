"""What no motion shows, what this one did not, and whether the motion named would."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.estimation.estimate import Estimate, Knowledge, Status
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.identifiability import Identifiability, WeakParameter
from sysid_ros.estimation.motion_advice import (
    candidate_motions,
    identifiability,
    with_identifiability,
)
from sysid_ros.estimation.regression.noise import noise_level
from sysid_ros.mechanics.base_parameters import random_motion

ROBOTS = ('arm', 'branched and prismatic', 'mimic joint', 'geared rotor')


def advice(problem):
    return identifiability(problem, make_estimator('wls').fit(problem))


@pytest.mark.parametrize('robot', ROBOTS)
def test_candidates_stay_within_the_limits_and_are_derivatives_of_each_other(robot):
    model = simulated.golden(robot).model.robot
    limits = model.limits
    found = list(candidate_motions(model))
    joints = len(model.joint_names)
    # Of the branches, joint3, joint4 and joint5 move no body together.
    apart = 5 if robot == 'branched and prismatic' else 0
    assert len(found) == 2 * joints + joints * (joints - 1) // 2 - apart + 1
    for motion in found:
        assert (motion.q >= limits.lower).all()
        assert (motion.q <= limits.upper).all()
        speed = np.where(limits.velocity > 0.0, limits.velocity, np.inf)
        assert (np.abs(motion.v) <= speed).all()
        # Between the poses: central differences of 20 ms.
        inside = slice(10, 190)
        for value, slope in ((motion.q, motion.v), (motion.v, motion.a)):
            difference = np.gradient(value[:200], 0.02, axis=0)
            error = np.abs(difference - slope[:200])[inside].max()
            assert error < 0.01 * max(np.abs(slope).max(), 1e-9)
        moves = np.ptp(motion.v, axis=0) > 0.0
        named = [name in motion.description for name in model.joint_names]
        assert moves.any()
        assert 'all joints' in motion.description or moves.tolist() == named


@pytest.mark.parametrize('robot', ROBOTS)
def test_what_no_motion_shows_is_the_null_space_of_any_motion(robot):
    model = simulated.golden(robot).model
    rows = model.regressor(*random_motion(model.robot, 400, seed=5))
    rows = rows.reshape(-1, len(model.parameters))
    size = np.linalg.norm(rows, axis=0)
    acts = size > 1e-12 * size.max()
    _, values, directions = np.linalg.svd(rows[:, acts] / size[acts])
    null = directions[np.sum(values > 1e-10 * values[0]):]
    apart = np.ones(len(acts), dtype=bool)
    apart[acts] = np.linalg.norm(null, axis=0) < 1e-7
    found = advice(simulated.golden(robot).problem(0.01))
    names = np.array(model.parameters.names)
    assert found.without_effect == tuple(names[~acts])
    assert found.inseparable == tuple(names[acts & ~apart])


def test_of_fixed_parameters_nothing_is_said():
    found = advice(simulated.golden('arm').problem(0.01, fixed=('shoulder.*', 'upper.mass')))
    told = (*found.without_effect, *found.inseparable, *(entry.name for entry in found.weak))
    assert not any(name.startswith('shoulder.') or name == 'upper.mass' for name in told)


def test_good_data_needs_no_other_motion():
    found = advice(simulated.golden('arm').problem(0.01))
    assert found.weak == ()
    assert found.sentences[0].startswith('No motion can tell shoulder.mass')
    assert not any('more with' in sentence for sentence in found.sentences)


@pytest.mark.parametrize(('still', 'joint'), [(0, 'waist'), (1, 'elbow'), (2, 'wrist')])
def test_for_a_joint_that_stood_still_its_motion_is_named(still, joint):
    found = advice(simulated.golden('arm').problem(0.01, still=(still,)))
    friction = {f'{joint}.viscous_friction', f'{joint}.coulomb_friction'}
    assert friction <= {entry.name for entry in found.weak}
    for entry in found.weak:
        if entry.name in friction:
            assert entry.motion.startswith(f'{joint} alone')
            assert entry.left == pytest.approx(1.0)
            assert entry.then < 0.1
    sentence = next(text for text in found.sentences if f'{joint}.viscous_friction' in text)
    assert f'12 s more with {joint} alone' in sentence


def test_what_is_left_is_the_posterior_of_the_prior_and_the_rows():
    # By sums over all rows in the standard parameters, with the prior as it stands.
    problem = simulated.golden('arm').problem(0.3, samples=200, still=(0,))
    estimate = make_estimator('wls').fit(problem)
    found = identifiability(problem, estimate)
    counts = estimate.residuals.rows / estimate.residuals.effective_rows
    sigma = noise_level(problem, estimate.parameters.values) * np.sqrt(counts)
    rows = (problem.regressor / sigma[:, None]).reshape(-1, len(problem.parameters))
    z = rows @ problem.scale
    posterior = problem.scale @ np.linalg.inv(z.T @ z + np.eye(z.shape[1])) @ problem.scale.T
    prior = problem.scale @ problem.scale.T
    matrix = problem.base.matrix
    left = np.sqrt(np.diag(matrix @ posterior @ matrix.T) / np.diag(matrix @ prior @ matrix.T))
    names = [problem.base.names[k] for k in problem.base.independent]
    expected = {name: part for name, part in zip(names, left, strict=True) if part > 0.5}
    assert {entry.name for entry in found.weak} == set(expected)
    assert len(expected) > 3
    for entry in found.weak:
        assert entry.left == pytest.approx(expected[entry.name], rel=1e-6)


def test_torques_without_any_noise_leave_advice_possible():
    # Information of 1e24, whose rounding exceeds the unit of the prior, was an error of Cholesky's.
    problem = simulated.golden('arm').problem(0.0, samples=200, still=(0,))
    problem = replace(problem, torque=problem.regressor @ problem.reference)
    estimate = make_estimator('entropic').fit(problem)
    assert np.isfinite([entry.left for entry in identifiability(problem, estimate).weak]).all()


def test_recording_the_motion_named_shows_what_was_missing():
    golden = simulated.golden('arm')
    problem = golden.problem(0.01, still=(2,))
    before = advice(problem)
    entry = next(entry for entry in before.weak if entry.name == 'wrist.viscous_friction')
    motion = next(
        motion for motion in candidate_motions(golden.model.robot)
        if motion.description == entry.motion)
    # Twice as many rows: the data has 100 Hz, candidates 50 Hz.
    rows = np.repeat(golden.model.regressor(motion.q, motion.v, motion.a), 2, axis=0)
    noise = 0.01 * np.sqrt(np.mean(problem.torque**2, axis=0))
    torque = rows @ golden.truth
    torque += noise * np.random.default_rng(0).normal(size=torque.shape)
    samples = len(problem.torque)
    more = replace(
        problem, regressor=np.concatenate([problem.regressor, rows]),
        torque=np.concatenate([problem.torque, torque]),
        usable=np.ones((samples + len(rows), 3), dtype=bool),
        segments=((0, samples), (samples, samples + len(rows))))
    estimate = make_estimator('wls').fit(more)
    k = problem.parameters.index('wrist.viscous_friction')
    assert estimate.knowledge[k] is Knowledge.DATA
    assert estimate.parameters.values[k] == pytest.approx(
        golden.truth[k], abs=5 * estimate.standard_deviation[k])
    assert 'wrist.viscous_friction' not in {e.name for e in identifiability(more, estimate).weak}


def test_against_noise_that_drowns_everything_no_motion_is_named():
    golden = simulated.golden('arm')
    problem = golden.problem(samples=300)
    noise = 1e4 * np.random.default_rng(0).normal(size=problem.torque.shape)
    # With the steps of the torque without noise: a term's step would grow along with it.
    drowned = simulated.with_torque(problem, problem.torque + noise)
    drowned.__dict__['scale'] = problem.scale
    found = advice(drowned)
    assert found.weak
    assert {entry.motion for entry in found.weak} == {None}
    assert 'lower the noise' in found.sentences[-1]


def test_advice_is_kept_with_the_estimate_and_comes_back_from_json():
    problem = simulated.golden('arm').problem(0.01, still=(2,))
    plain = make_estimator('entropic').fit(problem)
    estimate = with_identifiability(problem, plain)
    assert plain.identifiability is None
    again = Estimate.from_json(estimate.to_json())
    assert again.identifiability == estimate.identifiability
    assert again.to_json() == estimate.to_json()
    assert Estimate.from_json(plain.to_json()).identifiability is None


def test_a_fit_that_failed_gets_no_advice():
    problem = simulated.golden('arm').problem(0.01)
    failed = replace(make_estimator('ols').fit(problem), status=Status.FAILED)
    assert with_identifiability(problem, failed) is failed


def test_sentences_put_the_motion_that_helps_most_parameters_first():
    weak = (
        WeakParameter('a.x', 0.9, None, 0.9), WeakParameter('b.x', 0.8, 'b alone', 0.004),
        WeakParameter('c.x', 1.0, 'c alone', 0.1), WeakParameter('d.x', 0.7, 'c alone', 0.2),
    )
    found = Identifiability(weak=weak, duration=12.0).sentences
    assert found == (
        'This data hardly shows c.x, d.x: it leaves up to 100 % of what the prior left open. '
        '12 s more with c alone would leave 20 % of it.',
        'This data hardly shows b.x: it leaves up to 80 % of what the prior left open. '
        '12 s more with b alone would leave less than 1 % of it.',
        'This data hardly shows a.x: it leaves up to 90 % of what the prior left open. None '
        'of the motions tried would tell much more: record longer, or lower the noise of the '
        'torques.',
    )
    assert Identifiability().sentences == ()


def test_of_many_motions_only_those_that_help_most_are_written_out():
    weak = [WeakParameter(f'{motion}.{k}', 0.9, f'{motion} alone', 0.1)
            for k, motion in enumerate('aabbccddef')]
    weak.append(WeakParameter('g.x', 0.9, None, 0.9))
    found = Identifiability(weak=tuple(weak), duration=12.0).sentences
    assert [text[len('This data hardly shows '):][0] for text in found] == list('abcdeg')
    assert found[-2] == (
        'This data hardly shows e.8, f.9 either; the estimate names a motion for each of them.')


def test_long_lists_are_cut():
    found, = Identifiability(without_effect=tuple('012345678')).sentences
    assert found.startswith('No motion can tell 0, 1, 2, 3, 4, 5 and 3 more: ')
    found, = Identifiability(without_effect=('a', 'b')).sentences
    assert found.startswith('No motion can tell a, b: ')
