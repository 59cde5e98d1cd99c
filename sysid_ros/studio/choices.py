"""What people have chosen on the page: one for all browsers, kept in the folder."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from sysid_ros.settings import StrictSettings
from sysid_ros.studio.folder import Contents
from sysid_ros.studio.jobs import JudgedBy, StandingBox

_Name = Annotated[str, Field(max_length=4096)]


class Choices(StrictSettings):
    """What is chosen in each step.

    Attributes:
        description: The description that is shown; or settings whose robot is.
        planned: The description of the robot that is to move.
        srdf: SRDF of that robot; empty for none.
        boxes: What stands around it.
        plan: The settings of a motion that are designed by.
        speed: How fast it is played, in parts of what is designed.
        motion: The motion that is shown.
        recording: The recording that is shown.
        fitted: Recordings to fit; robot and fit are those of the first.
        judged_by: How the fit is judged.
        validation: The other recording to judge by.
        holdout: Last part of each recording to judge by.
        folds: Stretches that take turns in being left out.
        estimator: Name of the estimator; empty for what settings say.
        run: The run that is shown, and exported.
        compared: Runs to compare, in the order in which they were recorded.
        formats: Formats to export.
    """

    description: _Name = ''
    planned: _Name = ''
    srdf: _Name = ''
    boxes: tuple[StandingBox, ...] = Field(default=(), max_length=50)
    plan: _Name = ''
    speed: float = Field(default=1.0, ge=0.05, le=1.0)
    motion: _Name = ''
    recording: _Name = ''
    fitted: tuple[_Name, ...] = ()
    judged_by: JudgedBy = 'holdout'
    validation: _Name = ''
    holdout: float = Field(default=0.3, ge=0.05, le=0.9)
    folds: int = Field(default=5, ge=2, le=50)
    estimator: str = Field(default='', max_length=64)
    run: _Name = ''
    compared: tuple[_Name, ...] = ()
    formats: tuple[str, ...] = ('description', 'yaml')

    def with_changes(self, changes: dict[str, Any]) -> Choices:
        """The choices with others in their place.

        Args:
            changes: New values by field.

        Raises:
            ValueError: A value is none of its field.
        """
        return Choices.model_validate(self.model_dump() | changes)

    def within(self, contents: Contents) -> Choices:
        """The choices as far as there is what they name; the first where nothing is chosen.

        Args:
            contents: What the folder holds.
        """
        recordings = [entry.name for entry in contents.recordings]
        described = contents.described
        # Settings say more of a robot than its description: what is held, how loops close.
        sources = (*contents.descriptions, *described)
        fitted = tuple(name for name in self.fitted if name in described) or described[:1]
        others = [name for name in described if name not in fitted]
        return self.with_changes({
            'description': _one_of(self.description, sources),
            'planned': _one_of(self.planned, contents.descriptions),
            'srdf': self.srdf if self.srdf in contents.srdfs else '',
            'plan': _one_of(self.plan, contents.plans),
            'motion': _one_of(self.motion, contents.motions),
            'recording': _one_of(self.recording, recordings), 'fitted': fitted,
            'validation': _one_of(self.validation, others),
            'judged_by': 'holdout' if self.judged_by == 'validate' and not others
            else self.judged_by,
            'run': _one_of(self.run, contents.runs),
            'compared': tuple(name for name in self.compared if name in contents.runs)})


def _one_of(name: str, names: list[str] | tuple[str, ...]) -> str:
    return name if name in names else next(iter(names), '')
