"""Revisions: what was handed over, chained so that nobody can change it unnoticed."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from typing import Any

from sysid_ros.errors import ParameterError, ReleaseError
from sysid_ros.robot.parameters import ParameterSet

FORMAT = 'sysid_ros revision 1'
#: Longest comment in characters.
MAX_COMMENT = 2000
# Digits of the digest in an id: enough to tell revisions apart, short enough to be read out.
_DIGITS = 12


class Kind(Enum):
    """How a revision came about."""

    INITIAL = 'initial'
    COMMIT = 'commit'
    ROLLBACK = 'rollback'


@dataclass(frozen=True)
class Quality:
    """Figures that tell how far to believe parameters; NaN where not known.

    Attributes:
        held_out_relative_error: ‖τ − τ̂‖ / ‖τ‖ over all joints on data that was not fitted.
        prior_relative_error: The same of the parameters before identification.
        consistency_margin: Smallest over all bodies, relative to the prior; positive when
            physically consistent.
        condition_number: Of the column-scaled base regressor of the fitted data.
    """

    held_out_relative_error: float = math.nan
    prior_relative_error: float = math.nan
    consistency_margin: float = math.nan
    condition_number: float = math.nan

    def to_json(self) -> dict[str, float | None]:
        """Plain values; what is not finite as null."""
        return {
            name: float(value) if math.isfinite(value) else None
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, data: dict[str, float | None]) -> Quality:
        """The inverse of :meth:`to_json`; what is missing is not known."""
        known = {field.name: data.get(field.name) for field in fields(cls)}
        return cls(**{
            name: math.nan if value is None else float(value) for name, value in known.items()
        })


@dataclass(frozen=True)
class Validity:
    """Up to where a model was fitted and judged; plain values, empty where it is not known.

    Attributes:
        fitted_range: How far, how fast and under which load each joint moved in the data that was
            fitted, by joint.
        judged_range: The same of the data that was held out to judge by.
        faster_motion: Torque error to expect of faster motion.
    """

    fitted_range: Mapping[str, Any] = field(default_factory=dict)
    judged_range: Mapping[str, Any] = field(default_factory=dict)
    faster_motion: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain values of what is known: revisions from before there was any keep their digest."""
        return {name: dict(value) for name, value in vars(self).items() if value}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Validity:
        """The inverse of :meth:`to_json`; other keys are left alone."""
        return cls(**{each.name: data.get(each.name, {}) for each in fields(cls)})


