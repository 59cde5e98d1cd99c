"""A page in a browser that shows a robot and its nodes, and operates them.

It needs ``sysid-ros[studio]``. The page is reached from this computer alone unless the parameter
``host`` says otherwise, and by the token that is printed with its address.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from diagnostic_msgs.msg import DiagnosticStatus

from sysid_ros.data_folder import DataFolder
from sysid_ros.errors import ConfigurationError
from sysid_ros.nodes.node import SysidNode
from sysid_ros.nodes.panel_settings import PanelNodeSettings
from sysid_ros.nodes.process import run
from sysid_ros.studio.server import (
    bound_socket,
    host_names,
    is_local,
    page_token,
    reached_at,
    require_libraries,
)

if TYPE_CHECKING:
    from sysid_ros.nodes.page_server import PageServer
    from sysid_ros.nodes.panel_link import PanelLink
    from sysid_ros.studio.live.panel import Panel

#: Environment variable of the token.
TOKEN_VARIABLE = 'SYSID_PANEL_TOKEN'  # noqa: S105 (the name of a variable)
# Time in [s] between looks whether a motion is still held.
_LOOK = 0.02


class PanelNode(SysidNode[PanelNodeSettings]):
    """The node; see ``config/panel_node.yaml``."""

    settings_class: ClassVar[type[PanelNodeSettings]] = PanelNodeSettings

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self._panel: Panel | None = None
        self._server: PageServer | None = None
        self._link: PanelLink | None = None
        self._served, self._address = False, ''
        super().__init__('panel_node', arguments)

    def configure(self) -> None:
        """Hear the robot and its nodes, and answer browsers."""
        require_libraries('the other nodes do without')
        if self._served:
            raise ConfigurationError(
                'the page was served before by this process', found='a second configuration',
                allowed='one', fix='End the node, and start it again')
        # These load NiceGUI, and what decodes joint states.
        from sysid_ros.nodes.page_server import PageServer
        from sysid_ros.nodes.panel_feeds import PanelFeeds
        from sysid_ros.nodes.panel_link import PanelLink
        from sysid_ros.studio.guard import TokenGuard
        from sysid_ros.studio.live.data_listing import DataListing
        from sysid_ros.studio.live.hold import HoldToRun
        from sysid_ros.studio.live.panel import Panel
        from sysid_ros.studio.live.state import LiveState
        from sysid_ros.studio.page.live.application import live_application

        settings = self.settings
        token = page_token(TOKEN_VARIABLE, settings.token)
        data = DataListing(DataFolder(Path(settings.data_folder)))
        listening = bound_socket(settings.host, settings.port, '-p port:=')
        host, port = reached_at(listening)
        state = LiveState()
        self._link = PanelLink(self, state)
        PanelFeeds(self, state)
        self._panel = Panel(
            state, self._link, data, HoldToRun(settings.hold_timeout),
            self.get_namespace().strip('/') or 'robot')
        app = live_application(self._panel)
        self._served, self._address = True, f'http://{host}:{port}'
        self._server = PageServer(TokenGuard(
            app, token, f'sysid_panel_{port}', host_names(settings.host, port),
            'panel_node'), listening)
        self.every(_LOOK, self._panel.watch_hold)
        # With the token, and so not into a log.
        print(f'Open {self._address}/?token={token}', flush=True)
        if not is_local(settings.host):
            self.get_logger().warning(
                'Others on the network reach the page, too, and what they send is not encrypted: '
                'put it behind a proxy with TLS, or leave the parameter host out and use ssh -L.')

    def deactivate(self) -> None:
        """Stop a motion that a page holds."""
        if self._panel is not None and self._panel.hold.held:
            self._panel.stop()

    def cleanup(self) -> None:
        """Answer nobody any more."""
        for part in (self._server, self._panel, self._link):
            if part is not None:
                part.close()
        self._server = self._panel = self._link = None

    def working(self) -> bool:
        """Whether a page holds a motion."""
        return self._panel is not None and self._panel.hold.held

    def diagnose(self) -> tuple[bytes, str, dict[str, Any]]:
        """Where the page is."""
        if self._server is None:
            return DiagnosticStatus.OK, 'not configured', {}
        if not self._server.serves:
            return DiagnosticStatus.ERROR, 'The server of the page has ended.', {}
        return DiagnosticStatus.OK, f'the page is at {self._address}', {}


def main() -> int:
    """Run the node."""
    return run(PanelNode)


if __name__ == '__main__':
    sys.exit(main())
