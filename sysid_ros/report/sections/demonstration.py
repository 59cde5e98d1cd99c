"""What a demonstration came to: errors by the description, by what was identified, by the truth."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from sysid_ros.report.plots import BEFORE, COASTING, IDENTIFIED, Figure, Trace, axis, figure, label
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number


class DemonstratedError(ReportModel):
    """An error by the description, by what was identified and by the true parameters.

    Attributes:
        name: What is off.
        unit: Of the errors.
        prior: By the description.
        identified: By what was identified.
        truth: By the true parameters: what no fit can do better.
        ratio: Identified over truth.
        at_most: What the ratio may be; None where nothing is asked of it.
    """

    name: str
    unit: str
    prior: Number
    identified: Number
    truth: Number
    ratio: Number
    at_most: Number


class DemonstratedCheck(ReportModel):
    """A sentence, and whether it holds."""

    sentence: str
    met: bool


class Neighbour(ReportModel):
    """A file beside the page, and what is in it; never an address elsewhere."""

    file: Annotated[str, Field(pattern=r'^[A-Za-z0-9_][A-Za-z0-9_.-]*$')]
    text: str


class DemonstrationSection(Section):
    """The closed loop on a robot whose truth is known.

    Attributes:
        met: Whether everything is as it should be.
        errors: Errors by each set of parameters.
        checks: What should be, and whether it is.
        links: Files beside the page.
        course: What was done with the robot, in words.
    """

    section: Literal['demonstration'] = 'demonstration'
    title: ClassVar[str] = 'The demonstration'
    met: bool
    errors: list[DemonstratedError]
    checks: list[DemonstratedCheck]
    links: list[Neighbour]
    course: str = (
        'A simulated robot whose true parameters differ from its description was excited, '
        "identified, and controlled by each of three sets of parameters. The truth's bars are "
        'what sensors and filters leave of any model.')

    def figures(self) -> dict[str, Figure]:
        """Bars of every error."""
        return {f'error-{k}': _bars(each) for k, each in enumerate(self.errors)}


def _bars(error: DemonstratedError) -> Figure:
    bar: Trace = {
        'type': 'bar', 'x': ['description', 'identified', 'truth'],
        'y': [error.prior, error.identified, error.truth],
        'marker': {'color': [BEFORE, IDENTIFIED, COASTING]},
        'hovertemplate': '%{x}: %{y:.3g}<extra></extra>'}
    return figure(
        [bar], axis(type='category'), axis(f'[{label(error.unit)}]', rangemode='tozero'),
        height=260, showlegend=False)
