"""FAULTS 63: the example policy gives start, commit and rollback to the operator alone.

Nodes are started, and what they have is compared with what the policy allows them, both ways: a
service, action or topic that is missing would keep them from working where security is enforced,
and one that no node has is a door that nobody watches.
"""

import configparser
import copy
import re
from pathlib import Path

import pytest
import yaml
from lxml import etree

from support import access_policies
from support.access_policies import LISTS, mistakes
from sysid_ros.demo.folder import prepare
from sysid_ros.runs.access_policy import NODES as ROBOTS_NODES
from sysid_ros.runs.access_policy import AccessPolicy, parameters_of
from sysid_ros.settings import load_yaml

ROOT = Path(__file__).resolve().parents[2]
POLICY = ROOT / 'config' / 'sros2' / 'policy.xml'
OPERATOR = '/sysid/operator'
# What it begins moves, records and fits for the operator, and makes its client when it does.
CAMPAIGN = '/sysid/campaign_node'
# What does for whoever has its token what the operator may, but change parameters and states.
PANEL = '/sysid/panel_node'
# Parameters of each node that let it have all that it can have, one set after the other, and a
# topic or service that only this set brings. Simulated time brings /clock.
CONFIGURATIONS = {
    'excitation_node': [
        ({'plan': 'undescribed_excitation.yaml'}, 'robot_description'),
        ({'output': 'reference'}, 'reference'),
        ({'output': 'position'}, 'position_commands'),
        ({'output': 'effort'}, 'effort_commands'),
        ({'output': 'trajectory'}, 'joint_trajectory'),
        ({'output': 'follow_joint_trajectory'}, 'follow_joint_trajectory/_action/send_goal'),
    ],
    'identification_node': [
        ({'settings': 'undescribed_identification.yaml'}, 'robot_description'),
        ({'online': True}, 'identification_node/parameter_change')],
    'model_server': [
        ({'robot': 'undescribed_identification.yaml'}, 'robot_description'),
        ({'publish_description': True}, 'robot_description')],
    'campaign_node': [({}, 'campaign_node/run/_action/send_goal')],
    'panel_node': [({'port': 0}, 'sysid/stop')],
    'monitor_node': [({'plan': 'undescribed_excitation.yaml'}, 'robot_description'), (
        {'cancel_actions': ['follow_joint_trajectory']},
        'follow_joint_trajectory/_action/cancel_goal')],
    'computed_torque_controller': [
        ({'plan': 'undescribed_excitation.yaml'}, 'robot_description'), ({}, 'effort_commands')],
    'simulated_robot': [({}, 'joint_states')],
}
NODES = tuple(CONFIGURATIONS)
# What changes the robot, the data, or who is believed.
RESERVED = (
    'excitation_node/arm', 'excitation_node/stop', 'identification_node/start',
    'identification_node/stop', 'identification_node/identify_payload', 'model_server/commit',
    'model_server/rollback', 'monitor_node/reset',
)
RESERVED_ACTIONS = (
    'excitation_node/excite', 'identification_node/identify',
    'identification_node/identify_payload', 'model_server/commit', 'campaign_node/run',
)
# What a campaign does of it, and asks for besides.
OF_CAMPAIGNS = {
    'excitation_node/arm', 'excitation_node/stop', 'identification_node/start',
    'identification_node/stop', 'excitation_node/excite', 'identification_node/identify',
}
ASKED_BY_CAMPAIGNS = {
    'excitation_node/get_parameters', 'identification_node/get_parameters',
    'monitor_node/get_state', 'excitation_node/get_state', 'identification_node/get_state',
    'model_server/get_state',
}
# What a panel does of it, and asks for besides.
OF_PANELS = {
    *OF_CAMPAIGNS, 'model_server/commit', 'model_server/rollback', 'monitor_node/reset'}
ASKED_BY_PANELS = {'model_server/get_revision', 'model_server/list_revisions'}
OF_OTHERS = {CAMPAIGN: OF_CAMPAIGNS, PANEL: OF_PANELS}
# By who runs a revision, for itself.
OF_CONSUMERS = {'model_server/acknowledge'}
# What the robot's driver and simulators have.
FOREIGN = {'clock', 'follow_joint_trajectory'}
# Longest wait for a name that is missing in the end, in [s].
DISCOVERY = 30.0


