"""FAULTS 59: whatever ends a write, the revision before it is intact and readable."""

import json
import os
import sqlite3
import subprocess
import sys

import pytest

from sysid_ros.errors import ReleaseError
from sysid_ros.release.revision import Content
from sysid_ros.release.store import RevisionStore
from sysid_ros.robot.parameters import Parameter, ParameterSet

KILLS = 200
NOBODY = 65534

# What the child processes share with this file.
CONTENT = """
import sys
from sysid_ros.release.revision import Content
from sysid_ros.release.store import RevisionStore
from sysid_ros.robot.parameters import Parameter, ParameterSet

PARAMETERS = ParameterSet.of([Parameter('arm.mass', 'kg', 1.0, lower=0.0)])

def content(name, size=40_000):
    return Content(name.encode() * (size // len(name)), PARAMETERS, 'ab' * 32, estimate=name)
"""

# Forks a process that commits in a loop, kills it, and looks at what it left; again and again.
KILLER = CONTENT + """
import json, os, random, select, signal, time
folder, kills = sys.argv[1], int(sys.argv[2])
random.seed(0)

def commit_without_end(path, pipe):
    with RevisionStore(path) as store:
        count = 0
        while True:
            count += 1
            os.write(pipe, b'begin\\n')
            base = store.current().id
            revision = store.commit(content(f'{os.getpid()}_{count}'), base)
            os.write(pipe, f'{revision.id}\\n'.encode())

def lines_of(pipe, seconds):
    ready, _, _ = select.select([pipe], [], [], seconds)
    return os.read(pipe, 65536).decode().split() if ready else []

result = {'within': 0, 'acknowledged': 0, 'lost': [], 'problems': [], 'unacknowledged': 0}
for kill in range(kills):
    path = f'{folder}/{kill // 8}.sqlite'
    if kill % 8 == 0:
        with RevisionStore(path) as store:
            store.begin(content('initial'))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        commit_without_end(path, writer)
    os.close(writer)
    lines = lines_of(reader, 10.0)
    started = time.monotonic()
    while len(lines) < 2:
        lines += lines_of(reader, 10.0)
    took = time.monotonic() - started
    time.sleep(random.uniform(0.0, 4.0) * took)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL, status
    while more := lines_of(reader, 0.0):
        lines += more
    os.close(reader)
    acknowledged = [line for line in lines if line != 'begin']
    result['acknowledged'] += len(acknowledged)
    result['within'] += lines[-1] == 'begin'
    with RevisionStore(path) as store:
        result['problems'] += store.verify()
        ids = [revision.id for revision in store.newest()]
        result['lost'] += [name for name in acknowledged if name not in ids]
        # At most the one under way may be there without having been acknowledged.
        extra = ids.index(acknowledged[-1]) if acknowledged[-1] in ids else -1
        result['unacknowledged'] += extra
        if extra not in (0, 1):
            result['problems'].append(f'{extra} revisions nobody heard of')
print(json.dumps(result))
"""

WRITE_WITHOUT_ROOM = CONTENT + """
import resource
path, room = sys.argv[1], int(sys.argv[2])
with RevisionStore(path) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    done = 0
    try:
        while done < 100:
            store.commit(content(f'fit_{done}'), store.current().id)
            done += 1
    except Exception as error:
        print(type(error).__name__, done, error)
    print('current', store.current().content.estimate, 'problems', store.verify())
"""

WRITE_UNPRIVILEGED = CONTENT + """
import os
os.setgid(65534)
os.setuid(65534)
try:
    store = RevisionStore(sys.argv[1])
    print('current', store.current().content.estimate)
    store.commit(content('fit_2'), store.current().id)
except Exception as error:
    print(type(error).__name__, error)
"""

COMMIT_MANY = CONTENT + """
with RevisionStore(sys.argv[1]) as store:
    for k in range(int(sys.argv[3])):
        while True:
            try:
                store.commit(content(f'{sys.argv[2]}_{k}', 1000), store.current().id)
                break
            except Exception as error:
                if type(error).__name__ != 'BaseChangedError':
                    raise
"""

PARAMETERS = ParameterSet.of([Parameter('arm.mass', 'kg', 1.0, lower=0.0)])


