"""A motion that was fitted is found again, moved in time, noisy or at another rate."""

from __future__ import annotations

import numpy as np
import pytest

from support.simulated_arm import SimulatedArm
from sysid_ros.evaluation.repeated_motion import is_repeated
from sysid_ros.recording.dataset import Dataset

NAMES = SimulatedArm(1).joint_names
ALL, CYCLE = len(NAMES), 4.0


def data(q, rate=100.0):
    zero = np.zeros_like(q)
    return Dataset(
        NAMES, np.arange(len(q)) / rate, q, zero, zero, zero, np.ones(q.shape, bool), rate=rate,
        segments=((0, len(q)),), source='', sha256='')


def moved(seed, start, stop, rate=100.0, joints=ALL):
    """Positions of an arm that moves otherwise with each seed; some of its joints move."""
    q = SimulatedArm(seed).motion(np.arange(start, stop, 1.0 / rate))[0]
    return np.where(np.arange(len(NAMES)) < joints, q, q[0])


def noisy(q):
    return q + 1e-3 * np.random.default_rng(0).normal(size=q.shape)


@pytest.mark.parametrize('judged', [
    data(noisy(moved(1, 0.0, 20.0))), data(noisy(moved(1, 3.0, 12.0))),
    data(moved(1, 2.0, 18.0, rate=70.0), rate=70.0)])
def test_the_same_motion_is_found_again(judged):
    assert is_repeated(judged, data(moved(1, 0.0, 20.0)))


def test_the_next_cycle_of_a_periodic_motion_is_nothing_new():
    t = np.arange(0.0, 20.0, 0.01)[:, None]
    q = np.sin(2.0 * np.pi / CYCLE * t * np.arange(1, len(NAMES) + 1))
    assert is_repeated(data(noisy(q[1500:])), data(noisy(q[:1500])))


@pytest.mark.parametrize('joints', [1, 2, ALL])
@pytest.mark.parametrize('seed', range(2, 12))
def test_another_motion_is_new_however_few_joints_move(seed, joints):
    judged = data(moved(seed, 0.0, 12.0, joints=joints))
    assert not is_repeated(judged, data(moved(1, 0.0, 20.0, joints=joints)))


def test_the_rest_of_a_motion_without_period_is_new():
    assert not is_repeated(data(moved(1, 15.0, 20.0)), data(moved(1, 0.0, 15.0)))


def test_the_same_path_at_another_speed_is_new():
    q = SimulatedArm(1).motion(np.arange(0.0, 20.0, 0.01))[0]
    assert not is_repeated(data(q[::2]), data(q))


@pytest.mark.parametrize('rows', [1, 2, 3, 40])
def test_a_robot_at_rest_or_a_moment_repeats_nothing(rows):
    rest = data(np.ones((rows, len(NAMES))))
    assert not is_repeated(rest, data(moved(1, 0.0, 20.0)))
    assert not is_repeated(data(moved(1, 0.0, 20.0)), rest)
