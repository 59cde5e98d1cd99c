"""The four-bar's forward dynamics as a factor graph of GTSAM, its factors written in NumPy.

Dependent coordinates: positions, velocities and accelerations of both points, three rods of
constant length. Nothing of the package is used, so that it serves as an oracle.
"""

from __future__ import annotations

import gtsam
import numpy as np

LENGTHS = (1.0, 2.0, np.sqrt(13.0))
MASSES = (1.0, 2.0, 4.0)
PIVOT = np.array([4.0, 0.0])
INTEGRATOR, DYNAMICS = 0.1, 0.01


def constraints(q):
    """What the rods' lengths are off by and its derivatives: half the squares over the length."""
    first, second = q[:2], q[2:]
    coupler, rocker = second - first, second - PIVOT
    gap = np.array([
        (first @ first / LENGTHS[0] - LENGTHS[0]),
        (coupler @ coupler / LENGTHS[1] - LENGTHS[1]),
        (rocker @ rocker / LENGTHS[2] - LENGTHS[2])]) / 2.0
    return gap, rates(first, coupler, second - PIVOT)


def rates(first, coupler, rocker):
    """Derivatives of the constraints, which are linear in these vectors."""
    matrix = np.zeros((3, 4))
    matrix[0, :2] = first / LENGTHS[0]
    matrix[1, :2], matrix[1, 2:] = -coupler / LENGTHS[1], coupler / LENGTHS[1]
    matrix[2, 2:] = rocker / LENGTHS[2]
    return matrix


def rates_of(v):
    """The derivatives' own rate of change along a velocity, or an acceleration."""
    return rates(v[:2], v[2:] - v[:2], v[2:])


def mass_matrix():
    """Uniform rods: a third of each mass at its ends, a sixth between them."""
    m1, m2, m3 = MASSES
    small = np.array([[m1 + m2, 0.5 * m2], [0.5 * m2, m2 + m3]]) / 3.0
    return np.kron(small, np.eye(2))


MASS = mass_matrix()


def weight(gravity):
    m1, m2, m3 = MASSES
    return -0.5 * gravity * np.array([0.0, m1 + m2, 0.0, m2 + m3])


def acceleration(q, v, gravity):
    """Accelerations under gravity, and their derivatives by positions and velocities."""
    jacobian, rate = constraints(q)[1], rates_of(v)
    saddle = np.zeros((7, 7))
    saddle[:4, :4], saddle[:4, 4:], saddle[4:, :4] = MASS, jacobian.T, jacobian
    inverse = np.linalg.inv(saddle)
    found = inverse @ np.concatenate([weight(gravity), -rate @ v])
    curvature = np.zeros((4, 4))
    for k in range(4):
        unit = np.zeros(4)
        unit[k] = 1.0
        curvature[:, k] = rates_of(unit).T @ found[4:]
    by_q = -inverse[:4] @ np.vstack([curvature, rates_of(found[:4])])
    by_v = -inverse[:4, 4:] @ (2.0 * rate)
    return found[:4], by_q, by_v


def key(letter, k):
    return gtsam.symbol(letter, k)


def arguments(factor, values):
    """The values of all variables of a factor."""
    keys = factor.keys()
    return [values.atVector(each) for each in keys]


def position_factor(k):
    def error(this, values, jacobians):
        gap, jacobian = constraints(values.atVector(this.keys()[0]))
        if jacobians is not None:
            jacobians[0] = jacobian
        return gap

    return gtsam.CustomFactor(gtsam.noiseModel.Constrained.All(3), [key('q', k)], error)


def velocity_factor(k):
    def error(this, values, jacobians):
        q, v = arguments(this, values)
        jacobian = constraints(q)[1]
        if jacobians is not None:
            jacobians[0], jacobians[1] = rates_of(v), jacobian
        return jacobian @ v

    return gtsam.CustomFactor(
        gtsam.noiseModel.Constrained.All(3), [key('q', k), key('v', k)], error)


