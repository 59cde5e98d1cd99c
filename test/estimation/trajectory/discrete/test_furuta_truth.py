"""The truth that estimators are judged by, against other simulators and closed forms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

from support import furuta_truth as truth

Friction, Furuta, Pendulum, simulate = (
    truth.Friction, truth.Furuta, truth.Pendulum, truth.simulate)
NONE = (Friction(), Friction())
# Sums of different values, so that none can stand for another.
ODD = Furuta(
    arm_com=0.11, arm_length=0.25, rod_com=0.09, arm_mass=0.3, rod_mass=0.4,
    arm_inertia=(2e-4, 0.003, 0.0031), rod_inertia=(0.0015, 0.004, 0.0029), shaft=2e-4,
    friction=(Friction(viscous=2e-3), Friction(viscous=3e-4)), tilt=(0.2, 0.5, -0.3))


def states(rng, count=50):
    """Random angles, speeds and control signals."""
    return zip(
        rng.uniform(-np.pi, np.pi, size=(count, 2)), rng.normal(scale=5.0, size=(count, 2)),
        rng.normal(scale=0.1, size=count), strict=True)


def accelerations(plant, q, v, u):
    """Of a plant without dry friction."""
    return np.array(plant.motion(q.tolist(), v.tolist(), u, (1, 1))[0])


def in_pinocchio(plant):
    """The same mechanism as a tree of bodies; at zero all frames are the world's."""
    model = pin.Model()
    # In these frames the arm's own axes x, y, z point along x, -z, y.
    xx, yy, zz = plant.arm_inertia
    arm = model.addJoint(0, pin.JointModelRY(), pin.SE3.Identity(), 'one')
    inertia = pin.Inertia(
        plant.arm_mass, np.array([plant.arm_com, 0.0, 0.0]), np.diag([xx, zz, yy]))
    model.appendBodyToJoint(arm, inertia, pin.SE3.Identity())
    # The rod's x points down, its y along the arm.
    xx, yy, zz = plant.rod_inertia
    rod = model.addJoint(
        arm, pin.JointModelRX(), pin.SE3(np.eye(3), np.array([plant.arm_length, 0.0, 0.0])), 'two')
    inertia = pin.Inertia(
        plant.rod_mass, np.array([0.0, -plant.rod_com, 0.0]), np.diag([yy, xx, zz]))
    model.appendBodyToJoint(rod, inertia, pin.SE3.Identity())
    model.gravity.linear = np.array(plant.gravity)
    model.armature = np.array([plant.shaft, 0.0])
    return model


