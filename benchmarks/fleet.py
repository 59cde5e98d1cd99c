"""Batches of simulated arms, and what their fleet says of the next one.

First a batch one after the other and by two worker processes, of which some are killed: the same
table, the part of twice the speed that is reached, and memory. Then the prior of the fleet: the
error of the torque of new arms with 5 s of motion, on motion that was not seen, beside fits from
the description. Then fleets of drawn estimates whose truth is known: false alarms where there is
nothing to find, and what is found of two clusters and three outliers. The defaults take minutes;
--robots 1000 and more hours.
"""

from __future__ import annotations

# isort: off
import _support  # noqa: F401 (test/support)

# isort: on
import argparse
import json
import multiprocessing
import os
import random
import resource
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from support.simulated_arm import SimulatedArm
from support.simulated_fleet import SimulatedFleet, simulated_fleet
from support.small_fleet import write_recording, write_settings
from sysid_ros.fleet.batch import BatchResult, batch
from sysid_ros.fleet.pool import SerialPool
from sysid_ros.fleet.prior import FleetPrior, fleet_prior
from sysid_ros.fleet.prior_files import write_prior
from sysid_ros.fleet.process_pool import ProcessPool
from sysid_ros.mechanics.base_parameters import base_parameters

EFFICIENCY_BAR, MEMORY_BAR, ERROR_BAR = 0.85, 1000.0, 0.6
_SHORT, _UNSEEN = 5.0, 20.0
_KILLED = 2


def arm_of(fleet: SimulatedFleet, number: int, motion: int) -> SimulatedArm:
    """The arm of a fleet that moves by a seed."""
    arm = SimulatedArm(motion)
    joints = len(arm.joint_names)
    theta = fleet.theta[number]
    inertials, viscous, dry = np.split(theta[:-joints], [-2 * joints, -joints])
    object.__setattr__(arm, '_inertials', inertials)
    object.__setattr__(arm, '_friction', (dry, viscous))
    return arm


def write_fleet(folder: Path, fleet: SimulatedFleet, seconds: float, seed: int) -> Path:
    """Recordings and settings of the arms of a fleet, and its table."""
    lines = ['robot,settings,validation']
    for number in range(len(fleet.truth)):
        own = folder / f'arm_{number}'
        arm = arm_of(fleet, number, seed + number)
        write_settings(own, arm)
        write_recording(own / 'recording.npz', arm, seconds=seconds)
        unseen = arm_of(fleet, number, seed + 10_000 + number)
        write_recording(own / 'unseen.npz', unseen, seconds=_UNSEEN)
        lines.append(f'arm_{number},arm_{number}/settings.yaml,')
    table = folder / 'robots.csv'
    table.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    return table


def rows(result: BatchResult) -> list[dict[str, Any]]:
    """Rows of results without what is another one each time."""
    return [each.model_dump(mode='json', exclude={'finished', 'seconds'})
            for each in result.records]


def compare_pools(table: Path, folder: Path) -> tuple[BatchResult, dict[str, Any]]:
    """One after the other, by two processes, and by two of which some are killed."""
    # Compiled functions are there before anything is measured.
    first = batch(table, folder / 'warm', pool=SerialPool()).records[0]
    start = time.perf_counter()
    serial = batch(table, folder / 'serial', pool=ProcessPool(1))
    alone = time.perf_counter() - start
    start = time.perf_counter()
    double = batch(table, folder / 'double', pool=ProcessPool(2))
    both = time.perf_counter() - start
    chosen, killed = random.Random(0), []

    def kill(_: str) -> None:
        children = multiprocessing.active_children()
        if children and len(killed) < _KILLED:
            killed.append(chosen.choice(children).pid)
            os.kill(killed[-1], signal.SIGKILL)

    survived = batch(table, folder / 'killed', pool=ProcessPool(2), show=kill)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024.0
    return serial, {
        'robots': len(serial.records), 'first': str(first.status),
        'seconds_one': alone, 'seconds_two': both, 'efficiency': alone / (2.0 * both),
        'memory_mb': memory, 'workers_killed': len(killed),
        'same_table': rows(serial) == rows(double) == rows(survived)}


