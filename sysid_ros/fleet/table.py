"""The table of a batch: robots, their settings or descriptions, and their recordings.

A CSV file with a header, or a YAML file with the list ``fits:``; both have the keys of
:class:`TableRow`. File names and patterns are relative to the table. Every recording that a row
names, or that a pattern of it matches, is a fit of its own, unless the row says ``together``. A row
that cannot be used is a :class:`RowFault` and holds up no other.
"""

from __future__ import annotations

import csv
import glob
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from sysid_ros.errors import ConfigurationError, SysidError, did_you_mean, unreadable
from sysid_ros.fleet.stores import expanded, is_url
from sysid_ros.recording.file_kind import is_there
from sysid_ros.settings import StrictSettings, load_yaml, parse_settings

#: Last part of each recording that is kept to judge by, where a row does not say how to judge.
HOLDOUT = 0.25
_YAML = ('.yaml', '.yml')
_FITS = 'fits'
# Characters of robots and recordings that go into names of folders, and how many of them.
_STRANGE, _LONGEST = re.compile(r'[^\w.+-]+'), 40
# Hexadecimal digits that tell fits of the same names apart.
_DIGITS = 10


class TableRow(StrictSettings):
    """One row of the table of a batch.

    Attributes:
        robot: Name of the robot.
        settings: Settings file of the robot, or a pattern of settings files, each of which is a
            fit; relative to the table.
        urdf: URDF, xacro or MJCF of the robot, in place of ``settings``: the rest is guessed from
            each recording, as ``sysid init`` does.
        recordings: Bags, folders of recordings, CSV or NPZ files, or settings files of recordings;
            names, URLs of stores, or patterns with ``*``, ``?`` and ``**``. In a CSV, a semicolon
            stands between several. Without any, the recording that ``settings`` names.
        together: Whether the recordings are fitted together, with the same parameters.
        validation: Another recording to judge by; it is taken out of ``recordings``.
        holdout: Last part of each recording to judge by, 0.25 where nothing else is said.
        folds: Stretches of the recordings for cross-validation; 0 for none.
        estimator: Name of the estimator; by default that of the settings.
    """

    robot: Annotated[str, Field(min_length=1)]
    settings: str | None = None
    urdf: str | None = None
    recordings: tuple[str, ...] = ()
    together: bool = False
    validation: str | None = None
    holdout: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    folds: Annotated[int, Field(ge=0)] = 0
    estimator: str | None = None

    @model_validator(mode='after')
    def _check(self) -> TableRow:
        if (self.settings is None) == (self.urdf is None):
            raise ConfigurationError(
                'the robot needs settings or a description', where='settings',
                found='neither' if self.urdf is None else 'settings and urdf',
                allowed='the key settings or urdf',
                fix='Say settings: arm.yaml, or urdf: arm.urdf with recordings')
        if self.urdf is not None and not self.recordings:
            raise ConfigurationError(
                'it is not said what was recorded', where='recordings', found='urdf alone',
                fix='Add recordings, as recordings: [monday.csv]')
        if self.holdout is not None and (self.validation is not None or self.folds):
            raise ConfigurationError(
                'a fit is judged in one way', where='holdout',
                found='holdout and validation or folds', allowed='one of them',
                fix='Keep one of holdout, validation and folds')
        return self


@dataclass(frozen=True)
class FleetFit:
    """One fit of a batch.

    Attributes:
        name: Name of its run folder, ``robot/recording-digits``, which depends on the row alone.
        robot: Name of the robot.
        source: The recordings as the table names them, with semicolons between several.
        settings: Settings file of the robot; None where there is a description.
        description: Description of the robot; None where there are settings.
        recordings: What was recorded, as files or URLs; empty for what the settings name.
        validation: Another recording to judge by.
        holdout: Last part of each recording to judge by.
        folds: Stretches of the recordings for cross-validation.
        estimator: Name of the estimator; None for that of the settings.
    """

    name: str
    robot: str
    source: str
    settings: Path | None
    description: Path | None
    recordings: tuple[Path | str, ...]
    validation: Path | str | None
    holdout: float | None
    folds: int
    estimator: str | None


@dataclass(frozen=True)
class RowFault:
    """A row of a table that names no fit.

    Attributes:
        name: Where a run of it would be, as of a :class:`FleetFit`.
        robot: Name of the robot, as far as it is told.
        source: Number of the row in the table, in words.
        reason: Why.
    """

    name: str
    robot: str
    source: str
    reason: str


def read_table(path: str | Path) -> tuple[FleetFit | RowFault, ...]:
    """Fits of a table, in its order; one that is named twice counts once.

    Args:
        path: CSV file with a header, or YAML file with the list ``fits:``.

    Raises:
        ConfigurationError: The table cannot be read, has an unknown column, or no rows.
    """
    path = Path(path)
    rows = _yaml_rows(path) if path.suffix.lower() in _YAML else _csv_rows(path)
    if not rows:
        raise ConfigurationError(
            'the table has no rows', where=str(path),
            fix='Add a row: robot,settings, and below it arm_1,arm_1/settings.yaml')
    fits: dict[str, FleetFit | RowFault] = {}
    for where, row in rows:
        fits |= {fit.name: fit for fit in _fits_of(row, where, path)}
    return tuple(fits.values())


