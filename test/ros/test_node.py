"""What all nodes share: parameters by the settings' rules, answers, reports, lifecycle."""

import math
from typing import ClassVar

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from pydantic import Field
from rcl_interfaces.srv import DescribeParameters, SetParameters
from rclpy.parameter import Parameter

from sysid_ros.errors import ConfigurationError, SysidError
from sysid_ros.msg import Heartbeat, ResultCode
from sysid_ros.nodes.node import SysidNode
from sysid_ros.nodes.refusal import MAX_TEXT, RefusedError
from sysid_ros.nodes.settings import NodeSettings
from sysid_ros.srv import CommitParameters, StartIdentification


class ClockworkSettings(NodeSettings):
    live: ClassVar = frozenset({'rate'})

    rate: float = Field(default=10.0, gt=0.0, le=100.0, description='Rate in [Hz]')
    joints: tuple[str, ...] = Field(default=(), description='Joints')
    count: int = Field(default=3, ge=1, description='How many')


class Clockwork(SysidNode[ClockworkSettings]):
    settings_class: ClassVar = ClockworkSettings

    def __init__(self):
        self.busy = ''
        self.breaks = False
        self.ticks = self.applied = 0
        super().__init__('clockwork')

    def configure(self):
        if self.settings.joints == ('broken',):
            raise ConfigurationError('cannot be configured', found='broken')
        self.serve(StartIdentification, '~/start', self.start)
        self.serve(CommitParameters, '~/commit', self.commit, always=True)
        self.every(1.0 / self.settings.rate, self.tick)

    def tick(self):
        self.ticks += 1
        if self.breaks:
            raise ValueError('a spring broke')

    def locked(self):
        return self.busy

    def apply_settings(self):
        self.applied += 1

    def working(self):
        return bool(self.busy)

    def start(self, request, response):
        if request.recording == 'taken':
            raise RefusedError(ResultCode.BUSY, SysidError('it is taken', fix='Wait'))
        if request.recording == 'broken':
            raise ZeroDivisionError('a bug')
        response.recording = request.recording or 'chosen'

    def commit(self, request, response):
        response.revision = 'r1'


@pytest.fixture
def clockwork(ros):
    """Makes the node, in this process but heard through DDS."""
    made = []

    def make(**parameters):
        rclpy.init(context=rclpy.get_default_context(), domain_id=ros.domain, args=[
            '--ros-args', *(word for name, value in parameters.items()
                            for word in ('-p', f'{name}:={value}'))])
        node = Clockwork()
        made.append(node)
        ros.executor.add_node(node)
        return node

    yield make
    for node in made:
        ros.executor.remove_node(node)
        node.destroy_node()
    rclpy.try_shutdown()


def running(node):
    node.trigger_configure()
    node.trigger_activate()
    assert node.active
    return node


def set_rate(ros, value):
    parameters = [Parameter('rate', value=value).to_parameter_msg()]
    response = ros.call(SetParameters, '/clockwork/set_parameters', parameters=parameters)
    return response.results[0]


def test_parameters_come_from_the_command_line_with_whole_numbers_for_real_ones(clockwork):
    node = clockwork(rate='20', joints='[a, b]')
    assert node.settings == ClockworkSettings(rate=20.0, joints=('a', 'b'))
    assert node.get_parameter('rate').value == 20.0


@pytest.mark.parametrize(('given', 'words'), [
    ({'rat': '5.0'}, "no parameter 'rat'.*Did you mean 'rate'"),
    ({'rate': '.nan'}, 'not finite'), ({'rate': '0.0'}, 'allowed above 0'),
    ({'rate': 'fast'}, 'is not a number'), ({'count': '0'}, 'allowed at least 1'),
])
def test_a_parameter_that_is_not_allowed_is_refused_by_name(clockwork, given, words):
    with pytest.raises(ConfigurationError, match=words):
        clockwork(**given)


@pytest.mark.parametrize('value', [math.nan, math.inf, -1.0, 101.0, 'fast'])
def test_a_running_node_refuses_the_same_values(clockwork, ros, value):
    node = running(clockwork())
    result = set_rate(ros, value)
    assert not result.successful and 'rate' in result.reason
    assert node.settings.rate == 10.0


def test_a_good_value_holds_at_once(clockwork, ros):
    node = running(clockwork())
    assert set_rate(ros, 50).successful
    assert node.settings.rate == 50.0
    assert node.applied == 1


def test_a_parameter_that_is_taken_over_at_configuration_is_refused_until_cleaned_up(
    clockwork, ros
):
    node = running(clockwork())
    asked = [Parameter('count', value=5).to_parameter_msg()]
    result, = ros.call(SetParameters, '/clockwork/set_parameters', parameters=asked).results
    assert not result.successful and node.settings.count == 3
    assert 'count: it is taken over when the node is configured' in result.reason
    node.trigger_deactivate()
    node.trigger_cleanup()
    result, = ros.call(SetParameters, '/clockwork/set_parameters', parameters=asked).results
    assert result.successful and node.settings.count == 5


