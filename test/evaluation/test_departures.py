"""A weight that no other joint feels is compared with the description; others are left alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.contradictions import (
    Contradiction,
    FaultKind,
    ScoreTest,
    score_test,
)
from sysid_ros.evaluation.data_findings import DataFindings
from sysid_ros.evaluation.departures import departures
from sysid_ros.evaluation.evaluation import evaluate
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, TorqueOffset
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.dataset import Dataset
from sysid_ros.robot.model import RobotModel

RATE, SECONDS = 100.0, 20.0
LINK = """<link name="{name}"><inertial><origin xyz="{centre}"/><mass value="{mass}"/>
<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="{at}"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="100" velocity="5"/></joint>"""


def slide(mass: float = 2.0, wheel: float = 0.0) -> str:
    """An arm that turns in the horizontal plane and lowers a load, and a wheel."""
    links = [('base', '0 0 0', 1.0), ('arm', '0.2 0 0', 3.0), ('hand', '0.1 0.02 0', 1.5),
             ('load', '0 0 0', mass), ('wheel', f'{wheel} 0 0', 3.0)]
    joints = [('turn', 'revolute', 'base', 'arm', '0 0 0'),
              ('bend', 'revolute', 'arm', 'hand', '0.4 0 0'),
              ('lift', 'prismatic', 'hand', 'load', '0.3 0 0'),
              ('spin', 'revolute', 'base', 'wheel', '0 0 0" rpy="1.5 0 0')]
    return '<robot name="slide">' + ''.join(
        LINK.format(name=name, centre=centre, mass=kg) for name, centre, kg in links) + ''.join(
        JOINT.format(name=name, kind=kind, parent=parent, child=child, at=at)
        for name, kind, parent, child, at in joints) + '</robot>'


def recorded(urdf: str, scale: float = 1.0) -> Dataset:
    """Torques of Pinocchio's RNEA, those of the lift in parts of the torque."""
    model = pin.buildModelFromXML(urdf)
    data, random = model.createData(), np.random.default_rng(5)
    t = np.arange(0.0, SECONDS, 1.0 / RATE)
    turns = 2.0 * np.pi * random.uniform(0.2, 1.0, (4, 4))
    phase, size = random.uniform(0.0, 6.0, (4, 4)), random.uniform(0.2, 0.4, (4, 4))
    wave = turns * t[:, None, None] + phase
    q, v, a = ((size * turns**k * part).sum(axis=-1) for k, part in enumerate(
        (np.sin(wave), np.cos(wave), -np.sin(wave))))
    tau = np.array([pin.rnea(model, data, *one).copy() for one in zip(q, v, a, strict=True)])
    tau += 0.01 * tau.std(axis=0) * random.normal(size=tau.shape)
    tau[:, 3] *= scale
    return Dataset(
        joint_names=('spin', 'turn', 'bend', 'lift'), t=t, q=q, v=v, a=a, tau=tau,
        mask=np.ones(tau.shape, dtype=bool), rate=RATE, segments=((0, len(t)),), source='made')


def fitted(scale: float, mass: float = 2.0, wheel: float = 0.0, terms=()):
    """Rows, what is found from them, and the evaluation, with a description of some mass."""
    model = TorqueModel(RobotModel.from_urdf(slide(mass, wheel)), (CoulombFriction(), *terms))
    problem = RegressionProblem.from_dataset(model, recorded(slide(), scale))
    estimate = make_estimator('entropic').fit(problem)
    return problem, estimate, departures(problem, estimate, score_test(problem, estimate))


def hanging(scale: float):
    """Rows of a pendulum on a turning column, its torques in parts of the true ones, and a fit."""
    urdf = '<robot name="hanging">' + ''.join(
        LINK.format(name=name, centre=centre, mass=mass)
        for name, centre, mass in (('base', '0 0 0', 1.0), ('column', '0.1 0 0', 2.0),
                                   ('arm', '0.3 0 0', 3.0))) + ''.join(
        JOINT.format(name=name, kind='revolute', parent=parent, child=child, at=at)
        for name, parent, child, at in (
            ('turn', 'base', 'column', '0 0 0'),
            ('swing', 'column', 'arm', '0.2 0 0" rpy="1.5707963 0 0'))) + '</robot>'
    model, random = pin.buildModelFromXML(urdf), np.random.default_rng(3)
    data, t = model.createData(), np.arange(0.0, SECONDS, 1.0 / RATE)
    turns = 2.0 * np.pi * random.uniform(0.1, 0.3, (2, 3))
    wave, size = turns * t[:, None, None] + random.uniform(0.0, 6.0, (2, 3)), 0.4
    q, v, a = ((size * turns**k * part).sum(axis=-1) for k, part in enumerate(
        (np.sin(wave), np.cos(wave), -np.sin(wave))))
    tau = np.array([pin.rnea(model, data, *one).copy() for one in zip(q, v, a, strict=True)])
    tau += 0.01 * tau.std(axis=0) * random.normal(size=tau.shape)
    tau[:, 1] *= scale
    made = Dataset(
        joint_names=('turn', 'swing'), t=t, q=q, v=v, a=a, tau=tau,
        mask=np.ones(tau.shape, dtype=bool), rate=RATE, segments=((0, len(t)),), source='made')
    problem = RegressionProblem.from_dataset(TorqueModel(RobotModel.from_urdf(urdf)), made)
    return problem, make_estimator('entropic').fit(problem)