def policy():
    return etree.parse(str(POLICY), etree.XMLParser(resolve_entities=False)).getroot()


def allowed(kind, how):
    """Names that each enclave of the example may use in some way, by its path."""
    return access_policies.allowed(policy(), kind, how)


def of_all(kind, how, but=OPERATOR):
    """Names that any enclave but one may use in some way."""
    return set().union(*(
        names for enclave, names in allowed(kind, how).items() if enclave != but))


def test_the_policy_has_the_structure_that_sros2_asks_for():
    assert list(mistakes(policy())) == []


def _double(root):
    root[-1].append(copy.deepcopy(root[-1][1]))


def _misspell(root):
    next(root.iter('service')).text = 'excitation_node/*'


def _deny(root):
    next(root.iter('services')).set('reply', 'DENY')


def _mix(root):
    next(root.iter('services')).append(copy.deepcopy(next(root.iter('topic'))))


def _repeat(root):
    group = next(root.iter('services'))
    group.append(copy.deepcopy(group[0]))


def _both(root):
    next(root.iter('topics')).set('publish', 'ALLOW')


def _rename(root):
    next(root.iter('profile')).set('node', 'somebody')


def _age(root):
    root.set('version', '0.1.0')


@pytest.mark.parametrize(('damage', 'words'), [
    (_double, 'not unique'), (_misspell, 'is no name'), (_deny, 'what is not listed is denied'),
    (_mix, 'has other entries than service'), (_repeat, 'an entry twice'),
    (_both, 'says what no list may'), (_rename, 'of another node'), (_age, 'of version 0.2.0'),
])
def test_a_policy_of_another_structure_would_be_found(damage, words):
    root = policy()
    damage(root)
    assert any(words in mistake for mistake in mistakes(root))


def test_every_node_of_the_package_has_an_enclave():
    parsed = configparser.ConfigParser()
    parsed.read(ROOT / 'entry_points.txt')
    executables = {
        name for name, target in parsed['console_scripts'].items()
        if target.startswith('sysid_ros.nodes.') and name != 'sysid_nodes'}
    assert {enclave.rpartition('/')[2] for enclave in allowed('topics', 'publish')} == {
        name.removeprefix('demo_') for name in executables}
    assert set(NODES) == executables - {'demo_operator'}


def test_only_the_operator_may_start_commit_and_roll_back():
    requests, calls = allowed('services', 'request'), allowed('actions', 'call')
    for enclave in requests:
        own = OF_OTHERS.get(enclave, set())
        for service in RESERVED:
            may = enclave == OPERATOR or service in own
            assert (service in requests[enclave]) == may, (enclave, service)
        for action in RESERVED_ACTIONS:
            # Of a name that is a service's, too, the panel calls the service.
            may = enclave == OPERATOR or action in own - {'model_server/commit'}
            assert (action in calls[enclave]) == may, (enclave, action)


def test_only_the_operator_the_panel_and_the_monitor_may_stop_everything():
    senders = {path for path, names in allowed('topics', 'publish').items()
               if 'sysid/stop' in names}
    assert senders == {OPERATOR, PANEL, '/sysid/monitor_node'}


def test_nobody_but_the_operator_may_change_parameters_or_states_of_nodes():
    for enclave, services in allowed('services', 'request').items():
        if enclave == CAMPAIGN:
            assert services <= OF_CAMPAIGNS | ASKED_BY_CAMPAIGNS
        elif enclave == PANEL:
            assert services <= OF_PANELS | ASKED_BY_PANELS
        elif enclave != OPERATOR:
            assert services <= OF_CONSUMERS, enclave


def test_the_operator_may_ask_all_that_nodes_answer_and_nothing_else():
    offered = of_all('services', 'reply')
    assert allowed('services', 'request')[OPERATOR] == offered - OF_CONSUMERS
    assert offered >= OF_CONSUMERS
    assert allowed('actions', 'call')[OPERATOR] == of_all('actions', 'execute')
    assert allowed('actions', 'execute')[OPERATOR] == set()


