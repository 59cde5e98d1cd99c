"""Fixed-lag smoothing: the last steps of a factor graph, one sample after the other.

When a step leaves the window it is eliminated (marginalised): what it and all before it say of
the next step and of parameters stays, as a quadratic function of these. So no factor is lost, and
none counts twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import EstimationError, did_you_mean
from sysid_ros.estimation.trajectory.graph.graph import FactorGraph
from sysid_ros.estimation.trajectory.graph.graph_chain import GraphChain
from sysid_ros.estimation.trajectory.graph.planar import PlanarMechanism
from sysid_ros.estimation.trajectory.graph.smoother_kernels import (
    assemble,
    marginal,
    remembered,
)
from sysid_ros.estimation.trajectory.graph.variables import RATES
from sysid_ros.estimation.trajectory.graph.window_arrays import (
    NOT_CLOSED,
    NOT_DETERMINED,
    SINGULAR,
    WORSE,
    Program,
    Window,
)
from sysid_ros.estimation.trajectory.graph.window_kernels import advance
from sysid_ros.estimation.trajectory.graph.window_program import window_program
from sysid_ros.numerics.least_squares.bounds import bounded_minimum
from sysid_ros.numerics.least_squares.chain_kernels import (
    add_nodes,
    add_pairs,
    eliminate,
    substitute,
)

_FAILURES = {
    NOT_CLOSED: 'equations that must hold cannot all be fulfilled, as at a dead point',
    SINGULAR: 'masses do not determine the motion', NOT_DETERMINED:
    'the factors do not determine all variables',
}
# Marquardt's damping after a step that made matters worse, and its largest.
_DAMPED, _RAISED, _STUCK = 1e-4, 10.0, 1e8


@dataclass(eq=False)
class _Memory:
    """What steps that have left say; see ``smoother_kernels``."""

    information: np.ndarray
    gradient: np.ndarray
    anchor: np.ndarray
    directions: np.ndarray
    values: np.ndarray


class FixedLagSmoother:
    """Solves a factor graph sample by sample over a window of its last steps.

    Args:
        graph: The graph; its steps are taken one after the other, its known values when it is
            their turn.
        window: How many steps the window holds, two at least.
        start: Variables of the first step, where they are not as the mechanism is assembled.
        max_iterations: Most iterations a sample.
        tolerance: A step of variables shorter than this ends them: what is left is of the order
            of its square. Highest derivatives do not count, since they enter linearly.

    Raises:
        EstimationError: The window is too short, or a factor between steps, or with parameters,
            is exact.
    """

    def __init__(
        self, graph: FactorGraph, window: int, *,
        start: Mapping[str, np.ndarray] | None = None, max_iterations: int = 15,
        tolerance: float = 1e-4,
    ) -> None:
        if window < 2:
            raise EstimationError('the window is too short', found=window, allowed='2 or more')
        self.graph, self.window = graph, min(window, graph.count)
        self.max_iterations, self.tolerance = max_iterations, tolerance
        self.values = graph.parameters.start
        self._first = 0
        self._chain = graph.chain(range(1))
        _require_soft(self._chain)
        first = graph.states(start)[:1]
        self.states = self._chain.closed(first)
        self._memory = self._nothing()
        self._prediction = _prediction(graph)
        self._judged = _judged(graph)
        self._parameters = graph.parameters.values(self.values)
        self.iterations = 0
        self._readings: list[Mapping[str, np.ndarray] | None] = [None]
        self._program: Program | None = None
        self._workspace: Window | None = None
        self._inertia: tuple[np.ndarray, np.ndarray] | None = None
        self._solve()

    @property
    def newest(self) -> int:
        """The step that the window ends with."""
        return self._first + len(self.states) - 1

    def advance(self, readings: Mapping[str, np.ndarray] | None = None) -> np.ndarray:
        """Take the next step.

        Args:
            readings: What was measured there in place of what the graph holds, by the names of
                soft factors, shape ``(m,)`` each and NaN where it is missing. Known torques are
                those of ``forward dynamics``.

        Returns:
            The variables of the newest step, shape ``(size,)``.

        Raises:
            EstimationError: There is no next step, the factors do not determine it, exact
                factors pass a dead point, or the iterations did not converge.
        """
        if self.newest + 1 >= self.graph.count:
            raise EstimationError(
                'the graph has no more steps', where=self.graph.mechanism.name,
                found=self.graph.count)
        if len(self.states) < self.window:
            self._grow(readings)
        else:
            self._read(self._chain, self.newest + 1, readings)
            if self._program is None:
                self._slide()
            else:
                self._slide_compiled(np.empty((1, self.states.shape[1])))
        return self.states[-1].copy()

    def _grow(self, readings: Mapping[str, np.ndarray] | None) -> None:
        """Take a step while the window is not full."""
        every = [*self._readings, readings]
        chain = self.graph.chain(range(len(every)))
        for step, known in enumerate(every):
            self._read(chain, step, known)
        new = self._prediction @ self._last_two()
        states = chain.near(np.vstack([self.states, new]))
        self._chain, self._readings, self.states = chain, every, states
        self._solve()
        if len(self.states) == self.window:
            self._program = window_program(self._chain, self._prediction, self._judged)

    def _slide(self) -> None:
        """Take a step and let one go."""
        states = np.empty_like(self.states)
        states[:-1], states[-1] = self.states[1:], self._prediction @ self._last_two()
        self._forget()
        self._chain.shift(self._first)
        self.states = self._chain.near(states)
        self._solve()

    def _slide_compiled(self, smoothed: np.ndarray) -> None:
        """Take steps and let as many go, as many as fit, ``(K, size)``, in one compiled call."""
        mechanism, values = self.graph.mechanism, self._parameters
        assert isinstance(mechanism, PlanarMechanism)
        if self._inertia is None:
            self._inertia = mechanism.inertia(values)
        if self._workspace is None:
            memory, (here, between, found, slope, states, basis) = self._memory, self._rows
            self._workspace = Window(
                self.states.copy(), memory.information, memory.gradient, memory.anchor,
                memory.directions, basis.copy(), states.copy(), here, between, found, slope,
                self._chain.basis(self.states).copy())
        taken, ended = advance(
            self._program, mechanism.loops, mechanism.forces,
            len(mechanism.coordinates) + mechanism.rank, values, *self._inertia,
            self._first, self.max_iterations, self.tolerance, self._workspace, smoothed)
        self._first += taken
        self.states = self._workspace.states
        if ended >= 0:
            self.iterations += ended
        elif ended == WORSE:
            # Damped steps are seldom needed, and taken one by one.
            self._chain.shift(self._first)
            self.states, self._workspace = self._chain.near(self.states), None
            self._solve()
        else:
            raise EstimationError(
                _FAILURES[ended], where=self._where(),
                fix='Keep away from dead points, take shorter steps, or add priors and readings')

    def _read(
        self, chain: GraphChain, step: int, readings: Mapping[str, np.ndarray] | None
    ) -> None:
        for name, values in (readings or {}).items():
            if not chain.soft.read(step, name, values):
                known = chain.soft.names
                raise EstimationError(
                    'there is no such soft factor to be read', found=repr(name),
                    allowed=', '.join(known), fix=did_you_mean(name, known))

    def run(self) -> np.ndarray:
        """Take all steps that are left.

        Returns:
            Every step as it was when it left the window, those of the last window as they are
            at the end, shape ``(N, size)``.
        """
        smoothed = np.empty((self.graph.count, self.graph.layout.size))
        while self.newest + 1 < self.graph.count:
            if self._program is None:
                smoothed[self._first] = self.states[0]
                self.advance()
            else:
                self._slide_compiled(smoothed[self._first:self.graph.count - len(self.states)])
        smoothed[self._first:] = self.states
        return smoothed

    def covariance(self) -> np.ndarray:
        """Covariance of the parameters, given all steps so far, shape ``(k, k)``.

        Raises:
            EstimationError: They are not determined yet.
        """
        chain, corner = self._normal.copy(), self._corner.copy()
        self._eliminate(chain, corner)
        upper = np.triu(corner[:, :-1])
        try:
            return np.linalg.inv(upper + np.triu(upper, 1).T)
        except np.linalg.LinAlgError as error:
            raise EstimationError('the parameters are not determined yet') from error

    def _last_two(self) -> np.ndarray:
        before = self.states[-2] if len(self.states) > 1 else self.states[-1]
        return np.concatenate([self.states[-1], before])

    def _solve(self) -> None:
        """Gauss and Newton's steps, damped only where one made matters worse."""
        cost = self._linearise(self.states, self.values)
        damping, shortest = 0.0, np.inf
        for _ in range(self.max_iterations):
            self.iterations += 1
            steps, shift = self._step(damping)
            states = self._chain.moved(self.states, steps)
            away = states - self.states
            size = float(np.abs(away[:, self._judged]).max(initial=0.0))
            if size <= self.tolerance and not damping:
                self.states, self.values = states, self.values + shift
                return
            before = self.states, self.values
            closed = bool(np.isfinite(states).all())
            trial = self._linearise(states, self.values + shift) if closed else np.inf
            # Steps that become shorter converge, though tight factors may feel their squares.
            if closed and (trial <= cost or size < shortest or size <= self.tolerance):
                self.states, self.values, cost = states, self.values + shift, trial
                shortest = min(size, shortest)
                damping = 0.1 * damping if damping > _DAMPED else 0.0
            else:
                self.states, self.values = before
                self._linearise(self.states, self.values)
                damping = max(_RAISED * damping, _DAMPED)
                if damping > _STUCK:
                    break
        raise EstimationError(
            'the iterations did not converge', where=self._where(), found=f'{size:.3g}',
            allowed=f'{self.tolerance:g}', fix='Take shorter steps, or begin nearer')

    def _linearise(self, states: np.ndarray, values: np.ndarray) -> float:
        """Set up the normal equations; the cost."""
        chain, memory = self._chain, self._memory
        d, k, count = chain.dimension, len(values), len(states)
        here, between = chain.soft_rows(states, values)
        basis = chain.basis(states)
        normal, corner = np.zeros((count, d, 2 * d + k + 1)), np.zeros((k, k + 1))
        nodes = chain.nodes
        add_nodes(nodes, here, normal, corner)
        add_pairs(nodes[:-1], between, normal, corner)
        found, slope = np.empty((d + k, d + k)), np.empty(d + k)
        moved = values - memory.values
        remembered(
            memory.information, memory.gradient, memory.anchor, memory.directions, states[0],
            basis[0], moved, found, slope)
        assemble(found, slope, chain.free, normal, corner)
        self._normal, self._corner = normal, corner
        self._rows, self._linearised_at = (here, between, found, slope, states, basis), values
        way = np.concatenate([memory.directions.T @ (states[0] - memory.anchor), moved])
        past = memory.gradient @ way + 0.5 * way @ memory.information @ way
        ends, links = here[:, :, -1], between[:, :, -1]
        return float(0.5 * (np.vdot(ends, ends) + np.vdot(links, links)) + past)

    def _step(self, damping: float) -> tuple[np.ndarray, np.ndarray]:
        """The step of states along their bases, and of parameters."""
        chain, corner = self._normal.copy(), self._corner.copy()
        k, d = len(corner), chain.shape[1]
        if damping:
            diagonal = np.arange(d)
            chain[:, diagonal, diagonal] *= 1.0 + damping
            corner[np.arange(k), np.arange(k)] *= 1.0 + damping
        linked = self._eliminate(chain, corner)
        free_parameters = self.graph.parameters
        upper = np.triu(corner[:, :-1])
        shift = bounded_minimum(
            upper + np.triu(upper, 1).T, corner[:, -1], free_parameters.lower - self.values,
            free_parameters.upper - self.values)
        if shift is None:
            raise EstimationError(
                'the parameters are not determined', where=self._where(),
                fix='Give them priors')
        steps = np.empty((len(chain), d))
        substitute(chain, linked, shift, steps)
        return steps, shift

    def _eliminate(self, chain: np.ndarray, corner: np.ndarray) -> np.ndarray:
        linked = np.ones(len(chain), dtype=bool)
        linked[-1] = False
        failed = eliminate(chain, corner, linked)
        if failed >= 0:
            raise EstimationError(
                'the factors do not determine all variables', where=self._where(),
                found=f'step {self._first + failed}',
                fix='Add priors, constraints or readings')
        return linked

    def _forget(self) -> None:
        """Let the first step go; what it says stays."""
        here, between, found, slope, states, basis = self._rows
        information, gradient = np.empty_like(found), np.empty_like(slope)
        if not marginal(
            found, slope, int(self._chain.free[0]), here[0], between[0], information, gradient
        ):
            raise EstimationError(
                'a step leaves the window before it is determined', where=self._where(),
                fix='Widen the window')
        self._memory = _Memory(
            information, gradient, states[1].copy(), self._chain.duals(basis[1]),
            self._linearised_at)
        self._first += 1

    def _nothing(self) -> _Memory:
        d, k = self._chain.dimension, len(self.values)
        return _Memory(
            np.zeros((d + k, d + k)), np.zeros(d + k), self.states[0].copy(),
            self._chain.duals(self._chain.basis(self.states)[0]), self.values)

    def _where(self) -> str:
        return (
            f'{self.graph.mechanism.name} at step {self.newest} '
            f'({self.newest * self.graph.step:.6g} s)')


