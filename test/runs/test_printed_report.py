"""Reports as PDF: by Chromium where there is one, and what is said where it is not or fails."""

from __future__ import annotations

import re
import shutil
import zlib
from pathlib import Path

import pytest

from support.report_runs import finished_run
from sysid_ros.errors import ConfigurationError
from sysid_ros.runs.printed_report import BROWSERS, write_pdf

# Stands for a browser: writes down its arguments, and does what the test says.
BROWSER = """#!/bin/sh
for each in "$@"; do
    printf '%s\\n' "$each" >> {log}
    case $each in --print-to-pdf=*) output=${{each#*=}};; esac
done
{deed}
"""


@pytest.fixture
def browser(tmp_path, monkeypatch):
    """``browser(deed)``: a browser in the path that does it; returns the file of its arguments."""
    monkeypatch.setenv('PATH', str(tmp_path / 'bin'))

    def make(deed, name=BROWSERS[0]):
        log, program = tmp_path / 'arguments', tmp_path / 'bin' / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(BROWSER.format(log=log, deed=deed))
        program.chmod(0o755)
        return log

    return make


def page(folder: Path) -> Path:
    made = folder / 'a page.html'
    made.write_text('<p>hello</p>')
    return made


@pytest.mark.parametrize('name', BROWSERS)
def test_what_the_browser_prints_is_the_file_and_nothing_else_is_left(browser, name, tmp_path):
    log = browser('printf "%%PDF-1.4 printed" > "$output"', name)
    folder = tmp_path / 'out'
    folder.mkdir()
    write_pdf(page(tmp_path), folder / 'report.pdf')
    assert (folder / 'report.pdf').read_bytes() == b'%PDF-1.4 printed'
    assert [path.name for path in folder.iterdir()] == ['report.pdf']
    arguments = log.read_text().splitlines()
    assert arguments[-1] == (tmp_path / 'a page.html').as_uri()


def test_without_a_browser_it_says_which_were_looked_for(browser, tmp_path):
    with pytest.raises(ConfigurationError) as told:
        write_pdf(page(tmp_path), tmp_path / 'report.pdf')
    assert 'neither was found' in str(told.value) and 'chromium-browser' in str(told.value)
    assert 'apt install chromium' in str(told.value)
    assert not (tmp_path / 'report.pdf').exists()


@pytest.mark.parametrize(('deed', 'words'), [
    ('echo "no display" >&2; exit 21', 'exit code 21; it said: no display'),
    ('exit 0', 'exit code 0; it said: nothing'),
    ('echo "an error page" > "$output"', 'no PDF'),
])
def test_a_browser_that_does_not_print_is_told_and_leaves_what_was_there(
    browser, deed, words, tmp_path,
):
    browser(deed)
    file = tmp_path / 'report.pdf'
    file.write_bytes(b'before')
    with pytest.raises(ConfigurationError, match=re.escape(words)):
        write_pdf(page(tmp_path), file)
    assert file.read_bytes() == b'before'


def test_a_folder_that_is_not_there_is_told(browser, tmp_path):
    browser('exit 0')
    with pytest.raises(ConfigurationError, match='cannot be written: No such file'):
        write_pdf(page(tmp_path), tmp_path / 'none' / 'report.pdf')


@pytest.mark.slow
@pytest.mark.skipif(
    not any(map(shutil.which, BROWSERS)), reason='no Chromium: apt-get install chromium')
def test_chromium_prints_a_report_with_its_figures(tmp_path):
    pytest.importorskip('plotly', reason='the page is drawn by plotly')
    file = tmp_path / 'report.pdf'
    write_pdf(finished_run() / 'report.html', file)
    content = file.read_bytes()
    pages = len(re.findall(rb'/Type\s*/Page\b', content))
    assert pages > 4
    # Figures are paths: a page whose scripts did not run has text and tables alone.
    drawn = sum(
        stream.count(b' l\n') + stream.count(b' c\n') for stream in streams(content))
    assert drawn > 1000


def streams(content: bytes):
    """The streams of a PDF that are compressed, as they are drawn."""
    for found in re.finditer(rb'stream\r?\n(.*?)\r?\nendstream', content, re.DOTALL):
        try:
            yield zlib.decompress(found[1])
        except zlib.error:
            continue
