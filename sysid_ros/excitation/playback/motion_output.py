"""What carries out a motion: the part of a session that talks to a robot."""

from __future__ import annotations

from typing import Protocol

from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.playback.checks import Observation
from sysid_ros.excitation.playback.playback import Setpoint
from sysid_ros.excitation.safety.braking import BrakingStop


class MotionOutput(Protocol):
    """Output that motions are sent to; times are those of the session's clock, in [s].

    Attributes:
        holds: Whether it has to be told to hold a robot that is at rest, for as long as it rests.
        streams: Whether every set-point is sent when it is due, so that stops are in the stream.
    """

    holds: bool
    streams: bool

    def problem(self) -> str:
        """Why nobody would follow now; empty when somebody does."""

    def begin(self, now: float, path: Motion) -> None:
        """Be told of the whole motion, from the first command to the last."""

    def begun(self) -> bool:
        """Whether the motion may run."""

    def send(self, now: float, point: Setpoint, seen: Observation) -> None:
        """Send the setpoint of the given time to the robot."""

    def stop(self, now: float, stop: BrakingStop | None) -> None:
        """Bring the robot to rest; called at every tick until it rests.

        Args:
            now: The time in [s].
            stop: A stop from where the robot is now; None where that is not known.
        """

    def finished(self) -> bool:
        """Whether nothing that was sent is still to be carried out."""

    def failure(self, now: float) -> str:
        """Why the motion is not carried out; empty when all is well."""
