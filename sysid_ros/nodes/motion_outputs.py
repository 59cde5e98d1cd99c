"""Where motions go: a stream of set-points, pieces of a trajectory, or a trajectory action.

An excitation node ticks; an output makes messages of it. Streams say at every tick what the robot
is to do now, so that a stop is in the stream itself. Pieces of a trajectory reach some tenths of a
second ahead and end at rest; the goal of an action is the whole motion. A stop is then a trajectory
of its own, or the goal taken back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from rclpy.duration import Duration as RosDuration
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.playback.checks import Observation
from sysid_ros.excitation.playback.playback import Setpoint
from sysid_ros.excitation.safety.braking import BrakingStop
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.nodes.node import SysidNode, now

# Points of a braking trajectory per second.
_BRAKING_RATE = 100.0
# Part of a piece of a trajectory after which the next one is sent, and time in [s] from then until
# its first point, so that a controller is not late for it.
_RENEWED, _AHEAD = 0.25, 0.01
# Torques are made for joint states that are no older than so many seconds, or periods of theirs.
_FRESH, _PERIODS = 0.05, 2.5


#: Torques in [N·m] or [N], shape ``(n,)``, for a set-point and what is measured.
ControlLaw = Callable[[Setpoint, Observation], np.ndarray]


class Stream:
    """Set-points as messages of one kind.

    It is a :class:`~sysid_ros.excitation.playback.motion_output.MotionOutput`.

    Args:
        node: The node that sends them.
        kind: Type of the messages.
        topic: Where they go.
        message: Makes a message of a set-point and the time that it is for; None where there is
            none to be sent.
        holds: Whether the stream goes on while the robot rests.
    """

    streams = True

    def __init__(
        self, node: SysidNode[Any], kind: type, topic: str,
        message: Callable[[float, Setpoint, Observation], Any], *, holds: bool = False,
    ) -> None:
        self.holds = holds
        self._node, self._kind, self._message = node, kind, message
        self._publisher = node.advertise(kind, topic)

    def problem(self) -> str:
        """Why nobody would follow now; empty when somebody does."""
        return absent_listener(self._node, self._publisher, self._kind)

    def begin(self, now: float, path: Motion) -> None:
        """Nothing is sent ahead."""

    def begun(self) -> bool:
        """At once."""
        return True

    def send(self, now: float, point: Setpoint, seen: Observation) -> None:
        """Publish what the set-point becomes."""
        message = self._message(now, point, seen)
        if message is not None:
            self._publisher.publish(message)

    def stop(self, now: float, stop: BrakingStop | None) -> None:
        """The set-points themselves come to rest."""

    def finished(self) -> bool:
        """Nothing was sent ahead."""
        return True

    def failure(self, now: float) -> str:
        """A stream that nobody hears any more."""
        return '' if self._publisher.get_subscription_count() else self.problem()


def reference_stream(node: SysidNode[Any], joints: tuple[str, ...], topic: str) -> Stream:
    """Positions, velocities and accelerations, as a ``JointTrajectory`` of one point."""
    def message(moment: float, point: Setpoint, _: Observation) -> JointTrajectory:
        motion = Motion(np.zeros(1), point.q[None], point.v[None], point.a[None], point.a[None])
        trajectory = trajectory_message(joints, motion)
        # The set-point is of the tick, and so is its stamp, however late it is sent.
        late = RosDuration(seconds=now() - moment)
        trajectory.header.stamp = (node.get_clock().now() - late).to_msg()
        return trajectory

    return Stream(node, JointTrajectory, topic, message)


def position_stream(node: SysidNode[Any], topic: str) -> Stream:
    """Positions, as a ``Float64MultiArray`` in the order of the joints."""
    def message(_: float, point: Setpoint, __: Observation) -> Float64MultiArray:
        return Float64MultiArray(data=point.q.tolist())

    return Stream(node, Float64MultiArray, topic, message)


def effort_stream(node: SysidNode[Any], topic: str, law: ControlLaw) -> Stream:
    """Torques by a control law, as a ``Float64MultiArray`` in the order of the joints.

    A torque is right for the state that it was made for, and throws the robot when that is long
    past: for joint states that stay out nothing is sent, and the drives do what they do when
    commands fall silent.
    """
    def message(_: float, point: Setpoint, seen: Observation) -> Float64MultiArray | None:
        period = 0.0 if np.isnan(seen.rate) else 1.0 / seen.rate
        if not seen.age <= max(_FRESH, _PERIODS * period):
            return None
        return Float64MultiArray(data=law(point, seen).tolist())

    return Stream(node, Float64MultiArray, topic, message, holds=True)


class RollingTrajectory:
    """The motion on a topic, piece by piece: each ends at rest and is replaced before it brakes.

    So a computer that dies stops the robot, though nobody tells its controller. All pieces have
    the stamp at which the motion began, and times since then: a controller that replaces one by
    another goes on where it is, however long the message took.

    Args:
        node: The node that sends it.
        limits: Limits of the n joints, to brake by.
        topic: Where it goes.
        horizon: How far ahead the motion is sent, in [s]; 0 for all of it at once.
    """

    holds = streams = False

    def __init__(
        self, node: SysidNode[Any], limits: MotionLimits, topic: str, horizon: float
    ) -> None:
        self._node, self._limits, self._horizon = node, limits, horizon
        self._publisher = node.advertise(JointTrajectory, topic)
        self._path: Motion | None = None
        self._began = self._sent = -np.inf
        self._stamp, self._stopped = Time(), False

    def problem(self) -> str:
        """Why nobody would follow now; empty when somebody does."""
        return absent_listener(self._node, self._publisher, JointTrajectory)

    def begin(self, now: float, path: Motion) -> None:
        """Publish the first piece, to begin at once."""
        self._stopped, self._began, self._path = False, now, path
        self._stamp = self._node.get_clock().now().to_msg()
        self._send_piece(now)

    def begun(self) -> bool:
        """At once: nobody answers on a topic."""
        return True

    def send(self, now: float, point: Setpoint, seen: Observation) -> None:
        """Publish the next piece when it is time."""
        if now - self._sent >= _RENEWED * self._horizon:
            self._send_piece(now)

    def _send_piece(self, now: float) -> None:
        if self._path is None:
            return
        self._sent = now
        after = 0.0 if now == self._began else now - self._began + _AHEAD
        until = now - self._began + self._horizon
        if self._horizon == 0.0 or until >= self._path.t[-1]:
            until = np.inf
        piece = piece_to_rest(self._path, after, until, self._limits)
        if np.isinf(until):
            self._path = None
        message = trajectory_message(self._limits.joint_names, piece)
        message.header.stamp = self._stamp
        self._publisher.publish(message)

    def stop(self, now: float, stop: BrakingStop | None) -> None:
        """Replace the motion by one that ends soon, once; without one, the last piece ends."""
        self._path = None
        if not self._stopped and stop is not None:
            self._stopped = True
            path = stop.grid(_BRAKING_RATE)
            # The first point is now, and a controller would be late for it.
            self._publisher.publish(
                trajectory_message(self._limits.joint_names, _rows(path, slice(1, None))))

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
        after: Time in [s] before which nothing is taken.
        until: Time in [s] of the last sample before the stop; infinite for the end of the motion.
        limits: Limits of its joints.
    """
    first, last = np.searchsorted(path.t, after), np.searchsorted(path.t, until, side='right') - 1
    last = max(last, first)
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


def trajectory_message(joints: tuple[str, ...], motion: Motion) -> JointTrajectory:
    """A sampled motion as a message; it begins when it is received."""
    return JointTrajectory(joint_names=list(joints), points=[
        JointTrajectoryPoint(
            positions=motion.q[k].tolist(), velocities=motion.v[k].tolist(),
            accelerations=motion.a[k].tolist(), time_from_start=duration(float(t)),
        )
        for k, t in enumerate(motion.t)
    ])


def duration(seconds: float) -> Duration:
    """Seconds as a message."""
    nanoseconds = round(seconds * 1e9)
    return Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def absent_listener(node: SysidNode[Any], publisher: Any, kind: type) -> str:
    """Why nobody hears a publisher, in words; empty when somebody does."""
    if publisher.get_subscription_count():
        return ''
    topic, wanted = publisher.topic_name, f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'
    others = node.get_subscriptions_info_by_topic(topic)
    wrong = sorted({info.topic_type for info in others} - {wanted})
    if wrong:
        return f'Whoever listens to {topic} takes {", ".join(wrong)}; {wanted} is sent.'
    if others:
        return f'Whoever listens to {topic} has a quality of service that does not match.'
    return f'Nobody listens to {topic}: the controller is absent or inactive.'
