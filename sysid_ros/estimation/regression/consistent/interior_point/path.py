"""Compiled: along the central path to a solution; predictor, corrector, and when to stop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.regression.consistent.interior_point import (
    newton,
    products,
    scaling,
    state,
)
from sysid_ros.estimation.regression.consistent.interior_point.newton import direction, predictor
from sysid_ros.estimation.regression.consistent.interior_point.scaling import (
    clear_correction,
    initialise,
    mehrotra_corrector,
    take_step,
    take_step_and_evaluate,
)
from sysid_ros.estimation.regression.consistent.interior_point.state import (
    MISFIT_TOLERANCE,
    ORTHOGONAL,
    Point,
    Program,
    Step,
)
from sysid_ros.numerics import by_reference, dense, symmetric_4
from sysid_ros.numerics import jit as compiled
from sysid_ros.numerics.by_reference import referred
from sysid_ros.numerics.compiled_beside import CompiledBeside
from sysid_ros.numerics.jit import ENTRY, INSIDE, digest

# Part of the way to the boundary that a step may go.
_FRACTION = 0.95
# A step shorter than this was misled by its correction; a plain one to the middle goes on further.
_MISLED = 0.5
# A step shorter than the first wants a better factor of its system; with that, one shorter than
# the second is stuck.
_SHORT, _STUCK = 1e-3, 1e-8
# A step longer than this is a whole one.
_WHOLE = 1.0 - 1e-12
# Iterations without the error halved after which a better factor is tried, and after which, with
# that, rounding has the last word.
_DOUBT, _PATIENCE = 5, 25
# Steps that nothing bends are held back by a proximal term of more than so many times their own
# curvature; a smaller one would only delay the last steps.
_HOLDING = 10.0

#: Files that are compiled into the iteration.
SOURCES = (by_reference, compiled, dense, newton, products, scaling, state, symmetric_4)

# How the compiled iteration says that it ended.
_ENDINGS = (Status.CONVERGED, Status.FAILED, Status.INACCURATE, Status.ITERATION_LIMIT)
_CONVERGED, _FAILED, _INACCURATE, _LIMIT = range(len(_ENDINGS))


def iterate(
    program: Program, point: Point, step: Step, weight: float, barrier: float, accuracy: float,
    most: int,
) -> tuple[Status, int]:
    """Move a point to the solution.

    Args:
        program: The problem.
        point: z strictly inside; of the rest, only the weights of data need be filled.
        step: Workspace for a step.
        weight: Weight of the barrier at the start.
        barrier: Weight of the barrier at the solution, zero for none.
        accuracy: How far the objective may be from its minimum.
        most: Most iterations.

    Returns:
        How it ended, and the iterations used.
    """
    ending, iterations = compiled_iteration(
        *referred(program, point, step), weight, barrier, accuracy, most)
    return _ENDINGS[ending], iterations


def _compiled(sources: str) -> Callable[..., tuple[int, int]]:
    """The whole iteration as one call.

    Args:
        sources: Digest of the files whose functions are called. The compiler's cache looks at
            what a function closes over, but not at other files: without it, a change there
            would leave old code in use.
    """

    @njit(**ENTRY)
    def iterate(
        program: Program, point: Point, step: Step, weight: float, barrier: float,
        accuracy: float, most: int,
    ) -> tuple[int, int]:
        sources  # noqa: B018
        best, since, length, proximal = np.inf, 0, 0.0, 0.0
        holding = _HOLDING * _least_curvature(program)
        inside, mean, gap, misfit = initialise(program, point, step, weight, barrier)
        for iteration in range(1, most + 1):
            if not inside:
                return _FAILED if iteration == 1 else _INACCURATE, iteration
            # After a whole step forces balance, but for its proximal term and its rounding, and
            # the gap bounds the error.
            if length > _WHOLE and gap + _proximal_error(program, step, proximal) <= accuracy:
                if _rounding_error(program, point, step) <= accuracy:
                    return _CONVERGED, iteration - 1
                point.effort[ORTHOGONAL] = 1
            mean = max(mean, barrier)
            proximal = mean - barrier if mean - barrier > holding else 0.0
            regular, decrement = predictor(program, point, proximal, barrier, step)
            if not regular:
                return _INACCURATE, iteration
            error = gap + decrement
            if error <= max(accuracy, MISFIT_TOLERANCE * misfit):
                take_step(program, point, step, _FRACTION, 0.0)
                return _CONVERGED, iteration
            since = 0 if error < 0.5 * best else since + 1
            if error < best:
                best = error
                # Entry by entry: an assignment of arrays brings the words for shapes that do not
                # fit, which take as long to compile as a third of all this.
                for f in range(len(point.z)):
                    point.best[f] = point.z[f]
            length, (inside, mean, gap, misfit) = _advance(program, point, step, barrier, mean)
            if point.effort[ORTHOGONAL] == 0:
                if since > _DOUBT or not length > _SHORT:
                    point.effort[ORTHOGONAL], since = 1, 0
            elif since > _PATIENCE or not length > _STUCK:
                return _INACCURATE, iteration
        return _LIMIT, most

    return iterate


@njit(**INSIDE)
def _least_curvature(program: Program) -> float:
    """The least curvature of the objective along steps that no constraint bends."""
    least = np.inf
    for f in range(len(program.unbounded)):
        if program.unbounded[f] > 0.0:
            least = min(least, program.quadratic[f])
    return least


@njit(**INSIDE)
def _proximal_error(program: Program, step: Step, proximal: float) -> float:
    """What the objective is above its minimum since a step took a proximal term into account."""
    error = 0.0
    for f in range(len(step.z)):
        force = proximal * program.unbounded[f] * step.z[f]
        if force != 0.0:
            error += 0.5 * force * force / program.quadratic[f]
    return error


@njit(**INSIDE)
def _rounding_error(program: Program, point: Point, step: Step) -> float:
    """What rounding in a whole step put the residuals off by, as a misfit."""
    error = 0.0
    for b in range(len(program.goal)):
        off = point.residual[b] - step.residual[b]
        error += 0.5 * off * off / program.spread[b]
    return error


@njit(**INSIDE)
def _advance(
    program: Program, point: Point, step: Step, barrier: float, mean: float
) -> tuple[float, tuple[bool, float, float, float]]:
    """Follow a predictor by a corrected step; its length, and how the point lies then."""
    direction(program, point, mehrotra_corrector(point, step, barrier, mean), step)
    length, found = take_step_and_evaluate(program, point, step, _FRACTION, _MISLED, barrier)
    if length < _MISLED:
        clear_correction(step)
        direction(program, point, mean, step)
        length, found = take_step_and_evaluate(program, point, step, _FRACTION, 0.0, barrier)
    return length, found


_iterate = _compiled(digest(*SOURCES))
#: The iteration, which may be compiled beside other work.
compiled_iteration = CompiledBeside(_iterate)
