"""Open a folder of recordings and runs in a browser: check, fit, read, compare, export.

The page needs no network: it is reached from this computer alone, by the address that is printed,
which ends with a token. All that it knows is in the folder, so that it can be ended and started
again. A token of your own, for a server that starts by itself, is taken from the environment
variable SYSID_STUDIO_TOKEN.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import socket
import sys
import webbrowser
from contextlib import ExitStack
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.errors import ConfigurationError

_PORT, _LAST = 8421, 65535
_VARIABLE = 'SYSID_STUDIO_TOKEN'
_TOKEN = re.compile(r'[A-Za-z0-9_-]{16,128}', re.ASCII)
_LIBRARIES = ('nicegui', 'fastapi', 'uvicorn')


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
    _require_libraries()
    token = _token()
    listening = _bound(options.host, options.port)
    # These load NiceGUI.
    from sysid_ros.studio.folder import StudioFolder
    from sysid_ros.studio.folder_lock import FolderLock
    from sysid_ros.studio.guard import TokenGuard
    from sysid_ros.studio.page.application import application, serve
    from sysid_ros.studio.studio import Studio

    folder = StudioFolder.open(options.folder)
    lock = FolderLock(folder)
    try:
        host, port = _reached_at(listening)
        lock.tell({'host': host, 'port': port})
        app = application(Studio(folder))
        local = _is_local(options.host)
        names = {f'{name}:{port}' for name in ('127.0.0.1', 'localhost', '[::1]')}
        _tell(folder.root, f'http://{host}:{port}/?token={token}', local, options.no_browser)
        serve(TokenGuard(app, token, f'sysid_studio_{port}', names if local else None), listening)
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


def _require_libraries() -> None:
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            'the page needs libraries that are not installed', found=f'no {", ".join(missing)}',
            fix="pip install 'sysid-ros[studio]'; all other verbs do without")


def _token() -> str:
    given = os.environ.get(_VARIABLE)
    if given is None:
        return secrets.token_urlsafe(24)
    if not _TOKEN.fullmatch(given):
        raise ConfigurationError(
            'is no token', where=_VARIABLE, found=f'{len(given)} characters',
            allowed="16 to 128 letters, digits, '-' and '_'",
            fix=f'export {_VARIABLE}=$(openssl rand -hex 16)')
    return given


def _bound(host: str, port: int) -> socket.socket:
    """A socket that listens at an address.

    Raises:
        ConfigurationError: There is no such address here, or the port is taken.
    """
    if not 0 <= port <= _LAST:
        raise ConfigurationError(
            'there is no such port', where='--port', found=port, allowed=f'0 to {_LAST}',
            fix=f'--port {_PORT}, or --port 0 for any that is free')
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with ExitStack() as failing:
            listening = failing.enter_context(socket.socket(family, kind, protocol))
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            # From now on: a browser may be faster than what is still to be loaded.
            listening.listen()
            failing.pop_all()
    except OSError as error:
        raise ConfigurationError(
            f'cannot listen: {error.strerror or error}', where=f'{host}:{port}',
            fix='Choose another port, --port 0 for any that is free; or leave out --host',
        ) from error
    return listening


def _reached_at(listening: socket.socket) -> tuple[str, int]:
    """Host and port of a bound socket, as an address has them."""
    host, port, *_ = listening.getsockname()
    if ip_address(host).is_unspecified:
        host = socket.gethostname()
    return (f'[{host}]' if ':' in host else host), port


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == 'localhost'
