"""Judging an estimate again in a process beside the node, for a thread that may wait for it."""

from __future__ import annotations

import threading
from pathlib import Path

from sysid_ros.errors import SysidError
from sysid_ros.msg import ResultCode
from sysid_ros.nodes.fit_process import FitProcess
from sysid_ros.nodes.progress import Progress
from sysid_ros.nodes.refusal import RefusedError
from sysid_ros.runs.job import JudgementJob
from sysid_ros.runs.judged import NotCommittableError, RecordingsGoneError

_LOOK = 0.02
# Parts of a commit that are over when the judgement begins and ends.
_BEGUN, _DONE = 0.05, 0.7
# What the process refuses with, by the name of its class.
_REFUSALS = {kind.__name__: kind for kind in (NotCommittableError, RecordingsGoneError)}


class Judge:
    """Judges estimates again by their recordings, each in a process of low priority.

    Args:
        recordings_required: Whether an estimate whose recordings cannot be read is refused;
            otherwise its verdict counts as it was written.
    """

    def __init__(self, *, recordings_required: bool) -> None:
        self._recordings_required = recordings_required
        self._ended = threading.Event()

    def end(self) -> None:
        """Give up what is being judged; from any thread."""
        self._ended.set()

    def __call__(self, name: str, folder: Path, progress: Progress) -> str:
        """Judge an estimate.

        Args:
            name: Id of the estimate.
            folder: Its run folder.
            progress: Is told how far it is; who asked for it may take that back.

        Returns:
            What came of it, one sentence for people.

        Raises:
            NotCommittableError: The recordings speak against it.
            RecordingsGoneError: A recording cannot be read.
            RefusedError: The judge was told to end, or nobody wants it any more.
            SysidError: Anything else that keeps it from being judged.
        """
        try:
            return self._judged(name, folder, progress)
        except RecordingsGoneError:
            if self._recordings_required:
                raise
            return (
                'Its recordings cannot be read any more: the verdict was taken as it was written, '
                'since recordings_required is false.')

    def _judged(self, name: str, folder: Path, progress: Progress) -> str:
        process = FitProcess()
        try:
            process.begin(JudgementJob(name=name, folder=folder))
            while not process.poll():
                for stage, part in process.new_reports():
                    progress.tell(stage, _BEGUN + (_DONE - _BEGUN) * part)
                progress.require_wanted()
                if self._ended.wait(_LOOK):
                    raise RefusedError(ResultCode.NOT_ACTIVE, SysidError(
                        'the node was deactivated before the estimate was judged', where=name,
                        fix='Commit it again when the node is active'))
        finally:
            process.kill()
        if process.result is None:
            raise _REFUSALS.get(process.kind, SysidError)(process.error)
        return str(process.result['judgement'])
