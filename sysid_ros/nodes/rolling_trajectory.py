"""Motions sent ahead, piece by piece: each piece ends at rest and is replaced before it brakes.

So a computer that dies stops the robot, though nobody tells its controller. What is cut into pieces
here goes to a topic (:class:`TopicTrajectory`) or an action (``trajectory_action.py``).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from builtin_interfaces.msg import Time
from trajectory_msgs.msg import JointTrajectory

from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.playback.checks import Observation
from sysid_ros.excitation.playback.playback import Setpoint
from sysid_ros.excitation.safety.braking import BrakingStop
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.nodes.motion_outputs import absent_listener, trajectory_message
from sysid_ros.nodes.node import SysidNode

# Points of a braking trajectory per second.
_BRAKING_RATE = 100.0
# Part of a piece after which the next one is sent, and time in [s] before then of its first point.
# To a first point that is still to come a controller goes from where the robot is measured, however
# soon it is: with 3 ms left, a tracking error of 2 mrad is a kick of 2000 rad/s². Of a piece that
# has begun it takes what is due now.
_RENEWED, _BEFORE = 0.25, 0.02


class TrajectorySender(Protocol):
    """What brings trajectories to a controller that replaces one by the next."""

    def problem(self) -> str:
        """Why nobody would follow now; empty when somebody does."""

    def begin(self, now: float, length: float) -> None:
        """Forget the last motion; this one takes ``length`` in [s]."""

    def deliver(self, now: float, trajectory: JointTrajectory, *, last: bool) -> None:
        """Send a trajectory in place of the one before; ``last`` where it ends the motion."""

    def taken(self) -> bool:
        """Whether the controller has the trajectory that was sent last."""

    def stop(self, now: float, braking: JointTrajectory | None) -> None:
        """Bring the robot to rest; called at every tick until it rests.

        Args:
            now: The time in [s].
            braking: A trajectory from where the robot is to rest, given once, when that is known.
        """

    def finished(self) -> bool:
        """Whether nothing that was sent is still to be carried out."""

    def failure(self, now: float) -> str:
        """Why the motion is not carried out; empty when all is well."""


class RollingTrajectory:
    """The motion in pieces of one horizon, renewed for as long as somebody ticks.

    It is a :class:`~sysid_ros.excitation.playback.motion_output.MotionOutput`. All pieces have the
    stamp at which the motion began, times since then, and a first point a little in the past: a
    controller that replaces one by another goes on where it is, however long the message took. A
    motion that is sent at once has no stamp, and begins when it is received.

    Args:
        node: The node that sends it.
        limits: Limits of the n joints, to brake by.
        sender: What brings the pieces to the controller.
        horizon: How far ahead the motion is sent, in [s]; 0 for all of it at once.
    """

    holds = streams = False

    def __init__(
        self, node: SysidNode[Any], limits: MotionLimits, sender: TrajectorySender, horizon: float
    ) -> None:
        self._node, self._limits, self._horizon = node, limits, horizon
        self._sender = sender
        self._path: Motion | None = None
        self._began = self._sent = -np.inf
        self._stamp, self._braked = Time(), False

    def problem(self) -> str:
        """Why nobody would follow now; empty when somebody does."""
        return self._sender.problem()

    def begin(self, now: float, path: Motion) -> None:
        """Send the first piece, to begin at once."""
        self._began, self._path, self._braked = now, path, False
        self._stamp = self._node.get_clock().now().to_msg() if self._horizon else Time()
        self._sender.begin(now, float(path.t[-1]))
        self._send_piece(now)

    def begun(self) -> bool:
        """Whether the controller has the first piece."""
        return self._sender.taken()

    def send(self, now: float, point: Setpoint, seen: Observation) -> None:
        """Send the next piece when it is time, and the controller has the last one."""
        if now - self._sent >= _RENEWED * self._horizon and self._sender.taken():
            self._send_piece(now)

    def _send_piece(self, now: float) -> None:
        if self._path is None:
            return
        self._sent = now
        after = max(now - self._began - _BEFORE, 0.0)
        until = now - self._began + self._horizon
        last = self._horizon == 0.0 or until >= self._path.t[-1]
        piece = piece_to_rest(self._path, after, np.inf if last else until, self._limits)
        if last:
            self._path = None
        trajectory = trajectory_message(self._limits.joint_names, piece)
        trajectory.header.stamp = self._stamp
        self._sender.deliver(now, trajectory, last=last)

    def stop(self, now: float, stop: BrakingStop | None) -> None:
        """Have the robot brake; where nobody knows where it is, the last piece ends at rest."""
        self._path, braking = None, None
        if stop is not None and not self._braked:
            self._braked = True
            # The first point is now, and a controller would be late for it.
            braking = trajectory_message(
                self._limits.joint_names, _rows(stop.grid(_BRAKING_RATE), slice(1, None)))
        self._sender.stop(now, braking)

    def finished(self) -> bool:
        """Whether nothing that was sent is still to be carried out."""
        return self._sender.finished()

    def failure(self, now: float) -> str:
        """Why the motion is not carried out; empty when all is well."""
        return self._sender.failure(now)


class TopicTrajectory:
    """Trajectories on a topic, which nobody answers.

    It is a :class:`TrajectorySender`.

    Args:
        node: The node that sends them.
        topic: Where they go.
    """

    def __init__(self, node: SysidNode[Any], topic: str) -> None:
        self._node, self._publisher = node, node.advertise(JointTrajectory, topic)

    def problem(self) -> str:
        """Why nobody would follow now; empty when somebody does."""
        return absent_listener(self._node, self._publisher, JointTrajectory)

    def begin(self, now: float, length: float) -> None:
        """Nothing is remembered of the last motion."""

    def deliver(self, now: float, trajectory: JointTrajectory, *, last: bool) -> None:
        """Publish it."""
        self._publisher.publish(trajectory)

    def taken(self) -> bool:
        """At once: nobody answers on a topic."""
        return True

    def stop(self, now: float, braking: JointTrajectory | None) -> None:
        """Publish the trajectory that brakes."""
        if braking is not None:
            self._publisher.publish(braking)

    def finished(self) -> bool:
        """Nobody would say."""
        return True

    def failure(self, now: float) -> str:
        """A controller that went away."""
        return '' if self._publisher.get_subscription_count() else self.problem()


def piece_to_rest(path: Motion, after: float, until: float, limits: MotionLimits) -> Motion:
    """Part of a motion, and a stop from its end as fast as the limits allow.

    Args:
        path: The motion.
        after: Time in [s] that the part reaches back to.
        until: Time in [s] of the last sample before the stop; infinite for the end of the motion.
        limits: Limits of its joints.
    """
    first, last = np.searchsorted(path.t, [after, until], side='right') - 1
    part = _rows(path, slice(first, last + 1))
    braking = BrakingStop(limits, path.q[last], path.v[last], path.a[last])
    if last + 1 == len(path.t) or braking.duration == 0.0:
        return part
    stop = braking.grid(_BRAKING_RATE)
    return Motion(*(
        np.concatenate([getattr(part, name), getattr(stop, name)[1:] + shift])
        for name, shift in (
            ('t', path.t[last]), ('q', 0.0), ('v', 0.0), ('a', 0.0), ('jerk', 0.0))))


def _rows(motion: Motion, rows: slice) -> Motion:
    return Motion(*(getattr(motion, name)[rows] for name in ('t', 'q', 'v', 'a', 'jerk')))
