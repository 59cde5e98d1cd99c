"""Compiled functions of another version are compiled anew, not stumbled over."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

import sysid_ros
from sysid_ros.numerics.kernel_indexes import PACKAGE, remove_unreadable_indexes

# A pickle by reference to a class, as Numba's signatures hold them.
GONE = b'csysid_ros.mechanics.tree.tree_arrays\nNamedOtherwise\n.'
MOVED = b'csysid_ros.mechanics.no_such_module\nTree\n.'
THERE = b'csysid_ros.mechanics.tree.tree_arrays\nTreeWorkspace\n.'
OTHERS = b'cnot_installed_here\nThing\n.'


@pytest.fixture()
def package(tmp_path, monkeypatch):
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path / 'cache'))
    folder = tmp_path / 'package'
    (folder / 'part' / '__pycache__').mkdir(parents=True)
    (folder / 'part' / 'module.py').write_text('')
    return folder


def index(folder, name, content):
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f'{name}.nbi'
    file.write_bytes(pickle.dumps('0.61') + content)
    return file


def test_by_default_the_whole_package_is_looked_at():
    assert Path(sysid_ros.__file__).parent == PACKAGE


def test_indexes_that_name_what_is_gone_are_removed(package, tmp_path):
    beside, cache = package / 'part' / '__pycache__', tmp_path / 'cache' / 'part_1'
    gone = [index(beside, 'gone', GONE), index(beside, 'moved', MOVED), index(cache, 'gone', GONE)]
    kept = [index(beside, 'there', THERE), index(cache, 'others', OTHERS)]
    assert remove_unreadable_indexes(package) == 3
    assert not any(file.exists() for file in gone)
    assert all(file.exists() for file in kept)


def test_they_are_looked_at_once_after_each_change_of_a_source(package):
    assert remove_unreadable_indexes(package) == 0
    gone = index(package / 'part' / '__pycache__', 'gone', GONE)
    assert remove_unreadable_indexes(package) == 0
    os.utime(package / 'part' / 'module.py', ns=(1, 1))
    assert remove_unreadable_indexes(package) == 1
    assert not gone.exists()


def test_a_package_that_cannot_be_written_is_remembered_in_the_users_cache(package, tmp_path):
    (package / '__pycache__').write_text('a file, where no folder can be made')
    index(tmp_path / 'cache' / 'part_1', 'gone', GONE)
    assert remove_unreadable_indexes(package) == 1
    index(tmp_path / 'cache' / 'part_1', 'gone', GONE)
    assert remove_unreadable_indexes(package) == 0
