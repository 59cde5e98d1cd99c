"""A slide whose mass weighs something else than its drive holds: a clock or a counterweight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.counterweights import counterweights
from sysid_ros.evaluation.data_findings import DataFindings
from sysid_ros.evaluation.evaluation import evaluate
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, TorqueOffset
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.dataset import Dataset
from sysid_ros.robot.model import RobotModel

RATE, SECONDS = 100.0, 20.0
LINK = """<link name="{name}"><inertial><origin xyz="0.2 0 0"/><mass value="{mass}"/>
<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="0.3 0 0"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="100" velocity="5"/></joint>"""
URDF = '<robot name="gantry">' + ''.join(
    LINK.format(name=name, mass=mass) for name, mass in (
        ('base', 1.0), ('arm', 3.0), ('load', 2.0))) + ''.join(
    JOINT.format(name=name, kind=kind, parent=parent, child=child)
    for name, kind, parent, child in (
        ('turn', 'revolute', 'base', 'arm'), ('lift', 'prismatic', 'arm', 'load'))) + '</robot>'


def fitted(*, clock: float = 1.0, spring: float = 0.0, size: float = 0.3):
    """Rows and estimate of torques by Pinocchio's RNEA, on a clock, with a constant force."""
    truth, random = pin.buildModelFromXML(URDF), np.random.default_rng(5)
    data, t = truth.createData(), np.arange(0.0, SECONDS, 1.0 / RATE)
    turns = 2.0 * np.pi * random.uniform(0.3, 1.2, (2, 4))
    wave = turns * t[:, None, None] + random.uniform(0.0, 6.0, (2, 4))
    q, v, a = ((size * turns**k * part).sum(axis=-1) for k, part in enumerate(
        (np.sin(wave), np.cos(wave), -np.sin(wave))))
    tau = np.array([pin.rnea(truth, data, *one).copy() for one in zip(q, v, a, strict=True)])
    tau[:, 1] += spring
    tau += 0.02 * tau.std(axis=0) * random.normal(size=tau.shape)
    recorded = Dataset(
        joint_names=('turn', 'lift'), t=clock * t, q=q, v=v / clock, a=a / clock**2, tau=tau,
        mask=np.ones(tau.shape, dtype=bool), rate=RATE / clock, segments=((0, len(t)),),
        source='made')
    model = TorqueModel(RobotModel.from_urdf(URDF), (CoulombFriction(), TorqueOffset()))
    problem = RegressionProblem.from_dataset(model, recorded)
    return problem, make_estimator('entropic').fit(problem)


@pytest.mark.parametrize('clock', [0.8, 1.25])
def test_a_clock_looks_like_a_counterweight_of_a_slide(clock):
    problem, estimate = fitted(clock=clock)
    (found,) = counterweights(problem, estimate)
    assert found.joint == 'lift'
    assert found.factor == pytest.approx(clock**2, rel=0.05)
    assert f'runs {clock:.2g}' in found.sentence
    reasons = evaluate(estimate, problem).verdict.reasons
    assert found.sentence in reasons
    # Who does not trust the description has said so.
    verdict = evaluate(estimate, problem, data=DataFindings(trusts_description=False)).verdict
    assert found.sentence not in verdict.reasons


def test_a_spring_is_found_with_its_force():
    (found,) = counterweights(*fitted(spring=-8.0))
    assert found.force == pytest.approx(-8.0, rel=0.05)
    assert found.factor == pytest.approx(2.0 * 9.81 / (2.0 * 9.81 - 8.0), rel=0.05)


def test_small_forces_and_what_is_not_sure_are_left_alone():
    assert counterweights(*fitted()) == ()
    assert counterweights(*fitted(spring=-3.0)) == ()
    problem, estimate = fitted(clock=1.25)
    unsure = replace(estimate, standard_deviation=1e3 * estimate.standard_deviation)
    assert counterweights(problem, unsure) == ()
