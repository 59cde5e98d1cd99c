r"""Recorded efforts in parts of the joint torques, by one fit over all joints and recordings.

Neighbouring joints carry the same bodies: with the rigid-body torques
:math:`\Gamma_j(\theta_0 + P z)` of one set of parameters, near the prior, every joint's effort is

.. math:: \tau_j = s_j\,\Gamma_j (\theta_0 + P z) + F_j c_j,

with friction, drive inertia and offset :math:`F_j c_j` of its own. What tells a scale is that
the other joints, and the prior with its own uncertainty, contradict the masses it would take.
On a clock that runs k times as fast, what accelerates the links seems :math:`k^2` times as
large, beside what carries their weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from sysid_ros.recording.checks.effort_evidence import RANGE, ScaleEvidence, most_likely
from sysid_ros.recording.checks.effort_reading import Reading

# A scale is off when it differs by this factor, and by so many standard deviations; that of the
# joint that is the furthest from all others, of which one always is, by the last number of them.
_FACTOR, _SIGMAS, _WORST_SIGMAS = 1.3, 3.0, 4.5
# A joint's effort must correlate so much with the prior's rigid-body torque to take part, and one
# so much for a scale of all: elsewhere the prior hardly says what the torque is.
_CORRELATED, _TOLD = 0.5, 0.85
# Where the prior explains less than this of an effort, it stands for far larger torques, of which
# nearly nothing is left in truth: that, too, says little. Where efforts correlate, it does so where
# the effort is less than this of what that of other joints is, in parts of the prediction.
_CANCELLED, _REST = -1.0, 0.15
# Logarithms of the ratio of inertial efforts to weights that are looked at, the step for its
# curvature, and what it has to explain, in squared standard deviations.
_RATIOS, _ASIDE, _DECISIVE = 2.0, 0.1, 20.0
# Newton's step that is none any more.
_ARRIVED = 1e-3


@dataclass(frozen=True, eq=False)
class EffortScales:
    """Recorded effort per joint torque.

    Attributes:
        common: Logarithm of the scale of the joints that agree.
        common_deviation: Its standard deviation; infinite where nothing tells it.
        odd: Logarithm of the scale, in that of the others, of each joint that disagrees.
        agreeing: The joints that do not.
        inertial: Logarithm of how much larger the efforts that accelerate the links are than the
            description says, beside those that carry their weight.
        inertial_deviation: Its standard deviation; infinite where nothing tells it.
    """

    common: float
    common_deviation: float
    odd: dict[str, float]
    inertial: float = 0.0
    inertial_deviation: float = np.inf
    agreeing: tuple[str, ...] = ()

    @property
    def all_off(self) -> bool:
        """Whether the efforts together are not what the masses of the description give."""
        return _is_off(self.common, self.common_deviation)

    @property
    def clock(self) -> float:
        """How much faster than the robot's the clock of the recording runs, by these efforts."""
        return float(np.exp(0.5 * self.inertial))

    @property
    def clock_off(self) -> bool:
        """Whether weight and acceleration of the links are not of one clock, beyond doubt."""
        return _is_off(self.inertial, self.inertial_deviation)


#: Of a recording whose efforts tell nothing of scales.
NO_SCALES = EffortScales(0.0, np.inf, {})


def effort_scales(joints: Mapping[str, Reading]) -> EffortScales:
    """The scales of all efforts of a recording, by one fit.

    Args:
        joints: Each joint's effort beside the torque of the prior.
    """
    scales, = effort_scales_together([joints])
    return scales


