"""Simulated loops and joints of every kind against integrators in coordinates of their own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

from support import stepper_scenes as scenes
from sysid_ros.estimation.trajectory.discrete.mechanism import Body, Joint, Mechanism
from sysid_ros.robot.inertia import central_inertia, inertial_parameters

truth, stepped, angles, frame, moving = (
    scenes.truth, scenes.stepped, scenes.angles, scenes.frame, scenes.moving)
G = scenes.GRAVITY


def test_a_four_bar_of_redundant_hinges_moves_as_in_its_one_coordinate():
    masses, crank, speed, seconds = (1.0, 2.0, 1.5), 0.7, 12.0, 2.0

    def rates(_, x):
        *_, acceleration = scenes.four_bar_motion(scenes.four_bar_angles(x[0]), masses)
        return x[1], acceleration(x[1])

    instants = np.arange(0.0, seconds + 1e-9, 0.01)
    exact = solve_ivp(rates, (0.0, seconds), (crank, speed), method='DOP853', rtol=1e-12,
                      atol=1e-12, t_eval=instants).y[0]
    assert np.ptp(exact) > 2.0 * np.pi
    errors = []
    for h in (1e-3, 5e-4, 2.5e-4):
        mechanism = scenes.four_bar(masses, damping=0.25 * h)
        before = solve_ivp(rates, (0.0, -0.5 * h), (crank, speed), method='DOP853', rtol=1e-12,
                           atol=1e-12).y[:, -1]
        state = scenes.four_bar_state(crank, speed).reshape(3, 13)
        state[:, 7:] = scenes.four_bar_state(*before).reshape(3, 13)[:, 7:]
        motion = stepped(mechanism, state.ravel(), round(seconds / h), h)
        found = angles(mechanism, motion)[::round(0.01 / h), 0]
        plane = motion.states.reshape(-1, 3, 13)
        assert np.abs(plane[:, :, [2, 3, 4, 9, 10, 11]]).max() <= 1e-9
        errors.append(np.abs(found - exact).max())
    assert errors[-1] <= 2e-3
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.2)


def lagging(exact, h):
    """A state of one body at zero with the velocities of half a step before."""
    state = exact(0.0)
    state[7:] = exact(-0.5 * h)[7:]
    return state


def test_a_spherical_joint_lets_a_rod_turn_about_the_vertical_as_a_cone():
    # Steady: (J + m l² - Jx) sin α cos α Ω² = m g l sin α, angular momentum turns with the rod.
    mass, length, across, along, tilt = 0.7, 0.4, 0.02, 1e-3, 0.6
    rate = np.sqrt(mass * G * length / ((across + mass * length**2 - along) * np.cos(tilt)))

    def exact(t):
        yaw = rate * t
        place = length * np.array(
            [np.sin(tilt) * np.cos(yaw), np.sin(tilt) * np.sin(yaw), -np.cos(tilt)])
        turn = scenes.Rotation.from_rotvec((0.0, 0.0, yaw)) * scenes.Rotation.from_rotvec(
            (0.0, -tilt, 0.0))
        spin = np.array([0.0, 0.0, rate])
        return moving(place, turn.as_rotvec(), np.cross(spin, place), spin)

    # A rod that turns with its cone has the same spin as the cone.
    errors, seconds = [], 3.0
    for h in (1e-3, 5e-4, 2.5e-4):
        joint = Joint('ball', 'spherical', 'rod', child_pose=frame((0.0, 0.0, length)),
                      damping=0.25 * h, **scenes.STIFF)
        mechanism = Mechanism(
            [scenes.body('rod', mass, (across, across, along))], [joint],
            np.array([0.0, 0.0, -G]))
        last = stepped(mechanism, lagging(exact, h), round(seconds / h), h).states[-1]
        errors.append(np.abs(last[:3] - exact(seconds)[:3]).max())
    assert errors[-1] <= 1e-5
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.2)


def test_bodies_that_are_welded_move_as_one():
    parts = [(0.4, np.array([0.1, 0.0, 0.05])), (0.9, np.array([-0.05, 0.1, 0.0]))]
    inertia, spin, gravity = np.diag([0.01, 0.02, 0.025]), np.array([1.0, 3.0, -2.0]), [0, 0, -G]
    whole = sum(inertial_parameters(mass, place, inertia) for mass, place in parts)
    centre, errors = whole[1:4] / whole[0], []
    for h in (2e-3, 1e-3, 5e-4):
        # One body at its centre of mass, and the two around it.
        one = inertial_parameters(whole[0], np.zeros(3), central_inertia(whole)[2])
        steps = round(1.0 / h)
        single = stepped(
            Mechanism([Body('whole', one)], [], np.array(gravity)), moving(centre, spin=spin),
            steps, h).states
        weld = Joint(
            'weld', 'weld', 'b', 'a', frame(parts[0][1] - parts[1][1]), damping=0.25 * h,
            **scenes.STIFF)
        two = Mechanism(
            [Body(name, inertial_parameters(mass, np.zeros(3), inertia))
             for name, (mass, _) in zip('ab', parts, strict=True)], [weld], np.array(gravity))
        start = np.concatenate([
            moving(place, velocity=np.cross(spin, place - centre), spin=spin)
            for _, place in parts])
        both = stepped(two, start, steps, h).states
        turned = scenes.Rotation.from_quat(single[:, 3:7])
        worst = 0.0
        for k, (_, place) in enumerate(parts):
            wanted = single[:, :3] + turned.apply(place - centre)
            worst = max(worst, np.abs(both[:, 13 * k:13 * k + 3] - wanted).max())
            turn = scenes.Rotation.from_quat(both[:, 13 * k + 3:13 * k + 7]) * turned.inv()
            worst = max(worst, turn.magnitude().max())
        errors.append(worst)
    # Velocities begin at their poses here, with both; what is left is of the weld.
    assert errors[-1] <= 1e-3
    assert np.log2(errors[1] / errors[2]) >= 0.9


def test_a_ball_on_a_rod_without_mass_is_a_simple_pendulum():
    length, start, seconds, errors = 0.5, 1.2, 3.0, []
    modulus, slow = np.sin(0.5 * start) ** 2, np.sqrt(G / length)

    def place_of(angle):
        return length * np.stack([np.sin(angle), 0.0 * angle, -np.cos(angle)], axis=-1)

    for h in (2e-3, 1e-3, 5e-4):
        rod = Joint('rod', 'distance', 'ball', length=length, damping=0.25 * h, **scenes.STIFF)
        mechanism = Mechanism(
            [scenes.body('ball', 0.8, (1e-3,) * 3)], [rod], np.array([0.0, 0.0, -G]))
        late = 0.5 * h * G * np.sin(start)
        state = moving(place_of(start), velocity=(
            late * np.cos(start), 0.0, late * np.sin(start)))
        found = stepped(mechanism, state, round(seconds / h), h).states[:, :3]
        phase = slow * h * np.arange(len(found)) + ellipk(modulus)
        angle = 2.0 * np.arcsin(np.sqrt(modulus) * ellipj(phase, modulus)[0])
        errors.append(np.abs(found - place_of(angle)).max())
    assert errors[-1] <= 5e-5
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.2)


def test_a_furuta_pendulum_moves_as_in_mujoco():
    mujoco = pytest.importorskip('mujoco')
    plant = truth.Furuta()
    model = mujoco.MjModel.from_xml_string(truth.mjcf(plant))
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 2e-4
    data = mujoco.MjData(model)
    q, v, h, steps = [0.2, 1.5], [0.5, -1.0], 2.5e-4, 8000
    data.qpos[:], data.qvel[:] = q, v
    path = [data.qpos.copy()]
    for _ in range(round(steps * h / 2e-4)):
        mujoco.mj_step(model, data)
        path.append(data.qpos.copy())
    mechanism = scenes.furuta(plant, damping=0.25 * h)
    found = angles(
        mechanism, stepped(mechanism, scenes.half_a_step_before(plant, q, v, h), steps, h))
    # Every millisecond.
    error = np.abs(found[::4] - np.array(path)[::5]).max()
    assert error <= 1e-4
