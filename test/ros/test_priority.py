"""Real-time priority of processes that move a robot."""

import os
import subprocess
import sys

import pytest

from sysid_ros.errors import ConfigurationError
from sysid_ros.nodes.priority import take_priority

# A process with a thread that was there before, and one that begins later.
PROGRAM = """
import os, threading, time
from sysid_ros.nodes.priority import take_priority
ready, end, policies = threading.Event(), threading.Event(), {}

def wait(name):
    ready.wait()
    policies[name] = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
    end.wait()

before = threading.Thread(target=wait, args=['before'])
before.start()
take_priority(5)
after = threading.Thread(target=wait, args=['after'])
after.start()
ready.set()
while len(policies) < 2:
    time.sleep(0.001)
end.set()
assert os.sched_getparam(0).sched_priority == 5
assert policies == {'before': os.SCHED_FIFO, 'after': os.SCHED_OTHER}, policies
"""


def allowed():
    """Whether this process may have a real-time priority."""
    return subprocess.run(
        [sys.executable, '-c', 'import os; os.sched_setscheduler(0, os.SCHED_FIFO, '
         'os.sched_param(5))'], stderr=subprocess.DEVNULL).returncode == 0


def test_the_threads_that_are_there_get_it_and_later_ones_do_not():
    if not allowed():
        pytest.skip('this user may not have real-time priorities')
    finished = subprocess.run(
        [sys.executable, '-c', PROGRAM], capture_output=True, text=True, timeout=60)
    assert finished.returncode == 0, finished.stderr


def test_without_permission_it_is_said_what_to_do(monkeypatch):
    def refuse(*_):
        raise PermissionError(1, 'Operation not permitted')

    monkeypatch.setattr(os, 'sched_setscheduler', refuse)
    with pytest.raises(ConfigurationError, match='held up by others') as caught:
        take_priority(5)
    assert 'rtprio' in str(caught.value)


def test_zero_leaves_the_process_as_it_is(monkeypatch):
    monkeypatch.delattr(os, 'sched_setscheduler')
    take_priority(0)
