"""What recordings show by themselves, on its way between processes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from sysid_ros.evaluation.data_findings import (
    delays_from_arrays,
    delays_to_arrays,
    named_efforts,
)
from sysid_ros.recording.checks.effort_finding import EffortFinding, EffortKind
from sysid_ros.recording.processing.delay import TorqueDelays


def test_delays_come_back_from_arrays_as_they_were():
    known = TorqueDelays(
        ('shoulder', 'elbow'), np.array([0.002, 0.0]), np.array([1e-5, np.inf]),
        np.array([0.3, 0.0]), 500.0)
    data = SimpleNamespace(joint_names=known.joint_names, rate=500.0)
    again, unknown = delays_from_arrays(delays_to_arrays([known, None]), [data, data])
    assert unknown is None
    assert again.joint_names == known.joint_names and again.rate == known.rate
    for field in ('seconds', 'deviation', 'gain'):
        np.testing.assert_array_equal(getattr(again, field), getattr(known, field))


def test_findings_on_efforts_are_named_where_there_are_several_recordings():
    one = EffortFinding('elbow', EffortKind.UNRELATED, 1.0, 0.1, 0.1)
    datasets = [SimpleNamespace(source=name) for name in ('a.npz', 'b.npz')]
    assert named_efforts([(one,)], datasets[:1]) == (one,)
    assert [found.recording for found in named_efforts([(one,), (one, one)], datasets)] == [
        'a.npz', 'b.npz', 'b.npz']
