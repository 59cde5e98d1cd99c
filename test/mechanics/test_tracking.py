"""The simulated robot in closed loop, against Pinocchio's forward dynamics and SciPy's solver."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
import scipy.integrate

from support import golden_problems as simulated
from sysid_ros.errors import ModelError
from sysid_ros.mechanics.tracking import TrackingRobot

RATE = 500.0
BANDWIDTH = 5.0


def reference(robot, samples=700):
    """Sines and their derivatives, at another rate than the golden problems'."""
    q, v, a = simulated.motion(robot, samples, seed=4)
    slower = simulated.RATE / RATE
    return q, v / slower, a / slower**2


@pytest.mark.parametrize('name', simulated.NAMES)
def test_a_robot_that_its_controller_knows_stays_on_the_reference(name):
    golden = simulated.golden(name)
    q, v, a = simulated.motion(golden.model.robot, 400, seed=4)
    robot = TrackingRobot(golden.model, golden.truth, golden.truth, bandwidth=1.0)
    found = robot.track(q, v, a, simulated.RATE, [(0, 400)])
    # What is left is the error of the integration at 100 Hz.
    for x, expected in zip(found, (q, v, a), strict=True):
        assert np.abs(x - expected).max() < 0.01 * np.abs(expected).max()


def test_it_moves_as_pinocchios_forward_dynamics_say():
    golden = simulated.golden('arm')
    model, truth = golden.model, golden.truth
    nominal = model.parameters.prior
    pinocchio = pin.Model(model.robot.pinocchio_model)
    for body in range(3):
        pinocchio.inertias[body + 1] = pin.Inertia.FromDynamicParameters(
            truth[10 * body:10 * body + 10])
    armature = np.array([truth[model.parameters.index(f'{joint}.armature')]
                         for joint in model.robot.joint_names])
    pinocchio.armature = armature
    data, known = pinocchio.createData(), pin.Model(model.robot.pinocchio_model)
    known_data = known.createData()
    omega = 2.0 * np.pi * BANDWIDTH
    wave = np.array([2.0, 3.0, 4.0])

    def wanted(t):
        angle = np.multiply.outer(t, wave)
        return 0.5 * np.sin(angle), 0.5 * wave * np.cos(angle), -0.5 * wave**2 * np.sin(angle)

    def slope(t, state):
        q, v = state[:3], state[3:]
        goal, speed, acceleration = wanted(t)
        mass = pin.crba(pinocchio, data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T
        tau = pin.rnea(known, known_data, goal, speed, acceleration)
        tau = tau + mass @ (omega**2 * (goal - q) + 2.0 * omega * (speed - v))
        return np.concatenate([v, pin.aba(pinocchio, data, q, v, tau)])

    t = np.arange(600) / 2000.0
    q, v, a = wanted(t)
    expected = scipy.integrate.solve_ivp(
        slope, (0.0, t[-1]), np.concatenate([q[0], v[0]]), t_eval=t, rtol=1e-9, atol=1e-10).y.T
    robot = TrackingRobot(model, truth, nominal, BANDWIDTH)
    found, speed, _ = robot.track(q, v, a, 2000.0, [(0, 600)])
    # The controller's model is wrong: the robot strays from the reference.
    assert np.abs(found - q).max() > 5e-3
    np.testing.assert_allclose(found, expected[:, :3], atol=1e-5)
    np.testing.assert_allclose(speed, expected[:, 3:], atol=1e-4)


def test_windows_side_by_side_are_the_simulation_in_one_piece(monkeypatch):
    golden = simulated.golden('arm')
    q, v, a = reference(golden.model.robot, samples=1500)
    robot = TrackingRobot(golden.model, golden.truth, golden.model.parameters.prior, BANDWIDTH)
    found = robot.track(q, v, a, RATE, [(0, 1500)])
    monkeypatch.setattr('sysid_ros.mechanics.tracking._SHORTEST', 10_000)
    whole = robot.track(q, v, a, RATE, [(0, 1500)])
    assert np.abs(whole[0] - q).max() > 1e-4
    for x, expected in zip(found, whole, strict=True):
        assert np.abs(x - expected).max() < 1e-3 * np.abs(expected).max()


def test_segments_do_not_know_of_each_other():
    golden = simulated.golden('arm')
    q, v, a = reference(golden.model.robot)
    robot = TrackingRobot(golden.model, golden.truth, golden.model.parameters.prior, BANDWIDTH)
    both = robot.track(q, v, a, RATE, [(0, 300), (400, 700)])
    alone = robot.track(q[400:], v[400:], a[400:], RATE, [(0, 300)])
    for x, expected in zip(both, alone, strict=True):
        np.testing.assert_allclose(x[400:], expected, atol=1e-12)
        np.testing.assert_array_equal(x[300:400], 0.0)


def test_a_robot_without_inertia_is_refused():
    golden = simulated.golden('arm')
    q, v, a = reference(golden.model.robot)
    robot = TrackingRobot(golden.model, -golden.truth, golden.truth, BANDWIDTH)
    with pytest.raises(ModelError, match='has no inertia'):
        robot.track(q, v, a, RATE, [(0, 700)])


def test_a_loop_too_fast_for_the_rate_is_refused_when_it_runs_away():
    golden = simulated.golden('arm')
    q, v, a = reference(golden.model.robot)
    robot = TrackingRobot(golden.model, golden.truth, golden.model.parameters.prior, RATE)
    with pytest.raises(ModelError, match='does not stay near'):
        robot.track(q, v, a, RATE, [(0, 700)])
