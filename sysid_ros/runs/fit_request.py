"""A fit as somebody asks for it, by the names of recordings; in a terminal or on a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sysid_ros.report.drawing import Drawing
from sysid_ros.runs.fit import Run, fit_to_folder
from sysid_ros.runs.sources import load_another, load_source
from sysid_ros.runs.stages import Stage, silent


@dataclass(frozen=True)
class FitRequest:
    """What is to be fitted, and how it is judged.

    Attributes:
        sources: Settings files, folders of recordings, or bags; robot and fit are those of the
            first, and further tables and bags are read as it is.
        settings: Settings of bags.
        base: Folder that file names are relative to; that of the settings where left out.
        estimator: Name of an estimator, or ``'all'``; what settings say where left out.
        validate: Another recording to judge by.
        holdout: Last part of each recording to judge by in its place, between 0 and 1.
        folds: Stretches for cross-validation; 0 for none.
        output: Run folder; ``runs/<name of the first recording>-<estimator>`` where left out.
    """

    sources: tuple[Path, ...]
    settings: Path | None = None
    base: Path | None = None
    estimator: str | None = None
    validate: Path | None = None
    holdout: float | None = None
    folds: int = 0
    output: Path | None = None

    def run(
        self, *, command: str = '', stage: Stage = silent, drawing: Drawing | None = None
    ) -> Run:
        """Fit, judge, and leave a run folder.

        Args:
            command: Command line, for the provenance in the report.
            stage: Entered for each step, with what is being done in words.
            drawing: What draws the figures, where it was started before.

        Raises:
            SysidError: Settings, robot or recording cannot be used.
        """
        first, *more = self.sources
        identification = load_source(first, self.settings, self.base)
        others = [load_another(path, self.settings, self.base, like=identification)
                  for path in more]
        validation = None
        if self.validate is not None:
            validation = load_another(
                self.validate, self.settings, self.base, like=identification)
        estimator = self.estimator or identification.settings.fit.estimator
        return fit_to_folder(
            identification, self.output or self._folder(estimator), estimator=estimator,
            others=others, validation=validation, holdout=self.holdout, folds=self.folds,
            command=command, stage=stage, drawing=drawing)

    def _folder(self, estimator: str) -> Path:
        first, *more = self.sources
        name = first.resolve().stem if first.is_file() else first.resolve().name
        together = f'+{len(more)}' if more else ''
        return Path('runs') / f'{name}{together}-{estimator}'
