"""How good a recording is, in numbers and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sysid_ros.recording.checks.effort_finding import EffortFinding, EffortKind
from sysid_ros.recording.checks.effort_statements import effort_statements
from sysid_ros.recording.checks.faults import frozen_torque_runs
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.grid import mean_period
from sysid_ros.recording.processing.resolution import resolution, sample_noise
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.torque_delays import TorqueDelays
from sysid_ros.recording.recording import Recording
from sysid_ros.robot.model import RobotModel

# Steps longer than so many periods are gaps.
_GAP = 1.5
_DEFAULT = Processing()
#: What is too little: part of the range, part of the time, bits of an encoder, and noise of the
#: torque in parts of it. Encoders of 14 bits look coarser by a hundredth where files round them.
LEAST_RANGE, LEAST_MOVING, LEAST_BITS, LOUD = 0.1, 0.3, 13.9, 0.2


@dataclass(frozen=True)
class JointQuality:
    """Motion of one joint, and the quality of its signals.

    Attributes:
        name: Name of the joint.
        lowest: Smallest position in [rad] or [m].
        highest: Largest position in [rad] or [m].
        range_used: Part of the range between the limits that was used; None without limits.
        fastest: Largest speed in [rad/s] or [m/s].
        moving: Part of the samples in which the joint moves.
        usable: Part of the torque samples that is not masked.
        encoder_step: Resolution of the recorded position in [rad] or [m]; None when it is
            finer than can be seen.
        encoder_bits: The same as bits per turn, or per range of motion of a prismatic joint.
        torque_step: Resolution of the recorded effort in [N·m] or [N]; None as above.
        torque_noise: Noise of the effort from sample to sample, root mean square.
        torque_rms: Root mean square of the effort about its mean.
        torque_frozen: Part of the effort's samples in which it repeats itself as no resolution
            explains.
    """

    name: str
    lowest: float
    highest: float
    range_used: float | None
    fastest: float
    moving: float
    usable: float
    encoder_step: float | None
    encoder_bits: float | None
    torque_step: float | None
    torque_noise: float
    torque_rms: float
    torque_frozen: float


@dataclass(frozen=True)
class DataQuality:
    """Quality of a recording and of the data made from it.

    Attributes:
        source: Where the data came from.
        rate: Rate of the recorded positions in [Hz].
        jitter: Root mean square of the steps between stamps about the period, in periods.
        gaps: Steps of more than one and a half periods.
        longest_gap: The longest step in [s].
        duration: Time covered by the data in [s].
        segments: Stretches without a gap that the data consists of.
        joints: The joints, in order.
        counts: Faults found and mended, by name.
        delays: Delay of each torque in words, where it was estimated.
        efforts: What each effort looks like, where that is odd.
        warnings: What a reader of the result has to know, as sentences.
    """

    source: str
    rate: float
    jitter: float
    gaps: int
    longest_gap: float
    duration: float
    segments: int
    joints: tuple[JointQuality, ...]
    counts: Mapping[str, int]
    delays: tuple[str, ...]
    efforts: tuple[str, ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {'counts': dict(self.counts)}

    def text(self) -> str:
        """The summary as text of about a hundred columns."""
        lines = [
            'Data',
            f'  {self.duration:.4g} s in {self.segments} '
            f'segment{"" if self.segments == 1 else "s"}, recorded at {self.rate:.5g} Hz, '
            f'jitter {100 * self.jitter:.2g} % of the period, {self.gaps} gaps'
            + (f' (longest {self.longest_gap:.3g} s)' if self.gaps else ''),
            _TABLE.format(
                'joint', 'from', 'to', 'range %', 'speed', 'moving %', 'usable %', 'encoder',
                'torque', 'noise', 'step',
            ).rstrip(),
        ]
        lines += [_row(joint) for joint in self.joints]
        lines += [f'  {name}: {count}' for name, count in self.counts.items() if count]
        lines += [f'  {sentence}' for sentence in (*self.delays, *self.efforts)]
        lines += [f'  ! {warning}' for warning in self.warnings]
        return '\n'.join(lines)


_TABLE = '  {:16.16} {:>7} {:>7} {:>7} {:>6} {:>8} {:>8} {:>9} {:>7} {:>7} {:>6}'


def _row(joint: JointQuality) -> str:
    return _TABLE.format(
        joint.name, f'{joint.lowest:.2f}', f'{joint.highest:.2f}',
        '-' if joint.range_used is None else f'{100 * joint.range_used:.0f}',
        f'{joint.fastest:.2f}', f'{100 * joint.moving:.0f}', f'{100 * joint.usable:.1f}',
        'fine' if joint.encoder_bits is None else f'{joint.encoder_bits:.1f} bit',
        f'{joint.torque_rms:.3g}', f'{joint.torque_noise:.2g}',
        'fine' if joint.torque_step is None else f'{joint.torque_step:.2g}',
    ).rstrip()


def assess_quality(
    recording: Recording, dataset: Dataset, robot: RobotModel, *,
    processing: Processing = _DEFAULT, delays: TorqueDelays | None = None,
    efforts: tuple[EffortFinding, ...] = (),
) -> DataQuality:
    """Summarise what was recorded and what became of it.

    Args:
        recording: The channels as they came in.
        dataset: The data made from them.
        robot: The robot, for limits.
        processing: What counts as standing still, and how long values must be frozen.
        delays: Delays between torque and motion, if they were estimated.
        efforts: What the efforts look like, if that was looked at.
    """
    t = _stamps(recording, 'position', robot.limb_joints[0])
    steps = np.diff(t)
    period = mean_period(t)
    regular = steps[steps < _GAP * period]
    joints = tuple(
        _joint_quality(
            recording, dataset, robot, joint, processing.standstill_velocity,
            max(round(processing.frozen_after / period), 2))
        for joint in range(len(robot.base_joints), len(dataset.joint_names))
    )
    return DataQuality(
        source=dataset.source, rate=1 / period,
        jitter=float(np.sqrt(np.mean((regular / period - 1) ** 2))) if len(regular) else 0.0,
        gaps=int(np.sum(steps >= _GAP * period)), longest_gap=float(steps.max()),
        duration=dataset.duration, segments=len(dataset.segments), joints=joints,
        counts=dict(dataset.counts),
        delays=() if delays is None else delays.sentences(),
        # Whether a clock is wrong is settled by the verdict, which asks the rows themselves.
        efforts=tuple(
            one.sentence for one in effort_statements(efforts)
            if one.kind is not EffortKind.OTHER_CLOCK),
        warnings=(*dataset.warnings, *(text for joint in joints for text in _warnings(joint))),
    )


def _joint_quality(
    recording: Recording, dataset: Dataset, robot: RobotModel, joint: int, standstill: float,
    frozen_after: int,
) -> JointQuality:
    name = dataset.joint_names[joint]
    q, v = dataset.q[:, joint], dataset.v[:, joint]
    mask = dataset.mask[:, joint]
    room = float(robot.limits.upper[joint] - robot.limits.lower[joint])
    step = resolution(_samples(recording, 'position', name))
    whole = room if robot.joint_types[joint] == 'prismatic' else 2 * np.pi
    effort = _samples(recording, 'effort', name)
    used = dataset.tau[:, joint][mask]
    return JointQuality(
        name=name, lowest=float(q.min()), highest=float(q.max()),
        range_used=float(np.ptp(q)) / room if np.isfinite(room) and room > 0 else None,
        fastest=float(np.abs(v).max()), moving=float(np.mean(np.abs(v) > standstill)),
        usable=float(mask.mean()), encoder_step=step,
        encoder_bits=float(np.log2(whole / step)) if step and np.isfinite(whole) else None,
        torque_step=resolution(effort), torque_noise=sample_noise(effort),
        torque_rms=float(used.std()) if len(used) else 0.0,
        torque_frozen=_frozen_part(effort, frozen_after),
    )


def _frozen_part(values: np.ndarray, least: int) -> float:
    """Part of the samples in runs of frozen values."""
    runs = frozen_torque_runs(values, least)
    return sum(stop - start for start, stop in runs) / max(len(values), 1)


def _warnings(joint: JointQuality) -> list[str]:
    found = []
    if joint.range_used is not None and joint.range_used < LEAST_RANGE:
        found.append(
            f'joint {joint.name!r} used {100 * joint.range_used:.0f} % of its range only: '
            'parameters that depend on its angle will be vague'
        )
    if joint.moving < LEAST_MOVING:
        found.append(
            f'joint {joint.name!r} moves in {100 * joint.moving:.0f} % of the samples only: '
            'its friction will be vague'
        )
    if joint.encoder_bits is not None and joint.encoder_bits < LEAST_BITS:
        found.append(
            f'the position of joint {joint.name!r} has {joint.encoder_bits:.1f} bits: '
            'accelerations from fewer than 14 bias the parameters; record the motor side, or '
            'lower the cut-off frequencies'
        )
    if joint.torque_noise > LOUD * joint.torque_rms > 0:
        found.append(
            f'the torque of joint {joint.name!r} is noisy: {joint.torque_noise:.2g} of '
            f'{joint.torque_rms:.2g} root mean square'
        )
    return found


def _stamps(recording: Recording, quantity: str, joint: str) -> np.ndarray:
    channel = recording.channel_of(quantity, joint)
    return channel.t if channel is not None else np.zeros(0)


def _samples(recording: Recording, quantity: str, joint: str) -> np.ndarray:
    channel = recording.channel_of(quantity, joint)
    if channel is None:
        return np.zeros(0)
    values = channel.column(joint)
    return values[np.isfinite(values)]
