"""What of a folder is listed, and which names become paths."""

import os

import pytest

from sysid_ros.errors import ConfigurationError
from sysid_ros.studio.folder import NOTES, StudioFolder

URDF = '<robot name="arm"><link name="base"/></robot>'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 'arm.urdf').write_text(URDF)
    (tmp_path / 'plain.xml').write_text('<notes/>')
    (tmp_path / 'model.xml').write_text('<?xml version="1.0"?>\n<mujoco model="arm"/>')
    (tmp_path / 'table.csv').write_text('t,q\n0,0\n')
    (tmp_path / 'spare.csv').write_text('t,q\n0,0\n')
    (tmp_path / 'mine.yaml').write_text('robot: {urdf: arm.urdf}\nrecording:\n  file: table.csv\n')
    (tmp_path / 'other.yaml').write_text('robot: {urdf: arm.urdf}\n')
    for name in ('bag', 'recordings/taken'):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / 'data.mcap').write_bytes(b'')
    (tmp_path / 'recordings/taken/settings.yaml').write_text('recording: {file: .}\n')
    for number, name in enumerate(('runs/old', 'runs/new')):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / 'estimate.json').write_text('{}')
        os.utime(tmp_path / name / 'estimate.json', (number, number))
    return StudioFolder.open(tmp_path)


def test_recordings_descriptions_and_runs_are_listed_and_nothing_else(folder):
    contents = folder.contents()
    assert [(entry.name, entry.kind) for entry in contents.recordings] == [
        ('mine.yaml', 'settings'), ('recordings/taken', 'folder'), ('bag', 'bag'),
        ('spare.csv', 'table')]
    assert contents.described == ('mine.yaml', 'recordings/taken')
    assert contents.descriptions == ('arm.urdf', 'model.xml')
    assert contents.runs == ('runs/new', 'runs/old')
    assert not contents.more


def test_plans_and_motions_are_listed_and_told_from_each_other(folder):
    root = folder.root
    (root / 'arm.srdf').write_text('<robot name="arm"/>')
    (root / 'arm_excite.yaml').write_text('robot: {urdf: arm.urdf}\nmotion: {duration: 5.0}\n')
    (root / 'plan').mkdir()
    # A plan that is called as a motion is.
    (root / 'plan/excitation.yaml').write_text('robot: {urdf: ../arm.urdf}\nmotion: {}\n')
    for number, name in enumerate(('motions/old', 'motions/new')):
        (root / name).mkdir(parents=True)
        for file in ('excitation.yaml', 'trajectory.yaml'):
            (root / name / file).write_text('joints: [a]\n')
        os.utime(root / name / 'excitation.yaml', (number, number))
    contents = folder.contents()
    assert contents.srdfs == ('arm.srdf',)
    assert contents.plans == ('arm_excite.yaml', 'plan/excitation.yaml')
    assert contents.motions == ('motions/new', 'motions/old')
    assert contents.described == ('mine.yaml', 'recordings/taken')


def test_a_recording_that_settings_name_is_not_listed_twice(folder):
    (folder.root / 'spare.yaml').write_text('recording: {file: spare.csv}\n')
    names = [entry.name for entry in folder.contents().recordings]
    assert 'spare.yaml' in names and 'spare.csv' not in names


def test_settings_that_are_damaged_are_listed_so_that_somebody_sees_why(folder):
    (folder.root / 'damaged.yaml').write_text('recording: {file: [\n')
    assert folder.contents().recording('damaged.yaml') is not None


def test_hidden_entries_and_what_leads_out_are_not_listed(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp('elsewhere')
    (elsewhere / 'secret.urdf').write_text(URDF)
    (folder.root / 'link.urdf').symlink_to(elsewhere / 'secret.urdf')
    (folder.root / 'linked').symlink_to(elsewhere)
    (folder.root / '.hidden.urdf').write_text(URDF)
    (folder.root / 'in\nlines.urdf').write_text(URDF)
    with open(os.fsencode(folder.root) + b'/\xff.urdf', 'w') as file:
        file.write(URDF)
    (folder.root / 'loop').symlink_to(folder.root / 'loop')
    assert folder.contents().descriptions == ('arm.urdf', 'model.xml')


@pytest.mark.parametrize('name', [
    '', '.', '..', '../x', 'a/../../x', '/etc/passwd', 'a//b', 'a\0b', f'{NOTES}/choices.json'])
def test_a_name_that_leads_out_is_no_path(folder, name):
    with pytest.raises(ConfigurationError, match='is no name of an entry'):
        folder.path(name)


def test_a_link_out_of_the_folder_is_no_path(folder, tmp_path_factory):
    (folder.root / 'linked').symlink_to(tmp_path_factory.mktemp('elsewhere'))
    with pytest.raises(ConfigurationError, match='is no name of an entry'):
        folder.path('linked/file')


def test_a_name_within_is_a_path(folder):
    assert folder.path('runs/new') == folder.root / 'runs/new'


def test_a_folder_that_is_not_there_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(ConfigurationError, match='there is no such folder.*mkdir'):
        StudioFolder.open(tmp_path / 'nothing')


def test_a_folder_of_very_many_files_is_listed_as_far_as_it_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr('sysid_ros.studio.folder._MOST', 20)
    for number in range(30):
        (tmp_path / f'{number:02d}.urdf').write_text(URDF)
    contents = StudioFolder.open(tmp_path).contents()
    assert contents.more and len(contents.descriptions) == 20
