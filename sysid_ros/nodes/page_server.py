"""A server of pages beside a node: an asyncio loop in a thread of its own.

The node keeps the main thread, with its executor and signals. What a page asks for goes to the node
by calls that do not wait.
"""

from __future__ import annotations

import asyncio
import socket
import threading

import uvicorn

from sysid_ros.studio.guard import Application

# How long requests may take to end, and longest wait for the thread, in [s].
_ENDING, _LONGEST = 1, 4.0


class PageServer:
    """Answers browsers from when it is made until it is closed.

    Args:
        app: The application, guarded.
        listening: A socket that is bound.
    """

    def __init__(self, app: Application, listening: socket.socket) -> None:
        self._listening = listening
        self._server = uvicorn.Server(uvicorn.Config(
            app, log_level='warning', access_log=False, timeout_graceful_shutdown=_ENDING,
            server_header=False))
        self._thread = threading.Thread(target=self._serve, name='pages', daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._listening]))

    @property
    def serves(self) -> bool:
        """Whether it still answers."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Answer nobody any more."""
        self._server.should_exit = True
        self._thread.join(_LONGEST)
        self._listening.close()
