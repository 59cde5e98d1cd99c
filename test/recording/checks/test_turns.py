"""Turns that are taken for radians are told by the efforts, and radians are not doubted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.recording.checks.turns import counted_turns


def scaled(data, factor):
    return replace(data, q=factor * data.q, v=factor * data.v, a=factor * data.a)


@pytest.mark.parametrize('seed', range(6))
def test_turns_are_told_and_radians_are_believed(simulated_arm, seed):
    arm = simulated_arm(seed)
    data = arm.dataset()
    found = counted_turns(scaled(data, 0.5 / np.pi), arm.model)
    assert found is not None and found.after > found.before + 0.1
    assert counted_turns(data, arm.model) is None


@pytest.mark.parametrize('spoil', [
    lambda tau: -tau, lambda tau: tau[:, ::-1], lambda tau: 1e3 * tau,
    lambda tau: np.random.default_rng(0).normal(size=tau.shape), lambda tau: 0.0 * tau + 1.0])
def test_efforts_that_are_odd_speak_for_no_turns(simulated_arm, spoil):
    arm = simulated_arm(1)
    data = arm.dataset()
    assert counted_turns(replace(data, tau=spoil(data.tau)), arm.model) is None
    small = scaled(data, 0.1)
    torque = arm.rigid(small.q, small.v, small.a)
    assert counted_turns(replace(small, tau=spoil(torque)), arm.model) is None
    assert counted_turns(replace(small, tau=torque), arm.model) is None
