"""Finished recordings and estimates are copied into a store once, and whole."""

import json
import os

import pytest

from sysid_ros.cli.main import main
from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.fleet.shipping import ship
from sysid_ros.fleet.stores import StoredRecording

pytest.importorskip('fsspec', reason='stores are reached through fsspec')


@pytest.fixture
def data(tmp_path):
    """A data folder with a recording, an estimate, and a recording that is under way."""
    for name, files in (
        ('recordings/monday', ('monday_0.mcap', 'metadata.yaml')),
        ('recordings/now', ('now_0.mcap',)), ('estimates/first', ('estimate.json', 'verdict.json')),
    ):
        folder = tmp_path / 'data' / name
        folder.mkdir(parents=True)
        for file in files:
            (folder / file).write_text(f'{name}/{file}')
    return tmp_path / 'data'


@pytest.fixture
def url(tmp_path):
    """A folder as a store."""
    return f'file://{tmp_path}/store/arm'


def test_what_is_finished_is_copied_and_what_is_not_is_left(data, url, tmp_path):
    shipment = ship(data, url)
    assert shipment.sent == ('recordings/monday', 'estimates/first')
    assert shipment.unfinished == ('recordings/now',)
    store = tmp_path / 'store' / 'arm'
    assert sorted(str(path.relative_to(store)) for path in store.rglob('*') if path.is_file()) == [
        'estimates/first/estimate.json', 'estimates/first/verdict.json',
        'recordings/monday/metadata.yaml', 'recordings/monday/monday_0.mcap']
    assert (store / 'recordings/monday/monday_0.mcap').read_text() == (
        'recordings/monday/monday_0.mcap')


def test_nothing_is_copied_twice_unless_it_changed(data, url):
    ship(data, url)
    again = ship(data, url)
    assert (again.sent, again.there) == ((), 2)
    file = data / 'estimates' / 'first' / 'verdict.json'
    file.write_text('judged anew')
    assert ship(data, url).sent == ('estimates/first',)
    assert ship(data, f'{url}_2').sent == ('recordings/monday', 'estimates/first')


def test_the_file_that_completes_a_recording_comes_last(data, url, monkeypatch):
    names = []

    class Store:
        def makedirs(self, *_):
            pass

        def put_file(self, file, target):
            names.append(target)

    StoredRecording('x://lab/a', Store(), 'lab/a').send(
        data / 'recordings' / 'monday', 'metadata.yaml')
    assert names == ['lab/a/monday_0.mcap', 'lab/a/metadata.yaml']


def test_what_was_interrupted_is_copied_again(data, url, monkeypatch):
    def cut(*_):
        raise RecordingError('the line is cut')

    monkeypatch.setattr(StoredRecording, 'send', cut)
    with pytest.raises(RecordingError):
        ship(data, url)
    monkeypatch.undo()
    assert ship(data, url).sent == ('recordings/monday', 'estimates/first')


@pytest.mark.parametrize('text', ['', '{', '[1]', '{"a": 1}', '{"a": null}'])
def test_a_damaged_note_of_what_was_copied_costs_a_copy(data, url, text):
    ship(data, url)
    (data / 'shipped.json').write_text(text)
    assert len(ship(data, url).sent) == 2


def test_a_store_that_takes_nothing_is_an_error(data):
    with pytest.raises(RecordingError, match='the store does not do it'):
        ship(data, 'http://127.0.0.1:9/arm')


@pytest.mark.parametrize('store', ['store/arm', ''])
def test_a_name_without_a_scheme_is_asked_to_have_one(data, store):
    with pytest.raises(ConfigurationError, match='file://'):
        ship(data, store)


def test_a_data_folder_that_is_not_there_is_said(tmp_path, url):
    with pytest.raises(ConfigurationError, match='no such data folder'):
        ship(tmp_path / 'nowhere', url)


def test_the_verb_says_what_it_sent(data, url, capsys, monkeypatch):
    niced = []
    monkeypatch.setattr(os, 'nice', niced.append)
    assert main(['ship', str(data), url, '--background']) == 0
    assert '2 sent, 0 there already' in capsys.readouterr().out
    assert niced == [19]
    assert list(json.loads((data / 'shipped.json').read_text())) == [url]
