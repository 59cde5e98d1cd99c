"""Tables of results: a row for each fit, and a row for each parameter of each fit.

As Parquet where ``pyarrow`` is installed, otherwise as CSV with the same columns. The columns of
``results`` are the attributes of :class:`~sysid_ros.fleet.record.FitRecord`; those of
``parameters`` are the attributes of :class:`ParameterRow`.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import io
import math
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from sysid_ros.errors import ConfigurationError, EstimationError, unreadable
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.fleet.record import FitRecord, FitStatus
from sysid_ros.release.atomic import write_atomically
from sysid_ros.settings import StrictSettings, parse_settings

#: Names of the tables.
RESULTS, PARAMETERS = 'results', 'parameters'
_ESTIMATE = 'estimate.json'
_AGAIN = 'Make it again: sysid batch'


class ParameterRow(StrictSettings):
    """A row of the table of parameters.

    Attributes:
        run: Folder of the run below ``runs/`` of the batch.
        robot: Name of the robot.
        parameter: Name of the parameter, as ``forearm.mass``.
        unit: SI unit; empty for none.
        value: Value that was found.
        prior: Value before the fit.
        standard_deviation: By the noise of the fitted rows; empty where the data does not tell.
        between_recordings: The same by how much several recordings disagree; empty for one.
        knowledge: Where the value comes from: ``DATA``, ``COMBINATION``, ``COUPLED``, ``PRIOR``
            or ``FIXED``.
    """

    run: str
    robot: str
    parameter: str
    unit: str
    value: float
    prior: float
    standard_deviation: float | None
    between_recordings: float | None
    knowledge: str


def has_parquet() -> bool:
    """Whether tables are written as Parquet."""
    return importlib.util.find_spec('pyarrow') is not None


def write_results(records: Sequence[FitRecord], folder: Path, runs: Path) -> tuple[Path, Path]:
    """Write both tables.

    Args:
        records: Rows of the results.
        folder: Folder of the batch.
        runs: Folder of its runs.

    Returns:
        Files of results and parameters.

    Raises:
        ReleaseError: A file cannot be written.
    """
    return (
        _write(RESULTS, FitRecord, records, folder),
        _write(PARAMETERS, ParameterRow, parameter_rows(records, runs), folder))


def parameter_rows(records: Iterable[FitRecord], runs: Path) -> Iterator[ParameterRow]:
    """Parameters of the runs whose fits converged, in the order of the records.

    Args:
        records: Rows of the results.
        runs: Folder of the runs.
    """
    for record, estimate in estimates_of(records, runs):
        parameters, between = estimate.parameters, estimate.between
        for k, name in enumerate(parameters.names):
            yield ParameterRow(
                run=record.run, robot=record.robot, parameter=name, unit=parameters.units[k],
                value=float(parameters.values[k]), prior=float(parameters.prior[k]),
                standard_deviation=_finite(estimate.standard_deviation[k]),
                between_recordings=None if between is None else _finite(
                    between.standard_deviation[k]),
                knowledge=estimate.knowledge[k].name)


def estimates_of(
    records: Iterable[FitRecord], runs: Path
) -> Iterator[tuple[FitRecord, Estimate]]:
    """Records and estimates of the runs whose fits converged; a damaged one is left out.

    Args:
        records: Rows of the results.
        runs: Folder of the runs.
    """
    for record in records:
        if record.status in (FitStatus.FAILED, FitStatus.NOT_CONVERGED):
            continue
        try:
            yield record, Estimate.load(runs / record.run / _ESTIMATE)
        except EstimationError:
            continue


def read_results(folder: str | Path) -> tuple[FitRecord, ...]:
    """Rows of the table of results of a batch.

    Args:
        folder: Folder of the batch.

    Raises:
        ConfigurationError: A row is none of a table of results.
        OSError: There is no table.
    """
    file = Path(folder) / f'{RESULTS}.parquet'
    if file.is_file():
        rows = importlib.import_module('pyarrow.parquet').read_table(file).to_pylist()
    else:
        file = file.with_suffix('.csv')
        try:
            with file.open(encoding='utf-8', newline='') as stream:
                rows = [_from_text(row) for row in csv.DictReader(stream)]
        except (UnicodeDecodeError, csv.Error) as error:
            raise unreadable(ConfigurationError, file, error, _AGAIN) from error
    return tuple(
        parse_settings(FitRecord, row, f'{file}: row {number}')
        for number, row in enumerate(rows, start=1))


def _write(
    name: str, kind: type[StrictSettings], rows: Iterable[StrictSettings], folder: Path
) -> Path:
    values = [row.model_dump(mode='json') for row in rows]
    parquet, text = folder / f'{name}.parquet', folder / f'{name}.csv'
    if has_parquet():
        write_atomically(parquet, _parquet(kind, values))
        text.unlink(missing_ok=True)
        return parquet
    write_atomically(text, _csv(kind, values))
    # One of a call with other libraries would no longer be true.
    parquet.unlink(missing_ok=True)
    return text


def _parquet(kind: type[StrictSettings], values: list[dict[str, Any]]) -> bytes:
    arrow, parquet = (importlib.import_module(name) for name in ('pyarrow', 'pyarrow.parquet'))
    types_of = {float: arrow.float64(), bool: arrow.bool_()}
    schema = arrow.schema([
        arrow.field(name, types_of.get(_type_of(field.annotation), arrow.string()))
        for name, field in kind.model_fields.items()])
    stream = arrow.BufferOutputStream()
    parquet.write_table(arrow.Table.from_pylist(values, schema=schema), stream)
    return bytes(stream.getvalue())


def _type_of(annotation: Any) -> Any:
    """Type of a value that may be missing."""
    return get_args(annotation)[0] if isinstance(annotation, types.UnionType) else annotation


def _csv(kind: type[StrictSettings], values: list[dict[str, Any]]) -> bytes:
    stream = io.StringIO(newline='')
    writer = csv.DictWriter(stream, tuple(kind.model_fields), lineterminator='\n')
    writer.writeheader()
    writer.writerows({
        key: str(value).lower() if isinstance(value, bool) else value
        for key, value in row.items()} for row in values)
    return stream.getvalue().encode()


def _from_text(row: Mapping[str | None, str]) -> dict[str, Any]:
    """Values of a row of text; what is empty has its default."""
    return {str(key): value for key, value in row.items() if value}


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
