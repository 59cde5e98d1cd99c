"""Parameters of the nodes are what a running system offers; what it leaves open is asked."""

import pytest
import yaml

from sysid_ros.errors import ConfigurationError
from sysid_ros.recording.guess.evidence import OpenQuestionsError
from sysid_ros.runs.initial_parameters import InitialParameters
from sysid_ros.runs.robot_graph import (
    ARRAY,
    FOLLOW_JOINT_TRAJECTORY,
    JOINT_TRAJECTORY,
    CommandInterface,
    DescriptionTopic,
    JointStateTopic,
    RobotGraph,
)

ARM = ('a1', 'a2', 'a3')
STATES = JointStateTopic(
    '/joint_states', ('/joint_state_broadcaster',), 499.7, (*ARM, 'finger'), True, True, True)
CONTROLLER = '/joint_trajectory_controller'
ACTION = CommandInterface(
    f'{CONTROLLER}/follow_joint_trajectory', FOLLOW_JOINT_TRAJECTORY, CONTROLLER, ARM)
TOPIC = CommandInterface(f'{CONTROLLER}/joint_trajectory', JOINT_TRAJECTORY, CONTROLLER, ARM)
GRIPPER = CommandInterface(
    '/gripper/follow_joint_trajectory', FOLLOW_JOINT_TRAJECTORY, '/gripper', ('finger',))
FORWARD = CommandInterface('/forward/commands', ARRAY, '/forward', ARM)
DESCRIPTION = DescriptionTopic('/robot_description', ('/robot_state_publisher',))


def system(*commands, states=(STATES,), descriptions=(DESCRIPTION,), nodes=('/driver',)):
    return RobotGraph(4.0, nodes, tuple(states), commands, descriptions)


def written(graph, **told):
    guess = InitialParameters.of(
        graph, {name.replace('_', '-'): value for name, value in told.items()})
    return guess, {
        name.rpartition('/')[2]: own['ros__parameters']
        for name, own in yaml.safe_load(guess.text()).items()}


def asked(graph, **told):
    with pytest.raises(OpenQuestionsError) as raised:
        written(graph, **told)
    return {question.option: question for question in raised.value.questions}


def require_taken(parameters):
    """The nodes take what was written."""
    pytest.importorskip('rclpy', reason='settings of nodes are beside the nodes')
    from sysid_ros.nodes.excitation_settings import ExcitationNodeSettings
    from sysid_ros.nodes.identification_settings import IdentificationNodeSettings
    from sysid_ros.nodes.model_server_settings import ModelServerSettings
    from sysid_ros.nodes.monitor_settings import MonitorNodeSettings
    from sysid_ros.nodes.panel_settings import PanelNodeSettings

    for name, kind in (
        ('excitation_node', ExcitationNodeSettings), ('monitor_node', MonitorNodeSettings),
        ('identification_node', IdentificationNodeSettings), ('model_server', ModelServerSettings),
        ('panel_node', PanelNodeSettings),
    ):
        kind(**parameters[name])


def test_one_driver_with_one_controller_leaves_nothing_to_ask():
    guess, parameters = written(system(ACTION, TOPIC))
    assert parameters['excitation_node'] == {
        'joint_states': '/joint_states', 'rate': 200.0, 'output': 'follow_joint_trajectory',
        'command': f'{CONTROLLER}/follow_joint_trajectory'}
    assert parameters['panel_node'] == {'joint_states': '/joint_states'}
    assert parameters['monitor_node']['cancel_actions'] == [ACTION.name]
    assert parameters['monitor_node']['trajectory_topics'] == [TOPIC.name]
    assert parameters['identification_node'] == {'topic': '/joint_states'}
    assert '# states: /joint_states (/joint_states at 500 Hz, 4 joints: a1, a2, a3, finger' in (
        guess.text())
    require_taken(parameters)


def test_a_topic_of_trajectories_and_one_of_references_are_told_apart():
    _, parameters = written(system(TOPIC))
    assert parameters['excitation_node']['output'] == 'trajectory'
    reference = CommandInterface('/ctc/reference', JOINT_TRAJECTORY, '/ctc')
    _, parameters = written(system(reference))
    assert parameters['excitation_node']['output'] == 'reference'
    assert parameters['monitor_node']['watch'] == ['excitation_node', 'ctc']
    require_taken(parameters)


def test_of_several_controllers_one_has_to_be_named():
    other = CommandInterface('/b/follow_joint_trajectory', FOLLOW_JOINT_TRAJECTORY, '/b', ARM[:2])
    question = asked(system(ACTION, other, TOPIC))['command']
    assert 'of /b, moves a1, a2' in question.found and ACTION.name in question.found
    _, parameters = written(system(ACTION, other, TOPIC), command='b/follow_joint_trajectory')
    assert parameters['excitation_node']['command'] == other.name
    assert parameters['monitor_node']['cancel_actions'] == [other.name]
    with pytest.raises(ConfigurationError, match='--command: there is no such'):
        written(system(ACTION), command='/c')


