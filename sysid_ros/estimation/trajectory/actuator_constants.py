"""Constants of actuators that data tell: a search among those it does not would lead nowhere.

Where a link is light, what its motion takes is friction and the inertia of its drive, which grow
with the gain of the drive: all of the joint's torques may be larger by any factor, or nearly so.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_ros.estimation.trajectory.assessment import (
    common_factor,
    common_factor_in_words,
    determined_parameters,
)
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.numerics.noise import correlated_squares

# A constant whose standard deviation is a larger part of its value than this does not show.
_SHOWS = 0.5
# A guess is far off that is so many times what a search led to, or a part of it.
_FAR = 3.0


def free_constants(problem: TrajectoryProblem) -> np.ndarray:
    """Places among the free parameters of constants of actuators, not of delay and filter.

    Args:
        problem: The problem.
    """
    if problem.actuated is None:
        return np.zeros(0, dtype=int)
    return np.flatnonzero(np.isin(problem.free, problem.actuated.constants))


def with_damping_by_drives(problem: TrajectoryProblem) -> TrajectoryProblem:
    """The problem with viscous friction held at zero where the damping of the drive is sought.

    Nothing but their sum shows. As a whole it stays within bounds wherever the first guess of the
    damping was, and grows with all torques by a common factor.

    Args:
        problem: The problem.
    """
    if problem.actuated is None:
        return problem
    parameters = problem.parameters
    free = {name for name, own in zip(parameters.names, parameters.free, strict=True) if own}
    held = [
        each.joint for each in problem.actuated.actuators.joints
        if {f'{each.joint}.{each.kind.damping}', f'{each.joint}.viscous_friction'} <= free]
    if not held:
        return problem
    names = [f'{joint}.viscous_friction' for joint in held]
    parameters = parameters.with_values(dict.fromkeys(names, 0.0)).fixed(*names)
    return replace(problem, parameters=parameters, warnings=(*problem.warnings, (
        'Damping of a drive and viscous friction of its joint show as their sum only: the damping '
        f'that was found at {", ".join(held)} has both, and viscous friction none of it.')))


def fix_weak_constants(
    problem: TrajectoryProblem, found: TrajectorySolution
) -> TrajectoryProblem:
    """The problem with constants of actuators held that its data tell by half at best.

    One after the other, the worst first: with it held, others may well be told. One is held before
    all others where all torques are told but for a common factor.

    Args:
        problem: The problem.
        found: What is known where a rough search has ended; the residuals there say how large
            noise and errors of the model are.
    """
    problem, found = _with_scale_held(problem, found)
    known = determined_parameters(problem, found.information)
    weak = _weak_constants(problem, found, known.mask.copy())
    if not weak:
        return problem
    said = ', '.join(f'{name} (± {100.0 * part:.0f} %)' for name, part in weak.items())
    return _held(problem, found, tuple(weak), (
        f'This motion hardly tells {said}: held. Move faster, so that the inertia of the links '
        'shows, or load them with a known mass.'))


def _held(
    problem: TrajectoryProblem, found: TrajectorySolution, names: tuple[str, ...], said: str
) -> TrajectoryProblem:
    # As given, wherever a search has led them before, but where that was far off.
    parameters, values = problem.parameters, problem.parameters.values.copy()
    index = np.array([parameters.index(name) for name in names])
    given, led = parameters.prior[index], found.values[index]
    near = np.abs(led - given) <= (_FAR - 1.0) * np.minimum(np.abs(led), np.abs(given))
    values[index] = np.where(near, given, led)
    return replace(
        problem, parameters=parameters.with_values(values).fixed(*names),
        warnings=(*problem.warnings, said))


def _with_scale_held(
    problem: TrajectoryProblem, found: TrajectorySolution
) -> tuple[TrajectoryProblem, TrajectorySolution]:
    """One constant is held where all torques are told but for a common factor."""
    known = determined_parameters(problem, found.information)
    together = common_factor(problem, known, found.values)
    names = [problem.parameters.names[problem.free[k]] for k in free_constants(problem)]
    held = next((name for name in names if together is not None and name in together), None)
    if held is None or together is None:
        return problem, found
    determined = problem.free != problem.parameters.index(held)
    found = replace(found, information=found.information[np.ix_(determined, determined)])
    return _held(problem, found, (held,), common_factor_in_words(together, held)), found


def _weak_constants(
    problem: TrajectoryProblem, found: TrajectorySolution, determined: np.ndarray
) -> dict[str, float]:
    """Names of constants to hold, with their standard deviations in parts of their values."""
    own = np.intersect1d(free_constants(problem), np.flatnonzero(determined))
    variance, weak = _variance(problem, found, int(determined.sum())), {}
    while len(own):
        chosen = np.flatnonzero(determined)
        information = found.information[np.ix_(chosen, chosen)]
        scale = 1.0 / np.sqrt(np.diagonal(information))
        covariance = np.linalg.inv(information * np.outer(scale, scale))
        deviation = np.sqrt(variance * np.maximum(np.diagonal(covariance), 0.0)) * scale
        part = deviation[np.isin(chosen, own)] / np.abs(problem.parameters.values[
            problem.free[own]])
        worst = int(np.argmax(part))
        if part[worst] <= _SHOWS:
            break
        weak[problem.parameters.names[problem.free[own[worst]]]] = float(part[worst])
        determined[own[worst]] = False
        own = np.delete(own, worst)
    return weak


def _variance(
    problem: TrajectoryProblem, found: TrajectorySolution, unknown: int
) -> float:
    """By what covariances for white noise of the given size are too small."""
    weighted = []
    for segment, residuals in zip(problem.segments, found.residuals, strict=True):
        for observation, residual in zip(segment.observations, residuals, strict=True):
            weighted.append(np.nan_to_num(residual) / observation.sigma)
    total, rows = correlated_squares(weighted)
    return total / max(rows - unknown, 1)
