"""What every demonstration leaves to look at: a table, a page, and the same as numbers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysid_ros.release.atomic import write_atomically
from sysid_ros.report.joint_axes import draw
from sysid_ros.report.joint_strips import JointStrips
from sysid_ros.report.report import Report
from sysid_ros.report.sections.demonstration import (
    DemonstratedCheck,
    DemonstratedError,
    DemonstrationSection,
    Neighbour,
)
from sysid_ros.report.sections.provenance import ProvenanceSection
from sysid_ros.report.tables import table
from sysid_ros.runs.report_files import made_now, write_document
from sysid_ros.runs.run_files import read_json

# Goes into the names of the page of the demonstration and its document.
_NAME = 'demo'
# Files of every fit that belong into the report.
_KEPT = {
    'report.html': 'The report of the identification', 'summary.txt': 'Its summary as text',
    'simulation.png': 'Simulated motion'}


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a demonstration came to.

    Attributes:
        robot: Name of the robot.
        estimate: Id of the estimate, the name of its folder.
        errors: Errors by the description, by what was identified, and by the truth.
        checks: What should be, and whether it is.
        figures: Numbers for programs.
        kept: Further files of the fit that belong into the report, and what each shows.
        drawn: Figures to draw, by file: what each shows in words, and as plain numbers.
        course: What was done with the robot, in words; as of an arm whose torques are measured
            where left out.
    """

    robot: str
    estimate: str
    errors: Sequence[DemonstratedError]
    checks: Sequence[DemonstratedCheck]
    figures: Mapping[str, Any]
    kept: Mapping[str, str]
    drawn: Mapping[str, tuple[str, JointStrips]]
    course: str = DemonstrationSection.model_fields['course'].default

    @property
    def met(self) -> bool:
        """Whether everything is as it should be."""
        return all(check.met for check in self.checks)

    def summary(self) -> str:
        """Errors and checks for people."""
        rows = [
            [f'{error.name} [{error.unit}]', *(
                f'{value:.2f}'
                for value in (error.prior, error.identified, error.truth, error.ratio)),
             '' if error.at_most is None else f'{error.at_most}']
            for error in self.errors]
        return '\n'.join([
            table(['', 'description', 'identified', 'truth', 'identified/truth', 'at most'], rows),
            '', *(f'  {"yes" if check.met else "NO "}  {check.sentence}' for check in self.checks)])

    def write(self, folder: Path) -> str:
        """Write ``report/`` in the folder of the demonstration; the summary, and where the page is.

        Args:
            folder: The folder.
        """
        out, text = folder / 'report', self.summary()
        out.mkdir(exist_ok=True)
        write_atomically(out / 'report.txt', (text + '\n').encode())
        numbers = {
            **self.figures, 'all_met': self.met, 'operator': read_json(folder / 'results.json')}
        write_atomically(out / 'report.json', json.dumps(numbers, indent=1).encode())
        for name, (_, strips) in self.drawn.items():
            draw(out / name, strips)
        kept = _KEPT | dict(self.kept)
        for name in kept:
            file = folder / 'data' / 'estimates' / self.estimate / name
            if file.is_file():
                shutil.copyfile(file, out / name)
        words = kept | {name: what for name, (what, _) in self.drawn.items()}
        section = DemonstrationSection(
            met=self.met, errors=list(self.errors), checks=list(self.checks), links=[
                Neighbour(file=name, text=what) for name, what in words.items()
                if (out / name).is_file()], course=self.course)
        note = write_document(out, Report.model_construct(
            kind='demonstration', name=folder.name, robot=self.robot, sections=[
                section, ProvenanceSection.of_origin(made_now('', '', {}))]), _NAME)
        return f'{text}\n\n{note or f"The report is {out}/report_{_NAME}.html"}'
