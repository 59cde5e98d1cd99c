"""Arrays that a recording is made of: stamps, and tables with a column for each joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sysid_ros.errors import RecordingError


def seconds_of(t: ArrayLike) -> np.ndarray:
    """Stamps as numbers, shape ``(T,)``; NumPy's own times as seconds since the first.

    Args:
        t: The stamps.

    Raises:
        RecordingError: They are no numbers.
    """
    stamps = np.asarray(t)
    if stamps.dtype.kind in 'mM' and len(stamps):
        stamps = (stamps - stamps[0]) / np.timedelta64(1, 's')
    return table_of('t', stamps, 1)


def table_of(name: str, values: ArrayLike, dimensions: int = 2) -> np.ndarray:
    """A copy of samples as numbers; those of a single joint as one column.

    Args:
        name: What they are called, for messages.
        values: The samples, time first.
        dimensions: 1 for shape ``(T,)``, 2 for ``(T, n)``.

    Raises:
        RecordingError: They are no numbers, or have another shape.
    """
    allowed = '(T,)' if dimensions == 1 else '(T, n)'
    try:
        table = np.array(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise RecordingError(
            f'{name} is no array of numbers: {error}', where='Recording',
            allowed=f'numbers of shape {allowed}',
            fix='Convert it with numpy.asarray(…, dtype=float)') from error
    if dimensions == 2 and table.ndim == 1:
        table = table[:, None]
    if table.ndim != dimensions:
        raise RecordingError(
            f'{name} has the wrong shape', where='Recording', found=np.shape(values),
            allowed=allowed,
            fix='Time comes first, a column for each joint; transpose an array with .T')
    return table


def require_shapes(arrays: Mapping[str, np.ndarray], joints: Sequence[str] | None) -> None:
    """Refuse tables that have not one row for each stamp and one column for each joint.

    Args:
        arrays: Tables by name, with the stamps ``t`` and positions ``q``.
        joints: Names of the joints, where they are known.

    Raises:
        RecordingError: The first such table.
    """
    rows, shape = len(arrays['t']), arrays['q'].shape
    # Without names the columns of q, if it has one row for each stamp, are those of all others.
    count = len(joints) if joints is not None else shape[1] if shape[0] == rows else None
    for name, table in arrays.items():
        if name == 't' or (len(table) == rows and count in (None, table.shape[1])):
            continue
        turned = table.shape[1] == rows and count in (None, len(table))
        raise RecordingError(
            f'{name} does not fit the stamps and joints', where='Recording', found=table.shape,
            allowed=f'({rows}, {"n" if count is None else count})'
            + ('' if joints is None else f', the joints being {", ".join(joints)}'),
            fix=f'Transpose it: {name}.T' if turned else
            'Give one row for each stamp and one column for each joint')


def put_sensors(
    sensors: Mapping[str, Mapping[str, Any]], arrays: dict[str, np.ndarray]
) -> dict[str, dict[str, Any]]:
    """The ``sensors:`` of a section; what they measured is put beside other arrays.

    Args:
        sensors: Keys of each sensor by its name, and ``values``, shape ``(T, 3)``.
        arrays: Arrays by name, with the stamps ``t``; those of the sensors are added.

    Raises:
        RecordingError: Values are missing, or do not fit the stamps.
    """
    described = {}
    for name, sensor in sensors.items():
        if 'values' not in sensor:
            raise RecordingError(
                'what the sensor measured is missing', where=f'sensors: {name}',
                found=', '.join(sensor), fix="Give it as 'values': an array of shape (T, 3)")
        key = f'sensor_{name}'
        values = table_of(key, sensor['values'])
        if values.shape != (len(arrays['t']), 3):
            raise RecordingError(
                'the sensor does not fit the stamps', where=f'sensors: {name}',
                found=values.shape, allowed=f'({len(arrays["t"])}, 3)',
                fix='Give three numbers for each stamp')
        arrays[key] = values
        described[name] = {**sensor, 'array': key}
        del described[name]['values']
    return described
