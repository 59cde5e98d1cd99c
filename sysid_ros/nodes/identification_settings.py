"""Parameters of the identification node."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sysid_ros.estimation.online.online import OnlineSettings
from sysid_ros.nodes.settings import NodeSettings


class IdentificationNodeSettings(NodeSettings):
    """Parameters of the identification node."""

    data_folder: str = Field(
        default='~/sysid_data', min_length=1,
        description='Folder with recordings/ and estimates/, shared by the nodes of a robot')
    settings: str = Field(
        default='', description='Settings file (YAML) with the sections robot, processing and '
        'fit, as for sysid fit; recording may be left out')
    joints: tuple[str, ...] = Field(
        default=(), description='Joints to record, by their names in the robot description; '
        'empty: those of the settings, or all of the robot')
    topic: str = Field(
        default='joint_states', min_length=1, description='Topic of sensor_msgs/JointState')
    effort_topic: str = Field(
        default='', description='Topic of sensor_msgs/JointState that carries the efforts; '
        'empty: the same')
    command_topic: str = Field(
        default='', description='Topic of what the actuators of the settings are told '
        '(JointTrajectory, Float64MultiArray, JointState, or of control_msgs '
        'JointTrajectoryControllerState or DynamicJointState), recorded beside the joint states; '
        'empty: recording.command.topic of the settings')
    wrench_topics: tuple[str, ...] = Field(
        default=(), description='Topics of geometry_msgs/WrenchStamped that are recorded beside '
        'the joint states, as of sensors at feet or hands')
    imu_topics: tuple[str, ...] = Field(
        default=(), description='Topics of sensor_msgs/Imu that are recorded beside the joint '
        'states, as of an IMU on a base that moves')
    reliable: bool = Field(
        default=False, description='Ask for lost messages again; publishers have to offer it')
    frame_prefix: str = Field(
        default='', description='What TF frames have before the names of links, as the '
        'frame_prefix of robot_state_publisher, for markers in RViz')
    status_rate: float = Field(
        default=2.0, ge=0.1, le=20.0, description='Status messages per second [Hz]')
    holdout: float = Field(
        default=0.25, gt=0.0, lt=1.0, description='Last part of a recording that is kept from '
        'the fit to judge it by, unless there is another recording for that [1]')
    fit_standby: bool = Field(
        default=True, description='Keep a process ready for the next fit, which then begins at '
        'once; without it the node is active sooner and takes less memory, and a fit begins by '
        'loading, which takes seconds')
    ship_to: str = Field(
        default='', description='Store that finished recordings and estimates are copied into '
        'while the robot is idle, as s3://lab/arm_03 (sysid ship); empty: none')
    ship_period: float = Field(
        default=60.0, ge=1.0, description='From the end of one such copy to the begin of the next '
        '[s]')
    history: float = Field(
        default=60.0, ge=5.0, le=600.0,
        description='How far back joint states are kept to identify a payload by [s]')
    motion_velocity: float = Field(
        default=0.05, gt=0.0, description='Faster joints count as moving, for the online estimate '
        'and a payload [rad/s] or [m/s]')
    payload_link: str = Field(
        default='', description='Link that carries loads; empty: the end of the chain')
    online: bool = Field(
        default=False, description='Follow the robot row by row: ~/online_parameters, and '
        '~/parameter_change against the revision that runs')
    online_warm_up: float = Field(
        default=5.0, gt=0.0, description='Motion that tells the noise of the torques, before '
        'there is an online estimate [s]')
    online_forgetting: Literal['none', 'exponential', 'directional'] = Field(
        default='none', description='none; exponential: all that is known fades; directional: '
        'only what new motion tells anew')
    online_memory: float = Field(
        default=60.0, gt=0.0,
        description='Motion after which e-times less is left of what is forgotten [s]')
    false_alarms_per_hour: float = Field(
        default=0.05, gt=0.0, description='Changes that may be reported although nothing changed, '
        'per hour of motion')

    def following(self) -> OnlineSettings:
        """How the robot is followed."""
        return OnlineSettings(
            warm_up=self.online_warm_up, velocity=self.motion_velocity,
            forgetting=self.online_forgetting, memory=self.online_memory,
            false_alarms_per_hour=self.false_alarms_per_hour, payload_link=self.payload_link)
