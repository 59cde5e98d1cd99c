"""Answers that take time, of services and actions, beside an executor that goes on."""

import threading
from typing import ClassVar

import pytest
import rclpy
from action_msgs.msg import GoalStatus

from sysid_ros import action
from sysid_ros.errors import SysidError
from sysid_ros.msg import ResultCode
from sysid_ros.nodes.background import Background
from sysid_ros.nodes.node import SysidNode
from sysid_ros.nodes.refusal import RefusedError
from sysid_ros.nodes.settings import NodeSettings
from sysid_ros.srv import RollbackParameters


class Slow(SysidNode[NodeSettings]):
    settings_class: ClassVar = NodeSettings

    def __init__(self):
        self.ticks = 0
        self.gate = threading.Event()
        super().__init__('slow')

    def configure(self):
        self.background = Background(self)
        self.background.serve(RollbackParameters, '~/work', self.work)
        self.background.act(action.CommitParameters, '~/long_work', self.long_work)
        self.every(0.01, self.tick)

    def cleanup(self):
        self.background.close()

    def working(self):
        return self.background.busy

    def tick(self):
        self.ticks += 1

    async def work(self, request, response, _):
        if request.revision == 'refused':
            raise RefusedError(ResultCode.UNKNOWN_ID, SysidError('there is none'))
        response.revision = await self.background.run(self.slowly, request.revision)

    async def long_work(self, request, response, progress):
        progress.tell('Looking', 0.0)
        progress.tell('Working', 0.5)
        if request.estimate == 'refused':
            raise RefusedError(ResultCode.UNKNOWN_ID, SysidError('there is none'))
        await self.background.run(self.slowly, request.estimate)
        progress.make_final()
        progress.tell('Writing', 0.9)
        response.revision = 'written'

    def slowly(self, revision):
        if revision == 'broken':
            raise ZeroDivisionError('a bug')
        assert self.gate.wait(20.0)
        return f'{revision} from {threading.current_thread() is not threading.main_thread()}'


@pytest.fixture
def slow(ros):
    """The node, in this process but heard through DDS, active."""
    rclpy.init(context=rclpy.get_default_context(), domain_id=ros.domain)
    node = Slow()
    ros.executor.add_node(node)
    node.trigger_configure()
    node.trigger_activate()
    yield node
    node.gate.set()
    node.trigger_shutdown()
    ros.executor.remove_node(node)
    node.destroy_node()
    rclpy.try_shutdown()


def ask(ros, revision):
    client = ros.service(RollbackParameters, 'slow/work')
    return client.call_async(RollbackParameters.Request(revision=revision))


def test_the_executor_goes_on_while_an_answer_takes_time(ros, slow):
    future = ask(ros, 'one')
    ros.wait(slow.working)
    before = slow.ticks
    ros.wait(lambda: slow.ticks > before + 20)
    assert not future.done()
    slow.gate.set()
    ros.wait(future.done)
    assert future.result().success
    assert future.result().revision == 'one from True'
    assert not slow.working()


def test_a_second_request_meanwhile_is_refused(ros, slow):
    first = ask(ros, 'one')
    ros.wait(slow.working)
    second = ask(ros, 'two')
    ros.wait(second.done)
    assert second.result().code == ResultCode.BUSY
    slow.gate.set()
    ros.wait(first.done)
    third = ask(ros, 'three')
    ros.wait(third.done)
    assert third.result().success


@pytest.mark.parametrize(('revision', 'code', 'message'), [
    ('refused', ResultCode.UNKNOWN_ID, 'there is none'),
    ('broken', ResultCode.FAILED, 'a bug'),
    ('x' * 2_000_000, ResultCode.INVALID_REQUEST, 'too long'),
])
def test_errors_become_answers(ros, slow, revision, code, message):
    future = ask(ros, revision)
    ros.wait(future.done)
    assert (future.result().success, future.result().code) == (False, code)
    assert message in future.result().message
    slow.gate.set()
    later = ask(ros, 'later')
    ros.wait(later.done)
    assert later.result().success


def test_an_inactive_node_refuses(ros, slow):
    slow.trigger_deactivate()
    future = ask(ros, 'one')
    ros.wait(future.done)
    assert future.result().code == ResultCode.NOT_ACTIVE


def begin(ros, estimate, said=None):
    """A goal that was accepted."""
    return ros.send_goal(
        action.CommitParameters, 'slow/long_work',
        None if said is None else lambda message: said.append(
            (message.feedback.stage, message.feedback.progress)), estimate=estimate)


def test_a_goal_is_told_every_stage_and_gets_the_answer_of_a_service(ros, slow):
    said = []
    handle = begin(ros, 'one', said)
    ros.wait(lambda: len(said) == 2)
    before = slow.ticks
    ros.wait(lambda: slow.ticks > before + 20)
    slow.gate.set()
    result = ros.result(handle)
    assert (result.success, result.code, result.revision) == (True, ResultCode.OK, 'written')
    assert handle.status == GoalStatus.STATUS_SUCCEEDED
    ros.wait(lambda: len(said) == 3)
    assert said == [('Looking', 0.0), ('Working', 0.5), ('Writing', 0.9)]


def test_a_goal_that_is_cancelled_writes_nothing(ros, slow):
    said = []
    handle = begin(ros, 'one', said)
    ros.wait(lambda: len(said) == 2)
    cancel = handle.cancel_goal_async()
    ros.wait(cancel.done)
    assert cancel.result().goals_canceling
    slow.gate.set()
    result = ros.result(handle)
    assert (result.success, result.code, result.revision) == (False, ResultCode.CANCELLED, '')
    assert 'found Working' in result.message
    assert handle.status == GoalStatus.STATUS_CANCELED
    assert not slow.working()


def test_what_has_ended_is_not_cancelled(ros, slow):
    slow.gate.set()
    handle = begin(ros, 'one')
    assert ros.result(handle).success
    cancel = handle.cancel_goal_async()
    ros.wait(cancel.done)
    assert not cancel.result().goals_canceling


@pytest.mark.parametrize(('estimate', 'code', 'message'), [
    ('refused', ResultCode.UNKNOWN_ID, 'there is none'), ('broken', ResultCode.FAILED, 'a bug'),
    ('x' * 2_000_000, ResultCode.INVALID_REQUEST, 'too long'),
])
def test_errors_become_results(ros, slow, estimate, code, message):
    handle = begin(ros, estimate)
    result = ros.result(handle)
    assert (result.success, result.code) == (False, code)
    assert message in result.message
    assert result.candidate_error != result.candidate_error  # NaN: no figure is known
    assert handle.status == GoalStatus.STATUS_ABORTED


def test_service_and_action_wait_for_one_another(ros, slow):
    handle = begin(ros, 'one')
    ros.wait(slow.working)
    future = ask(ros, 'two')
    ros.wait(future.done)
    assert future.result().code == ResultCode.BUSY
    slow.gate.set()
    assert ros.result(handle).success
