"""The pages of a robot on paper in a real browser: stops, holds, operators, and what is lost."""

import json
import os
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from support.browser import BROWSER
from support.panel_server import TOKEN, PaperServer
from support.report_runs import HOSTILE
from support.studio_server import Look, browser, wait_until

pytest.importorskip('nicegui', reason="the page needs pip install 'sysid-ros[studio]'")
pytest.importorskip('playwright', reason='pip install playwright')
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason='no Chromium: apt-get install chromium'),
    pytest.mark.filterwarnings('ignore::DeprecationWarning'),
    pytest.mark.filterwarnings('ignore::pytest.PytestUnraisableExceptionWarning')]
PAGES = ('Robot', 'Motion', 'Fit', 'Commit')


@pytest.fixture(scope='module')
def chromium():
    with browser() as found:
        yield found


@pytest.fixture
def server(tmp_path):
    """A robot with a motion, a recording and an estimate."""
    folder = tmp_path / 'data'
    for part in ('motions', 'recordings/r1', 'estimates/e1'):
        (folder / part).mkdir(parents=True)
    (folder / 'motions/first.yaml').write_text('')
    (folder / 'estimates/e1/estimate.json').write_text('{}')
    (folder / 'estimates/e1/verdict.json').write_text(json.dumps({
        'committable': True, 'reasons': [], 'next_steps': ['Commit it.'], 'remarks': [HOSTILE]}))
    (folder / 'estimates/e1/report.html').write_text('the report')
    with PaperServer(folder) as started:
        yield started


def keep(look, name):
    if folder := os.environ.get('SYSID_STUDIO_SHOTS'):
        look.shot(Path(folder) / f'{name}.png')


def opened(chromium, server, page='motion', **options):
    """A page that only watches."""
    return Look(chromium, server.address(page), **options)


def operating(chromium, server):
    """A page that has the controls."""
    look = opened(chromium, server)
    look.page.get_by_role('button', name='Take the controls').click()
    look.page.get_by_text('You have the controls').wait_for()
    return look


def press(look, name):
    look.page.get_by_role('button', name=name).click()


def arm(look, server):
    """Allow a motion; a button that was being drawn anew is pressed again."""
    for _ in range(10):
        press(look, 'Arm: allow')
        for _ in range(20):
            if 'arm True' in server.asked:
                return
            look.page.wait_for_timeout(100)
    raise AssertionError(server.asked)


def playing(look, server):
    """A motion that is under way."""
    arm(look, server)
    press(look, 'Play: the robot')
    wait_until(lambda: 'play first 0.2' in server.asked)
    look.page.get_by_text('playing first').wait_for()


@pytest.mark.slow
def test_the_way_is_gone_by_clicks(chromium, server):
    look = operating(chromium, server)
    page = look.page
    playing(look, server)
    keep(look, 'live-2-motion')
    press(look, 'Stop the robot')
    page.get_by_text('The motion was stopped').wait_for()
    look.step('Fit')
    press(look, 'Fit')
    page.get_by_text('Estimate e1').first.wait_for()
    page.frame_locator('iframe[title="report of e1"]').get_by_text('the report').wait_for()
    keep(look, 'live-3-fit')
    look.step('Commit')
    page.get_by_label('Comment, kept with the revision').fill('better masses')
    press(look, 'Commit: controllers')
    page.get_by_text('r000002 is handed out: commit of e1').wait_for()
    press(look, 'Roll back to it')
    wait_until(lambda: 'roll back r000001' in server.asked)
    keep(look, 'live-4-commit')
    look.step('Robot')
    page.get_by_role('cell', name='wrist_roll').wait_for()
    page.wait_for_timeout(1500)
    keep(look, 'live-1-robot')
    assert server.asked == [
        'arm True', 'record', 'play first 0.2', 'stop', 'recorded', "identify ('r1',)",
        'commit e1 0.0 better masses', 'roll back r000001']
    assert look.errors == []
    assert page.title() == 'Robot · arm'


