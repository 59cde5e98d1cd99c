"""The start of ROS where a process was killed before."""

import ctypes
import os
from pathlib import Path

import pytest
import rclpy
from rclpy.signals import SignalHandlerOptions

from sysid_ros.nodes import context

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
