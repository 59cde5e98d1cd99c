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
    """Measured torques, filtered as for a fit, beside those that are predicted for the same times.

    Attributes:
        t: Seconds since 1970, shape ``(T,)``.
        measured: In [N·m] or [N], shape ``(T, n)``; NaN where they cannot be used.
        predicted: Same shape.
    """

    t: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray

    @property
    def residual(self) -> np.ndarray:
        """Measured less predicted torques, shape ``(T, n)``."""
        return self.measured - self.predicted

    @property
    def rms(self) -> np.ndarray:
        """Root mean square of the measured torques, shape ``(n,)``; NaN where none is known."""
        return _rms(self.measured)

    @property
    def residual_rms(self) -> np.ndarray:
        """Root mean square of measured less predicted torques, ``(n,)``; NaN where unknown."""
        return _rms(self.residual)


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
    measured = np.where(dataset.mask[rows], dataset.tau[rows], np.nan)
    return LiveTorque(recording.start + dataset.t[rows], measured, predicted)


def _rms(values: np.ndarray) -> np.ndarray:
    known = np.isfinite(values)
    counted = known.sum(axis=0)
    squares = np.where(known, values, 0.0) ** 2
    return np.where(
        counted > 0, np.sqrt(squares.sum(axis=0) / np.maximum(counted, 1)), np.nan)