def dynamics_factor(k, gravity):
    def error(this, values, jacobians):
        q, v, a = arguments(this, values)
        found, by_q, by_v = acceleration(q, v, gravity)
        if jacobians is not None:
            jacobians[0], jacobians[1], jacobians[2] = -by_q, -by_v, np.eye(4)
        return a - found

    return gtsam.CustomFactor(
        gtsam.noiseModel.Isotropic.Sigma(4, DYNAMICS),
        [key('q', k), key('v', k), key('a', k)], error)


def integrator_factor(names, k, h):
    identity = np.eye(4)

    def error(this, values, jacobians):
        here, rate, after, next_rate = arguments(this, values)
        if jacobians is not None:
            jacobians[0], jacobians[1] = -identity, -0.5 * h * identity
            jacobians[2], jacobians[3] = identity, -0.5 * h * identity
        return after - here - 0.5 * h * (rate + next_rate)

    keys = [key(name, step) for step in (k, k + 1) for name in names]
    return gtsam.CustomFactor(gtsam.noiseModel.Isotropic.Sigma(4, INTEGRATOR), keys, error)


def factors_of(k, h, gravity, start):
    """All factors that come with a step; its constraints are said by the priors at the first."""
    if k == 0:
        exact = gtsam.noiseModel.Constrained.All(4)
        return [
            gtsam.PriorFactorVector(key('q', 0), start[0], exact),
            gtsam.PriorFactorVector(key('v', 0), start[1], exact), dynamics_factor(0, gravity)]
    return [
        position_factor(k), velocity_factor(k), dynamics_factor(k, gravity),
        integrator_factor('qv', k - 1, h), integrator_factor('va', k - 1, h)]


def batch(count, h, gravity, start, guess, tolerance=1e-13):
    """The optimum of the whole graph.

    Args:
        count: How many steps there are.
        h: The step in [s].
        gravity: In [m/s²].
        start: Positions and velocities of the first step, shape ``(4,)`` each.
        guess: Positions, velocities and accelerations to begin with, shape ``(N, 4)`` each.
        tolerance: Relative decrease of the cost that ends it.

    Returns:
        The same, and the number of iterations.
    """
    graph, values = gtsam.NonlinearFactorGraph(), gtsam.Values()
    for k in range(count):
        for factor in factors_of(k, h, gravity, start):
            graph.push_back(factor)
        for name, array in zip('qva', guess, strict=True):
            values.insert(key(name, k), array[k])
    settings = gtsam.LevenbergMarquardtParams()
    settings.setLinearSolverType('MULTIFRONTAL_QR')
    settings.setRelativeErrorTol(tolerance)
    settings.setAbsoluteErrorTol(1e-20)
    optimizer = gtsam.LevenbergMarquardtOptimizer(graph, values, settings)
    found = optimizer.optimize()
    return tuple(
        np.array([found.atVector(key(name, k)) for k in range(count)]) for name in 'qva'
    ), optimizer.iterations()


def fixed_lag(count, h, gravity, start, window):
    """GTSAM's smoother over a window, sample by sample; positions of the newest step, (N, 4)."""
    settings = gtsam.LevenbergMarquardtParams()
    settings.setLinearSolverType('MULTIFRONTAL_QR')
    smoother = gtsam.BatchFixedLagSmoother((window - 0.5) * h, settings)
    q, v, a = start[0], start[1], acceleration(start[0], start[1], gravity)[0]
    found = []
    for k in range(count):
        graph, values = gtsam.NonlinearFactorGraph(), gtsam.Values()
        stamps = gtsam.FixedLagSmootherKeyTimestampMap() if hasattr(
            gtsam, 'FixedLagSmootherKeyTimestampMap') else {}
        for factor in factors_of(k, h, gravity, start):
            graph.push_back(factor)
        for name, value in zip('qva', (q, v, a), strict=True):
            values.insert(key(name, k), value)
            if isinstance(stamps, dict):
                stamps[key(name, k)] = k * h
            else:
                stamps.insert((key(name, k), k * h))
        smoother.update(graph, values, stamps)
        q, v, a = (smoother.calculateEstimateVector(key(name, k)) for name in 'qva')
        found.append(q)
        q, v = q + h * v + 0.5 * h**2 * a, v + h * a
    return np.array(found)
