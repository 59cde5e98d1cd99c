"""Work that a node has done by a process beside it, as plain values."""

from __future__ import annotations

from pathlib import Path

from sysid_ros.settings import StrictSettings


class WarmUpJob(StrictSettings):
    """Compiled functions to load for fits; see :func:`sysid_ros.runs.warm_up.load_for_fits`.

    Attributes:
        estimator: Name of the estimator.
        closed: Whether the robot has closed loops.
        awaited: Whether somebody waits for it, so that it is done at ordinary priority.
    """

    estimator: str
    closed: bool
    awaited: bool = False


class JudgementJob(StrictSettings):
    """An estimate to judge again; see :func:`sysid_ros.runs.judgement.judge_again`.

    Attributes:
        name: Id of the estimate.
        folder: Its run folder.
    """

    name: str
    folder: Path


class FitJob(StrictSettings):
    """A fit to carry out.

    Attributes:
        recording: Folder of the recording to fit, with its settings.
        others: Folders of recordings to fit together with it.
        validation: Folder of the recording to judge by; by default the last part of the first.
        settings: Settings of the robot, for bags that have none of their own.
        folder: Run folder to write.
        estimator: Name of an estimator; empty for that of the recording's settings.
        holdout: Part of the recording to judge by where there is no other.
        recordings: Ids of the recordings.
        base_revision: Id of the revision that ran when the fit began; empty when none did.
    """

    recording: Path
    others: tuple[Path, ...] = ()
    validation: Path | None = None
    settings: Path | None = None
    folder: Path
    estimator: str = ''
    holdout: float = 0.25
    recordings: tuple[str, ...] = ()
    base_revision: str = ''
