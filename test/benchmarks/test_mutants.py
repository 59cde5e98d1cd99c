"""The tool that changes sources for the worse tells what tests notice from what they do not."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / 'benchmarks'
MODULE = """\
def require(speed, limit):
    if speed > limit:
        raise ValueError(speed)
    return speed


def unguarded(speed):
    return speed + 1.0
"""
TEST = """\
import pytest

from sysid_ros.excitation.safety.toy import require


def test_the_limit_itself_is_allowed_and_more_is_not():
    assert require(2.0, 2.0) == 2.0
    with pytest.raises(ValueError, match='2.5'):
        require(2.5, 2.0)
"""


@pytest.fixture(scope='module')
def tree(tmp_path_factory):
    """A package of one module with one test, and the tool."""
    root = tmp_path_factory.mktemp('tree')
    folder = root / 'sysid_ros/excitation/safety'
    folder.mkdir(parents=True)
    for package in (folder, *folder.parents[:2]):
        (package / '__init__.py').write_text('')
    (folder / 'toy.py').write_text(MODULE)
    tests = root / 'test/excitation/safety'
    tests.mkdir(parents=True)
    (tests / 'test_toy.py').write_text(TEST)
    (root / 'pyproject.toml').write_text('[tool.pytest.ini_options]\nmarkers = ["processes"]\n')
    (root / 'benchmarks').mkdir()
    for file in (*BENCHMARKS.glob('_mut*.py'), BENCHMARKS / '_preloaded.py',
                 BENCHMARKS / 'mutants.py'):
        shutil.copy(file, root / 'benchmarks')
    return root


def survey(tree, equivalent, *options):
    """Exit code, figures, and outcomes of all mutants of the module by line and words."""
    listed, journal = tree / 'equivalent.jsonl', tree / 'journal.jsonl'
    listed.write_text(''.join(json.dumps(entry) + '\n' for entry in equivalent))
    finished = subprocess.run(
        [sys.executable, 'benchmarks/mutants.py', '--modules', 'sysid_ros/excitation/safety/toy.py',
         '--sample', '0', '--processes', '1', '--quick', '--journal', str(journal),
         '--equivalent', str(listed), *options],
        cwd=tree, capture_output=True, text=True, timeout=300, check=False)
    assert finished.stdout, finished.stderr
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    return finished.returncode, json.loads(finished.stdout.splitlines()[-1]), {
        (entry['mutant']['line'], entry['mutant']['words']): entry['outcome'] for entry in entries}


@pytest.mark.slow
def test_what_a_test_guards_is_killed_what_none_does_survives_and_the_bar_is_missed(tree):
    code, (figure,), outcomes = survey(tree, [], '--gate')
    assert outcomes[(2, 'speed <= limit')] == 'killed'
    assert outcomes[(2, 'speed >= limit')] == 'killed'
    assert outcomes[(3, 'pass')] == 'killed'
    survived = {key for key, outcome in outcomes.items() if outcome == 'survived'}
    assert survived == {(8, 'speed - 1.0'), (8, '2.0'), (8, 'return None')}
    assert figure['bar'] == '>= 95 %'
    assert not figure['ok']
    assert code == 1
    # The sources are as they were, and without the gate a benchmark only says so.
    assert (tree / 'sysid_ros/excitation/safety/toy.py').read_text() == MODULE
    assert survey(tree, [])[0] == 0


@pytest.mark.slow
def test_mutants_that_mean_nothing_do_not_count_if_a_reason_is_given(tree):
    listed = [
        {'module': 'sysid_ros/excitation/safety/toy.py', 'kind': kind, 'words': words,
         'source': 'return speed + 1.0', 'reason': 'nobody calls it'}
        for kind, words in (('operator exchanged', 'speed - 1.0'), ('constant changed', '2.0'),
                            ('statement dropped', 'return None'))]
    code, (figure,), _ = survey(tree, listed, '--gate')
    assert (code, figure['value'], figure['ok']) == (0, 100.0, True)
    # Another line of the same words is another mutant.
    elsewhere = [entry | {'source': 'return speed'} for entry in listed]
    assert survey(tree, elsewhere, '--gate')[0] == 1
    with pytest.raises(AssertionError, match='line 3: a mutant without its reason'):
        survey(tree, [*listed[:2], listed[2] | {'reason': ''}])


@pytest.mark.parametrize(('module', 'first', 'marker'), [
    ('sysid_ros/nodes/schedule.py', 'test/ros/test_schedule.py', ''),
    ('sysid_ros/nodes/progress.py', 'test/ros/test_progress.py', ''),
    ('sysid_ros/recording/live/window.py', 'test/recording', 'not processes'),
    ('sysid_ros/evaluation/simulation.py', 'test/evaluation/test_simulation.py', 'not processes'),
    ('sysid_ros/estimation/regression/consistent/lmi.py',
     'test/estimation/regression/consistent/test_lmi.py', 'not processes'),
    ('sysid_ros/errors.py', 'test/test_errors.py', 'not processes'),
])
def test_tests_are_found_of_modules_of_the_whole_package(monkeypatch, module, first, marker):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from _mutant_tests import markers_of, tests_of

    assert tests_of(BENCHMARKS.parent, module, quick=False)[0] == first
    assert markers_of(module) == marker


def test_every_module_has_tests_that_exist(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from _mutant_tests import tests_of

    root = BENCHMARKS.parent
    for file in sorted(root.glob('sysid_ros/**/*.py')):
        tests = tests_of(root, file.relative_to(root).as_posix(), quick=False)
        assert tests
        assert all((root / test).exists() for test in tests), file


@pytest.mark.parametrize(('killed', 'of', 'ok'), [
    (10, 10, True), (8, 10, True), (7, 10, False), (570, 600, True), (555, 600, False)])
def test_a_bar_is_missed_where_chance_does_not_explain_the_sample(monkeypatch, killed, of, ok):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from _mutant_bars import figures

    figure, = figures(('sysid_ros/release/store.py', k >= killed) for k in range(of))
    assert figure['ok'] is ok
