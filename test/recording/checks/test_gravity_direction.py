"""A robot that stands otherwise than described is found by its efforts, and nothing else as one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from support.simulated_arm import SimulatedArm
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.checks.effort import effort_findings
from sysid_ros.recording.checks.effort_finding import TOGETHER, EffortKind
from sysid_ros.recording.checks.gravity_direction import GravityDirection, gravity_direction

SIZE = 9.80665
DOWN = np.array([0.0, 0.0, -SIZE])


@pytest.fixture(scope='module')
def arm():
    return SimulatedArm(4)


def weight(arm, gravity, data):
    """Torques that carry the true arm, by Pinocchio, under some gravity."""
    model = arm.model.robot.pinocchio_model.copy()
    bodies = arm.truth[:10 * len(arm.model.robot.body_names)].reshape(-1, 10)
    for number, phi in enumerate(bodies):
        model.inertias[number + 1] = pin.Inertia.FromDynamicParameters(phi)
    model.gravity.linear = np.array(gravity)
    own = model.createData()
    return np.array([pin.computeGeneralizedGravity(model, own, row) for row in data.q])


def mounted(arm, gravity):
    """A recording of an arm under other gravity."""
    data = arm.dataset()
    return replace(data, tau=data.tau - weight(arm, DOWN, data) + weight(arm, gravity, data))


def tilted(angle, around):
    return SIZE * np.array([
        np.sin(angle) * np.cos(around), np.sin(angle) * np.sin(around), -np.cos(angle)])


@pytest.mark.parametrize('gravity', [
    (SIZE, 0.0, 0.0), (0.0, -SIZE, 0.0), (0.0, 0.0, SIZE), tilted(0.8, 2.0), tilted(0.25, 4.0)])
def test_where_gravity_pulls_is_found(arm, gravity):
    data = mounted(arm, gravity)
    found = gravity_direction(data, arm.model)
    assert found is not None and found.is_another
    away = np.arccos(min(found.gravity @ gravity / SIZE**2, 1.0))
    assert away < 0.1
    # On a wall it is the wall's.
    if np.count_nonzero(gravity) == 1:
        assert found.setting == pytest.approx(gravity, abs=0.01)
    findings = effort_findings(data, arm.model)
    odd = [one for one in findings if not one.kind.usable]
    assert [(one.joint, one.kind) for one in odd] == [(TOGETHER, EffortKind.OTHER_GRAVITY)]
    assert f'robot: {{gravity: {found.setting}}}' in odd[0].sentence
    assert 'nan' not in odd[0].sentence


def scaled(*factors):
    return lambda data: replace(data, tau=data.tau * np.array(factors))


def moved(joint, by):
    def change(data):
        q = np.array(data.q)
        q[:, joint] += by
        return replace(data, q=q)

    return change


@pytest.mark.parametrize('spoil', [
    lambda data: data, scaled(1.0, 1.6, 1.0, 1.0), scaled(1.0, -1.0, 1.0, 1.0),
    scaled(-1.0, -1.0, -1.0, -1.0), scaled(0.02, 0.02, 0.02, 0.02), scaled(3.0, 3.0, 3.0, 3.0),
    moved(1, 0.2), moved(2, -0.3),
    lambda data: replace(data, tau=data.tau - weight(SimulatedArm(4), DOWN, data)),
    lambda data: replace(data, tau=data.tau + 30.0 * data.q),
    lambda data: replace(data, tau=data.tau[:, [1, 0, 2, 3]]),
    lambda data: replace(data, tau=np.roll(data.tau, 200, axis=0)),
], ids=['right', 'scale', 'sign', 'signs', 'currents', 'heavy', 'zero', 'other zero', 'compensated',
        'springs', 'order', 'late'])
def test_other_faults_are_no_other_gravity(arm, spoil):
    data = spoil(arm.dataset())
    found = gravity_direction(data, arm.model)
    assert found is not None and not found.is_another
    assert all(one.kind is not EffortKind.OTHER_GRAVITY
               for one in effort_findings(data, arm.model))


def test_nothing_is_said_without_efforts_or_weight(arm):
    data = arm.dataset()
    silent = replace(data, tau=np.zeros_like(data.tau))
    assert gravity_direction(silent, arm.model) is None
    floating = TorqueModel(replace(arm.model.robot, gravity=np.zeros(3)), arm.model.terms)
    assert gravity_direction(data, floating) is None


def test_a_little_tilt_is_not_said_as_that_of_a_wall():
    def found(*gravity):
        return GravityDirection(np.array(gravity), DOWN, 1e3, 0.1, 0.9)

    assert found(9.79, 0.4, -0.3).setting == pytest.approx([9.81, 0.0, 0.0], abs=0.01)
    assert found(0.6, 0.0, -9.788).setting == pytest.approx([0.6, 0.0, -9.79])
    assert not found(0.1, 0.0, -9.8).is_another