@pytest.mark.slow
def test_the_space_bar_stops_on_every_page_whatever_has_the_focus(chromium, server):
    look = operating(chromium, server)
    playing(look, server)
    for page in PAGES:
        look.step(page)
        before = server.asked.count('stop')
        look.page.keyboard.press('Space')
        wait_until(lambda: server.asked.count('stop') > before)  # noqa: B023
    # Armed again: a focused button is not pressed, and a comment gets no space.
    look.step('Commit')
    arm(look, server)
    look.page.get_by_role('button', name='Disarm').wait_for()
    comment = look.page.get_by_label('Comment, kept with the revision')
    comment.fill('one')
    look.page.wait_for_timeout(500)
    before = server.asked.count('stop')
    comment.press('Space')
    wait_until(lambda: server.asked.count('stop') == before + 1)
    assert comment.input_value() == 'one'
    # At rest it is written, and stops nothing.
    look.page.get_by_role('button', name='Arm: allow').wait_for()
    look.page.wait_for_timeout(500)
    comment.press('Space')
    assert comment.input_value() == 'one '
    assert server.asked.count('stop') == before + 1


def test_losing_the_page_stops_nothing_and_another_one_shows_the_same(chromium, server):
    look = operating(chromium, server)
    playing(look, server)
    look.page.reload()
    look.page.get_by_text('You have the controls').wait_for()
    look.page.get_by_text('playing first').wait_for()
    look.context.close()
    other = opened(chromium, server, 'robot')
    other.page.get_by_text('playing first').wait_for()
    other.page.wait_for_timeout(1500)
    assert 'stop' not in server.asked
    # Who only watches may stop.
    press(other, 'Stop the robot')
    wait_until(lambda: 'stop' in server.asked)


@pytest.mark.parametrize('how', ['released', 'closed', 'keyboard'])
def test_a_motion_that_is_held_stops_when_it_is_let_go_or_the_page_is_lost(chromium, server, how):
    look = operating(chromium, server)
    button = look.page.get_by_role('button', name='Hold to run')
    look.page.get_by_role('checkbox', name='Hold to run').click()
    # What was chosen is drawn anew, with the button beside it.
    button.wait_for()
    arm(look, server)
    wait_until(lambda: button.get_attribute('aria-disabled') is None)
    if how == 'keyboard':
        button.focus()
        look.page.keyboard.down('Enter')
    else:
        button.hover()
        look.page.mouse.down()
    wait_until(lambda: 'play first 0.2' in server.asked)
    # Longer than the panel waits for a sign of life.
    look.page.wait_for_timeout(1500)
    assert 'stop' not in server.asked
    if how == 'closed':
        look.context.close()
    elif how == 'keyboard':
        look.page.keyboard.up('Enter')
    else:
        look.page.mouse.up()
    wait_until(lambda: 'stop' in server.asked)


def test_one_operator_at_a_time_and_the_one_before_is_told(chromium, server):
    first = operating(chromium, server)
    second = opened(chromium, server)
    second.page.get_by_text('tab 1 at 127.0.0.1 has the controls').wait_for()
    assert second.page.get_by_role('button', name='Arm: allow').is_disabled()
    press(second, 'Take over: the other page is told')
    second.page.get_by_text('You have the controls').wait_for()
    first.page.get_by_text('has taken the controls over').wait_for()
    assert first.page.get_by_role('button', name='Arm: allow').is_disabled()
    press(second, 'Arm: allow')
    wait_until(lambda: 'arm True' in server.asked)


def test_a_page_says_that_it_is_cut_off_and_that_a_stop_was_not_delivered(chromium, server):
    look = operating(chromium, server)
    lost = look.page.get_by_text('The page does not hear the panel')
    assert not lost.is_visible()
    server.pause(paused=True)
    lost.wait_for()
    press(look, 'Stop the robot')
    look.page.get_by_text('THE STOP WAS NOT DELIVERED').wait_for()
    server.pause(paused=False)
    lost.wait_for(state='hidden')
    look.page.get_by_text('You have the controls').wait_for()


def test_a_stale_tab_of_another_start_says_so(chromium, server, tmp_path):
    look = operating(chromium, server)
    port = server.port
    server.end()
    look.page.get_by_text('The page does not hear the panel').wait_for()
    with PaperServer(tmp_path / 'data', port) as again:
        # It has the same token, and knows nothing of who had the controls.
        look.page.get_by_text('The page does not hear the panel').wait_for(state='hidden')
        look.page.get_by_text('Nobody has the controls').wait_for()
        press(look, 'Stop the robot')
        wait_until(lambda: 'stop' in again.asked)


