"""Goals of the excitation node: what they ask for, made ready to be played, and how they end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_ros.action import Excite
from sysid_ros.data_folder import DataFolder
from sysid_ros.errors import ConfigurationError, ExcitationError, did_you_mean
from sysid_ros.excitation.design.design import Designer
from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.files import load_excitation, parse_excitation
from sysid_ros.excitation.playback.outcome import MotionRefused
from sysid_ros.excitation.playback.preparation import (
    PreparedMotion,
    blend,
    prepare,
    sampled_path,
    stopping_time,
    way_in,
)
from sysid_ros.msg import ResultCode
from sysid_ros.nodes.refusal import RefusedError, code_of

# Points of a motion that is sent as a whole: in its shortest period, and per second at least.
# Controllers put quintic polynomials through them.
_PER_PERIOD, _PER_SECOND = 20.0, 20.0


@dataclass(frozen=True, eq=False)
class Prepared:
    """What the worker has made of a goal."""

    motion: PreparedMotion
    way: PreparedMotion | None
    path: Motion


def goal_name(request: Any) -> str:
    """What a goal is called."""
    return request.motion or 'inline'


def prepare_goal(
    request: Any, folder: DataFolder, designer: Designer, q: np.ndarray, reaction_time: float,
    show: Callable[[Motion], None],
) -> Prepared:
    """Read, verify and sample a motion. It takes time, and runs beside the executor.

    Args:
        request: The goal.
        folder: Where motions are.
        designer: Robot, limits and obstacles.
        q: Where the command begins in [rad] or [m], shape ``(n,)``.
        reaction_time: Time from a finding until the robot brakes in [s].
        show: Called with the whole way, before it is played.

    Raises:
        SysidError: There is no such motion, or it must not be played.
    """
    motion, name = request.motion, goal_name(request)
    if motion:
        path = folder.motion(motion)
        if not path.is_file():
            known = sorted(file.stem for file in path.parent.glob('*.yaml'))
            raise RefusedError(ResultCode.UNKNOWN_ID, ConfigurationError(
                'there is no such motion', found=motion, allowed=', '.join(known) or 'none',
                fix=did_you_mean(motion, known)
                or f'Write it to {path.parent} by sysid excite, or send it as motion_yaml'))
        excitation = load_excitation(path)
    else:
        excitation = parse_excitation(request.motion_yaml, name)
    excitation = excitation.at_speed(excitation.speed * request.speed_scale)
    prepared = prepare(designer, name, excitation, reaction_time=reaction_time)
    way = way_in(designer, prepared, q)
    rate = max(_PER_PERIOD * excitation.basis.highest_frequency * excitation.speed, _PER_SECOND)
    sampled = sampled_path(prepared, way, rate)
    show(sampled)
    return Prepared(prepared, way, sampled)


def warm_up(designer: Designer) -> None:
    """Have compiled what verifying a motion needs, so that it does not hold up the executor."""
    limits = designer.limits
    still = blend(limits, limits.centre, limits.centre)
    designer.verify(designer.dense(still))
    stopping_time(designer, still)


def require_one_motion(request: Any) -> None:
    """Refuse a goal that names no motion, or two, or a speed that was not verified.

    Raises:
        ConfigurationError: It does.
    """
    if bool(request.motion) == bool(request.motion_yaml):
        raise ConfigurationError(
            'a goal is one motion', where='motion, motion_yaml',
            found='both' if request.motion else 'neither', allowed='one of them',
            fix='Name a motion of the folder, as motion: first, or send its file as motion_yaml',
        )
    if not 0.0 < request.speed_scale <= 1.0:
        raise ConfigurationError(
            'cannot be played at this speed', where='speed_scale', found=request.speed_scale,
            allowed='above 0, at most 1', fix='Send speed_scale: 1.0, or 0.2 the first time',
        )


def refusal_code(error: BaseException) -> str:
    """The code of ``ResultCode`` for what keeps a motion from starting."""
    if isinstance(error, MotionRefused):
        return error.outcome.value
    return ResultCode.NOT_SAFE if isinstance(error, ExcitationError) else code_of(error)


def conclude(goal: Any, result: Excite.Result) -> None:
    """End a goal; rclpy takes its result from a callback."""
    def end(handle: Any) -> Any:
        if result.success:
            handle.succeed()
        elif result.code == ResultCode.CANCELLED and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return result

    goal.execute(end)
