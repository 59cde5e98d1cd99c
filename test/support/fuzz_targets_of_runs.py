"""Runs, stores and fleets, each with a small file of its own to be damaged."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from support.finished_fit import make_fit, write_provenance
from support.fuzzing import Target, target_of
from support.golden_problems import golden
from support.simulated_arm import SimulatedArm
from support.simulated_fleet import arm_model, coordinates_of
from sysid_ros.demo.report import DemonstrationResults
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.regression.recursive.recursive import RecursiveLeastSquares
from sysid_ros.estimation.regression.weighting import weighted_directions
from sysid_ros.fleet import results as results_module
from sysid_ros.fleet.distribution import FleetDistribution
from sysid_ros.fleet.history import read_conditions
from sysid_ros.fleet.prior import FleetCluster, FleetPrior, LeftOut, Outlier
from sysid_ros.fleet.prior_files import read_prior
from sysid_ros.fleet.record import FitRecord, FitStatus
from sysid_ros.fleet.results import read_results, write_results
from sysid_ros.fleet.table import read_table
from sysid_ros.release.head import Head
from sysid_ros.release.store import RevisionStore
from sysid_ros.report.page import render_page
from sysid_ros.report.report import Report
from sysid_ros.runs.commit import FinishedFit, initial_content
from sysid_ros.runs.compare import compare_runs, comparison_text
from sysid_ros.runs.judged import KEY, digests
from sysid_ros.runs.judgement import reopened_study
from sysid_ros.runs.pack import pack_run


def targets_of_runs(folder: Path, arm: SimulatedArm) -> list[Target]:
    """A target for each file of runs, stores, fleets and what goes on from a kept state.

    Args:
        folder: Folder for their files, which is made.
        arm: The robot.
    """
    folder.mkdir()
    return [
        *_stores(folder), *_runs(folder, arm), *_fleets(folder), *_recursion(folder),
        *_demonstration(folder)]


def _stores(folder: Path) -> list[Target]:
    path = folder / 'revisions.sqlite'
    model = SimulatedArm(0).model
    content = initial_content(model)
    with RevisionStore(path) as store:
        store.begin(content)
        store.acknowledge('/controller', store.current_id())
        store.rollback(store.current_id(), 'again')
    with sqlite3.connect(path) as connection:
        connection.execute('PRAGMA journal_mode = DELETE')

    def read() -> object:
        with RevisionStore(path, patience=0.1) as store:
            damage = store.verify()
            if damage:
                return damage
            store.begin(content)
            return [store.newest(), store.acknowledgements(), store.rollback()]

    note = folder / 'noted.sqlite-head'
    shutil.copy(path.with_name(f'{path.name}-head'), note)
    return [
        target_of('store', path, read, mend=lambda source: _remove_logs(path)),
        target_of('note beside a store', note, Head(folder / 'noted.sqlite').noted, text=True)]


def _remove_logs(path: Path) -> None:
    for suffix in ('-wal', '-shm', '-journal'):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _runs(folder: Path, arm: SimulatedArm) -> list[Target]:
    own = folder / 'run'
    own.mkdir()
    make_fit(own, arm)
    run = own / 'fit'
    write_provenance(run)
    robot = Identification.load(own / 'settings.yaml').model().robot

    def read() -> object:
        return FinishedFit.open('fit', run).content(robot)

    def mend(source: random.Random) -> None:
        """Let the verdict belong to the files as they are, or the damage would end there."""
        file = run / 'verdict.json'
        try:
            verdict = json.loads(file.read_text(encoding='utf-8'))
        except (ValueError, RecursionError):
            return
        if isinstance(verdict, dict):
            file.write_text(json.dumps(verdict | {KEY: digests(run)}))

    names = ('estimate.json', 'settings.yaml', 'prior.urdf', 'verdict.json', 'provenance.json')
    # Numbers of one line each are more often hit.
    targets = [target_of(f'run: {name}', run / name, read, True, mend) for name in names]
    return [*targets, *_verbs_of_runs(folder, own)]


def _verbs_of_runs(folder: Path, made: Path) -> list[Target]:
    """What reads a run that is there: pack, compare, report, and a judgement's recordings."""
    first, second = made / 'fit', folder / 'second'
    shutil.copytree(first, second)
    readers: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
        'packed': (
            lambda: pack_run(second, folder / 'run.zip', recordings=True),
            ('settings.yaml', 'verdict.json', 'report.json')),
        'compared': (
            lambda: comparison_text(compare_runs([first, second])),
            ('evaluation.json', 'estimate.json', 'verdict.json')),
        # What a judgement reads; what it then computes takes seconds.
        'opened again': (lambda: reopened_study(second), ('verdict.json', 'settings.yaml')),
        'drawn': (
            lambda: render_page(Report.load(second / 'report.json')), ('report.json',))}
    return [
        target_of(f'run {what}: {name}', second / name, read, text=True)
        for what, (read, names) in readers.items() for name in names]


