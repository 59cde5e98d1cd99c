"""Carrying out what somebody asked a node for; what comes of it as plain values."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.identification import Identification
from sysid_ros.evaluation.evaluation import Evaluation
from sysid_ros.release.atomic import write_atomically
from sysid_ros.runs.fit import Run, fit_to_folder
from sysid_ros.runs.job import FitJob, JudgementJob
from sysid_ros.runs.judgement import judge_again
from sysid_ros.runs.recording_time import recording_end
from sysid_ros.runs.sources import SETTINGS, load_source
from sysid_ros.runs.stages import Report

#: Written last: an estimate whose folder has it is complete.
PROVENANCE = 'provenance.json'

# Part of the time that is over when each step of a fit begins.
_BEGINNINGS = (0.0, 0.05, 0.45, 0.8)


def fit_job(job: FitJob, report: Report) -> dict[str, Any]:
    """Fit, judge, and leave a run folder with its provenance.

    Args:
        job: What to do.
        report: Called at each step.

    Returns:
        Verdict and figures; one that is not known is None.

    Raises:
        SysidError: The job cannot be carried out.
    """
    identification = _source(job.recording, job)
    others = [_source(path, job) for path in job.others]
    validation = None if job.validation is None else _source(job.validation, job)
    run = fit_to_folder(
        identification, job.folder,
        estimator=job.estimator or identification.settings.fit.estimator,
        others=others, validation=validation, holdout=job.holdout if validation is None else None,
        handed_over=True, stage=_stages(report),
    )
    result = _result(run)
    _write_provenance(job, run, (identification, *others), result)
    return result


def judgement_job(job: JudgementJob, report: Report) -> dict[str, Any]:
    """Judge an estimate again by its recordings.

    Args:
        job: Which one.
        report: Called at each step.

    Returns:
        What came of it, under ``judgement``.

    Raises:
        SysidError: It is refused, or cannot be judged.
    """
    return {'judgement': judge_again(job.name, job.folder, report)}


def _source(path: Path, job: FitJob) -> Identification:
    own = (path / SETTINGS).is_file()
    return load_source(path, None if own else job.settings)


def _stages(report: Report) -> Callable[[str], AbstractContextManager[None]]:
    beginnings = iter(_BEGINNINGS)

    @contextmanager
    def stage(text: str) -> Iterator[None]:
        report(text, next(beginnings, 1.0))
        yield

    return stage


def _result(run: Run) -> dict[str, Any]:
    evaluation = run.evaluation
    estimate, verdict = evaluation.estimate, evaluation.verdict
    margins = estimate.margins.values()
    candidate, prior = _errors(evaluation)
    return {
        'converged': estimate.status.ok,
        'message': estimate.status.value,
        'summary': run.summary,
        'committable': verdict.committable,
        'reasons': list(verdict.reasons),
        'next_steps': list(verdict.next_steps),
        'held_out_relative_error': _number(candidate),
        'prior_relative_error': _number(prior),
        'consistency_margin': _number(min(margins, default=math.nan)),
        'condition_number': _number(run.condition),
    }


def _errors(evaluation: Evaluation) -> tuple[float, float]:
    held_out = evaluation.held_out
    if held_out is None:
        return math.nan, math.nan
    return held_out.candidate.relative_error, held_out.prior.relative_error


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _write_provenance(
    job: FitJob, run: Run, fitted: Sequence[Identification], result: dict[str, Any]
) -> None:
    estimate: Estimate = run.evaluation.estimate
    figures = {key: value for key, value in result.items() if isinstance(value, float)}
    content = {
        'base_revision': job.base_revision,
        'recordings': list(job.recordings),
        'recording_sha256': str(estimate.provenance.get('sha256', '')),
        'recording_end': max(map(recording_end, fitted)),
        'estimated': time.time_ns(),
    } | figures
    text = json.dumps(content, indent=1, allow_nan=False)
    write_atomically(job.folder / PROVENANCE, text.encode())
