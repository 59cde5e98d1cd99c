"""A double pendulum and opened closed chains for the variational integrator, and starts of them."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from support import golden_problems as golden
from sysid_ros.mechanics.integrators.variational.assembly import constraints
from sysid_ros.mechanics.integrators.variational.driven_trajectory import DrivenTrajectory
from sysid_ros.mechanics.integrators.variational.system import discrete_system
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel


def double_pendulum(*terms):
    urdf = (
        '<robot name="pendulum"><link name="base"/>'
        + golden.link('upper', 2.0, (0.0, 0.0, -0.2), (0.1, 0.1, 0.4))
        + golden.link('lower', 1.0, (0.0, 0.05, -0.15), (0.1, 0.1, 0.3))
        + golden.joint('shoulder', 'base', 'upper', '0 1 0', '0 0 1')
        + golden.joint('elbow', 'upper', 'lower', '0 1 0', '0 0 -0.4') + '</robot>')
    return TorqueModel(RobotModel.from_urdf(urdf), terms)


def free(model, q, v, nodes, step):
    return DrivenTrajectory(np.array([q, v], dtype=float), np.zeros((nodes, len(q))), step)


def closed_model(robot, *terms):
    """The opened tree of a robot, its closures, and where they are closed."""
    model = TorqueModel(robot.opened, terms)
    closures = robot.loops.closures
    q = closed_configuration(discrete_system(model, closures), closures, robot.loops.assembly)
    return model, closures, q


def closed_configuration(system, closures, guess, held=()):
    """The closed configuration next to a guess, by Newton's method, some joints held."""
    q = np.array(guess, dtype=float)
    moving = np.setdiff1d(np.arange(len(q)), np.asarray(held, dtype=int))
    for _ in range(100):
        here = constraints(system, None, q)
        change = np.linalg.lstsq(here.jacobian[:, moving], -here.gap, rcond=1e-7)[0]
        q[moving] += change * min(1.0, 0.3 / max(np.abs(change).max(initial=0.0), 1e-300))
        # The last step leaves rounding alone.
        if np.abs(here.gap).max(initial=0.0) <= 1e-11:
            return q
    raise AssertionError(f'the closures {closures} do not close near {guess}')


def within(model, closures, q, seed=0, size=1.0):
    """A velocity that the closures allow."""
    jacobian = constraints(discrete_system(model, closures), None, q).jacobian
    random = size * np.random.default_rng(seed).normal(size=len(q))
    return random - np.linalg.pinv(jacobian, rcond=1e-9) @ (jacobian @ random)


def geometric_ratio(system, values, q, impulses, step, span):
    r"""Largest geometric stiffness over what a step leaves stable, below one for stability.

    The largest eigenvalue of :math:`-Z^\top (Q/s) Z` relative to :math:`Z^\top (4M/h^2) Z`, where
    Z spans the motions within the constraints; impulses of these act over a time s in [s].
    """
    here = constraints(system, values, q, impulses)
    allowed = scipy.linalg.null_space(here.jacobian)
    stiffness = -allowed.T @ here.stiffness @ allowed / span
    inertia = 4.0 / step**2 * allowed.T @ here.mass @ allowed
    return float(scipy.linalg.eigh(
        0.5 * (stiffness + stiffness.T), inertia, eigvals_only=True)[-1])
