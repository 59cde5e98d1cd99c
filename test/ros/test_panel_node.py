"""The panel beside a real loop of nodes, asked as its pages ask it, without a browser."""

import asyncio
import threading
import time

import pytest
import rclpy

from sysid_ros.demo.folder import prepare
from sysid_ros.nodes.executor import make_executor
from sysid_ros.studio.live.state import EXCITATION, MONITOR
from sysid_ros.studio.live.views import MotionPhase

pytest.importorskip('nicegui', reason="the page needs pip install 'sysid-ros[studio]'")
pytestmark = pytest.mark.filterwarnings('ignore::DeprecationWarning')
TAB, OTHER = 'tab-1', 'tab-2'
PATIENCE = 300.0
# Times that a motion is begun: a computer that does other things may be too late for a robot.
ATTEMPTS = 8
# Time in [s] that a robot which was stopped, and what is said of it, takes.
PAUSE = 1.0


class RunningPanel:
    """A panel node in this process, whose executor has a thread of its own.

    Attributes:
        node: The node.
        panel: What its pages show and ask.
    """

    def __init__(self, domain, folder):
        from sysid_ros.nodes.panel_node import PanelNode

        rclpy.init(args=[], domain_id=domain)
        self.node = PanelNode(['-p', 'port:=0', '-p', f'data_folder:={folder}'])
        self._executor, self._ends = make_executor(), threading.Event()
        self._executor.add_node(self.node)
        assert self.node.trigger_configure().name == 'SUCCESS'
        assert self.node.trigger_activate().name == 'SUCCESS'
        self.panel = self.node._panel
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()

    def _spin(self):
        while not self._ends.is_set():
            self._executor.spin_once(timeout_sec=0.05)

    def close(self):
        """End it."""
        self._ends.set()
        self._thread.join()
        self.node.trigger_deactivate()
        self.node.trigger_cleanup()
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown()


@pytest.fixture
def panel(ros, loop):
    """The panel of the loop of a demonstration, with what moves the robot and watches it heard."""
    running = RunningPanel(ros.domain, loop / 'data')
    state = running.panel.state
    try:
        wait(lambda: all(state.node(name).state.ready for name in (MONITOR, EXCITATION)))
        wait(lambda: state.phase is not None and state.seen)
        running.panel.take_controls(TAB)
        yield running.panel
    finally:
        running.close()


def wait(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


async def until(condition, seconds=PATIENCE):
    await asyncio.to_thread(wait, condition, seconds)


async def begun(panel, *, held=False):
    """A motion that is played, begun again where the robot was stopped."""
    for _ in range(ATTEMPTS):
        await asyncio.sleep(PAUSE)
        await panel.reset_monitor(TAB)
        await panel.arm(TAB, allowed=True)
        await asyncio.sleep(PAUSE)
        if not panel.state.armed:
            # What the monitor still finds has taken it back.
            continue
        activity = panel.begin_motion(TAB, held=held)
        while activity.active and panel.state.phase is not MotionPhase.PLAYING:
            if held:
                panel.hold.beat(TAB)
            await asyncio.sleep(0.05)
        if activity.active:
            return activity
    raise AssertionError((panel.activity('motion'), panel.state.stopped))


async def ended(activity):
    """What came of an activity."""
    await until(lambda: not activity.active)
    assert activity.error is None, activity.error
    return activity.outcome


def test_a_stop_stops_and_a_hold_that_is_lost_stops_and_a_page_that_is_lost_does_not(panel):
    async def go():
        panel.choose(motion='identification', speed=1.0, record=False)
        activity = await begun(panel)
        # Nobody says anything for longer than a hold may be silent.
        await asyncio.sleep(1.5)
        assert activity.active and panel.state.moving
        assert panel.stop() == 'A stop was asked for.'
        outcome = await ended(activity)
        assert not outcome.good and 'stopped' in outcome.text
        assert panel.state.motion.reason == 'A stop was asked for.'
        activity = await begun(panel, held=True)
        for _ in range(10):
            assert panel.hold.beat(TAB)
            await asyncio.sleep(0.1)
        assert activity.active
        outcome = await ended(activity)
        assert not outcome.good and 'fell silent' in panel.stopped[1]

    asyncio.run(go())


def test_where_no_excitation_is_heard_a_stop_goes_to_everybody(ros, tmp_path):
    from sysid_ros.msg import StopRequest

    pytest.importorskip('mujoco')
    heard = ros.hear(StopRequest, 'sysid/stop')
    running = RunningPanel(ros.domain, prepare(tmp_path / 'demo') / 'data')

    def heard_after_a_stop():
        # Nodes may not have found one another when it is asked for the first time.
        assert 'all nodes were asked' in running.panel.stop()
        ros.spin(0.2)
        return heard

    try:
        ros.wait(heard_after_a_stop)
        # It is repeated, for those who hear it late.
        ros.wait(lambda: len(heard) > 5)
        assert (heard[0].source, heard[0].reasons) == (
            '/panel_node', ['The operator asked for it.'])
    finally:
        running.close()
