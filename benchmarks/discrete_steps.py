"""Long simulations in discrete steps: energy, violated constraints, and how long steps take.

A Furuta pendulum without friction is let go near upright, a four-bar of redundant hinges turns, and
both go on for a hundred thousand steps of a millisecond. Energy is that of the bodies, of poses and
of velocities half a step around them; it may go up and down with the motion, but not away. A figure
of both goes to the file that is named, if one is.

Then processor times of the Furuta pendulum with friction that follows the load: of a step, of a
step with its derivatives by both bodies' states and 13 parameters, and of a step as one
complementarity problem.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401 (pins before NumPy is loaded)

# isort: on
import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _support  # noqa: F401
import numpy as np
from scipy.spatial.transform import Rotation

from support import stepper_scenes as scenes
from sysid_ros.estimation.trajectory.discrete import sweep
from sysid_ros.estimation.trajectory.discrete.coordinates import evaluate_rows_at
from sysid_ros.estimation.trajectory.discrete.mechanism import Mechanism
from sysid_ros.estimation.trajectory.discrete.mechanism_arrays import workspace_for
from sysid_ros.estimation.trajectory.discrete.stepper import complement
from sysid_ros.robot.inertia import inertia_matrix

truth = scenes.truth
H, STEPS, TIMED = 1e-3, 100_000, 4000
# Of the greatest kinetic energy; in [m] of mechanisms of a quarter of one; in [µs].
ENERGY_BAR, GAP_BAR, STEP_BAR = 5e-3, 1e-4, 15.0
#: Thirteen parameters of every sort, as many as the paper identifies; not the same ones.
SOUGHT = (
    'arm.inertia_yy', 'rod.inertia_xx', 'rod.inertia_yy', 'rod.inertia_zz', 'rod.mass',
    'hinge_1.viscous_friction', 'hinge_2.viscous_friction', 'hinge_1.bearing_friction',
    'hinge_2.bearing_friction', 'hinge_1.drive_gain', 'gravity.tilt_x', 'gravity.tilt_y',
    'gravity.tilt_z')


def energies(mechanism: Mechanism, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kinetic energy half a step before each pose, and potential energy, in [J], ``(S,)``."""
    kinetic, potential = np.zeros((2, len(states)))
    gravity = mechanism.gravity
    for k, body in enumerate(mechanism.bodies):
        own = states[:, 13 * k:13 * k + 13]
        turn = Rotation.from_quat(own[:, 3:7])
        spin = turn.inv().apply(own[:, 10:])
        mass = body.inertial[0]
        kinetic += 0.5 * mass * (own[:, 7:10] ** 2).sum(axis=1)
        kinetic += 0.5 * np.einsum('si,ij,sj->s', spin, inertia_matrix(body.inertial), spin)
        potential -= mass * own[:, :3] @ gravity
    return kinetic, potential


