"""The way from a description to an export by clicks alone, in a real browser."""

import json
import os
import shutil
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from support.browser import BROWSER
from support.report_runs import HOSTILE, finished_run
from support.studio_server import TOKEN, Look, Server, browser, served, wait_until

pytest.importorskip('nicegui', reason="the page needs pip install 'sysid-ros[studio]'")
pytest.importorskip('playwright', reason='pip install playwright')
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason='no Chromium: apt-get install chromium'),
    pytest.mark.filterwarnings('ignore::DeprecationWarning'),
    pytest.mark.filterwarnings('ignore::pytest.PytestUnraisableExceptionWarning')]


@pytest.fixture(scope='module')
def chromium():
    with browser() as found:
        yield found


@pytest.fixture
def folder(tmp_path):
    """A recording with its settings, its table once more without, a description, and a run."""
    made = tmp_path / 'data'
    shutil.copytree(finished_run().parent, made)
    (made / 'fit').rename(made / 'first')
    return made


def shots():
    """Folder that pictures are kept in, where somebody wants to look at them."""
    named = os.environ.get('SYSID_STUDIO_SHOTS')
    return None if named is None else Path(named)


def keep(look, name):
    if shots() is not None:
        look.shot(shots() / f'{name}.png')


@pytest.mark.slow
def test_the_whole_way_is_gone_by_clicks(chromium, folder):
    with served(folder) as server:
        look = Look(chromium, server.address)
        page = look.page
        # The description: nothing wrong, masses, what torques can tell, the robot in 3-D.
        page.get_by_text('no fault was found').wait_for()
        page.get_by_role('heading', name='Masses').wait_for()
        page.locator('.scene canvas').wait_for()
        assert page.get_by_text('inertial parameters torques tell').is_visible()
        keep(look, '1-description')

        look.step('Recordings')
        page.get_by_role('button', name='Check all').click()
        page.get_by_text('good enough to fit').wait_for()
        keep(look, '2-recordings')

        look.step('Fit')
        page.get_by_text('sysid fit settings.yaml --holdout 0.3 -o runs/settings').wait_for()
        keep(look, '3-before-the-fit')
        page.get_by_role('button', name='Fit', exact=True).click()
        page.get_by_role('button', name='Stop: what is not complete is not kept').wait_for()
        keep(look, '3-fit-under-way')
        page.get_by_role('region', name='verdict').wait_for()
        assert (folder / 'runs/settings/estimate.json').is_file()
        keep(look, '3-fit')
        page.get_by_role('button', name='Read the report').click()

        page.get_by_role('heading', level=2, name='Report').wait_for()
        report = page.frame_locator('iframe[title="report of runs/settings"]')
        report.get_by_text('Identified dynamics of').first.wait_for()
        keep(look, '4-report')

        look.step('Compare')
        page.get_by_label('Runs, in the order in which they were recorded').click()
        for run in ('first', 'runs/settings'):
            page.get_by_role('option', name=run, exact=True).click()
        page.keyboard.press('Escape')
        page.get_by_role('button', name='Compare', exact=True).click()
        page.get_by_text('agree within their intervals').first.wait_for()
        page.frame_locator('iframe[title="comparison of runs"]').get_by_text(
            'Runs beside each other').first.wait_for()
        keep(look, '5-compare')

        look.step('Export')
        page.get_by_role('button', name='Export', exact=True).click()
        with page.expect_download() as download:
            page.get_by_role('link', name='identified.urdf').click()
        assert '<inertial>' in Path(download.value.path()).read_text()
        keep(look, '6-export')
        assert look.errors == []
        # Nothing but the server was asked for anything.
        assert {url.partition('/')[2].split('/')[1] for url in look.requests
                if url.startswith('http')} == {server.origin.partition('//')[2]}


