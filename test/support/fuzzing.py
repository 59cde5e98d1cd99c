"""Files that are damaged in many ways, and every reader and store of the package to try them on."""

from __future__ import annotations

import random
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sysid_ros.errors import SysidError

# Sizes, counts and numbers that nobody expects.
BINARY = tuple(
    number.to_bytes(size, 'little') for size in (1, 2, 4, 8)
    for number in (0, 1, 127, 2 ** (8 * size) - 1, 2 ** (8 * size - 1), 2 ** (8 * size - 2)))
TEXT = tuple(token.encode() for token in (
    '', 'null', 'nan', 'inf', '-1', '0', '1e999', '-1e308', '1e-320', '9' * 400, '2147483648',
    'true', '""', '[]', '{}', '[[', ']', '}', '{', '[' * 200, ':', ',', '\n', '\t', '- ', '? ',
    '&a [*a]', '*b', '<<: *c', '!!python/object:os.system x', '!!binary aGk=', '0x1F', "'", '"',
    '<', '>', '&amp;', '&x;', '<!DOCTYPE a>', '${1/0}', '\x00', '\ufeff', 'é', '2001-01-01'))
# Of one file in [s]; longer than any bar, so that what hangs is seen to hang.
PATIENCE = 20.0


class TookTooLongError(BaseException):
    """A reader did not come back."""


@dataclass(frozen=True)
class Target:
    """A file, and what reads it.

    Attributes:
        name: What is read.
        path: The file, which is overwritten by damaged ones.
        intact: The whole file.
        read: Reads it, and whatever belongs to it.
        text: Whether it is a text.
        mend: Called with a random source before it is read, to repair what hides other damage.
    """

    name: str
    path: Path
    intact: bytes
    read: Callable[[], object]
    text: bool = False
    mend: Callable[[random.Random], None] | None = None


def target_of(
    name: str, path: Path, read: Callable[[], object], text: bool = False,
    mend: Callable[[random.Random], None] | None = None,
) -> Target:
    """A target of a file that is there, whole; see :class:`Target`."""
    return Target(name, path, path.read_bytes(), read, text, mend)


@dataclass
class Outcome:
    """What came of many damaged files.

    Attributes:
        counts: Files that were ``read`` or ``refused``.
        raw: Errors that are none for people, with the file that raised the first of its kind.
        slowest: Longest time of the processor for a file in [s], beyond that for the whole one.
        most: Largest memory that a file took in [MB].
    """

    counts: Counter[str] = field(default_factory=Counter)
    raw: dict[str, bytes] = field(default_factory=dict)
    slowest: float = 0.0
    most: float = 0.0


def damaged(intact: bytes, text: bool, source: random.Random) -> bytes:
    """A file with one to four kinds of damage.

    Args:
        intact: The whole file.
        text: Whether it is a text.
        source: Decides which.
    """
    data = bytearray(intact)
    kinds: Sequence[Callable[[bytearray, random.Random], None]] = _OF_TEXT if text else _OF_BYTES
    for _ in range(source.choice((1, 1, 1, 2, 4))):
        source.choice(kinds)(data, source)
    return bytes(data)


def try_damage(target: Target, count: int, seed: int) -> Outcome:
    """Read many damaged files.

    Args:
        target: The file and its reader.
        count: Number of damaged files.
        seed: Decides how they are damaged.
    """
    outcome, whole = Outcome(), max(_time_for_the_whole(target) for _ in range(2))
    for number in range(count):
        source = random.Random(f'{target.name} {seed} {number}')
        data = damaged(target.intact, target.text, source)
        target.path.write_bytes(data)
        if target.mend is not None:
            target.mend(source)
        _reset_peak()
        # Of the processor: the machine may do other things.
        before, start = _memory('VmRSS'), time.process_time()
        try:
            with _patience():
                target.read()
            outcome.counts['read'] += 1
        except SysidError:
            outcome.counts['refused'] += 1
        except (Exception, TookTooLongError) as error:  # what the trial is about
            outcome.counts['raw'] += 1
            outcome.raw.setdefault(f'{target.name}: {_said(error)}', data)
        outcome.slowest = max(outcome.slowest, time.process_time() - start - whole)
        outcome.most = max(outcome.most, _memory('VmHWM') - before)
    target.path.write_bytes(target.intact)
    if target.mend is not None:
        target.mend(random.Random(seed))
    return outcome


