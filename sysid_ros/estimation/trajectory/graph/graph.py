"""Factor graphs: declared in a few lines, printed, and solved for all variables of all steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.graph.factors import Declared, Factor
from sysid_ros.estimation.trajectory.graph.graph_chain import GraphChain
from sysid_ros.estimation.trajectory.graph.mechanism import Mechanism
from sysid_ros.estimation.trajectory.graph.variables import (
    FreeParameters,
    Layout,
    labels,
    no_free_parameters,
)
from sysid_ros.estimation.trajectory.levenberg_marquardt import ChainSolution, LevenbergMarquardt
from sysid_ros.numerics.least_squares.chain import Eliminated, NormalEquations
from sysid_ros.numerics.least_squares.damped import Iteration

# First damping: long chains are stiff, so that more of it would take many steps to get rid of.
_DAMPING = 1e-12


@dataclass(frozen=True, eq=False)
class GraphSolution:
    """What a factor graph says.

    Attributes:
        variables: Values of all variables at every step, shape ``(N, ...)`` each.
        free_parameters: Values of the parameters that were sought, shape ``(k,)``.
        parameters: All parameters of the mechanism with these, shape ``(p,)``.
        status: How the solver ended.
        iterations: Its log.
        cost: Half the sum of squared weighted residuals.
        states: The variables of every step side by side, shape ``(N, size)``.
        basis: Directions in which exact factors leave states free, ``(N, size, d)``.
        solution: What the solver of chains found; None where nothing was left to find.
    """

    variables: Mapping[str, np.ndarray]
    free_parameters: np.ndarray
    parameters: np.ndarray
    status: Status
    iterations: tuple[Iteration, ...]
    cost: float
    states: np.ndarray
    basis: np.ndarray
    solution: ChainSolution | None

    @property
    def information(self) -> np.ndarray:
        """What is known of the sought parameters, states adapted to them, shape ``(k, k)``.

        Raises:
            EstimationError: The factors do not determine the states.
        """
        return self._eliminated().information

    def _eliminated(self) -> Eliminated:
        if self.solution is None or self.solution.eliminated is None:
            raise EstimationError(
                'the factors do not determine all variables',
                fix='Add priors, constraints or readings')
        return self.solution.eliminated

    def covariances(self, parameters: np.ndarray | None = None) -> np.ndarray:
        """Covariances of the states of every step, shape ``(N, size, size)``.

        Args:
            parameters: Covariance of the sought parameters, ``(k, k)``; None if they are known.

        Raises:
            EstimationError: The factors do not determine the states.
        """
        free = self._eliminated().state_covariances(parameters)
        return np.asarray(self.basis @ free @ self.basis.transpose(0, 2, 1))


@dataclass(frozen=True, eq=False)
class FactorGraph:
    """Factors over the variables of a mechanism at N steps.

    Attributes:
        mechanism: The mechanism.
        step: Time from step to step in [s].
        count: How many steps there are.
        factors: What is known.
        free_parameters: Parameters that are sought; none if left out.

    Raises:
        EstimationError: There are no factors, or no steps.
    """

    mechanism: Mechanism
    step: float
    count: int
    factors: Sequence[Factor]
    free_parameters: FreeParameters | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, 'factors', tuple(self.factors))
        if not self.factors or self.count < 1 or not self.step > 0.0:
            raise EstimationError(
                'a graph needs factors, steps, and time between them', where=self.mechanism.name,
                found=f'{len(self.factors)} factors, {self.count} steps of {self.step} s')

    @cached_property
    def layout(self) -> Layout:
        """The variables that its factors tie together."""
        return Layout.of(self.mechanism, (
            name for factor in self.factors for name in factor.variables))

    @cached_property
    def parameters(self) -> FreeParameters:
        """The parameters that are sought, perhaps none."""
        return no_free_parameters(
            self.mechanism) if self.free_parameters is None else self.free_parameters

    @property
    def declared(self) -> Declared:
        """What its factors are declared for."""
        return Declared(
            self.mechanism, self.layout, self.step, self.count, len(self.parameters.names))

    def chain(self, steps: range | None = None) -> GraphChain:
        """Some of its steps as a chain, by default all.

        Raises:
            EstimationError: A factor does not fit.
        """
        return GraphChain(self.declared, self.factors, self.parameters, steps)

    def states(self, start: Mapping[str, np.ndarray] | None = None) -> np.ndarray:
        """States to begin with, shape ``(N, size)``.

        Args:
            start: Variables, of one step or of all; where there are none, those of the
                mechanism as it is assembled, at rest.

        Raises:
            EstimationError: A variable does not fit.
        """
        states, assembly = np.zeros((self.count, self.layout.size)), self.mechanism.assembly
        given = {'q': assembly, 'z': assembly[self.mechanism.independent], **(start or {})}
        for name, place in self.layout.places.items():
            if name not in given:
                continue
            value = np.asarray(given[name], dtype=float)
            shape = (self.count, place.stop - place.start)
            if value.shape not in (shape, shape[1:]):
                raise EstimationError(
                    'a start does not fit its variable', where=name, found=value.shape,
                    allowed=f'{shape} or {shape[1:]}')
            states[:, place] = value
        return states

    def solve(
        self, start: Mapping[str, np.ndarray] | None = None,
        method: LevenbergMarquardt | None = None,
        progress: Callable[[Iteration], None] | None = None,
    ) -> GraphSolution:
        """The variables of all steps, and parameters, that fit best.

        Args:
            start: See :meth:`states`.
            method: The solver and its settings.
            progress: Told of every step the solver tried.

        Raises:
            EstimationError: Exact factors contradict each other or pass a dead point.
        """
        chain, free_parameters = self.chain(), self.parameters
        states = chain.closed(self.states(start))
        if not chain.dimension:
            return self._solution(chain, states, free_parameters.start, Status.CONVERGED, None)
        method = method or LevenbergMarquardt(damping=_DAMPING)
        found = replace(method, floor=max(method.floor, chain.rounding(states, 0.0))).minimise(
            chain, states, free_parameters.start, free_parameters.lower, free_parameters.upper,
            progress)
        status = found.status
        if status is Status.INACCURATE and _is_at_minimum(chain, found, free_parameters):
            status = Status.CONVERGED
        if chain.has_multipliers:
            found = replace(found, eliminated=chain.eliminated(found.states, found.values))
        return self._solution(chain, found.states, found.values, status, found)

    def _solution(
        self, chain: GraphChain, states: np.ndarray, values: np.ndarray, status: Status,
        found: ChainSolution | None,
    ) -> GraphSolution:
        return GraphSolution(
            self.layout.split(states), values, self.parameters.values(values), status,
            () if found is None else found.iterations,
            0.0 if found is None else found.equations.cost, states,
            chain.basis(states).copy(), found)

    def __str__(self) -> str:
        """The graph as a table: its variables, then every factor with what it ties together."""
        lines = [
            f'{self.mechanism.name}: {self.count} steps of {self.step:g} s, '
            f'{self.layout.size} numbers a step']
        for name in self.layout.names:
            lines.append(f'  {name:8s} {", ".join(labels(self.mechanism, name))}')
        if self.parameters.names:
            lines.append(f'  sought   {", ".join(self.parameters.names)}')
        for factor in self.factors:
            ties = ', '.join(
                f'{name}[k], {name}[k+1]' if factor.pairs else f'{name}[k]'
                for name in factor.variables)
            if factor.tells_parameters and self.parameters.names:
                ties += ', parameters'
            held = 'exact' if factor.exact else f'sigma {_short(factor.sigma)}'
            where = '' if factor.at is None else f' at {factor.at}'
            lines.append(f'  {factor.name:24s} {ties}; {held}{where}')
        return '\n'.join(lines)


def _is_at_minimum(
    chain: GraphChain, found: ChainSolution, free_parameters: FreeParameters
) -> bool:
    """Whether all that is left to be gained is rounding, as where all factors are fulfilled."""
    if found.eliminated is None or not isinstance(found.equations, NormalEquations):
        return False
    step = found.eliminated.step(free_parameters.lower - found.values,
        free_parameters.upper - found.values)
    if step is None:
        return False
    gradient, slope = found.equations.gradient
    promised = -0.5 * (np.vdot(gradient, step[0]) + slope @ step[1])
    return bool(promised <= chain.rounding(found.states, found.equations.cost))


def _short(sigma: object) -> str:
    """One standard deviation, or the range of several."""
    values = np.atleast_1d(np.asarray(sigma, dtype=float))
    low, high = values.min(), values.max()
    return f'{low:g}' if low == high else f'{low:g} to {high:g}'
