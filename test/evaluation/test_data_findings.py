"""What recordings show by themselves, on its way between processes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sysid_ros.evaluation.data_findings import (
    DataFindings,
    delays_from_arrays,
    delays_to_arrays,
    named_efforts,
)
from sysid_ros.evaluation.undeclared_load import UndeclaredLoad
from sysid_ros.recording.checks.effort_finding import EffortFinding, EffortKind
from sysid_ros.recording.processing.torque_delays import TorqueDelays


def test_delays_come_back_from_arrays_as_they_were():
    known = TorqueDelays(
        ('shoulder', 'elbow'), np.array([0.002, 0.0]), np.array([1e-5, np.inf]),
        np.array([0.3, 0.0]), np.array([40.0, 0.0]), 500.0)
    data = SimpleNamespace(joint_names=known.joint_names, rate=500.0)
    again, unknown = delays_from_arrays(delays_to_arrays([known, None]), [data, data])
    assert unknown is None
    assert again.joint_names == known.joint_names and again.rate == known.rate
    for field in ('seconds', 'deviation', 'gain', 'ratio'):
        np.testing.assert_array_equal(getattr(again, field), getattr(known, field))


def test_findings_on_efforts_are_named_where_there_are_several_recordings():
    one = EffortFinding('elbow', EffortKind.UNRELATED, 1.0, 0.1, 0.1)
    datasets = [SimpleNamespace(source=name) for name in ('a.npz', 'b.npz')]
    assert named_efforts([(one,)], datasets[:1]) == (one,)
    assert [found.recording for found in named_efforts([(one,), (one, one)], datasets)] == [
        'a.npz', 'b.npz', 'b.npz']


@pytest.mark.parametrize('kind', [EffortKind.INCONSISTENT, EffortKind.SCALED])
def test_no_sensor_is_blamed_for_a_load_in_its_recording(kind):
    off = EffortFinding('elbow', kind, 1.6, 0.9, 0.9)
    datasets = [SimpleNamespace(source=name) for name in ('a.npz', 'b.npz')]
    data = DataFindings(efforts=named_efforts([(off,), (off,)], datasets))
    load = UndeclaredLoad('hand', 1.2, '2 of 2 that were fitted', 0.4, 0.02, number=1)
    told = data.with_undeclared_load(load)
    assert told.undeclared_load == load
    assert [one.recording for one in told.efforts] == ['a.npz']
    # A load in what is judged by says nothing of the fitted recordings, nor does none.
    for other in (None, UndeclaredLoad('hand', 1.2, 'to judge by', 0.4, 0.02)):
        assert data.with_undeclared_load(other).efforts == data.efforts


def test_a_load_leaves_wrong_units_and_clocks_as_they_are():
    names = ('a.npz', 'b.npz')
    data = DataFindings(efforts=tuple(
        EffortFinding('all joints', kind, 1.6, 0.9, 0.9, recording=name)
        for kind in (EffortKind.OTHER_UNIT, EffortKind.OTHER_CLOCK) for name in names))
    load = UndeclaredLoad('hand', 1.2, '1 of 2 that were fitted', 0.4, 0.02, number=0)
    assert data.with_undeclared_load(load).efforts == data.efforts


@pytest.mark.parametrize('kind', [
    EffortKind.INCONSISTENT, EffortKind.SCALED, EffortKind.UNRELATED])
def test_no_sensor_is_blamed_for_a_load_that_was_picked_up_in_the_one_recording(kind):
    other = EffortFinding('shoulder', EffortKind.WRONG_SIGN, -1.0, 0.9, 0.9)
    data = DataFindings(efforts=(EffortFinding('elbow', kind, 1.6, 0.4, 0.4), other))
    told = data.with_undeclared_load(UndeclaredLoad('hand', 1.2, 'to judge by', 0.4, 0.02))
    assert told.efforts == (other,)
