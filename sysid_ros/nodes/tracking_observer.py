"""How far the robot is from where it is told to be, seen from outside of its controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from sysid_ros.nodes.conversions import instant, to_nanoseconds
from sysid_ros.nodes.fast_lane import PolledSubscription

_QOS = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)
# Longest way of a reference whose stamp is believed, in [ns].
_LONGEST_WAY = 2_000_000_000


@dataclass(frozen=True)
class Tracking:
    """Distances of a robot from its reference while it moved.

    Attributes:
        joint_names: The joints.
        joint_rms: Root mean square of each in [rad] or [m].
        joint_max: Largest of each.
        seconds: Root mean square over all joints in each second of the motion.
        samples: References compared.
    """

    joint_names: tuple[str, ...]
    joint_rms: tuple[float, ...]
    joint_max: tuple[float, ...]
    seconds: tuple[float, ...]
    samples: int

    @property
    def rms(self) -> float:
        """Root mean square over all joints."""
        return float(np.sqrt(np.mean(np.square(self.joint_rms))))

    @property
    def typical(self) -> float:
        """Median of the seconds: a pause of the computer disturbs one or two of them."""
        return float(np.median(self.seconds))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            'rms': self.rms, 'typical': self.typical, 'seconds': list(self.seconds),
            'joint_rms': dict(zip(self.joint_names, self.joint_rms, strict=True)),
            'joint_max': dict(zip(self.joint_names, self.joint_max, strict=True)),
            'samples': self.samples,
        }


class TrackingObserver:
    """Compares references with joint states of the time that they are of.

    Args:
        node: Node that subscribes.
    """

    def __init__(self, node: Node) -> None:
        self._states = PolledSubscription(node, JointState, 'joint_states', _QOS)
        self._references = PolledSubscription(node, JointTrajectory, 'reference', _QOS)
        self._measured: list[tuple[float, list[float]]] = []
        self._wanted: list[tuple[float, list[float]]] = []
        self._names: tuple[str, ...] = ()
        self._on = False

    def begin(self) -> None:
        """Forget what was, and look from now on."""
        self.poll()
        self._measured, self._wanted, self._on = [], [], True

    def poll(self) -> None:
        """Take what came in; often, so that nothing is lost."""
        for state, _ in self._states.take():
            self._names = self._names or tuple(state.name)
            when = 1e-9 * to_nanoseconds(state.header.stamp)
            self._append(self._measured, (when, list(state.position)))
        for message, received in self._references.take():
            if not message.points or not self._names:
                continue
            order = [message.joint_names.index(name) for name in self._names]
            point = message.points[0]
            stamp = to_nanoseconds(message.header.stamp)
            when = 1e-9 * instant(stamp, received, _LONGEST_WAY)
            self._append(self._wanted, (when, [point.positions[k] for k in order]))

    def end(self, start: float, stop: float) -> Tracking:
        """What was seen since :meth:`begin`.

        Args:
            start: From when it counts, in [s] since 1970.
            stop: Until when.
        """
        self.poll()
        self._on = False
        t = np.array([stamp for stamp, _ in self._measured])
        q = np.array([position for _, position in self._measured])
        received_at = np.array([received for received, _ in self._wanted])
        wanted = np.array([position for _, position in self._wanted])
        seen = np.column_stack([np.interp(received_at, t, column) for column in q.T])
        counts = (received_at >= max(start, t[0])) & (received_at <= min(stop, t[-1]))
        error, received_at = (wanted - seen)[counts], received_at[counts]
        second = (received_at - received_at[0]).astype(int)
        return Tracking(
            self._names, tuple(np.sqrt(np.mean(error**2, axis=0)).tolist()),
            tuple(np.abs(error).max(axis=0).tolist()),
            tuple(float(np.sqrt(np.mean(error[second == k] ** 2))) for k in np.unique(second)),
            len(error))

    def _append(self, entries: list[Any], entry: Any) -> None:
        if self._on:
            entries.append(entry)
