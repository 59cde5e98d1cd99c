"""The start of ROS where a process was killed before, and its end where it would have none."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
import rclpy
from rclpy.signals import SignalHandlerOptions

from sysid_ros.demo.node_processes import node_environment
from sysid_ros.nodes import context
from sysid_ros.runs.middleware import loopback_variables

LIBRARY = ctypes.CDLL(None, use_errno=True)
LIBRARY.sem_open.restype = ctypes.c_void_p


def test_abandoned_locks_are_removed_before_ros_starts_and_said(monkeypatch, capfd):
    done = []
    monkeypatch.setattr(
        context, 'remove_abandoned_locks', lambda: done.append('removed') or ['a_mutex'])
    monkeypatch.setattr(rclpy, 'init', lambda **given: done.append(given))
    context.start_ros(['--ros-args'])
    assert done == ['removed', {
        'args': ['--ros-args'], 'signal_handler_options': SignalHandlerOptions.NO}]
    assert 'a killed process had left were removed' in (said := ''.join(capfd.readouterr()))
    assert 'a_mutex' in said


def test_a_node_removes_an_abandoned_lock_when_it_starts(ros, project):
    """The lock is made when the session stands, which removes such locks itself."""
    if not Path('/dev/shm').is_dir():
        pytest.skip('named semaphores are kept elsewhere')
    # Of no ROS domain.
    name = f'fastdds_port{58_000 + os.getpid() % 900}_mutex'
    handle = ctypes.c_void_p(LIBRARY.sem_open(f'/{name}'.encode(), os.O_CREAT, 0o600, 0))
    try:
        assert Path(f'/dev/shm/sem.{name}').exists()
        ros.start('simulated_robot', {
            'description': str(project / 'sysid_ros' / 'demo' / 'demo_arm.urdf')})
        ros.wait(lambda: not Path(f'/dev/shm/sem.{name}').exists())
    finally:
        LIBRARY.sem_close(handle)
        LIBRARY.sem_unlink(f'/{name}'.encode())


SHARES = """
from pathlib import Path
from rclpy.node import Node
from sysid_ros.nodes.context import end_ros, start_ros
start_ros([])
node = Node('alone')
print('/dev/shm/fastdds' in Path('/proc/self/maps').read_text())
end_ros([node])
"""


@pytest.mark.parametrize(('given', 'shares'), [
    ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF'}, False),
    ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}, False),
    ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF', 'FASTDDS_BUILTIN_TRANSPORTS': 'DEFAULT'}, True)])
def test_no_lock_in_memory_is_shared_with_a_process_that_may_be_killed(
    domain, given, shares, tmp_path
):
    """Unless a user asks for it. A killed process that holds one hangs a monitor that shares it."""
    if len(loopback_variables()) == 1:
        pytest.skip('this is about Fast DDS without profiles of a user')
    environment = node_environment(domain)
    for name in loopback_variables():
        del environment[name]
    ended = subprocess.run(
        [sys.executable, '-c', SHARES], capture_output=True, text=True, timeout=60.0, check=True,
        cwd=tmp_path, env=environment | given)
    assert ended.stdout == f'{shares}\n', ended.stderr


# Python's lock is kept while the middleware waits: not even Ctrl-C is heard.
STUCK = """
import ctypes, sys
from sysid_ros.nodes import context
class Stuck:
    def destroy_node(self):
        ctypes.PyDLL(None).sleep(int(sys.argv[1]))
context._LETTING_GO = 1.0
context.end_ros([Stuck()])
print('ended')
"""


@pytest.mark.parametrize(('seconds', 'code', 'said'), [(60, 1, ''), (0, 0, 'ended\n')])
def test_a_process_ends_where_the_middleware_does_not_let_go_of_it(seconds, code, said):
    ended = subprocess.run(
        [sys.executable, '-c', STUCK, str(seconds)], capture_output=True, text=True, timeout=40.0,
        check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, said, '')
