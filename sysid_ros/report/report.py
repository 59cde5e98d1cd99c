"""A report: its sections as one document, ``report.json``, with a published schema.

The schema is ``report.schema.json`` beside this module (JSON Schema 2020-12). Numbers that are not
finite are null. A later version of the package may add sections and entries; what an entry means
does not change under the same format.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ValidationError

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.online.online_history import OnlineHistory
from sysid_ros.estimation.payload.found_load import FoundLoad
from sysid_ros.report.planned_motion import PlannedMotion
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import Origin, ReportSource
from sysid_ros.report.sections.followed_robot import FollowedRobotSection
from sysid_ros.report.sections.provenance import ProvenanceSection
from sysid_ros.report.sections.registry import (
    AnySection,
    load_sections,
    motion_sections,
    sections_of,
)

#: What a report can be of.
ReportKind = Literal['run', 'comparison', 'motion', 'load', 'demonstration', 'fleet', 'online']
_SUBJECTS: dict[ReportKind, str] = {
    'run': 'Identified dynamics of', 'comparison': 'Comparison of',
    'motion': 'Planned motion of', 'load': 'Identified load of',
    'demonstration': 'Demonstration on', 'fleet': 'Fits of',
    'online': 'Followed while it worked:'}
#: The published schema.
SCHEMA = Path(__file__).with_name('report.schema.json')


class Report(ReportModel):
    """All that is said of a run, of a planned motion, or of something else.

    Attributes:
        format: Of the document.
        kind: What it is said of.
        name: Of the run.
        robot: Name of the robot.
        sections: In the order of the page.
    """

    format: Literal['sysid_ros report 1'] = 'sysid_ros report 1'
    kind: ReportKind = 'run'
    name: str
    robot: str
    sections: list[AnySection]

    @classmethod
    def of(cls, source: ReportSource) -> Self:
        """The report of a run."""
        return cls.model_construct(
            name=source.name, robot=source.judged.model.robot.name,
            sections=sections_of(source))

    @classmethod
    def of_motion(cls, source: PlannedMotion, origin: Origin) -> Self:
        """The report of a planned motion, and where it came from."""
        return cls.model_construct(
            kind='motion', name=source.name, robot=source.designer.model.robot.name,
            sections=motion_sections(source, origin))

    @classmethod
    def of_load(cls, name: str, found: FoundLoad, origin: Origin) -> Self:
        """The report of a load.

        Args:
            name: What it is called.
            found: The load.
            origin: Where it came from.
        """
        return cls.model_construct(
            kind='load', name=name, robot=found.rows.model.robot.name,
            sections=load_sections(found, origin))

    @classmethod
    def of_history(cls, name: str, robot: str, history: OnlineHistory, origin: Origin) -> Self:
        """The report of a robot that was followed while it worked.

        Args:
            name: What it is called.
            robot: Name of the robot.
            history: What was found, at least one estimate.
            origin: Where it came from.
        """
        return cls.model_construct(kind='online', name=name, robot=robot, sections=[
            FollowedRobotSection.of_history(history), ProvenanceSection.of_origin(origin)])

    @property
    def subject(self) -> str:
        """What the page says it is, before the name of the robot."""
        return _SUBJECTS[self.kind]

    def to_json(self) -> str:
        """The document as JSON text."""
        return json.dumps(self.model_dump(mode='json'), allow_nan=False, ensure_ascii=False)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a ``report.json``.

        Raises:
            ConfigurationError: It cannot be read, or is no report.
        """
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ConfigurationError(
                f'cannot be read: {error.strerror or error}', where=str(path),
                fix="Name the folder that 'sysid fit' wrote") from error
        return cls.from_json(content, str(path))

    @classmethod
    def from_json(cls, content: bytes, where: str) -> Self:
        """The inverse of :meth:`to_json`.

        Args:
            content: The document as JSON.
            where: What it is called in messages.

        Raises:
            ConfigurationError: It is no report.
        """
        try:
            report = cls.model_validate_json(content)
            report.to_json()
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = '.'.join(map(str, first['loc']))
            raise ConfigurationError(
                'is no report of this version', where=where,
                found=f'{place}: {first["msg"]}', fix='Fit again') from error
        except ValueError as error:
            # Readers take 1e999 for infinity, which no report has and no page can show.
            raise ConfigurationError(
                'is no report: a number is not finite', where=where, fix='Fit again') from error
        return report


def report_schema() -> dict[str, Any]:
    """JSON Schema of ``report.json``, as published in :data:`SCHEMA`."""
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema', **Report.model_json_schema()}
