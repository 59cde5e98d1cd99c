"""The panel of a robot: who may do what, what is held, and what stops it."""

import asyncio
import time

import pytest

from support.paper_robot import paper_panel
from sysid_ros.errors import ConfigurationError
from sysid_ros.studio.live.controls import OperatorControls
from sysid_ros.studio.live.hold import HoldToRun
from sysid_ros.studio.live.state import LiveState
from sysid_ros.studio.live.views import MotionPhase, MotionStatus, NodeSign, NodeState

MINE, THEIRS = 'tab-1', 'tab-2'


@pytest.fixture
def panel(tmp_path):
    """A panel whose robot has one motion, and its robot."""
    panel, robot = paper_panel(tmp_path)
    (tmp_path / 'motions/first.yaml').write_text('motion: 1')
    yield panel, robot
    robot.ends.set()
    panel.close()


def run(coroutine):
    return asyncio.run(coroutine)


async def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


async def armed(panel):
    panel.take_controls(MINE)
    await panel.arm(MINE, allowed=True)


def test_who_only_watches_can_do_nothing_but_stop(panel):
    panel, robot = panel

    async def only_watches():
        for order in (
            panel.arm(MINE, allowed=True), panel.reset_monitor(MINE), panel.begin_recording(MINE),
            panel.end_recording(MINE),
        ):
            with pytest.raises(ConfigurationError, match='only watches'):
                await order
        for order in (
            lambda: panel.begin_motion(MINE), lambda: panel.begin_fit(MINE),
            lambda: panel.cancel_fit(MINE), lambda: panel.begin_commit(MINE, ''),
            lambda: panel.begin_rollback(MINE),
        ):
            with pytest.raises(ConfigurationError, match='only watches'):
                order()
        panel.stop()

    run(only_watches())
    assert robot.asked == [('stop',)]


def test_one_tab_has_the_controls_until_another_takes_them_over_and_the_first_is_told():
    controls = OperatorControls()
    controls.take(MINE, '10.0.0.1')
    with pytest.raises(ConfigurationError, match='another operator') as refused:
        controls.take(THEIRS, '10.0.0.2')
    assert refused.value.found == 'tab 1 at 10.0.0.1'
    assert controls.holds(MINE)
    controls.take(THEIRS, '10.0.0.2', over=True)
    assert controls.holds(THEIRS) and not controls.holds(MINE)
    assert controls.taken_over_by(MINE) == 'tab 2 at 10.0.0.2'
    controls.take(MINE, over=True)
    assert controls.taken_over_by(MINE) == ''
    controls.give_back(THEIRS)
    assert controls.holds(MINE)
    controls.give_back(MINE)
    assert controls.holder is None


def test_a_motion_is_recorded_and_its_recording_is_chosen_to_be_fitted(panel, tmp_path):
    panel, robot = panel

    async def play():
        await armed(panel)
        activity = panel.begin_motion(MINE)
        await until(robot.moves.is_set)
        assert activity.active and panel.state.moving
        (tmp_path / 'recordings/r1').mkdir()
        robot.ends.set()
        await until(lambda: not activity.active)
        return activity

    outcome = run(play()).outcome
    assert outcome.good
    assert robot.asked == [
        ('arm', True), ('record',), ('play', 'first', 0.2), ('recorded',)]
    assert panel.choices.fitted == ('r1',)
    assert panel.choices.shadow == 12.0


def test_a_motion_that_is_not_armed_is_refused_with_what_to_press(panel):
    panel, robot = panel

    async def play():
        panel.take_controls(MINE)
        with pytest.raises(ConfigurationError, match='Press Arm'):
            panel.begin_motion(MINE)

    run(play())
    assert robot.asked == []


def test_a_stop_ends_the_motion_and_its_recording_is_kept(panel):
    panel, robot = panel

    async def play():
        await armed(panel)
        activity = panel.begin_motion(MINE)
        await until(robot.moves.is_set)
        panel.stop()
        await until(lambda: not activity.active)
        return activity

    outcome = run(play()).outcome
    assert not outcome.good and outcome.name == 'r1'
    assert robot.asked[-2:] == [('stop',), ('recorded',)]


def test_losing_a_page_stops_nothing_unless_it_held_the_motion(panel):
    panel, robot = panel

    async def play():
        await armed(panel)
        activity = panel.begin_motion(MINE)
        await until(robot.moves.is_set)
        for _ in range(60):
            panel.watch_hold()
            await asyncio.sleep(0.01)
        assert activity.active and ('stop',) not in robot.asked
        robot.ends.set()
        await until(lambda: not activity.active)

    run(play())


def test_a_motion_that_is_held_goes_on_while_the_page_says_so_and_stops_when_it_is_silent(panel):
    panel, robot = panel

    async def play():
        await armed(panel)
        activity = panel.begin_motion(MINE, held=True)
        await until(robot.moves.is_set)
        # Longer than the patience.
        for _ in range(60):
            assert panel.hold.beat(MINE)
            panel.watch_hold()
            await asyncio.sleep(0.01)
        assert activity.active
        while activity.active:
            panel.watch_hold()
            await asyncio.sleep(0.01)

    run(play())
    assert robot.asked.count(('stop',)) == 1
    assert 'fell silent' in panel.stopped[1]
    assert not panel.hold.held


