"""Fits of a whole table of robots and recordings, as many at a time as there are workers.

What a call leaves is the same whatever was interrupted before it, and whichever workers were
killed: every fit is done once for the same settings, prior and recordings, and failed ones are
tried again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sysid_ros.errors import ConfigurationError, ReleaseError
from sysid_ros.fleet.dask_pool import DaskPool, has_dask
from sysid_ros.fleet.fit import RUNS, FitOutcome, fit_once
from sysid_ros.fleet.pool import LostWork, Pool, usable_processors
from sysid_ros.fleet.process_pool import ProcessPool
from sysid_ros.fleet.progress import Progress, Show
from sysid_ros.fleet.record import FitRecord, FitStatus
from sysid_ros.fleet.results import write_results
from sysid_ros.fleet.table import FleetFit, RowFault, read_table

#: What carries out the fits, by its name.
ENGINES = ('dask', 'processes')
# Failed fits that are shown.
_MOST = 20


@dataclass(frozen=True)
class BatchResult:
    """What a batch came to.

    Attributes:
        folder: Folder of the batch.
        records: A row for each fit, in the order of the table.
        fitted: How many were fitted now; the runs of the others were there.
        files: Tables of results and of parameters.
    """

    folder: Path
    records: tuple[FitRecord, ...]
    fitted: int
    files: tuple[Path, ...]

    @property
    def runs(self) -> Path:
        """Folder of the runs."""
        return self.folder / RUNS

    @property
    def failed(self) -> tuple[FitRecord, ...]:
        """Fits that failed."""
        return tuple(each for each in self.records if each.status is FitStatus.FAILED)

    def __str__(self) -> str:
        counts = Counter(record.status for record in self.records)
        robots = len({record.robot for record in self.records})
        told = ', '.join(f'{counts[status]} {status}' for status in FitStatus if counts[status])
        lines = [f'{len(self.records)} fits of {robots} robots: {told}']
        if self.fitted < len(self.records):
            before = len(self.records) - self.fitted
            lines.append(f'{self.fitted} fitted now, {before} as they were')
        lines += [f'failed: {one.robot}, {one.source}: {one.reason}' for one in self.failed[:_MOST]]
        if len(self.failed) > _MOST:
            lines.append(f'and {len(self.failed) - _MOST} more, in {self.files[0].name}')
        return '\n'.join(lines)


def make_pool(
    engine: str | None = None, workers: int | None = None, scheduler: str = ''
) -> Pool:
    """What carries out the fits.

    Args:
        engine: ``dask`` or ``processes``; by default Dask where it is installed.
        workers: How many fits at a time; by default one for each processor.
        scheduler: Address of the scheduler of a running Dask cluster.

    Raises:
        ConfigurationError: There is no such engine, or no worker, or they do not go together.
    """
    engine = engine or ('dask' if scheduler or has_dask() else 'processes')
    if engine not in ENGINES:
        raise ConfigurationError(
            'there is no such engine', found=repr(engine), allowed=', '.join(ENGINES),
            fix='Say --engine processes')
    if workers is not None and workers < 1:
        raise ConfigurationError(
            'there are no workers', found=workers, allowed='1 or more',
            fix='Say --workers 2, or leave it out for all processors')
    if scheduler and (engine != 'dask' or workers is not None):
        raise ConfigurationError(
            'a running cluster is one of Dask, and has its workers', where=scheduler,
            found=f'workers {workers}' if workers is not None else f'engine {engine}',
            allowed='scheduler alone',
            fix='Leave out --workers and --engine')
    count = usable_processors() if workers is None else workers
    return DaskPool(count, scheduler) if engine == 'dask' else ProcessPool(count)


def batch(
    table: str | Path, folder: str | Path, *, pool: Pool | None = None, show: Show | None = None,
    cache: str | Path | None = None,
) -> BatchResult:
    """Fit, judge and record whatever a table names, and write the tables of results.

    Args:
        table: CSV or YAML file; see :func:`~sysid_ros.fleet.table.read_table`.
        folder: Folder to write: runs, and the tables ``results`` and ``parameters``.
        pool: What carries out the fits; by default see :func:`make_pool`.
        show: Takes a line that says how far it is, whenever a fit is done.
        cache: Folder to keep recordings of stores in; without it each is removed after its fit.

    Raises:
        ConfigurationError: The table or the pool cannot be used.
        ReleaseError: The folder cannot be written.
    """
    rows = read_table(Path(table).absolute())
    folder = Path(folder).absolute()
    try:
        (folder / RUNS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReleaseError(
            f'cannot be written: {error.strerror}', where=str(folder),
            fix='Name another folder') from error
    fit = partial(
        fit_once, folder=folder, cache=None if cache is None else Path(cache).absolute())
    outcomes = _carried_out(rows, folder, fit, pool or make_pool(), show or (lambda _: None))
    records = tuple(outcome.record for outcome in outcomes)
    files = write_results(records, folder, folder / RUNS)
    return BatchResult(folder, records, sum(outcome.fitted for outcome in outcomes), files)


def _carried_out(
    rows: Sequence[FleetFit | RowFault], folder: Path, fit_one: Callable[[FleetFit], FitOutcome],
    pool: Pool, show: Show,
) -> list[FitOutcome]:
    """What came of each row."""
    outcomes: dict[int, FitOutcome] = {}
    progress = Progress(len(rows))
    fits: dict[int, FleetFit] = {}
    for number, row in enumerate(rows):
        if isinstance(row, FleetFit):
            fits[number] = row
            continue
        outcomes[number] = FitOutcome(FitRecord.of_failure(row, row.reason), fitted=False)
        progress.add(outcomes[number])
    numbers = list(fits)
    for k, result in pool.map(fit_one, list(fits.values())):
        number = numbers[k]
        outcome = _lost(fits[number], result, folder) if isinstance(result, LostWork) else result
        outcomes[number] = outcome
        progress.add(outcome)
        show(progress.line())
    return [outcomes[number] for number in range(len(rows))]


def _lost(fit: FleetFit, lost: LostWork, folder: Path) -> FitOutcome:
    """The record of a fit that no worker brought to an end, which takes the place of any other."""
    record = FitRecord.of_failure(fit, lost.reason)
    record.write(folder / RUNS / f'{fit.name}.json')
    return FitOutcome(record, fitted=True)
