"""Joint states of the last seconds, as a recording that has not ended yet."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.live.joint_states import LiveJointStates
from sysid_ros.recording.recording import Recording
from sysid_ros.recording.samples import Samples, clean_channels, to_joint_side

# Time over which positions are compared to see whether a joint moves, in [s].
_BASELINE = 0.05


@dataclass(frozen=True, eq=False)
class LiveWindow:
    """Joint states of the last seconds, as they came in.

    Attributes:
        joint_names: The n joints.
        t: Time since ``origin`` in [s], shape ``(T,)``, increasing.
        q: Positions, shape ``(T, n)``.
        v: Velocities, shape ``(T, n)``; NaN where none were given.
        tau: Efforts, shape ``(T, n)``; NaN where none were given.
        origin: Seconds since 1970, apart since floats cannot hold both to the microsecond.
        efforts: Where efforts come in messages of their own; ``tau`` is not looked at then.
    """

    joint_names: tuple[str, ...]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    origin: float = 0.0
    efforts: LiveWindow | None = None

    @classmethod
    def heard(
        cls, states: LiveJointStates, efforts: LiveJointStates | None = None,
        seconds: float = np.inf,
    ) -> LiveWindow:
        """Joint states of the last seconds.

        Args:
            states: Joint states as they come in.
            efforts: Efforts, where they have a topic of their own.
            seconds: How far back; by default as far as is kept.
        """
        latest = states.latest
        return cls(
            states.joints, *states.window(min(seconds, states.settings.history)),
            0.0 if latest is None else latest.t,
            None if efforts is None else cls.heard(efforts, None, seconds))

    @property
    def duration(self) -> float:
        """Time from the first to the last sample in [s]."""
        return float(self.t[-1] - self.t[0]) if len(self.t) else 0.0

    def after(self, time: float) -> LiveWindow:
        """The part with later stamps than ``time``, in seconds since 1970."""
        return self._rows(self.t > time - self.origin)

    def last_motion(self, duration: float, velocity: float) -> LiveWindow:
        """The last seconds up to the end of the last motion.

        Args:
            duration: How much, in [s].
            velocity: Slower joints count as standing still, in [rad/s] or [m/s].
        """
        moving = np.flatnonzero((self._speed() > velocity).any(axis=1))
        last = self.t[moving[-1]] if len(moving) else -np.inf
        return self._rows((self.t >= last - duration) & (self.t <= last))

    def _rows(self, rows: np.ndarray) -> LiveWindow:
        return replace(
            self, t=self.t[rows], q=self.q[rows], v=self.v[rows], tau=self.tau[rows])

    def _speed(self) -> np.ndarray:
        """Speeds over stretches that are long enough not to show the steps of encoders."""
        if not len(self.t):
            return np.zeros_like(self.q)
        before = np.searchsorted(self.t, self.t - _BASELINE)
        steps = np.maximum(self.t - self.t[before], 1e-9)[:, None]
        return np.abs(self.q - self.q[before]) / steps

    @property
    def begin(self) -> float:
        """Time of the first sample in [s] since 1970."""
        return self.origin + float(self.t[0])

    def recording(
        self, settings: RecordingSettings | None = None, start: float | None = None
    ) -> Recording:
        """The window as a recording, in SI units at the joints.

        Args:
            settings: What the joint states of this robot mean; by default SI at the joints.
            start: Where its times count from, in [s] since 1970; its first sample by default.

        Raises:
            RecordingError: There is no sample, or no effort of a joint.
        """
        if not len(self.t):
            raise RecordingError(
                'no joint states were heard since the fitted recording ended',
                fix='Move the robot, and then commit')
        settings = settings or RecordingSettings(format='rosbag', file='')
        shift = self.begin if start is None else start
        groups = [self._samples(shift, position=self.q, velocity=self.v)]
        efforts = self if self.efforts is None else self.efforts
        efforts._require_efforts()
        groups.append(efforts._samples(shift, effort=efforts.tau))
        channels = tuple(
            channel for samples in groups
            for channel in clean_channels(to_joint_side(samples, settings), Counter()))
        return Recording(channels, 'the last joint states', '', start=shift)

    def _samples(self, shift: float, **values: np.ndarray) -> Samples:
        return Samples(self.joint_names, self.t + (self.origin - shift), values)

    def _require_efforts(self) -> None:
        heard = np.isfinite(self.tau).any(axis=0)
        if not heard.all():
            silent = ', '.join(self.joint_names[k] for k in np.flatnonzero(~heard))
            raise RecordingError(
                f'no effort of {silent} was heard',
                fix='See that the topic gives an effort of every joint, or fit without torques')
