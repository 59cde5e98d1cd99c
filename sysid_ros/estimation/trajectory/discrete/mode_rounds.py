"""Minima of a chain whose steps have modes: joints that stick or slip, contacts that push or not.

Where many joints stick or turn around, steps end at kinks of the cost, of which most motion has
some at any time. The minimum in the modes that a motion has does not see them; the modes of that
minimum take the place of these, whether the cost falls or not, and the best motion on the way
counts (a semismooth Newton method; Qi and Sun 1993). It usually settles within few rounds.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sysid_ros.estimation.estimate import Status
from sysid_ros.estimation.trajectory.discrete.discrete_chain import DiscreteChain
from sysid_ros.estimation.trajectory.levenberg_marquardt import (
    ChainSolution,
    LevenbergMarquardt,
)
from sysid_ros.estimation.trajectory.search_log import SearchLog

# Iterations of a search, rounds with modes held that may pass without a better motion, and the part
# of the cost that counts as one; and the tolerance while modes still change.
_PATIENCE, _WAITING, _KINK, _ROUGH = 20, 4, 1e-3, 1e-4
# Part of the cost with modes held above which the best motion is none of them, and the rounds then
# that may pass.
_FAR, _LONG = 100.0, 24
# Damping at which a step ends at the next kink.
_SHORT = 1e4


def minimise_in_modes(
    chain: DiscreteChain, states: np.ndarray, values: np.ndarray, lower: np.ndarray,
    upper: np.ndarray, solver: LevenbergMarquardt, log: SearchLog, *, settled: bool,
) -> ChainSolution:
    """Minimise the cost of a chain by steps that change modes, then by minima in held modes.

    Args:
        chain: The chain.
        states: Where to begin, shape ``(N, size)``.
        values: Free parameters to begin with, shape ``(k,)``.
        lower: Their lower bounds, shape ``(k,)``.
        upper: Their upper bounds, shape ``(k,)``.
        solver: How steps are taken, and the most of them.
        log: Takes every step.
        settled: Whether the motion was found by a search, with other weights or parameters. It
            keeps its modes at first: steps from a kink lead nowhere, and modes that are undecided
            would move the parameters from round to round.
    """
    if settled:
        found = replace(solver, max_iterations=0).minimise(
            chain, states, values, lower, upper, linearise=chain.linearised)
    else:
        tries = log.at_most(_PATIENCE if chain.switches else solver.max_iterations)
        first = replace(chain, secant=True).linearised if len(values) else None
        found = log.run('modes that change', partial(
            replace(
                solver, max_iterations=tries,
                most_damping=_SHORT if chain.switches else solver.most_damping).minimise,
            chain, states, values, lower, upper, linearise=chain.linearised, predict=first))
    # What has converged by undamped steps is the minimum in its own modes.
    if found.status.ok or not (chain.switches or settled):
        return found
    return _Rounds(chain, lower, upper, solver, log).settled(found)


class _Rounds:
    """Minima with modes held, each in the modes of the one before.

    Args:
        chain: The chain.
        lower: Lower bounds of the free parameters, shape ``(k,)``.
        upper: Their upper bounds, shape ``(k,)``.
        solver: How steps are taken, and the most of them.
        log: Takes every step.
    """

    def __init__(
        self, chain: DiscreteChain, lower: np.ndarray, upper: np.ndarray,
        solver: LevenbergMarquardt, log: SearchLog,
    ) -> None:
        self._chain, self._frozen = chain, replace(chain, frozen=True)
        self._lower, self._upper, self._solver, self._log = lower, upper, solver, log

    def settled(self, found: ChainSolution) -> ChainSolution:
        """The best motion of all rounds.

        Args:
            found: Where they begin.
        """
        there, best, tried = found, found, list(found.iterations)
        least, held, waited, ended = self._cost(found), np.inf, 0, False
        costs = list[float]()
        while not ended and len(tried) < self._solver.max_iterations and self._log.left:
            there = self._held(there, _ROUGH)
            cost, minimum = self._cost(there), there.status is not Status.ITERATION_LIMIT
            tried += there.iterations
            if not np.isfinite(cost):
                break
            held = min(held, there.equations.cost)
            waited = 0 if cost < (1.0 - _KINK) * least else waited + minimum
            # Of a minimum whose own modes are those that were held there is none beside it.
            same = cost <= (1.0 + _KINK) * there.equations.cost
            # Of two minima that lead to one another there is none between.
            circle = np.isclose(cost, costs[-2:-1], rtol=_ROUGH, atol=0.0).any()
            costs.append(cost)
            # What has converged to the last digits does not give way to rough digits.
            if cost < (1.0 - _KINK * best.status.ok) * least:
                best, least = there, cost
            far = least > _FAR * held
            settled = minimum and bool(same or circle)
            ended = settled or waited >= (_LONG if far else _WAITING)
        status = best.status
        if ended:
            # A motion far above what its modes would cost if they could be held is none of them.
            status = Status.INACCURATE if least > _FAR * held else Status.CONVERGED
        if best is not found and self._log.left:
            # To the last digits, in the modes that the best motion has.
            self._cost(best)
            last = self._held(best, self._solver.tolerance)
            tried += last.iterations
            best = last if self._cost(last) < least else best
        return replace(best, status=status, iterations=tuple(tried))

    def _cost(self, found: ChainSolution) -> float:
        """The cost of a motion in the modes that it has, which are held from then on."""
        return self._chain.cost(found.states, found.values)

    def _held(self, start: ChainSolution, tolerance: float) -> ChainSolution:
        """The minimum in the modes that are held."""
        solver = replace(
            self._solver, max_iterations=self._log.at_most(_PATIENCE), tolerance=tolerance)
        return self._log.run('modes held', partial(
            solver.minimise, self._frozen, start.states, start.values, self._lower, self._upper,
            linearise=self._frozen.linearised))
