"""The model server as a process: commits, rolls back, hands out, and knows who runs what."""

import hashlib
import math
import sqlite3
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from std_msgs.msg import String

from sysid_ros.estimation.identification import Identification
from sysid_ros.msg import Heartbeat, IdentifiedParameters, ResultCode, RevisionInfo
from sysid_ros.nodes.conversions import parameters_from_message
from sysid_ros.nodes.model_server_settings import ModelServerSettings
from sysid_ros.nodes.node import LATCHED
from sysid_ros.release.store import RevisionStore
from sysid_ros.srv import CommitParameters


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_commit_hand_out_acknowledge_and_roll_back(ros, server, fits):
    server.copy('fit_1')
    heard = server.start(publish_description=True)
    descriptions = ros.hear(String, '/robot_description', LATCHED)
    initial = server.get()
    assert initial.success, initial.message
    assert initial.info.kind == RevisionInfo.INITIAL
    assert initial.description == fits.arm.description
    assert heard[-1].revision == initial.info.revision
    assert initial.outdated == ['/test_client']

    answer = server.commit(estimate='fit_1', comment='first')
    assert answer.success, answer.message
    assert 'shoulder.first_moment_x' in answer.kept
    assert answer.outdated == ['/test_client']
    assert math.isnan(answer.candidate_error)
    ros.wait(lambda: heard[-1].revision == answer.revision)
    assert heard[-1].estimate == 'fit_1'
    got = server.get(revision=answer.revision)
    assert str(got.parameters) == str(heard[-1])  # NaN does not equal itself
    assert sha256(got.description) == got.info.description_sha256
    assert (got.info.kind, got.info.comment) == (RevisionInfo.COMMIT, 'first')
    assert (got.info.parent, got.info.estimate) == (initial.info.revision, 'fit_1')
    assert got.info.current
    ros.wait(lambda: descriptions[-1].data == got.description)

    # What a controller makes of the message is what was estimated, up to what the prior keeps.
    model = Identification.load(fits.settings).model()
    parameters = parameters_from_message(heard[-1], model)
    with RevisionStore(server.data / 'revisions.sqlite') as store:
        stored = store.current().content.parameters
    np.testing.assert_allclose(parameters.values, stored.values, atol=1e-12)

    done = server.acknowledge(consumer='/test_client', revision=answer.revision)
    assert done.success, done.message
    assert server.get().acknowledged == ['/test_client']
    assert server.get().outdated == []
    again = server.commit(estimate='fit_1')
    assert again.success
    assert again.revision == answer.revision
    assert again.outdated == []

    back = server.rollback(comment='just to try')
    assert back.success, back.message
    assert back.outdated == ['/test_client']
    ros.wait(lambda: heard[-1].revision == back.revision)
    restored = server.get()
    assert restored.description == fits.arm.description
    assert restored.info.kind == RevisionInfo.ROLLBACK
    assert restored.info.restored == initial.info.revision
    ros.wait(lambda: descriptions[-1].data == fits.arm.description)
    revisions = server.list().revisions
    assert [r.revision for r in revisions] == [
        back.revision, answer.revision, initial.info.revision]
    assert [r.current for r in revisions] == [True, False, False]
    assert len(server.list(limit=1).revisions) == 1


def test_a_rollback_that_is_asked_for_again_gives_the_same_revision(server):
    server.start()
    initial = server.get().info.revision
    first, again = server.rollback(revision=initial), server.rollback(revision=initial)
    assert again.success and again.revision == first.revision
    assert len(server.list().revisions) == 2


def test_a_revision_survives_the_end_of_the_process(ros, server):
    server.copy('fit_1')
    server.start()
    revision = server.commit(estimate='fit_1').revision
    assert ros.stop('model_server') == 0
    heard = server.start()
    ros.wait(lambda: heard[-1].revision == revision)
    with RevisionStore(server.data / 'revisions.sqlite') as store:
        assert store.verify() == ()