@pytest.mark.parametrize('how', ['released', 'taken over', 'given back'])
def test_a_motion_that_is_held_stops_when_the_button_or_the_controls_are_let_go(panel, how):
    panel, robot = panel

    async def play():
        await armed(panel)
        activity = panel.begin_motion(MINE, held=True)
        await until(robot.moves.is_set)
        # Who does not hold it cannot let it go, nor say that it is held.
        panel.release(THEIRS)
        assert not panel.hold.beat(THEIRS) and activity.active
        if how == 'released':
            panel.release(MINE)
        elif how == 'taken over':
            panel.take_controls(THEIRS, over=True)
        else:
            panel.give_controls_back(MINE)
        await until(lambda: not activity.active)

    run(play())
    assert robot.asked.count(('stop',)) == 1


def test_a_sign_that_comes_too_late_does_not_save_a_hold():
    moment = [0.0]
    hold = HoldToRun(0.4, clock=lambda: moment[0])
    assert not hold.lost and not hold.beat(MINE)
    hold.begin(MINE)
    moment[0] = 0.3
    assert hold.beat(MINE) and not hold.lost
    moment[0] = 0.8
    hold.beat(MINE)
    assert hold.lost
    hold.end()
    assert not hold.lost and not hold.held


def test_the_same_is_not_begun_twice(panel):
    panel, robot = panel

    async def play():
        await armed(panel)
        activity = panel.begin_motion(MINE)
        await until(robot.moves.is_set)
        robot.tell(MotionPhase.ARMED)
        with pytest.raises(ConfigurationError, match='another one is under way'):
            panel.begin_motion(MINE, held=True)
        # What was refused holds nothing.
        assert not panel.hold.held
        robot.ends.set()
        await until(lambda: not activity.active)

    run(play())


def test_fit_commit_and_return_are_asked_for_by_ids(panel, tmp_path):
    panel, robot = panel
    (tmp_path / 'recordings/r1').mkdir()
    (tmp_path / 'estimates/e1').mkdir()
    (tmp_path / 'estimates/e1/estimate.json').write_text('{}')

    async def go():
        panel.take_controls(MINE)
        for begin in (
            lambda: panel.begin_fit(MINE), lambda: panel.begin_commit(MINE, 'why'),
            lambda: panel.begin_rollback(MINE, 'r000001'),
        ):
            activity = begin()
            await until(lambda: not activity.active)  # noqa: B023
            assert activity.outcome.good

    run(go())
    assert robot.asked == [
        ('identify', ('r1',), ''), ('commit', 'e1', 0.0, 'why'), ('roll back', 'r000001')]


def test_what_a_node_refuses_is_shown_with_what_mends_it(panel, tmp_path):
    panel, robot = panel
    (tmp_path / 'recordings/r1').mkdir()
    robot.refuses = {'identify': 'the recording cannot be used'}

    async def go():
        panel.take_controls(MINE)
        activity = panel.begin_fit(MINE)
        await until(lambda: not activity.active)
        return activity

    error = run(go()).error
    assert (error['problem'], error['fix']) == ('the recording cannot be used', 'Mend it')


def test_choices_are_noted_and_damaged_ones_forgotten(panel, tmp_path):
    panel, _ = panel
    panel.choose(motion='first', speed=0.5, hold=True)
    again, _ = paper_panel(tmp_path)
    assert (again.choices.motion, again.choices.speed, again.choices.hold) == ('first', 0.5, True)
    again.close()
    (tmp_path / '.studio/panel.json').write_text('{"speed": 7}')
    third, _ = paper_panel(tmp_path)
    assert third.choices.speed == 0.2
    third.close()
    with pytest.raises(ConfigurationError, match='Choose one of the list'):
        panel.choose(speed=3.0)


def test_names_that_are_no_ids_are_counted_and_listed_nowhere(panel, tmp_path):
    panel, _ = panel
    (tmp_path / 'motions/<img src=x>.yaml').write_text('')
    (tmp_path / 'recordings/a b').mkdir()
    listing = panel.data.listing()
    assert (listing.motions, listing.recordings, listing.strange) == (('first',), (), 2)


def test_a_node_that_falls_silent_is_absent_and_a_robot_that_moved_may_still_move():
    moment = [10.0]
    state = LiveState(clock=lambda: moment[0])
    assert not state.moving
    state.hear('monitor_node', NodeSign(NodeState.ERROR, 'A person came near.', 10.0))
    state.motion = MotionStatus(MotionPhase.PLAYING, 'first', 0.3, '', 10.0)
    assert (state.stopped, state.moving, state.phase) == (
        'A person came near.', True, MotionPhase.PLAYING)
    moment[0] = 12.0
    assert state.node('monitor_node').state is NodeState.ABSENT
    assert state.stopped == '' and state.phase is None and state.moving
