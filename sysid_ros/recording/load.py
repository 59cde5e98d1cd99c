"""One door for every format: settings and a folder in, a Recording out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from sysid_ros.errors import RecordingError, unreadable
from sysid_ros.recording.bag.commands import read_commands
from sysid_ros.recording.bag.link_sensors import read_link_sensors
from sysid_ros.recording.bag.reader import BagClock, JointStateGathering
from sysid_ros.recording.bag.storage import bag_files
from sysid_ros.recording.checks.faults import mend_clock
from sysid_ros.recording.checks.unpowered import with_unpowered
from sysid_ros.recording.description import QuantitySettings, RecordingSettings
from sysid_ros.recording.link_sensors import LinkSensorChannel
from sysid_ros.recording.recording import Channel, Recording
from sysid_ros.recording.samples import Samples, clean_channels, to_joint_side
from sysid_ros.recording.table.array_files import read_array, read_headers
from sysid_ros.recording.table.arrays import ArrayHeader, array_header, require_bounded
from sysid_ros.recording.table.csv_reader import read_csv_columns
from sysid_ros.recording.time_settings import TimeSettings
from sysid_ros.recording.units import TIME_UNITS

_BLOCK = 1 << 20


def load_recording(settings: RecordingSettings, base: str | Path) -> Recording:
    """Read the recording that the settings describe.

    Args:
        settings: Description of the recording.
        base: Folder that file names are relative to, usually the YAML's.

    Returns:
        The recording in SI units at the joints.

    Raises:
        RecordingError: A file cannot be read, is damaged, or does not hold what
            is described; what was found is named.
    """
    base = Path(base)
    if settings.format == 'rosbag':
        return _load_bag(settings, base)
    return _load_tables(settings, base)


def hash_files(paths: Iterable[Path]) -> str:
    """SHA-256 over the digests and names of files, in the order of their names.

    Args:
        paths: Files; one that is named twice counts once.

    Raises:
        RecordingError: A file cannot be read.
    """
    total = hashlib.sha256()
    for path in sorted(set(paths), key=lambda path: path.name):
        digest = hashlib.sha256()
        try:
            with path.open('rb') as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
        except OSError as error:
            raise unreadable(RecordingError, path, error) from error
        total.update(f'{digest.hexdigest()}  {path.name}\n'.encode())
    return total.hexdigest()


def read_hashed(gathering: JointStateGathering, path: Path) -> str:
    """Read all of a bag, and hash its files meanwhile.

    Args:
        gathering: What takes the joint states.
        path: Folder of the bag, or its only file.

    Returns:
        The hash, see :func:`hash_files`.

    Raises:
        RecordingError: As for
            :meth:`~sysid_ros.recording.bag.reader.JointStateGathering.read_checked`.
    """
    with ThreadPoolExecutor(1) as thread:
        sha256 = thread.submit(hash_files, bag_files(path))
        gathering.read_checked(path)
        return sha256.result()


def recording_of(
    groups: Iterable[Samples], settings: RecordingSettings, source: str, sha256: str,
    clock: BagClock, counts: Mapping[str, int], warnings: Sequence[str],
) -> Recording:
    """The recording that groups of raw joint states make up.

    Args:
        groups: Joint states of joints that came together.
        settings: Description of the recording.
        source: Where they came from, for people.
        sha256: Hash of the files.
        clock: Start and resets of the clock.
        counts: Faults found so far.
        warnings: What there is to say so far.

    Raises:
        RecordingError: There is no usable sample, or a joint has no position at all.
    """
    found = Counter(counts)
    channels = tuple(
        channel for samples in groups
        for channel in clean_channels(to_joint_side(samples, settings), found)
    )
    recording = Recording(
        channels, source, sha256, clock.start, found, tuple(warnings), clock.breaks)
    return with_unpowered(recording, settings.unpowered)


def _load_bag(settings: RecordingSettings, base: Path) -> Recording:
    path = base / (settings.file or '')
    gathering = JointStateGathering(settings)
    sha256 = read_hashed(gathering, path)
    clock, counts = gathering.clock(path), gathering.counts
    groups = gathering.samples(clock.t)
    if settings.command is not None:
        groups += (read_commands(path, settings, clock, counts),)
    recording = recording_of(
        groups, settings, str(path), sha256, clock, counts, gathering.warnings)
    sensors = read_link_sensors(path, settings.sensors, clock) if settings.sensors else ()
    return replace(recording, sensors=sensors)


def _load_tables(settings: RecordingSettings, base: Path) -> Recording:
    counts: Counter[str] = Counter()
    tables = [_stamped(table, counts) for table in _read_tables(settings, base)]
    for table in tables:
        _require_running_clock(table.t, settings)
    stamps = np.concatenate([table.t[np.isfinite(table.t)] for table in tables])
    start = float(stamps.min(initial=np.inf)) if len(stamps) else 0.0
    channels: list[Channel] = []
    breaks: list[float] = []
    for table in tables:
        t, resets = _mend_table_clock(table.t - start, settings.reset_tolerance)
        breaks += resets
        shifted = Samples(table.names, t, table.values)
        channels += clean_channels(to_joint_side(shifted, settings), counts)
    warnings = tuple(
        f'the clock jumped back at {at:.3f} s: what follows was shifted on and made a segment '
        'of its own' for at in breaks
    )
    files = _table_files(settings, base)
    source = ', '.join(sorted(str(path) for path in files))
    sensors = tuple(_link_sensors(settings, base, start))
    if sensors and breaks:
        raise RecordingError(
            'the clock was reset, and sensors on links have clocks of their own', where=source,
            found=f'at {breaks[0]:.3f} s', fix='Cut the tables there, or leave the sensors out')
    recording = Recording(
        tuple(channels), source, hash_files(files), start, counts, warnings, tuple(breaks), sensors)
    return with_unpowered(recording, settings.unpowered)


def _link_sensors(
    settings: RecordingSettings, base: Path, start: float
) -> Iterator[LinkSensorChannel]:
    """What sensors on links measured, on the clock of the joints."""
    for name, sensor in settings.sensors.items():
        path = base / (sensor.file or settings.file or '')
        if settings.format == 'csv':
            raw = read_csv_columns(
                path, list(sensor.columns or ()), settings.delimiter, settings.decimal)
        else:
            raw = read_array(settings.format, path, sensor.array or '', sensor.columns)
        if raw.shape[1] != 3:
            raise RecordingError(
                'a sensor on a link measures three numbers', where=f'{path}: {name}',
                found=f'{raw.shape[1]} columns', allowed='3',
                fix=f'Name them in recording: sensors: {name}: columns')
        time = sensor.time or settings.time
        assert time is not None  # checked with the settings
        # Stamps of its own are in its own file.
        time = time.model_copy(update={'file': time.file or (sensor.file if sensor.time else None)})
        t = _read_time(settings, time, base, {name: raw})
        yield LinkSensorChannel.of_samples(name, sensor, t - start, raw)


def _table_files(settings: RecordingSettings, base: Path) -> set[Path]:
    quantities = settings.quantities.values()
    named = [quantity.file for quantity in quantities]
    times = [settings.time, *(quantity.time for quantity in quantities)]
    for sensor in settings.sensors.values():
        named.append(sensor.file)
        times.append(sensor.time)
    named += [time.file for time in times if time is not None and time.rate is None]
    return {base / (name or settings.file or '') for name in named}


def _stamped(table: Samples, counts: Counter[str]) -> Samples:
    # Tables merged from several topics leave the stamp empty where a topic is silent.
    there = ~np.isnan(table.t)
    if there.all() or not there.any():
        return table
    counts['rows without a stamp dropped'] += int(np.count_nonzero(~there))
    values = {name: rows[there] for name, rows in table.values.items()}
    return Samples(table.names, table.t[there], values)


def _require_running_clock(t: np.ndarray, settings: RecordingSettings) -> None:
    if len(t) > 1 and np.ptp(t) == 0.0:
        key = 'column' if settings.format == 'csv' else 'array'
        raise RecordingError(
            'all rows have the same time', where=f'{settings.file or "recording"}: time',
            found=f'{t[0]:g} s in all {len(t)} rows',
            fix=f'Name another {key}, recording: {{time: {{{key}: …}}}}, or the rate in Hz, '
            'recording: {time: {rate: 500}}')


def _mend_table_clock(t: np.ndarray, tolerance: float) -> tuple[np.ndarray, tuple[float, ...]]:
    # A table does not say when its rows arrived: they are taken to arrive evenly.
    steps = np.diff(t)
    if not np.isfinite(t).all() or not (steps < -tolerance).any():
        return t, ()
    return mend_clock(t, np.arange(len(t)) * float(np.median(steps)), tolerance)


def _read_tables(settings: RecordingSettings, base: Path) -> list[Samples]:
    """Group quantities that share their stamps, so that a bad row leaves all of them."""
    if settings.format != 'csv':
        require_bounded(
            _array_headers(settings, base), 1e6 * settings.memory_limit,
            ', '.join(sorted(map(str, _table_files(settings, base)))))
    groups: dict[TimeSettings, dict[str, np.ndarray]] = {}
    for name, quantity in settings.quantities.items():
        time = quantity.time or settings.time
        assert time is not None  # checked with the settings
        groups.setdefault(time, {})[name] = _read_quantity(settings, quantity, name, base)
    return [
        Samples(settings.joints, _read_time(settings, time, base, values), values)
        for time, values in groups.items()
    ]


def _array_headers(settings: RecordingSettings, base: Path) -> Iterator[ArrayHeader]:
    """Headers of all arrays that a recording is read from."""
    quantities = settings.quantities.values()
    arrays = [(quantity.file, quantity.array or '') for quantity in quantities]
    for time in dict.fromkeys(quantity.time or settings.time for quantity in quantities):
        if time is not None and time.rate is None:
            arrays += [(time.file, str(array)) for array in (time.array, time.nanoseconds)
                       if array is not None]
    files = {base / (file or settings.file or '') for file, _ in arrays}
    known = {path: read_headers(settings.format, path) for path in files}
    for file, array in arrays:
        path = base / (file or settings.file or '')
        yield array_header(known[path], array, path)


def _read_quantity(
    settings: RecordingSettings, quantity: QuantitySettings, name: str, base: Path
) -> np.ndarray:
    path = base / (quantity.file or settings.file or '')
    named = quantity.columns_of(settings.joints)
    columns = None if named is None else [column for column in named if column is not None]
    if settings.format == 'csv':
        values = read_csv_columns(path, columns, settings.delimiter, settings.decimal)
    else:
        values = read_array(settings.format, path, quantity.array or '', columns)
    if named is not None:
        values = _in_place(values, [column is not None for column in named])
    if values.shape[1] != len(settings.joints):
        raise RecordingError(
            f'the {name} has another number of columns than there are joints', where=str(path),
            found=f'{values.shape[1]} columns', allowed=f'{len(settings.joints)} joints',
            fix=f'Name the columns in recording.{name}.columns',
        )
    return values


def _in_place(values: np.ndarray, named: Sequence[bool]) -> np.ndarray:
    """Samples of the joints that have a column, NaN for the others, shape ``(T, n)``."""
    placed = np.full((len(values), len(named)), np.nan)
    placed[:, np.flatnonzero(named)] = values
    return placed


def _read_time(
    settings: RecordingSettings, time: TimeSettings, base: Path, values: dict[str, np.ndarray]
) -> np.ndarray:
    lengths = {name: len(rows) for name, rows in values.items()}
    if time.rate is None:
        path = base / (time.file or settings.file or '')
        if settings.format == 'csv':
            columns = [time.column or 0, *(
                () if time.nanoseconds is None else (time.nanoseconds,))]
            stamps = read_csv_columns(path, columns, settings.delimiter, settings.decimal)
        else:
            stamps = np.hstack([
                read_array(settings.format, path, str(array))
                for array in (time.array, time.nanoseconds) if array is not None])
        t = stamps[:, 0] * TIME_UNITS[time.unit]
        if time.nanoseconds is not None:
            t = t + TIME_UNITS['ns'] * stamps[:, 1]
        lengths['time'] = len(t)
    else:
        t = np.arange(max(lengths.values())) / time.rate
    if len(set(lengths.values())) > 1:
        raise RecordingError(
            'the columns have different lengths', where='recording',
            found=', '.join(f'{name} {length} rows' for name, length in lengths.items()),
            fix='Give the quantity its own time',
        )
    return t