def test_the_shadow_test_needs_motion_and_is_won_by_the_better_set(server):
    server.copy('fit_1')
    server.start()
    still = server.commit(estimate='fit_1', shadow_duration=4.0)
    assert (still.success, still.code) == (False, ResultCode.SHADOW_LOST)
    assert 'allowed 4 s' in still.message
    server.robot.move(6.0)
    won = server.commit(estimate='fit_1', shadow_duration=4.0)
    assert won.success, won.message
    assert won.candidate_error < 0.5 * won.current_error
    # The same shadow test is lost by what it has just beaten.
    server.copy('fit_2', base_revision=won.revision)
    lost = server.commit(estimate='fit_2', shadow_duration=4.0)
    assert (lost.success, lost.code) == (False, ResultCode.SHADOW_LOST)
    assert lost.candidate_error == lost.current_error < 0.01
    assert 'beyond chance' in lost.message
    # And data that was fitted does not count.
    server.copy('fit_3', base_revision=won.revision, recording_end=time.time_ns())
    early = server.commit(estimate='fit_3', shadow_duration=4.0)
    assert early.code == ResultCode.SHADOW_LOST
    assert 'since the fitted recording ended' in early.message


def test_a_commit_judges_again_beside_the_node(ros, server, fits):
    """While a process of its own does, the node goes on with its heartbeats."""
    def heavier(data):
        k = data['parameters']['names'].index('forearm.mass')
        data['parameters']['values'][k] *= 1.5

    fits.edit(server.copy('edited'), 'estimate.json', heavier)
    server.copy('fit_1')
    server.start()
    beats = ros.hear(Heartbeat, 'sysid/heartbeat', 100)
    ros.wait(lambda: beats)
    refused = server.commit(estimate='edited')
    assert (refused.success, refused.code) == (False, ResultCode.NOT_COMMITTABLE)
    assert 'its base parameters are not those of its parameters' in refused.message
    working = [beat for beat in beats if beat.state == Heartbeat.WORKING]
    assert len(working) >= 3
    granted = server.commit(estimate='fit_1')
    assert granted.success, granted.message
    assert 'Judged again by its recordings' in granted.message


def test_a_commit_by_the_action_tells_its_stages_and_gives_what_the_service_does(server):
    server.copy('fit_1')
    server.start()
    server.robot.move(6.0)
    stages = []
    _, won = server.commit_by_action(
        lambda message: stages.append(message.feedback), estimate='fit_1', shadow_duration=4.0)
    assert (won.success, won.code) == (True, ResultCode.OK), won.message
    assert won.candidate_error < 0.5 * won.current_error
    assert 'shoulder.first_moment_x' in won.kept
    assert 'Judged again by its recordings' in won.message
    assert server.get().info.revision == won.revision
    assert [one.progress for one in stages] == sorted(one.progress for one in stages)
    for words in ('Reading the estimate', 'Judging', 'beside the current revision', 'Writing'):
        assert any(words in one.stage for one in stages), words
    again = server.commit(estimate='fit_1')
    assert again.revision == won.revision


def test_a_commit_that_is_cancelled_leaves_the_store_as_it_was(server):
    server.copy('fit_1')
    server.start()
    # NaN does not equal itself.
    before = str(server.list().revisions)
    stages = []
    handle, result = server.commit_by_action(
        lambda message: stages.append(message.feedback.stage), estimate='fit_1',
        cancel=lambda: stages)
    assert (result.success, result.code, result.revision) == (False, ResultCode.CANCELLED, '')
    assert handle.status == GoalStatus.STATUS_CANCELED
    assert str(server.list().revisions) == before
    with RevisionStore(server.data / 'revisions.sqlite') as store:
        assert store.verify() == () and len(store) == 1
    # It is free for the next one at once.
    assert server.commit(estimate='fit_1').success


