"""Parameters that every node has."""

from __future__ import annotations

from pydantic import Field

from sysid_ros.settings import StrictSettings


class NodeSettings(StrictSettings):
    """Parameters of every node of this package; each adds its own.

    Attributes:
        autostart: Whether it configures and activates itself.
    """

    autostart: bool = Field(
        default=True, description='Configure and activate at once; false: a lifecycle manager does')
