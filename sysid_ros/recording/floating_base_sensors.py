"""Motion of a floating base, and wrenches on links, from the sensors of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from sysid_ros.errors import ConfigurationError, ModelError, RecordingError, listed
from sysid_ros.mechanics.tree.base_motion import BaseMotion
from sysid_ros.recording.checks.base_units import require_right_units
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.description import Contacts
from sysid_ros.recording.floating_base import (
    MeasuredWrench,
    floating_base_dataset,
    with_wrenches,
)
from sysid_ros.recording.link_sensors import WRENCH_KINDS, LinkSensorChannel
from sysid_ros.recording.processing.align import smoothed_with_slope
from sysid_ros.recording.processing.grid import mean_period, torque_on_clock
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.recording import Recording
from sysid_ros.robot.model import RobotModel


def with_sensors(
    robot: RobotModel, joints: Dataset, recording: Recording, processing: Processing,
    contacts: Contacts | None,
) -> Dataset:
    """A dataset with the motion of a floating base, and with measured wrenches on links.

    Args:
        robot: The robot; its base floats where it has base joints.
        joints: Motion and torques of the joints that have encoders.
        recording: What was recorded, with its sensors.
        processing: How positions are filtered and differentiated; angular velocities are, too.
        contacts: Which wrenches from outside were measured.

    Returns:
        The dataset of all joints of the robot. Samples at which a sensor was silent are masked.

    Raises:
        ConfigurationError: Sensors of the base are missing or there twice, or nothing says what
            pushes the robot.
        RecordingError: A sensor is on a link that is not there, or was silent all the time, or a
            floating base shows another unit or sign.
    """
    touching = [channel for channel in recording.sensors if channel.mounting.kind in WRENCH_KINDS]
    if not (robot.base_joints or touching):
        return joints
    clock = _Clock(joints, processing)
    wrenches = [_wrench(robot, channel, clock.values(channel)) for channel in touching]
    if not robot.base_joints:
        return clock.masked(with_wrenches(robot, joints, wrenches), touching)
    measured = _all_measured(contacts, touching)
    gyroscope = _on_base(robot, recording.sensors, 'gyroscope')
    accelerometer = _on_base(robot, recording.sensors, 'accelerometer')
    base = _base_motion(robot, gyroscope, accelerometer, clock)
    data = floating_base_dataset(robot, joints, base, wrenches=wrenches, all_measured=measured)
    try:
        require_right_units(
            robot, base, data, flies=contacts == 'none', carried=measured and bool(touching))
    except RecordingError as error:
        if processing.unit_check == 'refuse':
            raise
        data = replace(data, warnings=(*data.warnings, str(error)))
    return clock.masked(data, (gyroscope, accelerometer, *touching))


@dataclass(frozen=True, eq=False)
class _Clock:
    """The samples of a dataset, at which sensors are read.

    Attributes:
        joints: The dataset.
        processing: How its positions were filtered and differentiated.
    """

    joints: Dataset
    processing: Processing

    def values(self, channel: LinkSensorChannel) -> np.ndarray:
        """What a sensor measured, by straight lines from sample to sample, shape ``(T, 3)``."""
        return self._read(channel, self.joints.t)[0]

    def smoothed(self, channel: LinkSensorChannel) -> tuple[np.ndarray, np.ndarray]:
        """What a sensor measured, filtered as positions are, and its derivative, ``(T, 3)``."""
        rate = self.joints.rate
        # What is cut off the ends of positions is there of the sensor.
        edge = self.processing.edge(rate)
        parts = []
        for first, last in self.joints.segments:
            grid = self.joints.t[first] + np.arange(-edge, last - first + edge) / rate
            smooth, slope = smoothed_with_slope(
                self._read(channel, grid)[0], rate, self.processing)
            parts.append([values[edge:len(grid) - edge] for values in (smooth, slope)])
        smooth, slope = (np.concatenate(part) for part in zip(*parts, strict=True))
        return smooth, slope

    def masked(self, dataset: Dataset, channels: Sequence[LinkSensorChannel]) -> Dataset:
        """A dataset whose samples do not count where one of the sensors was silent.

        Raises:
            RecordingError: No sample is left.
        """
        known = np.ones(len(dataset), dtype=bool)
        for channel in channels:
            heard = self._read(channel, dataset.t)[1]
            if not heard.any():
                raise RecordingError(
                    'a sensor measured nothing while the joints did', where=dataset.source,
                    found=f'sensor {channel.name} from {channel.t[0]:.4g} s to '
                    f'{channel.t[-1]:.4g} s', allowed=f'samples from {dataset.t[0]:.4g} s to '
                    f'{dataset.t[-1]:.4g} s',
                    fix=f'See the stamps of recording: sensors: {channel.name}, and their unit')
            known &= heard
        if known.all():
            return dataset
        silent = float(np.mean(~known)) * dataset.duration
        warning = (
            f'a sensor on a link was silent for {silent:.3g} s together: these samples are left '
            'out')
        return replace(
            dataset, mask=dataset.mask & known[:, None], warnings=(*dataset.warnings, warning))

    def _read(self, channel: LinkSensorChannel, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Samples at times ``(S,)``, shape ``(S, 3)``, and where they are known."""
        longest = self.processing.max_gap * mean_period(channel.t)
        columns, known = zip(*(
            torque_on_clock(channel.t, column, t, self.joints.rate, longest)
            for column in channel.values.T), strict=True)
        return np.stack(columns, axis=1), np.all(known, axis=0)


