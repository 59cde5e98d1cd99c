"""The base of all that a report holds: what players, sections and pages are made of."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class ReportModel(BaseModel):
    """A part of a section: frozen, and without entries that nobody knows."""

    model_config = ConfigDict(frozen=True, extra='forbid')
