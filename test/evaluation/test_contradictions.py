"""Wrong scales, zeros and clocks are named, with their values; right recordings accuse nobody."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml

from support import golden_problems as simulated
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.contradictions import Contradiction, FaultKind, ScoreTest, score_test
from sysid_ros.evaluation.data_findings import DataFindings
from sysid_ros.evaluation.evaluation import evaluate
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.checks.effort_finding import EffortFinding, EffortKind
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.robot.inertia import inertial_parameters


@pytest.fixture(scope='module')
def golden():
    return simulated.golden('arm')


def fitted(golden, spoil=lambda data: data, estimator='entropic', model=None, **options):
    """Rows of a spoilt recording, and what an estimator makes of them."""
    problem = RegressionProblem.from_dataset(
        model or golden.model, spoil(golden.dataset(0.02, **options)))
    return problem, make_estimator(estimator).fit(problem)


def scaled(joint, factor):
    def spoil(data):
        tau = data.tau.copy()
        tau[:, joint] *= factor
        return replace(data, tau=tau)
    return spoil


def shifted(joint, angle):
    def spoil(data):
        q = data.q.copy()
        q[:, joint] += angle
        return replace(data, q=q)
    return spoil


def nonlinear(joint, growth, most):
    """A gain that differs by a part between small torques and the largest."""
    def spoil(data):
        tau = data.tau.copy()
        tau[:, joint] *= 1.0 + growth * np.abs(tau[:, joint]) / most
        return replace(data, tau=tau)
    return spoil


def timed(factor):
    """Stamps that count so many seconds in one."""
    return lambda data: replace(
        data, t=factor * data.t, v=data.v / factor, a=data.a / factor**2, rate=data.rate / factor)


@pytest.mark.parametrize('seed', range(6))
@pytest.mark.parametrize('common', [1.0, 0.3, 2.0])
def test_efforts_of_one_scale_contradict_nothing(golden, seed, common):
    found = score_test(*fitted(
        golden, lambda data: replace(data, tau=common * data.tau), seed=seed))
    assert found.contradictions == ()


@pytest.mark.parametrize('seed', range(3))
def test_a_tool_that_no_description_has_accuses_no_sensor(seed):
    # A flange of 0.1 kg, and a tool of 1 kg a hand's breadth beyond it.
    light = simulated.golden_of(simulated.arm_urdf().replace(
        simulated.link('hand', 1.5, (0.15, 0.02, 0.01), (0.3, 0.1, 0.12)),
        simulated.link('hand', 0.1, (0.05, 0.0, 0.01), (0.05, 0.05, 0.03))))
    truth, block = light.truth.copy(), light.model.parameters.body_slice('hand')
    truth[block] += inertial_parameters(1.0, np.array([0.2, 0.02, 0.03]), 0.004 * np.eye(3))
    problem, estimate = fitted(simulated.Golden(light.model, truth), seed=seed)
    assert estimate.status.ok
    assert estimate.residuals.relative_error < 0.04
    assert score_test(problem, estimate).contradictions == ()


@pytest.mark.parametrize('joint', [0, 1])
@pytest.mark.parametrize('scale', [0.5, 1.5, 2.0])
@pytest.mark.parametrize('estimator', ['entropic', 'ols'])
def test_the_scale_of_one_effort_is_found(golden, joint, scale, estimator):
    problem, estimate = fitted(golden, scaled(joint, scale), estimator)
    found, = score_test(problem, estimate).contradictions[:1]
    assert found.kind is FaultKind.SCALE
    assert found.joint == problem.model.robot.joint_names[joint]
    assert found.value == pytest.approx(scale, rel=0.1)


@pytest.mark.parametrize('joint', [0, 1])
@pytest.mark.parametrize('growth', [-0.45, 0.6, 1.0])
def test_a_gain_that_depends_on_the_load_is_found(golden, joint, growth):
    most = np.abs(golden.dataset(0.02).tau[:, joint]).max()
    problem, estimate = fitted(golden, nonlinear(joint, growth, most))
    found, = score_test(problem, estimate).contradictions[:1]
    assert (found.kind, found.joint) == (FaultKind.GAIN, problem.model.robot.joint_names[joint])
    assert np.sign(found.value) == np.sign(growth)
    assert any(
        f'gain {"grows" if growth > 0.0 else "shrinks"} with the load' in reason
        for reason in evaluate(estimate, problem).verdict.reasons)


@pytest.mark.parametrize('angle', [-0.4, 0.4])
def test_the_zero_of_a_joint_is_found(golden, angle):
    problem, estimate = fitted(golden, shifted(1, angle))
    found, = score_test(problem, estimate).contradictions[:1]
    assert (found.kind, found.joint) == (FaultKind.ZERO, problem.model.robot.joint_names[1])
    assert found.value == pytest.approx(-angle, rel=0.3)


@pytest.mark.parametrize('factor', [0.8, 1.25])
def test_a_clock_is_found(golden, factor):
    found = score_test(*fitted(golden, timed(factor))).contradictions[0]
    assert found.kind is FaultKind.CLOCK
    assert found.value == pytest.approx(factor, rel=0.1)


@pytest.mark.parametrize('factor', [0.8, 1.0, 1.25])
def test_a_clock_is_excluded_unless_it_is_the_one_that_runs(golden, factor):
    """A description with wrong inertias suggests a clock; the rows say whether there is one."""
    problem, estimate = fitted(golden, timed(factor))
    scores = score_test(problem, estimate)
    suggested = [EffortFinding('all joints', EffortKind.OTHER_CLOCK, scale, np.nan, np.nan)
                 for scale in (0.8**2, 1.25**2)]
    data = DataFindings(efforts=tuple(suggested)).without_excluded_clock(scores)
    assert data.efforts == (() if factor == 1.0 else tuple(suggested))
    reasons = evaluate(
        estimate, problem, data=DataFindings(efforts=tuple(suggested))).verdict.reasons
    assert any('another clock' in reason for reason in reasons) == (factor != 1.0)


def test_rows_that_tell_no_clock_exclude_none():
    scale = EffortFinding('all joints', EffortKind.OTHER_CLOCK, 4.0, np.nan, np.nan)
    data = DataFindings(efforts=(scale,))
    assert data.without_excluded_clock(ScoreTest()) == data


@pytest.mark.parametrize('spoil', [
    scaled(1, 1.1), nonlinear(1, 0.1, 30.0), shifted(1, 0.03), timed(1.05)])
def test_what_real_robots_have_is_left_alone(golden, spoil):
    assert score_test(*fitted(golden, spoil)).contradictions == ()


def test_friction_and_drive_inertia_that_no_model_has_are_no_contradiction(golden):
    data = golden.dataset(0.02)
    drag = 0.3 * data.v + 0.5 * np.sign(data.v) + 0.2 * data.a + 0.4
    found = score_test(*fitted(
        golden, lambda data: replace(data, tau=data.tau + drag), model=TorqueModel(
            golden.model.robot, ())))
    assert found.contradictions == ()


def test_a_failed_fit_contradicts_nothing(golden):
    problem, estimate = fitted(golden, scaled(1, 2.0))
    assert score_test(problem, replace(estimate, status=Status.FAILED)) == ScoreTest()


def test_rows_without_their_motion_are_passed_over(golden):
    problem, estimate = fitted(golden, scaled(1, 2.0))
    assert score_test(replace(problem, motion=None), estimate) == ScoreTest()


def test_the_verdict_refuses_with_the_line_that_mends_it(golden):
    problem, estimate = fitted(golden, scaled(1, 2.0))
    verdict = evaluate(estimate, problem).verdict
    names = problem.model.robot.joint_names
    name = names[1]
    at = next(k for k, reason in enumerate(verdict.reasons)
              if reason.startswith(f'{name}: the efforts of the other joints'))
    line, said = verdict.next_steps[at].partition('recording: ')[2].split('} (in the order ')
    assert said.startswith(', '.join(names))
    scales = RecordingSettings.model_validate({
        'format': 'rosbag', 'file': 'a.mcap', 'joints': names, **yaml.safe_load(line + '}'),
    }).effort.scale
    assert scales == pytest.approx([1.0, 0.5, *[1.0] * (len(names) - 2)], rel=0.1)


@pytest.mark.parametrize(('kind', 'said'), [
    (FaultKind.ZERO, 'positions only if about -0.5 is added'),
    (FaultKind.CLOCK, 'the stamps count about 1.25 s in one second')])
def test_each_kind_has_its_words(kind, said):
    found = Contradiction(kind, 'elbow', -0.5 if kind is FaultKind.ZERO else 1.25, 100.0,
                          ('shoulder', 'elbow'))
    assert said in found.sentence
    assert 'by 10 standard deviations' in found.sentence
    if kind is FaultKind.ZERO:
        assert 'recording: {position: {offset: [0, -0.5]}} (in the order shoulder, elbow)' in (
            found.next_step)
