"""Joints that nothing drives: their efforts are known without being measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.recording.recording import Channel, Recording


def with_unpowered(recording: Recording, joints: Sequence[str]) -> Recording:
    """A recording in which nothing drives some joints: their effort is zero.

    What was recorded as their effort is a sensor's noise, or a command that nobody obeyed.

    Args:
        recording: What was recorded.
        joints: Joints that nothing drives, each with positions.

    Returns:
        The recording, with an effort of zero at every position of these joints.

    Raises:
        RecordingError: A joint has no positions.
    """
    if not joints:
        return recording
    channels = [
        left for channel in recording.channels
        if (left := _without(channel, joints) if channel.quantity == 'effort' else channel)]
    missing = [name for name in joints if recording.channel_of('position', name) is None]
    if missing:
        raise RecordingError(
            f'no position was recorded for {", ".join(missing)}, which nothing drives',
            where=recording.source, found=', '.join(recording.joint_names),
            fix='Correct the names in unpowered')
    for position in recording.channels_of('position'):
        names = tuple(name for name in position.names if name in joints)
        if names:
            unit = {'rad': 'N·m', 'm': 'N'}.get(position.unit, 'N·m or N')
            channels.append(Channel(
                'effort', names, unit, position.t, np.zeros((len(position.t), len(names)))))
    return replace(
        recording, channels=tuple(channels), warnings=(*recording.warnings, *_unused(
            recording, joints)))


def _without(channel: Channel, joints: Sequence[str]) -> Channel | None:
    """The columns of other joints, if there are any."""
    kept = [k for k, name in enumerate(channel.names) if name not in joints]
    if not kept:
        return None
    return replace(
        channel, names=tuple(channel.names[k] for k in kept), values=channel.values[:, kept])


def _unused(recording: Recording, joints: Sequence[str]) -> tuple[str, ...]:
    """A sentence where efforts were recorded, and are not zero."""
    found = []
    for name in joints:
        channel = recording.channel_of('effort', name)
        if channel is not None and np.nan_to_num(channel.column(name)).any():
            found.append(name)
    return (
        f'recorded efforts of {", ".join(found)} are not used: the settings say that nothing '
        'drives them',) if found else ()