def test_an_estimate_without_its_recordings_is_taken_only_where_that_is_allowed(
    ros, server, fits
):
    folder = server.copy('fit_1')
    settings = yaml.safe_load((folder / 'settings.yaml').read_text())
    settings['folder'] = str(server.data / 'thrown_away')
    (folder / 'settings.yaml').write_text(yaml.safe_dump(settings))
    fits.edit(folder, 'estimate.json', lambda data: None)
    server.start()
    refused = server.commit(estimate='fit_1')
    assert (refused.success, refused.code) == (False, ResultCode.NOT_COMMITTABLE)
    assert 'recordings cannot be read any more' in refused.message
    assert 'recordings_required' in refused.message
    ros.stop('model_server')
    server.start(recordings_required=False)
    allowed = server.commit(estimate='fit_1')
    assert allowed.success, allowed.message
    assert 'the verdict was taken as it was written' in allowed.message


BAD_REQUESTS = (
    ({'estimate': 'nothing'}, ResultCode.UNKNOWN_ID),
    ({'estimate': '../estimates/fit_1'}, ResultCode.INVALID_REQUEST),
    ({'estimate': ''}, ResultCode.INVALID_REQUEST),
    ({'estimate': 'fit_1', 'shadow_duration': math.nan}, ResultCode.INVALID_REQUEST),
    ({'estimate': 'fit_1', 'shadow_duration': -1.0}, ResultCode.INVALID_REQUEST),
    ({'estimate': 'fit_1', 'shadow_duration': 1e6}, ResultCode.INVALID_REQUEST),
    ({'estimate': 'fit_1', 'shadow_duration': 0.1}, ResultCode.INVALID_REQUEST),
    ({'estimate': 'fit_1', 'comment': 'x' * 5000}, ResultCode.INVALID_REQUEST),
    ({'estimate': 'fit_1', 'comment': 'x' * 2_000_000}, ResultCode.INVALID_REQUEST),
)


def test_requests_that_make_no_sense_are_refused_with_a_code(server):
    server.copy('fit_1')
    server.start()
    for fields, code in BAD_REQUESTS:
        answer = server.commit(**fields)
        assert (answer.success, answer.code) == (False, code), (fields, answer.message)
        assert answer.message
    assert server.rollback(revision='9-0').code == ResultCode.UNKNOWN_ID
    assert server.rollback().code == ResultCode.UNKNOWN_ID
    assert server.get(revision='9-0').code == ResultCode.UNKNOWN_ID
    unknown = server.acknowledge(consumer='/me', revision='9-0')
    assert unknown.code == ResultCode.UNKNOWN_ID
    current = server.get().info.revision
    for consumer in ('', 'x' * 300):
        refused = server.acknowledge(consumer=consumer, revision=current)
        assert refused.code == ResultCode.INVALID_REQUEST
    assert len(server.list().revisions) == 1


def test_consumers_that_were_there_once_stay_outdated_until_they_acknowledge(ros, server):
    server.copy('fit_1')
    server.start()
    first = server.get().info.revision
    assert server.acknowledge(consumer='/gone', revision=first).success
    # Whoever looks on from a terminal runs nothing.
    onlooker = Node('_ros2cli_1', context=ros.context)
    onlooker.create_subscription(
        IdentifiedParameters, 'model_server/identified_parameters', lambda _: None, 1)
    answer = server.commit(estimate='fit_1')
    onlooker.destroy_node()
    assert set(answer.outdated) == {'/gone', '/test_client'}
    diagnostics = ros.hear(DiagnosticArray, '/diagnostics')
    ros.wait(lambda: any(
        status.level == DiagnosticStatus.WARN and '/gone' in status.message
        for array in diagnostics for status in array.status))


def test_what_another_process_commits_is_handed_out(ros, server):
    heard = server.start()
    with RevisionStore(server.data / 'revisions.sqlite') as store:
        revision = store.rollback(store.current().id, 'from outside').id
    ros.wait(lambda: heard[-1].revision == revision)


