"""Every estimator beside an earlier state of this package: equal estimates, in the same time?

The same recordings of mechanisms in MuJoCo and the same settings, which leave nothing to be chosen,
are fitted by both states in processes of their own, by turns. Compared are all parameters, in parts
of the largest of their kind or of the uncertainty stated for them where that is larger, and the
least processor time from a recording's file to the judged estimate, once everything is compiled.

The earlier state is taken from the repository's history. By default it is the last one whose
mechanics, estimators and settings were laid out otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from _mechanisms import MECHANISMS, guessed, simulated

BEFORE = '52728c3'
CLOSED_BAR, ITERATED_BAR, TIME_BAR = 1e-12, 1e-5, 1.05
TURNS, REPEATS, SEED, SPREAD = 2, 3, 5, 0.2
#: Estimators whose result is a closed form of the rows; others end within their tolerances.
CLOSED = ('ols', 'wls', 'recursive')
CASES = {
    'arm of 6 joints': ('ols', 'wls', 'irls', 'iv', 'lmi', 'irls_lmi', 'entropic', 'log_cholesky',
                        'recursive'),
    'driven double pendulum': ('collocation', 'shooting', 'variational', 'graph'),
    'driven pendulum': ('discrete',)}
CONSISTENT = ('lmi', 'irls_lmi', 'entropic', 'log_cholesky')
_ROOT = Path(__file__).resolve().parents[1]
_PROCESSING = {
    'position_filter': {'cutoff': 15.0, 'order': 4}, 'stamps': 'measured',
    'parallel_filter': {'cutoff': 8.0, 'decimate_to': 20.0}}

# Names have changed between the states: an old identification is its own setup.
_FIT = """
import json, sys, time
from sysid_ros.estimation.identification import Identification
from sysid_ros.evaluation.study import Study
try:
    from sysid_ros.estimation.fit_setup import FitSetup
    of = lambda identification: (FitSetup.of(identification),)
except ImportError:
    of = lambda identification: (identification, identification.model())
settings, estimator, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])
seconds = []
for _ in range(repeats + 1):
    start = time.process_time()
    study = Study.load(*of(Identification.load(settings)), estimator=estimator)
    estimate = study.fit(estimator).estimate
    seconds.append(time.process_time() - start)
print(json.dumps([min(seconds[1:]), json.loads(estimate.to_json())]))
"""


@dataclass(frozen=True, eq=False)
class Fitted:
    """The last of some equal fits.

    Attributes:
        values: Value and standard deviation of each parameter that is free.
        seconds: Least processor time in [s], from the recording's file to the judged estimate.
    """

    values: dict[str, tuple[float, float]]
    seconds: float


def written(folder: Path, name: str, estimator: str) -> Path:
    """Settings of a fit, with its recording and description beside it.

    Args:
        folder: Where to.
        name: Of the mechanism.
        estimator: The estimator.
    """
    mechanism, rng = MECHANISMS[name], np.random.default_rng(SEED)
    (folder / 'robot.urdf').write_text(guessed(mechanism, SEED, SPREAD), encoding='utf-8')
    trajectory = estimator not in CASES['arm of 6 joints']
    seconds = 3.0 if trajectory else 20.0
    motion = simulated(mechanism, np.array(mechanism.poses[0], dtype=float), 0.005, SEED,
                       duration=seconds)
    q = motion.q + mechanism.encoder * rng.standard_normal(motion.q.shape)
    tau = motion.tau + 0.02 * motion.tau.std(axis=0) * rng.standard_normal(motion.tau.shape)
    np.savez(folder / 'motion.npz', t=motion.t, q=q, tau=tau)
    terms: dict[str, Any] = {
        'viscous_friction': 'all', 'coulomb_friction': 'all', 'torque_offset': []}
    fit: dict[str, Any] = {'estimator': estimator}
    if trajectory:
        terms['coulomb_smoothing'] = 0.02
        fit['trajectory'] = {'step': 0.005}
    if estimator in CONSISTENT:
        fit['prior_strength'] = 100.0
    settings: dict[str, Any] = {
        'automatic': False, 'robot': {'urdf': 'robot.urdf', 'terms': terms},
        'recording': {
            'format': 'npz', 'file': 'motion.npz', 'time': {'array': 't'},
            'position': {'array': 'q'}, 'effort': {'array': 'tau'},
            'joints': list(mechanism.joints)},
        'fit': fit}
    if not trajectory:
        settings['processing'] = _PROCESSING
    path = folder / f'{estimator}.yaml'
    path.write_text(yaml.safe_dump(settings), encoding='utf-8')
    return path


def fitted(sources: Path, settings: Path) -> Fitted:
    """Fits of a recording by the state of the package in a folder, in a process of its own."""
    threads = dict.fromkeys(('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'), '1')
    run = subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', _FIT, str(settings), settings.stem, str(REPEATS)],
        cwd=sources, env=os.environ | threads | {'PYTHONPATH': str(sources)}, text=True,
        capture_output=True, check=False)
    if run.returncode:
        raise SystemExit(f'{sources.name}, {settings.stem}: no estimate\n{run.stderr[-2000:]}')
    seconds, estimate = json.loads(run.stdout.splitlines()[-1])
    return Fitted(_parameters(estimate), seconds)


def _parameters(estimate: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Value and standard deviation of each parameter, by name; the latter zero where held."""
    values = estimate['parameters']['values']
    deviations = [value or 0.0 for value in estimate['standard_deviation']]
    pairs = zip(values, deviations, strict=True)
    return dict(zip(estimate['parameters']['names'], pairs, strict=True))


