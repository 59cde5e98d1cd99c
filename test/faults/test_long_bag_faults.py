"""FAULTS 50: a bag larger than memory."""

import resource
import tracemalloc

import numpy as np
import pytest

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.evaluation.study import Study
from sysid_ros.recording.bag.write import write_bag

RATE, SECONDS = 50.0, 30.0
# Of the samples in [MB]; the bag needs 1.4.
LIMIT = 0.4
ALL = 100.0

SETTINGS = """\
automatic: {automatic}
robot:
  urdf: arm.urdf
recording:
  format: rosbag
  file: {bag}
  joints: [{joints}]
  memory_limit: {limit}
processing:
  position_filter: {{cutoff: 20.0}}
  parallel_filter: {{cutoff: 5.0, decimate_to: 12.5}}
"""


@pytest.fixture(scope='module')
def setup(tmp_path_factory, simulated_arm):
    """``setup(limit, bag='bag')``: settings of a bag; ``'twice'`` is twice as long."""
    folder, arm = tmp_path_factory.mktemp('long'), simulated_arm(0)
    (folder / 'arm.urdf').write_text(arm.description, encoding='utf-8')
    for name, seconds in (('bag', SECONDS), ('twice', 2 * SECONDS)):
        t = np.arange(0.0, seconds, 1 / RATE)
        q, v, _ = arm.motion(t)
        tau = arm.torque(t)
        tau += 0.01 * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape)
        write_bag(folder / name, t, arm.joint_names, q, v, tau, start=1.7e9)

    def load(limit, bag='bag', automatic='false'):
        file = folder / f'{bag}_{limit:g}.yaml'
        joints = ', '.join(arm.joint_names)
        file.write_text(SETTINGS.format(
            bag=bag, joints=joints, limit=limit, automatic=automatic), encoding='utf-8')
        return FitSetup.load(file)
    return load


def problem(setup):
    return Measurement.read(setup).problem()


def test_50_rows_of_a_bag_larger_than_memory_are_those_of_the_whole(setup):
    windows, whole = (problem(setup(limit)) for limit in (LIMIT, ALL))
    assert 'so it was read in' in windows.warnings[0]
    assert not any('so it was read in' in warning for warning in whole.warnings)
    assert (windows.segments, windows.rate) == (whole.segments, whole.rate)
    np.testing.assert_array_equal(windows.usable, whole.usable)
    for one, other in ((windows.regressor, whole.regressor), (windows.torque, whole.torque)):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-8 * np.abs(other).max())


def test_50_what_is_fitted_does_not_depend_on_the_memory_there_is(setup):
    found = []
    for limit in (LIMIT, ALL):
        study = Study.load(setup(limit))
        found.append((study, study.fit('ols')))
    (study, windows), (_, whole) = found
    np.testing.assert_allclose(
        windows.estimate.parameters.values, whole.estimate.parameters.values, atol=1e-6)
    assert windows.estimate.status is whole.estimate.status
    assert any('the whole bag takes' in warning for warning in study.data.qualities[0].warnings)


def test_50_what_a_bag_larger_than_memory_leaves_open_is_said(setup):
    study = Study.load(setup(LIMIT, automatic='true'))
    assert study.friction is None
    assert 'the friction model' in study.choice.left[-1]
    assert 'Cut the bag or raise recording.memory_limit' in study.choice.left[-1]
    # What is told by a part of it is chosen.
    assert [choice.key for choice in study.choice.choices] == ['fit.minimum_velocity']


def peak(setup):
    """Largest size of all arrays in [MB] while the rows of a recording are built."""
    tracemalloc.start()
    try:
        problem(setup)
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def test_50_memory_does_not_grow_with_the_bag(setup):
    problem(setup(LIMIT))  # compiled code is loaded once
    short, long = (peak(setup(LIMIT, bag)) for bag in ('bag', 'twice'))
    whole = peak(setup(ALL, 'twice'))
    # Of each sample only its stamps stay, and they double. What the collector of garbage has not
    # come to yet varies by a tenth of the whole.
    assert long - short < 0.2 * whole
    assert long < 0.6 * whole


def test_50_a_full_disk_is_said_with_what_helps(setup):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    measured = Measurement.read(setup(LIMIT))
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(EstimationError, match=r'cannot be kept on disk.*TMPDIR'):
            measured.problem()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
