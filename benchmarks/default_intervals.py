"""How often 95 % intervals hold the truth with default settings, where dry friction sticks.

Published robots move from rest to rest with dry friction that sticks; the prior is off by 20 %.
Robot and recording are given, all else the data chooses. Counted are joint terms, and the base
parameters of the links; each by itself, too, where there are plants enough to tell it from chance.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import warnings
from collections import defaultdict
from pathlib import Path

# One thread for each of the processes, before NumPy asks for it.
for _library in ('OMP', 'OPENBLAS', 'MKL'):
    os.environ[f'{_library}_NUM_THREADS'] = '1'

import numpy as np  # noqa: E402
import yaml  # noqa: E402
from _plants import Plant, published  # noqa: E402

from sysid_ros.estimation.fit_setup import FitSetup  # noqa: E402
from sysid_ros.evaluation.study import Study  # noqa: E402
from sysid_ros.robot.model import RobotModel  # noqa: E402

ROBOTS = ('UR5', 'Jaco', 'finger')
# Pooled and by kind of parameter.
POOLED, LEAST = (0.93, 0.97), 0.85
# From so many plants on, 85 % of a parameter's intervals is far enough from 95 % to be no chance.
ENOUGH = 50
_FIELDS = ('viscous_friction', 'coulomb_friction', 'torque_offset')


def fitted(case: tuple[str, int]) -> dict[tuple[str, str], bool]:
    """Whether intervals hold the truth, by kind and name of the parameter."""
    warnings.simplefilter('ignore')
    robot, seed = case
    path = published(robot)
    assert path is not None
    plant = Plant(path, seed)
    data = plant.recording(2 * seed)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / 'first.npz', t=data.t, q=data.q, tau=data.tau)
        (Path(folder) / 'robot.urdf').write_text(plant.prior)
        (Path(folder) / 'first.yaml').write_text(yaml.safe_dump({
            'robot': {'urdf': 'robot.urdf'},
            'recording': {
                'format': 'npz', 'file': 'first.npz', 'time': {'array': 't'},
                'position': {'array': 'q'}, 'effort': {'array': 'tau'},
                'joints': list(plant.joints)}}))
        study = Study.load(FitSetup.load(Path(folder) / 'first.yaml'))
        estimate = study.fit('entropic').estimate
    truth = _truth(plant, estimate.parameters.names, estimate.parameters.values)
    deviation, values = estimate.standard_deviation, estimate.parameters.values
    found: dict[tuple[str, str], bool] = {}
    for k, name in enumerate(estimate.parameters.names):
        field = name.rpartition('.')[2]
        if field in _FIELDS and 0.0 < deviation[k] < np.inf:
            found[field, f'{robot} {name}'] = bool(
                abs(values[k] - truth[k]) < 1.96 * deviation[k])
    if study.training.source is None:
        free = study.training.free
        base = study.training.base.values(np.where(free, truth, 0.0))
        sigma = estimate.base_standard_deviation()
        for name, own, true, one in zip(
            estimate.base_names, estimate.base_values, base, sigma, strict=True
        ):
            if 0.0 < one < np.inf and not any(field in name for field in _FIELDS):
                found['links', f'{robot} {name}'] = bool(abs(own - true) < 1.96 * one)
    return found


def _truth(plant: Plant, names: tuple[str, ...], values: np.ndarray) -> np.ndarray:
    """True parameters; of what the plant has not, such as widths of a smooth sign, the found."""
    truth = values.copy()
    inertials = RobotModel.from_urdf(plant.description).reference_inertials.reshape(-1)
    truth[:len(inertials)] = inertials
    own = {'viscous_friction': plant.viscous, 'coulomb_friction': plant.dry,
           'torque_offset': 0.0 * plant.dry, 'armature': 0.0 * plant.dry,
           'stiffness': 0.0 * plant.dry}
    for k, name in enumerate(names):
        joint, _, field = name.rpartition('.')
        if joint in plant.joints and field in own:
            truth[k] = own[field][plant.joints.index(joint)]
    return truth


def main() -> None:
    """Runs as many plants of each robot as are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--seeds', type=int, default=8, help='plants of each robot')
    asked = parser.parse_args()
    if published(ROBOTS[0]) is None:
        print('default_intervals: the package example-robot-data is not installed; nothing was '
              'tried', file=sys.stderr)
        print('[]')
        return
    with multiprocessing.get_context('spawn').Pool(2) as pool:
        outcomes = pool.map(
            fitted, [(robot, seed) for seed in range(asked.seeds) for robot in ROBOTS], chunksize=1)
    print(json.dumps(figures(outcomes)))


def figures(outcomes: list[dict[tuple[str, str], bool]]) -> list[dict[str, object]]:
    """Shares of intervals that hold: pooled, by kind, and the least of any parameter."""
    held: dict[str, list[bool]] = defaultdict(list)
    alone: dict[str, list[bool]] = defaultdict(list)
    for outcome in outcomes:
        for (kind, name), one in outcome.items():
            held[kind].append(one)
            alone[name].append(one)
    every = [one for those in held.values() for one in those]
    low, high = POOLED
    found: list[dict[str, object]] = [{
        'name': f'intervals with default settings, {len(every)} pooled', 'unit': '%',
        'value': round(100.0 * float(np.mean(every)), 1),
        'bar': f'{100.0 * low:g} to {100.0 * high:g} %', 'ok': bool(low <= np.mean(every) <= high)}]
    least = {f'{len(those)} of {kind}': those for kind, those in sorted(held.items())}
    known = {name: those for name, those in alone.items() if len(those) >= ENOUGH}
    if known:
        worst = min(known, key=lambda name: float(np.mean(known[name])))
        least[f'the worst of {len(known)} parameters, {worst}'] = known[worst]
    return found + [{
        'name': f'intervals with default settings, {name}', 'unit': '%',
        'value': round(100.0 * float(np.mean(those)), 1), 'bar': f'>= {100.0 * LEAST:g} %',
        'ok': bool(np.mean(those) >= LEAST)} for name, those in least.items()]


if __name__ == '__main__':
    main()
