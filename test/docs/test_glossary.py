"""The words that the glossary explains are words that people are shown."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / 'docs' / 'reference' / 'glossary.md'
WORDS = re.findall(r'^\| ([^|]+?) \| ', PAGE.read_text(encoding='utf-8'), re.MULTILINE)[1:]
SHOWN = ('report', 'evaluation', 'estimation', 'recording', 'mechanics', 'runs', 'studio/page')


@pytest.fixture(scope='module')
def shown():
    """Literals of what writes summaries, as one text."""
    files = [path for part in SHOWN for path in (PROJECT / 'sysid_ros' / part).rglob('*.py')]
    # Literals that stand one after the other are one text.
    return re.sub(r"'\s*\n?\s*f?'", '', '\n'.join(
        path.read_text(encoding='utf-8') for path in files))


def test_words_come_once():
    assert len(WORDS) > 20 and len(set(WORDS)) == len(WORDS)


@pytest.mark.parametrize('word', WORDS)
def test_a_word_of_the_glossary_is_shown_to_people(word, shown):
    assert re.search(rf"['\"{{(>][^'\"\n]*\b{re.escape(word)}\b", shown), word
