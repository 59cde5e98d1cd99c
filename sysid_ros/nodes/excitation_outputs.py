"""The output that the parameters of the excitation node name."""

from __future__ import annotations

import numpy as np

from sysid_ros.excitation.design.design import Designer
from sysid_ros.excitation.playback.checks import Observation
from sysid_ros.excitation.playback.follower import Reference
from sysid_ros.excitation.playback.motion_output import MotionOutput
from sysid_ros.excitation.playback.playback import Setpoint
from sysid_ros.mechanics.control import ComputedTorque
from sysid_ros.nodes.excitation_settings import OUTPUTS, ExcitationNodeSettings
from sysid_ros.nodes.motion_outputs import (
    ControlLaw,
    effort_stream,
    position_stream,
    reference_stream,
)
from sysid_ros.nodes.node import SysidNode
from sysid_ros.nodes.rolling_trajectory import (
    RollingTrajectory,
    TopicTrajectory,
    TrajectorySender,
)
from sysid_ros.nodes.trajectory_action import ANSWER, TrajectoryAction

# Longest time in [s] over which what was measured is continued.
_AHEAD = 0.05


def make_output(node: SysidNode[ExcitationNodeSettings], designer: Designer) -> MotionOutput:
    """The output that the parameters name.

    Args:
        node: The node that sends.
        designer: Robot and limits.

    Raises:
        ConfigurationError: It needs a package that is not there.
    """
    settings, joints = node.settings, designer.limits.joint_names
    name = settings.command or OUTPUTS[settings.output]
    if settings.output == 'reference':
        return reference_stream(node, joints, name)
    if settings.output == 'position':
        return position_stream(node, name)
    if settings.output == 'effort':
        return effort_stream(node, name, control_law(designer, settings))
    return RollingTrajectory(
        node, designer.limits, _sender(node, joints, name), settings.horizon)


def _sender(
    node: SysidNode[ExcitationNodeSettings], joints: tuple[str, ...], name: str
) -> TrajectorySender:
    """What brings trajectories to the controller."""
    horizon = node.settings.horizon
    if node.settings.output == 'trajectory':
        return TopicTrajectory(node, name)
    # A piece that is not answered while it lasts is not followed by another one in time.
    return TrajectoryAction(node, joints, name, lambda: (
        np.full(len(joints), node.settings.tracking_error), node.settings.result_margin),
        min(ANSWER, horizon) if horizon else ANSWER, replaces=horizon > 0.0)


def control_law(designer: Designer, settings: ExcitationNodeSettings) -> ControlLaw:
    """Computed torque with the parameters of the description."""
    law = ComputedTorque(
        designer.model, designer.model.parameters.prior, effort=designer.limits.effort,
        natural_frequency=settings.natural_frequency, damping=settings.damping,
    )

    def torque(point: Setpoint, seen: Observation) -> np.ndarray:
        # The robot has moved on since it was measured, as it was told to.
        here = Reference(seen.q, seen.v, point.a).ahead(min(seen.age, _AHEAD))
        return law.command(here.q, here.v, point.q, point.v, point.a).torque

    # What is compiled when it is first used is compiled now.
    zero = np.zeros(len(designer.limits.joint_names))
    law.command(zero, zero, zero, zero, zero)
    return torque
