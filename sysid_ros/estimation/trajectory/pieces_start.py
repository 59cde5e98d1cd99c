"""Parameters that a search over whole motion begins with: shooting over short pieces of it.

States at all nodes with exact dynamics make a narrow, curved valley of the cost, along which a
search from poor parameters creeps. Over a tenth of a second to three tenths hardly any parameter is
so wrong that simulated motion leaves the measured one, so that shooting over such pieces, each from
a start of its own, converges from where people start.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_ros.errors import SysidError
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.search_log import SearchLog
from sysid_ros.estimation.trajectory.shooting import Shooting
from sysid_ros.estimation.trajectory.stable_step import stable_steps
from sysid_ros.mechanics.integrators.sensitivity import Simulator

# Lengths of pieces in [s], one after another: the first forgive more, the last tell more.
_PIECES = (0.1, 0.3)
# Accuracy and most iterations of each search.
_ROUGHLY, _ITERATIONS = 1e-3, 30
# Far from the solution a step that came true says less of the next one: damping falls by parts.
_RELIEF = 0.2
# Iterations that adapt the starts of pieces.
_ADAPTED = 4
# Residuals of simulated pieces, in root mean square over the noise, that no better start is for.
_FITS = 1.5


def pieces_start(problem: TrajectoryProblem, log: SearchLog) -> np.ndarray:
    """Values to begin a search with, shape ``(p,)``.

    Args:
        problem: The problem, its parameters at the first guess.
        log: Takes every step.

    Returns:
        The first guess itself where short pieces fit well by it, cannot be simulated, or not by
        compiled steps, so that they would take longer than all else, or are fitted no better.
    """
    values = problem.parameters.values
    try:
        if not (len(problem.free) and Simulator(problem.model, problem.free).is_compiled):
            return values
        steps = stable_steps(problem)
        solver = Shooting(
            substeps=steps.taken, near_reversals=steps.near_reversals, horizon=_PIECES[-1],
            tolerance=_ROUGHLY, relief=_RELIEF)
        first = _misfit(problem, solver, values)
        if first <= _FITS:
            return values
        for horizon in _PIECES:
            if log.left:
                values = _fitted(problem, replace(solver, horizon=horizon), values, log)
        last = _misfit(problem, solver, values)
    except (SysidError, np.linalg.LinAlgError):
        # A start is a convenience: what is wrong shows where it matters.
        return problem.parameters.values
    return values if last < first else problem.parameters.values


def fit_worse(problem: TrajectoryProblem, values: np.ndarray) -> bool:
    """Whether the shortest pieces of the motion fit worse by other values than by the first guess.

    Args:
        problem: The problem, its parameters at the first guess.
        values: The others, shape ``(p,)``.

    Returns:
        False where pieces cannot be simulated by the first guess, or not by compiled steps.
    """
    try:
        if problem.actuated is not None or not Simulator(problem.model, problem.free).is_compiled:
            return False
        # As fine as the guess asks for: friction so steep that it would take longer is off anyway.
        steps = stable_steps(problem)
        solver = Shooting(
            substeps=steps.taken, near_reversals=max(steps.needed // steps.taken, 1),
            horizon=_PIECES[0], tolerance=_ROUGHLY, relief=_RELIEF)
        guessed = _misfit(problem, solver, problem.parameters.values)
    except (SysidError, np.linalg.LinAlgError):
        return False
    try:
        return _misfit(problem, solver, values) > guessed
    except (SysidError, np.linalg.LinAlgError):
        return True


def _fitted(
    problem: TrajectoryProblem, solver: Shooting, values: np.ndarray, log: SearchLog
) -> np.ndarray:
    """Values that fit pieces of one length."""
    there = replace(problem, parameters=problem.parameters.with_values(values))
    solver = replace(solver, max_iterations=log.at_most(_ITERATIONS))
    found = log.run(
        f'start over pieces of {solver.horizon:g} s',
        lambda progress: solver.solve(there, progress))
    return found.values


def _misfit(problem: TrajectoryProblem, solver: Shooting, values: np.ndarray) -> float:
    """Root mean square of the residuals over the noise, the starts of pieces adapted."""
    parameters = problem.parameters.with_values(values).fixed(*problem.parameters.names)
    found = replace(solver, max_iterations=_ADAPTED).solve(replace(problem, parameters=parameters))
    squares = [
        np.nansum((residual / observation.sigma)**2)
        for segment, own in zip(problem.segments, found.residuals, strict=True)
        for observation, residual in zip(segment.observations, own, strict=True)]
    return float(np.sqrt(sum(squares) / problem.readings))
