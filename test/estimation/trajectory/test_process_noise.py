"""Collocation with process noise: its level and the sensors' are found from the residuals."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from support import trajectory_problems as made
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimate import LACKS, Status
from sysid_ros.estimation.trajectory.collocation_estimator import CollocationEstimator
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.mechanics.tree.acceleration import accelerations

# Standard deviation of a reading in [rad], and time from node to node in [s].
SIGMA, STEP, FINER = 1e-3, 0.01, 20
DOUBLE = """<robot name="double">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 -0.15"/><mass value="0.6"/>
    <inertia ixx="0.006" iyy="0.006" izz="0.0006" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0 0 -0.1"/><mass value="0.3"/>
    <inertia ixx="0.002" iyy="0.002" izz="0.0002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><dynamics damping="0.02"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 -0.3"/><axis xyz="0 1 0"/><dynamics damping="0.01"/></joint>
</robot>"""


def shaken(seed, density, *, urdf=made.PENDULUM, segments=4, nodes=301, sigma=SIGMA):
    """A pendulum whose joints are shaken by white noise of a known density.

    The noise is integrated in twenty steps from node to node, so that it moves positions between
    nodes, too, as an integrated Wiener process does.
    """
    rng, model = np.random.default_rng(seed), made.model_of(urdf)
    joints, h = len(model.robot.joint_names), STEP / FINER
    q = rng.uniform(-2.0, 2.0, (segments, joints))
    v = rng.normal(size=q.shape)
    still, positions = np.zeros_like(q), [q]
    for _ in range(nodes - 1):
        for _ in range(FINER):
            a = accelerations(model, model.parameters.values, q, v, still)
            a = accelerations(
                model, model.parameters.values, q + 0.5 * h * v, v + 0.5 * h * a, still)
            change = h * a + np.asarray(density) * np.sqrt(h) * rng.normal(size=q.shape)
            q, v = q + h * (v + 0.5 * change), v + change
        positions.append(q)
    t, motion = STEP * np.arange(nodes), np.array(positions)
    sensor = Encoder.of(list(model.robot.joint_names))
    parts = tuple(
        Segment(t, np.zeros((nodes, joints)), (Observation(
            sensor, t, motion[:, k] + sigma * rng.normal(size=(nodes, joints)),
            np.full(joints, SIGMA)),))
        for k in range(segments))
    masses = [name for name in model.parameters.names if name.endswith(('mass', 'inertia_yy'))]
    return TrajectoryProblem(model, model.parameters.fixed(*masses), parts)


def process_noise(estimate, joint):
    """The level of a joint's process noise and its standard deviation, as the notes say."""
    note, = (note for note in estimate.notes if note.startswith('Process noise'))
    level, deviation = re.search(rf'{joint} (\S+) ± (\S+) ', note).groups()
    return float(level), float(deviation)


def sensor_noise(estimate):
    note, = (note for note in estimate.notes if note.startswith('Noise of'))
    return float(note.split(': ')[1].split(' ')[0])


def fit(problem, guess, **settings):
    estimate = CollocationEstimator(
        process_noise=guess, estimate_noise=True, **settings).fit(problem)
    assert estimate.status is Status.CONVERGED
    return estimate


@pytest.mark.parametrize('guess', [0.02, 5.0])
def test_a_known_level_is_found_within_a_tenth(guess):
    estimate = fit(shaken(0, 1.0, segments=8), guess)
    level, deviation = process_noise(estimate, 'swing')
    assert level == pytest.approx(1.0, rel=0.1)
    assert 0.01 < deviation < 0.05
    assert sensor_noise(estimate) == pytest.approx(SIGMA, rel=0.1)
    # The settings are those that were asked for.
    assert estimate.settings['process_noise'] == guess


@pytest.mark.slow
def test_each_joint_has_a_level_of_its_own():
    problem = shaken(1, [0.2, 2.0], urdf=DOUBLE)
    estimate = fit(problem, 0.5)
    for joint, level in (('shoulder', 0.2), ('elbow', 2.0)):
        found, deviation = process_noise(estimate, joint)
        assert abs(found - level) < 3.0 * deviation < 0.5 * level
    by_joint = fit(problem, {'shoulder': 0.1, 'elbow': 1.0})
    level, _ = process_noise(estimate, 'elbow')
    assert process_noise(by_joint, 'elbow')[0] == pytest.approx(level, rel=0.02)