@pytest.mark.slow
def test_a_motion_is_designed_around_boxes_that_are_typed(chromium, folder):
    (folder / 'quick.yaml').write_text(
        'robot: {urdf: arm.urdf}\nmotion: {duration: 4.0, harmonics: [1, 2, 3]}\n'
        'clearance: {boxes: [{name: wall, lower: [3, -2, -2], upper: [3.2, 2, 2]}]}\n'
        'design: {starts: 1, iterations: 4, seed: 4}\n')
    with served(folder) as server:
        look, other = (Look(chromium, f'{server.origin}/motion?token={TOKEN}') for _ in '12')
        page = look.page
        page.locator('.scene canvas').wait_for()
        page.get_by_role('button', name='Add a box').click()
        page.get_by_label('name of box 1').fill('table')
        page.get_by_label('lower z of box 1 in m').fill('0.5')
        page.get_by_text('lower < upper').wait_for()
        page.get_by_label('lower z of box 1 in m').fill('-0.6')
        page.get_by_label('upper z of box 1 in m').fill('-0.5')
        page.get_by_text('lower < upper').wait_for(state='detached')
        page.get_by_text('--box table=0.4,-0.3,-0.6,0.8,0.3,-0.5').wait_for()
        # Whoever looks on sees the same.
        name = other.page.get_by_label('name of box 1')
        wait_until(lambda: name.input_value() == 'table')
        keep(look, '2-surroundings')
        page.get_by_role('button', name='Write a plan').click()
        wait_until(lambda: (folder / 'arm_excite.yaml').is_file() or (
            page.get_by_placeholder('such as').count() > 0))
        for field in page.get_by_placeholder('such as').all():
            field.fill(field.get_attribute('placeholder').removeprefix('such as '))
        if page.get_by_placeholder('such as').count():
            page.get_by_role('button', name='Write a plan').click()
        page.get_by_text('What arm_excite.yaml says, and why').wait_for()
        assert 'name: table' in (folder / 'arm_excite.yaml').read_text()
        page.get_by_label('Plan', exact=True).click()
        page.get_by_role('option', name='quick.yaml').click()
        page.get_by_role('button', name='Design', exact=True).click()
        planned = page.frame_locator('iframe[title="motion motions/quick"]')
        planned.get_by_text('Planned motion of').first.wait_for()
        assert page.get_by_text('can be stopped within').is_visible()
        assert (folder / 'motions/quick/excitation.yaml').is_file()
        keep(look, '2-motion')
        page.get_by_role('button', name='Remove: box 1').click()
        page.get_by_label('name of box 1').wait_for(state='detached')
        assert look.errors == other.errors == []


@pytest.mark.slow
def test_two_browsers_show_the_same_and_a_reload_is_where_it_was(chromium, folder):
    with served(folder) as server:
        one, other = (Look(chromium, f'{server.origin}/recordings?token={TOKEN}') for _ in '12')
        assert one.page.url == f'{server.origin}/recordings'
        one.page.get_by_role('button', name='Check it').click()
        for look in (one, other):
            look.page.get_by_text('good enough to fit').wait_for()
        other.page.reload()
        other.page.get_by_text('good enough to fit').wait_for()
        one.page.keyboard.press('7')
        one.page.get_by_role('heading', level=2, name='Export').wait_for()
        one.page.get_by_text('actuators of Isaac Lab').click()
        other.step('Export')
        box = other.page.get_by_role('checkbox').nth(2)
        wait_until(lambda: box.get_attribute('aria-checked') == 'true')
        assert one.errors == other.errors == []


@pytest.mark.slow
def test_a_fit_is_stopped_and_another_server_knows_what_was_chosen(chromium, folder):
    with served(folder) as server:
        look = Look(chromium, f'{server.origin}/fit?token={TOKEN}')
        look.page.get_by_role('button', name='Fit', exact=True).click()
        look.page.get_by_role('button', name='Stop: what is not complete is not kept').click()
        look.page.get_by_text('It was stopped').wait_for()
        assert not (folder / 'runs/settings/estimate.json').exists()
        look.page.get_by_role('button', name='Fit', exact=True).click()
        look.page.get_by_role('button', name='Stop: what is not complete is not kept').wait_for()
    again = Server(folder, server.port)
    try:
        # The page finds the next server by itself: it has the same token.
        look.page.get_by_text('The server ended while it was under way').wait_for()
    finally:
        again.end()


@pytest.mark.slow
def test_names_that_are_code_are_shown_and_not_run(chromium, folder):
    name = HOSTILE.replace('/', '_')[:80]
    urdf = (folder / 'arm.urdf').read_text()
    bad = urdf.replace('name="forearm"', 'name="&lt;img src=x onerror=alert(1)&gt;{{ 7*7 }}"')
    (folder / f'{name}.urdf').write_text(bad.replace('link="forearm"', (
        'link="&lt;img src=x onerror=alert(1)&gt;{{ 7*7 }}"')))
    (folder / f'{name}.yaml').write_text((folder / 'settings.yaml').read_text())
    (folder / 'first/verdict.json').write_text(json.dumps({
        'committable': False, 'reasons': [HOSTILE, 7, None], 'next_steps': [HOSTILE],
        'remarks': HOSTILE}))
    shutil.copytree(folder / 'first', folder / 'runs' / name)
    (folder / 'runs' / name / 'report.html').write_text(
        '<script>parent.document.title = "taken"; fetch("/files/comparison")</script>hostile')
    dialogs = []
    with served(folder) as server:
        look = Look(chromium, server.address)
        look.page.on('dialog', lambda dialog: dialogs.append(dialog.message))
        look.page.get_by_label('Robot description').click()
        look.page.get_by_role('option', name=f'{name}.urdf').click()
        # The library's own templates are not filled in by names.
        look.page.get_by_text('{{ 7*7 }}').first.wait_for()
        for step in ('Motion', 'Recordings', 'Fit', 'Report', 'Export'):
            look.step(step)
            look.page.wait_for_timeout(500)
            assert look.page.locator('img[src="x"]').count() == 0
        look.step('Report')
        look.page.get_by_label('Run', exact=True).click()
        look.page.get_by_role('option', name=f'runs/{name}').click()
        look.page.frame_locator('iframe').get_by_text('hostile').wait_for()
        assert look.page.title() == 'Report · data'
    assert dialogs == []


