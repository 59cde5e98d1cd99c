"""Which tests are asked about a mutant of a module."""

from __future__ import annotations

import re
from pathlib import Path

# Tests of a module that are not in the folder that mirrors its own; the quickest come first.
TESTS = {
    'sysid_ros/excitation/safety/': (
        'test/excitation/safety', 'test/faults/test_motion_faults.py',
        'test/excitation/playback/test_playback.py'),
    'sysid_ros/excitation/playback/': (
        'test/faults/test_motion_faults.py', 'test/excitation/playback',
        'test/excitation/safety'),
    'sysid_ros/evaluation/': (
        'test/evaluation/test_verdict.py', 'test/evaluation/test_shadow.py',
        'test/evaluation/test_prediction.py', 'test/faults/test_evaluation_faults.py',
        'test/faults/test_verdict_faults.py', 'test/evaluation/test_judging_evidence.py',
        'test/evaluation'),
    'sysid_ros/release/': (
        'test/faults/test_release_faults.py', 'test/release', 'test/runs/test_commit.py',
        'test/faults/test_release_store_faults.py'),
    'sysid_ros/runs/commit.py': ('test/runs/test_commit.py', 'test/runs/test_judgement.py'),
}
# Their tests start node processes, and lie elsewhere.
_NODES, _NODE_TESTS = 'sysid_ros/nodes/', 'test/ros'


def tests_of(root: Path, module: str, quick: bool) -> list[str]:
    """Files and folders of tests of a module, those that mirror it first.

    Args:
        root: Root of the sources.
        module: File of the module, from there.
        quick: Whether what mirrors it is enough, where there is such a file.
    """
    folder, _, name = module.partition('/')[2].rpartition('/')
    mirrored = f'test/{folder}'.rstrip('/')
    mirror = f'{mirrored}/test_{name}'
    also = next((tests for start, tests in TESTS.items() if module.startswith(start)), None)
    if module.startswith(_NODES):
        mirror, also = f'{_NODE_TESTS}/test_{name}', _that_name(root, Path(module).stem)
    if also is None:
        also = (_nearest(root, mirrored),)
    if not (root / mirror).exists():
        return list(also)
    return [mirror] if quick else list(dict.fromkeys([mirror, *also]))


def markers_of(module: str) -> str:
    """Which tests of them are run, as pytest's option ``-m``: what guards nodes starts some."""
    return '' if module.startswith(_NODES) else 'not processes'


def _that_name(root: Path, stem: str) -> tuple[str, ...]:
    """Tests of nodes that import or start a module; all of them where none does."""
    word = re.compile(rf'\b{stem}\b')
    files = tuple(
        file.relative_to(root).as_posix() for file in sorted((root / _NODE_TESTS).glob('test_*.py'))
        if word.search(file.read_text(encoding='utf-8')))
    return files or (_NODE_TESTS,)


def _nearest(root: Path, folder: str) -> str:
    """The folder of tests, or the first above it that exists."""
    while not (root / folder).is_dir():
        folder = folder.rpartition('/')[0]
    return folder
