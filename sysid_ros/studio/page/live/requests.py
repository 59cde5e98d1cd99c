"""What the script of a page asks for besides the library's socket: stops, holds, and traces.

A stop goes by a request of its own, which waits for nothing that is being drawn.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, Response
from nicegui import Client

from sysid_ros.errors import SysidError
from sysid_ros.studio.live.panel import Panel
from sysid_ros.studio.page.files import missing_file, sandboxed_page

# Longest body of a request, and parts of one.
_MOST = 1000


def add_requests(app: FastAPI, panel: Panel, script: Path) -> None:
    """Let an application answer the script of its pages.

    Args:
        app: The application.
        panel: What is shown and asked for.
        script: The script.
    """
    @app.post('/live/stop')
    async def stop() -> dict[str, Any]:
        """Ask for a stop at once."""
        return {'said': panel.stop()}

    @app.post('/live/hold/{what}')
    async def hold(what: str, request: Request) -> dict[str, Any]:
        """Begin to hold a motion, say that it is held, or let it go."""
        return _hold(panel, what, _tab((await request.body())[:_MOST].decode(errors='replace')))

    @app.get('/live/state')
    async def state(after: int = -1) -> dict[str, Any]:
        """What the script has to know, and points of the traces that it has not."""
        return _state(panel, after)

    @app.get('/live/live.js')
    async def live() -> Response:
        """The script."""
        return FileResponse(script, media_type='text/javascript; charset=utf-8')

    @app.get('/live/reports/{estimate}')
    async def report(estimate: str) -> Response:
        """The page of an estimate."""
        if estimate not in panel.data.listing().estimates:
            return missing_file()
        return sandboxed_page(panel.data.report(estimate))


def _tab(page: str) -> str:
    """Id of the tab that shows a page; empty where it is none."""
    client = Client.instances.get(page)
    return '' if client is None else client.tab_id or ''


def _hold(panel: Panel, what: str, tab: str) -> dict[str, Any]:
    if what == 'beat':
        return {'held': panel.hold.beat(tab)}
    if what == 'end':
        panel.release(tab)
        return {'held': False}
    try:
        panel.begin_motion(tab, held=True)
    except SysidError as error:
        return {'held': False, 'error': str(error)}
    return {'held': True}


def _state(panel: Panel, after: int) -> dict[str, Any]:
    state = panel.state
    return {
        'moving': state.moving, 'armed': state.armed, 'held': panel.hold.held,
        **({'traces': state.traces.since(after, time.time_ns())} if after >= 0 else {})}
