"""Node processes for tests, and which tests start them."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from unittest.mock import Mock

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor

from support.control_msgs_build import provide_control_msgs
from support.demo_nodes import demo_nodes
from support.model_server_client import make_server
from support.ros_session import ros_session
from sysid_ros.demo.node_processes import claim_domain
from sysid_ros.nodes.node import SysidNode
from sysid_ros.nodes.settings import NodeSettings

HERE = Path(__file__).resolve().parent
# Enough to see that nodes run in whatever way the package was installed.
IN_EVERY_BUILD = {'test_node'}
# Robots that are simulated in real time, and what moves them: one loop takes a core.
LOOPS = {
    'test_closed_chain', 'test_closed_loop', 'test_computed_torque_controller', 'test_examples',
    'test_outputs_move_the_robot', 'test_panel', 'test_panel_node', 'test_simulated_robot',
}


class Sender(SysidNode):
    """A node that does nothing by itself."""

    settings_class = NodeSettings


def pytest_collection_modifyitems(items):
    """Mark the tests that start node processes, and those of them that need a core each."""
    for item in items:
        starts = {'ros', 'domain', 'session'} & set(getattr(item, 'fixturenames', ()))
        name = item.path.stem
        if starts and item.path.resolve().parent == HERE and name not in IN_EVERY_BUILD:
            item.add_marker('processes')
            if name in LOOPS:
                item.add_marker('loops')


@pytest.fixture(autouse=True)
def nothing_is_spared(monkeypatch):
    """Nodes that a test made in this process are gone after it, with their participants of DDS.

    A node spares what it has loaded from the collector of garbage, and itself with that. And the
    discovery of a computer asks 32 participants of a domain: those of a process are numbered on,
    in whatever domain they are, so that later ones would be heard by nobody. What was there before
    the test is spared in place of it: to search through that takes seconds.
    """
    gc.freeze()
    sparing = Mock()
    monkeypatch.setattr(gc, 'freeze', sparing)
    yield
    if sparing.called:
        gc.collect()
    gc.unfreeze()


@pytest.fixture
def ros(tmp_path):
    """Processes and a client; all is ended after the test."""
    with ros_session(tmp_path) as session:
        yield session


@pytest.fixture
def node(ros, monkeypatch):
    """A node of this package that sends; whoever waits for something spins it, too."""
    rclpy.init(args=[], domain_id=ros.domain)
    made = Sender('sender')
    executor = SingleThreadedExecutor()
    executor.add_node(made)
    spin = ros.executor.spin_once
    monkeypatch.setattr(ros.executor, 'spin_once', lambda timeout_sec: (
        spin(timeout_sec=0.005), executor.spin_once(timeout_sec=0.005)))
    yield made
    executor.shutdown()
    made.destroy_node()
    rclpy.shutdown()


@pytest.fixture
def domain():
    """A domain for processes that a test starts by itself."""
    number, lock = claim_domain()
    yield number
    os.close(lock)


@pytest.fixture
def control_msgs(request, tmp_path_factory):
    """Environment of processes that need the package of this name, built once where it is absent.

    It is kept for later runs where pytest keeps things.
    """
    cache = getattr(request.config, 'cache', None)
    folder = cache.mkdir('control_msgs') if cache else tmp_path_factory.getbasetemp() / 'control'
    return provide_control_msgs(folder)


@pytest.fixture
def server(ros, fits, tmp_path):
    """What starts a model server in ``server.data``, a robot that moves, and a client."""
    return make_server(ros, fits, tmp_path / 'data')


@pytest.fixture
def loop(ros, tmp_path):
    """Folder of a demonstration whose nodes run in the domain of the session, as for a robot."""
    pytest.importorskip('mujoco')
    with demo_nodes(tmp_path / 'demo', ros.domain) as folder:
        yield folder
