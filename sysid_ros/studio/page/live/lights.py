"""Lights of what is heard: whether the robot is seen, watched, and recorded without faults."""

from __future__ import annotations

import math
import time

from sysid_ros.studio.live.state import MONITOR, LiveState
from sysid_ros.studio.live.views import NodeState
from sysid_ros.studio.page.live.frame import LiveFrame
from sysid_ros.studio.page.parts import Column, block, light, number, table, text

# Rates are shown in steps of so many per cent, so that a light is not drawn anew all the time.
_STEP = 0.02
# Part of a joint's effort that the revision does not explain, above which it is worth a look.
_UNEXPLAINED = 0.2


def quality_lights(frame: LiveFrame) -> None:
    """Show the lights.

    Args:
        frame: The page.
    """
    state = frame.panel.state
    frame.live(lambda: _found(state), lambda: _draw(state))


def _found(state: LiveState) -> tuple[tuple[str, str, str], ...]:
    """Light, name and words of each."""
    return (_joint_states(state), _watched(state), _faults(state), _torques(state))


def _joint_states(state: LiveState) -> tuple[str, str, str]:
    rate = state.traces.rate(time.time_ns())
    if not state.seen or rate <= 0.0:
        return 'bad', 'Joint states', 'none are heard'
    step = 10 ** math.floor(math.log10(max(rate * _STEP, 1.0)))
    return 'good', 'Joint states', f'{round(rate / step) * step:g} per second'


def _watched(state: LiveState) -> tuple[str, str, str]:
    sign = state.node(MONITOR)
    if sign.state is NodeState.ERROR:
        return 'bad', 'Monitor', 'it has stopped the robot'
    return ('good', 'Monitor', 'watching') if sign.state.ready else (
        'bad', 'Monitor', f'{sign.state.value}: nothing moves without it')


def _faults(state: LiveState) -> tuple[str, str, str]:
    recording = state.recording
    if not math.isfinite(recording.heard):
        return 'look', 'Data', 'the identification is not heard'
    if recording.error:
        return 'bad', 'Data', recording.message
    faults = ', '.join(f'{name}: {count}' for name, count in recording.faults if count)
    dropped = f'{recording.dropped} dropped' if recording.dropped else ''
    said = ', '.join(filter(None, (dropped, faults)))
    if recording.name:
        return ('look', 'Data', said) if said else ('good', 'Data', 'no faults while recording')
    return 'good', 'Data', recording.message or 'ready'


def _torques(state: LiveState) -> tuple[str, str, str]:
    known = [(name, rms, rest) for name, rms, rest in state.recording.torques
             if math.isfinite(rms) and math.isfinite(rest) and rms > 0.0]
    if not known:
        return 'look', 'Torques', 'nothing moved, or efforts are missing'
    worst, rms, rest = max(known, key=lambda one: one[2] / one[1])
    part = round(100.0 * rest / rms)
    if rest <= _UNEXPLAINED * rms:
        return 'good', 'Torques', f'explained within {part} %'
    return 'look', 'Torques', f'{part} % of {worst} is not explained'


def _draw(state: LiveState) -> None:
    with block('ul', 'lights') as row:
        row.props['aria-label'] = 'lights'
        for value, name, words in _found(state):
            with block('li', 'card'):
                text('div', name, 'soft')
                light(value, words)


def fault_table(state: LiveState) -> None:
    """Show what was wrong with messages, and the torques by joint.

    Args:
        state: What the nodes say.
    """
    recording = state.recording
    if recording.faults:
        table('faults of the recording', [Column('Fault'), Column('Count', figure=True)], [
            [name, str(count)] for name, count in recording.faults])
    if recording.torques:
        table('torques of the last seconds', [
            Column('Joint'), Column('RMS effort', figure=True),
            Column('RMS not explained', figure=True)], [
            [name, number(rms, 3), number(rest, 3)] for name, rms, rest in recording.torques])
