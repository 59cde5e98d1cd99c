"""Positions in degrees and stamps in milliseconds are named, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_ros.recording.checks.unit_check import unit_mistakes
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.recording import Channel
from sysid_ros.settings import parse_settings


def settings(unit='s', **time):
    time = time or {'column': 't', 'unit': unit}
    return parse_settings(RecordingSettings, {
        'format': 'csv', 'file': 'x.csv', 'joints': ['a'], 'position': {}, 'time': time}, 'r')


def mistakes(arm, *, q=1.0, t=1.0, described=None):
    """What is said of a recording whose positions and stamps are so many times theirs."""
    recording = arm.recording(20.0, 200.0)
    scaled = tuple(
        Channel(one.quantity, one.names, one.unit, t * one.t,
                (q if one.quantity == 'position' else 1.0) * one.values)
        for one in recording.channels)
    return list(unit_mistakes(
        replace(recording, channels=scaled), arm.model.robot, described or settings()))


@pytest.mark.parametrize('seed', range(4))
def test_what_is_right_is_not_doubted(simulated_arm, seed):
    arm = simulated_arm(seed)
    assert not mistakes(arm)
    # Nor is a slow motion, or a rare sample.
    assert not mistakes(arm, t=10.0)
    assert not mistakes(arm, q=0.02)
    assert not mistakes(arm, q=-1.0)


@pytest.mark.parametrize('seed', range(4))
def test_degrees_are_named_with_their_setting(simulated_arm, seed):
    (mistake,) = mistakes(simulated_arm(seed), q=180.0 / np.pi)
    assert 'look like degrees' in str(mistake)
    assert 'Set recording.position.unit to deg' in mistake.fix
    assert 'unit_check to warn' in mistake.fix


def test_turns_of_motors_are_not_called_degrees(simulated_arm):
    # In degrees, these would be beyond the limits, too.
    assert not any('degrees' in str(one) for one in mistakes(simulated_arm(0), q=1e4))


@pytest.mark.parametrize(('factor', 'unit'), [(1e3, 'ms'), (1e6, 'us'), (1e9, 'ns')])
def test_stamps_in_other_units_are_named(simulated_arm, factor, unit):
    (mistake,) = mistakes(simulated_arm(1), t=factor)
    assert f'Set recording.time.unit to {unit};' in mistake.fix


def test_seconds_that_were_called_milliseconds_are_named(simulated_arm):
    (mistake,) = mistakes(simulated_arm(1), t=1e-3, described=settings('ms'))
    assert 'Set recording.time.unit to s;' in mistake.fix


def test_a_period_in_the_place_of_a_rate_is_named(simulated_arm):
    arm = simulated_arm(1)
    rate = 1.0 / arm.recording(20.0, 200.0).channel('position').period
    (mistake,) = mistakes(arm, t=rate**2, described=settings(rate=1.0 / rate))
    assert f'its inverse is {rate:.4g}' in mistake.fix
