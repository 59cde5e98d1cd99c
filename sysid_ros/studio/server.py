"""What a server of pages needs before it answers: libraries, a token, and a socket that listens."""

from __future__ import annotations

import os
import re
import secrets
import socket
from contextlib import ExitStack
from importlib.util import find_spec
from ipaddress import ip_address

from sysid_ros.errors import ConfigurationError

_LAST = 65535
_TOKEN = re.compile(r'[A-Za-z0-9_-]{16,128}', re.ASCII)
_LIBRARIES = ('nicegui', 'fastapi', 'uvicorn')


def require_libraries(others: str) -> None:
    """Refuse to go on without the libraries of the page.

    Args:
        others: What does without them, as a clause.

    Raises:
        ConfigurationError: One is missing.
    """
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            'the page needs libraries that are not installed', found=f'no {", ".join(missing)}',
            fix=f"pip install 'sysid-ros[studio]'; {others}")


def page_token(variable: str, given: str = '') -> str:
    """The token of a server: that of a setting, or of the environment, or a new one.

    Args:
        variable: The environment variable.
        given: The setting; empty where there is none.

    Raises:
        ConfigurationError: It is none.
    """
    token = given or os.environ.get(variable)
    if token is None:
        return secrets.token_urlsafe(24)
    if not _TOKEN.fullmatch(token):
        raise ConfigurationError(
            'is no token', where='token' if given else variable, found=f'{len(token)} characters',
            allowed="16 to 128 letters, digits, '-' and '_'",
            fix=f'export {variable}=$(openssl rand -hex 16)')
    return token


def bound_socket(host: str, port: int, option: str) -> socket.socket:
    """A socket that listens at an address.

    Args:
        host: The address.
        port: The port; 0 for any that is free.
        option: How the port is set, for errors: ``--port``, followed by its value.

    Raises:
        ConfigurationError: There is no such address here, or the port is taken.
    """
    if not 0 <= port <= _LAST:
        raise ConfigurationError(
            'there is no such port', where=option.strip(' :='), found=port,
            allowed=f'0 to {_LAST}', fix=f'Say {option}0 for any that is free')
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
            fix=f'Choose another port, {option}0 for any that is free; or leave the host out',
        ) from error
    return listening


def reached_at(listening: socket.socket) -> tuple[str, int]:
    """Host and port of a bound socket, as an address has them."""
    host, port, *_ = listening.getsockname()
    if ip_address(host).is_unspecified:
        host = socket.gethostname()
    return (f'[{host}]' if ':' in host else host), port


def is_local(host: str) -> bool:
    """Whether only this computer reaches an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == 'localhost'


def host_names(host: str, port: int) -> set[str] | None:
    """Values of the header Host that a server answers; None for any, where others reach it.

    Args:
        host: The address it listens at.
        port: Its port.
    """
    if not is_local(host):
        return None
    return {f'{name}:{port}' for name in ('127.0.0.1', 'localhost', '[::1]')}
