"""Real node processes in a DDS domain of their own, and a client that talks to them."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import rclpy
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import GetParameters
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile

from sysid_ros.demo.node_processes import claim_domain, node_environment
from sysid_ros.errors import ConfigurationError
from sysid_ros.nodes.priority import take_priority
from sysid_ros.runs.abandoned_locks import remove_abandoned_locks

# Fits and judgements are processes of low priority: on a machine that is busy with other things
# one of 3 s took more than a minute. To wait longer costs time only where a test fails.
PATIENCE = 180.0
# Time in [s] after which a query whose answer may be lost is sent again.
AGAIN = 1.0
# Of this process where it goes first; nodes that move a robot are before it.
PRIORITY = 10
# A node ends with the test run (1 is PR_SET_PDEATHSIG), or when it has lived for 900 s.
NODE = """
import ctypes, runpy, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
signal.alarm(900)
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)
"""


class Ros:
    """Node processes and a client in one domain.

    Attributes:
        client: Node of the client; whoever waits spins it.
        folder: Scratch folder, for parameter files and the nodes' output.
    """

    def __init__(self, domain, folder):
        self.domain, self.folder = domain, folder
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.client = Node('test_client', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.client)
        self.processes = {}
        self._clients = {}
        self._diagnostics = self.hear(DiagnosticArray, '/diagnostics', 100)

    def start(self, module, parameters=None, *, name=None, remap=()):
        """Start ``python -m sysid_ros.nodes.<module>``; returns its process.

        Args:
            module: Module below ``sysid_ros.nodes``.
            parameters: Its ROS parameters.
            name: Name of the node; by default that of the module.
            remap: Remappings, ``'from:=to'``.
        """
        name = name or module.rpartition('.')[2]
        arguments = ['-r', f'__node:={name}']
        for rule in remap:
            arguments += ['-r', rule]
        return self._begin(name, module, ['--ros-args', *arguments, *self._given(name, parameters)])

    def start_together(self, parameters):
        """Start nodes in one process, ``sysid_nodes``; returns it.

        Args:
            parameters: ROS parameters of each node by its name.
        """
        words = []
        for name, given in parameters.items():
            words += [name, *self._given(name, given)]
        return self._begin('sysid_nodes', 'sysid_nodes', words, parameters)

    def _given(self, name, parameters):
        """Arguments that give a node its parameters."""
        if not parameters:
            return []
        file = self.folder / f'{name}.yaml'
        file.write_text(yaml.safe_dump({f'/**/{name}': {'ros__parameters': parameters}}))
        return ['--params-file', str(file)]

    def _begin(self, key, module, arguments, nodes=()):
        with (self.folder / f'{key}.log').open('ab') as output:
            process = subprocess.Popen(
                [sys.executable, '-c', NODE, f'sysid_ros.nodes.{module}', *arguments],
                stdout=output, stderr=subprocess.STDOUT, env=node_environment(self.domain),
                cwd=self.folder,
                start_new_session=True,
            )
        self.processes[key] = process
        # They found the process before it, or nobody.
        for known in [known for known in self._clients if _node(known) in (key, *nodes)]:
            self._destroy(self._clients.pop(known))
        return process

    def go_first(self):
        """Give this process a real-time priority until the session ends, where that is allowed.

        One of its threads stands for a robot, or for whoever tells a robot where to go: what is
        late on a busy machine is late in the eyes of the nodes. Processes that begin later are
        ordinary ones, and so are threads.
        """
        with contextlib.suppress(ConfigurationError):
            take_priority(PRIORITY)

    def output(self, name):
        """What a node has printed."""
        return (self.folder / f'{name}.log').read_text(errors='replace')

    def spin(self, seconds):
        """Let callbacks of the client run for so long."""
        self.wait(lambda: False, seconds, required=False)

    def wait(self, condition, seconds=PATIENCE, *, required=True):
        """Spin until a condition holds; whether it did.

        Args:
            condition: Called between callbacks.
            seconds: Longest time to wait.
            required: Whether the test fails when the time is up.
        """
        deadline = time.monotonic() + seconds
        while not (met := condition()):
            left = deadline - time.monotonic()
            if left <= 0.0:
                break
            self.executor.spin_once(timeout_sec=min(left, 0.02))
        if required and not met:
            pytest.fail(f'waited {seconds} s in vain in domain {self.domain}; {self._state()}')
        return bool(met)

    def _state(self):
        """What every node printed, and what it last said of itself."""
        last = {
            status.name.lstrip('/'): status for array in self._diagnostics
            for status in array.status}
        parts = [f'nodes that are heard: {", ".join(self.client.get_node_names())}']
        for name, process in self.processes.items():
            parts += [f'--- {name}, exit code {process.poll()}', self.output(name)]
        for name, status in last.items():
            parts += [f'--- {name} says: {status.message}']
            parts += [f'{item.key}: {item.value}' for item in status.values if item.value]
        return '\n'.join(parts)

    def call(self, kind, service, seconds=PATIENCE, **fields):
        """Call a service; returns its response."""
        future = self.service(kind, service, seconds).call_async(kind.Request(**fields))
        self.wait(future.done, seconds)
        return future.result()

    def service(self, kind, service, seconds=PATIENCE):
        """A client of a service whose server has found it."""
        return self._found((kind, service), self.client.create_client,
                           lambda client: client.service_is_ready(), seconds)

    def _found(self, key, make, ready, seconds):
        """A client, made once, that has found its server and was found by it.

        A server that has not found a client loses its answer, and the client cannot see that. But
        a node finds what another one made in the order in which it was made: the answer to a
        query of a later client tells that the earlier one was found, too.
        """
        if key not in self._clients:
            client = make(*key)
            self.wait(lambda: ready(client), seconds)
            later = self.client.create_client(GetParameters, f'{_node(key)}/get_parameters')
            self.wait(later.service_is_ready, seconds)
            answers = []

            def answered():
                if not answers or time.monotonic() > answers[-1][0] + AGAIN:
                    answers.append(
                        (time.monotonic(), later.call_async(GetParameters.Request())))
                return any(future.done() for _, future in answers)

            self.wait(answered, seconds)
            self.client.destroy_client(later)
            self._clients[key] = client
        return self._clients[key]

    def _destroy(self, client):
        if isinstance(client, ActionClient):
            client.destroy()
        else:
            self.client.destroy_client(client)

    def send_goal(self, kind, action, feedback=None, seconds=PATIENCE, **fields):
        """Send a goal; returns its handle once it is accepted or rejected."""
        client = self._found(
            (kind, action), functools.partial(ActionClient, self.client),
            lambda client: client.server_is_ready(), seconds)
        future = client.send_goal_async(kind.Goal(**fields), feedback_callback=feedback)
        self.wait(future.done, seconds)
        return future.result()

    def result(self, handle, seconds=PATIENCE):
        """The result of a goal that was accepted."""
        future = handle.get_result_async()
        self.wait(future.done, seconds)
        return future.result().result

    def hear(self, kind, topic, qos=10):
        """A list that grows by every message of a topic from now on."""
        heard = []
        qos = qos if isinstance(qos, QoSProfile) else QoSProfile(depth=qos)
        self.client.create_subscription(kind, topic, heard.append, qos)
        return heard

    def stop(self, name, number=signal.SIGTERM, seconds=10.0):
        """Send a signal to a node and wait for its end; returns its exit code."""
        process = self.processes[name]
        process.send_signal(number)
        self.wait(lambda: process.poll() is not None, seconds)
        return process.returncode

    def close(self):
        """End what still runs."""
        for process in self.processes.values():
            if process.poll() is None:
                process.terminate()
        for process in self.processes.values():
            try:
                process.wait(8.0)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        # What is left of a client keeps its node in the domain, as one of the 32 participants that
        # the discovery of a computer asks for.
        for client in self._clients.values():
            self._destroy(client)
        self._clients.clear()
        self.executor.shutdown()
        self.client.destroy_node()
        rclpy.shutdown(context=self.context)
        for thread in Path('/proc/self/task').iterdir():
            with contextlib.suppress(ProcessLookupError):
                if os.sched_getscheduler(int(thread.name)) & os.SCHED_FIFO:
                    os.sched_setscheduler(int(thread.name), os.SCHED_OTHER, os.sched_param(0))


def _node(key):
    """Name of the node that has a service or an action, without its namespace's slash."""
    return key[1].rpartition('/')[0].lstrip('/')


@contextlib.contextmanager
def ros_session(folder):
    """Processes and a client in a domain of their own; all is ended with the block."""
    remove_abandoned_locks()
    # Tests that were collected stay. A search through them for garbage took seconds, in which the
    # part of this process that stands for a controller did not answer.
    gc.freeze()
    domain, lock = claim_domain()
    session = Ros(domain, folder)
    try:
        yield session
    finally:
        session.close()
        os.close(lock)