def energy_and_gap(mechanism: Mechanism, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Change of energy as a part of the greatest kinetic one, and the worst gap, by steps."""
    motion = scenes.stepped(mechanism, start, STEPS, H)
    kinetic, potential = energies(mechanism, motion.states)
    # Velocities are those between poses.
    total = 0.5 * (kinetic[1:-1] + kinetic[2:]) + potential[1:-1]
    rows = mechanism.rows_of(mechanism.constraints)
    gaps = np.concatenate([
        np.abs(evaluate_rows_at(mechanism, rows, part).value).max(axis=1)
        for part in np.array_split(motion.states, 50)])
    return (total - total[0]) / kinetic.max(), gaps[1:-1]


def long_runs() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Courses of both mechanisms."""
    plant = truth.Furuta(friction=(truth.Friction(), truth.Friction()))
    damping = 0.25 * H
    return {
        'Furuta pendulum': energy_and_gap(
            scenes.furuta(plant, damping=damping),
            scenes.half_a_step_before(plant, [0.0, np.pi - 0.03], [0.0, 0.0], H)),
        'four-bar': energy_and_gap(
            scenes.four_bar(damping=damping), scenes.four_bar_state(0.7, 4.0))}


def figures_of(name: str, change: np.ndarray, gaps: np.ndarray) -> list[dict[str, Any]]:
    """What remains of energy and constraints after so many steps."""
    tenth = len(change) // 10
    drift = float(change[-tenth:].mean() - change[:tenth].mean())
    largest, worst = float(np.abs(change).max()), float(gaps.max())
    later = float(gaps[-tenth:].max() / gaps[:tenth].max())
    print(f'{name}: energy moves by {largest:.2g} of the greatest kinetic one, its mean by '
          f'{drift:.2g}; constraints are violated by at most {worst:.2g} m, in the last tenth '
          f'{later:.2g} times as much as in the first')
    return [
        {'name': f'{name}, {STEPS} steps of {H:g} s, change of energy', 'value': largest,
         'unit': 'of the greatest kinetic', 'reference': f'drift of its mean {drift:.2g}',
         'bar': f'<= {ENERGY_BAR:g}', 'ok': largest <= ENERGY_BAR},
        {'name': f'{name}, worst violation of a constraint', 'value': worst, 'unit': 'm',
         'reference': f'last tenth over first {later:.2g}', 'bar': f'<= {GAP_BAR:g}',
         'ok': worst <= GAP_BAR}]


def plot(runs: dict[str, tuple[np.ndarray, np.ndarray]], file: Path) -> None:
    """Changes of energy and violations by time: the range in each of 400 segments."""
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    drawn, (above, below) = pyplot.subplots(
        2, 1, sharex=True, figsize=(7.0, 6.0), layout='constrained')
    for name, (change, gaps) in runs.items():
        segments = np.array_split(change, 400)
        t = H * STEPS * (np.arange(400) + 0.5) / 400
        low, high = (np.array([pick(part) for part in segments]) for pick in (np.min, np.max))
        line, = above.plot(t, [part.mean() for part in segments], label=name)
        above.fill_between(t, low, high, alpha=0.3, color=line.get_color())
        below.semilogy(t, [part.max() for part in np.array_split(gaps, 400)])
    above.set_ylabel('change of energy\n[part of the greatest kinetic]')
    below.set_ylabel('worst violation [m]')
    below.set_xlabel('time [s]')
    drawn.legend(loc='outside upper center', ncols=2)
    drawn.savefig(file, dpi=110)
    pyplot.close(drawn)


def processor_time(task: Callable[[], object], repeats: int = 9) -> float:
    """Median processor time of some work in [s], once it is warm."""
    task()
    spent = []
    for _ in range(repeats):
        begin = time.process_time()
        task()
        spent.append(time.process_time() - begin)
    return statistics.median(spent)


def times() -> list[dict[str, Any]]:
    """Times of steps of the Furuta pendulum."""
    plant = truth.Furuta(friction=(
        truth.Friction(viscous=1e-3, load=0.001), truth.Friction(viscous=1e-4, load=0.0004)))
    mechanism = scenes.furuta(plant)
    arrays, parameters = mechanism.arrays, mechanism.body_parameters(mechanism.parameters.values)
    chosen = np.array([mechanism.parameters.names.index(name) for name in SOUGHT])
    free_map = mechanism.parameter_map.of_free(chosen)
    bodies, m, f = len(mechanism.bodies), len(arrays.compliance), len(arrays.dry)
    work, width = workspace_for(bodies, m, f), 12 * bodies + len(SOUGHT)
    torques = np.zeros((TIMED, f))
    start = scenes.furuta_state(plant, [0.0, 2.5], [0.0, 0.0])
    motion = scenes.stepped(mechanism, start, TIMED, H)
    states = motion.states.copy()
    impulses, modes = motion.impulses.copy(), sweep.ContactModes.of(TIMED, m, f)
    table = np.empty((6 * bodies + m + f, width))
    velocities = np.empty((TIMED, 6 * bodies))
    slopes = np.empty((TIMED, 6 * bodies, width))

    def simulated() -> None:
        assert sweep.simulate(
            arrays, parameters, H, torques, 0, states, impulses, modes, work) == -1

    def derived() -> None:
        assert sweep.predict(
            arrays, parameters, free_map, H, motion.states[:-1], torques, 0, motion.modes, False,
            False, work, table, velocities, slopes) == -1

    def complemented() -> None:
        for k in range(0, TIMED, 20):
            complement(arrays, parameters, H, motion.states[k], torques[k], work)

    simulation, derivatives, problems = (
        processor_time(task) for task in (simulated, derived, complemented))
    slips = (np.diff(motion.modes.slip, axis=0) != 0.0).any(axis=1).sum()
    step, full = 1e6 * simulation / TIMED, 1e6 * derivatives / TIMED
    problem = 1e6 * problems / (TIMED / 20)
    moment = f'{slips} changes of sticking and slipping in {TIMED} steps'
    return [
        {'name': 'Furuta pendulum with dry friction, a step', 'value': step, 'unit': 'µs',
         'reference': moment, 'ok': True},
        {'name': f'a step with derivatives by states and {len(SOUGHT)} parameters',
         'value': full, 'unit': 'µs', 'bar': f'<= {STEP_BAR:g} µs', 'ok': full <= STEP_BAR},
        {'name': 'a step as one complementarity problem', 'value': problem, 'unit': 'µs',
         'reference': f'by trying modes {step:.3g} µs', 'ratio': step / problem, 'ok': True}]


def main() -> None:
    """Measure, and print the figures as JSON last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--figure', type=Path, help='PNG of energy and violations')
    figure = parser.parse_args().figure
    runs = long_runs()
    if figure is not None:
        plot(runs, figure)
    found = [figure for name, run in runs.items() for figure in figures_of(name, *run)]
    print(json.dumps([*found, *times()]))


if __name__ == '__main__':
    main()
