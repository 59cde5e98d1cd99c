"""Measured, predicted and unexplained torques over time, as plotters show them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from sysid_ros.evaluation.live_torque import LiveTorque
from sysid_ros.nodes.conversions import to_time
from sysid_ros.nodes.node import STREAM, SysidNode

# Least time between two messages of a topic in [s]: what the eye needs.
_PERIOD = 0.02


class EffortTopics:
    """Torques of the last seconds, each sample once, to whoever listens.

    Topics of ``sensor_msgs/JointState`` with efforts alone: what was measured, filtered as for a
    fit; what the revision that runs predicts, or else the prior; and the difference.

    Args:
        node: The node.
        joints: Names of the n joints.
    """

    def __init__(self, node: SysidNode[Any], joints: Sequence[str]) -> None:
        self._joints = list(joints)
        self._measured = node.advertise(JointState, '~/measured_efforts', STREAM)
        self._predicted = node.advertise(JointState, '~/predicted_efforts', STREAM)
        self._residual = node.advertise(JointState, '~/residual_efforts', STREAM)
        self._until = -math.inf

    def publish(self, torque: LiveTorque) -> None:
        """Publish the samples that are newer than those before, or all where the clock went back.

        Args:
            torque: Torques of the last seconds.
        """
        if len(torque.t) and torque.t[-1] < self._until:
            self._until = -math.inf
        rows = _thinned(torque.t, self._until)
        for publisher, values in (
            (self._measured, torque.measured), (self._predicted, torque.predicted),
            (self._residual, torque.residual),
        ):
            if publisher.get_subscription_count() > 0:
                for row in rows:
                    publisher.publish(self._message(float(torque.t[row]), values[row]))
        if rows:
            self._until = float(torque.t[rows[-1]])

    def _message(self, time: float, efforts: np.ndarray) -> JointState:
        message = JointState(name=self._joints, effort=efforts.tolist())
        message.header.stamp = to_time(round(time * 1e9))
        return message


def _thinned(t: np.ndarray, until: float) -> list[int]:
    """Rows after a time, no closer to it and to one another than the period."""
    rows, last = list[int](), until
    for row, time in enumerate(t.tolist()):
        # Half a nanosecond of rounding is no reason to leave one out.
        if time - last >= _PERIOD - 1e-6:
            rows.append(row)
            last = time
    return rows
