"""Pages of good, poor and failed fits, of simulated and real robots, as a browser shows them."""

import re

import pytest

from support.browser import BROWSER, opened
from support.report_cases import REAL, SIMULATED
from support.report_runs import finished_run

pytest.importorskip('plotly', reason='the page is drawn by plotly')
in_a_browser = pytest.mark.skipif(
    BROWSER is None, reason='no Chromium: apt-get install chromium')

_MOST_BYTES = 5e6
# A browser's window may not be as narrow as a phone: the page is.
_PROBE = """<style>html {{ max-width: {width}px }}</style>
<script nonce="{nonce}">addEventListener("load", async () => {{
while (!document.documentElement.dataset.ready) await new Promise((go) => setTimeout(go, 50));
const main = document.documentElement.getBoundingClientRect().width;
const wide = [...document.querySelectorAll("p, li, h2, h3, h4, dl, .plot, .player, .scroll")]
.filter((each) => each.getBoundingClientRect().right > main + 1);
const empty = [...document.querySelectorAll(".plot")].filter((each) => !each.querySelector("svg"));
document.body.dataset.seen = [Math.round(main), wide.length, empty.length].join(" ");
}});</script></body>"""


def require_a_whole_page(page, folder):
    """Every figure is drawn, nothing is wider than the page, and nothing goes wrong or out."""
    written = page.read_text(encoding='utf-8')
    assert page.stat().st_size <= _MOST_BYTES
    places = len(re.findall(r'data-figure="', written))
    nonce = re.search(r"script-src 'nonce-([^']+)'", written)[1]
    for width in (1280, 390):
        probed = folder / f'{width}.html'
        probed.write_text(
            written.replace('</body>', _PROBE.format(width=width, nonce=nonce)), encoding='utf-8')
        document, errors = opened(
            probed, folder / 'profile', '--hide-scrollbars', f'--window-size={width},900')
        assert errors == []
        assert re.findall(r'data-drawn="(\w+)"', document) == ['yes'] * places
        assert set(re.findall(r'data-shown="(\w+)"', document)) <= {'yes'}
        assert re.search(r'data-seen="([^"]*)"', document)[1] == f'{width} 0 0'


@pytest.mark.slow
@in_a_browser
def test_the_page_of_a_good_fit_is_whole(tmp_path):
    require_a_whole_page(finished_run() / 'report.html', tmp_path)


@pytest.fixture(scope='module', params=SIMULATED)
def simulated(request, tmp_path_factory):
    """The page of a simulated robot."""
    folder = tmp_path_factory.mktemp(request.param)
    return SIMULATED[request.param](folder, None) / 'report.html'


@pytest.mark.slow
@in_a_browser
def test_the_page_of_a_simulated_robot_is_whole(simulated, tmp_path):
    require_a_whole_page(simulated, tmp_path)


@pytest.mark.parametrize('simulated', ['poor'], indirect=True)
def test_the_first_screen_of_a_poor_motion_names_what_stays_unknown_and_the_motion_that_helps(
    simulated
):
    page = simulated.read_text(encoding='utf-8')
    first = page[page.index('class="verdict'):page.index('<h2>')]
    assert 'Stays unknown:' in first and 'wrist_roll.coulomb_friction' in first
    assert 'wrist_roll alone, slowly through its range' in first


@pytest.mark.slow
@in_a_browser
@pytest.mark.parametrize('case', REAL.values(), ids=REAL)
def test_the_page_of_a_real_robot_is_whole(case, shared_data, tmp_path):
    require_a_whole_page(case(tmp_path, shared_data) / 'report.html', tmp_path)