def new_arms(
    serial: BatchResult, folder: Path, count: int, seed: int
) -> dict[str, Any]:
    """Errors of new arms by fits of 5 s from the fleet's prior and from the description."""
    written = write_prior(serial.records, serial.runs, serial.folder)
    fleet = simulated_fleet(seed + 1, count)
    write_fleet(folder, fleet, _SHORT, 50_000)
    prior = written.folders[0] / 'settings.yaml'
    lines = ['robot,settings,recordings,validation']
    for number in range(count):
        own = f'arm_{number}'
        ends = f'{own}/recording.npz,{own}/unseen.npz'
        lines += [f'description,{own}/settings.yaml,{ends}', f'fleet,{prior},{ends}']
    table = folder / 'new.csv'
    table.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    found = batch(table, folder / 'fits', pool=ProcessPool(2))
    errors = {robot: [each.error for each in found.records if each.robot == robot]
              for robot in ('fleet', 'description')}
    ratios = [own / other for own, other in zip(*errors.values(), strict=True)
              if own is not None and other is not None]
    return {'prior': str(written).splitlines(), 'errors': errors,
            'median_ratio': float(np.median(ratios)) if ratios else None}


def prior_of(fleet: SimulatedFleet) -> FleetPrior:
    base = base_parameters(fleet.model)
    names = [base.names[k] for k in base.independent]
    return fleet_prior(fleet.observed, fleet.coordinates, base.factor, names)


def change_some(truth: np.ndarray, coordinates: Any) -> None:
    """Another gear in the elbow of two fifths; frictions of three arms three times as usual."""
    first = len(truth) * 3 // 5
    truth[first:, coordinates.parts['joint elbow_pitch'][:2]] += np.log(2.3)
    for number, joint in ((1, 'base_yaw'), (2, 'shoulder_pitch'), (3, 'wrist_roll')):
        truth[number, coordinates.parts[f'joint {joint}'][:2]] += 1.2


def alarms(seeds: Sequence[int], count: int) -> dict[str, Any]:
    """What is named in fleets of one kind, and in fleets with clusters and outliers."""
    false, found, wrong, split = 0, 0, 0, 0
    for seed in seeds:
        clean = prior_of(simulated_fleet(seed, count))
        false += len(clean.outliers) + len(clean.clusters) - 1
        mixed = prior_of(simulated_fleet(seed, count, change=change_some))
        named = {each.robot for each in mixed.outliers}
        found += len(named & {'arm_1', 'arm_2', 'arm_3'})
        wrong += len(named - {'arm_1', 'arm_2', 'arm_3'})
        geared = {f'arm_{k}' for k in range(count * 3 // 5, count)}
        split += any(set(each.robots) == geared - named for each in mixed.clusters)
    return {'fleets': len(seeds), 'robots': count, 'false_alarms_in_fleets_of_one_kind': false,
            'outliers_found': f'{found} of {3 * len(seeds)}', 'wrongly_named': wrong,
            'clusters_found': f'{split} of {len(seeds)}'}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--robots', type=int, default=12)
    parser.add_argument('--seconds', type=float, default=10.0, help='length of the recordings')
    parser.add_argument('--new', type=int, default=4, help='new arms')
    parser.add_argument('--seeds', type=int, default=20)
    parser.add_argument('--drawn', type=int, default=50, help='robots of a drawn fleet')
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        if options.robots:
            table = write_fleet(
                Path(folder) / 'robots', simulated_fleet(0, options.robots), options.seconds, 100)
            serial, figures['batch'] = compare_pools(table, Path(folder))
            figures['new_arms'] = new_arms(serial, Path(folder) / 'new', options.new, 0)
        if options.seeds:
            figures['alarms'] = alarms(range(options.seeds), options.drawn)
    figures['bars'] = {'efficiency': EFFICIENCY_BAR, 'memory_mb': MEMORY_BAR,
                       'median_ratio': ERROR_BAR, 'false_alarms': 0}
    print(json.dumps(figures, indent=1))


if __name__ == '__main__':
    main()
