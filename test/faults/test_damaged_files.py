"""FAULTS 79: any damaged file of any reader or store is read, or refused by one clear error."""

from __future__ import annotations

import pytest

from support.fuzz_targets import MEMORY_LIMIT, all_targets
from support.fuzzing import try_damage

# Damaged files of each target in a usual run, and at most; benchmarks/fuzz.py tries 25 000 in all.
FILES, MOST = 25, 1000
SECONDS = 5.0


@pytest.fixture(scope='module')
def targets(tmp_path_factory):
    return all_targets(tmp_path_factory.mktemp('damaged'))


def test_79_every_reader_and_store_reads_its_own_whole_file(targets):
    assert len({target.name for target in targets}) == len(targets) > 20
    for target in targets:
        target.read()


def test_79_damaged_files_are_read_or_refused_by_one_clear_error(targets, draws):
    for target in targets:
        outcome = try_damage(target, min(FILES * draws.times, MOST), draws.seed)
        for data in outcome.raw.values():
            draws.folder.mkdir(parents=True, exist_ok=True)
            (draws.folder / f'damaged {target.name}'.replace('/', ' ')).write_bytes(data)
        assert not outcome.raw, list(outcome.raw)
        assert outcome.counts['refused'] > 0
        assert outcome.slowest < SECONDS, target.name
        assert outcome.most < 2.0 * MEMORY_LIMIT, target.name
