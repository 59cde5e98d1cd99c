"""Pages that are mailed name who made them, and no folder of the machine."""

import pytest

from sysid_ros.runs.mailed_text import (
    author,
    command_without_folders,
    settings_without_folders,
)


def test_files_lose_their_folders_and_topics_stay():
    text = (
        'folder: /home/ada/lab/robots\n'
        'robot:\n  urdf: "/opt/my robots/arm.urdf"   # ours\n'
        'recording:\n  file: ~/bags/monday\n  topic: /arm/joint_states\n'
        'others:\n- file: /data/tuesday.npz\n  joints: [a, b]\n')
    assert settings_without_folders(text) == (
        'folder: robots\n'
        'robot:\n  urdf: "arm.urdf"   # ours\n'
        'recording:\n  file: monday\n  topic: /arm/joint_states\n'
        'others:\n- file: tuesday.npz\n  joints: [a, b]\n')
    assert settings_without_folders('folder: .\nfile: bags/a.npz\n') == (
        'folder: .\nfile: bags/a.npz\n')


@pytest.mark.parametrize(('command', 'said'), [
    ("sysid fit '/home/ada/my bags/first.yaml' -o runs/first",
     'sysid fit first.yaml -o runs/first'),
    ("sysid fit '/home/ada/my first.yaml'", "sysid fit 'my first.yaml'"), ('', ''),
    ("an 'open quote", "an 'open quote")])
def test_a_command_loses_the_folders_of_its_files(command, said):
    assert command_without_folders(command) == said


def test_who_made_it_is_the_user_unless_another_name_or_none_is_said(monkeypatch):
    monkeypatch.delenv('SYSID_AUTHOR', raising=False)
    monkeypatch.setenv('LOGNAME', 'ada')
    assert author().startswith('ada@')
    monkeypatch.setenv('SYSID_AUTHOR', 'Ada, Lab 3')
    assert author() == 'Ada, Lab 3'
    monkeypatch.setenv('SYSID_AUTHOR', '')
    assert author() == ''
