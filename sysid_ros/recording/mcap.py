"""MCAP containers record by record: checksums verified, written, and damage survived.

The layout is that of the MCAP specification (https://mcap.dev/spec), version 0.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from sysid_ros.errors import RecordingError

MAGIC = b'\x89MCAP0\r\n'

# Opcodes of records, and what they begin with.
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06
_ATTACHMENT, DATA_END = 0x09, 0x0F
PREFIX = struct.Struct('<BQ')
CHUNK_HEAD = struct.Struct('<QQQI')
MESSAGE_HEAD = struct.Struct('<HIQQ')
FOOTER_BODY = struct.Struct('<QQI')
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
    """A message as it lies in a bag: its topic, type, time of reception in [ns] and bytes."""

    topic: str
    kind: str
    received: int
    data: bytes


def verify(path: Path) -> bool:
    """Walk an MCAP file and check its structure and every checksum it carries.

    Args:
        path: File to check; it is read once, a chunk at a time.

    Returns:
        True when checksums cover every message, False when damage to the
        messages could go unseen.

    Raises:
        RecordingError: The file is truncated, its structure is broken, or a
            checksum is wrong; where is said.
    """
    with path.open('rb') as file:
        records = list(_walk(file, path))
        chunks = [record for record in records if record.opcode == CHUNK]
        covered = True
        for record in chunks:
            covered &= _check_chunk(file, record, path)
        for record in records:
            if record.opcode == _ATTACHMENT:
                _check_attachment(file, record, path)
        loose = any(record.opcode == MESSAGE for record in records)
        data_covered = _check_data_section(file, records, path)
        _check_summary(file, records[-1], path)
    return data_covered or (covered and not loose)


def seal(path: Path) -> None:
    """Write the checksums of a complete MCAP file that was written without them.

    Those of chunks, the data section and the summary are filled in place.

    Args:
        path: File to complete.

    Raises:
        RecordingError: The file is not a complete MCAP file.
    """
    with path.open('r+b') as file:
        records = list(_walk(file, path))
        for record in records:
            if record.opcode == CHUNK:
                _, _, raw = _read_chunk(file, record, path)
                _patch(file, record.body + 24, zlib.crc32(raw))
        end = next(record for record in records if record.opcode == DATA_END)
        _patch(file, end.body, _crc(file, 0, end.start))
        start, _, _ = _footer(file, records[-1])
        footer = records[-1]
        _patch(file, footer.stop - 4, _crc(file, start or footer.start, footer.stop - 4))


def salvage(path: Path) -> Iterator[RawMessage | str]:
    """Messages of every intact chunk up to where the structure ends.

    Args:
        path: Damaged file.

    Yields:
        Messages in the order of the file, and for each damage a sentence.
    """
    schemas: dict[int, str] = {}
    channels: dict[int, tuple[str, str]] = {}
    with path.open('rb') as file:
        records = _walk(file, path)
        while True:
            try:
                record = next(records, None)
                if record is None:
                    return
                if record.opcode == CHUNK:
                    content = _checked_chunk(file, record, path)
                elif record.opcode in (SCHEMA, CHANNEL, MESSAGE):
                    content = _read(file, record.start, record.stop)
                else:
                    continue
                yield from _messages(content, schemas, channels, f'{path}, offset {record.start}')
            except RecordingError as error:
                yield str(error)


def _walk(file: BinaryIO, path: Path) -> Iterator[Record]:
    """Records of the file; the last is the footer."""
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
        if (opcode == HEADER) != (position == len(MAGIC)):
            raise _damage(path, position, 'a header record is missing or misplaced')
        yield Record(opcode, position, body, stop)
        position = stop
        if opcode == FOOTER:
            break
    if length != FOOTER_BODY.size or _read(file, position, size) != MAGIC:
        raise _damage(path, position, 'the file does not end like an MCAP file')


def _check_chunk(file: BinaryIO, record: Record, path: Path) -> bool:
    return _crc_of_chunk(_read_chunk(file, record, path), record, path)


def _checked_chunk(file: BinaryIO, record: Record, path: Path) -> bytes:
    chunk = _read_chunk(file, record, path)
    _crc_of_chunk(chunk, record, path)
    return chunk[2]


def _crc_of_chunk(chunk: tuple[int, int, bytes], record: Record, path: Path) -> bool:
    size, crc, raw = chunk
    if len(raw) != size:
        raise _damage(path, record.start, 'a chunk has the wrong size')
    if crc and zlib.crc32(raw) != crc:
        raise _damage(path, record.start, 'the checksum of a chunk is wrong')
    return crc != 0


def _read_chunk(file: BinaryIO, record: Record, path: Path) -> tuple[int, int, bytes]:
    """Uncompressed size as noted, checksum as noted, uncompressed content."""
    body = _read(file, record.body, record.stop)
    try:
        _, _, size, crc = CHUNK_HEAD.unpack_from(body)
        compression, at = _string(body, CHUNK_HEAD.size)
        (length,) = struct.unpack_from('<Q', body, at)
        data = body[at + 8:]
        if len(data) != length:
            raise ValueError(f'{len(data)} bytes instead of {length}')
        return size, crc, _decompress(data, compression)
    except Exception as error:  # every compression library fails in its own way
        raise _damage(path, record.start, f'a chunk cannot be unpacked: {error}') from error


def _decompress(data: bytes, compression: str) -> bytes:
    if compression == '':
        return data
    if compression == 'lz4':
        import lz4.frame  # type: ignore[import-untyped, unused-ignore]

        return bytes(lz4.frame.decompress(data))
    if compression == 'zstd':
        try:
            from compression import zstd  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            from backports import zstd
        return bytes(zstd.decompress(data))
    raise ValueError(f'unknown compression {compression!r}')


def _check_attachment(file: BinaryIO, record: Record, path: Path) -> None:
    (crc,) = struct.unpack('<I', _read(file, record.stop - 4, record.stop))
    if crc and crc != _crc(file, record.body, record.stop - 4):
        raise _damage(path, record.start, 'the checksum of an attachment is wrong')


def _check_data_section(file: BinaryIO, records: list[Record], path: Path) -> bool:
    end = next((record for record in records if record.opcode == DATA_END), None)
    if end is None or end.stop - end.body != 4:
        raise _damage(path, records[-1].start, 'the record that ends the data is missing')
    (crc,) = struct.unpack('<I', _read(file, end.body, end.stop))
    # Writers count from the first byte of the file; the specification's words also
    # allow the first byte after the header.
    if crc and crc not in (_crc(file, 0, end.start), _crc(file, records[0].stop, end.start)):
        raise _damage(path, end.start, 'the checksum of the data section is wrong')
    return bool(crc)


def _check_summary(file: BinaryIO, footer: Record, path: Path) -> None:
    start, _, crc = _footer(file, footer)
    if start > footer.start or (
        crc and crc != _crc(file, start or footer.start, footer.stop - 4)
    ):
        raise _damage(path, footer.start, 'the checksum of the summary is wrong')


def _footer(file: BinaryIO, footer: Record) -> tuple[int, int, int]:
    start, offsets, crc = FOOTER_BODY.unpack(_read(file, footer.body, footer.stop))
    return start, offsets, crc


def _messages(
    content: bytes, schemas: dict[int, str], channels: dict[int, tuple[str, str]], where: str
) -> Iterator[RawMessage]:
    position = 0
    try:
        while position < len(content):
            opcode, length = PREFIX.unpack_from(content, position)
            body = content[position + PREFIX.size:position + PREFIX.size + length]
            position += PREFIX.size + length
            if opcode == SCHEMA:
                schemas[struct.unpack_from('<H', body)[0]] = _string(body, 2)[0]
            elif opcode == CHANNEL:
                channel, schema = struct.unpack_from('<HH', body)
                channels[channel] = (_string(body, 4)[0], schemas.get(schema, ''))
            elif opcode == MESSAGE:
                channel, _, received, _ = MESSAGE_HEAD.unpack_from(body)
                topic, kind = channels[channel]
                yield RawMessage(topic, kind, received, body[MESSAGE_HEAD.size:])
    except (struct.error, KeyError, UnicodeDecodeError) as error:
        raise RecordingError(f'the records are damaged: {error}', where=where) from error


def _string(body: bytes, position: int) -> tuple[str, int]:
    (length,) = struct.unpack_from('<I', body, position)
    stop = position + 4 + length
    return body[position + 4:stop].decode(), stop


def _read(file: BinaryIO, start: int, stop: int) -> bytes:
    file.seek(start)
    return file.read(stop - start)


def _patch(file: BinaryIO, position: int, crc: int) -> None:
    file.seek(position)
    file.write(struct.pack('<I', crc))


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
