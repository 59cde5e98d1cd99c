"""Torques of the last seconds beside those that a set of parameters predicts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.recording.live.window import LiveWindow
from sysid_ros.recording.processing.align import Clock
from sysid_ros.robot.parameters import ParameterSet

# Rows that are enough for a root mean square.
_ROWS = 200


@dataclass(frozen=True, eq=False)
class LiveTorque:
    """How large torques are, and how far from what is predicted.

    Attributes:
        rms: Root mean square of the measured torques in [N·m] or [N], shape ``(n,)``.
        residual_rms: The same of measured less predicted ones.
    """

    rms: np.ndarray
    residual_rms: np.ndarray


def live_torque(window: LiveWindow, setup: FitSetup, parameters: ParameterSet) -> LiveTorque:
    """Compare measured torques with predicted ones.

    Args:
        window: Joint states of the last seconds.
        setup: What they mean, how they are filtered and differentiated, and the torque model.
        parameters: Parameters of the model.

    Raises:
        SysidError: The window is too short or not usable.
    """
    recording = window.recording(setup.settings.recording)
    dataset, _ = setup.align_from(Clock(), recording)
    rows = slice(None, None, max(len(dataset) // _ROWS, 1))
    model = setup.model
    values = np.array([parameters[name] for name in model.parameters.names])
    predicted = model.torque(values, dataset.q[rows], dataset.v[rows], dataset.a[rows])
    mask = dataset.mask[rows]
    return LiveTorque(
        _rms(dataset.tau[rows], mask), _rms(dataset.tau[rows] - predicted, mask))


def _rms(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    counted = mask.sum(axis=0)
    squares = np.where(mask, values**2, 0.0).sum(axis=0)
    return np.where(counted > 0, np.sqrt(squares / np.maximum(counted, 1)), np.nan)
