"""Parameters of the campaign node."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from sysid_ros.nodes.settings import NodeSettings


class CampaignNodeSettings(NodeSettings):
    """Parameters of the campaign node."""

    live: ClassVar[frozenset[str]] = frozenset({'plan', 'settings', 'data_folder', 'patience'})

    plan: str = Field(
        default='', description='Settings file of sysid excite; empty: that of excitation_node')
    settings: str = Field(
        default='', description='Settings file of sysid fit; empty: that of identification_node')
    data_folder: str = Field(
        default='', description='Folder of the recordings; empty: that of identification_node')
    patience: float = Field(
        default=60.0, gt=0.0, description='Longest wait for the nodes and their answers [s]')
