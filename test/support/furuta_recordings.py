"""A Furuta pendulum on real bearings: recordings of free swing and of a driven arm.

Stamps of the joints are those of their messages, 500 in a second; commands are stamped on
reception, and hold until the next. Angles count turns, and their zeros are somewhere: the arm's
where it begins is taken, the rod's where it hangs. Encoders have 8192 counts, between which the
drive interpolates; its speeds lag by 8 ms.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from scipy.special import ellipk

from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.load import load_recording
from sysid_ros.recording.table.csv_reader import read_csv_columns

FREE = 'hardware_pure_joint1_oscillations'
DRIVEN = (
    'hardware_step_response_2V', 'hardware_step_response_4V', 'hardware_sin_response_1V_1s',
    'hardware_sin_response_2V_1s')
# A recording that lacks the first of its commands, which come every second: the arm goes off a
# second before the first that is there, less the 4 ms that it also takes in the other recordings.
_LATE = {'hardware_step_response_4V': 1.0}
# How long the free rod rests at its end, and driven ones at least at their beginning, in [s].
_REST_AFTER, _REST_BEFORE = 4.0, 0.15


@dataclass(frozen=True, eq=False)
class FurutaRecording:
    """One recording.

    Attributes:
        name: File without its ending.
        t: In [s] since the first sample, shape ``(T,)``.
        angles: Of the arm from its start, and of the rod from hanging in [rad], ``(T, 2)``.
        speeds: As the drive says in [rad/s], shape ``(T, 2)``.
        u: Command in [V], held; zero before the first, shape ``(T,)``.
        zero: What was taken off the recorded angles, shape ``(2,)``. Dry friction lets the rod
            rest up to 2 mrad beside the vertical.
        commands: Instant in [s] and value of each command that was recorded, shape ``(C, 2)``.
    """

    name: str
    t: np.ndarray
    angles: np.ndarray
    speeds: np.ndarray
    u: np.ndarray
    zero: np.ndarray
    commands: np.ndarray


def folder_of(shared: Path) -> Path:
    """The folder of these recordings among all."""
    return shared / 'furuta_pendulum'


def load(folder: Path, name: str) -> FurutaRecording:
    """Read a recording.

    Args:
        folder: As :func:`folder_of` says.
        name: One of ``FREE`` and ``DRIVEN``.
    """
    state = '/joint_states/joint{}/{}'

    def columns(quantity: str) -> dict[str, list[str]]:
        return {'columns': [state.format(joint, quantity) for joint in (0, 1)]}

    settings = RecordingSettings.model_validate({
        'format': 'csv', 'joints': ['joint0', 'joint1'], 'file': f'{name}.csv',
        'time': {'column': '/joint_states/header/stamp'}, 'position': columns('position'),
        'velocity': columns('velocity')})
    recording = load_recording(settings, folder)
    position, velocity = recording.channel('position'), recording.channel('velocity')
    t, angles = position.t - position.t[0], position.values
    commands = np.empty((0, 2))
    if name in DRIVEN:
        rows = read_csv_columns(folder / f'{name}.csv', ('__time', '/effort_control/data.0'))
        begin = recording.start + position.t[0]
        commands = rows[np.isfinite(rows[:, 1])] - [begin, 0.0]
    zero = _zero(name, t, angles)
    u = _held(t, commands, _LATE.get(name, 0.0))
    return FurutaRecording(name, t, angles - zero, velocity.values, u, zero, commands)


def _held(t: np.ndarray, commands: np.ndarray, late: float) -> np.ndarray:
    """The last command at each instant, the first as much earlier as it is late."""
    times, values = commands[:, 0].copy(), np.append(0.0, commands[:, 1])
    times[:1] -= late
    return values[np.searchsorted(times, t, side='right')]


def _zero(name: str, t: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Angles of the arm at its start, and of the rod where it hangs."""
    resting = t > t[-1] - _REST_AFTER if name == FREE else t < _REST_BEFORE
    zero = np.median(angles[resting], axis=0)
    return np.array([angles[0, 0], zero[1]])


def author_parameters(folder: Path) -> dict[str, float]:
    """Values that came with the recordings; inertias are about centres of mass."""
    text = (folder / 'pendulum_parameters.yaml').read_text(encoding='utf-8')
    return dict(yaml.safe_load(text)['/**']['ros__parameters'])


def stiffness_per_inertia(t: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """m g l / J of a free swing in [1/s²], one value a swing there and back.

    A swing of amplitude A takes 4 K(sin(A/2)) / sqrt(m g l / J), whatever its friction to first
    order, if A is its mean. No estimator of this package takes part.

    Args:
        t: In [s], shape ``(T,)``.
        angle: Zero hanging, shape ``(T,)``.

    Returns:
        Amplitude in [rad] and value, shape ``(S, 2)``.
    """
    ups = np.flatnonzero((angle[:-1] < 0.0) & (angle[1:] >= 0.0))
    times = t[ups] - angle[ups] * (t[ups + 1] - t[ups]) / (angle[ups + 1] - angle[ups])
    found = []
    for k in range(len(ups) - 1):
        swing = angle[ups[k]:ups[k + 1] + 1]
        amplitude = 0.5 * (swing.max() - swing.min())
        period = times[k + 1] - times[k]
        found.append([amplitude, (4.0 * ellipk(np.sin(0.5 * amplitude) ** 2) / period) ** 2])
    return np.array(found)
