"""The record of one fit of a batch: a row of the table of results, and a file beside its run."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from pydantic import ValidationError

import sysid_ros
from sysid_ros.errors import ConfigurationError, ReleaseError
from sysid_ros.fleet.table import FleetFit, RowFault
from sysid_ros.release.atomic import write_atomically
from sysid_ros.runs.fit import Run
from sysid_ros.runs.judged import changed_since
from sysid_ros.runs.run_files import read_verdict
from sysid_ros.settings import StrictSettings

# Longest reason that is kept, and what stands between several.
_LONGEST, _BETWEEN = 2000, '; '


class FitStatus(StrEnum):
    """What came of a fit of a batch."""

    COMMITTABLE = 'committable'
    NOT_COMMITTABLE = 'not committable'
    NOT_CONVERGED = 'not converged'
    FAILED = 'failed'


class FitRecord(StrictSettings):
    """A row of the table of results.

    Attributes:
        run: Folder of the run below ``runs/`` of the batch.
        robot: Name of the robot.
        source: The recordings as the table of the batch names them.
        status: ``committable``, ``not committable``, ``not converged`` or ``failed``.
        reason: Why it failed, or what speaks against committing; empty where nothing does.
        estimator: Name of the estimator.
        error: Torque error relative to the torque, on data that was not fitted where there is
            any.
        prior_error: The same of the parameters before the fit.
        held_out: Whether these errors are on data that was not fitted.
        condition: Condition number of the base regressor of the fitted rows.
        inputs_sha256: SHA-256 of settings, prior and recordings.
        recording_sha256: Hash of the fitted recordings, with commas between several.
        version: Version of this package that fitted.
        finished: When the fit ended, in UTC.
        seconds: How long it took in [s].
    """

    run: str
    robot: str
    source: str
    status: FitStatus
    reason: str = ''
    estimator: str = ''
    error: float | None = None
    prior_error: float | None = None
    held_out: bool = False
    condition: float | None = None
    inputs_sha256: str = ''
    recording_sha256: str = ''
    version: str = ''
    finished: str = ''
    seconds: float | None = None

    @classmethod
    def of_run(cls, fit: FleetFit, run: Run, digest: str, seconds: float) -> FitRecord:
        """What a fit came to.

        Args:
            fit: The fit.
            run: Its run.
            digest: Of all that it depends on.
            seconds: How long it took in [s].
        """
        evaluation = run.evaluation
        estimate, errors = evaluation.estimate, evaluation.held_out or evaluation.training
        status, reason = FitStatus.COMMITTABLE, _BETWEEN.join(evaluation.verdict.reasons)
        if not estimate.status.ok:
            status, reason = FitStatus.NOT_CONVERGED, estimate.status.value
        elif not evaluation.verdict.committable:
            status = FitStatus.NOT_COMMITTABLE
        return cls(
            run=fit.name, robot=fit.robot, source=fit.source, status=status,
            reason=reason[:_LONGEST], estimator=estimate.estimator,
            error=_number(errors.candidate.relative_error),
            prior_error=_number(errors.prior.relative_error),
            held_out=evaluation.held_out is not None, condition=_number(run.condition),
            inputs_sha256=digest,
            recording_sha256=str(estimate.provenance.get('sha256', '')),
            version=sysid_ros.__version__, finished=_now(), seconds=seconds)

    @classmethod
    def of_failure(cls, fit: FleetFit | RowFault, reason: str, digest: str = '') -> FitRecord:
        """A fit that failed, or a row that names none.

        Args:
            fit: The fit or the row.
            reason: Why.
            digest: Of all that it depends on, as far as that could be read.
        """
        return cls(
            run=fit.name, robot=fit.robot, source=fit.source, status=FitStatus.FAILED,
            reason=' '.join(reason.split())[:_LONGEST] or 'unknown', inputs_sha256=digest,
            version=sysid_ros.__version__, finished=_now())

    def holds(self, digest: str, runs: Path) -> bool:
        """Whether the run is there, complete, and of the same inputs, so that it need not be again.

        Args:
            digest: Of settings, prior and recordings as they are now.
            runs: Folder of the runs.
        """
        if self.status is FitStatus.FAILED or self.inputs_sha256 != digest:
            return False
        folder = runs / self.run
        try:
            return not changed_since(folder, read_verdict(folder))
        except (ConfigurationError, OSError):
            return False

    def write(self, path: Path) -> None:
        """Write it beside its run.

        Raises:
            ReleaseError: It cannot be written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ReleaseError(
                f'cannot be written: {error.strerror}', where=str(path),
                fix='Name a folder that can be written to') from error
        write_atomically(path, json.dumps(self.model_dump(mode='json'), indent=1).encode())

    @classmethod
    def read(cls, path: Path) -> FitRecord | None:
        """A record that was written; None where there is none, or it is damaged."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except (OSError, ValidationError, ConfigurationError):
            return None


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec='seconds')
