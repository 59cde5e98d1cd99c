"""Answers that are lost: requests that may be granted twice are sent again, and others are not."""

from __future__ import annotations

import math

import pytest
from action_msgs.msg import GoalStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.action import ActionServer
from rclpy.node import Node
from std_srvs.srv import Trigger

from sysid_ros.action import Excite
from sysid_ros.errors import SysidError
from sysid_ros.msg import ResultCode, RevisionInfo
from sysid_ros.nodes.requests import GoalRequest, repeatable
from sysid_ros.nodes.robot_operator import Operator
from sysid_ros.srv import (
    CommitParameters,
    GetRevision,
    ListRevisions,
    RollbackParameters,
    StartIdentification,
)

# Times in [s] after which something is sent again, and for five of them.
AGAIN, PATIENCE = 0.8, 4.4


class Forgetful:
    """A server whose first answers are lost.

    Attributes:
        requests: What it was asked for.
    """

    def __init__(self, node, kind, name, *, lost=1, answers=()):
        self.requests, self._lost, self._answers = [], lost, list(answers)
        self._service = node.create_service(kind, name, self.answer)
        self._send = self._service.send_response
        self._service.send_response = self.send

    def answer(self, request, response):
        self.requests.append(request)
        return self._answers.pop(0) if self._answers else response

    def send(self, response, header):
        if self._lost > 0:
            self._lost -= 1
        else:
            self._send(response, header)


@pytest.fixture
def servers(ros):
    """A node for servers that the waiting operator spins."""
    made = Node('servers', context=ros.context)
    yield made
    made.destroy_node()


@pytest.fixture
def operator(ros, servers):
    """An operator in the same process."""
    node = Node('operator', context=ros.context)
    operator = Operator(node, PATIENCE, again=AGAIN)
    operator._executor.add_node(servers)
    yield operator
    operator._executor.shutdown()
    node.destroy_node()


def granted(kind, **fields):
    return kind.Response(success=True, code=ResultCode.OK, **fields)


def busy(kind):
    return kind.Response(success=False, code=ResultCode.BUSY)


def test_a_query_whose_answer_is_lost_is_sent_again(servers, operator):
    server = Forgetful(
        servers, ListRevisions, 'list', answers=[granted(ListRevisions)] * 2)
    assert operator.call(ListRevisions, 'list').success
    assert len(server.requests) == 2


def test_an_answer_that_comes_is_asked_for_once(servers, operator):
    server = Forgetful(servers, Trigger, 'list', lost=0)
    operator.ask(Trigger, 'list')
    operator.spin(1.5 * AGAIN)
    assert len(server.requests) == 1


def test_what_must_not_be_granted_twice_is_sent_once_and_the_error_says_so(servers, operator):
    server = Forgetful(servers, RollbackParameters, 'model_server/rollback')
    with pytest.raises(SysidError, match='in vain for an answer.*It may have been granted'):
        operator.call(RollbackParameters, 'model_server/rollback', comment='once')
    assert len(server.requests) == 1


@pytest.mark.parametrize(('kind', 'named', 'twice'), [
    (GetRevision, {}, True), (CommitParameters, {'estimate': 'one'}, True),
    (StartIdentification, {}, False), (StartIdentification, {'recording': 'one'}, True),
    (RollbackParameters, {}, False), (RollbackParameters, {'revision': 'r1'}, True),
])
def test_what_may_be_granted_twice(kind, named, twice):
    assert repeatable(kind, kind.Request(**named)) is twice


def test_busy_is_no_answer_to_a_repeated_request_while_the_first_one_is_granted(
    servers, operator
):
    server = Forgetful(servers, CommitParameters, 'model_server/commit', answers=[
        granted(CommitParameters), busy(CommitParameters),
        granted(CommitParameters, revision='r2')])
    assert operator.commit('one', 0.0, '').revision == 'r2'
    assert len(server.requests) == 3


def test_busy_is_the_answer_to_a_first_request(servers, operator):
    Forgetful(servers, CommitParameters, 'model_server/commit', lost=0, answers=[
        busy(CommitParameters)])
    with pytest.raises(SysidError, match='refused.*busy'):
        operator.commit('one', 0.0, '')


def test_busy_is_no_answer_while_a_repetition_of_what_was_refused_before_is_looked_at(
    servers, operator
):
    not_ready = CommitParameters.Response(success=False, code=ResultCode.NOT_READY)
    server = Forgetful(servers, CommitParameters, 'model_server/commit', lost=0, answers=[
        not_ready, busy(CommitParameters), granted(CommitParameters, revision='r2')])
    assert operator.commit('one', 0.0, '').revision == 'r2'
    assert len(server.requests) == 3


