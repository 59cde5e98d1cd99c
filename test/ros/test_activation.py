"""A node is active when what it loads is there, and whoever asked for that is answered then."""

from typing import ClassVar

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState

from sysid_ros.errors import SysidError
from sysid_ros.msg import Heartbeat
from sysid_ros.nodes.node import SysidNode
from sysid_ros.nodes.settings import NodeSettings
from sysid_ros.srv import StartIdentification

CONFIGURE, CLEANUP = Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_CLEANUP
ACTIVATE, DEACTIVATE = Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_DEACTIVATE


class Library(SysidNode[NodeSettings]):
    settings_class: ClassVar = NodeSettings

    def __init__(self):
        self.missing, self.burnt, self.loads = 'volume 2', False, 0
        super().__init__('library')

    def configure(self):
        self.serve(StartIdentification, '~/start', lambda request, response: None)

    def load(self):
        self.loads += 1

    def loading(self):
        return self.missing

    def activate(self):
        if self.burnt:
            raise SysidError('volume 2 has burnt')


@pytest.fixture
def library(ros):
    """The node, in this process but heard through DDS, configured."""
    rclpy.init(context=rclpy.get_default_context(), domain_id=ros.domain)
    node = Library()
    ros.executor.add_node(node)
    node.trigger_configure()
    yield node
    ros.executor.remove_node(node)
    node.destroy_node()
    rclpy.try_shutdown()


def change(ros, **transition):
    """Ask for a transition; returns the future of its answer."""
    client = ros.service(ChangeState, 'library/change_state')
    return client.call_async(ChangeState.Request(transition=Transition(**transition)))


def answer(ros, future):
    ros.wait(future.done)
    return future.result().success


def state(ros):
    return ros.call(GetState, 'library/get_state').current_state.label


@pytest.mark.parametrize('transition', [{'id': ACTIVATE}, {'label': 'activate'}])
def test_who_activates_a_node_is_answered_when_all_is_loaded(ros, library, transition):
    beats = ros.hear(Heartbeat, 'sysid/heartbeat')
    asked = change(ros, **transition)
    ros.wait(lambda: library.loads)
    beats.clear()
    # Nothing else waits for it.
    ros.wait(lambda: len(beats) > 3)
    assert {beat.state for beat in beats} == {Heartbeat.INACTIVE}
    assert state(ros) == 'inactive'
    assert not asked.done()
    library.missing = ''
    assert answer(ros, asked)
    assert state(ros) == 'active'


def test_requests_are_refused_until_then_with_what_is_missing(ros, library):
    assert ros.call(StartIdentification, 'library/start').code == 'not_active'
    asked = change(ros, id=ACTIVATE)
    ros.wait(lambda: library.activation.pending)
    refused = ros.call(StartIdentification, 'library/start')
    assert (refused.success, refused.code) == (False, 'not_ready')
    assert 'not ready yet (found volume 2)' in refused.message
    library.missing = ''
    assert answer(ros, asked)
    assert ros.call(StartIdentification, 'library/start').success


def test_all_who_ask_are_answered(ros, library):
    asked = [change(ros, id=ACTIVATE) for _ in range(3)]
    decided = library.activation.request()
    ros.wait(lambda: library.loads == 4)
    library.missing = ''
    assert [answer(ros, one) for one in asked] == [True, True, True]
    assert decided.result() is True
    assert library.activation.settled
    # It is active already: there is no such transition any more.
    assert not answer(ros, change(ros, id=ACTIVATE))
    assert state(ros) == 'active'


def test_a_node_that_is_deactivated_while_it_loads_stays_inactive(ros, library):
    asked, decided = change(ros, id=ACTIVATE), library.activation.request()
    ros.wait(lambda: library.loads == 2)
    assert answer(ros, change(ros, id=DEACTIVATE))
    assert not answer(ros, asked)
    assert decided.result() is None
    library.missing = ''
    ros.spin(0.3)
    assert state(ros) == 'inactive'
    assert answer(ros, change(ros, id=ACTIVATE))


def test_a_node_that_is_cleaned_up_while_it_loads_is_gone(ros, library):
    asked = change(ros, id=ACTIVATE)
    ros.wait(lambda: library.activation.pending)
    assert answer(ros, change(ros, id=CLEANUP))
    assert not answer(ros, asked)
    library.missing = ''
    ros.spin(0.3)
    assert state(ros) == 'unconfigured'
    assert answer(ros, change(ros, id=CONFIGURE))
    assert answer(ros, change(ros, id=ACTIVATE))


def test_what_cannot_be_loaded_is_an_answer_and_an_error_diagnostic(ros, library):
    heard = ros.hear(DiagnosticArray, '/diagnostics')
    asked = change(ros, id=ACTIVATE)
    ros.wait(lambda: library.activation.pending)
    library.missing, library.burnt = '', True
    assert not answer(ros, asked)
    assert state(ros) == 'inactive'
    ros.wait(lambda: any('has burnt' in array.status[0].message for array in heard))
    library.burnt = False
    assert answer(ros, change(ros, id=ACTIVATE))
    ros.wait(lambda: 'has burnt' not in heard[-1].status[0].message)


def test_a_node_is_not_activated_past_what_is_missing(library):
    library.trigger_activate()
    assert library.inactive
    assert not library.active


def test_a_transition_that_does_not_exist_is_an_answer(ros, library):
    assert not answer(ros, change(ros, id=DEACTIVATE))
    assert not answer(ros, change(ros, label='evaporate'))
    assert state(ros) == 'inactive'