@pytest.mark.parametrize(('parameters', 'problem'), [
    ({'robot': ''}, "the parameter 'robot' is empty"),
    ({'robot': '/nowhere/robot.yaml'}, 'cannot be read'),
])
def test_a_node_that_cannot_start_says_why(ros, server, parameters, problem):
    server.start(wait=False, **parameters)
    process = ros.processes['model_server']
    ros.wait(lambda: process.poll() is not None)
    assert process.returncode == 1
    assert problem in ros.output('model_server')


def test_a_store_of_another_robot_is_not_gone_on_with(ros, server, fits, tmp_path):
    server.start()
    ros.stop('model_server')
    other = tmp_path / 'other'
    other.mkdir()
    text = Path(fits.settings).read_text(encoding='utf-8')
    (other / 'settings.yaml').write_text(text, encoding='utf-8')
    (other / 'arm.urdf').write_text(
        fits.arm.description.replace('<mass value="1.1"', '<mass value="1.2"'), encoding='utf-8')
    server.start(wait=False, robot=str(other / 'settings.yaml'))
    process = ros.processes['model_server']
    ros.wait(lambda: process.poll() is not None)
    assert 'belong to another robot description' in ros.output('model_server')


def test_a_damaged_store_hands_nothing_out_and_still_shows_what_is_sound(ros, server):
    server.copy('fit_1')
    server.start()
    revision = server.commit(estimate='fit_1').revision
    ros.stop('model_server')
    connection = sqlite3.connect(server.data / 'revisions.sqlite', isolation_level=None)
    connection.execute('DROP TRIGGER no_update')
    connection.execute("UPDATE revisions SET record = REPLACE(record, 'fit_1', 'fit_9')")
    connection.close()
    server.start(wait=False)
    diagnostics = ros.hear(DiagnosticArray, '/diagnostics')
    ros.wait(lambda: diagnostics)
    assert server.get(revision=revision).code == ResultCode.STORAGE
    assert server.get().code == ResultCode.STORAGE
    with RevisionStore(server.data / 'revisions.sqlite') as store:
        first = store.initial().id
    assert server.get(revision=first).success
    for answer in (server.commit(estimate='fit_1'), server.rollback(revision=first)):
        assert (answer.success, answer.code) == (False, ResultCode.STORAGE)
        assert 'Revision 2 was altered' in answer.message
    ros.wait(lambda: any(
        status.level == DiagnosticStatus.ERROR and 'Revision 2 was altered' in status.message
        for array in diagnostics for status in array.status))
    beats = ros.hear(Heartbeat, 'sysid/heartbeat')
    ros.wait(lambda: any(
        beat.node == '/model_server' and beat.state == Heartbeat.ERROR for beat in beats))
    assert 'the store is damaged: Revision 2 was altered' in ros.output('model_server')


def test_the_config_file_lists_every_parameter_at_its_default(project):
    text = (project / 'config' / 'model_server.yaml').read_text(encoding='utf-8')
    listed = yaml.safe_load(text)['/**']['ros__parameters']
    assert listed == ModelServerSettings().model_dump()
    assert list(listed) == list(ModelServerSettings.model_fields)


def test_a_signal_in_mid_commit_waits_for_its_answer(ros, server):
    server.copy('fit_1')
    server.start()
    client = ros.service(CommitParameters, 'model_server/commit')
    future = client.call_async(CommitParameters.Request(estimate='fit_1', pending=True))
    heartbeats = ros.hear(Heartbeat, 'sysid/heartbeat', 100)
    ros.wait(lambda: future.done() or any(
        beat.state == Heartbeat.WORKING for beat in heartbeats), 5.0, required=False)
    assert ros.stop('model_server') == 0
    with RevisionStore(server.data / 'revisions.sqlite') as store:
        assert store.verify() == ()
        committed = len(store) == 2
    ros.wait(future.done, 5.0, required=committed)
    if future.done():
        assert future.result().success == committed
        assert bool(future.result().revision) == committed