def _yaml_rows(path: Path) -> list[tuple[str, Any]]:
    data = load_yaml(path)
    rows = data.get(_FITS)
    if set(data) != {_FITS} or not isinstance(rows, list):
        raise ConfigurationError(
            'is no table of fits', where=str(path), found=', '.join(map(str, data)),
            allowed=f'the list {_FITS}',
            fix=f'Write {_FITS}: [{{robot: arm_1, settings: arm_1/settings.yaml}}]')
    return [(f'{_FITS}[{number}]', row) for number, row in enumerate(rows)]


def _csv_rows(path: Path) -> list[tuple[str, Any]]:
    try:
        with path.open(encoding='utf-8-sig', newline='') as file:
            table = list(csv.reader(file, skipinitialspace=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        fix = 'Correct the path' if isinstance(error, FileNotFoundError) else None
        raise unreadable(ConfigurationError, path, error, fix) from error
    header = [name.strip() for name in table[0]] if table else []
    _require_columns(header, path)
    return [
        (f'line {number}', _csv_row(header, cells))
        for number, cells in enumerate(table[1:], start=2) if any(map(str.strip, cells))]


def _require_columns(header: Sequence[str], path: Path) -> None:
    known = tuple(TableRow.model_fields)
    strange = [name for name in header if name not in known]
    if strange:
        raise ConfigurationError(
            'there is no such column', where=str(path), found=repr(strange[0]),
            allowed=', '.join(known), fix=did_you_mean(strange[0], known))
    if 'robot' not in header or len(set(header)) < len(header):
        raise ConfigurationError(
            'the first line names no columns, or one twice', where=str(path),
            found=','.join(header) or 'nothing', allowed=', '.join(known),
            fix='Begin with a line such as robot,settings,recordings')


def _csv_row(header: Sequence[str], cells: Sequence[str]) -> dict[str, Any]:
    """Values of a line by their columns; empty cells are left out."""
    row: dict[str, Any] = {
        name: cell.strip() for name, cell in zip(header, cells, strict=False) if cell.strip()}
    if len(cells) > len(header):
        row['more'] = cells[len(header)]
    if 'recordings' in row:
        row['recordings'] = [one.strip() for one in row['recordings'].split(';') if one.strip()]
    return row


def _fits_of(row: Any, where: str, table: Path) -> list[FleetFit] | list[RowFault]:
    robot = str(row.get('robot', '')) if isinstance(row, Mapping) else ''
    try:
        if not isinstance(row, dict):
            raise ConfigurationError(
                'is no row', where=f'{table}: {where}', found=repr(row)[:60],
                allowed='{robot: …, settings: …}',
                fix='Write rows as - {robot: arm_1, settings: arm_1.yaml}')
        return _expanded(parse_settings(TableRow, row, f'{table}: {where}'), table.parent)
    except SysidError as error:
        name = _run_name(robot, where, repr(row))
        return [RowFault(name, robot, where, str(error))]


def _expanded(row: TableRow, base: Path) -> list[FleetFit]:
    """A fit of each recording, or one of all of them."""
    sources = _matches(row.recordings, base)
    validation = _place(base, row.validation)
    if sources:
        kept = [name for name in sources if _place(base, name) != validation]
        groups = [tuple(kept)] if row.together else [(name,) for name in kept]
        return [_fit(row, base, row.settings, group) for group in groups]
    if row.settings is not None:
        return [_fit(row, base, name, ()) for name in _matches([row.settings], base)]
    return []


def _fit(row: TableRow, base: Path, settings: str | None, names: tuple[str, ...]) -> FleetFit:
    source = '; '.join(names) or str(settings)
    judged = row.validation is not None or row.folds
    said = row.model_dump(exclude={'settings', 'recordings'}, exclude_defaults=True)
    return FleetFit(
        name=_run_name(row.robot, source, repr((said, settings, names))), robot=row.robot,
        source=source, settings=None if settings is None else base / settings,
        description=None if row.urdf is None else base / row.urdf,
        recordings=tuple(place for name in names if (place := _place(base, name)) is not None),
        validation=_place(base, row.validation),
        holdout=None if judged else row.holdout or HOLDOUT, folds=row.folds,
        estimator=row.estimator)


def _place(base: Path, name: str | None) -> Path | str | None:
    """A file beside the table, or a URL as it is."""
    return name if name is None or is_url(name) else base / name


def _matches(patterns: Sequence[str], base: Path) -> list[str]:
    """Names, and what patterns match in the order of their names, each once.

    Raises:
        ConfigurationError: A pattern matches nothing.
        RecordingError: A store does not answer.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        if is_url(pattern):
            found |= dict.fromkeys(expanded(pattern))
            continue
        names = [pattern]
        if glob.has_magic(pattern) and not is_there(base / pattern):
            names = sorted(glob.glob(pattern, root_dir=base, recursive=True))
        if not names:
            raise ConfigurationError(
                'no file matches the pattern', where=str(base), found=repr(pattern),
                fix='Patterns are relative to the table; ** stands for folders in folders')
        found |= dict.fromkeys(names)
    return list(found)


def _run_name(robot: str, source: str, told: str) -> str:
    """Robot, recording, and digits that tell rows of the same names apart."""
    digits = hashlib.sha256(f'{robot}\n{told}'.encode()).hexdigest()[:_DIGITS]
    first = Path(source.partition('; ')[0])
    stem = first.parent.name if first.stem == 'settings' and first.parent.name else first.stem
    return f'{_safe(robot)}/{_safe(stem)}-{digits}'


def _safe(name: str) -> str:
    return _STRANGE.sub('-', name).strip('.-')[:_LONGEST] or 'unnamed'
