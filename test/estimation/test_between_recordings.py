"""Intervals by how much recordings disagree, which hold errors of the model that rows do not."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from support.simulated_arm import SimulatedArm
from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.outer_iteration import OuterIteration
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, TorqueOffset, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.dataset import Dataset

TERMS = (ViscousFriction(), CoulombFriction(smoothing=0.05), TorqueOffset())


def recordings(count, seed=0, *, terms=None, noise=0.03, samples=300, model=None, **truths):
    """Rows of recordings at different speeds, of an arm that may have other friction."""
    robot = simulated.golden('arm').model.robot
    plant = TorqueModel(robot, TERMS if terms is None else terms.build(robot))
    truth = simulated.true_parameters(plant)
    for k, name in enumerate(plant.parameters.names):
        truth[k] = truths.get(name.rpartition('.')[2], truth[k])
    rng, parts = np.random.default_rng(seed), []
    for number in range(count):
        speed = np.exp(rng.uniform(np.log(0.4), np.log(2.0)))
        q, v, a = simulated.motion(robot, samples, int(rng.integers(1 << 30)))
        v, a = speed * v, speed**2 * a
        tau = plant.torque(truth, q, v, a)
        tau = tau + noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
        parts.append(Dataset(
            robot.joint_names, np.arange(samples) / 100.0, q, v, a, tau,
            np.ones(tau.shape, dtype=bool), ((0, samples),), 100.0, sha256=str(number)))
    problem = RegressionProblem.from_dataset(
        model or TorqueModel(robot, TERMS), Dataset.joined(parts))
    return replace(problem, recordings=tuple(
        (k * samples, (k + 1) * samples) for k in range(count)))


def without(problem, left_out):
    """The problem without one of its recordings."""
    rows = np.ones(len(problem.torque), dtype=bool)
    rows[slice(*problem.recordings[left_out])] = False
    return problem.restricted(rows)


def jackknife(problem, fit):
    """Deviations of base parameters from fits that leave out one recording each."""
    whole = problem.base.values(fit(problem))
    count = len(problem.recordings)
    moved = np.array([problem.base.values(fit(without(problem, g))) for g in range(count)]) - whole
    return np.sqrt((count - 1) / count * (moved**2).sum(axis=0))


def test_of_least_squares_they_are_those_of_leaving_out_each_recording():
    problem = recordings(4)
    ols = make_estimator('ols')
    between = ols.fit(problem).between
    assert between.recordings == 4
    expected = jackknife(problem, lambda rows: ols.fit(rows).parameters.values)
    np.testing.assert_allclose(between.base_standard_deviation, expected, rtol=1e-6)


@pytest.mark.parametrize('name', ['wls', 'entropic', 'lmi', 'irls', 'iv'])
def test_with_a_prior_or_weights_they_are_nearly_those(name):
    problem = recordings(5, noise=0.02)
    estimator = make_estimator(name)
    between = estimator.fit(problem).between
    expected = jackknife(problem, lambda rows: estimator.fit(rows).parameters.values)
    ratio = between.base_standard_deviation / expected
    assert 0.8 < np.median(ratio) < 1.25
    # Outliers are told anew by each fit.
    assert np.quantile(ratio, 0.1) > 0.3


def test_they_hold_what_many_recordings_tell_where_those_of_rows_do_not():
    """Stribeck friction under a Coulomb model: the aim is what 150 recordings give."""
    law = {
        'terms': TermSettings(stribeck_friction='all', coulomb_smoothing=0.05),
        'stribeck_friction': 2.0, 'stribeck_velocity': 0.6, 'samples': 150}
    wls = make_estimator('wls')
    aim = wls.fit(replace(recordings(150, seed=10**6, **law), recordings=())).base_values
    held = []
    for seed in range(25):
        estimate = wls.fit(recordings(5, seed, **law))
        off, between = np.abs(estimate.base_values - aim), estimate.between
        held.append([off < 1.96 * estimate.base_standard_deviation(),
                     off < between.quantile * between.base_standard_deviation])
    rows, between = np.mean(held, axis=(0, 2))
    assert rows < 0.87
    assert 0.9 < between <= 1.0


def test_without_an_error_of_the_model_they_are_no_wider_than_few_recordings_ask_for():
    ratios = []
    for seed in range(10):
        estimate = make_estimator('wls').fit(recordings(6, seed))
        ratios.append(estimate.between.base_standard_deviation / estimate.base_standard_deviation())
    assert 0.8 < np.median(ratios) < 1.4


def test_one_recording_tells_nothing_between_recordings():
    one = replace(recordings(1), recordings=((0, 300),))
    assert make_estimator('wls').fit(one).between is None
    # Of two, one without any row that counts.
    two = recordings(2)
    assert make_estimator('wls').fit(without(two, 1)).between is None
    assert make_estimator('wls').fit(two).between.quantile == pytest.approx(12.706, abs=1e-3)


def test_a_direction_that_one_recording_alone_tells_has_no_interval():
    problem = recordings(3)
    k = problem.parameters.index('wrist.viscous_friction')
    regressor = problem.regressor.copy()
    regressor[300:, :, k] = 0.0
    estimate = make_estimator('wls').fit(replace(problem, regressor=regressor))
    assert estimate.standard_deviation[k] < 0.1
    assert np.isinf(estimate.between.standard_deviation[k])
    other = problem.parameters.index('elbow.viscous_friction')
    assert estimate.between.standard_deviation[other] < 1.0
    assert 'wrist.viscous_friction' not in estimate.intervals()['between_recordings']


def test_friction_with_a_shape_has_them_too():
    robot = simulated.golden('arm').model.robot
    model = TorqueModel(robot, TermSettings(coulomb_smoothing='identified').build(robot))
    problem = recordings(3, model=model)
    estimate = OuterIteration(make_estimator('wls')).fit(problem)
    k = problem.parameters.index('elbow.viscous_friction')
    assert 0.0 < estimate.between.standard_deviation[k] < 1.0


def test_they_are_written_and_read_back_and_end_with_the_success_of_a_fit():
    estimate = make_estimator('wls').fit(recordings(3))
    back = Estimate.from_json(estimate.to_json())
    assert back.between.recordings == 3
    np.testing.assert_array_equal(
        back.between.standard_deviation, estimate.between.standard_deviation)
    widths = back.intervals()
    name = 'elbow.viscous_friction'
    k = estimate.parameters.index(name)
    assert widths['between_recordings'][name] == pytest.approx(
        4.303 * estimate.between.standard_deviation[k], rel=1e-3)
    assert widths['noise'][name] == 1.96 * estimate.standard_deviation[k]
    assert not any(width is None or not np.isfinite(width) for kind in widths.values()
                   for width in kind.values())
    assert estimate.with_status(Status.ITERATION_LIMIT).between is None
    older = json.loads(estimate.to_json())
    del older['between_recordings']
    assert Estimate.from_json(json.dumps(older)).between is None


def test_rows_of_each_recording_are_known_after_filters_and_gaps(tmp_path):
    arm = SimulatedArm(2)
    (tmp_path / 'arm.urdf').write_text(arm.description)
    loaded = []
    for name, seconds in (('a', 12.0), ('b', 7.0), ('c', 9.0)):
        t = np.arange(0.0, seconds, 0.01)
        t = t[(t < 4.0) | (t > 4.6)]
        begin = 10.0 * ord(name)
        np.savez(tmp_path / f'{name}.npz', t=t, q=arm.motion(t + begin)[0],
                 tau=arm.torque(t + begin))
        (tmp_path / f'{name}.yaml').write_text(
            'automatic: false\nrobot: {urdf: arm.urdf}\nrecording: {format: npz, file: '
            f'{name}.npz, time: {{array: t}}, position: {{array: q}}, effort: {{array: tau}}, '
            f'joints: [{", ".join(arm.joint_names)}]}}\n'
            'processing: {parallel_filter: {cutoff: 10, decimate_to: 25}}\n')
        loaded.append(FitSetup.load(tmp_path / f'{name}.yaml'))
    problem = Measurements.read(
        loaded[0], [other.identification for other in loaded[1:]]).problem(0.0, 0.8)
    assert len(problem.recordings) == 3
    assert problem.recordings[-1][1] == len(problem.torque)
    for (start, stop), own in zip(problem.recordings, loaded, strict=True):
        alone = Measurements.read(own).problem(0.0, 0.8)
        assert alone.recordings == ()
        np.testing.assert_allclose(problem.torque[start:stop], alone.torque)
