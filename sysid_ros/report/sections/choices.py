"""What the data chose, and what was compared on the way: tables in words."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from sysid_ros.report.evidence import (
    choices_section,
    comparison_section,
    folds_section,
    friction_section,
)
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.sections.section import Section


class Table(ReportModel):
    """A table as text, as the summary has it."""

    title: str
    text: str


class ChoicesSection(Section):
    """Settings that the data chose, friction models, folds and estimators."""

    section: Literal['choices'] = 'choices'
    title: ClassVar[str] = 'How the model was chosen'
    tables: list[Table]

    @classmethod
    def of(cls, source: ReportSource) -> Self | None:
        """Choices of a run; None where nothing was chosen or compared."""
        choice, tables = source.choice, []
        if choice is not None and (choice.choices or choice.left):
            tables.append(Table(
                title='Settings that the data chose',
                text=choices_section(choice.choices, choice.left)))
        if choice is not None and choice.friction is not None:
            tables.append(Table(title='Friction models', text=friction_section(choice.friction)))
        if source.folds is not None:
            tables.append(Table(title='Cross-validation', text=folds_section(source.folds)))
        if source.comparison is not None:
            tables.append(Table(title='Estimators', text=comparison_section(source.comparison)))
        return cls(tables=tables) if tables else None
