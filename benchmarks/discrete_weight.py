"""Parameters, errors and simulation by the weight of the dynamics: a Furuta pendulum's swing-up.

Thirteen parameters are fitted with weights of missing impulses from 0.1 to 1e6, as in Figs 4 and 5
of the paper on discrete multibody dynamics, and with the likeliest weight, which is what a fit
takes where nothing is said. The truth is no discrete dynamics (see furuta.py); models are judged by
simulation over pieces of 1 s from the states that they were fitted with.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401 (pins before NumPy is loaded)

# isort: on
import json
from pathlib import Path
from typing import Any, NamedTuple

import _support  # noqa: F401
import numpy as np

from support.furuta_problems import SIGMA, THIRTEEN, error, motion, problem_of
from support.furuta_robot import HINGES
from sysid_ros.estimation.trajectory.discrete.coordinates import Coordinates
from sysid_ros.estimation.trajectory.discrete.estimator import (
    DiscreteSolution,
    MaximalCoordinatesEstimator,
)
from sysid_ros.estimation.trajectory.discrete.impulses import MissingImpulses
from sysid_ros.estimation.trajectory.discrete.leapfrog import step_torques
from sysid_ros.estimation.trajectory.discrete.stepper import simulate
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem

PROJECT = Path(__file__).resolve().parents[1]
WEIGHTS = (0.1, 1.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6)
SECONDS, STEP, PIECE = 10.0, 0.01, 1.0
# Moments of which the paper draws the course, less those that a swing-up does not tell.
DRAWN = ('arm.inertia_zz', 'rod.inertia_xx', 'rod.inertia_yy')
# Part by which readings may be off from what their noise explains at the likeliest weight: less is
# overfitted, more is misfitted.
BAR = 0.1


class Tried(NamedTuple):
    """What became of one weight.

    Attributes:
        weight: The weight.
        errors: Of the parameters drawn, relative.
        observed: Root mean square of readings less predicted ones in [rad].
        missing: Root mean square of missing impulses in [N·s] and [N·m·s].
        simulated: Root mean square error of simulated pieces in [rad].
        costs: Over the iterations.
        converged: Whether the search says so.
    """

    weight: float
    errors: np.ndarray
    observed: float
    missing: float
    simulated: float
    costs: list[float]
    converged: bool


def likeliest_weight(problem: TrajectoryProblem) -> float:
    """The weight that a fit finds."""
    notes = MaximalCoordinatesEstimator(prior_strength=None, refinement=1).fit(problem).notes
    (said,) = (note for note in notes if 'state_error_weight' in note)
    return float(said.rstrip('.').rsplit(' ', 1)[-1])


def tried(problem: TrajectoryProblem, weight: float) -> Tried:
    """A fit with a weight."""
    method = MaximalCoordinatesEstimator(prior_strength=None, state_error_weight=weight)
    found = method.solve(problem)
    assert isinstance(found, DiscreteSolution)
    there = problem.with_values(found.values)
    chain = method._chain(there, found)
    parts = chain.residuals(found.states, found.values[problem.free])
    missing = np.concatenate([
        part.values.ravel() for part in parts if isinstance(part, MissingImpulses)])
    readings = np.concatenate([each.ravel() for part in found.residuals for each in part])
    return Tried(
        weight, np.array([error(problem, found.values, name) for name in DRAWN]),
        float(np.sqrt(np.nanmean(readings**2))),
        float(np.sqrt(np.mean(missing**2))) / chain.state_weight,
        simulation_error(method, there, found), [line.cost for line in found.iterations],
        found.status.ok)


def simulation_error(
    method: MaximalCoordinatesEstimator, problem: TrajectoryProblem, found: DiscreteSolution
) -> float:
    """Root mean square of simulated angles less measured ones, piece by piece, in [rad]."""
    robot = method.mechanism(problem)
    mechanism, (segment,) = robot.mechanism, problem.segments
    parameters = robot.parameter_map.body_parameters(
        found.values, len(mechanism.bodies), mechanism.gravity)
    commands = robot.commands(step_torques(segment.torque))
    coordinates, steps = Coordinates(mechanism, HINGES), round(PIECE / segment.step)
    true = np.column_stack([
        np.interp(segment.t, seen.t, seen.values[:, column])
        for seen in segment.observations for column in range(seen.values.shape[1])])
    off = []
    for first in range(0, len(commands) - steps + 1, steps):
        piece = simulate(
            mechanism.arrays, parameters, found.states[first], commands[first:first + steps],
            segment.step)
        off.append(coordinates.of(piece.states).position - true[first:first + steps + 1])
    # Whole turns do not count.
    return float(np.sqrt(np.mean(np.angle(np.exp(1j * np.concatenate(off)))**2)))


def draw(swept: list[Tried], likeliest: Tried) -> str:
    """Parameters, errors and costs, as a picture; returns its place in the project."""
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    chart, axes = pyplot.subplots(1, 4, figsize=(15, 3.4), layout='constrained')
    weights = [one.weight for one in swept]
    for k, name in enumerate(DRAWN):
        axes[0].semilogx(weights, [100 * one.errors[k] for one in swept], 'o-', label=name)
    for axis, field, label in (
            (axes[1], 'observed', 'readings [rad]'), (axes[1], 'missing', 'impulses [N·s, N·m·s]'),
            (axes[2], 'simulated', f'simulated, {PIECE:g} s [rad]')):
        axis.loglog(weights, [getattr(one, field) for one in swept], 'o-', label=label)
    for one in swept:
        axes[3].loglog(1 + np.arange(len(one.costs)), one.costs, label=f'{one.weight:g}')
    for axis, title in zip(
            axes, ('error of parameters [%]', 'root mean square', 'simulation', 'cost'),
            strict=True):
        axis.set(title=title, xlabel='state_error_weight')
        axis.legend(fontsize='x-small')
        axis.grid(visible=True, alpha=0.3)
    for axis in axes[:3]:
        axis.axvline(likeliest.weight, color='black', linestyle=':')
    axes[0].set_ylim(-20, 20)
    axes[3].set_xlabel('iteration')
    place = Path('runs') / 'benchmarks' / 'discrete_weight.png'
    (PROJECT / place).parent.mkdir(parents=True, exist_ok=True)
    chart.savefig(PROJECT / place, dpi=110)
    pyplot.close(chart)
    return str(place)


def main() -> None:
    """Sweep, and print the figures as JSON last."""
    recorded = motion('swing_up', SECONDS, True)
    problem = problem_of(recorded, STEP, THIRTEEN, friction='bearings')
    swept = [tried(problem, weight) for weight in WEIGHTS]
    likeliest = tried(problem, likeliest_weight(problem))
    print('weight, errors of ' + ', '.join(DRAWN) + ' [%]; rms of readings, missing impulses; '
          f'simulation over {PIECE:g} s [rad]; iterations')
    for one in (*swept, likeliest):
        print(f'  {one.weight:8.3g} ' + ' '.join(f'{100 * part:+8.2f}' for part in one.errors)
              + f'  {one.observed:.3e} {one.missing:.3e} {one.simulated:.3e} {len(one.costs)}'
              + ('' if one.converged else '  not converged')
              + ('  the likeliest' if one is likeliest else ''))
    best = min(swept, key=lambda one: one.simulated)
    off = abs(likeliest.observed / SIGMA - 1.0)
    figures: list[dict[str, Any]] = [
        {'name': 'residuals of readings at the likeliest weight, off from their noise by',
         'value': 100.0 * off, 'unit': '%', 'ratio': None, 'bar': f'<= {100.0 * BAR:g} %',
         'reference': f'state_error_weight {likeliest.weight:.2g}',
         'ok': bool(off <= BAR and likeliest.converged), 'figure': draw(swept, likeliest)},
        {'name': f'simulation over {PIECE:g} s at the likeliest weight, over the best of the sweep',
         'value': likeliest.simulated / best.simulated, 'unit': '', 'ratio': None, 'bar': None,
         'reference': f'best at {best.weight:.2g}', 'ok': True}]
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
