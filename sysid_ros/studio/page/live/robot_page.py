"""The page of the robot: its nodes, its joints over the last seconds, and whether all is well."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from sysid_ros.studio.live.panel import Panel
from sysid_ros.studio.live.state import EXCITATION, IDENTIFICATION, MODEL_SERVER, MONITOR, LiveState
from sysid_ros.studio.live.views import NodeSign, NodeState
from sysid_ros.studio.page.live.frame import LiveFrame, live_framed
from sysid_ros.studio.page.live.lights import quality_lights
from sysid_ros.studio.page.live.traces_view import QUANTITIES, traces_view
from sysid_ros.studio.page.parts import NONE, Column, block, heading, light, number, table, text

_LEAD = ('What the robot does now, whether it is seen, and what each node says. Nothing here moves '
         'it.')
_LIGHTS = {
    NodeState.ABSENT: 'bad', NodeState.INACTIVE: 'look', NodeState.ACTIVE: 'good',
    NodeState.WORKING: 'good', NodeState.STOPPING: 'look', NodeState.ERROR: 'bad'}
_DOES = {
    MONITOR: 'watches, and stops the robot', EXCITATION: 'moves the robot',
    IDENTIFICATION: 'records and fits', MODEL_SERVER: 'keeps revisions'}
# Time between two values of a joint in [s]: nobody reads faster.
_READ = 0.5
# What a node that is not heard is started by.
_START = 'ros2 launch sysid_ros identify.launch.py plan:=… settings:=…'


def robot_page(panel: Panel) -> None:
    """Draw the page.

    Args:
        panel: What is shown.
    """
    with live_framed(panel, 'robot', _LEAD) as frame:
        quality_lights(frame)
        traces_view(frame)
        frame.live(lambda: panel.state.traces.joints, lambda: _joints(frame))
        heading('Nodes')
        frame.live(lambda: _nodes_key(panel.state), lambda: _nodes(panel.state))
        frame.live(lambda: panel.state.stop, lambda: _last_stop(panel.state))


def _joints(frame: LiveFrame) -> None:
    """Values of now, for those who do not see the traces."""
    traces = frame.panel.state.traces
    joints = traces.joints
    if not joints:
        with block('div', 'card notice'):
            text('span', 'No joint states are heard yet. Start the driver of the robot, or name '
                 'their topic: ')
            text('code', 'ros2 run sysid_ros panel_node --ros-args -p joint_states:=/joint_states')
        return
    cells: dict[tuple[int, int], Any] = {}

    def cell(row: int, column: int) -> None:
        cells[row, column] = text('span', NONE)

    place = block('div')
    with place:
        heading('Joints now')
        table('joints now', [Column('Joint'), *(
            Column(f'{name} [{unit}]', figure=True) for name, unit in QUANTITIES)], [
            [joint, *(partial(cell, row, column) for column in range(len(QUANTITIES)))]
            for row, joint in enumerate(joints)])

    shown_at = -_READ

    def update() -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at < _READ:
            return
        shown_at, values = time.monotonic(), traces.latest()
        for (row, column), shown in cells.items():
            shown.set_text(number(values[column, row], 4))

    update()
    frame.follow(place, update)


def _nodes_key(state: LiveState) -> object:
    return [(name, sign.state, sign.message) for name, sign in state.nodes.items()]


def _nodes(state: LiveState) -> None:
    nodes = state.nodes
    table('nodes of the robot', [
        Column('Node'), Column('State'), Column('What it is for'), Column('What it says')], [
        [name, partial(_light, sign), _DOES.get(name, ''), sign.message]
        for name, sign in sorted(nodes.items())])
    if any(sign.state is NodeState.ABSENT for sign in nodes.values()):
        text('p', 'A node that is not heard does nothing that the page shows. Start it:', 'soft')
        text('pre', _START)


def _light(sign: NodeSign) -> None:
    light(_LIGHTS[sign.state], sign.state.value)


def _last_stop(state: LiveState) -> None:
    """The last request to stop everything."""
    order = state.stop
    if order is not None:
        heading('The last request to stop everything')
        text('p', f'{time.strftime("%H:%M:%S", time.localtime(order.heard))}, from {order.source}: '
             + ' '.join(order.reasons))
