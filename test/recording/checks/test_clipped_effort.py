"""Efforts that noise hides the clipping of are named, flat ones of sound motion are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.simulated_arm import SimulatedArm
from sysid_ros.recording.checks.clipped_effort import clipped_efforts
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.settings import Processing

NOISE = 0.02


def recorded(arm, torque, seconds=20.0, rate=200.0):
    """The arm's motion with a torque at every joint under the noise of its sensor."""
    recording = arm.recording(seconds, rate)
    size = NOISE * torque.std(axis=0)
    noisy = torque + size * np.random.default_rng(arm.seed).normal(size=torque.shape)
    return replace(recording, channels=tuple(
        replace(channel, values=noisy) if channel.quantity == 'effort' else channel
        for channel in recording.channels))


def true_torque(arm, seconds=20.0, rate=200.0):
    return arm.torque(np.arange(round(seconds * rate)) / rate)


def found(arm, torque):
    recording = recorded(arm, torque)
    return clipped_efforts(recording, align(recording, arm.joint_names, Processing()), arm.model)


@pytest.mark.parametrize('seed', range(4))
def test_a_plateau_under_noise_is_named_with_joint_and_level(seed):
    arm = SimulatedArm(seed)
    torque = true_torque(arm)
    size, joint = np.abs(torque).max(axis=0), int(np.argmax(torque.std(axis=0)))
    limit = np.where(np.arange(len(size)) == joint, 0.5 * size, np.inf)
    named = found(arm, np.clip(torque, -limit, limit))
    assert {one.joint for one in named} == {arm.joint_names[joint]}
    for one in named:
        assert abs(one.level) == pytest.approx(limit[joint], rel=0.05)
        assert abs(one.asked) > 1.2 * limit[joint]
        assert np.sign(one.asked) == np.sign(one.level)
        assert repr(one.joint) in one.sentence


@pytest.mark.parametrize('seed', range(8))
def test_sound_motion_of_a_wrong_description_is_not_accused(seed):
    """Masses are up to 20 % off, and nothing of friction or offsets is described."""
    arm = SimulatedArm(seed)
    torque = true_torque(arm)
    assert found(arm, torque) == ()
    assert found(arm, 0.5 * torque) == ()


def test_dry_friction_that_is_most_of_a_torque_is_not_accused():
    """The torque of a geared wrist is a square wave, flat but where its joint turns round."""
    arm = SimulatedArm(1)
    seconds, rate = 20.0, 200.0
    _, v, _ = arm.motion(np.arange(round(seconds * rate)) / rate)
    torque = true_torque(arm)
    assert found(arm, torque + 3.0 * torque.std(axis=0) * np.tanh(v / 0.01)) == ()


class Trapezoids(SimulatedArm):
    """The arm with its first joint in trapezoids of velocity, the others at rest."""

    def motion(self, t):
        step, speed = 1e-3, 1.0
        grid = np.arange(0.0, t.max() + 2.0, step)
        phase = (grid % 4.0) / 4.0
        a = speed * np.select(
            [phase < 0.1, (phase >= 0.4) & (phase < 0.6), phase >= 0.9], [2.5, -2.5, 2.5], 0.0)
        v = np.cumsum(a) * step
        q = np.cumsum(v) * step
        moved = np.stack([np.interp(t, grid, x) for x in (q, v, a)])
        still = np.zeros((3, len(t), len(self.joint_names) - 1))
        return tuple(np.concatenate([moved[:, :, None], still], axis=2))


def test_the_constant_torques_of_trapezoids_are_not_accused():
    arm = Trapezoids(2)
    _, _, a = arm.motion(np.arange(4000) / 200.0)
    torque = true_torque(arm) + 0.5 * a
    flat = np.abs(torque[:, 0]) > 0.9 * np.abs(torque[:, 0]).max()
    assert flat.mean() > 0.1
    assert found(arm, torque) == ()


def test_a_recording_without_efforts_has_none():
    arm = SimulatedArm(0)
    recording = arm.recording(20.0, 200.0)
    without = replace(recording, channels=tuple(
        channel for channel in recording.channels if channel.quantity != 'effort'))
    dataset = align(recording, arm.joint_names, Processing())
    assert clipped_efforts(without, dataset, arm.model) == ()
