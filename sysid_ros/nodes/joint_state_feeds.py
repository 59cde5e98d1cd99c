"""Which joints the identification node records, and the topics of their states."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.nodes.identification_settings import IdentificationNodeSettings
from sysid_ros.nodes.joint_state_feed import JointStateFeed, Tap
from sysid_ros.nodes.node import SysidNode
from sysid_ros.recording.bag.joint_state_cdr import FIELDS
from sysid_ros.recording.live.joint_states import LiveSettings


def wanted_joints(given: tuple[str, ...], setup: FitSetup) -> tuple[str, ...]:
    """Joints to record, all that the robot moves among them.

    Args:
        given: Those that the node was told; empty for those of the settings, or all.
        setup: The robot, and what its recordings hold.

    Raises:
        ConfigurationError: There is no such joint, or one is missing.
    """
    known = setup.model.robot.limb_joints
    joints = given or setup.settings.recording.joints or known
    for name in joints:
        setup.model.robot.joint_index(name)
    missing = [name for name in known if name not in joints]
    if missing:
        raise ConfigurationError(
            f'the robot moves joints that are not to be recorded: {", ".join(missing)}',
            where='joints', found=', '.join(joints), allowed=', '.join(known),
            fix='Add them, or lock them in the robot settings')
    return tuple(joints)


def joint_state_feeds(
    node: SysidNode[IdentificationNodeSettings], setup: FitSetup, joints: tuple[str, ...],
    tap: Callable[[int], Tap],
) -> Iterator[JointStateFeed]:
    """Subscriptions to joint states, and to efforts where these have a topic of their own.

    Args:
        node: The node.
        setup: The robot, and what its recordings hold.
        joints: Joints to record.
        tap: Gives what takes the messages of the topic of a number.
    """
    settings, robot = node.settings, setup.model.robot
    section, processing = setup.settings.recording, setup.settings.processing
    live = LiveSettings(
        rename=section.rename, stamps=section.stamps, clock_warning=section.clock_warning,
        clock_limit=section.clock_limit, reset_tolerance=section.reset_tolerance,
        frozen_after=processing.frozen_after, max_gap=processing.max_gap,
        history=settings.history)
    continuous = {
        name for name, kind in zip(robot.joint_names, robot.joint_types, strict=True)
        if kind == 'continuous'
    }
    topics: list[tuple[str, tuple[str, ...]]] = [(
        settings.topic, FIELDS[:2] if settings.effort_topic else FIELDS)]
    topics += [(settings.effort_topic, FIELDS[2:])] if settings.effort_topic else []
    for number, (topic, quantities) in enumerate(topics):
        yield JointStateFeed(
            node, joints, topic=topic, continuous=continuous, settings=live,
            quantities=quantities, reliable=settings.reliable, tap=tap(number))
