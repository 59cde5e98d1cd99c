"""The panel of a real loop of nodes, in a real browser: the way by clicks, stops and holds."""

import os
import re
import signal
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from lifecycle_msgs.srv import GetState
from std_srvs.srv import Trigger

from support.browser import BROWSER
from support.studio_server import Look, browser, wait_until
from sysid_ros.msg import ExcitationStatus
from sysid_ros.srv import ListRevisions

pytest.importorskip('nicegui', reason="the page needs pip install 'sysid-ros[studio]'")
pytest.importorskip('playwright', reason='pip install playwright')
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason='no Chromium: apt-get install chromium'),
    pytest.mark.filterwarnings('ignore::DeprecationWarning'),
    pytest.mark.filterwarnings('ignore::pytest.PytestUnraisableExceptionWarning')]
TOKEN = 'a-token-of-these-tests'
NEEDED = ('monitor_node', 'excitation_node', 'identification_node', 'model_server')
MOVING = (ExcitationStatus.BLENDING, ExcitationStatus.PLAYING)
AT_REST = (ExcitationStatus.HOLDING, ExcitationStatus.DONE)
# Times that a motion is begun: a computer that does other things may be too late for a robot.
ATTEMPTS = 8
# Time in [s] that a robot which was stopped, and what is said of it, takes.
PAUSE = 1.0


class Operated:
    """A loop of nodes with a panel, and what is heard of the excitation.

    Attributes:
        ros: The session.
        origin: Address of the page without the token.
        phases: What the excitation said that it does.
    """

    def __init__(self, ros, folder, **parameters):
        self.ros = ros
        self.phases = ros.hear(ExcitationStatus, 'excitation_node/status', 200)
        self.start(folder, **parameters)
        for name in NEEDED:
            ros.wait(lambda: self._state(name) == 'active')  # noqa: B023

    def start(self, folder, **parameters):
        """Start a panel."""
        self.ros.start('panel_node', {
            'port': 0, 'data_folder': str(folder / 'data'), **parameters})
        self.ros.wait(lambda: 'Open http' in self.ros.output('panel_node'))
        self.origin = re.findall(r'Open (http://[^/]*)/', self.ros.output('panel_node'))[-1]

    def _state(self, name):
        return self.ros.call(GetState, f'{name}/get_state').current_state.label

    @property
    def phase(self):
        """What the excitation does."""
        self.ros.spin(0.05)
        return self.phases[-1].phase if self.phases else None

    def opened(self, chromium, page='motion', **options):
        """A page of a browser."""
        return Look(chromium, f'{self.origin}/{page}?token={TOKEN}', **options)

    def operate(self, chromium):
        """A page that has the controls."""
        look = self.opened(chromium)
        press(look, 'Take the controls')
        look.page.get_by_text('You have the controls').wait_for()
        return look

    def begin(self, look, play):
        """Arm, and begin a motion, once more where nodes have not heard one another yet."""
        for _ in range(ATTEMPTS):
            self.ros.spin(PAUSE)
            reset = look.page.get_by_role('button', name='Reset the monitor')
            if reset.is_visible():
                reset.click()
                self.ros.spin(PAUSE)
            press(look, 'Arm: allow')
            self.ros.spin(PAUSE)
            if self.phase != ExcitationStatus.ARMED:
                # What the monitor still finds has taken it back.
                continue
            play()
            deadline = time.monotonic() + 30.0
            while time.monotonic() < deadline:
                if self.phase == ExcitationStatus.PLAYING:
                    return
                if look.page.get_by_text('Not played to its end').is_visible():
                    break
        raise AssertionError(look.page.locator('body').inner_text())


def press(look, name):
    look.page.get_by_role('button', name=name).click()


def keep(look, name):
    if folder := os.environ.get('SYSID_STUDIO_SHOTS'):
        look.shot(Path(folder) / f'{name}.png')


def choose(look, label, option):
    look.page.get_by_label(label).first.click()
    look.page.get_by_role('option', name=option, exact=True).click()


@pytest.fixture(scope='module')
def chromium():
    with browser() as found:
        yield found


@pytest.fixture
def operated(ros, loop, monkeypatch):
    """The loop of the demonstration with a panel."""
    monkeypatch.setenv('SYSID_PANEL_TOKEN', TOKEN)
    return Operated(ros, loop)


