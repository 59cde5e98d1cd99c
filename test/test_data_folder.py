"""Ids become paths below one folder, and nothing else does."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_ros.data_folder import DataFolder, new_id, require_id
from sysid_ros.errors import ConfigurationError

BAD = (
    '', '.', '..', '../other', 'a/b', '/etc/passwd', '-rf', '.hidden', '_x', 'a b', 'a\0b', 'a\n',
    'ä', '٣', 'a\\b', '~', 'x' * 65, '$(id)', "a'b",
)


@pytest.fixture
def folder(tmp_path):
    return DataFolder(tmp_path / 'data')


@pytest.mark.parametrize('name', BAD)
@pytest.mark.parametrize('kind', ['motion', 'recording', 'estimate'])
def test_a_name_that_is_not_an_id_is_refused(folder, kind, name):
    with pytest.raises(ConfigurationError, match='not an id'):
        getattr(folder, kind)(name)


@pytest.mark.parametrize('name', ['a', '7', 'run_1', 'a..b', '2026-11-21.1', 'x' * 64])
def test_an_id_names_a_path_directly_below_the_folder_of_its_kind(folder, name):
    root = folder.root.resolve()
    assert folder.motion(name) == root / 'motions' / f'{name}.yaml'
    assert folder.recording(name) == root / 'recordings' / name
    assert folder.estimate(name) == root / 'estimates' / name


def test_folders_are_made_when_they_are_needed(folder):
    assert not folder.root.exists()
    folder.estimate('a')
    assert (folder.root / 'estimates').is_dir()
    assert not (folder.root / 'motions').exists()
    assert folder.revisions.parent == folder.root.resolve()


@pytest.mark.parametrize('target', ['/etc', '..', '../../elsewhere', 'loop'])
def test_a_link_that_leads_out_is_not_followed(folder, target):
    (folder.root / 'estimates').mkdir(parents=True)
    link = folder.root / 'estimates' / 'loop'
    link.symlink_to(target)
    if target == '..':
        # Up one folder is still inside, but the root itself is no estimate.
        link.unlink()
        link.symlink_to('../..')
    with pytest.raises(ConfigurationError, match='data folder'):
        folder.estimate('loop')


def test_a_folder_of_a_kind_that_is_a_link_out_is_not_followed(folder, tmp_path):
    (tmp_path / 'elsewhere').mkdir()
    folder.root.mkdir()
    (folder.root / 'recordings').symlink_to(tmp_path / 'elsewhere')
    with pytest.raises(ConfigurationError, match='leads out'):
        folder.recording('a')


def test_the_data_folder_itself_may_be_a_link(tmp_path):
    (tmp_path / 'disk').mkdir()
    (tmp_path / 'data').symlink_to(tmp_path / 'disk')
    assert DataFolder(tmp_path / 'data').estimate('a') == tmp_path / 'disk' / 'estimates' / 'a'


@pytest.mark.skipif(os.geteuid() == 0, reason='root may write everywhere')
def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigurationError, match='cannot be used'):
        DataFolder(tmp_path / 'data').motion('a')


def test_a_file_in_place_of_the_data_folder_is_refused(tmp_path):
    (tmp_path / 'data').write_text('')
    with pytest.raises(ConfigurationError, match='cannot be used'):
        DataFolder(tmp_path / 'data').motion('a')


def test_new_ids_are_ids_and_differ():
    ids = {new_id('recording') for _ in range(50)}
    assert len(ids) == 50
    assert all(require_id(name).startswith('recording-') for name in ids)
    with pytest.raises(ConfigurationError):
        new_id('../up')


@given(st.text(max_size=70) | st.from_regex(r'[\w.\-/~]{1,66}', fullmatch=True))
@settings(max_examples=500, deadline=None)
def test_any_text_is_a_name_of_plain_characters_below_the_folder_or_refused(tmp_path_factory, text):
    folder = DataFolder(tmp_path_factory.getbasetemp() / 'any')
    plain = set('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789')
    if 0 < len(text) <= 64 and text[0] in plain and set(text) <= plain | set('_-.'):
        path = folder.recording(require_id(text))
        assert path.parent == folder.root.resolve() / 'recordings' and path.name == text
        return
    for ask in (folder.motion, folder.recording, folder.estimate, require_id):
        with pytest.raises(ConfigurationError, match='not an id'):
            ask(text)
