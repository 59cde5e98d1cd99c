"""What is chosen on the live page, for all browsers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationError

from sysid_ros.errors import ConfigurationError
from sysid_ros.settings import StrictSettings
from sysid_ros.studio.live.data_listing import Listing

#: Parts of the designed speed that a page offers.
SPEEDS = (0.1, 0.2, 0.5, 1.0)
#: Longest shadow test in [s]: joint states are kept for a minute.
LONGEST_SHADOW = 50.0
_Id = Annotated[str, Field(max_length=64)]


class LiveChoices(StrictSettings):
    """What is chosen.

    Attributes:
        motion: The motion to play.
        speed: Part of the designed speed.
        record: Whether it is recorded.
        hold: Whether it goes on only while a button is held.
        fitted: Recordings to fit together.
        validation: The recording to judge by; empty: the last part of the first.
        estimate: The estimate that is shown, and committed.
        shadow: Last seconds of the shadow test in [s]; 0: none.
    """

    motion: _Id = ''
    speed: float = Field(default=0.2, gt=0.0, le=1.0)
    record: bool = True
    hold: bool = False
    fitted: tuple[_Id, ...] = ()
    validation: _Id = ''
    estimate: _Id = ''
    shadow: float = Field(default=0.0, ge=0.0, le=LONGEST_SHADOW)

    def with_changes(self, changes: dict[str, Any]) -> LiveChoices:
        """The choices with others in their place.

        Args:
            changes: New values by field.

        Raises:
            ConfigurationError: A value is none of its field.
        """
        try:
            return LiveChoices.model_validate(self.model_dump() | changes)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise ConfigurationError(
                f'is not what can be chosen: {first["msg"]}',
                where='.'.join(map(str, first['loc'])), found=repr(first.get('input'))[:80],
                fix='Choose one of the list') from error

    def within(self, listing: Listing) -> LiveChoices:
        """The choices as far as there is what they name; the first where nothing is chosen.

        Args:
            listing: What the data folder holds.
        """
        fitted = tuple(name for name in self.fitted if name in listing.recordings)
        return self.model_copy(update={
            'motion': _one_of(self.motion, listing.motions),
            'fitted': fitted or listing.recordings[:1],
            'validation': self.validation if self.validation in listing.recordings
            and self.validation not in fitted else '',
            'estimate': _one_of(self.estimate, listing.estimates)})


def _one_of(name: str, names: tuple[str, ...]) -> str:
    return name if name in names else next(iter(names), '')
