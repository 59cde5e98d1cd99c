"""The page of motions: choose one, arm, play it and record it."""

from __future__ import annotations

from typing import Any

from sysid_ros.studio.live.choices import SPEEDS
from sysid_ros.studio.live.panel import Panel
from sysid_ros.studio.live.state import LiveState
from sysid_ros.studio.live.views import MotionPhase
from sysid_ros.studio.page.errors import guarded
from sysid_ros.studio.page.inputs import selection, switch
from sysid_ros.studio.page.live.activity_view import activity_view
from sysid_ros.studio.page.live.frame import LiveFrame, live_framed
from sysid_ros.studio.page.live.lights import fault_table, quality_lights
from sysid_ros.studio.page.live.traces_view import traces_view
from sysid_ros.studio.page.parts import (
    block,
    button,
    duration,
    heading,
    light,
    mark_next,
    text,
)

_LEAD = ('A verified motion is played once each time that the excitation is armed, and recorded to '
         'be fitted. Closing the page stops nothing; STOP and the space bar do.')
_HOLD = 'Hold to run'


def motion_page(panel: Panel) -> None:
    """Draw the page.

    Args:
        panel: What is shown.
    """
    with live_framed(panel, 'motion', _LEAD) as frame:
        quality_lights(frame)
        frame.live(lambda: bool(panel.data.listing().motions), lambda: _nothing(panel))
        frame.live(lambda: panel.state.identified, lambda: _first_time(panel))
        _inputs(frame)
        motion_buttons(frame)
        activity_view(frame, 'motion')
        traces_view(frame)
        heading('Recording')
        frame.live(lambda: (panel.state.records, frame.operates), lambda: _recording(frame))
        _figures(frame)
        frame.live(lambda: (panel.state.recording.faults, panel.state.recording.torques),
                   lambda: fault_table(panel.state))


def _nothing(panel: Panel) -> None:
    if not panel.data.listing().motions:
        with block('div', 'card notice'):
            text('p', 'There is no motion in the data folder yet. Design one, and verify it:')
            text('pre', 'sysid excite excitation.yaml -o '
                 f'{panel.data.data.root / "motions" / "first.yaml"}')


def _first_time(panel: Panel) -> None:
    if not panel.state.identified:
        with block('div', 'card notice'):
            light('look', 'No estimate was committed yet')
            text('p', 'The description may be very wrong: play the motion slowly once, without '
                 'recording it, and see that the way is free.')


def _inputs(frame: LiveFrame) -> None:
    panel = frame.panel
    with block('div', 'card'), block('div', 'beside'):
        motion_selection(frame)
        selection(
            frame, 'Speed, of the designed one', lambda: {
                f'{speed:g}': f'{100.0 * speed:g} %'
                for speed in sorted({*SPEEDS, panel.choices.speed})},
            lambda: f'{panel.choices.speed:g}',
            lambda speed: panel.choose(speed=float(speed or SPEEDS[0])))
        switch(frame, 'Record it', lambda: panel.choices.record,
               lambda on: panel.choose(record=on))
        switch(frame, 'Hold to run: the motion stops when the button is let go, or the page is '
               'lost', lambda: panel.choices.hold, lambda on: panel.choose(hold=on))


def motion_selection(frame: LiveFrame) -> None:
    """What chooses the motion.

    Args:
        frame: The page.
    """
    panel = frame.panel
    selection(
        frame, 'Motion', lambda: {name: name for name in panel.data.listing().motions},
        lambda: panel.choices.motion, lambda name: panel.choose(motion=name))


def motion_buttons(frame: LiveFrame) -> None:
    """What arms the excitation, and plays the motion.

    The buttons stay while what they do changes: a click on one that is replaced under it is lost.

    Args:
        frame: The page.
    """
    panel = frame.panel
    with block('div', 'beside'):
        disarm = button('Disarm', guarded(lambda: panel.arm(frame.tab, allowed=False)))
        arm = button('Arm', guarded(lambda: panel.arm(frame.tab, allowed=True)), main=True,
                     hint='allow one motion within the next minute')
        play = button('Play', guarded(lambda: panel.begin_motion(frame.tab)),
                      hint='the robot moves')
        hold = _hold_button()
        said = text('span', '', 'soft')

    def update() -> None:
        armed, playing = panel.state.phase is MotionPhase.ARMED, _playing(panel)
        usable = frame.operates and panel.state.phase is not None and not playing
        for made in (arm, disarm):
            made.set_visibility((made is disarm) is (armed and not playing))
            made.set_enabled(usable and not panel.state.moving)
        mark_next(arm, not playing)
        for made in (play, hold):
            made.set_visibility((made is hold) is panel.choices.hold)
        play.set_enabled(usable and armed)
        mark_next(play, armed)
        _allow(hold, usable and armed)
        said.set_text(_next(frame))

    update()
    frame.follow(said, update)


def _playing(panel: Panel) -> bool:
    activity = panel.activity('motion')
    return activity is not None and activity.active


def _hold_button() -> Any:
    """A button whose press begins the motion, and whose release stops it; see ``live.js``."""
    made = text('button', _HOLD, 'hold')
    made.props.update({
        'type': 'button', 'data-hold': '', 'aria-label': 'Hold to run: the robot moves while this '
        'is pressed, by the pointer or the Enter key, and stops when it is let go'})
    return made


def _allow(hold: Any, allowed: bool) -> None:
    """Whether the hold button begins a motion; disabled, it would lose its release."""
    if allowed is ('aria-disabled' in hold.props):
        if allowed:
            del hold.props['aria-disabled']
        else:
            hold.props['aria-disabled'] = 'true'
        hold.update()


def _next(frame: LiveFrame) -> str:
    """What to do next, in words."""
    phase = frame.panel.state.phase
    if phase is None:
        return 'The excitation is not heard: nothing can be played.'
    if not frame.operates:
        return 'Take the controls first.'
    if phase is MotionPhase.ARMED:
        return 'Armed for a minute: the next motion may start.'
    return '' if phase.moving else 'Arm, then play.'


def _recording(frame: LiveFrame) -> None:
    panel = frame.panel
    with block('div', 'beside'):
        if panel.state.records:
            light('look', 'Recording')
            made = button('End the recording', guarded(lambda: panel.end_recording(frame.tab)))
        else:
            text('span', 'A motion is recorded by itself. What moves the robot otherwise, as a '
                 'hand or another program, is recorded by:', 'soft')
            made = button('Record', guarded(lambda: panel.begin_recording(frame.tab)))
        if not frame.operates:
            made.disable()


def _figures(frame: LiveFrame) -> None:
    """Counters of the recording under way, or of the last one."""
    shown = text('p', '')

    def update() -> None:
        shown.set_text(_counted(frame.panel.state))

    update()
    frame.follow(shown, update)


def _counted(state: LiveState) -> str:
    recording = state.recording
    if not recording.name:
        return 'Nothing was recorded yet.'
    return (f'{recording.name}: {recording.samples} joint states in '
            f'{duration(recording.duration)}, {recording.dropped} dropped.')
