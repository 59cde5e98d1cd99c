"""Whether joint states that are coming in are worth recording."""

from __future__ import annotations

import math
from collections.abc import Collection

from sysid_ros.errors import RecordingError, SysidError
from sysid_ros.recording.live.joint_states import LiveJointStates
from sysid_ros.recording.processing.settings import Processing

# Joint states that have not come for so long have stopped, in [s].
_STALE = 0.5


def require_recordable(
    live: LiveJointStates, topic: str, now: float, *, processing: Processing | None = None,
    effort: bool = True, unmeasured: Collection[str] = (),
) -> None:
    """Refuse to record joint states that no fit could use.

    Args:
        live: What has come in so far.
        topic: Where, for messages.
        now: Time on the steady clock in [s].
        processing: How the recording will be filtered, which needs a rate.
        effort: Whether efforts are expected on this topic.
        unmeasured: Joints whose efforts no fit needs: of an actuator, or that nothing drives.

    Raises:
        RecordingError: What is missing or wrong, and what to do about it.
    """
    if live.zero_stamps:
        raise RecordingError(
            'messages have a zero stamp', where=topic, allowed='the time of measurement',
            fix='Stamp the joint states at their source, or set recording.stamps: receive '
            'in the settings to use the less exact times of reception',
        )
    if live.missing == live.joints:
        raise RecordingError(
            'nothing was heard of any joint', where=topic,
            found=', '.join(live.unknown) or 'no joint state', allowed=', '.join(live.joints),
            fix='Start the robot, or correct the topic or recording.rename',
        )
    if live.missing:
        raise RecordingError(
            f'nothing was heard of {", ".join(live.missing)}', where=topic,
            found=', '.join(name for name in live.joints if name not in live.missing),
            allowed=', '.join(live.joints),
            fix='Publish their joint states, or lock them in the robot settings',
        )
    _require_fresh(live, topic, now)
    silent = [name for name in live.without_effort if name not in unmeasured]
    if effort and silent:
        raise RecordingError(
            f'no effort is given for {", ".join(silent)}: without it there is no torque fit',
            where=topic,
            fix='Have the effort interfaces broadcast, or name the topic that carries them in '
            'the parameter effort_topic; of a robot without torque sensors say what its commands '
            f'do, robot: {{actuators: {{{silent[0]}: {{kind: position_servo, kp: …}}}}}}',
        )
    if processing is not None:
        _require_rate(live, topic, processing)


def _require_fresh(live: LiveJointStates, topic: str, now: float) -> None:
    age = live.age(now)
    if age > _STALE:
        raise RecordingError(
            'joint states have stopped', where=topic, found=f'the last one {age:.3g} s ago',
            allowed=f'{_STALE:g} s', fix='See whether the robot and its driver run',
        )
    limit = live.settings.clock_limit
    if live.clock_distance > limit:
        raise RecordingError(
            'stamps are far from the clock', where=topic, found=f'{live.clock_distance:.3g} s',
            allowed=f'{limit:g} s (recording.clock_limit)',
            fix='Synchronise the clocks; with simulated time, set use_sim_time here too',
        )


def _require_rate(live: LiveJointStates, topic: str, processing: Processing) -> None:
    rate = live.rate
    if math.isnan(rate):
        raise RecordingError(
            'too few joint states were heard to tell their rate', where=topic, fix='Wait a moment')
    try:
        # Every filter refuses a rate that it cannot work at.
        processing.overlap(rate)
        processing.parallel_filter.factor(rate)
    except SysidError as error:
        raise RecordingError(
            f'joint states come too seldom for the filters of the settings: {error}', where=topic,
            found=f'{rate:.4g} Hz', fix='Publish them faster, or lower the cut-off frequencies',
        ) from error
