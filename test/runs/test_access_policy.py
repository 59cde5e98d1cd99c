"""Policies of SROS 2 that ``sysid init policy`` writes, for a namespace and parameters of nodes."""

from pathlib import Path

import pytest
import yaml
from lxml import etree

from support import access_policies
from support.access_policies import LISTS
from sysid_ros.cli.main import main
from sysid_ros.errors import ConfigurationError
from sysid_ros.runs.access_policy import COMPOSED, NODES, AccessPolicy, parameters_of
from sysid_ros.settings import load_yaml

CONFIG = Path(__file__).resolve().parents[2] / 'config'
EXAMPLE = (CONFIG / 'sros2' / 'policy.xml').read_bytes()
# What excitation_node has for outputs that are not used.
UNUSED = {'position_commands', 'effort_commands', 'joint_trajectory'}


def policy(file=None, **options):
    """The policy of nodes with their default parameters, and those of a file."""
    namespace = options.get('namespace', '')
    parameters = {
        node: parameters_of(node, namespace, load_yaml(CONFIG / f'{node}.yaml'), file or {})
        for node in NODES}
    return etree.fromstring(AccessPolicy(EXAMPLE, parameters, **options).text())


def of(root, node, kind, how, before='/sysid/'):
    return access_policies.allowed(root, kind, how)[before + node]


def test_with_default_parameters_it_is_the_example_without_demonstration_and_unused_outputs():
    root, example = policy(), etree.fromstring(EXAMPLE)
    assert list(access_policies.mistakes(root)) == []
    for kind, how in LISTS:
        ours = access_policies.allowed(root, kind, how)
        theirs = access_policies.allowed(example, kind, how)
        assert ours.keys() == {f'/sysid/{node}' for node in ('operator', *NODES)}
        for enclave, names in ours.items():
            left = {
                name for name in theirs[enclave] - names
                if not name.startswith(('computed_torque_controller/', 'simulated_robot/'))}
            assert names <= theirs[enclave]
            assert left <= UNUSED | {'follow_joint_trajectory', 'robot_description'}
    assert 'reference' in of(root, 'excitation_node', 'topics', 'publish')
    assert not UNUSED & of(root, 'excitation_node', 'topics', 'publish')
    assert 'robot_description' not in of(root, 'model_server', 'topics', 'publish')


def test_it_has_the_names_that_parameters_give():
    root = policy({
        '/**/excitation_node': {'ros__parameters': {
            'output': 'follow_joint_trajectory', 'command': 'arm/follow_joint_trajectory',
            'joint_states': '/driver/joints'}},
        'panel_node': {'ros__parameters': {'joint_states': '/driver/joints'}},
        '/**': {'ros__parameters': {'topic': '/driver/joints'}},
        'identification_node': {'ros__parameters': {
            'effort_topic': '/driver/efforts', 'wrench_topics': ['/wrist/wrench']}},
        '/other/monitor_node': {'ros__parameters': {'joint_states': '/of/another/robot'}},
        '/monitor_node': {'ros__parameters': {
            'cancel_actions': ['hand/follow_joint_trajectory'], 'joint_states': 'joints'}},
    }, heard=['/driver/currents'])
    assert list(access_policies.mistakes(root)) == []
    hears = {node: of(root, node, 'topics', 'subscribe') for node in ('operator', *NODES)}
    assert 'driver/joints' in hears['excitation_node'] & hears['model_server'] & hears['operator']
    assert hears['identification_node'] >= {
        'driver/joints', 'driver/efforts', 'wrist/wrench', 'driver/currents'}
    assert 'joints' in hears['monitor_node'] and 'driver/joints' in hears['panel_node']
    assert not {'joint_states', 'of/another/robot'} & set().union(*hears.values())
    assert of(root, 'excitation_node', 'actions', 'call') == {'arm/follow_joint_trajectory'}
    assert of(root, 'monitor_node', 'actions', 'call') == {
        'arm/follow_joint_trajectory', 'hand/follow_joint_trajectory'}


