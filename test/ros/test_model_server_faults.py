"""FAULTS 56 to 61 at the model server: what is refused, with which code, and what stays intact."""

import json
import resource
import signal
import sqlite3

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from std_msgs.msg import String

from sysid_ros.msg import ResultCode
from sysid_ros.nodes.node import LATCHED
from sysid_ros.release.store import RevisionStore
from sysid_ros.runs.judged import KEY, digests
from sysid_ros.srv import CommitParameters


def edit(folder, name, change):
    """Change a file of a run, and let its verdict belong to what it is then."""
    for file, edited in ((name, change), ('verdict.json', lambda data: data.update(
            {KEY: digests(folder)}))):
        data = json.loads((folder / file).read_text(encoding='utf-8'))
        edited(data)
        (folder / file).write_text(json.dumps(data), encoding='utf-8')


def refused(answer, code):
    assert (answer.success, answer.code) == (False, code), answer.message
    assert answer.revision == ''
    return answer.message


def test_54_56_57_what_must_not_be_handed_over_is_refused_and_what_is_not_known_is_listed(server):
    def spoil(data):
        k = data['parameters']['names'].index('forearm.inertia_xx')
        data['parameters']['values'][k] = -0.01

    edit(server.copy('bad'), 'estimate.json', spoil)
    edit(server.copy('poor'), 'verdict.json', lambda data: data.update(
        committable=False, reasons=['It is worse than the prior.'], next_steps=['Record more.']))
    server.copy('good')
    heard = server.start()
    message = refused(server.commit(estimate='bad'), ResultCode.INCONSISTENT)
    assert 'forearm' in message
    message = refused(server.commit(estimate='poor'), ResultCode.NOT_COMMITTABLE)
    assert 'worse than the prior' in message
    assert 'Record more' in message
    assert len(heard) == 1
    assert len(server.list().revisions) == 1
    answer = server.commit(estimate='good')
    assert answer.success, answer.message
    assert {'shoulder.mass', 'shoulder.first_moment_x'} <= set(answer.kept)
    assert not any(name.endswith('viscous_friction') for name in answer.kept)


def test_58_under_a_moving_robot_nothing_changes_unless_it_is_asked_for_as_pending(ros, server):
    server.copy('fit_1')
    heard = server.start()
    server.robot.speed = 0.1
    ros.spin(0.4)
    message = refused(server.commit(estimate='fit_1'), ResultCode.ROBOT_MOVING)
    assert 'joint' in message
    assert 'pending' in message
    assert len(heard) == 1
    answer = server.commit(estimate='fit_1', pending=True)
    assert answer.success, answer.message
    assert answer.outdated == ['/test_client']
    assert 'Another revision still runs in /test_client' in answer.message
    ros.wait(lambda: heard[-1].revision == answer.revision)
    # What may stop a robot from shaking is never refused because it shakes.
    assert server.rollback().success


def test_58_where_nobody_says_whether_the_robot_moves_it_is_not_taken_for_granted(ros, server):
    server.copy('fit_1')
    server.start()
    server.robot.timer.cancel()
    ros.spin(0.8)
    message = refused(
        server.call(CommitParameters, 'commit', estimate='fit_1'), ResultCode.NOT_READY)
    assert '/joint_states' in message
    assert server.commit(estimate='fit_1', pending=True).success


def test_59_a_fit_on_a_base_that_has_changed_is_refused(server):
    server.copy('fit_1')
    server.copy('fit_2')
    server.start()
    first = server.commit(estimate='fit_1')
    message = refused(server.commit(estimate='fit_2'), ResultCode.BASE_CHANGED)
    assert first.revision in message
    server.copy('fit_3', base_revision='7-unknown')
    refused(server.commit(estimate='fit_3'), ResultCode.UNKNOWN_ID)
    server.copy('fit_4', base_revision=first.revision)
    again = server.commit(estimate='fit_4')
    assert again.success, again.message
    assert server.commit(estimate='fit_4').revision == again.revision
    assert len(server.list().revisions) == 3


