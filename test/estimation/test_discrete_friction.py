"""Simulated dry friction and contacts against exact motions, and the problem behind them."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sysid_ros.estimation.trajectory.discrete.mechanism import Mechanism

TEST = Path(__file__).parents[1]
scenes = SimpleNamespace(**runpy.run_path(str(TEST / 'stepper_scenes.py')))
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