def effort_scales_together(
    recordings: Sequence[Mapping[str, Reading]], beside: Sequence[Mapping[str, Reading]] = ()
) -> list[EffortScales]:
    """The scales of all efforts of several recordings of a robot, by one fit; clocks by recording.

    One robot moves in all of them, so that a scale of one recording is told by the others. Off may
    be an effort in one recording, that of a joint in all of them, and all efforts of a recording.

    Args:
        recordings: Each joint's effort beside the torque of the prior, for each recording.
        beside: The same of recordings that take no part in the fit, and show which scales of
            joints are none.
    """
    found = {
        (name, k): one for k, joints in enumerate(recordings)
        for name, one in _telling(joints).items()}
    if not found:
        return [NO_SCALES for _ in recordings]
    logarithm, information = _fitted(list(found.values()))
    if not information.any():
        return [NO_SCALES for _ in recordings]
    names, odd = list(found), dict[tuple[str, int], float]()
    plain = np.log([max(reading.slope, 1.0 / RANGE) for reading in found.values()])
    while (worst := _worst(names, logarithm, information)) is not None:
        apart, offset, deviation = worst
        seen = float(np.median(plain[apart])) - float(np.median(plain[~apart]))
        taken = [name for name, out in zip(names, apart, strict=True) if out]
        told = agree(seen, offset) and _seen_in(beside, taken, offset)
        if not (told and _is_off(offset, deviation, _WORST_SIGMAS)):
            break
        odd |= dict.fromkeys(taken, offset)
        # The covariance of the rest: what is taken out is free.
        information = np.linalg.inv(np.linalg.inv(information)[np.ix_(~apart, ~apart)])
        logarithm, plain = logarithm[~apart], plain[~apart]
        names = [name for name in names if name not in taken]
    common, deviation = _shared(logarithm, information)
    other, _ = _shared(*_fitted([found[name] for name in names], room=False))
    # What is common is believed as far as both ways to count agree.
    common = float(np.sign(common)) * min(abs(common), max(other * np.sign(common), 0.0))
    best = max(found[name].correlation for name in names)
    if best < _TOLD or not agree(float(np.median(plain)), common):
        deviation = np.inf
    return [
        EffortScales(
            common, deviation, {name: off for (name, of), off in odd.items() if of == k},
            *_clock([found[name] for name in names if name[1] == k], len(joints)),
            tuple(name for name, _ in names) if len(recordings) == 1 else ())
        for k, joints in enumerate(recordings)]


def _clock(found: list[Reading], joints: int) -> tuple[float, float]:
    """Logarithm of the ratio of inertial efforts to weights of a recording, and its deviation."""
    if not found:
        return 0.0, np.inf
    ratio, doubt = _inertial_ratio(found)
    if _is_off(ratio, doubt) and not _shared_by_all(ratio, found, joints):
        doubt = np.inf
    return ratio, doubt


def _worst(
    names: Sequence[tuple[str, int]], logarithm: np.ndarray, information: np.ndarray
) -> tuple[np.ndarray, float, float] | None:
    """The efforts that are furthest from all others, ``(n,)``, how far, and its deviation.

    Args:
        names: Joint and number of the recording of each effort.
        logarithm: Logarithms of the scales, shape ``(n,)``.
        information: Inverse of their covariance, shape ``(n, n)``.
    """
    each = np.array(names, dtype=object)
    alike = each[None] == each[:, None]
    candidates = np.unique(
        np.vstack([np.eye(len(names), dtype=bool), *np.moveaxis(alike, 2, 0)]), axis=0)
    candidates = candidates[~candidates.all(axis=1)]
    if not len(candidates):
        return None
    apart = [_apart(logarithm, information, one) for one in candidates]
    at = int(np.argmax([abs(offset) / deviation for offset, deviation in apart]))
    # Of two parts each is off from the other: the one that is further from the description.
    for k, one in enumerate(candidates):
        if (one == ~candidates[at]).all() and abs(np.mean(logarithm[one])) > abs(
                np.mean(logarithm[~one])):
            at = k
    return (candidates[at], *apart[at])


def _seen_in(
    beside: Sequence[Mapping[str, Reading]], taken: Sequence[tuple[str, int]], offset: float
) -> bool:
    """Whether recordings beside show a joint's scale by their plain slopes, or say nothing of it.

    What a description has wrong shows in one motion as another scale, and not in the next.

    Args:
        beside: Each joint's effort beside the torque of the prior.
        taken: Joint and number of the recording of the efforts that are off.
        offset: Logarithm of their scale, in that of the others.
    """
    joints = {name for name, _ in taken}
    for readings in map(_telling, beside):
        own = [np.log(max(readings[name].slope, 1.0 / RANGE))
               for name in joints if name in readings]
        others = [np.log(max(one.slope, 1.0 / RANGE))
                  for name, one in readings.items() if name not in joints]
        if own and others and not agree(float(np.median(own) - np.median(others)), offset):
            return False
    return True


def without_noise(told: EffortScales, smooth: Mapping[str, Reading]) -> EffortScales:
    """Scales, without those that efforts and torques do not show behind the filter of a fit.

    Noise of encoders makes the torque that they foretell larger, most where weight and
    acceleration leave little of each other, and so an effort smaller beside it.

    Args:
        told: Scales of a recording.
        smooth: Each of its joints' efforts beside the torque of the prior, filtered alike.
    """
    if not _telling(smooth):
        return told
    again = effort_scales(smooth)
    odd = {
        name: offset for name, offset in told.odd.items()
        if _seen_in([smooth], [(name, 0)], offset)}
    # A fit that tells nothing takes nothing back.
    common = again is NO_SCALES or agree(again.common, told.common)
    return replace(
        told, odd=odd, common_deviation=told.common_deviation if common else np.inf)


