"""Real pendulums by shooting: what a stage of the integration and a fit take, and unseen errors.

Fits begin at uniform rods and are judged on segments that they have not seen. The friction
models are nested, each fitted from where the smaller one ended.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401 (pins before NumPy is loaded)

# isort: on
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import _support  # noqa: F401
import numpy as np

from support import pendulum_recordings as pendulums
from sysid_ros.estimation.trajectory.discrete.estimator import MaximalCoordinatesEstimator
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.search_log import SearchLog
from sysid_ros.estimation.trajectory.shooting_estimator import ShootingEstimator
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, Simulator

PROJECT = Path(__file__).resolve().parents[1]
# Steps of 10 ms; 20 ms and short pieces for friction that is not compiled.
EVERY = 10
STAGE_BAR, SECONDS_BAR, SINGLE_BAR, DOUBLE_BAR = 4.0, 2.0, 0.02, (0.0055, 0.0078)
# The general way and the compiled one differ in rounding.
ROUNDING, REPEATS = 1e-9, 5
# Discrete dynamics: missing impulses weigh ever more, and forces like moments at 0.1 m.
DISCRETE_WEIGHTS, DISCRETE_LEVER = (1e2, 1e3, 1e5), 0.1


def figure(name: str, value: float, unit: str, bar: float | None, **more: Any) -> dict[str, Any]:
    """A figure for the table of all benchmarks, which must not exceed its bar."""
    return {
        'name': name, 'value': value, 'unit': unit, 'reference': None, 'ratio': None,
        'bar': None if bar is None else f'<= {bar:g} {unit}',
        'ok': bar is None or value <= bar} | more


def seconds_of(work: Callable[[], object]) -> float:
    """Processor time of work in [s], the least of some, after it was compiled."""
    times = []
    for _ in range(REPEATS + 1):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times[1:])


def problem_of(pendulum: Any, folder: Path, every: int = EVERY) -> TrajectoryProblem:
    """The fit of a pendulum with viscous friction."""
    model = pendulum.model()
    return TrajectoryProblem(
        model, pendulum.parameters(model), pendulum.segments(folder, 'id', every))


def stage(problem: TrajectoryProblem) -> dict[str, Any]:
    """A stage of the integration with derivatives by the start and all free parameters."""
    simulator = Simulator(problem.model, problem.free)
    trajectories = [
        InputTrajectory(segment.start, segment.torque, segment.step)
        for segment in problem.segments]
    stages = 4 * sum(len(trajectory.torque) - 1 for trajectory in trajectories)
    seconds = seconds_of(lambda: simulator.run(problem.parameters.values, trajectories))
    return figure(
        f'Runge-Kutta stage of two joints, {simulator.width} derivatives each',
        1e6 * seconds / stages, 'µs', STAGE_BAR)


def fit(
    pendulum: Any, folder: Path, starts: str, method: str = '', **settings: Any
) -> tuple[list[dict[str, Any]], Any]:
    """Time and errors of one fit."""
    problem, unseen = problem_of(pendulum, folder), pendulum.segments(folder, 'vad')
    solution = pendulums.fitted(problem, starts=starts, **settings)
    if not solution.status.ok:
        raise SystemExit(f'{pendulum.name}: {solution.status.value}')
    seconds = seconds_of(lambda: pendulums.fitted(problem, starts=starts, **settings))
    errors = {
        kind: pendulums.held_out(problem, solution.values, unseen, kind)
        for kind in ('recorded', 'estimated')}
    print(f'{pendulum.name}{method}, starts {starts} in the fit: {seconds:.2f} s')
    for kind, table in errors.items():
        print(f'  unseen segments, start {kind} [rad]:\n{np.array2string(table, precision=4)}')
    name = f'{pendulum.name}{method} fit, starts {starts}'
    return [figure(name, seconds, 's', SECONDS_BAR)], errors


def consistent(problem: TrajectoryProblem) -> TrajectoryProblem:
    """A pendulum with bodies that are real ones, from a fit in which all parameters are free.

    Bodies in maximal coordinates need their inertia about all axes, though a plane shows one.
    """
    parameters = problem.parameters
    free = replace(parameters, free=np.ones(len(parameters), dtype=bool))
    found = ShootingEstimator(starts='recorded').solve(replace(problem, parameters=free))
    return replace(problem, parameters=parameters.with_values(found.values))


def discrete(pendulum: Any, folder: Path) -> list[dict[str, Any]]:
    """Time and errors of a fit by discrete multibody dynamics, from soft dynamics to hard."""
    problem, unseen = problem_of(pendulum, folder), pendulum.segments(folder, 'vad')
    begin, motion, problem = time.process_time(), None, consistent(problem)
    for weight in DISCRETE_WEIGHTS:
        estimator = MaximalCoordinatesEstimator(
            state_error_weight=weight, lever=DISCRETE_LEVER, prior_strength=None)
        if motion is not None:
            problem = replace(problem, parameters=problem.parameters.with_values(motion.values))
        motion = estimator.search(
            problem, estimator.at(problem, motion), SearchLog(estimator.max_iterations))
    seconds = time.process_time() - begin
    print(f'{pendulum.name}, discrete dynamics: {motion.status.value} {seconds:.2f} s, '
          f'{dict(zip(problem.parameters.names, motion.values.round(7).tolist(), strict=True))}')
    found = {
        kind: pendulums.held_out(problem, motion.values, unseen, kind).mean(axis=0)
        for kind in ('recorded', 'estimated')}
    return [
        figure(
            f'{pendulum.name}, discrete dynamics, unseen angle {joint + 1}', float(value), 'rad',
            None, reference=f'start estimated {found["estimated"][joint]:.4f}, {seconds:.1f} s')
        | {'ok': motion.status.ok}
        for joint, value in enumerate(found['recorded'])]


def friction(pendulum: Any, folder: Path) -> dict[str, Any]:
    """Table of nested friction models; the figure is the largest relative rise of the cost."""
    unseen = pendulum.segments(folder, 'vad', EVERY)
    found = pendulums.nested(
        pendulum, pendulum.segments(folder, 'id', 2 * EVERY), horizon=0.7, max_iterations=40)
    costs = []
    print(f'{pendulum.name}: friction, cost, errors on unseen segments, start recorded, estimated')
    for name, (problem, solution) in found.items():
        costs.append(pendulums.cost(problem, solution))
        means = ' '.join(
            np.array2string(
                pendulums.held_out(problem, solution.values, unseen, kind).mean(axis=0),
                precision=4)
            for kind in ('recorded', 'estimated'))
        print(f'  {name:16s} {costs[-1]:9.2f}  {means}  {solution.status.value}')
    rise = float(np.max(np.array(costs[1:]) / costs[:-1])) - 1.0
    return figure(
        f'{pendulum.name}, cost of a larger friction model over the smaller, less one', rise,
        '', ROUNDING)


def main() -> None:
    named = os.environ.get('SYSID_DATA')
    folder = Path(named) if named else PROJECT.parent / 'shared' / 'data'
    if not (folder / 'multiarm_pendulum').is_dir():
        print('no recordings; set SYSID_DATA to the folder of the measurements')
        print('[]')
        return
    single, double = pendulums.SINGLE, pendulums.DOUBLE
    figures = [stage(problem_of(double, folder))]
    times, errors = fit(single, folder, 'estimated')
    worst = float(errors['estimated'].max())
    figures += [*times, figure(
        'SinglePendulum, worst unseen segment, start estimated', worst, 'rad', SINGLE_BAR,
        reference=f'from the recorded start {errors["recorded"].max():.4f}')]
    variational = {'method': ', variational', 'integrator': 'midpoint', 'substeps': 4}
    for starts, settings in (
            ('estimated', {}), ('recorded', {}), ('recorded', variational)):
        times, errors = fit(double, folder, starts, **settings)
        figures += times
        for joint, bar in enumerate(DOUBLE_BAR):
            method = settings.get('method', '')
            figures.append(figure(
                f'DoublePendulum{method}, starts {starts} in the fit, unseen angle {joint + 1}',
                float(errors['recorded'][:, joint].mean()), 'rad', bar,
                reference=f'start estimated {errors["estimated"][:, joint].mean():.4f}'))
    figures += [*discrete(single, folder), *discrete(double, folder)]
    figures += [friction(pendulum, folder) for pendulum in (single, double)]
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