@pytest.mark.parametrize('scale', [0.5, 1.5, 2.0])
def test_the_scale_of_a_slide_is_compared_with_its_described_weight(scale):
    problem, estimate, found = fitted(scale)
    assert [one.joint for one in found] == ['lift']
    assert found[0].factor == pytest.approx(scale, rel=0.05)
    line = f'recording: {{effort: {{scale: [1, 1, 1, {1.0 / found[0].factor:.3g}]}}}}'
    assert f'{line} (in the order spin, turn, bend, lift)' in found[0].next_step
    reasons = evaluate(estimate, problem).verdict.reasons
    assert any(reason.startswith('lift: the weight') for reason in reasons)


@pytest.mark.parametrize('scale', [0.5, 2.0])
def test_a_constant_torque_that_carries_the_weight_counts_as_weight(scale):
    problem, estimate, found = fitted(1.0, terms=(TorqueOffset(),))
    assert found == ()
    # As where others feel the mass just enough to keep it: the constant torque takes the rest.
    values = estimate.parameters.values.copy()
    name = estimate.parameters.names.index('lift.torque_offset')
    values[name] += (scale - 1.0) * np.mean(problem.torque[:, 3])
    moved = replace(estimate, parameters=replace(estimate.parameters, values=values))
    untold = ScoreTest(log_scales={
        joint: (0.0, 0.01 if joint == 'turn' else 0.5)
        for joint in problem.model.robot.joint_names})
    (one,) = departures(problem, moved, untold)
    assert one.joint == 'lift'
    assert one.factor == pytest.approx(scale, rel=0.05)


@pytest.mark.parametrize('scale, deviation, said', [
    (0.5, 0.2, True), (2.0, 0.2, True), (0.5, 0.3, False), (1.2, 0.05, False)])
def test_a_scale_that_the_rows_suggest_is_confirmed_by_the_description(scale, deviation, said):
    # A joint that turns: the rows speak for its scale by 3.5, 2.3 or 3.6 standard deviations.
    problem, estimate = hanging(scale)
    scores = ScoreTest(log_scales={
        'swing': (np.log(scale), deviation), 'turn': (0.0, 0.05)})
    found = departures(problem, estimate, scores)
    assert [one.joint for one in found] == (['swing'] if said else [])
    if said:
        assert found[0].factor == pytest.approx(scale, rel=0.1)
        assert found[0].sigmas == pytest.approx(abs(np.log(scale)) / deviation)
        assert 'speak for a wrong scale' in found[0].sentence
        # What the rows prove by themselves is said once, and what speaks the other way not at all.
        proven = replace(scores, contradictions=(
            Contradiction(FaultKind.SCALE, 'swing', scale, 30.0, ('swing',)),))
        assert departures(problem, estimate, proven) == ()
        other = ScoreTest(log_scales=scores.log_scales | {'swing': (-np.log(scale), deviation)})
        assert departures(problem, estimate, other) == ()


def test_a_description_that_is_nearly_right_is_left_alone():
    assert fitted(1.0)[2] == ()
    assert fitted(1.2)[2] == ()


def test_who_does_not_trust_the_description_is_not_told():
    problem, estimate, _ = fitted(2.0)
    verdict = evaluate(estimate, problem, data=DataFindings(trusts_description=False)).verdict
    assert not any('weight' in reason for reason in verdict.reasons)


def test_joints_that_others_check_are_left_to_them():
    problem, estimate, found = fitted(2.0)
    deviations = {
        name: one[1] for name, one in score_test(problem, estimate).log_scales.items()}
    assert deviations['lift'] > 100.0
    assert max(deviations['turn'], deviations['bend']) < 0.1
    assert {one.joint for one in found} == {'lift'}


def test_a_wheel_out_of_balance_is_what_descriptions_have_wrong():
    problem, estimate, found = fitted(1.0, wheel=0.05)
    assert score_test(problem, estimate).log_scales['spin'][1] > 100.0
    assert found == ()
