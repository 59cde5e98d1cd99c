"""What the effort of one joint looks like by itself, beside the torque of the prior."""

from __future__ import annotations

import numpy as np

from sysid_ros.recording.checks.effort_finding import EffortFinding, EffortKind
from sysid_ros.recording.checks.effort_reading import Reading
from sysid_ros.recording.checks.effort_scale import agree

# Scales tried, and those that are no reason for alarm: a wrong prior explains them.
_SCALES = np.geomspace(1e-3, 1e3, 61)
_PLAUSIBLE = (0.35, 3.0)

# Cost, in squared standard deviations, by which another reading has to fit better.
_DECISIVE = 20.0

# Correlation with the prior's prediction, without friction, from which its scale is believed.
_CORRELATED = 0.5
#: Correlation from which it may be called wrong.
TOLD = 0.85

#: Part of the torque that some reading has to explain, before any is believed.
EXPLAINED = 0.5

# Part of the torque that the prior as it is has to explain, so that no sensor is accused.
_BY_PRIOR = 0.75

# The slow part of an effort is missing where it is less than this of the fast part, each in parts
# of what the prior predicts; by so many standard deviations that the prior's own make, which are
# those of a prior that is likely wrong; and where the fast part correlates so much.
_MISSING, _SURE, _SEEN = 0.75, 1.3, 0.8

# A joint carries weight where that is this part of its torque.
_CARRIES = 0.3


def judge_effort(
    name: str, readings: list[Reading], ratio: float | None, moves: bool
) -> EffortFinding:
    """What an effort looks like, by the scale at which it has the most evidence.

    Args:
        name: The joint.
        readings: The effort beside the prior's torque with gravity, and without; empty where it is
            constant or too short.
        ratio: Motor turns per joint turn, as far as known.
        moves: Whether the joint does.
    """
    if not readings:
        return EffortFinding(name, EffortKind.UNKNOWN, 1.0, 0.0, 0.0)
    scales = np.concatenate([-_SCALES[::-1], _SCALES])
    costs = np.array([[reading.cost(float(scale)) for scale in scales] for reading in readings])
    # Friction opposes motion: it tells the sign even where the prior tells nothing.
    wrong = costs[:, scales > 0].min() - costs[:, scales < 0].min() > _DECISIVE
    sign = -1.0 if wrong else 1.0
    costs[:, sign * scales < 0] = np.inf
    which, at = divmod(int(np.argmin(costs)), len(scales))
    # Without a load of gravity both readings are one: the simple one holds.
    if which == 1 and costs[0].min() - costs[1, at] < _DECISIVE:
        which, at = 0, int(np.argmin(costs[0]))
    size = np.abs(scales)
    plausible = np.where((size >= _PLAUSIBLE[0]) & (size <= _PLAUSIBLE[1]), costs[0], np.inf)
    believed = sign * readings[which].correlation > _CORRELATED
    odd = plausible.min() - costs[which, at] > _DECISIVE
    if not (odd and believed):
        which, at = 0, int(np.argmin(plausible))
    scale = float(scales[at])
    explained, correlation = readings[which].predicted(scale)
    kind = _kind(scale, bool(which), ratio)
    if (odd and not believed and not wrong) or _contradicted(
            kind, scale, readings[which], readings[0], float(scales[int(np.argmin(plausible))])):
        kind = EffortKind.UNKNOWN
    # Nothing explains white noise: where there is much of it, less can be explained.
    elif explained < EXPLAINED * (1.0 - readings[0].noise_part):
        # A joint that stands still may feel nothing but noise.
        kind = EffortKind.UNRELATED if moves else EffortKind.UNKNOWN
    if kind.usable and _lacks_slow_part(readings[0]):
        kind = EffortKind.FILTERED
    return EffortFinding(name, kind, scale, explained, correlation)


def _lacks_slow_part(plain: Reading) -> bool:
    """Whether an effort follows the prior's fast torques, but not its slow ones."""
    slow, fast = plain.slow, plain.fast
    # Without weight, what is slow is friction's.
    if plain.weight < _CARRIES:
        return False
    if not (fast.correlation > _SEEN and fast.slope > 0.0):
        return False
    missing = 1.0 - slow.slope / fast.slope
    return missing > max(1.0 - _MISSING, _SURE * float(np.hypot(slow.doubt, fast.doubt)))


def _contradicted(
    kind: EffortKind, scale: float, read: Reading, plain: Reading, plausible: float
) -> bool:
    """Whether the prior speaks against an accusation: by itself, or with likely deviations.

    Args:
        kind: What the effort is taken for.
        scale: At which scale.
        read: How it is read then.
        plain: The effort with gravity.
        plausible: The best scale that is no reason for alarm.
    """
    if kind.usable:
        return False
    if plain.by_prior > _BY_PRIOR:
        return True
    if scale < 0.0:
        return plain.correlation > _CORRELATED
    # A wrong prior explains it as well.
    if plain.deviance(plausible) < read.deviance(scale) + _DECISIVE:
        return True
    if kind is not EffortKind.SCALED:
        return False
    return plain.correlation < TOLD or not agree(
        float(np.log(max(plain.slope, 1e-9))), float(np.log(scale)))


def _kind(scale: float, without_gravity: bool, ratio: float | None) -> EffortKind:
    if without_gravity:
        return EffortKind.GRAVITY_COMPENSATED
    if _PLAUSIBLE[0] <= abs(scale) <= _PLAUSIBLE[1]:
        return EffortKind.JOINT_TORQUE if scale > 0 else EffortKind.WRONG_SIGN
    if ratio is not None and _PLAUSIBLE[0] <= abs(scale * ratio) <= _PLAUSIBLE[1]:
        return EffortKind.MOTOR_SIDE
    return EffortKind.SCALED
