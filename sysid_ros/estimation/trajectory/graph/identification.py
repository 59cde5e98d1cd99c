"""States and parameters on the same graph: what the readings determine, and how well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.assessment import preference
from sysid_ros.estimation.trajectory.graph.factors import Prior
from sysid_ros.estimation.trajectory.graph.graph import FactorGraph, GraphSolution
from sysid_ros.estimation.trajectory.graph.smoother import FixedLagSmoother
from sysid_ros.estimation.trajectory.graph.variables import FreeParameters
from sysid_ros.estimation.trajectory.levenberg_marquardt import LevenbergMarquardt
from sysid_ros.estimation.trajectory.uncertainty import Determined, determined
from sysid_ros.numerics.least_squares.damped import Iteration

# Steps of the window by which first guesses of the motion are made.
_WINDOW = 4
# Standard deviation by which variables of the first step are guessed, in their units.
_VAGUE = 10.0
# A step that promises less than this part of the cost is far within all uncertainty.
_METHOD = LevenbergMarquardt(damping=1e-12, tolerance=1e-9)


@dataclass(frozen=True, eq=False)
class GraphEstimate:
    """Parameters of a graph, and how far to believe them.

    Attributes:
        names: What was sought, k parameters.
        values: Their values, shape ``(k,)``.
        standard_deviation: Infinite where only ratios or other combinations are known, shape
            ``(k,)``.
        covariance: Of the parameters that were not held, the held ones at their values, shape
            ``(k, k)``; zero for those that were.
        held: Parameters that were held since the readings do not determine them.
        notes: What the readings leave open, in words.
        solution: The motion, and how the solver ended.
    """

    names: tuple[str, ...]
    values: np.ndarray
    standard_deviation: np.ndarray
    covariance: np.ndarray
    held: tuple[str, ...]
    notes: tuple[str, ...]
    solution: GraphSolution

    @property
    def status(self) -> Status:
        """How the solver ended."""
        return self.solution.status

    def interval(self, name: str, factor: float = 1.96) -> tuple[float, float]:
        """A parameter's interval, by default of 95 %.

        Args:
            name: The parameter.
            factor: Standard deviations to each side.
        """
        index = self.names.index(name)
        reach = factor * self.standard_deviation[index]
        return float(self.values[index] - reach), float(self.values[index] + reach)


def identify(
    graph: FactorGraph, start: Mapping[str, np.ndarray] | None = None, *,
    method: LevenbergMarquardt | None = None,
    progress: Callable[[Iteration], None] | None = None,
) -> GraphEstimate:
    """Find the motion and the sought parameters of a graph.

    First comes the motion with parameters as they are. What the readings then do not determine
    is held, or it would drift; the rest is sought with the motion.

    Args:
        graph: A graph whose ``free_parameters`` are parameters.
        start: Variables of all steps to begin with; by default what a fixed-lag smoother makes
            of the readings, from the mechanism as it is assembled.
        method: The solver and its settings.
        progress: Told of every step the solver tried.

    Raises:
        EstimationError: Nothing is sought, a solver did not converge, or the factors do not
            determine the motion.
    """
    free_parameters = graph.parameters
    if not free_parameters.names:
        raise EstimationError('no parameters are sought', where=graph.mechanism.name)
    known = replace(graph,
        free_parameters=_held(graph, np.ones(len(free_parameters.names), dtype=bool)))
    if start is None:
        start = first_guess(graph)
    motion = known.solve(start, method or _METHOD)
    _require(motion, graph)
    held = ~_known(motion, free_parameters.names).mask
    if held.all():
        raise EstimationError(
            'the readings tell nothing of the parameters that are sought',
            where=graph.mechanism.name, found=', '.join(free_parameters.names),
            fix='Measure a torque, or seek other parameters')
    found = replace(graph, free_parameters=_held(graph, held)).solve(
        motion.variables, method or _METHOD, progress)
    _require(found, graph)
    return _assessed(free_parameters.names, held, found)


def first_guess(
    graph: FactorGraph, start: Mapping[str, np.ndarray] | None = None
) -> dict[str, np.ndarray]:
    """What a fixed-lag smoother makes of the readings with parameters as they are.

    Args:
        graph: The graph.
        start: Variables of the first step, where they are not as the mechanism is assembled.

    Returns:
        Variables of all steps, shape ``(N, ...)`` each.
    """
    parameters = graph.parameters
    fixed = parameters._replace(
        names=(), matrix=parameters.matrix[:, :0], origin=parameters.values(parameters.start),
        start=np.zeros(0), lower=np.zeros(0), upper=np.zeros(0))
    factors = [factor for factor in graph.factors if factor.variables]
    # One sample seldom tells all variables of the first step.
    factors += [Prior(name, 0.0, _VAGUE, at=0) for name in graph.layout.names]
    smoothed = replace(graph, factors=factors, free_parameters=fixed)
    return dict(smoothed.layout.split(FixedLagSmoother(smoothed, _WINDOW, start=start).run()))


def _held(graph: FactorGraph, held: np.ndarray) -> FreeParameters:
    """The sought parameters with some of them kept within no room."""
    free_parameters = graph.parameters
    return free_parameters._replace(
        lower=np.where(held, free_parameters.start, free_parameters.lower),
        upper=np.where(held, free_parameters.start, free_parameters.upper))


def _require(solution: GraphSolution, graph: FactorGraph) -> None:
    if not solution.status.ok:
        raise EstimationError(
            'the solver did not converge', where=graph.mechanism.name,
            found=solution.status.value, fix='Begin nearer, or check the noise of the factors')


def _known(solution: GraphSolution, names: tuple[str, ...]) -> Determined:
    return determined(solution.information, preference(names))


def _assessed(
    names: tuple[str, ...], held: np.ndarray, found: GraphSolution
) -> GraphEstimate:
    known = _known(found, names)
    mask = known.mask & ~held
    covariance = np.zeros((len(names), len(names)))
    covariance[np.ix_(mask, mask)] = np.linalg.inv(found.information[np.ix_(mask, mask)])
    deviation = np.sqrt(np.diagonal(covariance)).copy()
    notes = []
    size = np.where(found.free_parameters != 0.0, np.abs(found.free_parameters), 1.0)
    for row, index in enumerate(known.held):
        partners = known.partners(row, size)
        deviation[partners] = np.inf
        others = [names[k] for k in partners if k != index]
        notes.append(
            f'{names[index]} was held, since the readings tell only the ratios of it and '
            f'{", ".join(others)}. Measure a torque, or trust one of them.'
            if others else f'Nothing that was read depends on {names[index]}: it was held.')
    return GraphEstimate(
        names, found.free_parameters, deviation, covariance,
        tuple(names[k] for k in np.flatnonzero(~mask)), tuple(notes), found)