def clock_seen_in(recordings: Sequence[Mapping[str, Reading]], inertial: float) -> bool:
    """Whether each recording shows that weights and accelerations are of two clocks, as another.

    Friction that no model has is of one motion, and may look like a clock there. Where the prior
    says of no joint what its torque is, a recording says nothing of it.

    Args:
        recordings: Each joint's effort beside the torque of the prior, for each recording.
        inertial: Logarithm of how much larger the efforts that accelerate the links are, by the
            other one.
    """
    return all(
        agree(_inertial_ratio(list(found.values()))[0], inertial)
        for found in map(_telling, recordings) if found)


def _telling(joints: Mapping[str, Reading]) -> dict[str, Reading]:
    """Joints of which the prior says what the torque is."""
    clear = [one.slope for one in joints.values() if one.correlation > _TOLD]
    usual = float(np.median(clear)) if clear else 0.0
    return {
        name: one for name, one in joints.items() if (
            one.slope > _REST * usual if one.correlation > _TOLD
            else one.correlation > _CORRELATED and one.by_prior > _CANCELLED)}


def _shared(logarithm: np.ndarray, information: np.ndarray) -> tuple[float, float]:
    """The logarithm of the scale that all share, and its standard deviation."""
    weight = float(information.sum())
    if not weight > 0.0:
        return 0.0, np.inf
    return float((information @ logarithm).sum()) / weight, 1.0 / np.sqrt(weight)


def _inertial_ratio(found: list[Reading]) -> tuple[float, float]:
    """Logarithm of the ratio of inertial efforts to weights, and its standard deviation."""
    start, _ = _fitted(found)

    def profile(ratio: float) -> float:
        return float(most_likely(ScaleEvidence(found, ratio=float(np.exp(ratio))), start).fun)

    best = minimize_scalar(
        profile, bounds=(-_RATIOS, _RATIOS), method='bounded', options={'xatol': 0.01})
    here = float(best.x)
    below, above = profile(here - _ASIDE), profile(here + _ASIDE)
    curvature = (below - 2.0 * best.fun + above) / _ASIDE**2
    decisive = profile(0.0) - best.fun > _DECISIVE
    inside = abs(here) < _RATIOS - _ASIDE
    if not (decisive and inside and 0.0 < curvature < np.inf):
        return here, np.inf
    # Half of the curvature, as the profile is twice a logarithm.
    return here, float(np.sqrt(2.0 / curvature))


def _shared_by_all(ratio: float, found: list[Reading], joints: int) -> bool:
    """Whether a ratio of inertial efforts to weights is what any of the joints may be left out of.

    A clock is the same for all; friction, and inertias that a description has wrong, are one
    joint's. Of one joint alone it is believed where the robot has no more.
    """
    if len(found) == 1:
        return joints == 1
    return all(
        agree(_inertial_ratio(found[:k] + found[k + 1:])[0], ratio) for k in range(len(found)))


def agree(plain: float, fitted: float) -> bool:
    """Whether the plain slope on the prior's prediction says at least half of what a fit does."""
    return plain * np.sign(fitted) > 0.5 * abs(fitted)


def _is_off(logarithm: float, deviation: float, sigmas: float = _SIGMAS) -> bool:
    return abs(logarithm) > max(np.log(_FACTOR), sigmas * deviation)


def _apart(
    logarithm: np.ndarray, information: np.ndarray, apart: np.ndarray
) -> tuple[float, float]:
    """How far the scale of some is from the one that all others share, and the standard deviation.

    Args:
        logarithm: Logarithms of the scales, shape ``(n,)``.
        information: Inverse of their covariance, shape ``(n, n)``.
        apart: Whose scale is asked for, shape ``(n,)``.
    """
    design = np.column_stack([np.ones(len(apart)), apart])
    covariance = np.linalg.inv(design.T @ information @ design)
    offset = (covariance @ design.T @ information @ logarithm)[1]
    return float(offset), float(np.sqrt(covariance[1, 1]))


def _fitted(found: list[Reading], room: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of the scales, and the inverse of their covariance; zero where none was found."""
    evidence = ScaleEvidence(found, room)
    reach = np.log(RANGE)
    start = np.clip([np.log(max(abs(reading.slope), 1e-9)) for reading in found], -reach, reach)
    solution = most_likely(evidence, start)
    # Half of the Hessian, as the value is twice a logarithm.
    curvature = 0.5 * evidence.hessian(solution.x)
    if not np.linalg.eigvalsh(curvature)[0] > 0.0:
        return solution.x, np.zeros_like(curvature)
    # At the best point a line search may end for rounding, which SciPy calls abnormal.
    newton = np.linalg.solve(2.0 * curvature, evidence.value(solution.x)[1])
    arrived = solution.success or np.abs(newton).max() < _ARRIVED
    return solution.x, curvature if arrived else np.zeros_like(curvature)
