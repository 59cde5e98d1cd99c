"""MCAP containers: checksums verified, content within bounds, and damage survived.

Records are parsed by the library ``mcap``. What it leaves open is added: nothing is unpacked to
more than is allowed for, whatever a chunk and its compression say; the checksums of the summary
and of attachments; and what is intact of a damaged file.

References:
    The MCAP specification, version 0, https://mcap.dev/spec.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import lz4.frame  # type: ignore[import-untyped, unused-ignore]
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, DataEnd, Footer, Message, Schema

from sysid_ros.errors import RecordingError

MAGIC = b'\x89MCAP0\r\n'

# Opcode and length of a record, and what a footer holds.
PREFIX = struct.Struct('<BQ')
_FOOTER_LENGTH = 20
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Record:
    """Where a record lies in its file.

    Attributes:
        opcode: Kind of record.
        start: Offset of the opcode.
        body: Offset of the content.
        stop: Offset of the next record.
    """

    opcode: int
    start: int
    body: int
    stop: int


@dataclass(frozen=True)
class RawMessage:
    """A message as it lies in a bag: its topic, type, time of reception in [ns] and bytes.

    What a salvaged message of an MCAP file is made of is said with it.
    """

    topic: str
    kind: str
    received: int
    data: bytes
    definition: str = ''


def verify(path: Path, most: float) -> bool:
    """Walk an MCAP file and check its structure and every checksum it carries.

    Args:
        path: File to check; it is read once, a chunk at a time.
        most: Bytes that a chunk may hold, unpacked.

    Returns:
        True when checksums cover every message, False when damage to the
        messages could go unseen.

    Raises:
        RecordingError: The file is truncated, its structure is broken, a chunk is too large or
            a checksum is wrong; where is said.
    """
    with path.open('rb') as file, path.open('rb') as data, ThreadPoolExecutor(1) as thread:
        records = list(read_records(file, path))
        section = thread.submit(_check_data_section, data, records, path)
        covered = True
        for record in records:
            if record.opcode == Opcode.CHUNK:
                covered &= read_chunk(file, record, path, most)[1]
            elif record.opcode == Opcode.ATTACHMENT:
                _check_attachment(file, record, path)
        loose = any(record.opcode == Opcode.MESSAGE for record in records)
        data_covered = section.result()
        _check_summary(file, records[-1], path)
    return data_covered or (covered and not loose)


def salvage(path: Path, most: float) -> Iterator[RawMessage | str]:
    """Messages of every intact chunk up to where the structure ends.

    Args:
        path: Damaged file.
        most: Bytes that a chunk may hold, unpacked.

    Yields:
        Messages in the order of the file, and for each damage a sentence.
    """
    schemas: dict[int, Schema] = {}
    channels: dict[int, tuple[str, str, str]] = {}
    with path.open('rb') as file:
        _names_in_summary(file, path, schemas, channels)
        records = read_records(file, path)
        while True:
            try:
                record = next(records, None)
                if record is None:
                    return
                if record.opcode == Opcode.CHUNK:
                    content = read_chunk(file, record, path, most)[0]
                elif record.opcode in (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.MESSAGE):
                    content = _read(file, record.start, record.stop)
                else:
                    continue
                yield from _messages(content, schemas, channels, f'{path}, offset {record.start}')
            except RecordingError as error:
                yield str(error)


def read_records(file: BinaryIO, path: Path) -> Iterator[Record]:
    """Records of a file; the last is the footer.

    Raises:
        RecordingError: The structure is broken there.
    """
    size = file.seek(0, 2)
    if _read(file, 0, len(MAGIC)) != MAGIC:
        raise _damage(path, 0, 'the file does not begin like an MCAP file')
    position = len(MAGIC)
    while True:
        if position + PREFIX.size > size:
            raise _damage(path, position, 'the file ends in the middle of a record')
        opcode, length = PREFIX.unpack(_read(file, position, position + PREFIX.size))
        body = position + PREFIX.size
        stop = body + length
        if opcode == 0 or stop > size:
            raise _damage(
                path, position, 'the file ends in the middle of a record or a length is wrong'
            )
        if (opcode == Opcode.HEADER) != (position == len(MAGIC)):
            raise _damage(path, position, 'a header record is missing or misplaced')
        yield Record(opcode, position, body, stop)
        position = stop
        if opcode == Opcode.FOOTER:
            break
    if length != _FOOTER_LENGTH or _read(file, position, size) != MAGIC:
        raise _damage(path, position, 'the file does not end like an MCAP file')


def read_chunk(file: BinaryIO, record: Record, path: Path, most: float) -> tuple[bytes, bool]:
    """Content of a chunk, and whether a checksum covers it.

    Args:
        file: The open file.
        record: Where the chunk lies.
        path: The file, for messages.
        most: Bytes that it may hold, unpacked.

    Raises:
        RecordingError: The chunk cannot be unpacked, is too large, or its checksum is wrong.
    """
    if record.stop - record.body > most:
        raise _too_large(path, record, record.stop - record.body, most)
    chunk = parsed(file, record, path, Chunk)
    size = chunk.uncompressed_size
    if size > most:
        raise _too_large(path, record, size, most)
    try:
        content = unpacked(chunk.data, chunk.compression, size)
    except Exception as error:  # every compression library fails in its own way
        raise _damage(path, record.start, f'a chunk cannot be unpacked: {error}') from error
    if len(content) != size:
        raise _damage(path, record.start, 'a chunk has the wrong size')
    if chunk.uncompressed_crc and zlib.crc32(content) != chunk.uncompressed_crc:
        raise _damage(path, record.start, 'the checksum of a chunk is wrong')
    return content, chunk.uncompressed_crc != 0


def parsed(file: BinaryIO, record: Record, path: Path, kind: type[Any]) -> Any:
    """A record as the library's class for it.

    Args:
        file: The open file.
        record: Where it lies.
        path: The file, for messages.
        kind: One of the library's classes.

    Raises:
        RecordingError: Its lengths do not fit.
    """
    stream = ReadDataStream(BytesIO(_read(file, record.body, record.stop)))
    try:
        return kind.read(stream)
    except Exception as error:  # the library lets through what Python says of lengths and letters
        raise _damage(path, record.start, f'a record cannot be read: {error!r}') from error


def unpacked(data: bytes, compression: str, size: int) -> bytes:
    """Decompress data, of which no more is unpacked than a byte beyond a size.

    Args:
        data: The data.
        compression: As the specification names it.
        size: Bytes that it may hold.

    Raises:
        Exception: It cannot be unpacked; every compression library fails in its own way.
    """
    if compression == '':
        return data
    if compression == 'lz4':
        return bytes(lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size + 1))
    if compression == 'zstd':
        with zstandard.ZstdDecompressor(max_window_size=_window(size)).stream_reader(
            data, read_across_frames=True
        ) as stream:
            return bytes(stream.read(size + 1))
    raise ValueError(f'unknown compression {compression!r}')


def _window(size: int) -> int:
    """Window that content of a size may need; frames may ask for more memory than they fill."""
    return int(max(1 << 27, 1 << size.bit_length()))


def _check_attachment(file: BinaryIO, record: Record, path: Path) -> None:
    (crc,) = struct.unpack('<I', _read(file, max(record.stop - 4, 0), record.stop))
    if crc and crc != _crc(file, record.body, record.stop - 4):
        raise _damage(path, record.start, 'the checksum of an attachment is wrong')


def _check_data_section(file: BinaryIO, records: list[Record], path: Path) -> bool:
    end = next((record for record in records if record.opcode == Opcode.DATA_END), None)
    if end is None or end.stop - end.body != 4:
        raise _damage(path, records[-1].start, 'the record that ends the data is missing')
    crc = parsed(file, end, path, DataEnd).data_section_crc
    # Writers count from the first byte of the file; the specification's words also
    # allow the first byte after the header.
    if crc and crc not in (_crc(file, 0, end.start), _crc(file, records[0].stop, end.start)):
        raise _damage(path, end.start, 'the checksum of the data section is wrong')
    return bool(crc)


def _check_summary(file: BinaryIO, record: Record, path: Path) -> None:
    footer = parsed(file, record, path, Footer)
    start = footer.summary_start or record.start
    if start > record.start or (
        footer.summary_crc and footer.summary_crc != _crc(file, start, record.stop - 4)
    ):
        raise _damage(path, record.start, 'the checksum of the summary is wrong')


def _messages(
    content: bytes, schemas: dict[int, Schema], channels: dict[int, tuple[str, str, str]],
    where: str,
) -> Iterator[RawMessage]:
    position = 0
    try:
        while position < len(content):
            opcode, length = PREFIX.unpack_from(content, position)
            position += PREFIX.size
            stream = ReadDataStream(BytesIO(content[position:position + length]))
            position += length
            if opcode == Opcode.SCHEMA:
                schema = Schema.read(stream)
                schemas[schema.id] = schema
            elif opcode == Opcode.CHANNEL:
                channel = Channel.read(stream)
                stated = schemas.get(channel.schema_id)
                channels[channel.id] = (channel.topic, '', '') if stated is None else (
                    channel.topic, stated.name, stated.data.decode(errors='replace'))
            elif opcode == Opcode.MESSAGE:
                message = Message.read(stream, length)
                topic, kind, definition = channels[message.channel_id]
                yield RawMessage(topic, kind, message.log_time, message.data, definition)
    except Exception as error:  # as in parsed
        raise RecordingError(
            f'the records are damaged: {error!r}', where=where,
            fix='Record again, or set recording.salvage: true to read what is left') from error


def _names_in_summary(
    file: BinaryIO, path: Path, schemas: dict[int, Schema],
    channels: dict[int, tuple[str, str, str]],
) -> None:
    """What a whole file repeats behind its data, so that no chunk needs the one before it."""
    with suppress(RecordingError):
        for record in read_records(file, path):
            if record.opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                content = _read(file, record.start, record.stop)
                list(_messages(content, schemas, channels, str(path)))


def _read(file: BinaryIO, start: int, stop: int) -> bytes:
    file.seek(start)
    return file.read(stop - start)


def _crc(file: BinaryIO, start: int, stop: int) -> int:
    file.seek(start)
    crc = 0
    while start < stop:
        block = file.read(min(_BLOCK, stop - start))
        if not block:
            break
        crc = zlib.crc32(block, crc)
        start += len(block)
    return crc


def _damage(path: Path, offset: int, problem: str) -> RecordingError:
    return RecordingError(
        f'the bag is damaged: {problem}', where=f'{path}, offset {offset}',
        fix='Record again, or set recording.salvage: true to read what is left',
    )


def _too_large(path: Path, record: Record, size: int, most: float) -> RecordingError:
    return RecordingError(
        'a chunk is too large', where=f'{path}, offset {record.start}',
        found=f'{size / 1e6:.6g} MB, unpacked', allowed=f'{most / 1e6:g} MB',
        fix='Raise recording.memory_limit if the bag is to be trusted',
    )
