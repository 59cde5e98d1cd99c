"""Damaged files for every reader and store: errors for people, soon and in bounded memory.

Bits flipped, bytes cut, repeated and overwritten, lengths and numbers that nobody expects, words
exchanged. Each file must be read or refused by an error of this package. The number of files may
be given; a seed, too. Files that raise anything else are kept in the folder ``--keep``.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401

# isort: on
import argparse
import hashlib
import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault('MPLBACKEND', 'Agg')

import _support  # noqa: E402, F401

from support.fuzz_targets import MEMORY_LIMIT, all_targets  # noqa: E402
from support.fuzzing import Outcome, try_damage  # noqa: E402

FILES, SEED = 25_000, 0
TIME_BAR, MEMORY_BAR = 1.0, 2.0 * MEMORY_LIMIT


def tried(files: int, seed: int, only: str, keep: Path | None) -> dict[str, Outcome]:
    """What came of all targets, by name."""
    outcomes = {}
    with tempfile.TemporaryDirectory() as name:
        targets = [target for target in all_targets(Path(name)) if only in target.name]
        for target in targets:
            # What is loaded at first use is no matter of a file.
            target.read()
            outcome = outcomes[target.name] = try_damage(target, -(-files // len(targets)), seed)
            counts = ', '.join(f'{count} {what}' for what, count in outcome.counts.items())
            print(f'{target.name}: {counts}; {outcome.slowest:.2f} s, {outcome.most:.0f} MB',
                  flush=True)
            for said, data in outcome.raw.items():
                print(f'  {said}', flush=True)
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    return outcomes


def figure(name: str, value: float, unit: str, bar: float) -> dict[str, Any]:
    """One figure of the table."""
    return {
        'name': name, 'value': round(value, 3), 'unit': unit, 'reference': None, 'ratio': None,
        'bar': f'<= {bar:g} {unit}', 'ok': value <= bar,
    }


def main() -> None:
    """Try, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('files', type=int, nargs='?', default=FILES, help='files (%(default)s)')
    parser.add_argument('--seed', type=int, default=SEED, help='%(default)s')
    parser.add_argument('--only', default='', help='part of the names of targets')
    parser.add_argument('--keep', type=Path, help='folder for files that raise a raw error')
    options = parser.parse_args()
    # What other libraries say of damage, they say to nobody here.
    warnings.simplefilter('ignore')
    outcomes = tried(options.files, options.seed, options.only, options.keep)
    raw = sum(outcome.counts['raw'] for outcome in outcomes.values())
    count = sum(outcome.counts.total() for outcome in outcomes.values())
    print(json.dumps([
        figure(f'raw errors of {count} damaged files', raw, 'files', 0),
        figure('longest time of the processor for a damaged file, beyond that for the whole one',
               max(outcome.slowest for outcome in outcomes.values()), 's', TIME_BAR),
        figure('largest memory of a damaged file',
               max(outcome.most for outcome in outcomes.values()), 'MB', MEMORY_BAR),
    ]))


if __name__ == '__main__':
    main()
