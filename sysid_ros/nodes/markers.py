"""Scenes as latched ``visualization_msgs/MarkerArray``, as RViz and Foxglove show them.

A robot is identified without ``visualization_msgs`` as well: where the package is absent, the node
says so once and has no such topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geometry_msgs.msg import Point, Pose, Quaternion, Vector3
from std_msgs.msg import ColorRGBA

from sysid_ros.nodes.node import LATCHED, SysidNode
from sysid_ros.report.scene import Shape

_KINDS = {'ellipsoid': 'SPHERE', 'box': 'CUBE', 'path': 'LINE_STRIP', 'segments': 'LINE_LIST'}


class MarkerTopic:
    """A latched topic that holds one scene at a time, from ``configure`` of a node to clean-up.

    Args:
        node: The node; its parameter ``frame_prefix`` stands before the names of links.
        topic: Name of the topic.
    """

    def __init__(self, node: SysidNode[Any], topic: str) -> None:
        self._publisher, self._prefix = None, node.settings.frame_prefix
        try:
            from visualization_msgs.msg import MarkerArray
        except ImportError as error:
            node.get_logger().warning(
                f'Nothing is published on {topic} for RViz: {error}. Install visualization_msgs of '
                'the ROS distribution to see inertia ellipsoids, paths and boxes.')
            return
        self._publisher = node.advertise(MarkerArray, topic, LATCHED)

    def show(self, shapes: Sequence[Shape]) -> None:
        """Replace the scene.

        Args:
            shapes: What is shown from now on.
        """
        if self._publisher is not None:
            self._publisher.publish(marker_array(shapes, self._prefix))


def marker_array(shapes: Sequence[Shape], prefix: str = '') -> Any:
    """A scene as a message that takes the place of the one before.

    Args:
        shapes: The shapes.
        prefix: Of the TF frames of links.

    Returns:
        A ``visualization_msgs/MarkerArray`` whose first entry removes what was there.
    """
    from visualization_msgs.msg import Marker, MarkerArray

    return MarkerArray(markers=[
        Marker(action=Marker.DELETEALL),
        *(_marker(number, shape, prefix) for number, shape in enumerate(shapes))])


def _marker(number: int, shape: Shape, prefix: str) -> Any:
    from visualization_msgs.msg import Marker

    x, y, z, w = shape.quaternion
    red, green, blue = shape.rgb
    width, depth, height = shape.size.tolist()
    across, along, up = shape.pose[:3, 3].tolist()
    # Without a stamp, and locked to its frame, it is drawn wherever TF has the link now.
    marker = Marker(
        ns=shape.group, id=number, type=getattr(Marker, _KINDS[shape.kind]), action=Marker.ADD,
        pose=Pose(position=Point(x=across, y=along, z=up),
                  orientation=Quaternion(x=x, y=y, z=z, w=w)),
        scale=Vector3(x=width, y=depth, z=height),
        color=ColorRGBA(r=red, g=green, b=blue, a=shape.opacity), frame_locked=True,
        points=[Point(x=one[0], y=one[1], z=one[2]) for one in shape.points.tolist()])
    marker.header.frame_id = f'{prefix}{shape.frame}'
    return marker
