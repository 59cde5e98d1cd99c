"""Judging an estimate again in a process beside the node, for a thread that may wait for it."""

from __future__ import annotations

import time
from pathlib import Path

from sysid_ros.errors import SysidError
from sysid_ros.nodes.fit_process import FitProcess
from sysid_ros.runs.job import JudgementJob
from sysid_ros.runs.judged import NotCommittableError, RecordingsGoneError

_LOOK = 0.02
# What the process refuses with, by the name of its class.
_REFUSALS = {kind.__name__: kind for kind in (NotCommittableError, RecordingsGoneError)}


def judge_beside(name: str, folder: Path) -> str:
    """Judge an estimate again by its recordings, in a process of low priority.

    Args:
        name: Id of the estimate.
        folder: Its run folder.

    Returns:
        What came of it, one sentence for people.

    Raises:
        NotCommittableError: The recordings speak against it.
        RecordingsGoneError: A recording cannot be read.
        SysidError: Anything else that keeps it from being judged.
    """
    process = FitProcess(JudgementJob(name=name, folder=folder))
    try:
        while not process.poll():
            time.sleep(_LOOK)
    finally:
        process.kill()
    if process.result is None:
        raise _REFUSALS.get(process.kind, SysidError)(process.error)
    return str(process.result['judgement'])


def judge_if_recorded(name: str, folder: Path) -> str:
    """Like :func:`judge_beside`, but the verdict counts as written where recordings are gone."""
    try:
        return judge_beside(name, folder)
    except RecordingsGoneError:
        return (
            'Its recordings cannot be read any more: the verdict was taken as it was written, '
            'since recordings_required is false.')
