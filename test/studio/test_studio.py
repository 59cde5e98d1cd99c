"""The state that all browsers see: jobs, what is noted of them, and what a restart finds."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from support.report_runs import finished_run
from sysid_ros import __version__
from sysid_ros.errors import ConfigurationError, ReleaseError
from sysid_ros.studio import job_process
from sysid_ros.studio.folder import StudioFolder
from sysid_ros.studio.folder_lock import FolderLock
from sysid_ros.studio.jobs import CheckJob, ExportJob, StudioFitJob
from sysid_ros.studio.notes import Notes, fingerprint
from sysid_ros.studio.studio import Studio
from sysid_ros.studio.tasks import Phase, Task

# In place of the worker: what it says is what a file in its folder has.
WORKER = """
import json, pathlib, sys, time
def say(line):
    print(json.dumps(line), flush=True)
order = json.loads(sys.argv[1])
pathlib.Path('order.json').write_text(sys.argv[1])
plan = json.loads(pathlib.Path('plan.json').read_text())
try:
    for line in plan['lines']:
        say(line)
    time.sleep(plan.get('sleep', 0.0))
except KeyboardInterrupt:
    pathlib.Path('put_away').touch()
    sys.exit(130)
print(*plan.get('complaints', ()), file=sys.stderr)
sys.exit(plan.get('code', 0))
"""
FIT = StudioFitJob(recordings=('a.yaml',), output='runs/a')


@pytest.fixture
def folder(tmp_path):
    for name in ('a', 'b'):
        (tmp_path / f'{name}.yaml').write_text('recording: {file: x.csv}\n')
    return StudioFolder.open(tmp_path)


@pytest.fixture
def plan(folder, monkeypatch):
    """What the next process says; it sleeps where it is told to."""
    worker = folder.root / 'worker.py'
    worker.write_text(WORKER)
    monkeypatch.setattr(job_process, '_WORKER', worker)

    def write(*lines, **more):
        (folder.root / 'plan.json').write_text(json.dumps({'lines': lines, **more}))

    return write


async def until(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def test_a_job_goes_through_its_steps_and_its_result_is_there_after_a_restart(folder, plan):
    plan({'stage': 'Reading'}, {'part': ['rows', 1, 4]}, {'ended': 0.5}, {'stage': 'Fitting'},
         {'part': ['', 2, 4]}, {'ended': 1.5}, {'result': {'run': 'runs/a'}})

    async def work():
        studio = Studio(folder)
        version = studio.version
        task = studio.begin(FIT)
        assert studio.begin(FIT) is task and studio.fitting is task
        await until(lambda: not task.phase.active)
        assert studio.fitting is None and studio.version > version
        first, second = task.process.steps
        assert (first.text, first.seconds, first.what, first.count) == ('Reading', 0.5, 'rows', 4)
        assert (second.text, second.done, second.left()) == ('Fitting', 2, None)

    asyncio.run(work())
    again = Studio(folder).task('fit', 'fit')
    assert (again.phase, again.result, again.job) == (Phase.DONE, {'run': 'runs/a'}, FIT)
    order = json.loads((folder.root / 'order.json').read_text())
    assert order['command'] == again.command == 'sysid fit a.yaml --holdout 0.3 -o runs/a'
    assert order['parent'] == os.getpid()


def test_a_fit_is_stopped_as_ctrl_c_stops_it(folder, plan):
    plan({'stage': 'Fitting'}, sleep=60.0)

    async def work():
        studio = Studio(folder)
        task = studio.begin(FIT)
        await until(lambda: task.process is not None and task.process.steps)
        await studio.stop(task)
        await until(lambda: not task.phase.active)
        return task.phase

    assert asyncio.run(work()) is Phase.STOPPED
    assert (folder.root / 'put_away').exists()


def test_a_fit_that_is_stopped_before_its_process_is_there_does_not_run(folder, plan):
    plan({'result': {'run': 'runs/a'}}, sleep=60.0)

    async def work():
        studio = Studio(folder)
        task = studio.begin(FIT)
        while task.process is None:
            await asyncio.sleep(0)
        await studio.stop(task)
        await until(lambda: not task.phase.active)
        return task.phase

    assert asyncio.run(work()) is Phase.STOPPED


def test_what_cannot_be_noted_is_not_begun(folder, monkeypatch):
    def full(path, content):
        raise ReleaseError('cannot be written: No space left on device', where=str(path))

    monkeypatch.setattr('sysid_ros.studio.notes.write_atomically', full)

    async def work():
        studio = Studio(folder)
        with pytest.raises(ReleaseError, match='No space left'):
            studio.begin(FIT)
        assert studio.fitting is None
        studio.ensure(CheckJob(recording='a.yaml'))
        assert 'No space left' in studio.trouble

    asyncio.run(work())


def test_a_fit_ends_with_its_server_and_the_next_one_says_so(folder, plan):
    plan({'stage': 'Fitting'}, sleep=60.0)

    async def work():
        studio = Studio(folder)
        task = studio.begin(FIT)
        waiting = [studio.begin(CheckJob(recording=name)) for name in ('a.yaml', 'b.yaml')]
        await until(lambda: task.process is not None and task.process.steps)
        await studio.close()
        return [task.phase, *(one.phase for one in waiting)]

    assert set(asyncio.run(work())) == {Phase.INTERRUPTED}
    assert Studio(folder).task('fit', 'fit').phase is Phase.INTERRUPTED


def test_a_server_that_was_killed_leaves_a_fit_that_was_interrupted(folder, plan):
    plan({'stage': 'Fitting'}, sleep=60.0)

    async def work():
        studio = Studio(folder)
        task = studio.begin(FIT)
        await until(lambda: task.process is not None and task.process.steps)
        later = Studio(folder).task('fit', 'fit')
        await studio.stop(task)
        return later.phase

    assert asyncio.run(work()) is Phase.INTERRUPTED


@pytest.mark.parametrize(('lines', 'more', 'said'), [
    ([{'error': {'text': 'no robot', 'problem': 'no robot'}}], {'code': 1}, 'no robot'),
    ([], {'code': 3, 'complaints': ['Traceback', 'MemoryError']}, 'the process ended with 3')])
def test_an_error_is_noted_with_what_is_known_of_it(folder, plan, lines, more, said):
    plan(*lines, **more)

    async def work():
        studio = Studio(folder)
        task = studio.begin(FIT)
        await until(lambda: not task.phase.active)
        return task

    task = asyncio.run(work())
    assert task.phase is Phase.FAILED and task.error['problem'] == said
    if 'complaints' in more:
        assert 'MemoryError' in task.error['found']


def test_what_has_changed_since_is_old_and_done_again(folder, plan, monkeypatch):
    monkeypatch.setattr('sysid_ros.studio.studio._LOOK', 0.0)
    plan({'result': {'usable': True}})
    job = CheckJob(recording='a.yaml')

    async def work():
        studio = Studio(folder)
        studio.ensure(job)
        first = studio.task('check', 'a.yaml')
        await until(lambda: not first.phase.active)
        _ = studio.contents
        assert not studio.is_old(first)
        studio.ensure(job)
        assert studio.task('check', 'a.yaml') is first
        (folder.root / 'a.yaml').write_text('recording: {file: another.csv}\n')
        _ = studio.contents
        assert studio.is_old(first)
        studio.ensure(job)
        second = studio.task('check', 'a.yaml')
        assert second is not first and not studio.is_old(second)
        await until(lambda: not second.phase.active)

    asyncio.run(work())


@pytest.mark.parametrize('job', [
    CheckJob(recording='gone'), CheckJob(recording='../a.yaml'),
    StudioFitJob(recordings=('a.yaml', 'gone.yaml'), output='runs/a'),
    StudioFitJob(recordings=('a.yaml',), output='../elsewhere'),
    ExportJob(run='/etc', formats=('yaml',))])
def test_a_name_that_is_not_listed_is_refused(folder, job):
    async def work():
        with pytest.raises(ConfigurationError):
            Studio(folder).begin(job)

    asyncio.run(work())


def test_another_fit_waits_for_nobody_and_is_refused(folder, plan):
    plan({'stage': 'Fitting'}, sleep=60.0)

    async def work():
        studio = Studio(folder)
        task = studio.begin(FIT)
        with pytest.raises(ConfigurationError, match='another one is under way'):
            studio.begin(StudioFitJob(recordings=('b.yaml',), output='runs/b'))
        await until(lambda: task.process is not None)
        await studio.close()

    asyncio.run(work())


def test_choices_are_those_of_all_browsers_and_of_the_next_server(folder):
    studio = Studio(folder)
    studio.choose(recording='b.yaml', holdout=0.2)
    assert Studio(folder).choices.recording == 'b.yaml'
    assert Studio(folder).choices.holdout == 0.2
    version = studio.version
    studio.choose(recording='b.yaml')
    assert studio.version == version
    with pytest.raises(ConfigurationError, match='is not what can be chosen'):
        studio.choose(holdout=7.0)


def test_damaged_notes_are_as_if_nothing_were_noted(folder):
    notes = Notes(folder.notes)
    notes.write('choices', {'holdout': 'much'})
    for k, note in enumerate(({}, {'kind': 'fit'}, {'kind': 'no such'}, {
            'version': __version__, 'kind': 'fit', 'fields': {}, 'command': '', 'reads': '',
            'phase': 'done', 'asked': 0, 'ended': 0, 'result': None, 'error': None})):
        notes.write('tasks', note, f'{k}')
    (folder.notes / 'tasks' / 'damaged.json').write_bytes(b'\xff{')
    studio = Studio(folder)
    assert studio.task('fit', 'fit') is None
    assert studio.choices.holdout == 0.3


def test_what_another_version_has_noted_is_forgotten(folder):
    note = Task(FIT, asked=1.0).note()
    Notes(folder.notes).write('tasks', note, 'fit')
    assert Studio(folder).task('fit', 'fit') is not None
    Notes(folder.notes).write('tasks', note | {'version': '0.0.0'}, 'fit')
    assert Studio(folder).task('fit', 'fit') is None


def test_a_run_gets_a_name_that_is_free(folder):
    studio = Studio(folder)
    assert studio.free_run(studio.choices) == 'runs/a'
    (folder.root / 'runs/a').mkdir(parents=True)
    assert studio.free_run(studio.choices) == 'runs/a-2'
    studio.choose(estimator='entropic')
    assert studio.free_run(studio.choices) == 'runs/a-entropic'


def test_a_folder_has_one_server(folder):
    lock = FolderLock(folder)
    lock.tell({'host': '127.0.0.1', 'port': 8421})
    with pytest.raises(ConfigurationError, match=r'at http://127\.0\.0\.1:8421'):
        FolderLock(folder)
    lock.release()
    FolderLock(folder).release()


def test_a_fingerprint_changes_with_a_file_in_a_folder(tmp_path):
    (tmp_path / 'bag').mkdir()
    before = fingerprint({'bag': tmp_path / 'bag'})
    (tmp_path / 'bag' / 'data.mcap').write_bytes(b'x')
    assert fingerprint({'bag': tmp_path / 'bag'}) != before
    assert fingerprint({'gone': tmp_path / 'gone'}) == fingerprint({'gone': tmp_path / 'other'})


def test_the_worker_ends_with_whoever_started_it(tmp_path):
    """A parent that is killed leaves no process that fits on."""
    shutil.copytree(finished_run().parent, tmp_path / 'data')
    program = (
        'import json, os, subprocess, sys, time\n'
        'order = json.dumps({"kind": "check", "fields": {"recording": "settings.yaml"}, '
        '"command": "", "parent": os.getpid()})\n'
        f'child = subprocess.Popen([sys.executable, "-P", {str(job_process._WORKER)!r}, order], '
        'stdout=subprocess.PIPE)\n'
        'child.stdout.readline()\n'
        'print(child.pid, flush=True)\n'
        'time.sleep(60)\n')
    # A step is told once the modules are loaded; the check takes longer than a kill.
    with subprocess.Popen(
            [sys.executable, '-c', program], cwd=tmp_path / 'data',
            stdout=subprocess.PIPE) as parent:
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    end = time.monotonic() + 60.0
    while _runs(child):
        assert time.monotonic() < end
        time.sleep(0.05)


def _runs(process):
    try:
        with open(f'/proc/{process}/stat') as file:
            return file.read().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False
