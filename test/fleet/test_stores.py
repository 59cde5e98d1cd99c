"""Recordings that lie in a store, here a web server and a folder, named by URLs."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from support.simulated_arm import SimulatedArm
from support.small_fleet import write_recording, write_settings
from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.fleet.batch import batch
from sysid_ros.fleet.pool import SerialPool
from sysid_ros.fleet.record import FitStatus
from sysid_ros.fleet.stores import StoredRecording, expanded

pytest.importorskip('fsspec', reason='stores are reached through fsspec')
pytest.importorskip('aiohttp', reason='fsspec reaches web servers through aiohttp')


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder, and notes what was read of it."""

    def __init__(self, *arguments, read, **options):
        self.read = read
        super().__init__(*arguments, **options)

    def do_GET(self):
        self.read.append(self.path)
        super().do_GET()

    def log_message(self, *_):
        """Nothing is printed."""


@pytest.fixture
def store(tmp_path):
    """Folder of a web server, its URL, and the paths that were read of it."""
    folder, read = tmp_path / 'store', []
    folder.mkdir()
    server = ThreadingHTTPServer(
        ('127.0.0.1', 0), partial(Handler, directory=str(folder), read=read))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield folder, f'http://127.0.0.1:{server.server_port}', read
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def arms(store, tmp_path):
    """``arms(line)``: a table of an arm, two recordings of which are in the store."""
    arm = SimulatedArm(3)
    write_settings(tmp_path / 'arm', arm)
    for name, seconds in (('monday', 8.0), ('tuesday', 9.0)):
        write_recording(store[0] / f'{name}.npz', arm, seconds=seconds)

    def write(recordings):
        table = tmp_path / 'robots.csv'
        table.write_text(f'robot,settings,recordings\narm,arm/settings.yaml,{recordings}\n')
        return table

    return write


def times_read(read, name):
    """How often a file was read."""
    return sum(path.endswith(name) for path in read)


def test_a_pattern_of_urls_is_a_fit_of_each_recording(arms, store, tmp_path):
    result = batch(arms(f'{store[1]}/*.npz'), tmp_path / 'fleet', pool=SerialPool())
    assert [record.status for record in result.records] == [FitStatus.COMMITTABLE] * 2
    assert [record.source for record in result.records] == [
        f'{store[1]}/monday.npz', f'{store[1]}/tuesday.npz']
    assert (result.runs / result.records[0].run / 'report.html').is_file()


def test_what_the_store_has_unchanged_is_neither_fitted_nor_fetched_again(arms, store, tmp_path):
    table, cache = arms(f'{store[1]}/monday.npz'), tmp_path / 'cache'
    first = batch(table, tmp_path / 'fleet', pool=SerialPool(), cache=cache)
    again = batch(table, tmp_path / 'fleet', pool=SerialPool(), cache=cache)
    assert (first.fitted, again.fitted) == (1, 0)
    assert times_read(store[2], 'monday.npz') == 1


def test_without_a_cache_nothing_stays_and_the_same_content_is_not_fitted_again(
    arms, store, tmp_path, monkeypatch
):
    monkeypatch.setenv('TMPDIR', str(tmp_path / 'temporary'))
    monkeypatch.setattr('tempfile.tempdir', None)
    (tmp_path / 'temporary').mkdir()
    table = arms(f'{store[1]}/monday.npz')
    first = batch(table, tmp_path / 'fleet', pool=SerialPool())
    again = batch(table, tmp_path / 'fleet', pool=SerialPool())
    assert (first.fitted, again.fitted) == (1, 0)
    assert not list((tmp_path / 'temporary').glob('sysid_fetched_*'))


def test_a_recording_that_the_store_replaced_is_fetched_and_fitted(arms, store, tmp_path):
    table, cache = arms(f'{store[1]}/monday.npz'), tmp_path / 'cache'
    batch(table, tmp_path / 'fleet', pool=SerialPool(), cache=cache)
    write_recording(store[0] / 'monday.npz', SimulatedArm(3), seconds=10.0)
    assert batch(table, tmp_path / 'fleet', pool=SerialPool(), cache=cache).fitted == 1


def test_a_recording_that_is_not_there_is_listed_and_holds_up_no_other(arms, store, tmp_path):
    result = batch(
        arms(f'{store[1]}/sunday.npz; {store[1]}/monday.npz'), tmp_path / 'fleet',
        pool=SerialPool())
    assert [record.status for record in result.records] == [
        FitStatus.FAILED, FitStatus.COMMITTABLE]
    assert 'there is no such recording in the store' in result.records[0].reason


def test_a_store_that_does_not_answer_is_a_reason_to_fail(arms, tmp_path):
    result = batch(
        arms('http://127.0.0.1:9/monday.npz'), tmp_path / 'fleet', pool=SerialPool())
    assert 'the store does not do it' in result.failed[0].reason


@pytest.mark.parametrize('url', ['nowhere://bucket/monday.npz', 'http://127.0.0.1:9/*.npz'])
def test_a_row_whose_store_cannot_be_reached_holds_up_no_other(arms, tmp_path, url):
    result = batch(arms(url), tmp_path / 'fleet', pool=SerialPool())
    assert len(result.failed) == 1


def test_a_folder_of_a_store_is_fetched_whole(tmp_path):
    bag = tmp_path / 'bags' / 'monday'
    (bag / 'more').mkdir(parents=True)
    (bag / 'metadata.yaml').write_text('a')
    (bag / 'more' / 'monday_0.mcap').write_text('b')
    (tmp_path / 'here').mkdir()
    target = StoredRecording.of(f'file://{bag}').fetch(tmp_path / 'here')
    assert (target.name, (target / 'metadata.yaml').read_text()) == ('monday', 'a')
    assert (target / 'more' / 'monday_0.mcap').read_text() == 'b'


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(RecordingError, match='no such recording'):
        StoredRecording.of(f'file://{tmp_path}/nowhere').fetch(tmp_path)


def test_the_state_of_a_file_changes_with_it(tmp_path):
    file = tmp_path / 'monday.csv'
    states = []
    for text in ('a', 'ab'):
        file.write_text(text)
        states.append(StoredRecording.of(f'file://{file}').state())
    assert all(states) and states[0] != states[1]


class Harmful:
    """A store that names files elsewhere."""

    def find(self, path):
        return [f'{path}/../../escaped.mcap']

    def get_file(self, file, target):
        raise AssertionError(target)


def test_a_store_cannot_write_outside_of_the_recording(tmp_path):
    with pytest.raises(RecordingError, match='not in the recording'):
        StoredRecording('x://bucket/bag', Harmful(), 'bucket/bag').fetch(tmp_path)


def test_a_question_mark_of_a_url_begins_a_query():
    assert expanded('https://host/a.npz?key=1') == ['https://host/a.npz?key=1']


def test_a_kind_of_store_that_is_not_known_is_said():
    with pytest.raises(ConfigurationError, match='no such kind of store'):
        StoredRecording.of('nowhere://bucket/a.npz')


def test_what_a_kind_of_store_needs_is_said(monkeypatch):
    import fsspec.core

    def lacking(_):
        raise ImportError('Install s3fs to access S3')

    monkeypatch.setattr(fsspec.core, 'url_to_fs', lacking)
    with pytest.raises(ConfigurationError, match='pip install s3fs'):
        StoredRecording.of('s3://bucket/a.npz')
