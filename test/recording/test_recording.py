"""Channels and recordings refuse what cannot be, and say where."""

import numpy as np
import pytest

from sysid_ros.errors import RecordingError
from sysid_ros.recording.recording import Channel, Recording


def channel(quantity='position', names=('a', 'b'), unit='rad', t=(0.0, 1.0, 2.0), values=None):
    samples = np.zeros((len(t), len(names))) if values is None else values
    return Channel(quantity, names, unit, np.array(t), samples)


def test_channels_are_write_locked_copies():
    values = np.zeros((3, 2))
    locked = channel(values=values)
    values[0, 0] = 1.0
    assert locked.values[0, 0] == 0.0
    with pytest.raises(ValueError, match='read-only'):
        locked.values[0, 0] = 1.0


@pytest.mark.parametrize(('changes', 'message'), [
    ({'t': (0.0, 1.0, 1.0)}, 'not strictly increasing'),
    ({'t': (0.0, np.nan, 1.0)}, 'stamp is not finite'),
    ({'unit': 'deg'}, "not SI.*found 'deg'.*allowed rad, m"),
    ({'quantity': 'speed'}, "unknown quantity.*found 'speed'"),
    ({'names': ('a', 'a')}, 'named twice'),
    ({'values': np.zeros((3, 3))}, 'do not fit together'),
    ({'values': np.array([[0, 0], [0, np.nan], [0, 0]])}, "joint 'b' is not finite.*1.000000 s"),
])
def test_a_channel_that_cannot_be_is_refused(changes, message):
    with pytest.raises(RecordingError, match=message):
        channel(**changes)


def test_efforts_may_have_missing_samples_but_no_infinite_ones():
    values = np.array([[0, 0], [0, np.nan], [0, 0]])
    assert np.isnan(channel('effort', unit='N·m', values=values).values[1, 1])
    with pytest.raises(RecordingError, match="effort of joint 'b' is not finite"):
        channel('effort', unit='N·m', values=np.where(np.isnan(values), np.inf, values))


def test_a_joint_has_one_channel_of_a_quantity():
    with pytest.raises(RecordingError, match="joint 'b' has two channels of position"):
        Recording((channel(), channel(names=('b', 'c'))), 'here', '')


def test_a_missing_quantity_is_refused_with_what_exists():
    recording = Recording((channel(), channel(names=('c',))), 'here', '')
    with pytest.raises(RecordingError, match='effort.*position of a, b; position of c'):
        recording.channel('effort')
    with pytest.raises(RecordingError, match='no single channel'):
        recording.channel('position')
    assert recording.joint_names == ('a', 'b', 'c')
    assert recording.channel_of('position', 'c').names == ('c',)
    assert recording.channel_of('effort', 'c') is None
    assert recording.duration == 2.0


def test_a_recording_without_channels_is_refused():
    with pytest.raises(RecordingError, match='no channels'):
        Recording((), 'here', '')
