"""The reference is what the code gives, with a word on every key, verb, field and reason."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from sysid_ros.cli.main import VERBS
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS, TRAJECTORY_ESTIMATORS

pytest.importorskip('rclpy', reason='parameters of nodes are read from the nodes')

PROJECT = Path(__file__).resolve().parents[2]
FOLDER = PROJECT / 'docs' / 'reference'


@pytest.fixture(scope='module')
def generate():
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module('generate')
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture(scope='module')
def made(generate):
    return generate.pages()


def test_the_committed_pages_are_what_the_code_gives(made):
    stale = [
        name for name, text in made.items()
        if (FOLDER / name).read_text(encoding='utf-8') != text]
    assert not stale, f'{stale}: python docs/reference/generate.py'
    assert {path.name for path in FOLDER.glob('*.md')} == made.keys()


def rows(page):
    """First and last cell of each row of a page's tables."""
    for line in page.splitlines():
        if line.startswith('| `'):
            cells = [cell.strip() for cell in re.split(r'(?<!\\)\|', line)[1:-1]]
            yield cells[0], cells[-1]


@pytest.mark.parametrize('name', ['settings.md', 'parameters.md', 'verbs.md'])
def test_every_key_parameter_and_argument_is_explained(made, name):
    found = list(rows(made[name]))
    assert len(found) > 40
    assert [key for key, text in found if len(text) < 5] == []


def test_every_field_of_an_interface_is_explained(generate):
    silent = []
    for file in sorted(PROJECT.glob('*/*.[msa]*')):
        if file.suffix in ('.msg', '.srv', '.action') and file.parent.name in (
                'msg', 'srv', 'action'):
            for part in file.read_text(encoding='utf-8').split('\n---'):
                _, fields = generate.interface_fields(part)
                silent += [f'{file.name}: {name}' for _, name, said in fields if not said]
    assert not silent


def test_every_verb_has_its_section(made):
    assert re.findall(r'^## sysid (.+)$', made['verbs.md'], re.MULTILINE) == list(VERBS)


def test_every_reason_is_explained_on_the_page_for_people(generate):
    page = ' '.join((PROJECT / 'docs' / 'how-to' / 'verdict.md').read_text(
        encoding='utf-8').replace('\n>', '\n').split())
    reasons = [reason for reason, _ in generate.reasons()]
    assert len(reasons) > 30
    # What is open at run time is open on the page, however many words it is.
    unexplained = [
        reason for reason in reasons if not re.search(
            r'\S*.*?'.join(map(re.escape, re.split(r'(?:…[ ]?)+', ' '.join(reason.split())))),
            page)]
    assert not unexplained


def test_every_reason_has_a_line_to_paste_or_a_command():
    page = (PROJECT / 'docs' / 'how-to' / 'verdict.md').read_text(encoding='utf-8')
    entries = re.findall(r'^### (.+?)\n(.*?)(?=^##|\Z)', page, re.MULTILINE | re.DOTALL)
    assert len(entries) > 20
    # Reasons and steps that the code gives are quoted; the rest of an entry is for its reader.
    silent = [
        title for title, text in entries if not re.search(
            r'`[^`]*: [^`]*`|```|`sysid \w|\w+: `|`\w+:`', re.sub(r'(?m)^>.*$', '', text))]
    assert not silent


def test_every_estimator_has_a_page_with_equation_assumptions_failures_and_source():
    for name in (*REGRESSION_ESTIMATORS, *TRAJECTORY_ESTIMATORS):
        page = (PROJECT / 'docs/explanation/estimators' / f'{name}.md').read_text(encoding='utf-8')
        for part in ('Standard name.', 'Problem.', 'Assumes.', 'When it fails.', 'Source.'):
            assert f'**{part}**' in page, (name, part)


def test_every_kind_of_effort_is_explained():
    from sysid_ros.recording.checks.effort_finding import EffortKind

    page = (PROJECT / 'docs' / 'how-to' / 'verdict.md').read_text(encoding='utf-8')
    assert not [kind for kind in EffortKind if not kind.usable and kind.value not in page]
