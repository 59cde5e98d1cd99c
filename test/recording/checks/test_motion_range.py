"""How far a motion goes, and in what it goes beyond another."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.recording.checks.motion_range import MotionRange


@pytest.fixture(scope='module')
def data(simulated_arm):
    return simulated_arm(2).dataset()


def test_the_range_is_that_of_nearly_all_samples(data):
    found = MotionRange.of(data)
    np.testing.assert_array_equal(found.lower, data.q.min(axis=0))
    np.testing.assert_array_equal(found.upper, data.q.max(axis=0))
    for values, largest in ((data.v, found.speed), (data.a, found.acceleration),
                            (data.tau, found.torque)):
        assert (largest <= np.abs(values).max(axis=0)).all()
        assert (np.mean(np.abs(values) > largest, axis=0) < 0.01).all()
    spike = data.v.copy()
    spike[100] = 1e3
    np.testing.assert_allclose(MotionRange.of(replace(data, v=spike)).speed, found.speed, rtol=0.05)


def test_masked_torques_are_no_load(data):
    mask, tau = data.mask.copy(), data.tau.copy()
    mask[:400], tau[:400] = False, 1e6
    assert (MotionRange.of(replace(data, mask=mask, tau=tau)).torque < 1e3).all()


def test_what_goes_beyond_is_said_with_its_factor_and_joint(data):
    fitted = MotionRange.of(data)
    assert fitted.beyond(fitted) == ()
    faster = data.v.copy()
    faster[:, 2] *= 2.0
    said = MotionRange.of(replace(data, v=faster)).beyond(fitted)
    assert said == (f'2.0 times the speed ({data.joint_names[2]})',)
    further = data.q.copy()
    further[:, 1] *= 3.0
    said = MotionRange.of(replace(data, q=further)).beyond(fitted)
    assert said == (f'positions outside of the range ({data.joint_names[1]})',)
    # What was not moved in the one, but in the other.
    still = replace(data, v=data.v * [0.0, 1.0, 1.0, 1.0])
    assert MotionRange.of(data).beyond(MotionRange.of(still)) == (
        f'over 100 times the speed ({data.joint_names[0]})',)
    assert MotionRange.of(still).beyond(fitted) == ()


def test_noise_of_a_joint_at_rest_is_no_speed(data):
    quiet, noisy = (replace(data, v=size * np.ones_like(data.v)) for size in (1e-5, 1e-2))
    assert MotionRange.of(noisy).beyond(MotionRange.of(quiet)) == ()


def test_it_is_kept_as_plain_values(data):
    found = MotionRange.of(data)
    text = json.dumps(found.to_json(), allow_nan=False)
    again = MotionRange.from_json(json.loads(text), data.joint_names)
    assert again.joint_names == found.joint_names
    for name in ('lower', 'upper', 'speed', 'acceleration', 'torque'):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    assert MotionRange.from_json({}, data.joint_names) is None
    assert MotionRange.from_json({name: {} for name in data.joint_names}, data.joint_names) is None
    assert MotionRange.from_json({data.joint_names[0]: 3}, data.joint_names[:1]) is None
