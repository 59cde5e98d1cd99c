"""The base of all sections of a report.

A section is a frozen Pydantic model: what it holds is its part of ``report.json`` and of the
published schema, and all that its template and figures are made from. A new one is a module with
the class, a template of the same name beside it, and a line in ``registry.py``.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import ClassVar, Self

from sysid_ros.report.player import Player
from sysid_ros.report.plots import Figure
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource


class Section(ReportModel):
    """A section of a report.

    Subclasses have a field ``section`` whose only value is their name.

    Attributes:
        title: Heading on the page.
    """

    title: ClassVar[str]

    @classmethod
    def of(cls, source: ReportSource) -> Self | None:
        """The section of a run; None where the run has nothing of the kind.

        Args:
            source: The run.
        """
        raise NotImplementedError

    def figures(self) -> dict[str, Figure]:
        """Figures by name; the template places them by ``plot(name, text)``."""
        return {}

    def players(self) -> dict[str, Player]:
        """What is played, by name; the template places it by ``player(name, text)``."""
        return {}

    @classmethod
    def template(cls) -> Path:
        """The Jinja2 template: beside the module, under its name."""
        return Path(inspect.getfile(cls)).with_suffix('.html.j2')
