"""Parameters of the model server."""

from __future__ import annotations

from pydantic import Field

from sysid_ros.nodes.settings import NodeSettings


class ModelServerSettings(NodeSettings):
    """Parameters of the model server."""

    data_folder: str = Field(
        default='~/sysid_data', min_length=1,
        description='Folder with estimates/ and the revisions, shared by the nodes of a robot')
    robot: str = Field(
        default='', description='Settings file (YAML) whose section robot says what the robot is '
        'like, as for sysid fit')
    topic: str = Field(
        default='joint_states', min_length=1, description='Topic of sensor_msgs/JointState')
    effort_topic: str = Field(
        default='', description='Topic of sensor_msgs/JointState that carries the efforts; '
        'empty: the same')
    publish_description: bool = Field(
        default=False, description='Publish the description of the current revision on '
        '/robot_description; a running ros2_control does not reload it')
    frame_prefix: str = Field(
        default='', description='What TF frames have before the names of links, as the '
        'frame_prefix of robot_state_publisher, for markers in RViz')
    rest_velocity: float = Field(
        default=0.02, gt=0.0, description='Slower joints are at rest [rad/s] or [m/s]')
    shadow_velocity: float = Field(
        default=0.05, gt=0.0, description='Faster joints count as moving in the shadow test '
        '[rad/s] or [m/s]')
    shadow_least_motion: float = Field(
        default=2.0, gt=0.0, description='Motion that a shadow test needs [s]')
    recordings_required: bool = Field(
        default=True, description='Refuse an estimate whose recordings are gone: it cannot be '
        'judged again; false: take its verdict as it was written')
    history: float = Field(
        default=60.0, ge=1.0, le=600.0,
        description='How far back joint states are kept for the shadow test [s]')
