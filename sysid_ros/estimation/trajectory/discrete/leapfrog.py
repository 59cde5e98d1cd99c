r"""Leapfrog steps: torques and readings of velocities that are half a step before their poses.

A step leads from :math:`q_k` to :math:`q_{k+1} = q_k + h v_{k+1}` by forces at :math:`q_k`, so that
:math:`v_k` is the velocity at :math:`t_k - h/2`, and the step's impulse is that from
:math:`t_k - h/2` to :math:`t_k + h/2`. Taken for those at the nodes, velocities, torques or
readings between nodes would be off by half a step: an error of first order in h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.trajectory.interpolation import Between, Weights
from sysid_ros.estimation.trajectory.problem import Observation, Segment
from sysid_ros.estimation.trajectory.sensors import Encoder


@dataclass(frozen=True, eq=False)
class LeapfrogBetween(Between):
    """Where K stamps lie among the nodes of a segment of leapfrog steps.

    Positions in between follow the parabola through both nodes whose second derivative is the
    change of velocity over the step, velocities its derivative.
    """

    @classmethod
    def of(cls, segment: Segment, t: np.ndarray) -> LeapfrogBetween:
        """The places of stamps, in [s], shape ``(K,)``, within a segment."""
        found = Between.of(segment, t)
        # What is read at the last node follows from the step that leads to it.
        node = np.minimum(found.node, len(segment.t) - 2)
        return cls(node, found.part + (found.node - node), found.step)

    def _weights(self) -> list[Weights]:
        """Weights of the node before and of that after, of velocities half a step before them."""
        s, h = self.part[:, None, None], self.step
        one, bent, slope = np.ones_like(s), 0.5 * h * s * (1.0 - s), 0.5 - s
        return [
            (np.array([1.0 - s, bent]), np.array([-one / h, slope]), 1.0 - s),
            (np.array([s, -bent]), np.array([one / h, -slope]), s)]


def places(segment: Segment, observation: Observation) -> Between:
    """Where the stamps of an observation lie among the nodes of leapfrog steps.

    Args:
        segment: The segment.
        observation: What was measured; positions at nodes alone touch no other node.
    """
    found = Between.of(segment, observation.t)
    if found.on_nodes and type(observation.sensor) is Encoder:
        return found
    return LeapfrogBetween.of(segment, observation.t)


def step_torques(torque: np.ndarray) -> np.ndarray:
    r"""Mean torques of steps, from half a step before a node to half a step after it.

    Args:
        torque: Torques at nodes in [N·m] or [N], straight lines in between, shape ``(K + 1, n)``.

    Returns:
        :math:`(\tau_{k-1} + 6 \tau_k + \tau_{k+1}) / 8`, of the first step :math:`\tau_0`, as if
        the first line had begun before; shape ``(K, n)``.
    """
    mean = torque[:-1].copy()
    mean[1:] = 0.125 * (torque[:-2] + 6.0 * torque[1:-1] + torque[2:])
    return mean


def half_a_step_before(velocity: np.ndarray) -> np.ndarray:
    """Velocities half a step before nodes, from those at nodes, shape ``(N, n)``."""
    first = velocity[:1] - 0.5 * (velocity[1:2] - velocity[:1])
    return np.vstack([first, 0.5 * (velocity[1:] + velocity[:-1])])


def at_nodes(velocity: np.ndarray) -> np.ndarray:
    """Velocities at nodes, from those half a step before them, shape ``(N, n)``."""
    last = velocity[-1:] + 0.5 * (velocity[-1:] - velocity[-2:-1])
    return np.vstack([0.5 * (velocity[1:] + velocity[:-1]), last])