def test_controllers_of_joints_that_are_not_heard_do_not_count():
    elsewhere = CommandInterface(
        '/x/follow_joint_trajectory', FOLLOW_JOINT_TRAJECTORY, '/x', ('x',))
    _, parameters = written(system(ACTION, elsewhere))
    assert parameters['excitation_node']['command'] == ACTION.name
    assert set(asked(system(ACTION, GRIPPER))) == {'command'}


def test_an_array_of_numbers_may_be_positions_or_torques_and_is_asked_for():
    assert asked(system(FORWARD))['command-kind'].example == 'position'
    _, parameters = written(system(FORWARD), command_kind='effort')
    assert parameters['excitation_node']['output'] == 'effort'
    said = CommandInterface('/forward/commands', ARRAY, '/forward', ARM, 'position')
    guess, parameters = written(system(said))
    assert parameters['excitation_node']['output'] == 'position'
    assert 'takes no trajectory that the monitor could send' in guess.text()
    require_taken(parameters)


def test_without_a_controller_it_is_said_what_to_start():
    question = asked(system())['command']
    assert 'load_controller --set-state active joint_trajectory_controller' in question.found
    guess, parameters = written(system(), command='none')
    assert 'output' not in parameters['excitation_node']
    assert 'moves nothing' in guess.text()


def test_without_joint_states_it_is_said_what_to_start():
    with pytest.raises(ConfigurationError, match='joint_state_broadcaster') as raised:
        written(system(ACTION, states=()))
    assert 'no topic of sensor_msgs/JointState' in raised.value.found
    silent = JointStateTopic('/joint_states', ('/driver',))
    with pytest.raises(ConfigurationError, match='no position on it within 4 s'):
        written(system(ACTION, states=[silent]))


def test_of_topics_with_the_same_joints_the_one_with_more_is_taken_and_equals_are_asked_for():
    part = JointStateTopic('/arm/joint_states', ('/arm',), 100.0, ARM, True, False)
    _, parameters = written(system(ACTION, states=[part, STATES]))
    assert parameters['identification_node']['topic'] == '/joint_states'
    twin = JointStateTopic('/fast_states', ('/driver',), 1000.0, STATES.joints, True, True)
    question = asked(system(ACTION, states=[twin, STATES]))['joint-states']
    assert '/fast_states at 1000 Hz' in question.found
    _, parameters = written(system(ACTION, states=[twin, STATES]), joint_states='fast_states')
    assert parameters['monitor_node']['joint_states'] == '/fast_states'


def test_efforts_of_another_topic_are_found_and_absent_ones_are_asked_for():
    bare = JointStateTopic('/joint_states', ('/driver',), 100.0, ARM, True, False)
    apart = JointStateTopic('/torques', ('/sensors',), 100.0, ARM, False, True)
    _, parameters = written(system(ACTION, states=[bare, apart]))
    assert parameters['model_server'] == {'topic': '/joint_states', 'effort_topic': '/torques'}
    question = asked(system(ACTION, states=[bare]))['effort-topic']
    assert 'the driver has to publish torques or currents' in question.found
    _, parameters = written(system(ACTION, states=[bare]), effort_topic='none')
    assert parameters['identification_node'] == {'topic': '/joint_states'}


def test_slow_joint_states_have_longer_timeouts():
    slow = JointStateTopic('/joint_states', ('/driver',), 25.0, ARM, True, True)
    _, parameters = written(system(ACTION, states=[slow]))
    assert parameters['excitation_node']['rate'] == 25.0
    assert parameters['monitor_node']['state_timeout'] == 0.2
    require_taken(parameters)
    slower = JointStateTopic('/joint_states', ('/driver',), 2.0, ARM, True, True)
    guess, parameters = written(system(ACTION, states=[slower]))
    assert 'too slow to move the robot by' in guess.text()
    require_taken(parameters)


def test_a_namespace_is_that_of_the_description_beside_the_joint_states():
    states = JointStateTopic('/left/joint_states', ('/left/driver',), 100.0, ARM, True, True)
    descriptions = [
        DescriptionTopic('/right/robot_description', ('/right/rsp',)),
        DescriptionTopic('/left/robot_description', ('/left/rsp',), 'left_')]
    guess, parameters = written(system(ACTION, states=[states], descriptions=descriptions))
    assert guess.namespace == 'left'
    assert parameters['identification_node']['frame_prefix'] == 'left_'
    guess, _ = written(system(ACTION, descriptions=[]))
    assert 'start robot_state_publisher' in guess.text() and not guess.namespace


def test_nodes_that_run_already_are_named():
    guess, _ = written(system(ACTION, nodes=('/driver', '/a/monitor_node')))
    assert '/a/monitor_node run already' in guess.text()


def test_what_was_seen_goes_from_one_process_to_another():
    graph = system(ACTION, FORWARD)
    assert RobotGraph.from_json(graph.to_json()) == graph
