"""FAULTS 79: any damaged file of any reader or store is read, or refused by one clear error."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

HERE = Path(__file__).parents[1]
# Damaged files of each target in a usual run, and at most; benchmarks/fuzz.py tries 25 000 in all.
FILES, MOST = 25, 1000
SECONDS = 5.0


@pytest.fixture(scope='module')
def fuzzing(tmp_path_factory):
    sys.path.insert(0, str(HERE))
    try:
        functions = runpy.run_path(str(HERE / 'fuzzing.py'))
        targets = runpy.run_path(str(HERE / 'fuzz_targets.py'))
    finally:
        sys.path.remove(str(HERE))
    made = targets['all_targets'](tmp_path_factory.mktemp('damaged'))
    return SimpleNamespace(
        try_damage=functions['try_damage'], targets=made, limit=targets['MEMORY_LIMIT'])


def test_79_every_reader_and_store_reads_its_own_whole_file(fuzzing):
    assert len({target.name for target in fuzzing.targets}) == len(fuzzing.targets) > 20
    for target in fuzzing.targets:
        target.read()


def test_79_damaged_files_are_read_or_refused_by_one_clear_error(fuzzing, draws):
    for target in fuzzing.targets:
        outcome = fuzzing.try_damage(target, min(FILES * draws.times, MOST), draws.seed)
        for data in outcome.raw.values():
            draws.folder.mkdir(parents=True, exist_ok=True)
            (draws.folder / f'damaged {target.name}'.replace('/', ' ')).write_bytes(data)
        assert not outcome.raw, list(outcome.raw)
        assert outcome.counts['refused'] > 0
        assert outcome.slowest < SECONDS, target.name
        assert outcome.most < 2.0 * fuzzing.limit, target.name
