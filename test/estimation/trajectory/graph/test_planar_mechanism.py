"""Planar mechanisms: derivatives against differences, motion against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from support import four_bar_reference as reference
from sysid_ros.errors import ConfigurationError, EstimationError, ModelError
from sysid_ros.estimation.trajectory.graph.mechanism_file import parse_mechanism, read_mechanism

# One of every kind: a body of three points, a slider on a moving line, one on the ground, an
# absolute and a relative angle, and all forces along them.
ALL_KINDS = """
name: all kinds
gravity: [1.5, -9.0]
points:
  A: {at: [0, 0], fixed: true}
  B: {at: [0.8, 0.3]}
  C: {at: [1.5, -0.4]}
  D: {at: [1.1, 0.6]}
  E: {at: [1.15, -0.05]}
  G: {at: [2.5, -0.4]}
  H: {at: [3.0, -0.4], fixed: true}
  J: {at: [1.5, -0.4], fixed: true}
bodies:
  crank: {points: [A, B], mass: 1.2, center: [0.5, 0.1], inertia: 0.4}
  plate: {points: [B, C, D], mass: 2.0, center: [0.4, -0.2], inertia: 0.9}
  rod: {points: [E, G], mass: 0.7}
sliders:
  on plate: {point: E, line: [B, C]}
  on ground: {point: G, line: [H, J]}
angles:
  drive: {of: [A, B], viscous_friction: 0.3, coulomb_friction: 0.2, armature: 0.05}
  knee: {of: [B, C], against: [B, A], stiffness: 2.0, rest: 0.4, torque_offset: 0.1}
torques: [drive, knee]
"""
STEP = 1e-6


@pytest.fixture(scope='module')
def mechanism():
    return parse_mechanism(ALL_KINDS)


def random_motion(mechanism, rng, samples=4):
    """Motions near the assembly that fulfil nothing."""
    n = len(mechanism.coordinates)
    return mechanism.assembly + 0.1 * rng.normal(size=(samples, n)), *rng.normal(
        size=(2, samples, n))


def differences(function, x, step=STEP):
    """Central differences of a function of ``(S, n)``, the derivative's index last."""
    columns = []
    for k in range(x.shape[1]):
        e = np.zeros(x.shape[1])
        e[k] = step
        columns.append((function(x + e) - function(x - e)) / (2.0 * step))
    return np.stack(columns, -1)


def close(found, wanted, tolerance=1e-7):
    """Equal within a part of the largest entry: the bar of the issue."""
    np.testing.assert_allclose(
        found, wanted, rtol=0.0, atol=tolerance * max(1.0, float(np.abs(wanted).max())))


def test_the_assembly_fulfils_all_constraints(mechanism):
    still = np.zeros((1, len(mechanism.coordinates)))
    found = mechanism.constrained(mechanism.assembly[None], still, still)
    assert np.abs(found.gap).max() < 1e-14


def test_derivatives_of_constraints_are_those_of_differences(mechanism, rng):
    q, v, a = random_motion(mechanism, rng)

    def at(*motion):
        return mechanism.constrained(*motion)

    found = at(q, v, a)
    close(found.jacobian, differences(lambda x: at(x, v, a).gap, q))
    close(found.rate, differences(
        lambda x: (at(x, v, a).jacobian @ v[:, :, None])[:, :, 0], q))
    close(found.bias, (found.rate @ v[:, :, None])[:, :, 0], 1e-12)
    close(found.slope, differences(
        lambda x: at(x, v, a).bias + (at(x, v, a).jacobian @ a[:, :, None])[:, :, 0], q))
    close(2.0 * found.rate, differences(lambda x: at(q, x, a).bias, v))


def on_the_manifold(mechanism, rng, samples=4):
    """Motions that fulfil positions and velocities."""
    still = np.zeros((1, len(mechanism.coordinates)))
    q, v = [], []
    for _ in range(samples):
        moved = mechanism.assembly[mechanism.independent]
        q.append(mechanism.configuration(moved + 0.1 * rng.normal(size=len(moved))))
        jacobian = mechanism.constrained(q[-1][None], still, still).jacobian[0]
        away = rng.normal(size=still.shape[1])
        v.append(away - np.linalg.pinv(jacobian) @ jacobian @ away)
    return np.array(q), np.array(v)