def test_59_a_server_killed_in_mid_commit_comes_back_with_a_whole_revision(ros, server):
    server.copy('fit_1')
    heard = server.start()
    initial = heard[-1].revision
    client = ros.service(CommitParameters, 'model_server/commit')
    client.call_async(CommitParameters.Request(estimate='fit_1'))
    ros.spin(0.03)
    ros.stop('model_server', signal.SIGKILL)
    with RevisionStore(server.data / 'revisions.sqlite') as store:
        assert store.verify() == ()
        current = store.current().id
        assert len(store) == (1 if current == initial else 2)
    heard = server.start()
    ros.wait(lambda: heard[-1].revision == current)
    answer = server.commit(estimate='fit_1')
    assert answer.success, answer.message
    assert len(server.list().revisions) == 2


def test_59_on_a_full_disk_the_revision_before_stays_and_is_handed_out(ros, server):
    """The process may not write files longer than they are: what a full disk is to it."""
    server.copy('fit_1')
    heard = server.start()
    initial = server.get().info.revision
    process = ros.processes['model_server'].pid
    _, most = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (40_000, most))
    message = refused(server.commit(estimate='fit_1'), ResultCode.STORAGE)
    assert 'space on the disk' in message
    assert server.get().info.revision == initial
    assert len(heard) == 1
    with RevisionStore(server.data / 'revisions.sqlite') as store:
        assert store.verify() == ()
        assert len(store) == 1
    resource.prlimit(process, resource.RLIMIT_FSIZE, (most, most))
    answer = server.commit(estimate='fit_1')
    assert answer.success, answer.message


def test_60_a_rollback_is_a_revision_and_gives_the_same_bytes(ros, server, fits):
    server.copy('fit_1')
    server.start(publish_description=True)
    descriptions = ros.hear(String, '/robot_description', LATCHED)
    initial = server.get().info.revision
    first = server.commit(estimate='fit_1')
    description = server.get().description
    back = server.rollback(revision=initial)
    assert back.success
    assert back.revision not in (initial, first.revision)
    assert server.get().description.encode() == fits.arm.description.encode()
    forth = server.rollback(revision=first.revision)
    assert server.get().description == description
    ros.wait(lambda: descriptions and descriptions[-1].data == description)
    message = refused(server.rollback(revision='3-deadbeef'), ResultCode.UNKNOWN_ID)
    for revision in (initial, first.revision, back.revision, forth.revision):
        assert revision in message


def test_61_names_are_ids_and_texts_have_an_end(server):
    server.copy('fit_1')
    outside = server.data.parent / 'outside'
    (server.data / 'estimates' / 'fit_1').rename(outside)
    (server.data / 'estimates' / 'link').symlink_to(outside)
    server.start()
    for name in ('../outside', str(outside), 'link', 'x' * 65, 'a/b', '.', ''):
        refused(server.commit(estimate=name), ResultCode.INVALID_REQUEST)
    current = server.get().info.revision
    for name in ('x' * 257, 'x' * 2_000_000):
        answer = server.acknowledge(consumer=name, revision=current)
        assert answer.code == ResultCode.INVALID_REQUEST
    assert server.get(revision='x' * 2_000_000).code == ResultCode.INVALID_REQUEST
    assert server.get(revision="' OR 1=1 --").code == ResultCode.UNKNOWN_ID
    assert server.rollback(comment='x' * 2001).code == ResultCode.INVALID_REQUEST
    assert len(server.list().revisions) == 1


def test_80_a_store_that_is_cut_under_a_running_server_hands_nothing_older_out(ros, server):
    server.copy('fit_1')
    heard = server.start()
    initial = heard[-1].revision
    newest = server.commit(estimate='fit_1').revision
    ros.wait(lambda: heard[-1].revision == newest)
    diagnostics = ros.hear(DiagnosticArray, '/diagnostics')
    before = len(heard)
    connection = sqlite3.connect(server.data / 'revisions.sqlite', isolation_level=None)
    connection.execute('DROP TRIGGER no_delete')
    connection.execute('DELETE FROM revisions WHERE number = 2')
    connection.close()
    ros.wait(lambda: any(
        status.level == DiagnosticStatus.ERROR
        and f'Revision {newest} was handed out, and it is missing' in status.message
        for array in diagnostics for status in array.status))
    assert len(heard) == before
    for answer in (server.get(), server.commit(estimate='fit_1'), server.rollback()):
        assert (answer.success, answer.code) == (False, ResultCode.STORAGE)
        assert f'Revision {newest} was handed out' in answer.message
    # What is there is still shown.
    assert server.get(revision=initial).success
    ros.spin(1.2)
    assert len(heard) == before