def _time_for_the_whole(target: Target) -> float:
    """Time of the processor in [s] that reading the whole file takes."""
    start = time.process_time()
    target.read()
    return time.process_time() - start


def _flip(data: bytearray, source: random.Random) -> None:
    if data:
        data[source.randrange(len(data))] ^= 1 << source.randrange(8)


def _cut(data: bytearray, source: random.Random) -> None:
    del data[source.randrange(len(data) + 1):]


def _take_out(data: bytearray, source: random.Random) -> None:
    at = source.randrange(len(data) + 1)
    del data[at:at + source.choice((1, 2, 8, 64, 512))]


def _repeat(data: bytearray, source: random.Random) -> None:
    at, to = source.randrange(len(data) + 1), source.randrange(len(data) + 1)
    data[to:to] = data[at:at + source.choice((1, 8, 64, 512))]


def _overwrite(data: bytearray, source: random.Random) -> None:
    number, at = source.choice(BINARY), source.randrange(len(data) + 1)
    data[at:at + len(number)] = number


def _exchange(data: bytearray, source: random.Random) -> None:
    """Replace a word or a number of a text."""
    words = _words(data)
    if words:
        start, stop = source.choice(words)
        data[start:stop] = source.choice(TEXT)


def _insert(data: bytearray, source: random.Random) -> None:
    at = source.randrange(len(data) + 1)
    data[at:at] = source.choice(TEXT)


def _swap(data: bytearray, source: random.Random) -> None:
    """Exchange two words of a text."""
    words = _words(data)
    if len(words) > 1:
        (a, b), (c, d) = sorted(source.sample(words, 2))
        data[a:d] = data[c:d] + data[b:c] + data[a:b]


def _drop_line(data: bytearray, source: random.Random) -> None:
    lines = data.split(b'\n')
    del lines[source.randrange(len(lines))]
    data[:] = b'\n'.join(lines)


def _words(data: bytearray) -> list[tuple[int, int]]:
    words, start = [], None
    for at, byte in enumerate(data[:200_000]):
        inside = byte in _IN_WORDS
        if inside and start is None:
            start = at
        elif not inside and start is not None:
            words.append((start, at))
            start = None
    return words


_IN_WORDS = frozenset(b'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-')
_OF_BYTES = (_flip, _flip, _cut, _take_out, _repeat, _overwrite, _overwrite)
_OF_TEXT = (
    _flip, _cut, _take_out, _repeat, _insert, _swap, _drop_line, _exchange, _exchange, _exchange)


def _said(error: BaseException) -> str:
    own = [
        frame for frame in traceback.extract_tb(error.__traceback__)
        if '/sysid_ros/' in frame.filename]
    where = f' at {Path(own[-1].filename).name}:{own[-1].lineno}' if own else ''
    return f'{type(error).__name__}{where}: {str(error)[:120]}'


@contextmanager
def _patience() -> Iterator[None]:
    def give_up(number: int, frame: object) -> None:
        raise TookTooLongError(f'more than {PATIENCE:g} s')

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _reset_peak() -> None:
    """Let the kernel count the largest memory of this process from now on."""
    Path('/proc/self/clear_refs').write_text('5', encoding='ascii')


def _memory(kind: str) -> float:
    """Resident memory of this process in [MB]."""
    for line in Path('/proc/self/status').read_text(encoding='ascii').splitlines():
        if line.startswith(f'{kind}:'):
            return float(line.split()[1]) / 1e3
    raise OSError(f'there is no {kind}')
