"""Messages of IMUs and force-torque sensors in a bag, and those that cannot be used."""

from __future__ import annotations

import numpy as np
import pytest

from support.flying_robot import START, imu_bytes, wrench_bytes, write
from sysid_ros.errors import RecordingError
from sysid_ros.recording.bag.sensor_messages import WRENCH, read_sensor


def sensor(folder, payloads, topic='/foot', times=None):
    write(folder, {topic: (times or [0.01 * k for k in range(len(payloads))], payloads)})
    return lambda: read_sensor(folder, topic)


def test_a_track_has_stamps_frame_and_both_vectors(tmp_path):
    track = sensor(tmp_path / 'bag', [
        wrench_bytes(0.01 * k, (k, 0, 1), (0, 2 * k, 0), 'left_foot') for k in range(3)])()
    assert (track.kind, track.frame) == (WRENCH, 'left_foot')
    np.testing.assert_allclose(track.t - START, [0.0, 0.01, 0.02], atol=1e-6)
    np.testing.assert_allclose(track.values[2], [2.0, 0.0, 1.0, 0.0, 4.0, 0.0])


def test_without_stamps_times_of_reception_count(tmp_path):
    track = sensor(tmp_path / 'bag', [
        wrench_bytes(None, (k, 0, 0), (0, 0, 0)) for k in range(3)])()
    np.testing.assert_allclose(track.t - START, [0.0, 0.01, 0.02], atol=1e-6)


def test_a_stamp_that_comes_twice_counts_once(tmp_path):
    track = sensor(tmp_path / 'bag', [
        wrench_bytes(t, (0, 0, 0), (0, 0, 0)) for t in (0.0, 0.01, 0.01, 0.02)])()
    assert len(track.t) == 3


@pytest.mark.parametrize(('payloads', 'topic', 'words'), [
    ([wrench_bytes(0.0, (0, 0, 0), (0, 0, 0), 'a'), wrench_bytes(0.1, (0, 0, 0), (0, 0, 0), 'b')],
     '/foot', 'the frame changes .*found a, b'),
    ([wrench_bytes(0.0, (0, np.nan, 0), (0, 0, 0))], '/foot', 'not finite .*message 0 of 1'),
    ([imu_bytes(0.0, (0, 0, 0), (0, 0, 0), unmeasured=True)], '/imu',
     r'linear_acceleration_covariance\[0\] = -1'),
    ([], '/foot', 'no message'), ([b'\0\1\0\0\1'], '/foot', 'damaged'),
])
def test_messages_that_cannot_be_used_are_refused(tmp_path, payloads, topic, words):
    with pytest.raises(RecordingError, match=words):
        sensor(tmp_path / 'bag', payloads, topic)()