def played(operated, look, *, at_most=ATTEMPTS):
    """Play a motion to its end, as a person would: begun again where it was stopped."""
    for _ in range(at_most):
        operated.begin(look, lambda: press(look, 'Play: the robot'))
        wait_until(lambda: operated.phase in AT_REST)
        look.page.get_by_text('after ').first.wait_for()
        wait_until(lambda: not look.page.get_by_role('progressbar').count())
        if look.page.get_by_text('Played. The robot was within').is_visible():
            return
    raise AssertionError(look.page.locator('body').inner_text())


def test_the_whole_loop_is_gone_by_clicks(operated, chromium):
    look = operated.operate(chromium)
    page = look.page
    choose(look, 'Motion', 'identification')
    choose(look, 'Speed, of the designed one', '100 %')
    played(operated, look)
    keep(look, 'robot-2-motion')
    look.step('Robot')
    page.get_by_role('cell', name='wrist_roll').first.wait_for()
    keep(look, 'robot-1-robot')
    look.step('Fit')
    press(look, 'Fit')
    page.get_by_text('on data that was not fitted').wait_for()
    page.get_by_text('Verdict:').wait_for()
    report = page.frame_locator('iframe')
    report.get_by_text('Identified dynamics of').first.wait_for()
    keep(look, 'robot-3-fit')
    look.step('Commit')
    choose(look, 'Motion', 'held_out')
    played(operated, look)
    press(look, 'Commit: controllers')
    page.get_by_text(re.compile('is handed out: commit of estimate-')).wait_for()
    page.get_by_text('Shadow test: the estimate predicts').wait_for()
    page.get_by_text('runs it').first.wait_for()
    keep(look, 'robot-4-commit')
    press(look, 'Roll back to it')
    page.get_by_text(re.compile('is handed out: rollback to')).wait_for()
    revisions = operated.ros.call(ListRevisions, 'model_server/list_revisions').revisions
    assert [revision.kind for revision in revisions] == [2, 1, 0]
    assert look.errors == []


def test_a_click_and_the_space_bar_stop_the_robot_and_a_page_that_is_lost_does_not(
    operated, chromium
):
    look = operated.operate(chromium)
    choose(look, 'Speed, of the designed one', '100 %')
    for stop in (lambda: press(look, 'Stop the robot'),
                 lambda: look.page.keyboard.press('Space')):
        operated.begin(look, lambda: press(look, 'Play: the robot'))
        stop()
        wait_until(lambda: operated.phase == ExcitationStatus.HOLDING)
        look.page.get_by_text('The motion was stopped').wait_for()
    operated.begin(look, lambda: press(look, 'Play: the robot'))
    # The browser is gone, and then the panel: the motion goes on.
    look.context.close()
    operated.ros.spin(1.0)
    assert operated.phase in MOVING
    operated.ros.processes['panel_node'].send_signal(signal.SIGKILL)
    operated.ros.spin(1.0)
    assert operated.phase in MOVING
    operated.ros.call(Trigger, 'excitation_node/stop')
    wait_until(lambda: operated.phase == ExcitationStatus.HOLDING)


def test_a_motion_that_is_held_stops_with_whoever_holds_it(operated, chromium):
    look = operated.operate(chromium)
    choose(look, 'Speed, of the designed one', '100 %')
    look.page.get_by_role('checkbox', name='Hold to run').click()

    def held_until(look, let_go):
        button = look.page.get_by_role('button', name='Hold to run')

        def hold():
            wait_until(lambda: button.get_attribute('aria-disabled') is None)
            look.page.mouse.up()
            button.hover()
            look.page.mouse.down()

        operated.begin(look, hold)
        operated.ros.spin(1.0)
        assert operated.phase in MOVING
        let_go()
        wait_until(lambda: operated.phase == ExcitationStatus.HOLDING)
        assert 'A stop was asked for' in operated.phases[-1].reason

    held_until(look, look.page.mouse.up)
    other = operated.opened(chromium)

    def take_over():
        press(other, 'Take over: the other page is told')
        look.page.get_by_text('has taken the controls over').wait_for()

    held_until(look, take_over)
    held_until(other, other.context.close)


def test_a_node_that_dies_is_told_and_a_wrong_token_is_refused(operated, chromium):
    look = operated.opened(chromium, 'robot')
    operated.ros.start('campaign_node')
    row = look.page.get_by_role('row', name='campaign_node')
    row.get_by_text('ready').wait_for()
    operated.ros.processes['campaign_node'].kill()
    row.get_by_text('not heard').wait_for()
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(f'{operated.origin}/robot?token=wrong'), timeout=60)
    assert refused.value.code == 401
    assert operated.ros.stop('panel_node') == 0
    look.page.get_by_text('The page does not hear the panel').wait_for()
