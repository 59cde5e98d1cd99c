"""The verdict is coloured on a terminal that has colours, and nowhere else."""

import io

import pytest

from sysid_ros.cli.colours import coloured_verdict, has_colours


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    monkeypatch.delenv('NO_COLOR', raising=False)
    monkeypatch.setenv('TERM', 'xterm')


def test_a_verdict_is_green_or_red_and_the_rest_is_plain():
    good = coloured_verdict('VERDICT: committable\nNext: go', Terminal())
    bad = coloured_verdict('VERDICT: NOT committable\nNext: stop', Terminal())
    assert good == '\x1b[1;32mVERDICT: committable\x1b[0m\nNext: go'
    assert bad == '\x1b[1;31mVERDICT: NOT committable\x1b[0m\nNext: stop'


def test_files_pipes_and_those_who_asked_for_none_get_no_colours(monkeypatch):
    text = 'VERDICT: committable\n'
    assert coloured_verdict(text, io.StringIO()) == text
    monkeypatch.setenv('TERM', 'dumb')
    assert not has_colours(Terminal())
    monkeypatch.setenv('TERM', 'xterm')
    monkeypatch.setenv('NO_COLOR', '1')
    assert coloured_verdict(text, Terminal()) == text
    # An empty variable asks for nothing, as no-color.org says.
    monkeypatch.setenv('NO_COLOR', '')
    assert coloured_verdict(text, Terminal()) != text
