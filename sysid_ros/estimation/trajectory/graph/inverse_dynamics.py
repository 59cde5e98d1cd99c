"""Inverse dynamics as a factor graph, solved in four stages, each of which begins at the last.

Positions are strongly nonlinear, so all at once would end anywhere: first come positions that
follow the trajectory, then their derivatives, then velocities that the constraints allow, and
torques last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.graph.factors import (
    Equality,
    Euler,
    Factor,
    Prior,
    Selection,
    Trapezoidal,
)
from sysid_ros.estimation.trajectory.graph.graph import FactorGraph, GraphSolution
from sysid_ros.estimation.trajectory.graph.mechanism import Mechanism
from sysid_ros.estimation.trajectory.graph.mechanism_factors import (
    Dynamics,
    PositionConstraints,
    VelocityConstraints,
)
from sysid_ros.estimation.trajectory.graph.simulation import Coordinates, require_one_of
from sysid_ros.estimation.trajectory.graph.smoother import FixedLagSmoother


@dataclass(frozen=True)
class InverseNoise:
    """How well the factors of inverse dynamics hold.

    Attributes:
        tracking: Standard deviation of the trajectory in [rad] or [m], as it is rounded.
        integrator: Of integration, in [rad] and [rad/s], or [m] and [m/s].
        dynamics: Of accelerations in [rad/s²] or [m/s²].
        equality: Of the change of a variable from step to step, in its unit, for first guesses.
        torque: Of torques that change steadily in [N·m].
        jerk: Of the change of their rate from step to step in [N·m/s]: what the trajectory's
            rounding makes of the torque is smoothed as far as this allows.
    """

    tracking: float = 3e-8
    integrator: float = 1e-9
    dynamics: float = 1e-5
    equality: float = 10.0
    torque: float = 1e-3
    jerk: float = 3.0


def inverse_dynamics(
    mechanism: Mechanism, step: float, trajectory: np.ndarray, *,
    coordinates: Coordinates = 'independent', noise: InverseNoise | None = None,
    progress: Callable[[str, GraphSolution], None] | None = None,
) -> GraphSolution:
    """The motion and the torques that follow a trajectory.

    Args:
        mechanism: The mechanism, whose motors drive its independent coordinates.
        step: Time from step to step in [s].
        trajectory: Of the driven coordinates in [rad] or [m], shape ``(N, f)``.
        coordinates: Whether dependent or independent coordinates are integrated. The rule
            contradicts the constraints of dependent ones by the cube of the step, so that
            torques are a little worse.
        noise: How well factors hold.
        progress: Called with every stage's name and solution.

    Returns:
        The solution of the last stage, with torques.

    Raises:
        EstimationError: There are no such coordinates, the trajectory cannot be followed, or a
            stage did not converge.

    References:
        Blanco-Claraco, Leanza and Reina, sections 5.3 and 7.2.
    """
    require_one_of('coordinates', coordinates, get_args(Coordinates))
    noise, count = noise or InverseNoise(), len(trajectory)
    known: list[Factor] = [
        Prior('q', trajectory, noise.tracking, only=mechanism.torques, title='trajectory'),
        PositionConstraints()]
    first = FactorGraph(mechanism, step, count, [*known, Equality('q', noise.equality)])
    start = first.layout.split(FixedLagSmoother(first, 2).run())
    start = dict(_solved('positions', first, start, progress).variables)
    _differentiate(mechanism, start, step)
    for stage, more in _stages(noise, independent=coordinates == 'independent').items():
        known += more
        graph = FactorGraph(mechanism, step, count, known)
        solution = _solved(stage, graph, start, progress)
        start |= solution.variables
    return solution


def _stages(noise: InverseNoise, *, independent: bool) -> dict[str, list[Factor]]:
    """What each stage after the first adds."""
    position, velocity = ('z', 'dz') if independent else ('q', 'v')
    stages: dict[str, list[Factor]] = {
        'derivatives': [
            Trapezoidal(position, noise.integrator), Trapezoidal(velocity, noise.integrator)],
        'velocities': [VelocityConstraints()],
        'torques': [
            Dynamics(noise.dynamics, torque=None, independent=independent),
            Euler('torque', noise.torque), Equality('dtorque', noise.jerk)],
    }
    if independent:
        stages['derivatives'].append(Selection('q'))
        stages['velocities'].append(Selection('v'))
    # What alternates from step to step is not seen by the trapezoidal rule.
    stages['derivatives'].append(Equality('ddz' if independent else 'a', noise.equality))
    return stages


def _differentiate(mechanism: Mechanism, start: dict[str, np.ndarray], step: float) -> None:
    """First guesses of velocities and accelerations from positions."""
    start['z'] = start['q'][:, mechanism.independent]
    for position, velocity, acceleration in (('q', 'v', 'a'), ('z', 'dz', 'ddz')):
        start[velocity] = np.gradient(start[position], step, axis=0, edge_order=2)
        start[acceleration] = np.gradient(start[velocity], step, axis=0, edge_order=2)


def _solved(
    stage: str, graph: FactorGraph, start: dict[str, np.ndarray],
    progress: Callable[[str, GraphSolution], None] | None,
) -> GraphSolution:
    solution = graph.solve(start)
    if not solution.status.ok:
        raise EstimationError(
            f'the stage of {stage} did not converge', where=graph.mechanism.name,
            found=solution.status.value, fix='Give a smoother trajectory, or larger noise')
    if progress is not None:
        progress(stage, solution)
    return solution
