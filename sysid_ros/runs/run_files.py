"""Files of a run and of a motion; JSON is read as what may have been damaged or edited."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_ros.errors import ConfigurationError

VERDICT, PROVENANCE = 'verdict.json', 'provenance.json'
#: Files of a motion in its folder; where there are several, with a number behind their stems.
MOTION, TRAJECTORY = 'excitation.yaml', 'trajectory.yaml'

# Times in nanoseconds since 1970, and figures.
_TIMES = ('recording_end', 'estimated')
_FIGURES = ('held_out_relative_error', 'prior_relative_error', 'condition_number')
# No time and no figure is beyond.
_TIME_LIMIT, _FIGURE_LIMIT = 2**63, 1e300


def read_verdict(folder: Path) -> dict[str, Any]:
    """The verdict of a run.

    Args:
        folder: Folder of the run.

    Raises:
        ConfigurationError: It cannot be read, or is not what a fit writes.
    """
    verdict = read_json(folder / VERDICT)
    for key in ('reasons', 'next_steps'):
        if not isinstance(verdict.get(key, []), list):
            raise _strange(folder / VERDICT, key, verdict[key], 'a list of sentences')
    return verdict


def read_provenance(folder: Path) -> dict[str, Any]:
    """What the identification node noted beside a run; empty where it noted nothing.

    Args:
        folder: Folder of the run.

    Raises:
        ConfigurationError: It cannot be read, or a time or a figure in it cannot be one.
    """
    path = folder / PROVENANCE
    if not path.exists():
        return {}
    provenance = read_json(path)
    for key in _TIMES:
        _require_number(provenance, key, path, 0, _TIME_LIMIT, 'nanoseconds since 1970')
    for key in _FIGURES:
        _require_number(provenance, key, path, -_FIGURE_LIMIT, _FIGURE_LIMIT, 'a finite number')
    return provenance


def _require_number(
    data: Mapping[str, Any], key: str, path: Path, least: float, most: float, allowed: str
) -> None:
    value = data.get(key)
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (
        not least <= value <= most
    ):
        raise _strange(path, key, value, allowed)


def read_json(path: Path) -> dict[str, Any]:
    """An object of a JSON file of a run, whose numbers are finite as fits write them.

    Args:
        path: The file.

    Raises:
        ConfigurationError: It cannot be read, or is no such object.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    return json_object(content, path)


def json_object(content: bytes, path: Path) -> dict[str, Any]:
    """The object that a JSON file of a run holds; see :func:`read_json`.

    Args:
        content: What the file holds.
        path: The file, for messages.
    """
    try:
        data = json.loads(
            content.decode('utf-8'), parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, error) from error
    if not isinstance(data, dict):
        raise ConfigurationError(
            'is not what a fit writes', where=str(path), found=type(data).__name__,
            allowed='an object', fix='Fit again')
    return data


def _unreadable(path: Path, error: Exception) -> ConfigurationError:
    return ConfigurationError(
        f'cannot be read: {error}', where=str(path),
        fix='Wait for the end of the fit, or fit again')


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f'{digits[:40]} is no finite number')
    return number


def _strange(path: Path, key: str, value: object, allowed: str) -> ConfigurationError:
    return ConfigurationError(
        'is not what a fit writes', where=f'{path}: {key}', found=repr(value)[:80],
        allowed=allowed, fix='Fit again')
