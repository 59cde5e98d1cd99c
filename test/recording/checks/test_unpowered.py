"""Efforts of joints that nothing drives are zero, whatever was recorded."""

import numpy as np
import pytest

from sysid_ros.errors import RecordingError
from sysid_ros.recording.checks.unpowered import with_unpowered
from sysid_ros.recording.recording import Channel, Recording

T = 0.1 * np.arange(5)


def recording(*efforts):
    q = np.ones((5, 1))
    return Recording((
        Channel('position', ('arm',), 'rad', T, q),
        Channel('position', ('slide',), 'm', T + 0.05, q),
        *efforts), 'somewhere', 'hash', warnings=('before',))


def test_efforts_of_zero_come_at_the_stamps_of_the_positions():
    found = with_unpowered(recording(), ['arm', 'slide'])
    for name, unit, t in (('arm', 'N·m', T), ('slide', 'N', T + 0.05)):
        channel = found.channel_of('effort', name)
        assert channel.unit == unit
        np.testing.assert_array_equal(channel.t, t)
        assert not channel.column(name).any()
    assert found.warnings == ('before',)


def test_what_was_recorded_of_the_others_stays():
    values = np.column_stack([T + 1.0, T + 2.0])
    both = Channel('effort', ('arm', 'slide'), 'N·m or N', T, values)
    found = with_unpowered(recording(both), ['slide'])
    np.testing.assert_array_equal(found.channel_of('effort', 'arm').column('arm'), T + 1.0)
    assert not found.channel_of('effort', 'slide').column('slide').any()
    assert 'recorded efforts of slide are not used' in found.warnings[-1]


def test_recorded_zeros_and_missing_efforts_are_nothing_to_warn_of():
    values = np.column_stack([np.zeros(5), np.full(5, np.nan)])
    both = Channel('effort', ('arm', 'slide'), 'N·m or N', T, values)
    assert with_unpowered(recording(both), ['arm', 'slide']).warnings == ('before',)


def test_a_recording_without_such_joints_is_left_alone():
    one = recording()
    assert with_unpowered(one, ()) is one


def test_a_joint_without_positions_is_named():
    with pytest.raises(RecordingError, match='elbow'):
        with_unpowered(recording(), ['arm', 'elbow'])
