"""The application of the pages of a robot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import RedirectResponse
from nicegui import ui

from sysid_ros.studio.live.panel import Panel
from sysid_ros.studio.page.live.commit_page import commit_page
from sysid_ros.studio.page.live.fit_page import fit_page
from sysid_ros.studio.page.live.frame import PAGES, SCRIPT
from sysid_ros.studio.page.live.motion_page import motion_page
from sysid_ros.studio.page.live.requests import add_requests
from sysid_ros.studio.page.live.robot_page import robot_page

# How long a browser may be away before its page is forgotten in [s].
_AWAY = 30.0
_ICON = '⚖'


def live_application(panel: Panel) -> FastAPI:
    """The application, of which a process has one.

    Args:
        panel: What is shown and asked for.
    """
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)
    add_requests(app, panel, SCRIPT)
    first, _ = PAGES[0]
    app.add_api_route('/', lambda: RedirectResponse(f'/{first}'))
    pages: dict[str, Callable[[Panel], None]] = {
        'robot': robot_page, 'motion': motion_page, 'fit': fit_page, 'commit': commit_page}
    for address, page in pages.items():
        ui.page(f'/{address}')(_drawn(page, panel))
    ui.run_with(
        app, title=panel.robot, favicon=_ICON, language='en-US', tailwind=False,
        binding_refresh_interval=None, reconnect_timeout=_AWAY, show_welcome_message=False)
    return app


def _drawn(page: Callable[[Panel], None], panel: Panel) -> Callable[[], None]:
    """A page as the library takes it: a function of its own without arguments."""
    def draw() -> None:
        page(panel)

    return draw
