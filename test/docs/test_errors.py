"""Classes of errors, codes of answers and frequent places are explained, with true examples."""

import importlib
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from sysid_ros import errors
from sysid_ros.cli.exit_codes import ExitCode

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / 'docs' / 'how-to' / 'errors.md').read_text(encoding='utf-8')
# Places of so many errors are explained.
FREQUENT = 4


@pytest.fixture(scope='module')
def tables():
    sys.path.insert(0, str(PROJECT / 'docs' / 'reference'))
    try:
        yield importlib.import_module('error_tables')
    finally:
        sys.path.pop(0)


@pytest.fixture(scope='module')
def sentences(tables):
    """All errors that the code makes."""
    return [sentence for own in tables.sentences().values() for sentence in own]


def sections(part):
    """Text of each heading of a part of the page, by the name in it."""
    text = PAGE.partition(f'\n## {part}\n')[2].partition('\n## ')[0]
    return dict(re.findall(r'^### `(\w+)`\n(.*?)(?=^### |\Z)', text, re.MULTILINE | re.DOTALL))


@pytest.mark.slow
def test_every_class_of_errors_says_what_it_means_and_what_to_do(tables):
    found = sections('Classes')
    assert set(found) == set(tables.classes())
    own = {
        name for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.SysidError)}
    assert own - {'SysidError'} <= set(found)
    for name, text in found.items():
        assert '**Means.**' in text and '**Do.**' in text, name


def test_every_code_of_answers_is_explained(tables):
    found = sections('Codes of answers')
    assert set(found) == set(tables.codes())
    assert all(len(text.split()) > 3 for text in found.values() if text is not found['ok'])


def test_every_frequent_place_is_explained(sentences):
    places = Counter(
        re.split(r'[.: ,(\[]', sentence.where)[0] for sentence in sentences if sentence.where)
    frequent = {place for place, count in places.items() if count >= FREQUENT} - {'…'}
    assert len(frequent) > 8
    explained = set(re.findall(r'`([\w-]+)`', PAGE.partition('## Places')[2].partition('## ')[0]))
    assert frequent <= explained


def pattern(text):
    """What a text of the code becomes at run time."""
    return r'.*?'.join(map(re.escape, text.split('…')))


def test_every_example_is_an_error_that_the_code_makes(tables, sentences):
    known = [sentence for sentence in sentences if len(sentence.problem.strip('… ')) > 10]
    # Questions become errors where nobody can be asked.
    known += [tables.Sentence(text, fix='Say it: --') for text in tables.questions()]
    examples = re.findall(r'^> (.+)$', PAGE, re.MULTILINE)
    assert len(examples) > 10
    for example in examples:
        fits = [
            sentence for sentence in known if re.search(
                rf'(?:^|: ){pattern(sentence.problem)}(?: \(|\.|$)', example)]
        assert fits, example
        # Where there are two ways of a cure, either will do.
        assert any(
            not sentence.fix or re.search(pattern(way), example)
            for sentence in fits for way in sentence.fix.split(' / ')), example


def test_the_exit_code_of_an_error_is_the_one_on_the_page():
    assert f'the exit code is {int(ExitCode.BAD_INPUT)}' in PAGE


def test_a_template_leaves_open_what_is_known_at_run_time(tables, tmp_path, monkeypatch):
    module = tmp_path / 'package' / 'part.py'
    module.parent.mkdir()
    module.write_text(
        "HINT = 'Look at it'\n"
        "def f(x):\n"
        "    raise RecordingError(f'no {x} here', where='recording', found=x,\n"
        "                         fix=HINT if x else 'Go ' + x)\n")
    monkeypatch.setattr(tables, '_PACKAGE', module.parent)
    monkeypatch.setattr(tables, 'classes', lambda: {'RecordingError': ''})
    assert tables.sentences() == {'RecordingError': {
        tables.Sentence('no … here', 'recording', 'Look at it / Go …')}}
