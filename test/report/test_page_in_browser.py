"""The page as a browser shows it; skipped where there is no Chromium."""

import json
import re

import pytest

from support.browser import BROWSER, opened
from support.report_runs import (
    HOSTILE,
    changed_report,
    finished_run,
    forget_numbers,
    planned_motion,
    rename_everything,
)
from sysid_ros.report.report import Report
from sysid_ros.runs.report_files import write_page

pytest.importorskip('plotly', reason='the page is drawn by plotly')
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason='no Chromium: apt-get install chromium')


def states(document):
    return re.findall(r'data-drawn="(\w+)"', document)


def players(document):
    return re.findall(r'data-shown="(\w+)"', document)


@pytest.mark.slow
def test_every_figure_is_drawn_without_an_error_or_a_request(tmp_path):
    page = finished_run() / 'report.html'
    document, errors = opened(page, tmp_path)
    assert errors == []
    places = len(re.findall(r'data-figure="', page.read_text()))
    assert places > 20
    assert states(document) == ['yes'] * places
    assert 'data-ready="yes"' in document
    # The robot, and the robot as simulated.
    assert players(document) == ['yes', 'yes']


@pytest.mark.slow
def test_names_that_are_code_are_shown_and_not_run(tmp_path):
    page = tmp_path / 'report.html'
    assert not write_page(page, changed_report(rename_everything(HOSTILE)))
    document, errors = opened(page, tmp_path / 'profile')
    assert errors == []
    assert set(states(document)) == {'yes'}
    assert not re.search(r'<img[^>]*onerror', document)
    # The library's own script names other pages.
    assert '<a href="http://example.org' not in document
    assert players(document) == ['yes', 'yes']


@pytest.mark.slow
@pytest.mark.parametrize('change', [rename_everything(HOSTILE), forget_numbers])
def test_a_planned_motion_is_drawn_and_played_whatever_is_in_it(change, tmp_path):
    data = json.loads((planned_motion() / 'report.json').read_text())
    change(data)
    page = tmp_path / 'report.html'
    assert not write_page(page, Report.model_validate(data))
    document, errors = opened(page, tmp_path / 'profile')
    assert errors == []
    assert set(states(document)) == {'yes'}
    assert players(document) == ['yes']
    assert not re.search(r'<img[^>]*onerror', document)


@pytest.mark.slow
def test_a_printed_page_has_the_robot_as_a_picture_and_its_sections_one_after_the_other(tmp_path):
    # What a browser shows of media rules is asked for in the page itself.
    page = tmp_path / 'report.html'
    written = (finished_run() / 'report.html').read_text()
    nonce = re.search(r"script-src 'nonce-([^']+)'", written)[1]
    asked = (
        f'<script nonce="{nonce}">addEventListener("load", async () => {{'
        'while (!document.documentElement.dataset.ready)'
        ' await new Promise((go) => setTimeout(go, 50));'
        'dispatchEvent(new Event("beforeprint"));'
        'for (const sheet of document.styleSheets) for (const rule of sheet.cssRules)'
        ' if (rule.media && rule.media.mediaText === "print") rule.media.mediaText = "screen";'
        'const style = (name) => getComputedStyle(document.querySelector(name));'
        'const wide = [...document.querySelectorAll("table, .plot, .still, pre")]'
        '.filter((each) => each.scrollWidth > each.clientWidth + 1).length;'
        'document.body.dataset.printed = [style(".player canvas").display, style(".still").display,'
        'document.querySelector(".still").src.startsWith("data:image/png"),'
        'style("section + section").breakBefore, style(".controls .play").display, wide].join(" ");'
        '});</script></body>')
    page.write_text(written.replace('</body>', asked))
    document, errors = opened(page, tmp_path / 'profile')
    assert errors == []
    found = re.search(r'data-printed="([^"]*)"', document)[1]
    assert found == 'none block true auto none 0'