@dataclass(frozen=True, eq=False)
class Content:
    """Parameters of a revision, and their provenance.

    Attributes:
        description: Robot description with the parameters in it, byte for byte.
        parameters: All parameters, with their prior.
        prior_sha256: Digest of the description before identification, hexadecimal.
        estimate: Id of the estimate; empty for what was before any identification.
        estimated: When the parameters were estimated, in nanoseconds since 1970.
        recording_sha256: Digest of the recording that was fitted, hexadecimal, or empty.
        quality: How far to believe the parameters.
        kept: Parameters that keep their prior since the data does not tell them.
        notes: What else a person should know.
        validity: Up to where the parameters were fitted and judged.
    """

    description: bytes
    parameters: ParameterSet
    prior_sha256: str
    estimate: str = ''
    estimated: int = 0
    recording_sha256: str = ''
    quality: Quality = Quality()
    kept: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    validity: Validity = Validity()

    @property
    def description_sha256(self) -> str:
        """Digest of the description, hexadecimal."""
        return hashlib.sha256(self.description).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Everything but the description itself, of which the digest is given."""
        return {
            'description_sha256': self.description_sha256,
            'parameters': self.parameters.to_json(), 'prior_sha256': self.prior_sha256,
            'estimate': self.estimate, 'estimated': self.estimated,
            'recording_sha256': self.recording_sha256, 'quality': self.quality.to_json(),
            'kept': list(self.kept), 'notes': list(self.notes),
            **self.validity.to_json(),
        }

    def same_as(self, other: Content) -> bool:
        """Whether another content is the same, byte for byte."""
        return self.description == other.description and self.to_json() == other.to_json()


@dataclass(frozen=True, eq=False)
class Revision:
    """One entry of the store.

    Attributes:
        number: 1 for the first, one more for each.
        parent: Id of the revision before; empty for the first.
        parent_digest: Its whole digest.
        kind: How it came about.
        stamp: When it was committed, in nanoseconds since 1970.
        comment: From whoever committed it.
        restored: For a rollback, id of the revision whose content it repeats.
        content: What it hands over.
    """

    number: int
    parent: str
    parent_digest: str
    kind: Kind
    stamp: int
    comment: str
    restored: str
    content: Content

    @property
    def record(self) -> str:
        """Everything but the description as text, always the same for the same values."""
        header = {
            'format': FORMAT, 'number': self.number, 'parent': self.parent,
            'kind': self.kind.value, 'stamp': self.stamp, 'comment': self.comment,
            'restored': self.restored,
        }
        return json.dumps(
            header | {'content': self.content.to_json()}, sort_keys=True, allow_nan=False,
            separators=(',', ':'),
        )

    @property
    def digest(self) -> str:
        """Digest over the whole content and the parent's digest, hexadecimal."""
        return digest_of(self.parent_digest, self.record, self.content.description)

    @property
    def id(self) -> str:
        """Its number and the beginning of its digest."""
        return revision_id(self.number, self.digest)

    @classmethod
    def read(cls, parent_digest: str, record: str, description: bytes) -> Revision:
        """The revision that :attr:`record` and the description tell of.

        Raises:
            ReleaseError: The record cannot be read.
        """
        try:
            data = json.loads(record)
            if data['format'] != FORMAT:
                raise ReleaseError(
                    'the revision has another format', found=data['format'], allowed=FORMAT,
                    fix='Read it with the version that wrote it, or commit the fit again')
            content = data['content']
            return cls(
                data['number'], data['parent'], parent_digest, Kind(data['kind']), data['stamp'],
                data['comment'], data['restored'],
                Content(
                    description, ParameterSet.from_json(content['parameters']),
                    content['prior_sha256'], content['estimate'], content['estimated'],
                    content['recording_sha256'], Quality.from_json(content['quality']),
                    tuple(content['kept']), tuple(content['notes']),
                    Validity.from_json(content),
                ),
            )
        except (
            AttributeError, KeyError, OverflowError, ParameterError, RecursionError, TypeError,
            ValueError,
        ) as error:
            raise ReleaseError(
                f'cannot be read as a revision: {error!r}',
                fix='Restore the file from a copy') from error


def digest_of(parent_digest: str, record: str, description: bytes) -> str:
    """SHA-256 over the parent's digest, a record and a description, hexadecimal."""
    # JSON holds no zero byte, so that no part can pass for another.
    return hashlib.sha256(
        b'\0'.join((parent_digest.encode(), record.encode(), description))).hexdigest()


def revision_id(number: int, digest: str) -> str:
    """The id that number and digest give."""
    return f'{number}-{digest[:_DIGITS]}'


def revision_number(name: str) -> int:
    """The number that an id begins with; 0 where it is no id of a revision."""
    number = name.partition('-')[0]
    return int(number) if number.isdecimal() and number.isascii() and len(number) < 19 else 0


def require_successor(offered: str, running: str) -> None:
    """Refuse a revision of a store that has lost the one which runs.

    Numbers only rise: to go back to earlier content is a revision of its own. Ids without a number
    say nothing of an order.

    Args:
        offered: Id of the revision that is handed out.
        running: Id of the newest that was taken; empty for none.

    Raises:
        ReleaseError: The number is lower, or that of another revision.
    """
    before = revision_number(running)
    if offered != running and 0 < revision_number(offered) <= before:
        raise ReleaseError(
            'an older revision is handed out than the one that was taken', found=offered,
            allowed=f'one after {running}', fix='Restore the revision store; where it was put '
            'back or begun anew on purpose, clean up and configure this node')