def content(name, size=40_000):
    return Content(name.encode() * (size // len(name)), PARAMETERS, 'ab' * 32, estimate=name)


def script(text, *arguments, seconds=120.0):
    return subprocess.run(
        [sys.executable, '-c', text, *map(str, arguments)], capture_output=True, text=True,
        timeout=seconds, check=False)


@pytest.fixture
def path(tmp_path):
    """A store with two revisions."""
    path = tmp_path / 'revisions.sqlite'
    with RevisionStore(path) as store:
        store.begin(content('initial'))
        store.commit(content('fit_1'), '')
    return path


def test_a_kill_in_the_middle_of_a_commit_leaves_every_acknowledged_revision(tmp_path):
    finished = script(KILLER, tmp_path, KILLS)
    assert finished.returncode == 0, finished.stderr
    result = json.loads(finished.stdout)
    assert result['problems'] == []
    assert result['lost'] == []
    assert result['acknowledged'] >= KILLS
    # Most kills came while a commit was under way, or the test would say nothing.
    assert result['within'] > KILLS // 2, result


@pytest.mark.parametrize('room', [30_000, 150_000, 400_000])
def test_a_full_disk_leaves_the_revision_before(path, room):
    finished = script(WRITE_WITHOUT_ROOM, path, room)
    assert finished.returncode == 0, finished.stderr
    first, second = finished.stdout.splitlines()
    kind, done, _ = first.split(' ', 2)
    assert kind == 'ReleaseError'
    assert 'space on the disk' in first
    newest = 'fit_1' if done == '0' else f'fit_{int(done) - 1}'
    assert second == f'current {newest} problems ()'
    with RevisionStore(path) as store:
        assert store.current().content.same_as(content(newest))
        assert store.verify() == ()
        store.commit(content('after'), store.current().id)


@pytest.mark.skipif(os.geteuid() != 0, reason='only root can become somebody else')
@pytest.mark.parametrize('beside', [False, True])
def test_without_permission_revisions_are_read_and_not_written(path, beside):
    # With another process at work there are files beside the store that hold the newest.
    keeper = RevisionStore(path) if beside else None
    if keeper:
        keeper.commit(content('fit_2'), keeper.current().id)
    for folder in (path.parent, *path.parent.parents[:3]):
        folder.chmod(0o755)
    finished = script(WRITE_UNPRIVILEGED, path)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines()[0] == f'current fit_{2 if beside else 1}'
    assert 'ReleaseError' in finished.stdout
    assert 'permissions' in finished.stdout
    if keeper:
        keeper.close()
    with RevisionStore(path) as store:
        assert len(store) == (3 if beside else 2)


def test_a_folder_that_does_not_exist_is_one_clear_error(tmp_path):
    with pytest.raises(ReleaseError, match='Check the folder'):
        RevisionStore(tmp_path / 'nowhere' / 'revisions.sqlite')
    with pytest.raises(ReleaseError, match='cannot be used'):
        RevisionStore(tmp_path)


@pytest.mark.parametrize('foreign', ['text', 'table', 'version'])
def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(tmp_path, path, foreign):
    if foreign == 'text':
        path = tmp_path / 'notes'
        path.write_text('Dear diary, ' * 500)
    elif foreign == 'table':
        path = tmp_path / 'foreign.sqlite'
        with sqlite3.connect(path) as connection:
            connection.execute('CREATE TABLE diary (entry TEXT)')
        connection.close()
    else:
        with sqlite3.connect(path) as connection:
            connection.execute('PRAGMA user_version = 99')
        connection.close()
    before = path.read_bytes()
    with pytest.raises(ReleaseError) as refused:
        RevisionStore(path)
    assert refused.value.fix
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_store(tmp_path):
    """That is what a kill leaves between making the file and writing into it."""
    path = tmp_path / 'revisions.sqlite'
    path.touch()
    with RevisionStore(path) as store:
        assert store.begin(content('initial')).number == 1


def test_a_flipped_byte_is_found_and_the_revision_before_is_readable(path):
    with RevisionStore(path) as store:
        first, second = (revision.id for revision in reversed(store.newest()))
    raw = bytearray(path.read_bytes())
    where = raw.rindex(b'fit_1fit_1')
    raw[where] ^= 1
    path.write_bytes(raw)
    with RevisionStore(path) as store:
        problem, = store.verify()
        assert problem.startswith('Revision 2 was altered')
        with pytest.raises(ReleaseError, match='altered after it was committed'):
            store.current()
        with pytest.raises(ReleaseError):
            store.get(second)
        assert store.get(first).content.same_as(content('initial'))
        with pytest.raises(ReleaseError):
            store.commit(content('fit_2'), '')
        assert len(store) == 2


@pytest.mark.parametrize('part', [0.0, 0.3, 0.7])
def test_a_truncated_file_is_one_clear_error_and_no_crash(path, part):
    raw = path.read_bytes()
    path.write_bytes(raw[:int(part * len(raw)) // 4096 * 4096 + 100])
    try:
        with RevisionStore(path) as store:
            assert store.verify() != ()
            with pytest.raises(ReleaseError):
                store.commit(content('fit_2'), '')
    except ReleaseError as error:
        assert error.fix  # noqa: PT017 (either way it is an error for people)


def test_processes_that_commit_at_once_all_get_their_turn(path):
    processes = [
        subprocess.Popen([sys.executable, '-c', COMMIT_MANY, str(path), str(k), '15'])
        for k in range(3)
    ]
    assert [process.wait(60.0) for process in processes] == [0, 0, 0]
    with RevisionStore(path) as store:
        estimates = [revision.content.estimate for revision in reversed(store.newest())][2:]
        assert sorted(estimates) == sorted(f'{k}_{i}' for k in range(3) for i in range(15))
        for k in range(3):
            mine = [name for name in estimates if name.startswith(f'{k}_')]
            assert mine == [f'{k}_{i}' for i in range(15)]
        assert store.verify() == ()


def test_a_store_that_another_process_holds_is_read_and_not_waited_for_without_end(path):
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute('BEGIN IMMEDIATE')
    with RevisionStore(path, patience=0.05) as store:
        assert store.current().content.estimate == 'fit_1'
        with pytest.raises(ReleaseError, match='locked.*try again'):
            store.commit(content('fit_2'), store.current().id)
        holder.execute('ROLLBACK')
        assert store.commit(content('fit_2'), store.current().id).number == 3
    holder.close()
