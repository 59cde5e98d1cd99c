"""What a verdict belongs to: digests of the estimate, settings and prior that were judged.

They show a mistake, such as an estimate copied beside the verdict of another, or edited by hand.
Who means to deceive can write new ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: Where they stand in ``verdict.json``.
KEY = 'sha256'
_JUDGED = ('estimate.json', 'settings*.yaml', 'prior*')


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
