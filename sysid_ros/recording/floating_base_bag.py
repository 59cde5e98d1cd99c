"""Robots whose base moves, from one bag: an IMU on the base, and force-torque sensors on links."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.mechanics.tree.base_motion import BaseMotion
from sysid_ros.recording.bag.sensor_messages import IMU, WRENCH, SensorTrack, read_sensor
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.floating_base import MeasuredWrench, floating_base_dataset
from sysid_ros.recording.processing.differentiation import SavitzkyGolay, Spline
from sysid_ros.robot.model import RobotModel

# Longest time between samples of a sensor that is bridged, in [s].
_MAX_GAP = 0.05


def floating_base_dataset_of_bag(
    robot: RobotModel, joints: Dataset, start: float, bag: str | Path, *,
    imu: str, imu_pose: np.ndarray | None = None, wrenches: Mapping[str, str] | None = None,
    all_measured: bool, smoothing: SavitzkyGolay | Spline | None = None,
    max_gap: float = _MAX_GAP,
) -> Dataset:
    """A dataset of a robot with a floating base, from sensors recorded beside its joints.

    Args:
        robot: What :func:`~sysid_ros.robot.floating_base.with_floating_base` gave.
        joints: Motion and torques of the other joints, aligned from the same bag.
        start: Time at which its time is zero, in [s] since 1970: ``start`` of the recording.
        bag: Folder of the bag, or its only file.
        imu: Topic of ``sensor_msgs/Imu`` of the IMU on the base.
        imu_pose: Its pose in the base frame, shape ``(4, 4)``; by default that of the base.
        wrenches: Topics of ``geometry_msgs/WrenchStamped`` by the links they act on, in the frames
            of these links; an external wrench as the link gets it.
        all_measured: Whether these are all wrenches from outside; see
            :func:`~sysid_ros.recording.floating_base.floating_base_dataset`.
        smoothing: How angular velocities are smoothed and differentiated; local polynomials by
            default.
        max_gap: Longest time between samples of a sensor that is bridged, in [s].

    Raises:
        RecordingError: A topic is not in the bag, a sensor was silent, or the data does not belong
            to this robot.
        ParameterError: The pose cannot be used.
    """
    times = start + joints.t
    base = _base_motion(
        _read(bag, imu, IMU), joints, times, np.eye(4) if imu_pose is None else imu_pose,
        smoothing or SavitzkyGolay(), max_gap)
    measured = [
        MeasuredWrench(link, *_read(bag, topic, WRENCH).at(times, max_gap))
        for link, topic in (wrenches or {}).items()]
    return floating_base_dataset(
        robot, joints, base, wrenches=measured, all_measured=all_measured)


def _read(bag: str | Path, topic: str, kind: str) -> SensorTrack:
    track = read_sensor(bag, topic)
    if track.kind != kind:
        raise RecordingError(
            f'the topic {topic} is of the wrong type', where=str(bag), found=track.kind,
            allowed=kind, fix='Name the topic of the other sensor')
    return track


def _base_motion(
    track: SensorTrack, joints: Dataset, times: np.ndarray, pose: np.ndarray,
    smoothing: SavitzkyGolay | Spline, max_gap: float,
) -> BaseMotion:
    """Motion of the base at the samples of the joints, segment by segment."""
    turning, felt = track.at(times, max_gap)
    smooth, slope = np.empty_like(turning), np.empty_like(turning)
    for first, last in joints.segments:
        smooth[first:last], slope[first:last], _ = smoothing.motion(
            turning[first:last], joints.rate)
    return BaseMotion.from_imu(smooth, slope, felt, pose)
