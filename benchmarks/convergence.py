"""How often fits of states and parameters converge from where people start, and to what.

Mechanisms, from free swings to an arm of six joints and a closed loop, move in MuJoCo. Each case
draws a mechanism, an estimator, a step, a horizon and descriptions that are off by up to 30 %, and
takes the way of the command line: settings that name robot, recordings and joints, and little else.
A fit that converged is compared with the truth: what it says it determined, within three stated
deviations or 2 %, and motion simulated from a state it has not seen. A fit that did not has to say
why, and which setting to change.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

# One thread for each of the processes, before NumPy asks for it.
for _library in ('OMP', 'OPENBLAS', 'MKL', 'NUMBA'):
    os.environ[f'{_library}_NUM_THREADS'] = '1'

import numpy as np  # noqa: E402
import yaml  # noqa: E402
from _mechanisms import (  # noqa: E402
    MECHANISMS,
    Mechanism,
    guessed,
    loops,
    simulated,
    urdf,
)

from sysid_ros.errors import SysidError  # noqa: E402
from sysid_ros.estimation.fit_setup import FitSetup  # noqa: E402
from sysid_ros.estimation.identification import Identification  # noqa: E402
from sysid_ros.estimation.trajectory.assessment import (  # noqa: E402
    determined_parameters,
    grouping,
)
from sysid_ros.estimation.trajectory.stable_step import MOST_NEAR  # noqa: E402
from sysid_ros.evaluation.study import Study  # noqa: E402
from sysid_ros.mechanics.integrators.sensitivity import InputTrajectory, Simulator  # noqa: E402

ESTIMATORS = ('shooting', 'variational', 'collocation', 'discrete', 'graph')
# Steps from node to node in [s], and longest pieces that are simulated at once.
STEPS, HORIZONS = (0.001, 0.002, 0.005, 0.01, 0.02), (None, 0.1, 0.3, 1.0, 2.0)
SPREAD = 0.3
# Fresh motion is compared over this time in [s], in parts of how far it goes.
UNSEEN, WRONG = 0.5, 0.1
CONVERGED, RIGHT = 0.97, 0.95
CRASH = 'crash: '


@dataclass(frozen=True)
class Outcome:
    """What became of one fit.

    Attributes:
        case: Mechanism, estimator, step, horizon and seed.
        converged: Whether it says so.
        right: Part of what it determined that is within three deviations or 2 % of the truth.
        covered: Part within its 95 % interval.
        fresh: Error of simulated motion it has not seen, in parts of the motion.
        iterations: Steps of the solver.
        seconds: Processor time.
        said: Why it failed, and what to change.
    """

    case: tuple[str, str, float, float | None, int]
    converged: bool
    right: float
    covered: float
    fresh: float
    iterations: int
    seconds: float
    said: tuple[str, ...]

    @property
    def wrong(self) -> bool:
        """Converged, and wrong in simulated motion."""
        return self.converged and not self.fresh <= WRONG


def cases(
    seeds: Sequence[int], mechanisms: list[str], estimators: list[str], steps: list[float]
) -> list[Any]:
    """A case for each seed, drawn by chance."""
    found = []
    for seed in seeds:
        draw = random.Random(seed)
        estimator = draw.choice(estimators)
        horizon = draw.choice(HORIZONS) if estimator in ('shooting', 'variational') else None
        # Maximal coordinates know no springs.
        known = [name for name in mechanisms if estimator != 'discrete'
                 or 'stiffness' not in MECHANISMS[name].terms]
        if known:
            found.append((draw.choice(known), estimator, draw.choice(steps), horizon, seed))
    return found


def fitted(case: tuple[str, str, float, float | None, int]) -> Outcome:
    """Fit the recordings of a case, and compare with the truth."""
    warnings.simplefilter('ignore')
    name, estimator, step, horizon, seed = case
    mechanism, begin = MECHANISMS[name], time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        first, *others = written(Path(folder), mechanism, estimator, step, horizon, seed)
        try:
            study = Study.load(
                FitSetup.of(Identification.load(first)),
                others=[Identification.load(path) for path in others], estimator=estimator)
            problem = study.trajectory
            assert problem is not None
            begin = time.process_time()
            method = study.settings.build_trajectory(estimator)
            estimate, solution = method.fitted(problem)
            seconds = time.process_time() - begin
        except SysidError as error:
            return _failed(case, time.process_time() - begin, str(error))
        except Exception as error:  # noqa: BLE001 (counted, not raised: the others go on)
            return _failed(case, time.process_time() - begin, f'{CRASH}{error!r}')
        (Path(folder) / 'robot.urdf').write_text(urdf(mechanism))
        truth = Identification.load(first).model().parameters
    values = np.array([
        truth[name] if name in truth.names else np.nan for name in problem.parameters.names])
    for joint, link in zip(mechanism.joints, mechanism.links, strict=True):
        for name, true in (('stribeck_friction', link.stribeck), ('stiffness', link.stiffness)):
            values[[each == f'{joint}.{name}' for each in problem.parameters.names]] = true
    rows = grouping(problem, determined_parameters(problem, solution.information))
    true = rows @ values[problem.free]
    known = np.isfinite(true)
    off = np.abs(estimate.base_values - true)[known]
    deviation = np.sqrt(np.diagonal(estimate.base_covariance))[known]
    right = off <= np.maximum(3.0 * deviation, 0.02 * np.abs(true[known]))
    return Outcome(
        case, estimate.status.ok, float(right.mean()) if len(right) else 1.0,
        float(np.mean(off <= 1.96 * deviation)) if len(off) else 1.0,
        _fresh(mechanism, study, estimate.parameters.values, seed), estimate.iterations, seconds,
        () if estimate.status.ok else (estimate.status.value, *estimate.notes))


def _failed(case: Any, seconds: float, said: str) -> Outcome:
    return Outcome(case, False, np.nan, np.nan, np.nan, 0, seconds, (said,))


def written(
    folder: Path, mechanism: Mechanism, estimator: str, step: float, horizon: float | None,
    seed: int,
) -> list[Path]:
    """Recordings of a mechanism and their settings as files.

    Args:
        folder: Where they are written to.
        mechanism: The mechanism; each of its poses begins a recording.
        estimator: The estimator.
        step: Time from node to node in [s].
        horizon: Longest piece in [s]; None for what the estimator takes.
        seed: Of the torques, the noise and the description, which is off.
    """
    (folder / 'robot.urdf').write_text(guessed(mechanism, seed, SPREAD))
    if mechanism.loop is not None:
        (folder / 'loops.yaml').write_text(yaml.safe_dump(loops(mechanism, mechanism.loop)))
    rng, paths = np.random.default_rng([seed, 3]), []
    period = min(step, 0.005)
    for number, pose in enumerate(mechanism.poses):
        motion = simulated(mechanism, np.array(pose, dtype=float), period, 10 * seed + number)
        q = motion.q + mechanism.encoder * rng.standard_normal(motion.q.shape)
        np.savez(folder / f'{number}.npz', t=motion.t, q=q, tau=motion.tau)
        joints = [mechanism.joints[k] for k in mechanism.recorded]
        passive = [mechanism.joints[k] for k in mechanism.recorded if not mechanism.driven[k]]
        recording: dict[str, Any] = {
            'format': 'npz', 'file': f'{number}.npz', 'time': {'array': 't'},
            'position': {'array': 'q'}, 'joints': joints}
        if any(mechanism.driven):
            recording['effort'] = {'array': 'tau'}
        if passive:
            recording['unpowered'] = passive
        terms: dict[str, Any] = {
            'viscous_friction': 'all', 'coulomb_friction': 'all', 'coulomb_smoothing': 0.02,
            'torque_offset': []}
        fit: dict[str, Any] = {'estimator': estimator, 'trajectory': {'step': step}}
        if horizon is not None:
            fit[estimator] = {'horizon': horizon}
        robot = {'urdf': 'robot.urdf',
                 'terms': terms | {name: 'all' for name in mechanism.terms}}
        if mechanism.loop is not None:
            robot['loops'] = 'loops.yaml'
        settings = {'robot': robot, 'recording': recording, 'fit': fit}
        paths.append(folder / f'{number}.yaml')
        paths[-1].write_text(yaml.safe_dump(settings))
    return paths


def _fresh(mechanism: Mechanism, study: Study, values: np.ndarray, seed: int) -> float:
    """Error of simulated stretches of another motion, in parts of how far they go."""
    step = 0.002
    start = np.array(mechanism.poses[0]) + 0.3
    motion = simulated(mechanism, start, step, 7 * seed + 5)
    length = round(UNSEEN / step)
    model = study.training.model
    bounds = range(0, len(motion.t) - length, length)
    trajectories = [
        InputTrajectory(np.array([motion.q[k], motion.v[k]]), motion.tau[k:k + length + 1], step)
        for k in bounds]
    found = Simulator(model, np.arange(0), False, 1, MOST_NEAR).run(
        values[:len(model.parameters)], trajectories)
    true = [motion.q[k:k + length + 1] for k in bounds]
    error = sum(
        np.square(each.states[:, 0] - q).sum(axis=0) for each, q in zip(found, true, strict=True))
    size = sum(np.square(q - q.mean(axis=0)).sum(axis=0) for q in true)
    return float(np.sqrt(np.max(error / np.maximum(size, 1e-6 * size.max()))))


def tried(asked: list[Any], journal: Path | None, workers: int) -> list[Outcome]:
    """Outcomes of cases; those in the journal are not fitted again."""
    outcomes: dict[Any, Outcome] = {}
    if journal is not None and journal.exists():
        for line in journal.read_text().splitlines():
            case, *rest, said = json.loads(line)
            outcomes[tuple(case)] = Outcome(tuple(case), *rest, tuple(said))
    missing = [case for case in asked if case not in outcomes]
    with multiprocessing.get_context('spawn').Pool(workers) as pool:
        for one in pool.imap_unordered(fitted, missing):
            outcomes[one.case] = one
            if journal is not None:
                with journal.open('a') as file:
                    file.write(json.dumps(list(astuple(one))) + '\n')
    return [outcomes[case] for case in asked]


def report(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Prints a table by mechanism and estimator; returns the figures."""
    for place, title in ((0, 'mechanism'), (1, 'estimator'), (2, 'step'), (3, 'horizon')):
        groups: dict[Any, list[Outcome]] = defaultdict(list)
        for outcome in outcomes:
            groups[outcome.case[place]].append(outcome)
        print(f'{title:24} {"fits":>5} {"converged":>10} {"right":>6} {"wrong":>6} {"s":>7}')
        for name, those in sorted(groups.items(), key=lambda item: str(item[0])):
            good = [one for one in those if one.converged]
            print(f'{name!s:24} {len(those):5} {len(good) / len(those):10.0%} '
                  f'{np.mean([one.right for one in good]) if good else np.nan:6.0%} '
                  f'{sum(one.wrong for one in those):6} '
                  f'{np.mean([one.seconds for one in those]):7.1f}')
    good = [one for one in outcomes if one.converged]
    figures = [
        ('converged', len(good) / len(outcomes), CONVERGED, '>='),
        ('of these, determined values that are right',
         float(np.mean([one.right for one in good])) if good else 0.0, RIGHT, '>='),
        ('of these, wrong in simulated motion',
         sum(one.wrong for one in outcomes) / max(len(good), 1), 0.0, '<='),
        ('crashes', sum(CRASH in ' '.join(one.said) for one in outcomes) / len(outcomes), 0.0,
         '<=')]
    return [
        {'name': f'convergence, {len(outcomes)} fits: {name}', 'value': 100.0 * value,
         'unit': '%', 'reference': None, 'ratio': None, 'bar': f'{sign} {100.0 * bar:g} %',
         'ok': value >= bar if sign == '>=' else value <= bar}
        for name, value, bar, sign in figures]


def main() -> None:
    """Runs as many cases as asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--count', type=int, default=200, help='cases to draw')
    parser.add_argument('--first', type=int, default=0, help='seed of the first')
    parser.add_argument('--mechanisms', nargs='*', default=list(MECHANISMS))
    parser.add_argument('--estimators', nargs='*', default=list(ESTIMATORS))
    parser.add_argument('--steps', nargs='*', type=float, default=list(STEPS), help='in s')
    parser.add_argument('--seeds', nargs='*', type=int, help=(
        'these seeds alone; with one mechanism, estimator and step, one case'))
    parser.add_argument('--workers', type=int, default=2)
    parser.add_argument('--journal', type=Path, help=(
        'file of outcomes, one a line: what is in it is not fitted again'))
    parser.add_argument('--list', action='store_true', help='print each that is not right')
    asked = parser.parse_args()
    seeds = asked.seeds or range(asked.first, asked.first + asked.count)
    outcomes = tried(
        cases(seeds, asked.mechanisms, asked.estimators, asked.steps), asked.journal,
        asked.workers)
    if asked.list:
        for one in outcomes:
            if not one.converged or one.wrong or one.right < 1.0:
                print(one)
    print(json.dumps(report(outcomes)))


if __name__ == '__main__':
    main()
