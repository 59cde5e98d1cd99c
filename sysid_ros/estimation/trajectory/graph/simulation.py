"""Forward dynamics as factor graphs, in dependent and in independent coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from sysid_ros.errors import EstimationError, did_you_mean
from sysid_ros.estimation.trajectory.graph.factors import (
    Equality,
    Euler,
    Factor,
    Prior,
    Selection,
    Trapezoidal,
)
from sysid_ros.estimation.trajectory.graph.graph import FactorGraph
from sysid_ros.estimation.trajectory.graph.mechanism import Mechanism
from sysid_ros.estimation.trajectory.graph.mechanism_factors import (
    AccelerationConstraints,
    Dynamics,
    PositionConstraints,
    VelocityConstraints,
)

Coordinates = Literal['dependent', 'independent']
Integrator = Literal['trapezoidal', 'euler']


def require_one_of(what: str, word: str, words: tuple[str, ...]) -> None:
    """Refuse a word that is none of those that are known.

    Args:
        what: What the word is for.
        word: The word.
        words: Those that are known.

    Raises:
        EstimationError: It is none of these.
    """
    if word not in words:
        raise EstimationError(
            'there is no such choice', where=what, found=repr(word), allowed=', '.join(words),
            fix=did_you_mean(word, words))


@dataclass(frozen=True)
class SimulationNoise:
    """How well the factors of forward dynamics hold; only their ratios matter.

    Attributes:
        integrator: Standard deviation of integration.
        dynamics: Of accelerations.
        equality: Of soft equality between steps, a bias; None to leave it out.
    """

    integrator: float = 0.1
    dynamics: float = 0.01
    equality: float | None = None


def forward_dynamics(
    mechanism: Mechanism, step: float, count: int, *, coordinates: Coordinates = 'dependent',
    integrator: Integrator = 'trapezoidal', torque: np.ndarray | float = 0.0,
    start: Mapping[str, np.ndarray] | None = None, noise: SimulationNoise | None = None,
    accelerations: bool = False,
) -> FactorGraph:
    """The graph of a motion that is caused by known torques (Figures 2 and 3 of the paper).

    Args:
        mechanism: The mechanism.
        step: Time from step to step in [s].
        count: How many steps there are.
        coordinates: Whether dependent or independent coordinates are integrated.
        integrator: The rule.
        torque: In [N·m], shape ``(u,)`` or ``(N, u)``.
        start: Positions ``q`` and velocities ``v`` of the first step, shape ``(n,)``; as
            assembled and at rest where left out.
        noise: How well factors hold.
        accelerations: Whether independent coordinates come with dependent accelerations.

    Raises:
        EstimationError: There are no such coordinates, or no such rule.

    References:
        Blanco-Claraco, Leanza and Reina, sections 5.1, 5.2 and 7.1, Table 2.
    """
    require_one_of('coordinates', coordinates, get_args(Coordinates))
    require_one_of('integrator', integrator, get_args(Integrator))
    noise = noise or SimulationNoise()
    dependent = coordinates == 'dependent'
    given = {'q': mechanism.assembly, 'v': np.zeros(len(mechanism.coordinates)), **(start or {})}
    rule = Trapezoidal if integrator == 'trapezoidal' else Euler
    names = ('q', 'v') if dependent else ('z', 'dz')
    chosen = slice(None) if dependent else mechanism.independent
    factors: list[Factor] = [
        Prior(name, given[whole][chosen], 0.0, at=0)
        for name, whole in zip(names, ('q', 'v'), strict=True)]
    factors += [PositionConstraints(), VelocityConstraints()]
    if not dependent:
        factors += [Selection('q'), Selection('v')]
        if accelerations:
            factors += [AccelerationConstraints(), Selection('a')]
    factors.append(Dynamics(noise.dynamics, torque=torque, independent=not dependent))
    factors += [rule(name, noise.integrator) for name in names]
    if noise.equality is not None:
        factors.append(Equality('q', noise.equality))
    return FactorGraph(mechanism, step, count, factors)