def _fleets(folder: Path) -> list[Target]:
    table, listed, results = (
        folder / name for name in ('robots.csv', 'robots.yaml', 'results.csv'))
    conditions, prior, record = (
        folder / name for name in ('conditions.csv', 'fleet.json', 'record.json'))
    table.write_text('robot,settings,recordings,holdout\na,a.yaml,x.npz;y.npz,0.2\nb,b.yaml,,\n')
    listed.write_text(
        'fits:\n- {robot: a, settings: a.yaml, recordings: [x.npz], folds: 3}\n'
        '- {robot: b, urdf: b.urdf, recordings: ["*.csv"], together: true}\n')
    conditions.write_text(
        'run,recorded,temperature\na/monday,2026-03-02,24.5\na/friday,2026-03-06 12:00,\n')
    records = tuple(
        FitRecord(run=f'{name}/monday', robot=name, source='monday.npz', status=status, error=0.1,
                  condition=31.5) for name, status in zip('abcd', FitStatus, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results_module, 'has_parquet', lambda: False)
        write_results(records, folder, folder / 'nowhere')
    records[0].write(record)
    prior.write_text(json.dumps(_prior().to_json()))

    def read_record() -> FitRecord:
        found = FitRecord.read(record)
        if found is None:
            raise ConfigurationError('a damaged record counts as none')
        return found

    return [
        target_of('table of a fleet as CSV', table, lambda: read_table(table), text=True),
        target_of('table of a fleet as YAML', listed, lambda: read_table(listed), text=True),
        target_of('results of a fleet', results, lambda: read_results(folder), text=True),
        target_of('record of a fit', record, read_record, text=True),
        target_of('conditions of runs', conditions, lambda: read_conditions(conditions), text=True),
        target_of('prior of a fleet', prior, lambda: [
            cluster.distribution.theta for cluster in read_prior(prior).clusters], text=True)]


def _prior() -> FleetPrior:
    coordinates = coordinates_of(arm_model())
    count = coordinates.count
    distribution = FleetDistribution(
        coordinates, np.zeros(count), 0.01 * np.eye(count), 0.001 * np.eye(count))
    return FleetPrior(
        (FleetCluster(('a', 'b'), distribution, 10.0),),
        (Outlier('c', 'upper', 'upper.mass', 2.0, 1.0, 0.1),), (LeftOut('a', 0.1, 0.2, 1.0),), 0.01)


def _recursion(folder: Path) -> list[Target]:
    problem = golden('arm').problem(0.02)
    recursion = RecursiveLeastSquares().start(problem, weighted_directions(problem)[0].sigma)
    file = folder / 'recursion.npz'
    file.write_bytes(recursion.to_bytes())
    return [target_of(
        'state of a recursion', file, lambda: recursion.restored(file.read_bytes()).theta)]


def _demonstration(folder: Path) -> list[Target]:
    file = folder / 'results.json'
    file.write_text(json.dumps({
        'estimate': 'fit', 'committable': True, 'rollback': {'revision': '3-4f58'},
        'commit': {'candidate_error': 0.04, 'current_error': 0.31, 'revision': '2-4f58'},
        'revisions': [{'current': True, 'revision': '3-4f58', 'restored': '1-3fbb'}],
        'tracking': {name: {'rms': 0.01, 'typical': 0.02} for name in (
            'prior', 'revision', 'truth')}}))
    return [target_of(
        'results of a demonstration', file, lambda: DemonstrationResults.read(file), text=True)]
