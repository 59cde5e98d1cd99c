"""Formats that drives are handed over in, by the names of settings and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sysid_ros.release.drive_table import DriveTable
from sysid_ros.release.isaac_lab import isaac_lab_yaml
from sysid_ros.release.mjcf_model import mjcf_model
from sysid_ros.release.ros2_control import ros2_control_yaml
from sysid_ros.release.sdf import sdf_model
from sysid_ros.release.usd import usd_physics

#: What writes each format.
DRIVE_FORMATS: Mapping[str, Callable[[DriveTable], str]] = MappingProxyType({
    'isaac_lab': isaac_lab_yaml, 'mjcf': mjcf_model, 'ros2_control': ros2_control_yaml,
    'sdf': sdf_model, 'usd': usd_physics})
