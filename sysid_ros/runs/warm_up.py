"""Small tasks after which a process has loaded the compiled functions that its work calls.

Where nothing was compiled ahead (``sysid compile``), they compile it, and later processes find it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from sysid_ros.estimation.estimator import TRAJECTORY_ESTIMATORS
from sysid_ros.numerics.least_squares.chain import NormalEquations, Residuals
from sysid_ros.recording.processing.decimation import Decimation
from sysid_ros.runs.job import WarmUpJob
from sysid_ros.runs.workloads import fit_small, follow_small_robot, identify_small_payload

# Long enough for every estimator to come to its end.
_SECONDS = 4.0


def load_for_fits(job: WarmUpJob) -> None:
    """Fit a small robot, so that the next fit neither compiles nor loads a function.

    Args:
        job: Estimator, and which kind of robot is fitted.

    Raises:
        SysidError: The estimator does not exist.
    """
    with tempfile.TemporaryDirectory(prefix='sysid_warm_up_') as folder:
        fit_small(_stand_in(job), job.estimator, Path(folder), _SECONDS)
    _filter_as_long_recordings()
    if job.estimator in TRAJECTORY_ESTIMATORS:
        _covariances_of_states()


def load_for_live_data() -> None:
    """Follow a small robot and tell its load, so that joint states that come in cause no delay."""
    for task in (follow_small_robot, identify_small_payload):
        with tempfile.TemporaryDirectory(prefix='sysid_warm_up_') as folder:
            task(Path(folder))


def _filter_as_long_recordings() -> None:
    """Filter a signal block by block, which a small robot has too little data for."""
    signal = np.zeros((200, 1))
    Decimation(order=4, cutoff=5.0, rate=100.0, pad=10, step=10).rows(
        lambda part: signal[part], len(signal), np.arange(0, len(signal), 10))


def _covariances_of_states() -> None:
    """Covariances of the states of a chain, which not every search asks for."""
    rows = np.array([[[1.0, 0.0, 0.0]], [[1.0, 1.0, 0.0]]])
    eliminated = NormalEquations.of(2, 1, 1, [Residuals(np.arange(2), rows, False)]).eliminated()
    if eliminated is not None:
        eliminated.state_covariances()


def _stand_in(job: WarmUpJob) -> str:
    """The small robot that is fitted by the functions that the job needs."""
    if job.estimator in TRAJECTORY_ESTIMATORS:
        # Only discrete dynamics have dry friction without smoothing.
        return 'dry_pendulum' if job.estimator == 'discrete' else 'pendulum'
    return 'four_bar' if job.closed else 'arm'
