"""Streams of set-points, one of the ways in which motions go to a robot, and their messages.

An excitation node ticks; an output makes messages of it. Streams say at every tick what the robot
is to do now, so that a stop is in the stream itself. Trajectories that are sent ahead are in
:mod:`sysid_ros.nodes.rolling_trajectory`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from rclpy.duration import Duration as RosDuration
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.playback.checks import Observation
from sysid_ros.excitation.playback.playback import Setpoint
from sysid_ros.excitation.safety.braking import BrakingStop
from sysid_ros.nodes.node import SysidNode, now

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
