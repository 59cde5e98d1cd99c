"""Before a motion is played: is it allowed, how soon can it be stopped, how does one get there.

All of it takes time and touches nothing but its arguments, so that it can be done beside a
running control loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.errors import ExcitationError
from sysid_ros.excitation.design.basis import QuinticBasis
from sysid_ros.excitation.design.design import Designer
from sysid_ros.excitation.excitation import Excitation, Motion
from sysid_ros.excitation.safety.limit_monitor import braking_range
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.excitation.safety.verification import predicted_torque

# A robot this near to the start, in parts of its reach, is there.
_NEAR = 1e-5
# Part of the limits of velocity and acceleration that blending in may use.
_GENTLE = 0.2
# Peaks of a quintic step over one second: velocity, acceleration, jerk.
_PEAKS = (1.875, 5.7735026918962576, 60.0)
# Stops are tried at so many instants of the shortest period, and of the whole at least, each on
# so many samples, until their time is this exact.
_PER_PERIOD, _INSTANTS, _SAMPLES, _HALVINGS = 20, 60, 31, 8
# What a stop may use of the limits of acceleration and torque, between the samples too, and of
# jerk: stopping is no part of the plan, and soon is better than smooth.
_USABLE, _JERK = 0.99, 3.0
# The longest stop in times from full speed to rest at full deceleration, and in [s].
_LONGEST_STOP, _LEAST_LONGEST = 4.0, 1.0
_SHORTEST_BLEND = 0.5
# Instants per second at which closed loops are stopped to see where that ends.
_STOPS = 50.0


@dataclass(frozen=True, eq=False)
class PreparedMotion:
    """A motion that may be played.

    Attributes:
        run: A name for it, for messages.
        motion: The motion.
        stopping_time: Time in which it can be stopped along its path, wherever it is, in [s].
    """

    run: str
    motion: Excitation
    stopping_time: float

    @property
    def first(self) -> np.ndarray:
        """Where it begins in [rad] or [m], shape ``(n,)``."""
        return self.motion.sample(np.zeros(1)).q[0]


def prepare(
    designer: Designer, run: str, motion: Excitation, *, reaction_time: float = 0.0
) -> PreparedMotion:
    """Verify a motion and every stop on its way.

    Args:
        designer: Robot, limits and obstacles.
        run: A name for it, for messages.
        motion: The motion.
        reaction_time: Time from a finding until the robot brakes in [s].

    Raises:
        ExcitationError: It is one of another robot, it must not be played, it cannot be stopped
            soon enough, or not before a limit.
    """
    limits = designer.limits
    if motion.joint_names != limits.joint_names:
        raise ExcitationError(
            'the motion is one of another robot', where=run,
            found=', '.join(motion.joint_names), allowed=', '.join(limits.joint_names),
            fix='Plan one for this robot: sysid excite, with its settings file',
        )
    dense = designer.dense(motion)
    designer.verify(dense).require()
    low, high = braking_range(limits, dense.v, dense.a, reaction_time)
    room = np.minimum(dense.q + low - limits.lower, limits.upper - dense.q - high)
    if not (room >= 0.0).all():
        sample, joint = np.unravel_index(room.argmin(), room.shape)
        raise ExcitationError(
            'a joint could not be braked within its range', where=f'{run}: '
            f'{limits.joint_names[joint]} at {dense.t[sample]:.3g} s',
            found=f'{-room[sample, joint]:.3g} too far',
            fix='Plan it with a larger margin, or play it slower',
        )
    require_stoppable_loops(designer, run, dense, reaction_time)
    return PreparedMotion(run, motion, stopping_time(designer, motion))


def require_stoppable_loops(
    designer: Designer, run: str, dense: Motion, reaction_time: float
) -> None:
    """Refuse a motion on which closed loops could not be stopped, wherever that is asked for.

    Args:
        designer: Robot and limits.
        run: A name for it, for messages.
        dense: The motion, densely and evenly sampled.
        reaction_time: Time from a finding until the motors brake in [s].

    Raises:
        ExcitationError: A passive joint would go beyond its limit, or the loops come too near to
            a dead point.
    """
    guard = designer.loop_guard()
    if guard is None:
        return
    step = max(round(1.0 / (_STOPS * float(np.diff(dense.t).mean()))), 1)
    for k in range(0, len(dense.t), step):
        found = guard.findings(
            dense.q[k], dense.v[k], dense.a[k], reaction_time=reaction_time, over=0.0)
        if found:
            raise ExcitationError(
                'closed loops could not be stopped in time', where=f'{run}: at {dense.t[k]:.3g} s',
                found=' '.join(found),
                fix='Plan it with a larger margin or singularity_margin, or play it slower',
            )


def way_in(designer: Designer, prepared: PreparedMotion, q: np.ndarray) -> PreparedMotion | None:
    """A slow, straight way in joint space to where a motion begins, verified like any motion.

    Args:
        designer: Robot, limits and obstacles.
        prepared: The motion.
        q: Where the robot is in [rad] or [m], shape ``(n,)``.

    Returns:
        The way; None where the robot is there already.

    Raises:
        ExcitationError: A position is not finite, or the way is not free.
    """
    limits, first = designer.limits, prepared.first
    if not np.isfinite(q).all():
        raise ExcitationError(
            'the position of the robot is not known', found=q.tolist(), fix='Check its joint states'
        )
    if (np.abs(q - first) <= _NEAR * limits.reach).all():
        return None
    way = blend(limits, q, first)
    # A stop may have ended in the margin; it has to be left.
    found = designer.verify(designer.dense(way), resting=q)
    if not found.allowed:
        raise ExcitationError(
            'the way to the beginning of the motion is not free',
            found=' '.join(found.findings),
            fix='Bring the robot near to the beginning by other means',
        )
    return PreparedMotion(prepared.run, way, stopping_time(designer, way))


def sampled_path(prepared: PreparedMotion, way: PreparedMotion | None, rate: float) -> Motion:
    """The way in and the motion as one, at no less than ``rate`` in [Hz]."""
    motion = prepared.motion.grid(rate)
    if way is None:
        return motion
    first = way.motion.grid(rate)
    return Motion(
        np.concatenate([first.t, way.motion.duration + motion.t[1:]]),
        *(np.concatenate([getattr(first, name), getattr(motion, name)[1:]])
          for name in ('q', 'v', 'a', 'jerk')),
    )


def blend(limits: MotionLimits, start: np.ndarray, goal: np.ndarray) -> Excitation:
    """A gentle motion from rest to rest, straight in joint space.

    Args:
        limits: Limits of the joints.
        start: Where it begins in [rad] or [m], shape ``(n,)``.
        goal: Where it ends, shape ``(n,)``.

    Returns:
        A quintic step that uses at most a fifth of the limits.
    """
    way = np.abs(goal - start)
    bounds = (limits.velocity, limits.acceleration, limits.jerk)
    times = [
        (peak * way / (_GENTLE * bound)) ** (1.0 / order)
        for order, (peak, bound) in enumerate(zip(_PEAKS, bounds, strict=True), start=1)
    ]
    duration = max(float(np.max(times)), _SHORTEST_BLEND)
    return Excitation(limits.joint_names, QuinticBasis(duration, 2), np.array([start, goal]))


def slowed(elapsed: float | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Time along the path while it slows to a stop over one second.

    Args:
        elapsed: Time since the stop began, from 0 to 1.

    Returns:
        Advance, its rate from 1 to 0, and the slope of the rate, which is zero at both ends.
    """
    x = np.asarray(elapsed, dtype=float)
    return (
        x - x**4 * (2.5 - 3.0 * x + x**2),
        1.0 - x**3 * (10.0 - 15.0 * x + 6.0 * x**2),
        -30.0 * x**2 * (1.0 - x) ** 2,
    )


