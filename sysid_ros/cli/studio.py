"""Open a folder of recordings and runs in a browser: check, fit, read, compare, export.

The page needs no network: it is reached from this computer alone, by the address that is printed,
which ends with a token. All that it knows is in the folder, so that it can be ended and started
again. A token of your own, for a server that starts by itself, is taken from the environment
variable SYSID_STUDIO_TOKEN.
"""

from __future__ import annotations

import argparse
import sys
import webbrowser
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.studio.server import (
    bound_socket,
    host_names,
    is_local,
    page_token,
    reached_at,
    require_libraries,
)

_PORT = 8421
_VARIABLE = 'SYSID_STUDIO_TOKEN'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid studio``."""
    parser.add_argument(
        'folder', type=Path, nargs='?', default=Path(), metavar='FOLDER',
        help='folder of recordings, robot descriptions and runs; by default this one')
    parser.add_argument(
        '--port', type=int, default=_PORT, metavar='NUMBER',
        help=f'port to listen at, {_PORT} by default; 0: any that is free')
    parser.add_argument(
        '--host', default='127.0.0.1', metavar='ADDRESS',
        help='address to listen at; by default this computer alone reaches the page')
    parser.add_argument(
        '--no-browser', action='store_true', help='print the address, and open no browser')


def run(options: argparse.Namespace) -> ExitCode:
    """Listen, and answer until Ctrl-C."""
    require_libraries('all other verbs do without')
    token = page_token(_VARIABLE)
    listening = bound_socket(options.host, options.port, '--port ')
    # These load NiceGUI.
    from sysid_ros.studio.folder import StudioFolder
    from sysid_ros.studio.folder_lock import FolderLock
    from sysid_ros.studio.guard import TokenGuard
    from sysid_ros.studio.page.application import application, serve
    from sysid_ros.studio.studio import Studio

    folder = StudioFolder.open(options.folder)
    lock = FolderLock(folder)
    try:
        host, port = reached_at(listening)
        lock.tell({'host': host, 'port': port})
        app = application(Studio(folder))
        names = host_names(options.host, port)
        _tell(folder.root, f'http://{host}:{port}/?token={token}', is_local(options.host),
              options.no_browser)
        serve(TokenGuard(app, token, f'sysid_studio_{port}', names), listening)
    except KeyboardInterrupt:
        pass
    finally:
        lock.release()
        listening.close()
    return ExitCode.OK


def _tell(folder: Path, address: str, local: bool, silent: bool) -> None:
    print(f'{folder}\nOpen {address}\nCtrl-C ends it, and a fit that is under way with it.',
          flush=True)
    if not local:
        print('Others on the network reach it, too, and what they send is not encrypted: put it '
              'behind a proxy with TLS, or leave out --host and use ssh -L.', file=sys.stderr)
    if not silent:
        webbrowser.open(address)
