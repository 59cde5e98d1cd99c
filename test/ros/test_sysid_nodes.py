"""Several nodes in one process: whose arguments are whose, who has a thread, and how all end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import ClassVar

import pytest

from sysid_ros.demo.node_processes import node_environment
from sysid_ros.errors import ConfigurationError
from sysid_ros.nodes import fit_standby
from sysid_ros.nodes.sysid_nodes import KINDS, arguments_of_nodes, node_makers
from sysid_ros.runs.job import WarmUpJob

# A node that ticks, beside one whose callbacks take long, run as the command line says.
PROGRAM = """
import sys, threading, time
from typing import ClassVar
from sysid_ros.errors import SysidError
from sysid_ros.nodes.node import SysidNode
from sysid_ros.nodes.process import run
from sysid_ros.nodes.settings import NodeSettings

ticks, threads, rests = [], {}, []

class Mover(SysidNode):
    settings_class: ClassVar = NodeSettings
    moves_robot = True

    def configure(self):
        self.every(0.01, lambda: ticks.append(time.monotonic()))
        threads['mover'] = threading.current_thread()

    def deactivate(self):
        rests.append(threading.current_thread() is threads['mover'])

class Sleeper(SysidNode):
    settings_class: ClassVar = NodeSettings

    def configure(self):
        if 'fails' in sys.argv:
            raise SysidError('it cannot be configured')
        threads['sleeper'] = threading.current_thread()
        if 'sleeps' in sys.argv:
            self.every(0.1, lambda: time.sleep(1.0))

class Other(Sleeper):
    def configure(self):
        threads['other'] = threading.current_thread()
        print('begun', flush=True)

code = run(lambda: Sleeper('sleeper'), lambda: Other('other'), lambda: Mover('mover'),
           arguments=['program'])
if 'fails' not in sys.argv:
    assert threads['sleeper'] is threads['other'] is not threads['mover']
    assert threading.main_thread() not in threads.values()
print(max((b - a for a, b in zip(ticks, ticks[1:])), default=0.0), len(ticks), rests)
sys.exit(code)
"""
WORDS = [
    'model_server', '--params-file', 'excitation_node', '-p', 'robot:=a.yaml',
    '--disable-stdout-logs', 'identification_node', '-r', '__node:=other', 'excitation_node',
    '--ros-args', '-r', '__ns:=/arm']


def test_arguments_belong_to_the_node_before_them_and_those_of_ros_to_all():
    own, common = arguments_of_nodes(WORDS)
    assert own == {
        'model_server': [
            '--params-file', 'excitation_node', '-p', 'robot:=a.yaml', '--disable-stdout-logs'],
        'identification_node': ['-r', '__node:=other'], 'excitation_node': []}
    assert common == ['--ros-args', '-r', '__ns:=/arm']


@pytest.mark.parametrize(('words', 'sentence'), [
    ([], 'no node is named .found nothing'),
    (['--ros-args', '-p', 'plan:=a'], 'no node is named'),
    (['-p', 'plan:=a', 'model_server'], 'no node is named .found -p first'),
    (['model_server', 'model_server'], 'a node is named twice .found model_server'),
    (['modelserver'], "there is no such node.*Did you mean 'model_server'"),
    (['simulated_robot'], 'there is no such node.*sysid_nodes identification_node -p settings'),
    (['model_server', 'monitor_node'], 'the monitor shares no process.*ros2 run sysid_ros monitor'),
])
def test_a_command_line_that_cannot_be_meant_is_refused_with_what_to_write(words, sentence):
    with pytest.raises(ConfigurationError, match=sentence):
        arguments_of_nodes(words)


def test_every_node_that_may_share_a_process_can_be_made():
    makers = list(node_makers({name: ['-p', 'a:=b'] for name in KINDS}))
    assert [maker.func.__name__ for maker in makers] == list(KINDS.values())
    assert [maker.args for maker in makers] == [(['-p', 'a:=b'],)] * len(KINDS)
    assert [maker.func.moves_robot for maker in makers] == [
        name == 'excitation_node' for name in KINDS]


@pytest.fixture
def program(domain):
    """Starts the program; what it printed and its exit code after a signal, or by itself."""
    def run(*words, seconds=None):
        process = subprocess.Popen(
            [sys.executable, '-c', PROGRAM, *words], text=True, env=node_environment(domain),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            if seconds is not None:
                before = ''
                # What was removed of others, another test's lock it may be, is said first.
                while (line := process.stdout.readline()) != 'begun\n':
                    before += line
                    assert 'locks of Fast DDS' in line, before
                time.sleep(seconds)
                process.send_signal(signal.SIGINT)
            printed, _ = process.communicate(timeout=120.0)
        finally:
            process.kill()
            process.wait()
        return printed, process.returncode

    return run


def test_a_node_that_moves_a_robot_is_not_held_up_by_callbacks_of_others(program):
    printed, code = program('sleeps', seconds=4.0)
    assert code == 0, printed
    longest, count, rests = printed.splitlines()[-1].split(maxsplit=2)
    # The others sleep for a second at a time; a busy machine has gaps, too.
    assert float(longest) < 0.8
    assert int(count) > 50
    assert rests == '[True]'


def test_where_one_cannot_be_configured_all_end_and_it_is_said_why(program):
    printed, code = program('fails')
    assert code == 1
    assert 'it cannot be configured' in printed
    # Every thread has ended.
    assert printed.splitlines()[-1].endswith(']')


class PaperProcess:
    """Stands for a process of fits.

    Attributes:
        made: All that were made.
    """

    made: ClassVar = []
    ended = ready = False
    stage = 'Starting'

    def __init__(self, warm_up=None, *, early=False):
        self.warm_up, self.early, self.killed = warm_up, early, False
        self.made.append(self)

    def prepare(self, warm_up):
        if self.ended:
            raise BrokenPipeError
        self.warm_up = warm_up

    def poll(self):
        return False

    def kill(self):
        self.killed = True


@pytest.mark.parametrize('ended', [False, True])
def test_a_process_that_was_begun_early_is_for_the_first_fit_unless_it_ended(monkeypatch, ended):
    monkeypatch.setattr(fit_standby, 'FitProcess', PaperProcess)
    monkeypatch.setattr(PaperProcess, 'made', [])
    monkeypatch.setattr(PaperProcess, 'ended', ended)
    fit_standby.begin_early()
    for _ in range(2):
        fit_standby.FitStandby(WarmUpJob(estimator='entropic', closed=False)).start()
    first, *others = PaperProcess.made
    assert first.early and first.killed == ended
    assert len(others) == 1 + ended
    assert not any(other.early for other in others)
    for process in others if ended else [first, *others]:
        assert process.warm_up.awaited and process.warm_up.estimator == 'entropic'


def test_a_process_that_was_begun_early_ends_where_none_is_kept_ready(monkeypatch):
    monkeypatch.setattr(fit_standby, 'FitProcess', PaperProcess)
    monkeypatch.setattr(PaperProcess, 'made', [])
    fit_standby.begin_early()
    standby = fit_standby.FitStandby(None)
    standby.start()
    standby.keep()
    (early,) = PaperProcess.made
    assert early.killed
    standby.require_ready()
