"""From what a solver of a trajectory problem found to an honest estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sysid_ros.errors import listed
from sysid_ros.estimation.estimate import Estimate, Knowledge, ResidualStatistics
from sysid_ros.estimation.trajectory.actuator_limits import with_silent_limits_as_given
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.estimation.trajectory.solution import TrajectorySolution
from sysid_ros.estimation.trajectory.uncertainty import Determined, determined
from sysid_ros.mechanics.base_parameters import combination_in_words
from sysid_ros.numerics.noise import (
    correlation_time,
    products_by_lag,
    sandwich,
    squared_spectrum,
)
from sysid_ros.robot.inertia import consistency_margin

# Fields in the order in which their parameters are held where the data leave a choice.
_HELD_FIRST = ('mass', 'inertia', 'first_moment')
# Parameters that grow by the same factor do so to this part of them.
_PROPORTIONAL = 1e-2
# So many of them, at least, are torques that a common factor changes.
_FEWEST_ALIKE = 3
# Names of parameters that are told together, at most: more show in the estimate.
_NAMED = 4
# Part of a base parameter below which another parameter's share is rounding.
_SHARE = 1e-4


def preference(names: tuple[str, ...]) -> list[int]:
    """Indices of parameters, those last whose priors are trusted most: masses, then inertias."""
    def rank(index: int) -> int:
        field = names[index].rsplit('.', 1)[-1]
        ranks = [k for k, start in enumerate(_HELD_FIRST) if field.startswith(start)]
        return -ranks[0] if ranks else -len(_HELD_FIRST)

    return sorted(range(len(names)), key=rank)


def lost_parameters(problem: TrajectoryProblem, known: Determined) -> np.ndarray:
    """Whether torques would tell a free parameter and these data do not, shape ``(k,)``."""
    return np.asarray(np.isin(problem.free, problem.base.independent) & ~known.mask)


def determined_parameters(problem: TrajectoryProblem, information: np.ndarray) -> Determined:
    """Which free parameters of a problem the data determine.

    Args:
        problem: The problem, k of its parameters free.
        information: Of the free parameters, shape ``(k, k)``.
    """
    names = tuple(problem.parameters.names[k] for k in problem.free)
    # What would not show in any torque is noise where it seems to show in these data.
    shown = np.isin(problem.free, problem.base.independent)
    known = determined(information, [k for k in preference(names) if shown[k]])
    # With what it moves unseen is known exactly, too.
    silent = ~shown[known.held]
    combinations = known.combinations.copy()
    combinations[silent] = np.eye(len(names))[known.held[silent]]
    combinations[np.ix_(silent, known.mask)] = -grouping(problem, known)[:, known.held[silent]].T
    return replace(known, combinations=combinations)


def step_sizes(problem: TrajectoryProblem) -> np.ndarray:
    """What counts as a change of each free parameter, shape ``(k,)``.

    The prior itself; for one that is zero the largest of its body with the same unit, or one.
    """
    parameters, sizes = problem.parameters, []
    for k in problem.free:
        owner, unit = parameters.names[k].rsplit('.', 1)[0], parameters.units[k]
        alike = [
            abs(prior) for name, other, prior in zip(
                parameters.names, parameters.units, parameters.prior, strict=True)
            if other == unit and name.rsplit('.', 1)[0] == owner]
        own = abs(parameters.prior[k])
        sizes.append(own if own > 0.0 else max(alike) or 1.0)
    return np.array(sizes)


def assess(
    problem: TrajectoryProblem, solution: TrajectorySolution, *, estimator: str,
    settings: Mapping[str, Any], notes: tuple[str, ...] = (), error: np.ndarray | None = None,
) -> Estimate:
    """Judge a solution.

    Parameters that are only known together have infinite standard deviations; what is known
    are the base parameters, their combinations.

    Args:
        problem: The problem that was solved, k of its parameters free.
        solution: What was found.
        estimator: Name of the estimator.
        settings: Its settings, as plain values.
        notes: What else to tell.
        error: Covariance of the base parameters by what residuals do not show, ``(r, r)``.

    Returns:
        The estimate. Its residuals are those of the encoders, by joint, in [rad] or [m].
    """
    known = determined_parameters(problem, solution.information)
    covariance = base_covariance(problem, solution, known)
    if error is not None:
        covariance = covariance + error
    deviation, knowledge = _deviations_and_knowledge(problem, known, covariance)
    if not solution.status.ok:
        covariance = np.full_like(covariance, np.inf)
        deviation[problem.free] = np.inf
    parameters = problem.parameters
    values = solution.values if solution.status.found_values else parameters.prior
    values = with_silent_limits_as_given(
        problem, values, [group[0] for group in _lost(problem, known) if len(group) == 1])
    return Estimate(
        estimator=estimator, settings=settings, status=solution.status,
        parameters=parameters.with_values(values), standard_deviation=deviation,
        knowledge=knowledge, base_names=_equations(problem, known),
        base_values=grouping(problem, known) @ values[problem.free], base_covariance=covariance,
        unidentified=tuple(' with '.join(group) for group in _lost(problem, known)),
        margins={
            body: float(consistency_margin(
                values[parameters.body_slice(body)], parameters.prior[parameters.body_slice(body)]))
            for body in parameters.bodies},
        residuals=encoder_statistics(problem, solution.residuals),
        iterations=len(solution.iterations),
        notes=(*problem.warnings, *_words(problem, known, solution.values), *notes),
        provenance=dict(problem.provenance),
    )


def base_covariance(
    problem: TrajectoryProblem, solution: TrajectorySolution, known: Determined
) -> np.ndarray:
    """Covariance of the base parameters, correlated residuals counted as such, ``(r, r)``.

    Args:
        problem: The problem.
        solution: Its solution, with information and scores.
        known: What its data determine, r combinations.
    """
    indices = np.flatnonzero(known.mask)
    if not len(indices):
        return np.zeros((0, 0))
    return sandwich(
        solution.information[np.ix_(indices, indices)], solution.scores[:, indices],
        node_ranges(problem))


def node_ranges(problem: TrajectoryProblem) -> list[tuple[int, int]]:
    """Half-open ranges of the nodes of each segment of a problem among all nodes."""
    ends = np.cumsum([0, *(len(segment.t) for segment in problem.segments)])
    return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))


def _deviations_and_knowledge(
    problem: TrajectoryProblem, known: Determined, covariance: np.ndarray
) -> tuple[np.ndarray, tuple[Knowledge, ...]]:
    """Standard deviations ``(p,)`` and where values come from, for all parameters."""
    size = step_sizes(problem)
    deviation = np.zeros(len(problem.parameters))
    knowledge = [Knowledge.FIXED] * len(problem.parameters)
    indices = np.flatnonzero(known.mask)
    for index, spread in zip(indices, np.sqrt(np.diagonal(covariance)), strict=True):
        deviation[problem.free[index]] = spread
        knowledge[problem.free[index]] = Knowledge.DATA
    for combination, held in enumerate(known.held):
        partners = known.partners(combination, size)
        for index in partners:
            deviation[problem.free[index]] = np.inf
            knowledge[problem.free[index]] = Knowledge.COMBINATION
        if len(partners) == 1:
            knowledge[problem.free[held]] = Knowledge.PRIOR
    return deviation, tuple(knowledge)


def grouping(problem: TrajectoryProblem, known: Determined) -> np.ndarray:
    """The matrix that makes what is determined of the free parameters, shape ``(r, k)``.

    Args:
        problem: The problem, k of its parameters free.
        known: What its data determine.
    """
    # What no motion tells is known exactly, what these data do not, to rounding.
    base = problem.base.matrix[:, problem.free]
    row = {int(own): k for k, own in enumerate(problem.base.independent)}
    matrix = base[[row[problem.free[k]] for k in np.flatnonzero(known.mask)]]
    for held, moved in zip(known.held, known.combinations, strict=True):
        if problem.free[held] in row:
            matrix = matrix - np.outer(moved[known.mask], base[row[problem.free[held]]])
    return np.asarray(matrix)


def _equations(problem: TrajectoryProblem, known: Determined) -> tuple[str, ...]:
    """Each base parameter in words, its own parameter first."""
    names = tuple(problem.parameters.names[k] for k in problem.free)
    size, indices = step_sizes(problem), np.flatnonzero(known.mask)
    rows = grouping(problem, known)
    # What is too small to matter is rounding.
    rows[np.abs(rows) * size < _SHARE * size[indices][:, None]] = 0.0
    return tuple(
        combination_in_words(row, names, first=int(own))
        for row, own in zip(rows, indices, strict=True))


def _lost(problem: TrajectoryProblem, known: Determined) -> list[list[str]]:
    """Parameters that move together unseen in these data, but would show in some torques.

    The one that was held comes first.
    """
    names = [problem.parameters.names[k] for k in problem.free]
    size, groups = step_sizes(problem), []
    for combination, held in enumerate(known.held):
        if problem.free[held] in problem.base.independent:
            partners = known.partners(combination, size)
            groups.append([names[held], *(names[k] for k in partners if k != held)])
    return groups


def _words(
    problem: TrajectoryProblem, known: Determined, values: np.ndarray
) -> tuple[str, ...]:
    """What the data leave open, in words."""
    groups = _lost(problem, known)
    silent = [group[0] for group in groups if len(group) == 1]
    words = [
        f'Nothing that was measured depends on {", ".join(silent)}: kept at the prior.'
    ] if silent else []
    scale = None if problem.actuated is None else common_factor(problem, known, values)
    if scale is not None:
        words.append(common_factor_in_words(scale, scale[0]))
        groups = [group for group in groups if group[0] != scale[0]]
    words += [
        f'{group[0]} was held, since this motion tells only how {_together(group[1:])} are '
        'related. Measure a torque, or trust one of them.' for group in groups if len(group) > 1]
    return tuple(words)


def _together(names: Sequence[str]) -> str:
    """A parameter and those it is told together with, the first of many."""
    if len(names) > _NAMED:
        return f'it, {listed(names, _NAMED)}'
    return f'{", ".join(["it", *names[:-1]])} and {names[-1]}'


def common_factor_in_words(names: Sequence[str], held: str) -> str:
    """What is said of parameters that motion tells but for a common factor.

    Args:
        names: The parameters.
        held: The one that was held.
    """
    return (
        f'This motion tells {len(names)} parameters but for a common factor of all torques: twice '
        f'of each would move the robot alike. {held} was held. Give one of them that is known: the '
        'stiffness kp or the torque constant of an actuator, or the mass of a link that was '
        'weighed, known: {masses: {LINK: …}} with fit: {fixed: [LINK.mass]}.')


def common_factor(
    problem: TrajectoryProblem, known: Determined, values: np.ndarray
) -> list[str] | None:
    """Names of parameters that may all be larger by the same factor unseen, the held one first.

    Args:
        problem: The problem.
        known: What its data determine.
        values: Parameters that were found, shape ``(p,)``.

    Returns:
        None where there is no such factor, or nothing but one parameter.
    """
    names = [problem.parameters.names[k] for k in problem.free]
    base, size = problem.base, step_sizes(problem)
    # What a common factor changes, said by the parameters that torques tell apart.
    grown = np.zeros(len(names))
    shown = np.searchsorted(problem.free, base.independent)
    grown[shown] = base.matrix[:, problem.free] @ values[problem.free]
    shares = [combination for combination, held in enumerate(known.held) if held in shown]
    if not shares:
        return None
    # Together, what moves unseen when each that is held grows as all would.
    moved = grown[known.held[shares]] @ known.combinations[shares]
    close = _PROPORTIONAL * np.maximum(np.abs(grown), _SHARE * size)
    alike, still = np.abs(moved - grown) <= close, np.abs(moved) <= close
    together = np.flatnonzero(alike & ~still)
    # What is no torque, as a delay, stays.
    if not (alike | still).all() or len(together) < _FEWEST_ALIKE:
        return None
    groups = {int(known.held[share]): len(known.partners(share, size)) for share in shares}
    first = max(groups, key=lambda held: groups[held])
    return [names[first], *(names[k] for k in together if k != first)]


def encoder_statistics(
    problem: TrajectoryProblem, residuals: Sequence[Sequence[np.ndarray]]
) -> ResidualStatistics:
    """Root mean squares of encoder readings less predicted ones, by joint.

    Args:
        problem: What was measured.
        residuals: Measured less predicted by segment and observation, NaN where nothing was
            measured, shape ``(K, m)`` each.
    """
    joints = len(problem.model.robot.joint_names)
    squares, motion, rows, effective = np.zeros((4, joints))
    for segment, found in zip(problem.segments, residuals, strict=True):
        for observation, residual in zip(segment.observations, found, strict=True):
            sensor = observation.sensor
            # A tachometer is an encoder of velocities.
            if type(sensor) is not Encoder:
                continue
            for column, weights in enumerate(sensor.matrix(problem.model.robot)):
                error = residual[:, column][np.isfinite(residual[:, column])]
                moved = observation.values[:, column][np.isfinite(observation.values[:, column])]
                if not len(error):
                    continue
                products = products_by_lag(squared_spectrum(error), len(error))
                felt = weights != 0.0
                squares[felt] += error @ error
                motion[felt] += np.sum((moved - moved.mean()) ** 2)
                rows[felt] += len(error)
                effective[felt] += len(error) / correlation_time(products)
    with np.errstate(divide='ignore', invalid='ignore'):
        return ResidualStatistics(
            relative_error=float(np.sqrt(squares.sum() / motion.sum())),
            relative_per_joint=np.sqrt(squares / motion),
            rms_per_joint=np.sqrt(squares / np.maximum(rows, 1)), rows=rows,
            effective_rows=effective)