def test_derivatives_of_accelerations_are_those_of_differences(mechanism, rng):
    q, v = on_the_manifold(mechanism, rng)
    torque, values = rng.normal(size=(4, 2)), mechanism.parameters.values
    columns = np.eye(len(values))

    def respond(q=q, v=v, torque=torque, values=values):
        return mechanism.response(values, q, v, torque, np.zeros((len(values), 0))).value

    found = mechanism.response(values, q, v, torque, columns)
    close(found.value, respond(), 1e-15)
    close(found.by_position, differences(lambda x: respond(q=x), q))
    close(found.by_velocity, differences(lambda x: respond(v=x), v))
    close(found.by_torque, differences(lambda x: respond(torque=x), torque))
    by_values = differences(
        lambda x: np.stack([respond(values=row) for row in x], 0), values[None])[0]
    close(found.by_parameters, by_values)


def test_accelerations_are_those_of_newton_and_lagrange(mechanism, rng):
    # The saddle point solved by numpy, the mass matrix from kinetic energy, forces by hand.
    q, v = on_the_manifold(mechanism, rng, 1)
    values, torque = mechanism.parameters.values, np.array([[0.7, -0.3]])
    found = mechanism.response(values, q, v, torque, np.zeros((len(values), 0))).value[0]
    n, names = len(mechanism.coordinates), list(mechanism.coordinates)
    here = mechanism.constrained(q, v, np.zeros_like(q))
    mass, pull = np.zeros((n, n)), np.zeros(n)
    for k, (first, second) in enumerate((('A', 'B'), ('B', 'C'), ('E', 'G'))):
        add_body(mass, pull, mechanism, names, first, second, values[4 * k:4 * k + 4])
    drive, knee = names.index('drive'), names.index('knee')
    mass[drive, drive] += 0.05
    pull[drive] += 0.7 - 0.3 * v[0, drive] - 0.2 * np.tanh(v[0, drive] / 0.05)
    pull[knee] += -0.3 - 2.0 * (q[0, knee] - 0.4) - 0.1
    m = len(mechanism.constraints)
    saddle = np.block([[mass, here.jacobian[0].T], [here.jacobian[0], np.zeros((m, m))]])
    wanted = np.linalg.solve(saddle, np.concatenate([pull, -here.bias[0]]))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)


def add_body(mass, pull, mechanism, names, first, second, values):
    """Mass matrix and weight of one body, by its centre and the turning of its axes."""
    m, hx, hy, inertia = values
    length = mechanism.forces.length[('A', 'B', 'E').index(first)]
    n = len(names)

    def selector(point):
        pick = np.zeros((2, n))
        for axis, letter in enumerate('xy'):
            if f'{point}.{letter}' in names:
                pick[axis, names.index(f'{point}.{letter}')] = 1.0
        return pick

    way = (selector(second) - selector(first)) / length
    turned = np.array([[0.0, -1.0], [1.0, 0.0]]) @ way
    centre = selector(first) + (hx * way + hy * turned) / m
    # Of a rigid body, |d(way)/dt| is the rate of turning.
    about_centre = inertia - (hx**2 + hy**2) / m
    mass += m * centre.T @ centre + about_centre * way.T @ way
    pull += m * centre.T @ np.array([1.5, -9.0])


def test_the_four_bar_is_where_circles_meet():
    mechanism = parse_mechanism(reference.description())
    bar = reference.FourBar()
    for theta in (0.3, 1.5, 2.9, -1.2, -3.0, 5.5):
        q = mechanism.configuration(np.array([theta]))
        (first, second), _, _ = bar.points(theta)
        np.testing.assert_allclose(q, [*first, *second, theta], atol=1e-11)


def test_the_four_bar_accelerates_as_its_reduced_equation_says(rng):
    more = 'viscous_friction: 0.7'
    mechanism = parse_mechanism(reference.description(more=more))
    bar = reference.FourBar(friction=0.7)
    theta, rate, acceleration = rng.uniform(-3.0, 3.0, size=(3, 20))
    q, v, a = bar.coordinates(theta, rate, acceleration)
    torque = bar.torque(theta, rate, acceleration)
    values = mechanism.parameters.values
    found = mechanism.response(values, q, v, torque[:, None], np.zeros((len(values), 0)))
    np.testing.assert_allclose(found.value[:, :5], a, rtol=1e-9, atol=1e-9)