@pytest.mark.slow
def test_a_phone_shows_the_way_without_sideways_scrolling(chromium, folder):
    with served(folder) as server:
        look = Look(chromium, server.address, sizes=(390, 800))
        look.page.get_by_role('heading', name='Masses').wait_for()
        keep(look, 'phone-1-description')
        for number, step in enumerate(('Motion', 'Recordings', 'Fit', 'Report', 'Export'), start=2):
            look.step(step)
            look.page.wait_for_timeout(500)
            wide = look.page.evaluate('document.documentElement.scrollWidth - innerWidth')
            assert wide <= 0, step
            keep(look, f'phone-{number}-{step.lower()}')


@pytest.mark.slow
def test_every_input_and_button_has_a_name_and_the_keyboard_reaches_the_step(chromium, folder):
    nameless = """() => [...document.querySelectorAll(
        'button, input, select, a[href], iframe, [role="checkbox"], [role="slider"]')]
        .filter((one) => one.offsetParent && !(
            one.getAttribute('aria-label') || one.title || one.textContent.trim()
            || (one.labels && one.labels.length) || one.closest('label')
            || one.getAttribute('aria-labelledby') || one.getAttribute('aria-hidden')))
        .map((one) => one.outerHTML.slice(0, 200))"""
    with served(folder) as server:
        look = Look(chromium, server.address)
        look.page.get_by_role('heading', name='Masses').wait_for()
        for step in ('Description', 'Motion', 'Recordings', 'Fit', 'Report', 'Compare', 'Export'):
            look.step(step)
            look.page.wait_for_timeout(500)
            assert look.page.evaluate(nameless) == [], step
        look.page.reload()
        look.page.keyboard.press('Tab')
        assert look.page.evaluate('document.activeElement.textContent') == 'To the step'
        look.page.keyboard.press('Enter')
        assert look.page.evaluate('document.activeElement.className') == 'step'


@pytest.mark.slow
def test_files_are_given_to_who_has_the_token_and_to_nobody_else(folder):
    (folder / 'secret.txt').write_text('secret')
    (folder / 'exports').mkdir()
    (folder / 'exports/out').symlink_to(folder.parent)

    def status(path, cookie=None):
        headers = {} if cookie is None else {'Cookie': f'sysid_studio_{server.port}={cookie}'}
        try:
            with urlopen(Request(f'{server.origin}{path}', headers=headers), timeout=60) as answer:
                return answer.status, answer.headers['Content-Security-Policy']
        except HTTPError as error:
            return error.code, ''

    with served(folder) as server:
        report = '/files/reports/first'
        assert status(report)[0] == status(report, 'wrong')[0] == 401
        found, policy = status(report, TOKEN)
        assert found == 200 and policy.startswith('sandbox allow-scripts;')
        for path in ('/files/reports/..', '/files/reports/nothing', '/files/reports//etc',
                     '/files/exports/secret.txt', '/files/exports/exports/..%2fsecret.txt',
                     '/files/exports/exports/out/data/secret.txt', '/files/meshes/..%2fchoices',
                     '/files/meshes/choices.json', '/files/comparison'):
            assert status(path, TOKEN)[0] in (404, 307), path


@pytest.mark.slow
def test_a_page_costs_little_while_nothing_happens(chromium, folder):
    with served(folder) as server:
        look = Look(chromium, f'{server.origin}/recordings?token={TOKEN}')
        look.page.get_by_role('button', name='Check all').wait_for()
        look.page.wait_for_timeout(1000)

        def used():
            fields = Path(f'/proc/{server.process}/stat').read_text().rpartition(')')[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

        begin, before = time.monotonic(), used()
        look.page.wait_for_timeout(5000)
        assert (used() - before) / (time.monotonic() - begin) < 0.3