@pytest.mark.slow
def test_levels_are_known_as_well_as_they_say():
    scores = []
    for seed in range(8):
        estimate = fit(shaken(seed, 0.3, segments=2, nodes=201), 0.3)
        level, deviation = process_noise(estimate, 'swing')
        scores.append((level - 0.3) / deviation)
    # Of eight standard normal numbers the root mean square is below 1.6 in 99 of 100 cases.
    assert 0.4 < np.sqrt(np.mean(np.square(scores))) < 1.6


@pytest.mark.slow
def test_intervals_of_parameters_hold_with_the_levels_that_were_found():
    inside, count = 0, 0
    for seed in range(8):
        problem = shaken(seed, 0.3, segments=2, nodes=201)
        estimate = fit(problem, 0.05)
        for name in ('rod.first_moment_z', 'swing.viscous_friction'):
            k = estimate.parameters.index(name)
            error = estimate.parameters.values[k] - problem.parameters.prior[k]
            inside += abs(error) < 1.96 * estimate.standard_deviation[k]
            count += 1
    assert inside / count >= 0.75


def test_where_the_dynamics_hold_exactly_it_is_said_that_no_process_noise_shows():
    problem, _, _ = made.swinging(fixed=('rod.inertia_yy',))
    estimate = fit(problem, 0.1)
    note, = (note for note in estimate.notes if note.startswith('Process noise'))
    assert 'too little to show' in note
    assert any('leave process_noise out' in note for note in estimate.notes)
    assert sensor_noise(estimate) == pytest.approx(1e-3, rel=0.1)


@pytest.mark.parametrize('density', [0.0, 2.0])
def test_process_noise_that_nobody_asked_for_speaks_against_intervals_if_it_shows(
    density, monkeypatch
):
    search = CollocationEstimator.search

    def fails_unless_soft(self, problem, start, log):
        found = search(self, problem, start, log)
        return found if self.process_noise else replace(found, status=Status.ITERATION_LIMIT)

    monkeypatch.setattr(CollocationEstimator, 'search', fails_unless_soft)
    estimate = CollocationEstimator().fit(shaken(4, density, segments=2, nodes=201))
    assert estimate.status is Status.CONVERGED
    against = [note for note in estimate.notes if note.startswith(LACKS)]
    assert len(against) == (density > 0.0)
    assert all(re.search(r'fit: \{collocation: \{process_noise: ', note) for note in against)


def test_a_sensor_that_the_process_hides_is_named():
    # A thousandth of a step of the process: readings are the positions.
    estimate = fit(shaken(2, 30.0, sigma=1e-7, segments=2), 30.0)
    note, = (note for note in estimate.notes if note.startswith('Noise of'))
    assert 'too little to show' in note or 'hardly told' in note
    assert process_noise(estimate, 'swing')[0] == pytest.approx(30.0, rel=0.1)


@pytest.mark.parametrize(('noise', 'match'), [
    ({'swing': -1.0}, 'above zero'), ({'swung': 1.0}, 'swung'), ({}, 'each joint')])
def test_process_noise_by_joint_has_to_name_each(noise, match):
    problem, _, _ = made.swinging(nodes=61)
    with pytest.raises(ConfigurationError, match=match):
        CollocationEstimator(process_noise=noise).fit(problem)


def test_the_sensors_level_is_right_although_states_follow_the_readings():
    problem = shaken(3, 1.0, sigma=2e-3)
    found = sensor_noise(fit(problem, 1.0))
    assert found == pytest.approx(2e-3, rel=0.1)
    # The mean square of the residuals would be far too small.
    parts = CollocationEstimator(process_noise=1.0).solve(replace(
        problem, segments=tuple(
            replace(segment, observations=tuple(
                replace(observation, sigma=np.array([2e-3]))
                for observation in segment.observations))
            for segment in problem.segments))).residuals
    raw = np.sqrt(np.mean(np.concatenate([residual[0] for residual in parts]) ** 2))
    assert raw < 0.9 * 2e-3