def test_busy_that_remains_is_told(servers, operator):
    Forgetful(servers, CommitParameters, 'model_server/commit', answers=[
        busy(CommitParameters) for _ in range(9)])
    with pytest.raises(SysidError, match='refused.*busy'):
        operator.commit('one', 0.0, '')


def test_a_recording_is_begun_under_a_name_that_a_second_request_has_too(servers, operator):
    server = Forgetful(servers, StartIdentification, 'identification_node/start', answers=[
        granted(StartIdentification, recording='one')] * 2)
    operator.begin_recording()
    first, second = server.requests
    assert first.recording == second.recording != ''


def test_a_rollback_names_the_revision_that_a_second_request_names_too(servers, operator):
    info = RevisionInfo(revision='r3', parent='r2')
    Forgetful(servers, GetRevision, 'model_server/get_revision', answers=[
        granted(GetRevision, info=info)] * 2)
    server = Forgetful(servers, RollbackParameters, 'model_server/rollback', answers=[
        granted(RollbackParameters, revision='r4')] * 2)
    assert operator.roll_back('why').revision == 'r4'
    assert [request.revision for request in server.requests] == ['r2', 'r2']


def test_a_transition_that_was_made_is_no_failure_when_asked_for_again(servers, operator):
    Forgetful(servers, ChangeState, 'arm/change_state', answers=[
        ChangeState.Response(success=True), ChangeState.Response(success=False)])
    state = GetState.Response()
    state.current_state.label = 'active'
    Forgetful(servers, GetState, 'arm/get_state', lost=0, answers=[state, state])
    operator.change_state('arm', Transition.TRANSITION_ACTIVATE)
    with pytest.raises(SysidError, match='does not change its state'):
        Forgetful(servers, ChangeState, 'leg/change_state', lost=0, answers=[
            ChangeState.Response(success=False)])
        state.current_state.label = 'inactive'
        Forgetful(servers, GetState, 'leg/get_state', lost=0, answers=[state])
        operator.change_state('leg', Transition.TRANSITION_ACTIVATE)


def test_a_stop_is_asked_for_again_sooner_than_other_things(servers, operator):
    server = Forgetful(servers, Trigger, 'excitation_node/stop')
    operator._again = PATIENCE
    operator.ask(Trigger, 'excitation_node/stop', again=0.1)
    assert len(server.requests) == 2


class ForgetfulAction:
    """A server of motions that loses its first answer to a goal, or to the wish for a result.

    Attributes:
        goals: Goals that it has carried out.
    """

    def __init__(self, node, lost):
        self.goals, self._lost = [], lost
        self.server = ActionServer(
            node, Excite, 'excitation_node/excite', self.execute)
        self._handle, self.server._handle = self.server._handle, self

    def __getattr__(self, name):
        send = getattr(self._handle, name)
        if name != self._lost:
            return send
        self._lost = ''
        return lambda *_: None

    def __enter__(self):
        return self._handle.__enter__()

    def __exit__(self, *what):
        return self._handle.__exit__(*what)

    def execute(self, goal):
        self.goals.append(goal.request)
        goal.succeed()
        return Excite.Result(success=True, code=ResultCode.OK, motion=goal.request.motion)


@pytest.mark.parametrize('lost', ['send_goal_response', 'send_result_response'])
def test_a_goal_whose_answer_is_lost_is_carried_out_once(servers, operator, lost):
    action = ForgetfulAction(servers, lost)
    try:
        result = operator.act(Excite, 'excitation_node/excite', motion='one')
        assert result.success and result.motion == 'one'
        assert [goal.motion for goal in action.goals] == ['one']
    finally:
        action.server.destroy()


class PaperClient:
    """A client of an action whose answers are set by hand."""

    def __init__(self):
        self.ids, self.future, self.result = [], None, None

    def server_is_ready(self):
        return True


def test_a_goal_that_is_rejected_at_once_is_an_error():
    class Rejected:
        accepted = False

        def done(self):
            return True

        def result(self):
            return self

    client = PaperClient()
    client.send_goal_async = lambda *_, **__: Rejected()
    request = GoalRequest(client, 'excite', Excite.Goal(), print, again=math.inf)
    with pytest.raises(SysidError, match='rejected'):
        request.poll()


def test_a_goal_that_its_node_has_forgotten_is_an_error():
    class Handle:
        accepted, status = True, GoalStatus.STATUS_ABORTED

        def done(self):
            return True

        def result(self):
            return self

    class Unknown(Handle):
        status = GoalStatus.STATUS_UNKNOWN

    client, handle = PaperClient(), Handle()
    client.send_goal_async = lambda *_, **__: handle
    handle.get_result_async = Unknown
    request = GoalRequest(client, 'excite', Excite.Goal(), print, again=math.inf)
    assert not request.poll()
    with pytest.raises(SysidError, match='not known'):
        request.poll()
