"""What a verdict belongs to: what was judged, and by what.

Digests of estimate, settings and prior show a mistake, such as an estimate copied beside the
verdict of another, or edited by hand. Who means to deceive can write new ones; so a commit judges
again, by the recordings, for which it is kept what they were and how far off the model was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sysid_ros.errors import ReleaseError
from sysid_ros.evaluation.objection import Objection
from sysid_ros.evaluation.objections import objections_of_fit

#: Where digests, and what was judged by, stand in ``verdict.json``.
KEY, JUDGED_BY = 'sha256', 'judged_by'
_VERDICT = 'verdict.json'
_JUDGED = ('estimate.json', 'settings*.yaml', 'validation.yaml', 'prior*')


class NotCommittableError(ReleaseError):
    """The verdict forbids it, or the estimate is not one that can be handed over."""


class RecordingsGoneError(NotCommittableError):
    """The recordings of a fit cannot be read, so that nobody can judge it again."""


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of the files of a run that a verdict depends on, by name."""
    files = sorted({file for pattern in _JUDGED for file in folder.glob(pattern)})
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def changed_since(folder: Path, verdict: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of files that are not those which a verdict was made from."""
    judged, now = verdict.get(KEY), digests(folder)
    if not isinstance(judged, Mapping):
        return tuple(now)
    return tuple(name for name in sorted({*judged, *now}) if judged.get(name) != now.get(name))


def objections_since(folder: Path) -> tuple[Objection, ...]:
    """What spoke against a fit when it was made, and what was changed since, or was never judged.

    Args:
        folder: Folder of the run.
    """
    try:
        verdict = json.loads((folder / _VERDICT).read_text(encoding='utf-8'))
        found = tuple(objections_of_fit(verdict['reasons'], verdict['next_steps']))
        changed = changed_since(folder, verdict)
    except (KeyError, OSError, TypeError, ValueError):
        return tuple(objections_of_fit(
            [f'Its folder has no {_VERDICT} that can be read.'], ['Fit again.']))
    if changed:
        found = (*found, *objections_of_fit(
            [f'{", ".join(changed)} changed after it was judged.'], ['Fit again.']))
    return found


@dataclass(frozen=True)
class JudgedBy:
    """What an estimate was judged by.

    Attributes:
        sha256: Hash of the data that was judged by; empty where it was none.
        holdout: Last part of each recording that was kept from the fit, if it was that.
        folds: Stretches of the recordings that were left out in turn; 0 for none.
        coarse: Joints whose accelerations the positions were found not to tell.
        training_rms: Error of each joint on all rows of the training data in [N·m] or [N].
        held_out_rms: The same on the rows that were judged by.
    """

    sha256: str = ''
    holdout: float | None = None
    folds: int = 0
    coarse: tuple[str, ...] = ()
    training_rms: tuple[float, ...] = ()
    held_out_rms: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> JudgedBy | None:
        """What :meth:`to_json` gave; None where something is missing or is no such thing."""
        try:
            holdout = data['holdout']
            return cls(
                str(data['sha256']), None if holdout is None else float(holdout),
                int(data['folds']), tuple(map(str, data['coarse'])),
                tuple(map(float, data['training_rms'])), tuple(map(float, data['held_out_rms'])))
        except (KeyError, OverflowError, TypeError, ValueError):
            return None
