"""Identification, model server and excitation in one process, beside the monitor: as apart."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest
from std_srvs.srv import SetBool

from support.guarded_robot import Guarded
from support.identification_bench import children
from support.ros_session import ros_session
from sysid_ros.action import Excite, Identify
from sysid_ros.msg import ExcitationStatus, Heartbeat, IdentificationStatus
from sysid_ros.release.store import RevisionStore
from sysid_ros.runs.sources import load_source
from sysid_ros.srv import (
    GetRevision,
    RollbackParameters,
    StartIdentification,
    StopIdentification,
)

NODES = ('identification_node', 'model_server', 'excitation_node')


@pytest.fixture(scope='module')
def session(tmp_path_factory):
    with ros_session(tmp_path_factory.mktemp('composed')) as ros:
        made = Guarded(ros, ros.folder, composed=True)
        made.recorded = ros.hear(IdentificationStatus, 'identification_node/status', 100)
        try:
            yield made.begin()
        finally:
            made.robot.end()


@pytest.fixture
def guarded(session):
    session.calm()
    return active(session)


def active(guarded):
    """Wait until all nodes are active."""
    guarded.ros.wait(lambda: all(
        guarded.state(name) in (Heartbeat.ACTIVE, Heartbeat.WORKING) for name in NODES))
    return guarded


def record(guarded, name, seconds=1.0):
    """Begin a recording, and wait until it has so many seconds."""
    answers = []

    def granted():
        answers.append(guarded.ros.call(
            StartIdentification, 'identification_node/start', recording=name))
        return answers[-1].success

    guarded.ros.wait(granted)
    guarded.ros.wait(lambda: guarded.recorded and (
        guarded.recorded[-1].recording == name and guarded.recorded[-1].duration > seconds))


def roll_back(guarded):
    """Have the store written to; the current revision."""
    answer = guarded.ros.call(RollbackParameters, 'model_server/rollback')
    assert answer.success or answer.code == 'unknown_id', answer.message
    return guarded.ros.call(GetRevision, 'model_server/get_revision').info.revision


def test_the_first_fit_has_the_process_that_was_begun_before_its_node(guarded):
    (process,) = children(guarded.ros.processes['sysid_nodes'])
    assert b'--early' in Path(f'/proc/{process}/cmdline').read_bytes()


def test_a_motion_goes_on_while_the_others_record_fit_and_write(guarded):
    guarded.play()
    record(guarded, 'beside', 3.0)
    stopped = guarded.ros.call(StopIdentification, 'identification_node/stop')
    assert stopped.success and not stopped.dropped, stopped.message
    revision = roll_back(guarded)
    handle = guarded.ros.send_goal(Identify, 'identification_node/identify', recording='beside')
    # What three seconds of this arm tell is no matter: a process has read them to the end.
    assert guarded.ros.result(handle).message
    assert guarded.ros.call(GetRevision, 'model_server/get_revision').info.revision == revision
    # On a busy machine a fit takes longer than the motion, which then has come to its end.
    if guarded.ended.done():
        assert guarded.ended.result().result.success, guarded.ended.result().result.message
    else:
        assert guarded.statuses[-1].phase == ExcitationStatus.PLAYING
    assert not guarded.requests


def test_42_when_their_process_is_killed_everything_is_stopped_and_nothing_is_lost(guarded):
    revision = roll_back(guarded)
    guarded.play()
    record(guarded, 'killed', 2.0)
    guarded.stop('excitation_node')
    # The robot's own controller brakes it; see the simulated robot.
    guarded.robot.v = np.full(3, 0.3)
    guarded.require_found('/excitation_node is silent')
    guarded.robot.v = np.zeros(3)
    with RevisionStore(guarded.folder / 'revisions.sqlite') as store:
        assert store.verify() == ()
        assert store.current_id() == revision
    # Their names are free at once, and nothing starts until a person has looked.
    guarded.start('excitation_node')
    active(guarded)
    told = len(guarded.robot.told)
    guarded.wait_for_words('/excitation_node is silent')
    guarded.ros.call(SetBool, 'excitation_node/arm', data=True)
    refused = guarded.ros.result(guarded.ros.send_goal(
        Excite, 'excitation_node/excite', motion='long', speed_scale=1.0))
    assert refused.code == 'not_ready' and 'is silent' in refused.message
    assert len(guarded.robot.told) == told
    assert guarded.ros.call(GetRevision, 'model_server/get_revision').info.revision == revision
    settings = guarded.folder / 'recordings' / 'killed' / 'settings.yaml'
    settings.write_text(settings.read_text().replace(
        'recording:\n', 'recording:\n  salvage: true\n'))
    assert load_source(settings.parent).recording().duration > 1.0


def test_43_when_the_monitor_is_killed_the_excitation_stops(guarded):
    guarded.play()
    guarded.stop('monitor_node')
    guarded.require_stopped('The monitor is silent')
    assert not guarded.robot.told[-1][1].any()
    assert guarded.runs('excitation_node')


def test_at_a_signal_the_robot_comes_to_rest_and_the_bag_is_complete(guarded):
    guarded.play()
    record(guarded, 'ended')
    assert guarded.stop('excitation_node', signal.SIGINT) == 0
    guarded.ros.wait(guarded.ended.done)
    assert 'deactivated' in guarded.ended.result().result.message
    assert guarded.robot.told and not guarded.robot.told[-1][1].any()
    assert load_source(guarded.folder / 'recordings' / 'ended').recording().duration > 0.5
