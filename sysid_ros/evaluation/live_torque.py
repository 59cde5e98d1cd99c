"""Torques of the last seconds beside those that a set of parameters predicts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.estimation.identification import Identification
from sysid_ros.evaluation.shadow import LiveWindow
from sysid_ros.recording.live import LiveJointStates
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


def merged_window(
    states: LiveJointStates, efforts: LiveJointStates | None, seconds: float
) -> LiveWindow:
    """Joint states of the last seconds, with efforts that may have a topic of their own.

    Args:
        states: What comes in.
        efforts: Efforts, where they are not among the states.
        seconds: How far back.
    """
    t, q, v, tau = states.window(seconds)
    if efforts is not None and len(t):
        known, _, _, given = efforts.window(seconds)
        mine, other = states.latest, efforts.latest
        tau = np.full_like(q, np.nan)
        if mine is not None and other is not None and len(known):
            at = known + (other.stamp - mine.stamp) * 1e-9
            within = (t >= at[0]) & (t <= at[-1])
            tau[within] = np.stack([np.interp(t[within], at, own) for own in given.T], axis=1)
    return LiveWindow(states.joints, t, q, v, tau)


def live_torque(
    window: LiveWindow, identification: Identification, model: TorqueModel,
    parameters: ParameterSet,
) -> LiveTorque:
    """Compare measured torques with predicted ones.

    Args:
        window: Joint states of the last seconds.
        identification: What they mean, and how they are filtered and differentiated.
        model: The torque model.
        parameters: Its parameters.

    Raises:
        SysidError: The window is too short or not usable.
    """
    recording = window.recording(identification.settings.recording)
    settings = identification.settings
    processing = settings.processing.model_copy(update={'trim': (0.0, 0.0)})
    whole = replace(
        identification, settings=settings.model_copy(update={'processing': processing}))
    dataset = whole.dataset(model, recording)
    rows = slice(None, None, max(len(dataset) // _ROWS, 1))
    values = np.array([parameters[name] for name in model.parameters.names])
    predicted = model.torque(values, dataset.q[rows], dataset.v[rows], dataset.a[rows])
    mask = dataset.mask[rows]
    return LiveTorque(
        _rms(dataset.tau[rows], mask), _rms(dataset.tau[rows] - predicted, mask))


def _rms(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    counted = mask.sum(axis=0)
    squares = np.where(mask, values**2, 0.0).sum(axis=0)
    return np.where(counted > 0, np.sqrt(squares / np.maximum(counted, 1)), np.nan)