def test_whoever_listens_or_asks_is_allowed_what_somebody_has():
    assert of_all('topics', 'subscribe', but='') <= of_all('topics', 'publish', but='') | FOREIGN
    own = allowed('actions', 'call')[CAMPAIGN] | allowed('actions', 'call')[PANEL]
    assert of_all('actions', 'call') - own <= FOREIGN
    assert own <= of_all('actions', 'execute')
    # What is said to the public is heard by tools, which have enclaves of their own.
    public = {'diagnostics', 'rosout', 'parameter_events', 'robot_description'}
    unheard = of_all('topics', 'publish', but='') - of_all('topics', 'subscribe', but='')
    assert {name for name in unheard if not name.endswith('/transition_event')} <= public


@pytest.fixture
def demo(ros, tmp_path, monkeypatch):
    """Folder of the demo, in which nodes are started."""
    pytest.importorskip('mujoco')
    monkeypatch.setattr(ros, 'folder', prepare(tmp_path / 'demo'))
    for file in ('excitation.yaml', 'identification.yaml'):
        settings = load_yaml(ros.folder / file)
        del settings['robot']['urdf']
        (ros.folder / f'undescribed_{file}').write_text(yaml.safe_dump(settings))
    return load_yaml(ros.folder / 'nodes.yaml')


def _actions(names):
    """Actions and plain names."""
    actions = {name.partition('/_action/')[0] for name in names if '/_action/' in name}
    return actions, {name for name in names if '/_action/' not in name}


def seen(ros, name, namespace='/'):
    """What a node has, in the terms of the policy, and all names as they are."""
    client = ros.client
    asked = {
        'reply': client.get_service_names_and_types_by_node,
        'request': client.get_client_names_and_types_by_node,
        'publish': client.get_publisher_names_and_types_by_node,
        'subscribe': client.get_subscriber_names_and_types_by_node,
    }
    raw = {}
    for how, ask in asked.items():
        try:
            raw[how] = {entry.removeprefix('/') for entry, _ in ask(name, namespace)}
        except Exception:  # noqa: BLE001 (rclpy's own, before the node is there)
            raw[how] = set()
    (execute, reply), (call, request) = _actions(raw['reply']), _actions(raw['request'])
    return {
        ('services', 'reply'): reply, ('services', 'request'): request,
        ('actions', 'execute'): execute, ('actions', 'call'): call,
        ('topics', 'publish'): _actions(raw['publish'])[1],
        ('topics', 'subscribe'): _actions(raw['subscribe'])[1],
    }, set().union(*raw.values())


def observed(ros, module, node, parameters, mark, permitted):
    """What a node has while it runs with some parameters, as if it had the name of its module.

    Args:
        module: Its module.
        node: Its name: one that ended is known for some time still.
        parameters: Its parameters.
        mark: A name that it has only with them.
        permitted: What it is waited for, in vain where it is not there.
    """
    ros.start(module, parameters, name=node)
    found = {}

    def complete():
        entries, found['names'] = seen(ros, node)
        found['entries'] = {
            key: {re.sub(f'^{node}/', f'{module}/', entry) for entry in names}
            for key, names in entries.items()}
        return mark in found['names'] and all(
            found['entries'][key] >= permitted[key] for key in LISTS)

    ros.wait(complete, DISCOVERY, required=False)
    # Nothing comes up late.
    ros.spin(2.0)
    complete()
    assert ros.stop(node) == 0
    assert mark in found['names']
    return found['entries']