def test_names_that_are_code_are_shown_and_not_run(chromium, server, tmp_path):
    (tmp_path / 'data/estimates/e1/report.html').write_text(
        f'<script>parent.document.title = "taken"</script>the report {HOSTILE}')
    dialogs = []
    look = opened(chromium, server, 'fit')
    look.page.on('dialog', lambda dialog: dialogs.append(dialog.message))
    look.page.get_by_role('region', name='verdict').wait_for()
    look.page.get_by_text('Remarks (1)').wait_for()
    look.page.frame_locator('iframe').get_by_text('the report').wait_for()
    assert look.page.title() == 'Fit · arm' and dialogs == []


def test_nothing_is_answered_without_the_token(server):
    def status(path, method='GET', cookie=None, **headers):
        named = {} if cookie is None else {'Cookie': f'sysid_panel_{server.port}={cookie}'}
        try:
            with urlopen(Request(f'{server.origin}{path}', method=method, data=b'' if
                                 method == 'POST' else None, headers=named | headers),
                         timeout=60) as answer:
                return answer.status
        except HTTPError as error:
            return error.code

    mine = {'Origin': server.origin}
    for cookie in (None, 'wrong'):
        for path in ('/robot', '/live/state', '/live/reports/e1', '/live/live.js'):
            assert status(path, cookie=cookie) == 401
        assert status('/live/stop', 'POST', cookie, **mine) == 401
    assert status('/robot?token=wrong') == 401
    # Another site cannot ask for anything with the cookie that the browser has.
    assert status('/live/stop', 'POST', TOKEN) == 403
    assert status('/live/stop', 'POST', TOKEN, Origin='http://elsewhere') == 403
    assert server.asked == []
    assert status('/live/hold/begin', 'POST', TOKEN, **mine) == 200
    assert server.asked == []
    assert status('/live/stop', 'POST', TOKEN, **mine) == 200
    for name in ('..', 'e2', 'e1%2f..', '.studio', 'e1/estimate.json'):
        assert status(f'/live/reports/{name}', cookie=TOKEN) in (404, 307), name


@pytest.mark.slow
def test_a_phone_shows_every_page_without_sideways_scrolling_and_the_stop_in_sight(
    chromium, server
):
    look = opened(chromium, server, 'robot', sizes=(390, 800))
    for number, page in enumerate(PAGES, start=1):
        look.step(page)
        look.page.wait_for_timeout(1000)
        assert look.page.evaluate(
            'document.documentElement.scrollWidth - innerWidth') <= 0, page
        look.page.evaluate('window.scrollTo(0, document.body.scrollHeight)')
        box = look.page.get_by_role('button', name='Stop the robot').bounding_box()
        assert box['y'] >= 0 and box['y'] + box['height'] <= 800 and box['height'] >= 44
        look.page.evaluate('window.scrollTo(0, 0)')
        keep(look, f'live-phone-{number}-{page.lower()}')


@pytest.mark.slow
def test_everything_has_a_name_and_the_keyboard_reaches_the_page(chromium, server):
    nameless = """() => [...document.querySelectorAll(
        'button, input, select, a[href], iframe, canvas, [role="checkbox"]')]
        .filter((one) => one.offsetParent && !(
            one.getAttribute('aria-label') || one.title || one.textContent.trim()
            || (one.labels && one.labels.length) || one.closest('label')
            || one.getAttribute('aria-labelledby') || one.getAttribute('aria-hidden')))
        .map((one) => one.outerHTML.slice(0, 200))"""
    look = opened(chromium, server, 'robot')
    for number, page in enumerate(PAGES, start=1):
        look.page.keyboard.press(str(number))
        look.page.get_by_role('heading', level=2, name=page).wait_for()
        look.page.wait_for_timeout(500)
        assert look.page.evaluate(nameless) == [], page
    look.page.reload()
    look.page.keyboard.press('Tab')
    assert look.page.evaluate('document.activeElement.textContent') == 'To the page'
