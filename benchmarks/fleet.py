"""Batches of simulated arms, and what their fleet says of the next one.

First a batch one after the other and by two worker processes, of which some are killed: the same
table, the part of twice the speed that is reached, and memory. Then the prior of the fleet: the
error of the torque of new arms with 5 s of motion, at the speed of the unseen motion and at half
of its speed and reach, on motion that was not seen and without noise, beside fits from the
description; and how often intervals hold the truth. Then fleets of drawn estimates whose truth is
known: false alarms where there is nothing to find, what is found of two clusters and three
outliers, and intervals of new robots. Last friction that begins to grow by 1 % a week, recorded
once a day. The defaults take minutes; --robots 1000 and more hours.
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
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.fleet.batch import BatchResult, batch
from sysid_ros.fleet.change_points import (
    alarm_threshold,
    find_changes,
    scatter,
    without_bad_runs,
)
from sysid_ros.fleet.distribution import estimate_distribution
from sysid_ros.fleet.pool import SerialPool
from sysid_ros.fleet.prior import FleetPrior, fleet_prior
from sysid_ros.fleet.prior_files import write_prior
from sysid_ros.fleet.process_pool import ProcessPool
from sysid_ros.fleet.record import FitStatus
from sysid_ros.mechanics.base_parameters import base_parameters

EFFICIENCY_BAR, MEMORY_BAR, ERROR_BAR, COVERAGE_BAR = 0.85, 1000.0, 0.6, (0.93, 0.97)
DELAY_BAR = 28.0
_SHORT, _UNSEEN = 5.0, 20.0
# Speed and reach of the motions of new arms, and where their seeds begin.
_MOTIONS, _NEW_SEEDS = {'full motion': 1.0, 'half of speed and reach': 0.5}, 50_000
_KILLED = 2


def arm_of(fleet: SimulatedFleet, number: int, motion: int, scale: float = 1.0) -> SimulatedArm:
    """The arm of a fleet that moves by a seed, so fast and so far."""
    return SimulatedArm(motion).moved_by(fleet.theta[number], scale)


def write_fleet(
    folder: Path, fleet: SimulatedFleet, seconds: float, seed: int, scale: float = 1.0
) -> Path:
    """Recordings and settings of the arms of a fleet, and its table."""
    lines = ['robot,settings,validation']
    for number in range(len(fleet.truth)):
        own = folder / f'arm_{number}'
        arm = arm_of(fleet, number, seed + number, scale)
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


def new_arms(serial: BatchResult, folder: Path, count: int, seed: int) -> dict[str, Any]:
    """Errors of new arms by fits of 5 s from the fleet's prior and from the description."""
    written = write_prior(serial.records, serial.runs, serial.folder)
    fleet, prior = simulated_fleet(seed + 1, count), written.folders[0] / 'settings.yaml'
    found: dict[str, Any] = {'prior': str(written).splitlines()}
    for k, (name, scale) in enumerate(_MOTIONS.items()):
        own = folder / f'motion_{k}'
        write_fleet(own, fleet, _SHORT, _NEW_SEEDS, scale)
        found[name] = _beside_description(own, prior, fleet)
    return found


