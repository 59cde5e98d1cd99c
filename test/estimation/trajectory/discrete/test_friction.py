"""Simulated dry friction and contacts against exact motions, and the problem behind them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from support import stepper_scenes as scenes
from sysid_ros.estimation.trajectory.discrete import stepper, sweep
from sysid_ros.estimation.trajectory.discrete.mechanism import Mechanism
from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import workspace_for

truth, stepped, angles, frame, moving = (
    scenes.truth, scenes.stepped, scenes.angles, scenes.frame, scenes.moving)
Friction, Furuta, Pendulum = truth.Friction, truth.Furuta, truth.Pendulum
# Gravity of the scenes.
G = scenes.GRAVITY


@pytest.mark.parametrize(('part', 'holds'), [(1.001, True), (0.999, False)])
def test_a_pendulum_sticks_exactly_up_to_its_friction(part, holds):
    angle, h = 0.8, 1e-3
    drive = {'coulomb_friction': part * 0.5 * G * 0.3 * np.sin(angle)}
    mechanism = scenes.pendulum(drive=drive)
    motion = stepped(mechanism, scenes.pendulum_state(angle, 0.0), 2000, h)
    moved = np.abs(angles(mechanism, motion)[:, 0] - angle).max()
    assert (motion.modes.slip == 0.0).all() == holds
    # What is left is what stiff joints give and sticking ones creep.
    assert moved <= 1e-7 if holds else moved > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize('friction', [
    {'dry': 0.03}, {'load': 0.01}, {'dry': 0.03, 'extra': 0.5, 'rate': 4.0},
    {'dry': 0.01, 'load': 0.004, 'viscous': 2e-3, 'extra': 0.4, 'rate': 2.0}],
    ids=['Coulomb', 'bearing', 'Stribeck', 'all'])
def test_a_pendulum_sticks_and_slips_as_the_exact_one_does(friction):
    plant = Pendulum(friction=(Friction(**friction),))
    exact = truth.simulate(plant, [2.0], [0.0], 6.0)
    assert exact.changes >= 4
    assert (exact.v[-100:] == 0.0).all()
    errors = []
    for h in (2e-3, 1e-3, 5e-4):
        mechanism = pendulum_of(plant, 0.25 * h)
        motion = stepped(
            mechanism, scenes.pendulum_state(2.0, 0.0, plant.length), round(6.0 / h), h)
        found = angles(mechanism, motion)[:, 0]
        every = max(1, round(1e-3 / h))
        wanted = exact.q[::max(1, round(h / 1e-3)), 0]
        errors.append(np.abs(found[::every] - wanted).max())
        assert (motion.modes.slip[-100:] == 0.0).all()
    # A start at rest is half a step late, and dry friction stops at the ends of steps.
    assert errors[-1] <= 3e-3
    assert np.log2(errors[-2] / errors[-1]) == pytest.approx(1.0, abs=0.1)


def pendulum_of(plant, damping):
    """The pendulum of the truth in maximal coordinates; its gravity is not that of scenes."""
    own = plant.friction[0]
    drive = {
        'viscous_friction': own.viscous, 'coulomb_friction': own.dry,
        'bearing_friction': own.load, 'stribeck_friction': own.extra * own.dry,
        'stribeck_bearing_friction': own.extra * own.load}
    drive = {name: value for name, value in drive.items() if value}
    if own.rate:
        drive['stribeck_velocity'] = own.rate**-0.5
    mechanism = scenes.pendulum(
        plant.mass, plant.length, plant.inertia, drive, (own.arm, 1.0), damping=damping)
    return Mechanism(mechanism.bodies, mechanism.joints, np.array([0.0, -truth.GRAVITY, 0.0]))


@pytest.mark.slow
def test_a_furuta_pendulum_with_loaded_dry_friction_converges_to_the_exact_one():
    plant = Furuta(friction=(
        Friction(viscous=1e-3, dry=0.01, load=0.001), Friction(viscous=1e-4, load=0.0008)))
    q, v = [0.0, 2.5], [0.0, 0.0]
    exact = truth.simulate(plant, q, v, 2.0)
    assert exact.changes >= 4
    errors = []
    for h in (1e-3, 5e-4, 2.5e-4):
        mechanism = scenes.furuta(plant, damping=0.25 * h)
        every = round(1e-3 / h)
        motion = stepped(mechanism, scenes.furuta_state(plant, q, v), 2000 * every, h)
        errors.append(np.abs(angles(mechanism, motion)[::every] - exact.q).max())
    assert errors[-1] <= 2.5e-3
    assert np.log2(errors[-2] / errors[-1]) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize('friction', [0.0, 0.3])
def test_a_box_slides_down_a_slope_with_what_friction_leaves_of_gravity(friction):
    slope, h = 0.5, 1e-3
    mechanism = scenes.box(slope, friction)
    motion = stepped(mechanism, scenes.on_slope(slope, 0.05, 0.2), 1000, h)
    down = Rotation.from_rotvec((0.0, slope, 0.0)).as_matrix()
    speed = motion.states[:, 7:10] @ down
    wanted = G * (np.sin(slope) - friction * np.cos(slope))
    assert np.diff(speed[500:, 0]) / h == pytest.approx(wanted, rel=1e-10)
    assert np.abs(speed[:, 1]).max() <= 1e-12
    # The four corners bear the box, the lower ones more of it, and give by their compliance.
    forces = motion.impulses[-1, :4] / h
    assert forces.sum() == pytest.approx(2.0 * G * np.cos(slope), rel=1e-9)
    tipping = friction * 0.05 * 2.0 * G * np.cos(slope)
    assert 0.1 * (forces[:2].sum() - forces[2:].sum()) == pytest.approx(tipping, abs=1e-7)


@pytest.mark.parametrize('part', [0.99, 1.01])
def test_a_box_sticks_below_the_angle_of_friction_and_slides_above(part):
    friction, h = 0.4, 1e-3
    slope = part * np.arctan(friction)
    mechanism = scenes.box(slope, friction)
    motion = stepped(mechanism, scenes.on_slope(slope, 0.05), 1000, h)
    down = Rotation.from_rotvec((0.0, slope, 0.0)).apply((1.0, 0.0, 0.0))
    moved = (motion.states[-1, :3] - motion.states[0, :3]) @ down
    if part < 1.0:
        # Corners give while they take the load; then friction gives way at 1e-8 of what a step
        # of gravity would do, about 1e-10 m/s.
        assert abs(moved) <= 1e-7
        assert abs(motion.states[-1, 7:10] @ down) <= 1e-9
    else:
        wanted = 0.5 * G * (np.sin(slope) - friction * np.cos(slope))
        assert moved == pytest.approx(wanted, rel=3e-3)


def test_a_box_that_slides_comes_to_rest_where_friction_stops_it():
    slope, friction, speed, h = 0.1, 0.5, 1.0, 1e-3
    mechanism = scenes.box(slope, friction)
    motion = stepped(mechanism, scenes.on_slope(slope, 0.05, speed), 1000, h)
    down = Rotation.from_rotvec((0.0, slope, 0.0)).apply((1.0, 0.0, 0.0))
    braking = G * (friction * np.cos(slope) - np.sin(slope))
    moved = (motion.states[-1, :3] - motion.states[0, :3]) @ down
    assert moved == pytest.approx(speed**2 / (2.0 * braking), abs=speed * h)
    assert np.linalg.norm(motion.states[-1, 7:]) <= 1e-10


def test_a_box_falls_freely_lands_and_rests():
    h, height = 1e-3, 0.05
    mechanism = scenes.box(0.0, 0.3, compliance=1e-6)
    motion = stepped(mechanism, moving((0.0, 0.0, 0.05 + height)), 1000, h)
    fall = int(0.95 * np.sqrt(2.0 * height / G) / h)
    k = np.arange(fall + 1)
    free = 0.05 + height - 0.5 * G * h**2 * k * (k + 1)
    assert motion.states[:fall + 1, 2] == pytest.approx(free, abs=1e-12)
    assert not motion.impulses[:fall].any()
    assert not motion.modes.pushing[1:fall].any()
    # At rest each corner gives by its compliance times a quarter of the weight.
    assert motion.states[-1, 2] == pytest.approx(0.05 - 1e-6 * 0.25 * 2.0 * G, rel=1e-9)
    assert motion.impulses[-1, :4] == pytest.approx(np.full(4, 0.25 * 2.0 * G * h), rel=1e-6)


def step_of(mechanism, state, h, solve):
    """Impulses, velocity and modes of one step, found by a function of its problem."""
    arrays = mechanism.arrays
    parameters = mechanism.body_parameters(mechanism.parameters.values)
    work = workspace_for(len(mechanism.bodies), len(arrays.compliance), len(arrays.dry))
    solve(arrays, parameters, h, state, np.zeros(len(arrays.dry)), work)
    return work


def by_trying(arrays, parameters, h, state, torque, work):
    """The step as compiled simulations take it; an impossible one is none."""
    states, m = np.vstack([state, state]), len(arrays.compliance)
    modes = sweep.ContactModes.of(1, m, len(arrays.dry))
    impulses = np.zeros((1, m + len(arrays.dry)))
    assert sweep.simulate(
        arrays, parameters, h, torque[None], 0, states, impulses, modes, work) == -1


def scattered(kind, rng):
    """A mechanism with dry friction and a state of it, at rest or not."""
    if kind == 'box':
        slope = rng.uniform(0.0, 0.6)
        state = scenes.on_slope(slope, 0.05 - 1e-6, rng.choice([0.0, 0.3]))
        state[7:] += rng.choice([0.0, 0.1]) * rng.normal(size=6)
        return scenes.box(slope, rng.uniform(0.1, 0.8)), state
    load, speed = rng.uniform(0.0, 0.005, 2), rng.choice([0.0, 3.0])
    plant = Furuta(friction=(
        Friction(dry=0.2, load=load[0], extra=0.3, rate=2.0), Friction(dry=0.1, load=load[1])))
    return scenes.furuta(plant), scenes.furuta_state(
        plant, rng.uniform(-np.pi, np.pi, 2), speed * rng.normal(size=2))


@pytest.mark.parametrize('kind', ['furuta', 'box'])
def test_complementarity_finds_what_trying_the_modes_finds(kind, rng):
    sticking = 0
    for _ in range(60):
        mechanism, state = scattered(kind, rng)
        tried, told = (
            step_of(mechanism, state, 1e-3, solve) for solve in (by_trying, stepper.complement))
        sticking += (tried.slip == 0.0).any()
        scale = np.abs(tried.velocity).max() + 1e-3 * G
        assert told.velocity == pytest.approx(tried.velocity, abs=1e-6 * scale)
        # Which of the friction that holds a box twice is not said.
        sure = slice(None) if kind == 'furuta' else slice(0, 4)
        assert told.impulse[sure] == pytest.approx(
            tried.impulse[sure], rel=1e-6, abs=1e-6 * np.abs(tried.impulse).max())
    assert 10 <= sticking <= 55


def test_a_simulation_turns_to_complementarity_where_trying_goes_round_in_circles(
    monkeypatch, rng
):
    asked, solve = [], stepper.complement

    def counted(*arguments):
        asked.append(arguments[3].copy())
        solve(*arguments)

    monkeypatch.setattr(stepper, 'complement', counted)
    mechanism = scenes.box(0.0, 0.7)
    for _ in range(40):
        state = scenes.on_slope(0.0, 0.06)
        state[7:] = rng.normal(size=6) * (1.0, 1.0, 1.0, 5.0, 5.0, 5.0)
        motion = stepped(mechanism, state, 400, 1e-3)
        # All steps, those that were asked for too, keep what friction and contacts demand.
        normal, across = np.repeat(motion.impulses[:, :4], 2, axis=1), motion.impulses[:, 4:]
        assert (normal >= -1e-12 * normal.max()).all()
        assert (np.abs(across) <= 0.7 * normal + 1e-9 * normal.max()).all()
    assert asked
