"""What a page asks of a robot's nodes."""

from __future__ import annotations

from typing import Protocol

from sysid_ros.studio.live.activity import Outcome, Tell


class RobotLink(Protocol):
    """Requests to the nodes.

    All but :meth:`request_stop` and :meth:`cancel_fit` wait for the end of what they ask for, so
    that each is called from a thread of its kind.
    """

    def request_stop(self) -> str:
        """Ask for a stop of the robot at once, without waiting; how it was asked for, in words."""

    def arm(self, *, allowed: bool) -> Outcome:
        """Allow one motion, or take that back.

        Args:
            allowed: Whether a motion is allowed.

        Raises:
            SysidError: It is refused, or there is no answer.
        """

    def reset_monitor(self) -> Outcome:
        """Reset the monitor, as soon as the robot has come to rest.

        Raises:
            SysidError: It is refused, or there is no answer.
        """

    def play(self, motion: str, speed: float, tell: Tell) -> Outcome:
        """Play a motion that is armed.

        Args:
            motion: Its id.
            speed: Part of the speed that it was designed for.
            tell: Is told how far it is.

        Raises:
            SysidError: The excitation is gone.
        """

    def begin_recording(self) -> Outcome:
        """Begin to record.

        Raises:
            SysidError: It is refused, or there is no answer.
        """

    def end_recording(self) -> Outcome:
        """End the recording.

        Raises:
            SysidError: It could not be written, or there is no answer.
        """

    def identify(self, recordings: tuple[str, ...], validation: str, tell: Tell) -> Outcome:
        """Fit recordings together, and judge the estimate.

        Args:
            recordings: Ids of the recordings.
            validation: Id of the recording to judge by; empty: the last part of the first.
            tell: Is told how far it is.

        Raises:
            SysidError: There is no estimate.
        """

    def cancel_fit(self) -> None:
        """Ask for the end of a fit that is under way, without waiting."""

    def commit(self, estimate: str, shadow: float, comment: str) -> Outcome:
        """Commit an estimate after a shadow test.

        Args:
            estimate: Its id.
            shadow: Last seconds of the test in [s]; 0: none.
            comment: Kept with the revision.

        Raises:
            SysidError: It is refused.
        """

    def roll_back(self, revision: str, comment: str) -> Outcome:
        """Hand out again what an earlier revision held.

        Args:
            revision: Its id; empty: the one before the current.
            comment: Kept with the new revision.

        Raises:
            SysidError: It is refused.
        """
