"""Simulated steps of mechanisms against closed forms and integrators in joint coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

from support import stepper_scenes as scenes
from sysid_ros.estimation.trajectory.discrete.mechanism import Joint, Mechanism

truth, stepped, angles, frame, moving = (
    scenes.truth, scenes.stepped, scenes.angles, scenes.frame, scenes.moving)
Friction, Furuta = truth.Friction, truth.Furuta
NONE = (Friction(), Friction())
# In steps: with a damping time of so many steps, errors of constraints are of second order.
DAMPED = 0.5


def order(errors):
    """How errors fall as steps are halved."""
    errors = np.asarray(errors)
    return np.log2(errors[:-1] / errors[1:])


def test_a_pendulum_swings_as_the_elliptic_functions_say_at_second_order():
    start, seconds = 2.0, 3.0
    moment, weight = 0.01 + 0.5 * 0.3**2, 0.5 * scenes.GRAVITY * 0.3
    modulus = np.sin(0.5 * start) ** 2
    errors = []
    for h in (2e-3, 1e-3, 5e-4):
        mechanism, steps = scenes.pendulum(damping=DAMPED * h), round(seconds / h)
        # Velocities are those half a step before.
        state = scenes.pendulum_state(start, 0.0)
        late = 0.5 * h * weight / moment * np.sin(start)
        state[7:] = scenes.pendulum_state(start, late)[7:]
        found = angles(mechanism, stepped(mechanism, state, steps, h))[:, 0]
        phase = np.sqrt(weight / moment) * h * np.arange(steps + 1) + ellipk(modulus)
        exact = 2.0 * np.arcsin(np.sqrt(modulus) * ellipj(phase, modulus)[0])
        errors.append(np.abs(found - exact).max())
    assert np.ptp(exact) > 3.9
    assert errors[-1] <= 1e-4
    assert order(errors) == pytest.approx(2.0, abs=0.1)


def test_small_swings_have_the_frequency_that_such_steps_have():
    # θ⁺ - 2 θ + θ⁻ = -h² ω² θ is solved by cos(k Ω h) with sin(Ω h / 2) = ω h / 2.
    h, steps, size = 0.01, 1000, 1e-5
    mechanism = scenes.pendulum(damping=DAMPED * h)
    slow = np.sqrt(0.5 * scenes.GRAVITY * 0.3 / (0.01 + 0.5 * 0.3**2))
    turn = 2.0 * np.arcsin(0.5 * slow * h)
    state = scenes.pendulum_state(size, size * (1.0 - np.cos(turn)) / h)
    found = angles(mechanism, stepped(mechanism, state, steps, h))[:, 0]
    exact = size * np.cos(turn * np.arange(steps + 1))
    assert np.abs(found - exact).max() <= 1e-6 * size


@pytest.mark.parametrize('tilt', [0.0, 0.7])
def test_a_prismatic_joint_falls_on_a_parabola(tilt):
    h, steps = 1e-3, 500
    axis = frame(turn=(0.0, tilt, 0.0))
    mechanism = Mechanism(
        [scenes.body('slider', 1.5, (0.02, 0.03, 0.04))],
        [Joint('slide', 'prismatic', 'slider', child_pose=axis, parent_pose=axis, **scenes.STIFF)],
        np.array([0.0, 0.0, -scenes.GRAVITY]))
    pull = -scenes.GRAVITY * np.cos(tilt)
    state = moving(velocity=-0.5 * h * pull * axis[:3, 2])
    motion = stepped(mechanism, state, steps, h)
    t = h * np.arange(steps + 1)
    exact = 0.5 * pull * t[:, None] ** 2 * axis[:3, 2]
    # What is left is the give of constraints, compliance times weight.
    assert np.abs(motion.states[:, :3] - exact).max() <= 2e-9 * (tilt > 0.0) + 1e-13


@pytest.mark.parametrize('averaged', [True, False], ids=['averaged', 'as published'])
@pytest.mark.parametrize('kind', ['hinge', 'prismatic'])
def test_viscous_friction_decays_as_steps_of_its_rule_do(kind, averaged):
    h, steps, viscous, armature = 1e-3, 2000, 0.05, 0.02
    joint = Joint(
        'joint', kind, 'body', drive={'viscous_friction': viscous, 'armature': armature},
        **scenes.STIFF)
    mechanism = Mechanism(
        [scenes.body('body', 0.3, (0.02, 0.03, 0.04))], [joint], np.zeros(3), averaged)
    part = h * viscous / (armature + (0.04 if kind == 'hinge' else 0.3))
    state = moving(spin=(0.0, 0.0, 2.0)) if kind == 'hinge' else moving(velocity=(0.0, 0.0, 2.0))
    place = 12 if kind == 'hinge' else 9
    speed = stepped(mechanism, state, steps, h).states[:, place]
    k = np.arange(steps + 1)
    # Crank-Nicolson, or backward Euler.
    factor = (1.0 - 0.5 * part) / (1.0 + 0.5 * part) if averaged else 1.0 / (1.0 + part)
    assert speed == pytest.approx(2.0 * factor**k, rel=1e-11)
    # And these to what they stand for, at second order or at first.
    assert np.abs(speed / 2.0 - np.exp(-part * k)).max() <= (part**2 if averaged else part)


@pytest.mark.parametrize(('averaged', 'expected'), [(True, 2.0), (False, 1.0)])
def test_a_free_body_tumbles_as_euler_says(averaged, expected):
    inertia, spin, seconds = np.array([0.02, 0.05, 0.06]), np.array([1.0, 5.0, 0.8]), 2.0

    def rates(_, x):
        (x, y, z, w), omega = x[:4], x[4:]
        a, b, c = 0.5 * omega
        return np.concatenate([
            [w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a,
             -x * a - y * b - z * c], np.cross(inertia * omega, omega) / inertia])

    start = np.concatenate([[0.0, 0.0, 0.0, 1.0], spin])
    exact = solve_ivp(
        rates, (0.0, seconds), start, method='DOP853', rtol=1e-12, atol=1e-12).y[:, -1]
    assert exact[5] < 0.0, 'the middle axis has not turned over'
    errors = []
    for h in (1e-3, 5e-4, 2.5e-4):
        mechanism = Mechanism([scenes.body('body', 2.0, inertia)], [], np.zeros(3), averaged)
        # Half a step before, in the axes of the world.
        before = solve_ivp(
            rates, (0.0, -0.5 * h), start, method='DOP853', rtol=1e-12, atol=1e-14).y[:, -1]
        state = moving(spin=Rotation.from_quat(before[:4]).apply(before[4:]))
        last = stepped(mechanism, state, round(seconds / h), h).states[-1]
        away = Rotation.from_quat(last[3:7]) * Rotation.from_quat(exact[:4]).inv()
        errors.append(away.magnitude())
    assert order(errors) == pytest.approx(expected, abs=0.15)
    if averaged:
        assert errors[-1] <= 1e-6


def furuta_errors(plant, averaged, damping, q, v, exact, steps):
    """Largest errors of both angles for several steps, at the instants of the truth."""
    errors = []
    for h in steps:
        mechanism = scenes.furuta(plant, averaged, damping=damping(h))
        start = scenes.half_a_step_before(plant, q, v, h)
        every = round(1e-3 / h)
        found = angles(mechanism, stepped(mechanism, start, every * (len(exact) - 1), h))
        errors.append(np.abs(found[::every] - exact).max())
    return errors


@pytest.mark.parametrize(
    ('averaged', 'damping', 'viscous', 'expected', 'bar'), [
        # With damping times that shrink with steps: second order.
        (True, lambda h: 0.25 * h, 0.0, 2.0, 5e-5),
        (True, lambda h: 0.25 * h, 1.0, 2.0, 5e-5),
        # A damping time that stays is of first order, by γ h / 2 times the acceleration of a point.
        (True, lambda h: 0.01, 0.0, 1.0, 1.5e-2),
        # And gyroscopic forces of the velocity before, as published.
        (False, lambda h: 0.25 * h, 0.0, 1.0, 2e-2)],
    ids=['averaged', 'viscous', 'damping time', 'as published'])
def test_a_furuta_pendulum_converges_to_the_truth_at_its_order(
    averaged, damping, viscous, expected, bar
):
    plant = Furuta(friction=(Friction(viscous=1e-3 * viscous), Friction(viscous=1e-4 * viscous)))
    q, v = [0.3, 2.0], [1.0, -2.0]
    exact = truth.simulate(plant, q, v, 4.0).q
    errors = furuta_errors(plant, averaged, damping, q, v, exact, (1e-3, 5e-4, 2.5e-4))
    assert order(errors)[-1] == pytest.approx(expected, abs=0.2)
    assert errors[-1] <= bar
