"""FAULTS 63: the example policy gives start, commit and rollback to the operator alone."""

from pathlib import Path

import pytest
from lxml import etree

from sysid_ros.cli.demo_folder import prepare
from sysid_ros.msg import Heartbeat
from sysid_ros.settings import load_yaml

POLICY = Path(__file__).resolve().parents[2] / 'config' / 'sros2' / 'policy.xml'
NODES = (
    'excitation_node', 'identification_node', 'model_server', 'monitor_node',
    'computed_torque_controller', 'simulated_robot',
)
# What changes the robot, the data, or who is believed.
RESERVED = (
    'excitation_node/arm', 'identification_node/start', 'identification_node/stop',
    'identification_node/identify_payload', 'model_server/commit', 'model_server/rollback',
    'monitor_node/reset',
)
RESERVED_ACTIONS = ('excitation_node/excite', 'identification_node/identify')


def allowed(kind, how):
    """Names that each enclave may use in some way, by its path."""
    tree = etree.parse(str(POLICY), etree.XMLParser(resolve_entities=False))
    return {
        enclave.get('path'): {
            item.text for group in enclave.iter(kind) if group.get(how) == 'ALLOW'
            for item in group}
        for enclave in tree.iter('enclave')
    }


def test_only_the_operator_may_start_commit_and_roll_back():
    requests, calls = allowed('services', 'request'), allowed('actions', 'call')
    for enclave in requests:
        operator = enclave == '/sysid/operator'
        for service in RESERVED:
            assert (service in requests[enclave]) == operator, (enclave, service)
        for action in RESERVED_ACTIONS:
            assert (action in calls[enclave]) == operator, (enclave, action)


def test_nobody_else_may_change_parameters_or_states_of_nodes():
    for enclave, services in allowed('services', 'request').items():
        if enclave != '/sysid/operator':
            assert services <= {'model_server/acknowledge'}, enclave


def test_no_name_is_a_pattern():
    for kind, how in (
        ('services', 'request'), ('services', 'reply'), ('actions', 'call'),
        ('actions', 'execute'), ('topics', 'publish'), ('topics', 'subscribe'),
    ):
        for names in allowed(kind, how).values():
            assert not any(set('*?[') & set(name) for name in names)


@pytest.mark.parametrize('name', NODES)
def test_every_service_action_and_topic_of_a_node_is_covered(ros, name, tmp_path, monkeypatch):
    pytest.importorskip('mujoco')
    folder = prepare(tmp_path / 'demo')
    monkeypatch.setattr(ros, 'folder', folder)
    ros.start(name, load_yaml(folder / 'nodes.yaml')[f'/**/{name}']['ros__parameters'])

    def services():
        try:
            return ros.client.get_service_names_and_types_by_node(name, '/')
        except Exception:  # noqa: BLE001 (rclpy's own, before the node is there)
            return []

    heartbeat = ros.hear(Heartbeat, 'sysid/heartbeat')
    ros.wait(lambda: any(beat.state != beat.INACTIVE for beat in heartbeat) and services())
    ros.spin(0.5)
    enclave = f'/sysid/{name}'
    own = {service.removeprefix('/') for service, _ in services()}
    actions = {service.partition('/_action/')[0] for service in own if '/_action/' in service}
    plain = {service for service in own if '/_action/' not in service}
    assert plain <= allowed('services', 'reply')[enclave]
    assert actions <= allowed('actions', 'execute')[enclave]
    for how, found in (
        ('publish', ros.client.get_publisher_names_and_types_by_node(name, '/')),
        ('subscribe', ros.client.get_subscriber_names_and_types_by_node(name, '/')),
    ):
        topics = {topic.removeprefix('/') for topic, _ in found if '/_action/' not in topic}
        known = {topic.removeprefix('/') for topic in allowed('topics', how)[enclave]}
        assert topics <= known, how


def test_where_security_is_enforced_a_node_without_its_enclave_does_not_start(
    ros, tmp_path, monkeypatch
):
    monkeypatch.setenv('ROS_SECURITY_ENABLE', 'true')
    monkeypatch.setenv('ROS_SECURITY_STRATEGY', 'Enforce')
    monkeypatch.setenv('ROS_SECURITY_KEYSTORE', str(tmp_path))
    process = ros.start('model_server')
    ros.wait(lambda: process.poll() is not None)
    assert process.returncode != 0
    assert 'security' in ros.output('model_server').lower()
    # It was never heard by those who have none.
    assert 'model_server' not in ros.client.get_node_names()