def _base_motion(
    robot: RobotModel, gyroscope: LinkSensorChannel, accelerometer: LinkSensorChannel,
    clock: _Clock,
) -> BaseMotion:
    """Motion of the origin of the base frame by sensors that may sit anywhere on the base."""
    turn = _pose(robot, gyroscope)[:3, :3]
    omega, alpha = (values @ turn.T for values in clock.smoothed(gyroscope))
    pose = _pose(robot, accelerometer)
    # As the gyroscope would see it from where the accelerometer is.
    there = pose[:3, :3]
    return BaseMotion.from_imu(
        omega @ there, alpha @ there, clock.smoothed(accelerometer)[0], pose)


def _wrench(robot: RobotModel, channel: LinkSensorChannel, values: np.ndarray) -> MeasuredWrench:
    """What a force or moment at a sensor is in the frame of its link."""
    given = channel.mounting
    mounted = _mounted(channel)
    vector, zero = values @ mounted[:3, :3].T, np.zeros_like(values)
    if given.kind == 'moment':
        return MeasuredWrench(given.link, zero, vector)
    return MeasuredWrench(given.link, vector, np.cross(mounted[:3, 3], vector))


def _mounted(channel: LinkSensorChannel) -> np.ndarray:
    """Pose of a sensor in the frame of its link, shape ``(4, 4)``."""
    given = channel.mounting
    return np.asarray(pin.SE3(
        pin.rpy.rpyToMatrix(*given.rpy), np.array(given.origin, dtype=float)).homogeneous)


def _pose(robot: RobotModel, channel: LinkSensorChannel) -> np.ndarray:
    """Pose of a sensor on the base in the base frame, shape ``(4, 4)``."""
    return np.asarray(robot.place_of(channel.mounting.link)[1] @ _mounted(channel))


def _on_base(
    robot: RobotModel, sensors: Sequence[LinkSensorChannel], kind: str
) -> LinkSensorChannel:
    """The only sensor of a kind, which is on the base."""
    found = [channel for channel in sensors if channel.mounting.kind == kind]
    if len(found) != 1:
        raise ConfigurationError(
            f'a base that floats needs one {kind}', where='recording: sensors',
            found=listed(channel.name for channel in found) or 'none', allowed='one on the base',
            fix=f'Write recording: {{sensors: {{base_{kind}: {{kind: {kind}, link: '
            f'{robot.base_name}, …}}}}}}')
    channel, own = found[0], [link.name for link in robot.base_links]
    try:
        body, _ = robot.place_of(channel.mounting.link)
    except ModelError as error:
        raise ConfigurationError(
            error.problem, where=f'recording: sensors: {channel.name}', found=error.found,
            allowed=error.allowed, fix=error.fix) from error
    if body != len(robot.base_joints) - 1:
        raise ConfigurationError(
            f'the {kind} is not on the base, whose motion it has to show',
            where=f'recording: sensors: {channel.name}', found=channel.mounting.link,
            allowed=listed(own), fix=f'Name another sensor, or its link {robot.base_name}')
    return channel


def _all_measured(contacts: Contacts | None, touching: Sequence[LinkSensorChannel]) -> bool:
    """Whether all that pushes the robot was measured, or nothing does."""
    if contacts is None and not touching:
        raise ConfigurationError(
            'nothing says what pushes the robot, whose base floats', where='recording: contacts',
            found='no sensor of kind force', allowed='measured, unmeasured, none',
            fix='Add the sensors at its feet, recording: {sensors: {left_foot: {kind: force, link: '
            'left_foot, …}}}; or write recording: {contacts: unmeasured} for a robot that stands '
            'or hangs without them, contacts: none for one that flies')
    if contacts == 'measured' and not touching:
        raise ConfigurationError(
            'contacts were measured, by no sensor', where='recording: contacts', found='measured',
            allowed='unmeasured, none', fix='Add sensors of kind force to recording: sensors')
    if contacts == 'none' and touching:
        raise ConfigurationError(
            'nothing touches the robot, and sensors measure what does',
            where='recording: contacts', found=listed(channel.name for channel in touching),
            allowed='measured, unmeasured', fix='Take contacts out')
    return contacts != 'unmeasured'
