"""What a running system offers to nodes that identify its robot: topics, actions, descriptions."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

#: Types that matter here, as ROS 2 writes them.
JOINT_STATE = 'sensor_msgs/msg/JointState'
JOINT_TRAJECTORY = 'trajectory_msgs/msg/JointTrajectory'
ARRAY = 'std_msgs/msg/Float64MultiArray'
FOLLOW_JOINT_TRAJECTORY = 'control_msgs/action/FollowJointTrajectory'


@dataclass(frozen=True)
class JointStateTopic:
    """A topic of joint states.

    Attributes:
        name: The topic, absolute.
        publishers: Nodes that publish it.
        rate: Messages a second while it was listened to, zero for silence.
        joints: Joints that it names.
        positions: Whether all of them have a position.
        efforts: Whether they have an effort that is a number and not always zero.
        reliable: Whether all publishers send lost messages again.
    """

    name: str
    publishers: tuple[str, ...] = ()
    rate: float = 0.0
    joints: tuple[str, ...] = ()
    positions: bool = False
    efforts: bool = False
    reliable: bool = False


@dataclass(frozen=True)
class CommandInterface:
    """A topic or an action by which a robot may be moved.

    Attributes:
        name: The topic or action, absolute.
        kind: Its type.
        node: Who takes the commands.
        joints: Joints that it moves, empty where the node does not say.
        interface: Command interface of a forwarding controller (position, effort, ...), if said.
    """

    name: str
    kind: str
    node: str
    joints: tuple[str, ...] = ()
    interface: str = ''


@dataclass(frozen=True)
class DescriptionTopic:
    """A topic of robot descriptions.

    Attributes:
        name: The topic, absolute.
        publishers: Nodes that publish it.
        frame_prefix: What they put before the names of links in TF.
    """

    name: str
    publishers: tuple[str, ...] = ()
    frame_prefix: str = ''


@dataclass(frozen=True)
class RobotGraph:
    """What was seen of a running system.

    Attributes:
        seconds: How long it was listened to.
        nodes: Full names of all nodes.
        joint_states: Topics of joint states.
        commands: What a robot may be moved by.
        descriptions: Topics of robot descriptions.
    """

    seconds: float
    nodes: tuple[str, ...] = ()
    joint_states: tuple[JointStateTopic, ...] = ()
    commands: tuple[CommandInterface, ...] = ()
    descriptions: tuple[DescriptionTopic, ...] = ()

    def to_json(self) -> str:
        """As text, from one process to another."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what :meth:`to_json` wrote."""
        data = json.loads(text)

        def entries(kind: type, name: str) -> tuple[Any, ...]:
            return tuple(kind(**{
                key: tuple(value) if isinstance(value, list) else value
                for key, value in entry.items()}) for entry in data[name])

        return cls(
            data['seconds'], tuple(data['nodes']), entries(JointStateTopic, 'joint_states'),
            entries(CommandInterface, 'commands'), entries(DescriptionTopic, 'descriptions'))
