"""Joints that are held fixed: by name, by pattern, or all that were not recorded."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pinocchio as pin

from sysid_ros.errors import ModelError, did_you_mean
from sysid_ros.robot.description.described import DescribedRobot

#: Joints to lock: positions in [rad] or [m] by name or pattern (``gripper_*``), patterns alone, or
#: ``'rest'`` for all but those that move in the recording. Without a position, a joint is locked
#: at zero, or at the limit next to it where zero lies outside its range.
Locks = Mapping[str, float | None] | Sequence[str] | Literal['rest']


def locked_positions(
    described: DescribedRobot, locks: Locks | None, moving: Sequence[str] | None = None
) -> dict[str, float]:
    """Positions of the joints to lock, and of those that the description itself holds.

    Args:
        described: The robot.
        locks: What to lock.
        moving: Joints that stay free where ``locks`` is ``'rest'``.

    Returns:
        Positions in [rad] or [m] by joint. A pattern or ``'rest'`` leaves out joints that follow
        others: they are held by the joint they follow.

    Raises:
        ModelError: No moving joint has the name or matches the pattern, a position is not finite
            or not the one that the description holds, or it is not known which joints move.
    """
    names = tuple(described.model.names)[1:]
    locked = dict(described.held)
    for pattern, given in _pairs(described, locks, moving):
        known = (pattern,) if pattern in names else tuple(
            name for name in fnmatch.filter(names, pattern) if name not in described.mimics)
        if not known:
            raise ModelError(
                'there is no such moving joint to lock', where='locked_joints',
                found=repr(pattern), allowed=', '.join(names), fix=did_you_mean(pattern, names),
            )
        for name in known:
            position = _position(described, name, given)
            if name in described.held and position != described.held[name]:
                raise ModelError(
                    'the description holds the joint elsewhere', where=f'locked_joints.{name}',
                    found=position, allowed=described.held[name], fix=f'Leave {name!r} out',
                )
            locked[name] = position
    return locked


def _pairs(
    described: DescribedRobot, locks: Locks | None, moving: Sequence[str] | None
) -> list[tuple[str, float | None]]:
    """Names or patterns with their positions, those of a name after those of patterns."""
    if locks == 'rest':
        return [(name, None) for name in _rest(described, moving)]
    if isinstance(locks, Mapping):
        names = set(described.model.names)
        return sorted(locks.items(), key=lambda pair: pair[0] in names)
    return [(str(pattern), None) for pattern in locks or ()]


def _rest(described: DescribedRobot, moving: Sequence[str] | None) -> list[str]:
    """Joints that neither move in the recording nor follow one that does."""
    if not moving:
        raise ModelError(
            'it is not said which joints move', where='locked_joints', found='rest',
            allowed='names, patterns, or rest beside recording: joints:',
            fix=f'Name the joints to lock, as locked_joints: [{tuple(described.model.names)[-1]}]',
        )
    if described.closures:
        raise ModelError(
            'joints of closed loops move without being recorded', where='locked_joints',
            found='rest', allowed='names or patterns', fix='Name the joints to lock',
        )
    sources = {
        described.mimics[name].source if name in described.mimics else name for name in moving}
    return [
        name for name in tuple(described.model.names)[1:]
        if name not in sources and name not in described.mimics and name not in described.held
    ]


def _position(described: DescribedRobot, name: str, given: float | None) -> float:
    joint = described.joints[name]
    if given is None:
        lower, upper = sorted((joint.lower, joint.upper))
        return described.held.get(name, float(np.clip(0.0, lower, upper)))
    if not np.isfinite(given):
        raise ModelError(
            'the locked position is not finite', where=f'locked_joints.{name}', found=given,
            fix=f'Write robot: {{locked_joints: {{{name}: 0.0}}}}')
    return float(given)


def reduced(model: pin.Model, held: Mapping[str, float]) -> pin.Model:
    """The model with some joints fixed at their positions in [rad] or [m].

    Raises:
        ModelError: No joint is left.
    """
    if len(held) == model.njoints - 1:
        raise ModelError(
            'no joint is left to move', where=model.name,
            fix='Lock fewer joints, or use a description with moving joints',
        )
    if not held:
        return pin.Model(model)
    reference = pin.neutral(model)
    for name, position in held.items():
        reference[model.joints[model.getJointId(name)].idx_q] = position
    # Pinocchio looks joints up among all frames, where a link may have the same name.
    numbered, names = pin.Model(model), [frame.name for frame in model.frames]
    for k, frame in enumerate(numbered.frames):
        if frame.type == pin.FrameType.BODY:
            frame.name = f'link {k}'
    left = pin.buildReducedModel(
        numbered, [numbered.getJointId(name) for name in held], reference)
    for frame in left.frames:
        if frame.type == pin.FrameType.BODY:
            frame.name = names[int(frame.name.removeprefix('link '))]
    return left
