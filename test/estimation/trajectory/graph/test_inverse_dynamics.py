"""Inverse dynamics on factor graphs, against the four-bar's closed form."""

from __future__ import annotations

import numpy as np
import pytest

from support import four_bar_reference as reference
from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.graph.inverse_dynamics import inverse_dynamics
from sysid_ros.estimation.trajectory.graph.mechanism_file import parse_mechanism

STEP = 5e-3


def trajectory(count):
    """A smooth motion of the crank: angle, rate and acceleration."""
    t = STEP * np.arange(count)
    return 1.2 - 1.2 * np.cos(2.0 * t), 2.4 * np.sin(2.0 * t), 4.8 * np.cos(2.0 * t)


# Part of the torque by which the trapezoidal rule may be off at this step: its share of the
# acceleration is (2 rad/s)^2 (5 ms)^2 / 6, and dependent coordinates contradict it at the ends.
@pytest.mark.parametrize(('coordinates', 'bar'), [('independent', 2e-5), ('dependent', 1e-3)])
def test_torques_are_those_of_the_reduced_equation(coordinates, bar):
    theta, rate, acceleration = trajectory(300)
    mechanism = parse_mechanism(reference.description(9.80665))
    progress = []
    found = inverse_dynamics(
        mechanism, STEP, theta[:, None], coordinates=coordinates,
        progress=lambda stage, solution: progress.append((stage, sorted(solution.variables))))
    wanted = reference.FourBar(gravity=9.80665).torque(theta, rate, acceleration)
    error = found.variables['torque'][:, 0] - wanted
    assert np.linalg.norm(error) <= bar * np.linalg.norm(wanted)
    assert np.abs(found.variables['q'][:, 4] - theta).max() <= 1e-6
    assert [stage for stage, _ in progress] == ['positions', 'derivatives', 'velocities', 'torques']
    assert progress[0][1] == ['q'] and 'torque' in progress[3][1]


def test_a_trajectory_beyond_reach_is_refused():
    # With a crank of two metres the linkage cannot turn round.
    text = reference.description().replace('P1: {at: [1, 0]}', 'P1: {at: [2, 0]}')
    theta = np.linspace(0.0, 3.1, 400)[:, None]
    with pytest.raises(EstimationError, match=r'dead point|cannot all|did not converge'):
        inverse_dynamics(parse_mechanism(text), STEP, theta)
