"""Channels and recordings refuse what cannot be, and say where."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


NUMBERS = st.floats(-1e6, 1e6) | st.sampled_from([np.nan, np.inf, -np.inf])


@given(
    st.lists(NUMBERS, min_size=1, max_size=5).map(lambda stamps: sorted(stamps, key=str)),
    st.booleans(), st.sampled_from(['position', 'effort']), st.data())
@settings(max_examples=300, deadline=None)
def test_a_channel_has_rising_stamps_and_finite_samples_or_is_refused(
    stamps, rising, quantity, data
):
    t = np.array(sorted(set(stamps)) if rising else stamps)
    samples = np.array(data.draw(st.lists(
        st.tuples(NUMBERS, NUMBERS), min_size=len(t), max_size=len(t))))
    missing = np.isnan(samples) if quantity == 'effort' else np.zeros(samples.shape, dtype=bool)
    rises = np.isfinite(t).all() and (np.diff(t) > 0.0).all()
    unit = {'position': 'rad', 'effort': 'N·m'}[quantity]
    if rises and (np.isfinite(samples) | missing).all():
        np.testing.assert_array_equal(
            channel(quantity, unit=unit, t=t, values=samples).values, samples)
        return
    with pytest.raises(RecordingError, match='not finite|not strictly increasing'):
        channel(quantity, unit=unit, t=t, values=samples)