@pytest.mark.parametrize('plant', [Furuta(), ODD], ids=['paper', 'odd'])
def test_accelerations_are_those_of_pinocchio(rng, plant):
    model = in_pinocchio(plant)
    data = model.createData()
    viscous = np.array([f.viscous for f in plant.friction])
    for q, v, u in states(rng):
        wanted = pin.aba(model, data, q, v, np.array([plant.gain * u, 0.0]) - viscous * v)
        np.testing.assert_allclose(
            accelerations(plant, q, v, u), wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize('plant', [Furuta(), ODD], ids=['paper', 'odd'])
def test_accelerations_are_those_of_mujoco(rng, plant):
    mujoco = pytest.importorskip('mujoco')
    model = mujoco.MjModel.from_xml_string(truth.mjcf(plant))
    data = mujoco.MjData(model)
    for q, v, u in states(rng):
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, [plant.gain * u, 0.0]
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(
            accelerations(plant, q, v, u), data.qacc, rtol=1e-9,
            atol=1e-9 * np.abs(data.qacc).max())


def test_reactions_are_those_of_pinocchio(rng):
    model = in_pinocchio(ODD)
    data = model.createData()
    for q, v, _ in states(rng):
        a = rng.normal(scale=20.0, size=2)
        pin.forwardKinematics(model, data, q)
        pin.rnea(model, data, q, v, a)
        found = ODD.reactions(q.tolist(), v.tolist(), a.tolist())
        for joint, (force, torque) in enumerate(found):
            wrench = data.f[joint + 1]
            world = data.oMi[joint + 1].rotation @ wrench.linear
            assert force == pytest.approx(np.abs(world).sum(), rel=1e-10)
            # Torques that the hinge holds, about axes of its parent.
            parent = data.liMi[joint + 1].rotation @ wrench.angular
            parent[1 - joint] = 0.0
            assert torque == pytest.approx(np.abs(parent).sum(), rel=1e-10)


def test_energy_grows_by_the_power_of_the_control_signal(rng):
    for q, v, u in states(rng):
        a, step = accelerations(ODD, q, v, u), 1e-6
        rate = (
            ODD.energy(q + step * v, v + step * a) - ODD.energy(q - step * v, v - step * a)
        ) / (2.0 * step)
        power = ODD.gain * u * v[0] - sum(
            f.viscous * x * x for f, x in zip(ODD.friction, v, strict=True))
        assert rate == pytest.approx(power, rel=1e-6, abs=1e-6)


def test_a_release_without_friction_keeps_its_energy():
    plant = Furuta(friction=NONE)
    motion = truth.release(plant, 5.0)
    energy = np.array([plant.energy(*x) for x in zip(motion.q, motion.v, strict=True)])
    assert np.ptp(motion.q[:, 1]) > np.pi
    assert np.abs(energy - energy[0]).max() <= 1e-11
    assert not motion.lost.any()


def test_a_release_is_that_of_an_integrator_with_steps_of_its_own():
    plant = Furuta()
    motion = truth.release(plant, 3.0)

    def slope(t, x):
        return np.concatenate([x[2:], accelerations(plant, x[:2], x[2:], 0.0)])

    wanted = solve_ivp(
        slope, (0.0, 3.0), np.concatenate([motion.q[0], motion.v[0]]), method='DOP853',
        rtol=1e-12, atol=1e-13, t_eval=motion.t).y.T
    np.testing.assert_allclose(motion.q, wanted[:, :2], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(motion.v, wanted[:, 2:], rtol=0.0, atol=1e-8)


def crossings(t, x):
    """When a signal goes up through zero."""
    k = np.flatnonzero((x[:-1] < 0.0) & (x[1:] >= 0.0))
    return t[k] - x[k] * (t[k + 1] - t[k]) / (x[k + 1] - x[k])


def test_small_oscillations_have_the_frequency_of_the_closed_form():
    plant = Furuta(friction=NONE)
    m11, m12, m22, _ = plant.inertias(0.0)
    weight = plant.rod_mass * truth.GRAVITY * plant.rod_com
    omega = math.sqrt(weight / (m22 - m12**2 / m11))
    motion = simulate(plant, [0.0, 1e-5], [0.0, 0.0], 5.0)
    times = crossings(motion.t, motion.q[:, 1])
    assert np.diff(times) == pytest.approx(2.0 * np.pi / omega, rel=1e-6)


def test_the_single_pendulum_has_the_period_of_the_elliptic_integral():
    plant, angle = Pendulum(friction=(Friction(),)), 2.8
    moment = plant.inertia + plant.mass * plant.length**2
    omega = math.sqrt(plant.mass * truth.GRAVITY * plant.length / moment)
    motion = simulate(plant, [angle], [0.0], 8.0)
    times = crossings(motion.t, motion.q[:, 0])
    assert np.diff(times) == pytest.approx(
        4.0 * ellipk(math.sin(0.5 * angle) ** 2) / omega, rel=1e-6)


DRY = {
    'torque': (Friction(1e-3, dry=0.01), Friction(1e-4, dry=0.003)),
    'load': (Friction(1e-3, load=6e-4), Friction(1e-4, load=3e-4)),
    'Stribeck': (
        Friction(1e-3, dry=0.01, extra=0.5, rate=5.0), Friction(1e-4, load=3e-4, extra=0.5,
                                                                rate=2.0)),
}


@pytest.mark.slow
@pytest.mark.parametrize('friction', DRY.values(), ids=DRY.keys())
def test_lost_energy_is_what_friction_took(friction):
    plant = Furuta(friction=friction)
    motion = truth.pulse(plant, 2.5, begin=0.3, height=0.03)
    energy = np.array([plant.energy(*x) for x in zip(motion.q, motion.v, strict=True)])
    work = np.append(0.0, np.cumsum(plant.gain * motion.u[:-1] * np.diff(motion.q[:, 0])))
    balance = energy - energy[0] - work + motion.lost.sum(axis=1)
    assert np.abs(balance).max() <= 1e-10 * np.ptp(energy)
    assert (np.diff(motion.lost, axis=0) >= 0.0).all()
    assert motion.changes > 3


@pytest.mark.slow
@pytest.mark.parametrize('friction', DRY.values(), ids=DRY.keys())
def test_steps_half_as_long_change_nothing(friction):
    plant = Furuta(friction=friction)
    coarse = truth.pulse(plant, 1.5, begin=0.2, height=0.03)
    fine = simulate(
        plant, [0.0, 0.0], [0.0, 0.0], 1.5,
        lambda t, q, v: 0.03 if 0.2 <= t < 1.2 else 0.0, rate=2.0 * truth.joints.RATE)
    np.testing.assert_allclose(coarse.q, fine.q[::2], rtol=0.0, atol=1e-8)


def test_a_wheel_under_dry_friction_slows_evenly_and_stops():
    # Without a lever there is no gravity: J a = -c.
    wheel = Pendulum(length=0.0, inertia=0.01, friction=(Friction(dry=0.02),), gain=1.0)
    motion = simulate(wheel, [0.0], [1.0], 1.0)
    time = np.minimum(motion.t, 0.5)
    np.testing.assert_allclose(motion.v[:, 0], 1.0 - 2.0 * time, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(motion.q[:, 0], time - time**2, rtol=0.0, atol=1e-13)
    assert (motion.v[motion.t > 0.5001] == 0.0).all()
    assert motion.lost[-1, 0] == pytest.approx(0.005, rel=1e-12)


def test_a_joint_lets_go_at_the_friction_of_rest_and_slips_under_that_of_sliding():
    wheel = Pendulum(
        length=0.0, inertia=0.01, friction=(Friction(dry=0.02, extra=0.5, rate=1e8),), gain=1.0)
    motion = simulate(wheel, [0.0], [0.0], 0.5, lambda t, q, v: 0.1 * t)
    # The signal is held for a sample; 0.03 N·m at rest are reached at 0.3 s.
    first = motion.t[np.flatnonzero(motion.v[:, 0])[0]]
    assert first == pytest.approx(0.302, abs=1.5e-3)
    late = motion.t > 0.31
    slope = np.gradient(motion.v[late, 0], motion.t[late])[1:-1]
    np.testing.assert_allclose(
        slope, (0.1 * motion.t[late][1:-1] - 0.02 - 0.05e-3) / 0.01, rtol=0.0, atol=1e-6)


def test_a_stuck_arm_stays_where_it_is():
    plant = Furuta(friction=(Friction(dry=2.0), Friction(viscous=1e-4)))
    motion = simulate(plant, [0.3, 1.0], [0.0, 0.0], 2.0, lambda t, q, v: 0.03)
    assert (motion.q[:, 0] == 0.3).all()
    assert (motion.v[:, 0] == 0.0).all()
    assert motion.changes == 0
    # The rod then is a single pendulum.
    alone = Pendulum(
        plant.rod_mass, plant.rod_com, plant.rod_inertia[1], (Friction(viscous=1e-4),))
    np.testing.assert_allclose(
        motion.q[:, 1:], simulate(alone, [1.0], [0.0], 2.0).q, rtol=0.0, atol=1e-12)


def test_stick_and_slip_are_those_of_events_in_an_integrator_of_its_own():
    plant = Pendulum(friction=(Friction(viscous=2e-4, dry=0.01),))
    moment = plant.inertia + plant.mass * plant.length**2
    weight = plant.mass * truth.GRAVITY * plant.length
    motion = simulate(plant, [1.0], [0.0], 12.0)
    t, x, wanted = 0.0, np.array([1.0, 0.0]), []

    def stops(t, x):
        return x[1]

    stops.terminal = True
    # Every half swing has friction of one sign; it ends where the weight cannot start another.
    while abs(weight * math.sin(x[0])) > 0.01:
        sign = -np.sign(x[0])
        stops.direction = -sign

        def slope(t, x, sign=sign):
            return [x[1], (-weight * math.sin(x[0]) - 2e-4 * x[1] - 0.01 * sign) / moment]

        piece = solve_ivp(
            slope, (t, 12.0), x, method='DOP853', rtol=1e-12, atol=1e-14, events=stops,
            dense_output=True)
        inside = motion.t[(motion.t >= t) & (motion.t < piece.t[-1])]
        wanted.append(piece.sol(inside)[0])
        t, x = piece.t[-1], np.array([piece.y[0, -1], 0.0])
        assert piece.status == 1
    wanted = np.concatenate(wanted)
    assert len(wanted) < len(motion.t)
    np.testing.assert_allclose(motion.q[:len(wanted), 0], wanted, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(motion.q[len(wanted):, 0], x[0], rtol=0.0, atol=1e-9)
    assert (motion.v[len(wanted):] == 0.0).all()


def test_friction_that_follows_the_load_follows_it():
    friction = Friction(load=0.002)
    plant = Pendulum(friction=(friction,))
    q, v = [0.7], [3.0]
    a, dry, limits = plant.motion(q, v, 0.0, [1])
    force, torque = plant.reactions(q, v, a)[0]
    assert limits[0] == pytest.approx(0.002 * force, rel=1e-13)
    assert dry[0] == pytest.approx(-limits[0], rel=1e-13)
    assert torque == 0.0
    # The force, from the motion of the centre of mass.
    s, c, l = math.sin(0.7), math.cos(0.7), plant.length  # noqa: E741
    across, up = l * (c * a[0] - s * 9.0), l * (s * a[0] + c * 9.0) + truth.GRAVITY
    assert force == pytest.approx(plant.mass * (abs(across) + abs(up)), rel=1e-13)


def test_the_rod_swings_up():
    plant = Furuta()
    motion = truth.swing_up(plant, 6.0)
    top = 2.0 * plant.rod_mass * truth.GRAVITY * plant.rod_com
    _, _, moment, _ = plant.inertias(0.0)
    energy = 0.5 * moment * motion.v[:, 1] ** 2 + 0.5 * top * (1.0 - np.cos(motion.q[:, 1]))
    assert np.abs(motion.u).max() == 0.1
    assert energy[-2000:].mean() == pytest.approx(top, rel=0.1)
    assert np.abs(motion.q[:, 1]).max() > np.pi
    assert np.abs(motion.q[:, 0]).max() < np.pi


def test_noise_is_that_of_its_seed():
    motion = simulate(Furuta(), [0.0, 1.0], [0.0, 0.0], 2.0)
    noise = motion.measured(seed=3) - motion.q
    assert noise.std() == pytest.approx(1e-3, rel=0.05)
    np.testing.assert_array_equal(motion.measured(seed=3), motion.q + noise)
    assert (motion.measured(seed=4) != motion.measured(seed=3)).all()


def test_tilt_turns_gravity():
    quarter = replace(Furuta(), tilt=(0.5 * np.pi, 0.0, 0.0))
    np.testing.assert_allclose(quarter.gravity, [0.0, 0.0, -truth.GRAVITY], atol=1e-15)
    # A turn about the vertical changes nothing.
    np.testing.assert_allclose(replace(Furuta(), tilt=(0.0, 1.0, 0.0)).gravity, Furuta().gravity)