def test_a_parameter_changed_while_the_node_moves_is_refused(clockwork, ros):
    node = running(clockwork())
    node.busy = 'a motion is being played'
    result = set_rate(ros, 50.0)
    assert not result.successful and result.reason == f'rate: {node.busy}'
    assert node.settings.rate == 10.0


def test_parameters_say_what_they_are_and_their_range(clockwork, ros):
    running(clockwork())
    answer = ros.call(DescribeParameters, '/clockwork/describe_parameters', names=['rate'])
    rate, = answer.descriptors
    assert rate.description == 'Rate in [Hz]'
    assert rate.floating_point_range[0].to_value == 100.0


def test_a_refused_answer_holds_no_figures(clockwork, ros):
    running(clockwork())
    refused = ros.call(CommitParameters, '/clockwork/commit', comment='x' * (MAX_TEXT + 1))
    assert not refused.success
    assert math.isnan(refused.candidate_error) and math.isnan(refused.current_error)


def test_services_answer_and_refuse_with_a_code(clockwork, ros):
    running(clockwork())
    granted = ros.call(StartIdentification, '/clockwork/start')
    assert (granted.success, granted.code, granted.recording) == (True, 'ok', 'chosen')
    refused = ros.call(StartIdentification, '/clockwork/start', recording='taken')
    assert (refused.success, refused.code) == (False, 'busy')
    assert refused.message == 'it is taken. Wait.'


def test_a_bug_in_a_service_is_an_answer_and_an_error_diagnostic(clockwork, ros):
    node = running(clockwork())
    heard = ros.hear(DiagnosticArray, '/diagnostics')
    answer = ros.call(StartIdentification, '/clockwork/start', recording='broken')
    assert (answer.success, answer.code) == (False, 'failed')
    ros.wait(lambda: any('a bug' in array.status[0].message for array in heard))
    assert ros.call(StartIdentification, '/clockwork/start').success
    assert node.active


def test_a_node_that_is_not_active_grants_only_what_is_always_granted(clockwork, ros):
    node = clockwork()
    node.trigger_configure()
    assert ros.call(StartIdentification, '/clockwork/start').code == 'not_active'
    assert ros.call(CommitParameters, '/clockwork/commit').success


def test_an_overlong_request_is_refused(clockwork, ros):
    running(clockwork())
    answer = ros.call(StartIdentification, '/clockwork/start', recording='x' * (MAX_TEXT + 1))
    assert (answer.success, answer.code) == (False, 'invalid_request')
    assert 'too long' in answer.message


def test_an_exception_in_a_timer_ends_nothing_and_is_shown(clockwork, ros):
    node = running(clockwork(rate=100.0))
    beats = ros.hear(Heartbeat, 'sysid/heartbeat')
    node.breaks = True
    ros.wait(lambda: beats and 'a spring broke' in beats[-1].message)
    assert beats[-1].state == Heartbeat.ERROR
    ticks = node.ticks
    ros.wait(lambda: node.ticks > ticks + 3)


def test_the_heartbeat_says_what_the_node_is_doing(clockwork, ros):
    node = clockwork()
    beats = ros.hear(Heartbeat, 'sysid/heartbeat')
    ros.wait(lambda: beats and beats[-1].state == Heartbeat.INACTIVE)
    running(node)
    ros.wait(lambda: beats[-1].state == Heartbeat.ACTIVE)
    node.busy = 'moving'
    ros.wait(lambda: beats[-1].state == Heartbeat.WORKING)
    assert beats[-1].node == '/clockwork'


def test_a_node_that_cannot_be_configured_says_why_and_leaves_nothing(clockwork, ros):
    node = clockwork(joints='[broken]')
    heard = ros.hear(DiagnosticArray, '/diagnostics')
    node.trigger_configure()
    assert not node.configured
    ros.wait(lambda: any('cannot be configured' in array.status[0].message for array in heard))


def test_cleaning_up_takes_services_and_timers_away(clockwork, ros):
    node = running(clockwork(rate=100.0))
    ros.call(StartIdentification, '/clockwork/start')
    node.trigger_deactivate()
    node.trigger_cleanup()
    names = [name for name, _ in node.get_service_names_and_types_by_node('clockwork', '/')]
    assert '/clockwork/start' not in names
    ticks = node.ticks
    ros.spin(0.1)
    assert node.ticks == ticks
    running(node)
    assert ros.call(StartIdentification, '/clockwork/start').success
