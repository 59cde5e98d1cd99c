"""One fit of a batch, in whatever process: it is done once for the same settings and data."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from sysid_ros.errors import SysidError
from sysid_ros.fleet.fetching import fetched
from sysid_ros.fleet.locks import locked
from sysid_ros.fleet.record import FitRecord
from sysid_ros.fleet.sources import FitSources
from sysid_ros.fleet.table import FleetFit
from sysid_ros.runs.fit import Run, fit_to_folder

#: Folder of the runs in that of a batch.
RUNS = 'runs'


@dataclass(frozen=True)
class FitOutcome:
    """What came of a fit that a batch asked for.

    Attributes:
        record: The row of results.
        fitted: Whether it was fitted now; False where a run of the same inputs was there.
    """

    record: FitRecord
    fitted: bool


def fit_once(fit: FleetFit, folder: Path, cache: Path | None = None) -> FitOutcome:
    """Fit, unless there is a run of the same settings, prior and recordings; failures are recorded.

    A record is written after its run is complete, and taken away before the run is replaced: what
    was interrupted is fitted again. Of several processes that are asked for the same fit, one does
    it.

    Args:
        fit: The fit.
        folder: Folder of the batch.
        cache: Folder to keep recordings of stores in; without it they are removed after the fit.

    Raises:
        ReleaseError: The folder cannot be written.
    """
    runs = folder / RUNS
    file = runs / f'{fit.name}.json'
    with locked(file.with_suffix('.lock')):
        digest = ''
        try:
            with fetched(fit, cache) as near:
                sources = FitSources.of(near)
                digest = sources.digest(near)
                known = FitRecord.read(file)
                if known is not None and known.holds(digest, runs):
                    return FitOutcome(known, fitted=False)
                file.unlink(missing_ok=True)
                start = time.perf_counter()
                run = _run(near, sources, runs / fit.name)
                record = FitRecord.of_run(fit, run, digest, time.perf_counter() - start)
        except SysidError as error:
            record = FitRecord.of_failure(fit, str(error), digest)
        except Exception as error:  # one recording that nobody foresaw holds up no other
            record = FitRecord.of_failure(
                fit, f'an error that was not foreseen: {type(error).__name__}: {error}', digest)
        record.write(file)
    return FitOutcome(record, fitted=True)


def _run(fit: FleetFit, sources: FitSources, folder: Path) -> Run:
    first = sources.first
    return fit_to_folder(
        first, folder, estimator=fit.estimator or first.settings.fit.estimator,
        others=sources.others, validation=sources.validation, holdout=fit.holdout,
        folds=fit.folds)
