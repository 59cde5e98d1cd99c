"""A Furuta pendulum by discrete multibody dynamics: bias by step, thirteen parameters, stiffness.

The truth is no discrete dynamics, but the machine's equations in two angles, integrated to
rounding (Table G.5 of the paper on discrete multibody dynamics); encoders have noise of 1 mrad.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401 (pins before NumPy is loaded)

# isort: on
import json
import time
from pathlib import Path
from typing import Any

import _support  # noqa: F401
import numpy as np

from support.furuta_problems import (
    FOUR,
    THIRTEEN,
    error,
    motion,
    parallel_axis_term,
    problem_of,
)
from sysid_ros.estimation.trajectory.discrete.estimator import MaximalCoordinatesEstimator
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.solution import TrajectorySolution

PROJECT = Path(__file__).resolve().parents[1]
# Steps of the study of bias, and of the extrapolation, in [s]; compliances in [m/N].
STEPS, TWO = (0.02, 0.01, 0.005, 0.002, 0.001), (0.01, 0.005)
COMPLIANCES = (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
# Compliance in [m/N] up to which joints give way by nothing that encoders tell.
STIFF = 1e-7


def solved(
    problem: TrajectoryProblem, **settings: Any
) -> tuple[TrajectorySolution, float, MaximalCoordinatesEstimator]:
    """A fit without prior, and what it took in [s]."""
    estimator = MaximalCoordinatesEstimator(prior_strength=None, **settings)
    start = time.process_time()
    found = estimator.solve(problem)
    return found, time.process_time() - start, estimator


def figure(name: str, value: float, unit: str, bar: float | None, **more: Any) -> dict[str, Any]:
    """A figure for the table of all benchmarks, whose size must not exceed its bar."""
    return {
        'name': name, 'value': value, 'unit': unit, 'reference': None, 'ratio': None,
        'bar': None if bar is None else f'<= {bar:g} {unit}',
        'ok': bar is None or bool(abs(value) <= bar)} | more


def four() -> list[dict[str, Any]]:
    """Four parameters of a release: the bias by step, and extrapolated."""
    recorded, figures, errors = motion('release', 10.0), [], {}
    print('release, 10 s: errors of J_Azz, J_Byy, b1, b2 by step, all at their true values else')
    for gyroscopic in ('averaged', 'explicit'):
        for step in STEPS:
            problem = problem_of(recorded, step, FOUR)
            found, seconds, _ = solved(
                problem, state_error_weight=1e6, gyroscopic=gyroscopic)
            line = [error(problem, found.values, name) for name in FOUR]
            errors[gyroscopic, step] = np.array(line)
            print(f'  {gyroscopic:9s} {1e3 * step:4.0f} ms ' + ' '.join(
                f'{100 * part:+8.2f} %' for part in line)
                + f'  {len(found.iterations)} iterations, {seconds:.1f} s, {found.status.name}')
    for name, part in zip(FOUR, errors['averaged', 0.001], strict=True):
        figures.append(figure(f'{name}, step of 1 ms', 100 * part, '%', 2.0))
    # Averaged forces make errors of second order.
    long, short = (errors['averaged', step] for step in TWO)
    for name, part in zip(FOUR, (4.0 * short - long) / 3.0, strict=True):
        figures.append(figure(f'{name}, extrapolated from 10 and 5 ms', 100 * part, '%', 3.0))
    draw(errors)
    return figures


def draw(errors: dict[tuple[str, float], np.ndarray]) -> None:
    """Bias by step, as a picture."""
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    chart, axes = pyplot.subplots(1, 4, figsize=(12, 3), layout='constrained')
    for k, (axis, name) in enumerate(zip(axes, FOUR, strict=True)):
        for kind, style in (('averaged', 'o-'), ('explicit', 's--')):
            axis.loglog(
                [1e3 * step for step in STEPS],
                [100 * abs(errors[kind, step][k]) for step in STEPS], style, label=kind)
        axis.set(title=name, xlabel='step [ms]')
        axis.grid(visible=True, which='both', alpha=0.3)
    axes[0].set_ylabel('error [%]')
    axes[0].legend(title='gyroscopic forces')
    folder = PROJECT / 'runs' / 'benchmarks'
    folder.mkdir(parents=True, exist_ok=True)
    chart.savefig(folder / 'furuta_bias.png', dpi=110)
    print(f'  drawn in {folder / "furuta_bias.png"}')


def thirteen() -> list[dict[str, Any]]:
    """Thirteen parameters of a swing-up: iterations, what it takes, what is not told."""
    recorded = motion('swing_up', 10.0, True)
    problem = problem_of(recorded, 0.01, THIRTEEN, friction='bearings')
    found, seconds, estimator = solved(problem, state_error_weight=100.0)
    estimate, _ = estimator.fitted(problem)
    print(f'swing-up, 10 s at 10 ms, thirteen parameters: {found.status.name}')
    for line in found.iterations:
        print(f'  cost {line.cost:.6g}')
    for name in THIRTEEN:
        index = problem.parameters.index(name)
        print(f'  {name:28s} {found.values[index] - parallel_axis_term(name):10.5f} '
              f'({estimate.standard_deviation[index]:.1e})')
    silent = {
        name for name in THIRTEEN
        if np.isinf(estimate.standard_deviation[problem.parameters.index(name)])}
    expected = {'arm.inertia_xx', 'arm.inertia_yy', 'gravity.tilt_z'}
    print(f'  not told: {", ".join(sorted(silent))}')
    # The same with 4000 steps.
    fine = problem_of(motion('swing_up', 4.0, True), 0.001, THIRTEEN, friction='bearings')
    solved(fine, state_error_weight=100.0)
    # From one step tried to the next: a step, what it leads to, and derivatives there.
    ticks: list[float] = []
    MaximalCoordinatesEstimator(prior_strength=None, state_error_weight=100.0).solve(
        fine, lambda line: ticks.append(time.process_time()))
    each = float(np.mean(np.diff(ticks)))
    fit, whole, _ = solved(fine, state_error_weight=100.0)
    count = len(fit.iterations)
    print(f'  4000 steps: {count} iterations of {each:.3f} s; with smoothing before and '
          f'covariances behind {whole:.2f} s, {fit.status.name}')
    return [
        figure('13 parameters, 10 ms: iterations', len(found.iterations), '', 8.0),
        figure('13 parameters: told by mistake, or not', float(len(silent ^ expected)), '', 0.0),
        figure('13 parameters, 1 ms: iterations', count, '', 8.0),
        figure('4000 steps, 13 parameters: an iteration', each, 's', 0.12,
               reference=f'{whole / count:.3f} s with what comes before and behind'),
        figure('4000 steps, 13 parameters: the fit', whole, 's', 1.0,
               reference='published 6.6 s for 6 iterations on other hardware')]


def stiff() -> list[dict[str, Any]]:
    """Compliances from soft to stiff: implicit residuals, and those that were published."""
    recorded = motion('release', 4.0)
    problem = problem_of(recorded, 0.01, FOUR)
    print('compliance, and errors of J_Azz and J_Byy: implicit residuals, published ones')
    found = []
    for compliance in COMPLIANCES:
        softness = {'compliance': compliance, 'angular_compliance': compliance}
        fits = [
            solved(problem, residual=residual, max_iterations=40, state_error_weight=1e4,
                   **softness)[0]
            for residual in ('implicit', 'published')]
        found.append(fits[0].values[[problem.parameters.index(name) for name in FOUR]])
        print(f'  {compliance:.0e} m/N ' + '   '.join(
            ' '.join(f'{100 * error(problem, fit.values, name):+8.2f} %' for name in FOUR[:2])
            + f' {fit.status.name} in {len(fit.iterations)}' for fit in fits))
    values = np.array(found)[:, :2]
    stiffer = values[np.array(COMPLIANCES) <= STIFF]
    figures = []
    for name, hard, all_of_them in zip(
            FOUR[:2], *(np.ptp(part, axis=0) / np.mean(part, axis=0) for part in (stiffer, values)),
            strict=True):
        figures.append(figure(
            f'{name}, compliances from {STIFF:g} to 1e-10 m/N: spread', float(hard), '', 1e-4,
            reference=f'from 1e-5 m/N on {all_of_them:.1e}: such joints give way under load'))
    return figures


def main() -> None:
    figures = four() + thirteen() + stiff()
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