def test_the_reference_keeps_its_energy():
    bar, t = reference.FourBar(), np.linspace(0.0, 5.0, 501)
    theta, rate, _ = bar.motion(t)
    (first, second), _, _ = bar.points(theta)
    height = 0.5 * (3.0 * first[:, 1] + 6.0 * second[:, 1])
    energy = 0.5 * bar.inertia(theta)[0] * rate**2 + 9.8 * height
    assert np.ptp(energy) < 1e-9


def test_constraints_that_repeat_others_do_no_harm():
    # A parallelogram with a third parallel rod, which leaves its freedom and repeats a constraint.
    text = """
    points:
      A: {at: [0, 0], fixed: true}
      B: {at: [1, 0], fixed: true}
      C: {at: [2, 0], fixed: true}
      P: {at: [0.3, 0.8]}
      Q: {at: [1.3, 0.8]}
      R: {at: [2.3, 0.8]}
    bodies:
      left: {points: [A, P], mass: 1.0}
      middle: {points: [B, Q], mass: 1.0}
      right: {points: [C, R], mass: 1.0}
      beam: {points: [P, Q, R], mass: 3.0, center: [1.0, 0.0], inertia: 4.0}
    angles:
      crank: {of: [A, P]}
    independent: [crank]
    """
    mechanism = parse_mechanism(text)
    assert mechanism.rank == len(mechanism.constraints) - 1
    values, q = mechanism.parameters.values, mechanism.configuration(np.array([0.9]))
    still = np.zeros((1, len(q)))
    found = mechanism.response(
        values, q[None], still, np.zeros((1, 0)), np.zeros((len(values), 0))).value[0]
    # All of the beam and half of each rod swing on a radius r, the rods with a third of theirs.
    r, g = np.hypot(0.3, 0.8), 9.80665
    wanted = -g * r * np.cos(0.9) * (3.0 + 1.5) / (r**2 * (3.0 + 1.0))
    assert found[mechanism.independent[0]] == pytest.approx(wanted, rel=1e-9)


def test_both_branches_of_the_four_bar_are_found():
    mechanism = parse_mechanism(reference.description())
    theta = 0.7
    found = mechanism.branches(np.array([theta]))
    assert len(found) == 2
    first, second = found[:, :2], found[:, 2:4]
    np.testing.assert_allclose(first, [[np.cos(theta), np.sin(theta)]] * 2, atol=1e-10)
    # The coupler's far end is mirrored at the line from its near end to the second pivot.
    way = np.array([4.0, 0.0]) - first[0]
    across = np.array([-way[1], way[0]]) / np.hypot(*way)
    sides = (second - first) @ across
    np.testing.assert_allclose(sides[0], -sides[1], atol=1e-9)
    own = mechanism.configuration(np.array([theta]))
    assert min(np.abs(found - own).max(axis=1)) < 1e-9


def test_a_file_is_read(tmp_path):
    path = tmp_path / 'linkage.yaml'
    path.write_text(reference.description(), encoding='utf-8')
    mechanism = read_mechanism(path)
    assert mechanism.name == 'four-bar'
    assert mechanism.coordinates == ('P1.x', 'P1.y', 'P2.x', 'P2.y', 'theta')
    assert mechanism.parameters['rocker.inertia'] == pytest.approx(4.0 * 13.0 / 3.0)
    assert mechanism.rank == 4 and mechanism.independent.tolist() == [4]


@pytest.mark.parametrize(('change', 'error', 'words'), [
    (('P1, P2]', 'P1, P3]'), ModelError, "found 'P3'.*Did you mean 'P"),
    (('mass: 2.0', 'mas: 2.0'), ConfigurationError, "Did you mean 'mass'"),
    (('at: [1, 2]', 'at: [1, 0]'), ModelError, 'two points are at the same place'),
    (('torques: [theta]', 'torques: [teta]'), ModelError, "Did you mean 'theta'"),
    (('independent: [theta]', 'independent: [theta, P1.x]'), ModelError, 'do not determine'),
])
def test_mistakes_are_said(change, error, words):
    with pytest.raises(error, match=words):
        parse_mechanism(reference.description().replace(*change))


def test_what_cannot_be_reached_is_said():
    # The rocker of a linkage whose crank is too long swings between two dead points.
    text = reference.description().replace('P1: {at: [1, 0]}', 'P1: {at: [2, 0]}')
    mechanism = parse_mechanism(text)
    with pytest.raises(EstimationError, match='cannot be reached on this branch'):
        mechanism.configuration(np.array([3.0]))
