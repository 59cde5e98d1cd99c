"""From recordings to trajectory problems: nodes, what was measured, and torques at the nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field

from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.estimation.actuator_commands import held_commands
from sysid_ros.estimation.trajectory.link_observations import link_observations
from sysid_ros.estimation.trajectory.problem import Observation, Segment, TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder, Tachometer
from sysid_ros.estimation.trajectory.torques import at_nodes
from sysid_ros.mechanics.actuators.actuators import actuated
from sysid_ros.mechanics.actuators.command import HeldCommand
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.processing.glitches import without_glitches
from sysid_ros.recording.processing.grid import Interval, clock, intersect, mean_period
from sysid_ros.recording.processing.masks import without_wraps
from sysid_ros.recording.processing.resolution import resolution, sample_noise
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.track import Track
from sysid_ros.recording.processing.tracks import joint_track
from sysid_ros.recording.recording import Recording
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet
from sysid_ros.settings import StrictSettings

# A segment has at least so many steps, and a sample is at most so many steps long: more is a
# step in another unit.
_FEWEST, _FINEST = 4, 100.0
# Standard deviation of what rounding to steps of one adds.
_ROUNDED = 1.0 / np.sqrt(12.0)

_PerJoint = float | dict[str, float] | None


class NodeSettings(StrictSettings):
    """How a recording becomes a trajectory problem.

    Attributes:
        step: Time from node to node in [s].
        observed: Joints whose encoders count; all by default.
        velocities: Whether recorded velocities count as measured, which they should not where
            they are positions that were differentiated.
        unpowered: Joints that nothing drives: their torque is zero, recorded or not.
        position_noise: Standard deviation of the encoders' noise in [rad] or [m], one number or
            by joint; told from the samples where left out.
        velocity_noise: Standard deviation of the noise of velocities in [rad/s] or [m/s], one
            number or by joint.
    """

    step: float = Field(gt=0)
    observed: tuple[str, ...] | None = None
    velocities: bool = False
    unpowered: tuple[str, ...] = ()
    position_noise: _PerJoint = None
    velocity_noise: _PerJoint = None


def problem_from_recordings(
    model: TorqueModel, recordings: Sequence[Recording], settings: NodeSettings, *,
    processing: Processing | Sequence[Processing] | None = None,
    parameters: ParameterSet | None = None,
) -> TrajectoryProblem:
    """A trajectory problem of recorded encoders, sensors on links and efforts.

    Sensors keep their own stamps. Efforts are brought to the nodes by :func:`at_nodes`.
    Recordings are cut where a channel has a gap or the clock was reset.

    Args:
        model: Torque model of the robot, without jumps.
        recordings: Recordings of this robot.
        settings: Nodes and noise.
        processing: Of it count ``stamps``, ``trim``, ``max_gap`` and ``torque_delay``; nothing
            is filtered or differentiated, since states are sought with the parameters. One for
            all, or one for each recording.
        parameters: Free/fixed mask and priors; the model's by default.

    Raises:
        RecordingError: A joint was not recorded, no segment without a gap holds enough nodes,
            the step does not fit the samples, or a signal shows no noise.
        ModelError: A joint of the settings does not exist, or the torque of the model jumps.
        ConfigurationError: No joint is observed, or noise is not given for all of them.
        EstimationError: Too little was recorded for the parameters.
    """
    if processing is None or isinstance(processing, Processing):
        processing = [processing or Processing()] * len(recordings)
    warnings: list[str] = []
    segments: list[Segment] = []
    for recording, own in zip(recordings, processing, strict=True):
        segments += _segments(model, recording, settings, own, warnings)
    return TrajectoryProblem(
        model, model.parameters if parameters is None else parameters, tuple(segments),
        provenance={
            'source': ', '.join(recording.source for recording in recordings),
            'sha256': ', '.join(recording.sha256 for recording in recordings),
            'step': settings.step,
        },
        warnings=tuple(dict.fromkeys(warnings)),
    )


@dataclass(frozen=True, eq=False)
class _Measured:
    """Samples of a recording, with the noise of each track.

    Attributes:
        positions: Of the observed joints.
        velocities: Of the observed joints, none where they do not count.
        efforts: Of the joints that are driven.
        noise: Standard deviations, in the order of positions and velocities.
        commands: What actuators were told; None without actuators.
    """

    positions: list[Track]
    velocities: list[Track]
    efforts: list[Track]
    noise: list[float]
    commands: HeldCommand | None

    @property
    def kinds(self) -> tuple[tuple[type[Encoder], list[Track], list[float]], ...]:
        """Kinds of sensors, with their tracks and noise."""
        count = len(self.positions)
        return (
            (Encoder, self.positions, self.noise[:count]),
            (Tachometer, self.velocities, self.noise[count:]))


def _segments(
    model: TorqueModel, recording: Recording, settings: NodeSettings, processing: Processing,
    warnings: list[str],
) -> list[Segment]:
    warnings += recording.warnings
    robot = model.robot
    measured = _gather(model, recording, settings, processing, warnings)
    _check_step(settings.step, measured.positions, recording)
    tracks = [*measured.positions, *measured.velocities, *measured.efforts]
    begins = [track.t[0] for track in tracks]
    if measured.commands is not None:
        begins.append(float(measured.commands.t[0]))
    first = max(begins) + processing.trim[0]
    last = min(track.t[-1] for track in tracks) - processing.trim[1]
    intervals = [(first, last)] if first < last else []
    for track in tracks:
        intervals = intersect(intervals, track.intervals)
    return [
        _segment(robot, clock(interval, 1.0 / settings.step), measured, recording, processing)
        for interval in _long_enough(intervals, settings.step, recording, warnings)
    ]


def _gather(
    model: TorqueModel, recording: Recording, settings: NodeSettings, processing: Processing,
    warnings: list[str],
) -> _Measured:
    robot, drives = model.robot, actuated(model)
    observed = robot.joint_names if settings.observed is None else settings.observed
    commanded = () if drives is None else drives.actuators.names
    driven = [
        name for name in robot.joint_names if name not in (*settings.unpowered, *commanded)]
    _check_recorded(robot, recording, settings, observed, driven)
    unused = [name for name in settings.unpowered if recording.channel_of('effort', name)]
    if unused:
        warnings.append(f'recorded efforts of {", ".join(unused)} are not used: the settings say '
                        'that nothing drives them')
    endless = frozenset(
        name for name, kind in zip(robot.joint_names, robot.joint_types, strict=True)
        if kind == 'continuous')
    positions = [
        without_wraps(joint_track(recording, joint, 'position', processing), endless, warnings)
        for joint in observed]
    velocities = [
        joint_track(recording, joint, 'velocity', processing)
        for joint in (observed if settings.velocities else ())]
    efforts = [joint_track(recording, joint, 'effort', processing) for joint in driven]
    positions, velocities, efforts = without_glitches(positions, [velocities, efforts], warnings)
    delays = dict(zip(robot.joint_names, processing.delays(robot.joint_names), strict=True))
    efforts = [_moved_back(track, float(delays[track.joint])) for track in efforts]
    noise = [_noise(track, settings.position_noise, 'position_noise') for track in positions]
    noise += [_noise(track, settings.velocity_noise, 'velocity_noise') for track in velocities]
    commands = None if drives is None else held_commands(drives, recording)
    return _Measured(positions, velocities, efforts, noise, commands)


def _check_recorded(
    robot: RobotModel, recording: Recording, settings: NodeSettings, observed: Sequence[str],
    driven: Sequence[str],
) -> None:
    for joint in (*observed, *settings.unpowered):
        robot.joint_index(joint)
    _require(recording, observed, 'position', 'Record it, or name the others in observed')
    _require(recording, driven, 'effort', 'Record it, or name joints that nothing drives in '
             'unpowered')
    if settings.velocities:
        _require(recording, observed, 'velocity', 'Record it, or set velocities to false')


def _require(recording: Recording, joints: Sequence[str], quantity: str, fix: str) -> None:
    missing = [name for name in joints if recording.channel_of(quantity, name) is None]
    if missing:
        there = [name for channel in recording.channels_of(quantity) for name in channel.names]
        raise RecordingError(
            f'no {quantity} was recorded for {", ".join(missing)}', where=recording.source,
            found=', '.join(there) or f'no {quantity} at all', fix=fix)


def _moved_back(track: Track, delay: float) -> Track:
    intervals = [(start - delay, stop - delay) for start, stop in track.intervals]
    return replace(track, t=track.t - delay, intervals=intervals)


def _noise(track: Track, given: _PerJoint, where: str) -> float:
    """Standard deviation of one sample of a track."""
    if isinstance(given, Mapping):
        if track.joint not in given:
            raise ConfigurationError(
                f'there is no number for joint {track.joint!r}', where=where,
                found=', '.join(given) or 'none', fix='Give one for each observed joint')
        given = given[track.joint]
    if given is not None:
        if not given > 0.0:
            raise ConfigurationError(
                'noise is not above zero', where=where, found=given,
                fix='Leave it out to have it told from the samples')
        return float(given)
    level = max(sample_noise(track.values), _ROUNDED * (resolution(track.values) or 0.0))
    if level == 0.0:
        raise RecordingError(
            f'the {track.quantity} of joint {track.joint!r} never changes from sample to sample, '
            'so that its noise cannot be told', fix=f'Give {where}, or let the joint move')
    return level


def _check_step(step: float, positions: Sequence[Track], recording: Recording) -> None:
    if not positions:
        raise ConfigurationError(
            'no joint is observed', where='observed', allowed='at least one joint',
            fix='Leave observed: out, or name joints with encoders')
    period = min(mean_period(track.t) for track in positions)
    if step * _FINEST < period:
        raise RecordingError(
            'the nodes are far closer than the samples', where=recording.source,
            found=f'a step of {step:.4g} s', allowed=f'at least {period / _FINEST:.4g} s, a part '
            f'of the sampling period of {period:.4g} s', fix='Give the step in seconds')


def _long_enough(
    intervals: list[Interval], step: float, recording: Recording, warnings: list[str]
) -> list[Interval]:
    long = [(start, stop) for start, stop in intervals if stop - start >= _FEWEST * step]
    if not long:
        longest = max((stop - start for start, stop in intervals), default=0.0)
        raise RecordingError(
            'no stretch without a gap is long enough for the step', where=recording.source,
            found=f'{longest:.4g} s', allowed=f'at least {_FEWEST * step:.4g} s, {_FEWEST} steps '
            f'of {step:.4g} s', fix='Shorten the step, or record longer without gaps')
    if len(long) > 1:
        warnings.append(f'{recording.source} is cut into {len(long)} stretches by gaps or resets')
    lost = sum(stop - start for start, stop in intervals if (start, stop) not in long)
    if lost > 0.0:
        warnings.append(
            f'{len(intervals) - len(long)} stretches between gaps of {recording.source} are '
            f'shorter than {_FEWEST} steps and left out, {lost:.3g} s together')
    return long


def _segment(
    robot: RobotModel, nodes: np.ndarray, measured: _Measured, recording: Recording,
    processing: Processing,
) -> Segment:
    torque = np.zeros((len(nodes), len(robot.joint_names)))
    for track in measured.efforts:
        rows = _inside(track, nodes, beyond=1)
        torque[:, robot.joint_index(track.joint)] = at_nodes(
            nodes, track.t[rows], track.values[rows])
    observations = tuple(
        observation for kind, tracks, noise in measured.kinds
        for observation in _observations(kind, nodes, tracks, noise))
    start = _recorded_start(robot, nodes, measured.positions, recording, processing)
    return Segment(
        nodes, torque, observations + link_observations(nodes, recording), start,
        measured.commands)


def _inside(track: Track, nodes: np.ndarray, beyond: int = 0) -> slice:
    """Samples from the first node to the last, and some more on either side."""
    first, last = np.searchsorted(track.t, (nodes[0], np.nextafter(nodes[-1], np.inf)))
    return slice(max(int(first) - beyond, 0), int(last) + beyond)


def _observations(
    kind: type[Encoder], nodes: np.ndarray, tracks: list[Track], noise: list[float]
) -> list[Observation]:
    """One observation for all joints that have their stamps in common."""
    together: dict[bytes, list[int]] = {}
    for k, track in enumerate(tracks):
        together.setdefault(track.t[_inside(track, nodes)].tobytes(), []).append(k)
    return [
        Observation(
            kind.of([tracks[k].joint for k in group]),
            tracks[group[0]].t[_inside(tracks[group[0]], nodes)],
            np.column_stack([tracks[k].values[_inside(tracks[k], nodes)] for k in group]),
            np.array([noise[k] for k in group]))
        for group in together.values()
    ]


def _recorded_start(
    robot: RobotModel, nodes: np.ndarray, positions: Sequence[Track], recording: Recording,
    processing: Processing,
) -> np.ndarray | None:
    """Position and velocity at the first node, ``(2, n)``; None unless all joints have both."""
    names = robot.joint_names
    at = {track.joint: track for track in positions}
    if any(name not in at or recording.channel_of('velocity', name) is None for name in names):
        return None
    start = np.empty((2, len(names)))
    for joint, name in enumerate(names):
        for k, track in enumerate((at[name], joint_track(recording, name, 'velocity', processing))):
            if not track.t[0] <= nodes[0] <= track.t[-1]:
                return None
            start[k, joint] = np.interp(nodes[0], track.t, track.values)
    return start
