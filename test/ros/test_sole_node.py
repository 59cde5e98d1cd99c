"""One node of a name: a second one is refused, and one that died is in nobody's way."""

from __future__ import annotations

import os
import signal
import time
from typing import ClassVar

import pytest

from sysid_ros.msg import Heartbeat
from sysid_ros.nodes.node import HEARTBEAT_TOPIC, SysidNode
from sysid_ros.nodes.settings import NodeSettings
from sysid_ros.nodes.sole_node import _address, _bound

NAME = '/sender'
TAKEN = 'there is a node of this name already'


class Other(SysidNode[NodeSettings]):
    settings_class: ClassVar = NodeSettings


@pytest.fixture
def beat(ros, node):
    """Sends heartbeats as a node of another computer, which has the same name, would."""
    publisher = ros.client.create_publisher(Heartbeat, HEARTBEAT_TOPIC, 100)

    def send(state, name=NAME):
        ros.wait(lambda: publisher.get_subscription_count() > 0)
        for _ in range(20):
            publisher.publish(Heartbeat(
                stamp=ros.client.get_clock().now().to_msg(), node=name, state=state))
            ros.spin(0.02)

    return send


def fault(node):
    """What the node complains of."""
    return node._fault


def test_a_second_process_of_a_name_ends_and_says_which_is_there(ros, server):
    server.start()
    first = ros.processes['model_server']
    server.start(wait=False)
    second = ros.processes['model_server']
    ros.wait(lambda: second.poll() is not None)
    assert second.returncode == 1
    said = ros.output('model_server')
    assert f'/model_server: {TAKEN} (found process {first.pid} on this computer' in said
    assert '-r __ns:=' in said
    assert first.poll() is None and server.get().success
    first.terminate()
    ros.wait(lambda: first.poll() is not None)


def test_a_process_that_was_killed_is_replaced_at_once(ros, server):
    server.start()
    revision = server.get().info.revision
    ros.stop('model_server', signal.SIGKILL)
    assert 'model_server' in ros.client.get_node_names()
    heard = server.start(wait=False)
    ros.wait(lambda: heard and heard[-1].revision == revision)
    assert ros.processes['model_server'].poll() is None
    assert TAKEN not in ros.output('model_server')


def test_a_node_that_is_cleaned_up_gives_its_name_back(ros, node):
    address = _address(ros.domain, NAME)
    node.trigger_configure()
    assert node.configured
    with pytest.raises(Exception, match=f'{TAKEN}.*process {os.getpid()}'):
        _bound(address, NAME)
    node.trigger_cleanup()
    with _bound(address, NAME):
        node.trigger_configure()
        assert not node.configured and TAKEN in fault(node)
    node.trigger_configure()
    assert node.configured


def test_a_node_that_is_destroyed_gives_its_name_back(ros, node):
    other = Other('other')
    other.trigger_configure()
    assert other.configured
    other.destroy_node()
    with _bound(_address(ros.domain, '/other'), '/other') as mine:
        assert mine is not None


def test_a_process_that_was_forked_does_not_keep_the_name(ros, node):
    node.trigger_configure()
    begun, say = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(say, b'.')
        time.sleep(60.0)
        os._exit(0)
    try:
        assert os.read(begun, 1) == b'.'
        node.trigger_cleanup()
        with _bound(_address(ros.domain, NAME), NAME) as mine:
            assert mine is not None
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(begun)
        os.close(say)


def test_long_names_have_an_address_each_and_domains_their_own():
    longest = '/' + 100 * 'a'
    addresses = {_address(1, longest + 'b'), _address(1, longest + 'c'), _address(2, longest + 'b'),
                 _address(1, '/arm'), _address(2, '/arm')}
    assert len(addresses) == 5
    assert all(len(address) <= 107 for address in addresses)


@pytest.mark.parametrize('state', [Heartbeat.ACTIVE, Heartbeat.WORKING])
def test_an_active_node_of_another_computer_keeps_one_of_its_name_inactive(node, beat, state):
    node.trigger_configure()
    beat(state)
    node.trigger_activate()
    assert not node.active
    assert TAKEN in fault(node) and 'heartbeats are heard' in fault(node)


@pytest.mark.parametrize(('state', 'name'), [
    (Heartbeat.INACTIVE, NAME), (Heartbeat.ACTIVE, '/arm/sender')])
def test_heartbeats_of_other_names_and_of_nodes_at_rest_are_in_nobodys_way(
    node, beat, state, name
):
    node.trigger_configure()
    beat(state, name)
    node.trigger_activate()
    assert node.active


def test_heartbeats_of_a_node_that_has_ended_are_in_nobodys_way(ros, node, beat):
    node.trigger_configure()
    beat(Heartbeat.ACTIVE)
    ros.spin(1.2)
    node.trigger_activate()
    assert node.active


def test_a_node_knows_its_own_heartbeats_again(ros, node):
    beats = ros.hear(Heartbeat, HEARTBEAT_TOPIC, 100)
    node.trigger_configure()
    node.trigger_activate()
    ros.wait(lambda: any(beat.state == Heartbeat.ACTIVE for beat in beats))
    ros.spin(0.3)
    node.trigger_deactivate()
    node.trigger_activate()
    assert node.active
