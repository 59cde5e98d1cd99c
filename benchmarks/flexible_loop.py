"""An arm identifies the flexible loop in its gripper: Caldwell, Coleman and Correll's experiment.

Seven joints, a loop of 0.355 m and 0.132 kg in 12 links (31 coordinates, 12 constraints), 20 s at
100 Hz. Truth is simulated in steps of 1 ms; joint positions carry noise of 3 mrad and torques of
0.1 N·m; both stiffnesses are sought from [5, 5]. The paper needed 219.05 minutes, on other
hardware and with real measurements.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401 (pins before NumPy is loaded)

# isort: on
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import _support  # noqa: F401
import numpy as np

from support import flexible_experiment as experiment

SEEDS, LINKS, REPEATS = 20, (6, 12, 24, 48), 5
PUBLISHED = 219.05 * 60.0
WITHIN, INSIDE, COVERED, WARM, COLD, SPEEDUP = 0.02, 19, 17, 2.0, 10.0, 6000.0
#: Recordings of energy: steps of a pendulum, a double pendulum and a four-bar.
STEPS = 100_000


def figure(name: str, value: float, unit: str, bar: float | None = None, sign: str = '<=',
           **more: Any) -> dict[str, Any]:
    """A figure for the table of all benchmarks."""
    ok = bar is None or (value <= bar if sign == '<=' else value >= bar)
    return {
        'name': name, 'value': value, 'unit': unit, 'reference': None, 'ratio': None,
        'bar': None if bar is None else f'{sign} {bar:g} {unit}'.strip(), 'ok': bool(ok)} | more


def seconds_of(work: Any) -> float:
    """Processor time of work in [s], the least of some, after it was compiled."""
    times = []
    for _ in range(REPEATS + 1):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times[1:])


def identify(table: Any, playback: Any) -> Any:
    """The whole identification, from the recording to intervals."""
    from sysid_ros.estimation.trajectory.playback.identified import identified
    from sysid_ros.estimation.trajectory.playback.search import gauss_newton

    found = gauss_newton(experiment.problem_of(table, playback))
    if not found.status.ok:
        raise SystemExit(found.status.value)
    return identified(found)


def cold(recording: str) -> None:
    """In a process of its own: everything from the start of the interpreter to intervals.

    Args:
        recording: File of the positions and torques that were recorded.
    """
    with np.load(recording) as real:
        playback = SimpleNamespace(**real)
    table = experiment.bench()
    identify(table, experiment.recorded(table, playback, 0))
    print(time.process_time())


def fresh(real: Any) -> list[dict[str, Any]]:
    """Identification in fresh processes: nothing compiled yet, then with kernels from the cache."""
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder) / 'recording.npz'
        np.savez(recording, positions=real.positions, torque=real.torque)
        for name, bar in (('imports and compilation', COLD), ('imports, compiled before', None)):
            found = subprocess.run(
                [sys.executable, __file__, '--cold', str(recording)], check=True, text=True,
                stdout=subprocess.PIPE, env=os.environ | {'NUMBA_CACHE_DIR': folder})
            figures.append(figure(
                f'identification in a fresh process with {name}', float(found.stdout), 's', bar))
    return figures


def accuracy(table: Any, real: Any) -> list[dict[str, Any]]:
    """Errors and intervals over seeds of noise, the level of the noise being told or not."""
    errors, inside, times = [], {False: [], True: []}, []
    for seed in range(SEEDS):
        for told in (False, True):
            playback = experiment.recorded(table, real, seed, told=told)
            begin = time.process_time()
            result = identify(table, playback)
            times.append(time.process_time() - begin)
            intervals = result.intervals()
            inside[told].append(
                np.all((intervals - experiment.TRUTH[:, None]) * [-1.0, 1.0] > 0.0, axis=1))
        errors.append(np.log(result.values / experiment.TRUTH))
    errors = np.array(errors)
    print(f'errors of kappa_theta and kappa_psi: mean {100 * errors.mean(axis=0)} %, standard '
          f'deviation {100 * errors.std(axis=0)} %, largest {100 * np.abs(errors).max(axis=0)} %')
    good = int((np.abs(errors) < WITHIN).all(axis=1).sum())
    whole = float(np.median(times))
    return [
        figure(f'both stiffnesses within 2 %, of {SEEDS} seeds', good, '', INSIDE, '>='),
        *(figure(f'95 % intervals of {name} that hold the truth, of {SEEDS}, from {source}',
                 int(np.sum(inside[told], axis=0)[k]), '', COVERED, '>=')
          for told, source in ((False, 'residuals'), (True, 'levels of noise'))
          for k, name in enumerate(('kappa_theta', 'kappa_psi'))),
        figure('identification of 20 s, compiled', whole, 's', WARM),
        figure('the same in the paper, over ours', PUBLISHED / whole, '', SPEEDUP, '>=',
               reference='219.05 min, other hardware'),
    ]


def searches(table: Any, playback: Any) -> list[dict[str, Any]]:
    """Convergence of the three searches, and a plot of it where asked for."""
    from sysid_ros.estimation.trajectory.playback.search import (
        gauss_newton,
        lbfgs,
        steepest_descent,
    )
    from sysid_ros.report.playback_figure import convergence_figure

    problem, logs, figures = experiment.problem_of(table, playback), {}, []
    for name, search in (
            ('Gauss-Newton', gauss_newton), ('L-BFGS', lbfgs),
            ('steepest descent', steepest_descent)):
        begin = time.process_time()
        found = search(problem)
        spent = time.process_time() - begin
        logs[name] = found
        print(f'{name}: {len(found.steps)} steps, {sum(s.simulations for s in found.steps)} '
              f'simulations, {found.values} N·m/rad, cost {found.point.cost:.2f}: '
              f'{found.status.value}')
        figures.append(figure(name, spent, 's'))
    if len(sys.argv) > 1:
        convergence_figure(sys.argv[1], logs)
    return figures


def growth() -> list[dict[str, Any]]:
    """Time of a step with sensitivities and of the adjoint, by the number of links."""
    figures = []
    for links in LINKS:
        table = experiment.bench(links)
        real = experiment.truth(table, seconds=1.0)
        problem = experiment.problem_of(table, experiment.recorded(table, real, 0))
        logs = np.log(experiment.TRUTH)
        point = problem.evaluate(logs)
        problem = problem.scheduled(point)
        steps = int(point.motions[0].steps.sum())
        for name, work in (
                ('a step', lambda p=problem, x=logs: p.evaluate(x)),
                ('a step with sensitivities',
                 lambda p=problem, x=logs: p.evaluate(x, derivatives=True)),
                ('a step back of the adjoint', lambda p=problem, x=point: p.gradient(x))):
            figures.append(figure(
                f'{links} links ({7 + 2 * links} coordinates), {name}',
                1e6 * seconds_of(work) / steps, 'µs'))
    return figures


def energy() -> list[dict[str, Any]]:
    """Drift of the energy over its swing, and the largest gap, over many steps."""
    from support.closed_robots import CLOSED
    from support.golden_problems import pendulum_urdf
    from support.variational_systems import closed_model, double_pendulum, free, within
    from sysid_ros.mechanics.integrators.variational.integrator import VariationalIntegrator
    from sysid_ros.mechanics.torque_model import TorqueModel
    from sysid_ros.robot.model import RobotModel

    pendulum = TorqueModel(RobotModel.from_urdf(pendulum_urdf()))
    single = len(pendulum.robot.joint_names)
    model, closures, q = closed_model(CLOSED['four_bar']())
    systems = (
        ('pendulum', pendulum, (), np.full(single, 1.5), np.zeros(single)),
        ('double pendulum', double_pendulum(), (), np.array([1.2, 0.6]), np.zeros(2)),
        ('four-bar', model, closures, q, within(model, closures, q)))
    figures = []
    for name, model, closures, q, v in systems:
        integrator = VariationalIntegrator(model, closures, q)
        values = model.parameters.values
        motion = integrator.run(values, [free(model, q, v, STEPS + 1, 0.005)])[0]
        found = integrator.read(values, motion)
        tenth = STEPS // 10
        drift = abs(found.energies[-tenth:].mean() - found.energies[:tenth].mean())
        figures.append(figure(
            f'{name}, {STEPS} steps: drift of the energy over what it swings by',
            float(drift / np.ptp(found.energies)), '', 0.05))
        if closures:
            figures.append(figure(
                f'{name}: largest gap', float(found.gaps.max()), 'm', 1e-10))
    return figures


def main() -> None:
    table = experiment.bench()
    real = experiment.truth(table)
    figures = accuracy(table, real)
    figures += fresh(real)
    figures += searches(table, experiment.recorded(table, real, 0))
    figures += growth()
    figures += energy()
    print(json.dumps(figures))


if __name__ == '__main__':
    if sys.argv[1:2] == ['--cold']:
        cold(sys.argv[2])
    else:
        main()
