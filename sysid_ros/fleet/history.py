"""Parameters of robots over time, from run folders and the stamps of their recordings."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from sysid_ros.errors import ConfigurationError, SysidError, unreadable
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.evaluation.run_comparison import interval_deviation
from sysid_ros.fleet.record import FitRecord
from sysid_ros.runs.recording_time import run_recorded
from sysid_ros.runs.run_files import read_verdict

#: Columns of a table of conditions.
CONDITIONS = ('run', 'recorded', 'temperature')
_ESTIMATE = 'estimate.json'


@dataclass(frozen=True)
class RunConditions:
    """Under which conditions a run was recorded.

    Attributes:
        recorded: When, in [s] since 1970; None where that is not said.
        temperature: In [°C], say; None where that is not said.
    """

    recorded: float | None = None
    temperature: float | None = None


@dataclass(frozen=True)
class RecordedRun:
    """A run whose values may be believed.

    Attributes:
        folder: Its folder.
        robot: Name of the robot.
        recorded: When its recording ended, in [s] since 1970.
        temperature: Temperature during it; None where it is not known.
        estimate: What was found.
    """

    folder: Path
    robot: str
    recorded: float
    temperature: float | None
    estimate: Estimate


@dataclass(frozen=True, eq=False)
class ParameterHistory:
    """One parameter of one robot over time.

    Attributes:
        robot: Name of the robot.
        name: Name of the parameter.
        unit: Its unit.
        relative: Whether the values are logarithms: of a parameter that is always positive.
        t: When the n recordings ended, in [s] since 1970, shape ``(n,)``, increasing.
        values: Values or their logarithms, shape ``(n,)``.
        deviations: Standard deviations of these by each run alone, shape ``(n,)``.
        temperatures: Shape ``(n,)``; None where a run has none.
    """

    robot: str
    name: str
    unit: str
    relative: bool
    t: np.ndarray
    values: np.ndarray
    deviations: np.ndarray
    temperatures: np.ndarray | None


def read_conditions(path: str | Path) -> dict[str, RunConditions]:
    """When, and how warm, runs were recorded, by their folders.

    Args:
        path: CSV file with the columns ``run`` (folder below the one that is looked at),
            ``recorded`` (ISO 8601, UTC where it names no zone) and ``temperature``.

    Raises:
        ConfigurationError: The file cannot be read, or a row cannot be used.
    """
    path = Path(path)
    try:
        with path.open(encoding='utf-8-sig', newline='') as file:
            rows = list(csv.DictReader(file, skipinitialspace=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise unreadable(ConfigurationError, path, error) from error
    names = set().union(*rows) if rows else set()
    if 'run' not in names or names - set(CONDITIONS):
        raise ConfigurationError(
            'is no table of conditions', where=str(path),
            found=', '.join(map(str, sorted(names - {None}, key=str))) or 'no rows',
            allowed=', '.join(CONDITIONS),
            fix='Begin with run,recorded,temperature and below it arm_1/monday,2026-03-02,24.5')
    return {row['run'].strip(): _conditions(row, f'{path}: line {number}')
            for number, row in enumerate(rows, start=2)}


def parse_date(text: str, where: str) -> float:
    """A date or time in ISO 8601 in [s] since 1970, in UTC where it names no zone.

    Args:
        text: As ``2026-03-02`` or ``2026-03-02T08:30``.
        where: Where it was written, for messages.

    Raises:
        ConfigurationError: It is none.
    """
    try:
        stamp = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise ConfigurationError(
            'is no date', where=where, found=repr(text), allowed='ISO 8601, as 2026-03-02') from (
            error)
    return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()


def recorded_runs(
    folder: Path, conditions: Mapping[str, RunConditions]
) -> tuple[list[RecordedRun], list[tuple[str, str]]]:
    """Runs below a folder in the order in which they were recorded; others with the reason.

    Args:
        folder: Folder of a batch, or any other folder of runs.
        conditions: When and how warm they were recorded, by their folders below it.

    Returns:
        The committable runs whose time is known, one of each time of a robot; and those that do
        not count.

    Raises:
        ConfigurationError: There is no run, or a condition is of none.
    """
    # A run that is being written is in a hidden folder.
    folders = sorted(
        file.parent for file in folder.rglob(_ESTIMATE) if not file.parent.name.startswith('.'))
    if not folders:
        raise ConfigurationError(
            'there is no run', where=str(folder), fix='Name the folder of a batch or of fits')
    names = {each.relative_to(folder).as_posix(): each for each in folders}
    strange = [name for name in conditions if _run_of(name, names) is None]
    if strange:
        raise ConfigurationError(
            'there is no such run', where=str(folder), found=repr(strange[0]),
            allowed=', '.join(list(names)[:4]),
            fix='Name runs by their folders below this one')
    told = {_run_of(name, names): each for name, each in conditions.items()}
    runs: list[RecordedRun] = []
    skipped: list[tuple[str, str]] = []
    for name, path in names.items():
        found = _recorded_run(path, folder.resolve().name, told.get(name, RunConditions()))
        if isinstance(found, str):
            skipped.append((name, found))
        else:
            runs.append(found)
    runs.sort(key=lambda run: run.recorded)
    return _each_once(runs, folder, skipped), skipped


def histories(runs: Sequence[RecordedRun], least: int) -> list[ParameterHistory]:
    """Parameters of each robot that enough of its runs determine, over time.

    Args:
        runs: In the order in which they were recorded.
        least: Fewest runs.
    """
    robots = dict.fromkeys(run.robot for run in runs)
    found = []
    for robot in robots:
        own = [run for run in runs if run.robot == robot]
        names = dict.fromkeys(name for run in own for name in run.estimate.parameters.names)
        found += [history for name in names
                  if (history := _history(robot, name, own)) is not None
                  and len(history.t) >= least]
    return found


def _conditions(row: Mapping[str, str | None], where: str) -> RunConditions:
    recorded, temperature = ((row.get(name) or '').strip() for name in CONDITIONS[1:])
    try:
        number = float(temperature) if temperature else None
    except ValueError:
        number = math.nan
    if number is not None and not math.isfinite(number):
        raise ConfigurationError(
            'is no temperature', where=where, found=repr(temperature), allowed='a number',
            fix='Write it in °C, as 24.5, or leave the cell empty')
    return RunConditions(parse_date(recorded, where) if recorded else None, number)


def _run_of(name: str, names: Mapping[str, Path]) -> str | None:
    """The run that a name means: with or without the folder ``runs`` of a batch."""
    return next((each for each in (name, f'runs/{name}') if each in names), None)


def _recorded_run(path: Path, robot: str, told: RunConditions) -> RecordedRun | str:
    """A run, or why it does not count."""
    try:
        estimate = Estimate.load(path / _ESTIMATE)
        if not estimate.status.ok:
            return estimate.status.value
        if not read_verdict(path).get('committable'):
            return 'not committable'
        recorded = told.recorded or run_recorded(path)
    except SysidError as error:
        return str(error)
    if not recorded:
        return ('nobody knows when it was recorded: say it in a table, --conditions FILE, with the '
                'columns run,recorded')
    record = FitRecord.read(path.with_name(f'{path.name}.json'))
    return RecordedRun(
        path, robot if record is None else record.robot, recorded, told.temperature, estimate)


def _each_once(
    runs: Sequence[RecordedRun], folder: Path, skipped: list[tuple[str, str]]
) -> list[RecordedRun]:
    """One run of each time of a robot: another fit of the same recording says nothing new."""
    last: dict[tuple[str, float], RecordedRun] = {}
    for run in runs:
        before = last.get((run.robot, run.recorded))
        if before is not None:
            skipped.append((
                before.folder.relative_to(folder).as_posix(),
                f'of the same time as {run.folder.relative_to(folder).as_posix()}'))
        last[run.robot, run.recorded] = run
    return list(last.values())


def _history(robot: str, name: str, runs: Sequence[RecordedRun]) -> ParameterHistory | None:
    """A parameter over the runs that determine it; None where none does."""
    told = [run for run in runs if name in run.estimate.parameters
            and 0.0 < interval_deviation(run.estimate, name) < np.inf]
    if not told:
        return None
    parameters = told[0].estimate.parameters
    k = parameters.index(name)
    values = np.array([run.estimate.parameters[name] for run in told])
    deviations = np.array([interval_deviation(run.estimate, name) for run in told])
    # A value so well known is positive, and has a logarithm that is nearly as normal.
    relative = bool(parameters.lower[k] == 0.0 and (values > 3.0 * deviations).all())
    if relative:
        values, deviations = np.log(values), deviations / values
    temperatures = [run.temperature for run in told if run.temperature is not None]
    return ParameterHistory(
        robot, name, parameters.units[k], relative, np.array([run.recorded for run in told]),
        values, deviations, np.array(temperatures) if len(temperatures) == len(told) else None)