def stopping_time(designer: Designer, motion: Excitation) -> float:
    """Shortest time in which a motion can be stopped anywhere.

    Args:
        designer: The robot and its limits. A stop may use the margins of the plan, and jerks
            of up to three times their limit.
        motion: The motion, itself within the limits.

    Returns:
        The time in [s].

    Raises:
        ExcitationError: Even four times the time from full speed to rest is too short.
    """
    basis, limits = motion.basis, designer.limits
    count = int(np.ceil(_PER_PERIOD * basis.duration * basis.highest_frequency))
    begin = np.linspace(0.0, motion.duration, max(count, _INSTANTS))[:, None]
    high = max(
        _LEAST_LONGEST, _LONGEST_STOP * float(np.max(limits.velocity / limits.acceleration)))
    if not _stops_within(designer, motion, begin, high):
        raise ExcitationError(
            'the motion cannot be stopped soon enough', found=f'more than {high:.3g} s',
            fix='Plan it with a larger margin of acceleration and torque, or play it slower',
        )
    low = 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        stops = _stops_within(designer, motion, begin, middle)
        low, high = (low, middle) if stops else (middle, high)
    return high


def _stops_within(
    designer: Designer, motion: Excitation, begin: np.ndarray, time: float
) -> bool:
    """Whether stops of a duration in [s] that begin at instants ``(k, 1)`` keep the limits."""
    limits, x = designer.limits, np.linspace(0.0, 1.0, _SAMPLES)
    advance, rate, slope = slowed(x)
    second_slope = -60.0 * x * (1.0 - x) * (1.0 - 2.0 * x)
    s = np.minimum(begin + time * advance, motion.duration).ravel()
    rate, slope, second_slope = (
        np.tile(y, len(begin))[:, None] for y in (rate, slope / time, second_slope / time**2)
    )
    sample = motion.sample(s)
    v, a = rate * sample.v, rate**2 * sample.a + slope * sample.v
    jerk = rate**3 * sample.jerk + 3.0 * rate * slope * sample.a + second_slope * sample.v
    torque = predicted_torque(designer.model, replace(sample, v=v, a=a))
    return bool(
        (np.abs(a) <= _USABLE * limits.acceleration).all()
        and (np.abs(torque) <= _USABLE * limits.effort).all()
        and (np.abs(jerk) <= _JERK * limits.jerk).all()
    )