def _require_soft(chain: GraphChain) -> None:
    if not chain.multiplied.empty or len(chain.exact_pairs.here):
        raise EstimationError(
            'a smoother cannot forget factors between steps, or with sought parameters, that '
            'hold exactly', where=chain.declared.mechanism.name,
            fix='Give them a standard deviation, or solve the whole graph')


def _prediction(graph: FactorGraph) -> np.ndarray:
    """What the last two states say of the next one, shape ``(size, 2 size)``.

    Highest derivatives go on as they changed, others by Taylor's series; torques stay.
    """
    layout, h = graph.layout, graph.step
    index = {
        name: np.arange(place.start, place.stop) for name, place in layout.places.items()}
    matrix = np.zeros((layout.size, 2 * layout.size))
    # Derivatives come before what they change.
    for name in reversed(layout.names):
        own, rate = index[name], RATES.get(name)
        matrix[own, own] = 1.0
        if rate not in index:
            if name not in ('torque', 'dtorque'):
                matrix[own, own], matrix[own, layout.size + own] = 2.0, -1.0
        elif RATES.get(rate) in index:
            matrix[own, index[rate]] += h
            matrix[own, index[RATES[rate]]] += 0.5 * h**2
        else:
            matrix[own, index[rate]] += 0.5 * h
            matrix[own] += 0.5 * h * matrix[index[rate]]
    return matrix


def _judged(graph: FactorGraph) -> np.ndarray:
    """Numbers of a state whose steps say whether to go on, those with a rate, or all."""
    places = [
        np.arange(place.start, place.stop) for name, place in graph.layout.places.items()
        if RATES.get(name) in graph.layout.places]
    return np.concatenate(places) if places else np.arange(graph.layout.size)
