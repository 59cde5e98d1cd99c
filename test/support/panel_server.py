"""The pages of a robot on paper, served by a process of its own; and the same for a browser."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

TOKEN = 'a-token-of-these-tests'
JOINTS = ('base_yaw', 'shoulder_pitch', 'elbow_pitch', 'wrist_roll')


class PaperServer:
    """A server of the pages of a robot on paper.

    Args:
        folder: Its data folder.
        port: Where it listens; 0 for any.

    Attributes:
        origin: Its address without the token.
    """

    def __init__(self, folder, port=0):
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), str(folder), str(port)],
            stdout=subprocess.PIPE, text=True,
            env=os.environ | {'PYTHONPATH': os.pathsep.join(sys.path)})
        line = self._process.stdout.readline()
        found = re.search(r'http://[^/]*', line)
        assert found, line
        self.origin, self._said = found[0], []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self):
        for line in self._process.stdout:
            self._said.append(line.strip())

    @property
    def port(self):
        """Where it listens."""
        return int(self.origin.rpartition(':')[2])

    def address(self, page=''):
        """A page with the token."""
        return f'{self.origin}/{page}?token={TOKEN}'

    @property
    def asked(self):
        """What the robot was asked for, as it printed it."""
        return list(self._said)

    def end(self, number=signal.SIGTERM):
        """End it."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        self._process.wait(timeout=30)
        self._listener.join(timeout=30)
        self._process.stdout.close()

    def pause(self, *, paused):
        """Let it answer nobody for a while, as a network that is cut."""
        self._process.send_signal(signal.SIGSTOP if paused else signal.SIGCONT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self.pause(paused=False)
        self.end()


def main(folder, port):
    """Serve until a signal comes."""
    import math

    import uvicorn

    from support.paper_robot import joint_states, paper_panel
    from sysid_ros.studio.guard import TokenGuard
    from sysid_ros.studio.live.views import RevisionEntry, Revisions
    from sysid_ros.studio.page.live.application import live_application
    from sysid_ros.studio.server import bound_socket, host_names, reached_at

    class PrintedList(list):
        """A list that is printed as it grows."""

        def append(self, one):
            print(*one, flush=True)
            super().append(one)

    panel, robot = paper_panel(Path(folder))
    robot.asked = PrintedList()
    panel.state.revisions = Revisions((
        RevisionEntry('r000001', 'as described', stamp=time.time(), current=True),))

    async def live():
        """Joint states come in, and nodes are alive."""
        while True:
            now = time.time_ns()
            stamps = [now - 1_000_000 * late for late in range(49, -1, -1)]
            panel.state.traces.receive(joint_states(
                stamps, JOINTS, math.sin(1e-9 * now)), stamps)
            robot.listen()
            panel.watch_hold()
            await asyncio.sleep(0.05)

    async def serve(listening):
        host, port = reached_at(listening)
        app = TokenGuard(
            live_application(panel), TOKEN, f'sysid_panel_{port}', host_names('127.0.0.1', port),
            'panel_node')
        beating = asyncio.get_running_loop().create_task(live())
        print(f'http://{host}:{port}/', flush=True)
        await uvicorn.Server(uvicorn.Config(
            app, log_level='warning', timeout_graceful_shutdown=1)).serve(sockets=[listening])
        beating.cancel()
        robot.ends.set()

    asyncio.run(serve(bound_socket('127.0.0.1', port, '--port ')))


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]))
