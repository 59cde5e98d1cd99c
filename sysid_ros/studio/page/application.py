"""The application of the page, and the server that browsers talk to."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI
from fastapi.responses import RedirectResponse
from nicegui import ui

from sysid_ros.studio.guard import Application
from sysid_ros.studio.page.compare_page import compare_page
from sysid_ros.studio.page.description_page import description_page
from sysid_ros.studio.page.export_page import export_page
from sysid_ros.studio.page.files import add_files
from sysid_ros.studio.page.fit_page import fit_page
from sysid_ros.studio.page.frame import STEPS
from sysid_ros.studio.page.motion_page import motion_page
from sysid_ros.studio.page.recordings_page import recordings_page
from sysid_ros.studio.page.report_page import report_page
from sysid_ros.studio.studio import Studio

# How long a browser may be away before its page is forgotten, and requests may take to end, in [s].
_AWAY, _ENDING = 30.0, 3
_ICON = '⚖'


def application(studio: Studio) -> FastAPI:
    """The application, of which a process has one.

    Args:
        studio: What is shown.
    """
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await studio.close()

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)
    add_files(app, studio)
    first, _ = STEPS[0]
    app.add_api_route('/', lambda: RedirectResponse(f'/{first}'))
    pages: dict[str, Callable[[Studio], None]] = {
        'description': description_page, 'motion': motion_page, 'recordings': recordings_page,
        'fit': fit_page, 'report': report_page, 'compare': compare_page, 'export': export_page}
    for address, page in pages.items():
        ui.page(f'/{address}')(_drawn(page, studio))
    ui.run_with(
        app, title='sysid studio', favicon=_ICON, language='en-US', tailwind=False,
        binding_refresh_interval=None, reconnect_timeout=_AWAY, show_welcome_message=False)
    return app


def _drawn(page: Callable[[Studio], None], studio: Studio) -> Callable[[], None]:
    """A page as the library takes it: a function of its own without arguments."""
    def draw() -> None:
        page(studio)

    return draw


def serve(app: Application, listening: socket.socket) -> None:
    """Answer browsers until SIGINT or SIGTERM.

    Args:
        app: The application, guarded.
        listening: A socket that is bound.
    """
    config = uvicorn.Config(
        app, log_level='warning', access_log=False, timeout_graceful_shutdown=_ENDING,
        server_header=False)
    uvicorn.Server(config).run(sockets=[listening])