@pytest.mark.parametrize('name', NODES)
def test_a_node_may_have_what_it_has_and_has_what_it_may_have(
    ros, demo, name, monkeypatch, request
):
    if name == 'excitation_node':
        for key, value in request.getfixturevalue('control_msgs').items():
            monkeypatch.setenv(key, value, prepend=':')
    section = demo.get(f'/**/{name}', {'ros__parameters': {}})
    own = section['ros__parameters'] | {'use_sim_time': True}
    permitted = {(kind, how): allowed(kind, how)[f'/sysid/{name}'] for kind, how in LISTS}
    if name == 'campaign_node':
        # Before a goal there is no client.
        permitted |= {('services', 'request'): set(), ('actions', 'call'): set()}
        permitted['topics', 'subscribe'] -= {'excitation_node/status', 'robot_description'}
    nothing = found = {key: set() for key in LISTS}
    *others, last = CONFIGURATIONS[name]
    for number, (parameters, mark) in enumerate(others):
        part = observed(ros, name, f'{name}_{number}', own | parameters, mark, nothing)
        found = {key: found[key] | part[key] for key in LISTS}
    parameters, mark = last
    left = {key: permitted[key] - found[key] for key in LISTS}
    part = observed(ros, name, name, own | parameters, mark, left)
    assert {key: found[key] | part[key] for key in LISTS} == permitted


@pytest.mark.parametrize(('name', 'parameters', 'marks'), [
    ('excitation_node', {
        'output': 'trajectory', 'command': '/driver/joint_trajectory',
        'joint_states': '/driver/joints'}, ('driver/joints', 'driver/joint_trajectory')),
    ('identification_node', {
        'topic': '/driver/joints', 'effort_topic': 'efforts', 'wrench_topics': ['wrist/wrench'],
        'online': True}, ('driver/joints', 'left/efforts', 'left/wrist/wrench')),
    ('model_server', {
        'topic': '/driver/joints', 'effort_topic': 'efforts', 'publish_description': True},
        ('driver/joints', 'left/efforts', 'robot_description')),
    ('monitor_node', {
        'joint_states': '/driver/joints', 'trajectory_topics': ['/driver/joint_trajectory'],
        'cancel_actions': ['/driver/follow_joint_trajectory']},
        ('driver/joints', 'driver/joint_trajectory')),
], ids=('excitation_node', 'identification_node', 'model_server', 'monitor_node'))
def test_the_policy_of_a_robot_allows_its_nodes_what_they_have(
    ros, demo, name, parameters, marks
):
    own = demo[f'/**/{name}']['ros__parameters'] | {'use_sim_time': True} | parameters
    root = etree.fromstring(AccessPolicy(POLICY.read_bytes(), {
        node: parameters_of(
            node, '/left', load_yaml(ROOT / 'config' / f'{node}.yaml'),
            {f'/left/{name}': {'ros__parameters': own}})
        for node in ROBOTS_NODES}, '/left').text())
    permitted = {key: {
        (entry.text if entry.text.startswith('/') else f'/left/{entry.text}').removeprefix('/')
        for entry in root.iterfind(
            f'.//enclave[@path="/left/sysid/{name}"]//{key[0]}[@{key[1]}]/*')} for key in LISTS}
    # Of a description that the settings do not name.
    permitted['topics', 'subscribe'] -= {'left/robot_description'}
    ros.start(name, own, remap=['__ns:=/left'])
    ros.wait(lambda: seen(ros, name, '/left')[1].issuperset(marks), DISCOVERY)
    ros.wait(
        lambda: all(seen(ros, name, '/left')[0][key] >= permitted[key] for key in LISTS),
        DISCOVERY, required=False)
    ros.spin(2.0)
    assert seen(ros, name, '/left')[0] == permitted


def test_an_operator_may_have_what_the_operator_of_the_demo_has(ros, demo):
    ros.start('demo_operator', {'use_sim_time': True}, name='operator')
    permitted = {(kind, how): allowed(kind, how)[OPERATOR] for kind, how in LISTS}
    reply = 'services', 'reply'
    ros.wait(lambda: 'excitation_node/stop' in seen(ros, 'operator')[1])
    ros.spin(1.0)
    found = seen(ros, 'operator')[0]
    assert found[reply] == permitted[reply]
    for key in LISTS:
        assert found[key] <= permitted[key], key
    # Beside what every node says, it says only that all is to stop.
    assert permitted['topics', 'publish'] - found['topics', 'publish'] == {'sysid/stop'}


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
