"""Parameters of the panel node."""

from __future__ import annotations

from pydantic import Field

from sysid_ros.nodes.settings import NodeSettings


class PanelNodeSettings(NodeSettings):
    """Parameters of the panel node."""

    host: str = Field(
        default='127.0.0.1', min_length=1, description='Address to listen at; by default this '
        'computer alone reaches the page. Others are not encrypted: put a proxy with TLS before it')
    port: int = Field(
        default=8422, ge=0, le=65535, description='Port to listen at; 0: any that is free')
    token: str = Field(
        default='', description='Token of the page; empty: that of the environment variable '
        'SYSID_PANEL_TOKEN, or a new one at every start. Parameters can be read by whoever is in '
        'the ROS domain')
    data_folder: str = Field(
        default='~/sysid_data', min_length=1,
        description='Folder of motions, recordings, estimates and revisions, shared by the nodes')
    joint_states: str = Field(
        default='joint_states', min_length=1, description='Topic of sensor_msgs/JointState')
    hold_timeout: float = Field(
        default=0.4, ge=0.2, le=5.0, description='Longest silence of the page that holds a motion '
        'in [s]; then the motion is stopped')
    patience: float = Field(
        default=20.0, gt=0.0, le=600.0,
        description='Longest wait for an answer that is not a motion or a fit [s]')
