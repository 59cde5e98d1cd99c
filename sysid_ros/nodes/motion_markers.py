"""What the excitation node shows: boxes around the robot, and the path of the last motion."""

from __future__ import annotations

from typing import Any

from sysid_ros.excitation.design.design import Designer
from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.geometry.clearance import Surroundings
from sysid_ros.mechanics.tree.tip_paths import tip_paths
from sysid_ros.nodes.markers import MarkerTopic
from sysid_ros.nodes.node import SysidNode
from sysid_ros.report.motion_scene import motion_scene


class MotionMarkers:
    """The topic ``~/motion_markers``, from ``configure`` of a node to its clean-up.

    The boxes of the settings are there at once, and the path before a motion is played.

    Args:
        node: The node.
        designer: The robot, and what it keeps away from.
    """

    def __init__(self, node: SysidNode[Any], designer: Designer) -> None:
        self._robot = designer.model.robot
        self._around = Surroundings.of(designer.obstacles)
        self._topic = MarkerTopic(node, '~/motion_markers')
        self._topic.show(motion_scene(self._robot, self._around, {}))

    def show(self, motion: Motion) -> None:
        """Show where a motion leads the outermost links; may be called beside the executor."""
        paths = tip_paths(self._robot, motion.q)
        self._topic.show(motion_scene(self._robot, self._around, paths))
