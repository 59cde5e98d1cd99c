"""Closed loops are simulated too, and one that is torn does not end the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import closed_robots as robots
from sysid_ros.evaluation.simulation import simulate
from sysid_ros.mechanics.forward_dynamics import ForwardDynamics
from sysid_ros.mechanics.joint_terms.terms import Armature, CoulombFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.dataset import Dataset

RATE = 200.0
T = np.arange(800) / RATE


def moved(name):
    """A robot with heavier bodies and more friction than described, and how it moved."""
    robot = getattr(robots, name)()
    return along(robot, robots.smooth_motion(robot, T, 3))


def along(robot, motion):
    """The heavier robot along a motion of the driven joints, ``(T, n)`` each."""
    model = TorqueModel(robot, (ViscousFriction(), CoulombFriction(), Armature()))
    truth = model.parameters.prior.copy()
    for body in model.parameters.bodies:
        truth[model.parameters.body_slice(body)] *= 1.3
    for k, field in enumerate(model.parameters.names):
        if field.endswith(('friction', 'armature')):
            truth[k] += 0.05
    tau = model.torque(truth, *motion)
    return model, truth, Dataset(
        robot.joint_names, T, *motion, tau, np.ones(tau.shape, dtype=bool), ((0, len(T)),), RATE)


@pytest.mark.parametrize('name', ['five_bar', 'rod_five_bar', 'leg'])
def test_the_truth_follows_the_measured_motion_and_the_prior_does_not(name):
    model, truth, data = moved(name)
    result = simulate(model, truth, data)
    assert len(result.starts) == 7
    assert result.candidate.problem() is None
    assert result.relative(result.candidate) < 0.03
    assert result.relative(result.prior) > 3.0 * result.relative(result.candidate)


def test_a_piece_that_passes_a_dead_point_is_lost_alone():
    # Driven at its rocker, the four-bar has them at 2.337 and 2.9 rad.
    robot = robots.four_bar_linkage().robot(['rocker_joint'], robots.FOUR_BAR_ASSEMBLY)
    angle = 2.0 * T[:, None]
    motion = 2.6 + 0.1 * np.sin(angle), 0.2 * np.cos(angle), -0.4 * np.sin(angle)
    model, truth, data = along(robot, motion)
    dynamics = ForwardDynamics(model, truth)
    q, v = np.array([data.q[0], [2.35], data.q[9]]), np.array([data.v[0], [-50.0], data.v[9]])
    torque = data.tau[[0, 0, 9]]
    after = dynamics.step(q, v, torque, 5e-3)
    assert after[2].tolist() == [False, True, False]
    sound = [0, 2]
    alone = dynamics.step(q[sound], v[sound], torque[sound], 5e-3)
    for all_three, both in zip(after[:2], alone[:2], strict=True):
        np.testing.assert_allclose(all_three[sound], both, rtol=1e-9)
    pushed = data.tau.copy()
    pushed[300:400] -= 400.0
    result = simulate(model, truth, replace(data, tau=pushed))
    assert result.candidate.diverged == 1
    torn = np.isnan(result.candidate.path).any(axis=(1, 2))
    assert np.flatnonzero(torn).tolist() == [3]
