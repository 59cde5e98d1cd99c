"""The identification node is active when a process has loaded what the first fit needs."""

import os
import signal
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState

from support.identification_bench import Setup, alive, children
from sysid_ros.msg import ResultCode

# More than a process of high priority takes to end, however busy the machine is.
AT_ONCE = 20.0


@pytest.fixture
def setup(ros):
    return Setup(ros)


def loading(setup):
    """The process that loads what fits need, held up until it is told to go on."""
    # Its node waits until it is another program than the one that was forked.
    setup.ros.wait(lambda: any(b'fit_worker' in command(child)
                               for child in children(setup.process)))
    (process,) = children(setup.process)
    os.kill(process, signal.SIGSTOP)
    # It answers when it is configured.
    setup.state()
    return process


def command(process):
    """Command line of a process; empty where it has ended."""
    try:
        return Path(f'/proc/{process}/cmdline').read_bytes()
    except OSError:
        return b''


def go_on(process):
    """Let a process load."""
    os.kill(process, signal.SIGCONT)


def standby(setup):
    """The process that is ready for the next fit, of a node that is active."""
    setup.active()
    setup.ros.wait(lambda: children(setup.process))
    (process,) = children(setup.process)
    return process


def change(setup, transition):
    """Ask for a transition; returns the future of its answer."""
    client = setup.ros.service(ChangeState, 'identification_node/change_state')
    return client.call_async(ChangeState.Request(transition=Transition(id=transition)))


def changed(setup, transition):
    """Whether a transition was made."""
    future = change(setup, transition)
    setup.ros.wait(future.done)
    return future.result().success


def test_the_node_waits_for_a_process_and_the_first_fit_is_done_by_it(setup):
    setup.node().robot()
    process = loading(setup)
    assert setup.state() == 'inactive'
    refused = setup.refused('is not ready yet (found the process for fits')
    assert refused.code == ResultCode.NOT_READY
    setup.said(DiagnosticStatus.OK, 'loading the process for fits')
    go_on(process)
    setup.record(6.0)
    handle, fit = setup.fitting()
    assert fit == process
    assert setup.ros.result(handle).success
    # The next one is ready before it is asked for.
    setup.ros.wait(lambda: children(setup.process))
    (following,) = children(setup.process)
    assert following != process
    _, fit = setup.fitting()
    assert fit == following


def test_a_lifecycle_manager_is_answered_when_the_node_is_ready(setup):
    setup.node(autostart=False)
    assert changed(setup, Transition.TRANSITION_CONFIGURE)
    process = loading(setup)
    go_on(process)
    assert changed(setup, Transition.TRANSITION_ACTIVATE)
    assert setup.state() == 'active'
    assert children(setup.process) == [process]


def test_a_node_that_is_deactivated_while_it_loads_can_be_activated_later(setup):
    setup.node()
    process = loading(setup)
    assert changed(setup, Transition.TRANSITION_DEACTIVATE)
    assert setup.state() == 'inactive'
    asked = change(setup, Transition.TRANSITION_ACTIVATE)
    setup.ros.spin(0.2)
    assert changed(setup, Transition.TRANSITION_DEACTIVATE)
    setup.ros.wait(asked.done)
    assert not asked.result().success
    go_on(process)
    assert changed(setup, Transition.TRANSITION_ACTIVATE)
    assert children(setup.process) == [process]
    # It has the process for the next fit, active or not.
    assert changed(setup, Transition.TRANSITION_DEACTIVATE)
    assert alive(process)
    assert changed(setup, Transition.TRANSITION_CLEANUP)
    assert not alive(process)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_node_that_ends_while_it_loads_takes_the_process_along(setup, number):
    setup.node()
    process = loading(setup)
    go_on(process)
    code = setup.ros.stop('identification_node', number, AT_ONCE)
    assert code == (-number if number == signal.SIGKILL else 0)
    setup.ros.wait(lambda: not alive(process), AT_ONCE)
    assert 'Traceback' not in setup.ros.output('identification_node')


def test_who_waits_for_a_node_that_ends_is_told(setup):
    setup.node(autostart=False)
    assert changed(setup, Transition.TRANSITION_CONFIGURE)
    loading(setup)
    asked = change(setup, Transition.TRANSITION_ACTIVATE)
    setup.ros.spin(0.2)
    assert setup.ros.stop('identification_node', signal.SIGINT, AT_ONCE) == 0
    setup.ros.wait(asked.done)
    assert not asked.result().success
    assert 'never awaited' not in setup.ros.output('identification_node')


def test_a_process_that_dies_while_it_loads_keeps_the_node_from_starting(setup):
    setup.node()
    os.kill(loading(setup), signal.SIGKILL)
    setup.ros.wait(lambda: setup.process.poll() is not None)
    assert setup.process.returncode == 1
    assert 'the process for fits is not ready (found its process ended with -9)' in (
        setup.ros.output('identification_node'))


def test_a_lifecycle_manager_is_told_of_a_process_that_dies_and_may_try_again(setup):
    setup.node(autostart=False)
    assert changed(setup, Transition.TRANSITION_CONFIGURE)
    process = loading(setup)
    asked = change(setup, Transition.TRANSITION_ACTIVATE)
    setup.ros.spin(0.2)
    os.kill(process, signal.SIGKILL)
    setup.ros.wait(asked.done)
    assert not asked.result().success
    assert setup.state() == 'inactive'
    setup.said(DiagnosticStatus.ERROR, 'its process ended with -9')
    assert changed(setup, Transition.TRANSITION_ACTIVATE)
    assert setup.state() == 'active'
    assert standby(setup) != process


def test_settings_that_no_process_can_fit_by_are_refused_at_the_start(setup):
    settings = setup.ros.folder / 'settings.yaml'
    settings.write_text(settings.read_text().replace('entropic', 'entropc'))
    setup.node()
    setup.ros.wait(lambda: setup.process.poll() is not None)
    assert setup.process.returncode == 1
    assert "'entropc'" in setup.ros.output('identification_node')


def test_a_process_that_dies_before_its_fit_is_replaced(setup):
    setup.node().robot()
    setup.record(6.0)
    process = standby(setup)
    os.kill(process, signal.SIGKILL)
    setup.said(DiagnosticStatus.WARN, 'the process for the next fit ended')
    # At once, by a process that loads while it works.
    handle, fit = setup.fitting()
    assert fit != process
    assert setup.ros.result(handle).success
    # After a pause there is one again.
    setup.ros.wait(lambda: 'the process for the next fit' not in setup.statuses[-1].message)
    assert alive(standby(setup))


def test_without_a_process_kept_ready_it_is_active_at_once_and_a_fit_begins_by_loading(setup):
    setup.recorder().robot()
    setup.active()
    assert not children(setup.process)
    setup.record(6.0)
    handle, fit = setup.fitting()
    assert alive(fit)
    assert setup.ros.result(handle).success
    setup.ros.wait(lambda: not alive(fit))
    setup.ros.spin(1.0)
    assert setup.state() == 'active' and not children(setup.process)


def test_a_fit_is_begun_again_where_its_process_dies_as_it_is_handed_over(setup):
    setup.node().robot()
    setup.record(6.0)
    process = standby(setup)
    # It is handed the fit, and never takes it.
    os.kill(process, signal.SIGSTOP)
    handle = setup.identify()
    setup.ros.wait(lambda: setup.statuses[-1].stage == 'Loading compiled functions')
    os.kill(process, signal.SIGKILL)
    handle, fit = setup.fitting(handle)
    assert fit != process
    assert setup.ros.result(handle).success