def _beside_description(folder: Path, prior: Path, fleet: SimulatedFleet) -> dict[str, Any]:
    """Errors of both fits of each arm in a folder, and intervals of those with the prior."""
    lines = ['robot,settings,recordings,validation']
    for number in range(len(fleet.truth)):
        own = f'arm_{number}'
        ends = f'{own}/recording.npz,{own}/unseen.npz'
        lines += [f'description,{own}/settings.yaml,{ends}', f'fleet,{prior},{ends}']
    table = folder / 'new.csv'
    table.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    result = batch(table, folder / 'fits', pool=ProcessPool(2))
    errors: dict[str, list[float]] = {'fleet': [], 'description': []}
    inside: list[bool] = []
    for k, record in enumerate(result.records):
        if record.status is FitStatus.FAILED:
            errors[record.robot].append(float('nan'))
            continue
        arm = arm_of(fleet, k // 2, _NEW_SEEDS + 10_000 + k // 2)
        estimate = Estimate.load(result.runs / record.run / 'estimate.json')
        errors[record.robot].append(_true_error(estimate, arm))
        if record.robot == 'fleet':
            inside += _inside(estimate, arm)
    ratios = np.array(errors['fleet']) / errors['description']
    told = ratios[np.isfinite(ratios)]
    return {'errors': {robot: [each if np.isfinite(each) else None for each in own]
                       for robot, own in errors.items()},
            'median_ratio': float(np.median(told)) if told.size else None,
            'statuses': [f'{record.status}: {record.reason}' for record in result.records],
            'base_parameters_in_their_intervals': f'{sum(inside)} of {len(inside)}'}


def _true_error(estimate: Estimate, arm: SimulatedArm) -> float:
    """Torque error relative to the true torque, without noise."""
    t = np.arange(0.0, _UNSEEN, 0.02)
    regressor = arm.model.regressor(*arm.motion(t))
    values = np.array([estimate.parameters[name] for name in arm.model.parameters.names
                       if name in estimate.parameters])
    columns = [name in estimate.parameters for name in arm.model.parameters.names]
    torque = regressor @ arm.truth
    predicted = regressor[:, :, columns] @ values
    return float(np.linalg.norm(predicted - torque) / np.linalg.norm(torque))


def _inside(estimate: Estimate, arm: SimulatedArm) -> list[bool]:
    """Whether base parameters that the motion tells are within their 95 % intervals."""
    deviation = estimate.base_standard_deviation()
    base = base_parameters(arm.model)
    if base.equations != estimate.base_names:
        return []
    away = np.abs(estimate.base_values - base.values(arm.truth))
    return [bool(a < 1.96 * d) for a, d in zip(away, deviation, strict=True) if np.isfinite(d)]


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


def coverage(seeds: Sequence[int], count: int) -> dict[str, Any]:
    """How often intervals of new robots hold the truth, over fleets with means of their own."""
    shares = []
    for seed in seeds:
        centre = np.random.default_rng([seed, 3]).normal(scale=0.2, size=_coordinates())
        fleet = simulated_fleet(seed, count, centre=centre)
        new = simulated_fleet(seed + 10_000, 60, centre=centre, rows=20)
        distribution, _ = estimate_distribution(fleet.observed, fleet.coordinates)
        posterior, grouping = distribution.posterior(new.observed), new.observed.grouping
        theta, slope = distribution.coordinates.parameters(posterior.mean)
        slope = grouping @ slope
        deviation = np.sqrt(np.diagonal(
            slope @ posterior.covariance @ np.swapaxes(slope, 1, 2), axis1=1, axis2=2))
        error = (theta - new.theta) @ grouping.T
        shares.append(float(np.mean(np.abs(error) < 1.96 * deviation)))
    return {'fleets': len(seeds), 'robots': count, 'share': float(np.mean(shares)),
            'standard_error': float(np.std(shares) / np.sqrt(len(shares)))}


def _coordinates() -> int:
    return simulated_fleet(0, 1).coordinates.count


def drift(series: int, scatter_of_runs: float, parameters: int = 30) -> dict[str, Any]:
    """Days until growth by 1 % a week is found after 90 steady ones; alarms in a steady year."""
    random, before, after = np.random.default_rng(1), 90, 60
    days = []
    for growth, length in ((0.01 / 7.0, before + after), (0.0, 365)):
        t = np.arange(float(length))
        threshold = alarm_threshold(t, length / 365.0 / parameters)
        for _ in range(series):
            values = np.log1p(growth * np.maximum(t - before, 0.0))
            values = without_bad_runs(
                (values + scatter_of_runs * random.normal(size=length))[None], np.zeros(length))
            deviations = np.full(length, scatter(values)[0])
            found = [each.found for each in find_changes(t, values[0], deviations, threshold)]
            days.append(min((day for day in found if day >= before or not growth), default=np.inf))
    growing, steady = np.array(days[:series]), np.array(days[series:])
    return {
        'scatter_of_runs': scatter_of_runs, 'series': series,
        'median_days': float(np.median(growing - before)),
        'ninety_percent_within_days': float(np.quantile(growing - before, 0.9, method='higher')),
        'alarms_of_a_robot_and_year': float(np.mean(np.isfinite(steady)) * parameters)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--robots', type=int, default=12)
    parser.add_argument('--seconds', type=float, default=10.0, help='length of the recordings')
    parser.add_argument('--new', type=int, default=4, help='new arms')
    parser.add_argument('--seeds', type=int, default=20)
    parser.add_argument('--drawn', type=int, default=50, help='robots of a drawn fleet')
    parser.add_argument('--series', type=int, default=200, help='series of a parameter over time')
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
            figures['coverage'] = coverage(range(options.seeds), options.drawn)
    if options.series:
        figures['drift'] = [drift(options.series, part) for part in (0.01, 0.02)]
    figures['bars'] = {'efficiency': EFFICIENCY_BAR, 'memory_mb': MEMORY_BAR,
                       'median_ratio': ERROR_BAR, 'false_alarms': 0, 'coverage': COVERAGE_BAR,
                       'days': DELAY_BAR, 'alarms_of_a_robot_and_year': 1.0}
    print(json.dumps(figures, indent=1))


if __name__ == '__main__':
    main()
