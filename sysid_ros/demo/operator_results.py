"""What the operators of demonstrations write: the estimate, its verdict, and the revisions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from sysid_ros.errors import ConfigurationError
from sysid_ros.runs.run_files import read_json
from sysid_ros.settings import StrictSettings, parse_settings


class ResultsPart(StrictSettings):
    """A part of the results; it may say more than is looked at."""

    model_config = ConfigDict(extra='ignore')


class _Rollback(ResultsPart):
    revision: str


class _Revision(ResultsPart):
    current: bool
    revision: str
    restored: str


class OperatorResults(ResultsPart):
    """What the operator of any demonstration has written.

    Attributes:
        estimate: Id of the estimate, the name of its folder.
        committable: Whether the verdict allowed the commit.
        rollback: The revision that the rollback led to.
        revisions: All revisions at the end, one of them current.
    """

    estimate: Annotated[str, Field(pattern=r'^[\w+-][\w.+-]*$')]
    committable: bool
    rollback: _Rollback
    revisions: tuple[_Revision, ...]

    @model_validator(mode='after')
    def _one_is_current(self) -> Self:
        current = sum(revision.current for revision in self.revisions)
        if current != 1:
            raise ConfigurationError(
                'is not what a whole demonstration leaves', where='revisions',
                found=f'{current} current revisions', allowed='one',
                fix='Run the demonstration once more')
        return self

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the file that the operator wrote.

        Raises:
            ConfigurationError: It cannot be read, or is no such file.
        """
        return parse_settings(cls, read_json(path), str(path))

    @property
    def current(self) -> _Revision:
        """The revision that is handed out at the end."""
        return next(revision for revision in self.revisions if revision.current)

    @property
    def restores(self) -> bool:
        """Whether the rollback is current, and holds what an earlier revision held."""
        return self.current.revision == self.rollback.revision and bool(self.current.restored)