def test_names_with_a_slash_keep_it_and_others_are_of_the_namespace():
    file = {'/left/excitation_node': {'ros__parameters': {
        'output': 'trajectory', 'command': '/right/joint_trajectory'}}}
    root = policy(file, namespace='/left')
    assert list(access_policies.mistakes(root, '/left')) == []
    sent = {topic.text for topic in root.iterfind(
        './/enclave[@path="/left/sysid/excitation_node"]//topics[@publish]/topic')}
    assert sent >= {'/right/joint_trajectory', 'sysid/heartbeat', '/diagnostics'}


@pytest.mark.parametrize(('name', 'is_ours'), [
    ('/**', True), ('/**/excitation_node', True), ('excitation_node', False), ('/*/*', True),
    ('/left/excitation_node', True), ('/left/**', True), ('/**/monitor_node', False),
    ('/right/excitation_node', False), ('/*/excitation', False),
])
def test_names_of_nodes_may_have_wildcards_as_ros_has_them(name, is_ours):
    file = {name: {'ros__parameters': {'output': 'effort'}}}
    assert bool(parameters_of('excitation_node', '/left', file)) is is_ours


def test_namespaces_may_have_nodes_within():
    file = {'left': {'excitation_node': {'ros__parameters': {'output': 'effort'}}}}
    assert parameters_of('excitation_node', '/left', file) == {'output': 'effort'}
    assert parameters_of('excitation_node', '', file) == {}


def test_nodes_in_one_process_have_one_enclave():
    root = policy(composed=True)
    assert set(access_policies.allowed(root, 'topics', 'publish')) == {
        '/sysid/operator', '/sysid/sysid_nodes', '/sysid/monitor_node', '/sysid/campaign_node',
        '/sysid/panel_node'}
    profiles = root.findall('.//enclave[@path="/sysid/sysid_nodes"]/profiles/profile')
    assert [profile.get('node') for profile in profiles] == list(COMPOSED)
    apart = policy()
    for node, profile in zip(COMPOSED, profiles, strict=True):
        other = apart.find(f'.//enclave[@path="/sysid/{node}"]/profiles/profile')
        assert [item.text for item in profile.iter()] == [item.text for item in other.iter()]


@pytest.mark.parametrize(('file', 'options', 'words'), [
    ({}, {'namespace': 'left'}, 'Say --namespace /left'),
    ({}, {'namespace': '/left/'}, 'Say --namespace /left'),
    ({}, {'heard': ['two words']}, '--hear: is no name'),
    ({'/**': {'ros__parameters': {'output': 'torque'}}}, {}, 'there is no such output'),
    ({'/**': {'ros__parameters': {'topic': 'a b'}}}, {}, 'identification_node: topic: is no name'),
    ({'/**': {'ros__parameters': {'cancel_actions': [3]}}}, {}, 'monitor_node: cancel_actions'),
])
def test_what_would_be_no_policy_is_refused(file, options, words):
    with pytest.raises(ConfigurationError, match=words):
        policy(file, **options)


def test_the_verb_writes_it_and_says_what_comes_next(tmp_path, capsys):
    robot, output = tmp_path / 'nodes.yaml', tmp_path / 'policy.xml'
    robot.write_text(yaml.safe_dump({
        '/**/excitation_node': {'ros__parameters': {'output': 'position'}}}))
    words = ['init', 'policy', str(robot), '--namespace', '/left', '-o', str(output)]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert 'create_enclave keystore /left/sysid/operator' in said
    assert 'enclaves:=/left/sysid' in said
    root = etree.parse(str(output)).getroot()
    assert 'position_commands' in of(
        root, 'excitation_node', 'topics', 'publish', '/left/sysid/')
    assert main(words) == 2
    assert 'is there already' in capsys.readouterr().err
    robot.write_text('robot: {urdf: arm.urdf}\n')
    assert main([*words, '--force']) == 2
    assert 'is no file of parameters of nodes (found robot' in capsys.readouterr().err