def difference(before: Fitted, after: Fitted) -> float:
    """Largest change of a parameter, in parts of the largest of its kind or of its deviation."""
    if set(before.values) != set(after.values):
        raise SystemExit(f'other parameters: {set(before.values) ^ set(after.values)}')
    largest: dict[str, float] = {}
    for name, (value, _) in before.values.items():
        kind = name.split('.')[-1]
        largest[kind] = max(largest.get(kind, 1e-12), abs(value))
    return max(
        abs(after.values[name][0] - value) / max(largest[name.split('.')[-1]], deviation)
        for name, (value, deviation) in before.values.items())


def compared(before: Path, name: str, estimator: str, folder: Path) -> list[dict[str, Any]]:
    """The figures of an estimator: change of its parameters, and of its time."""
    folder.mkdir()
    settings = written(folder, name, estimator)
    states = {'before': before, 'after': _ROOT}
    # By turns: the machine's load is that of both.
    turns = [{state: fitted(sources, settings) for state, sources in states.items()}
             for _ in range(TURNS)]
    least = {state: min(turn[state].seconds for turn in turns) for state in states}
    change = difference(turns[0]['before'], turns[0]['after'])
    bar = CLOSED_BAR if estimator in CLOSED else ITERATED_BAR
    ratio = least['after'] / least['before']
    print(f'{estimator:14s} change {change:.1e}   {least["before"]:.2f} s, then '
          f'{least["after"]:.2f} s: {ratio:.2f}', flush=True)
    return [
        {'name': f'{estimator}, change of the estimate', 'value': change, 'unit': '',
         'bar': f'<= {bar:g}', 'ok': change <= bar},
        {'name': f'{estimator}, time after over time before', 'value': ratio, 'unit': '',
         'bar': f'<= {TIME_BAR:g}', 'ok': ratio <= TIME_BAR,
         'reference': f'{least["before"]:.2f} s of a processor before'}]


def earlier(revision: str, folder: Path) -> bool:
    """Put an earlier state of this repository into a folder; whether its history has it."""
    archive = subprocess.run(
        ['git', '-C', str(_ROOT), 'archive', revision, 'sysid_ros', 'msg', 'srv', 'action',
         'config', 'launch', 'package.xml', 'setup.cfg'],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if archive.returncode:
        return False
    subprocess.run(['tar', '-x', '-C', str(folder)], input=archive.stdout, check=True)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description='Estimates and times beside an earlier state.')
    parser.add_argument('--before', default=BEFORE, help='revision to compare with')
    parser.add_argument('--estimators', nargs='*', help='only these')
    asked = parser.parse_args()
    figures: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        before = Path(name) / 'before'
        before.mkdir()
        if not earlier(asked.before, before):
            print(json.dumps([{'name': f'revision {asked.before} is not in this history',
                               'ok': True}]))
            return
        for mechanism, estimators in CASES.items():
            for estimator in estimators:
                if asked.estimators is None or estimator in asked.estimators:
                    figures += compared(before, mechanism, estimator, Path(name) / estimator)
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
