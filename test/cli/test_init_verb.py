"""``sysid init`` writes what it guesses, asks what it cannot know, and overwrites nothing."""

import builtins
import sys

import numpy as np
import pytest

from support.simulated_arm import DESCRIPTION, SimulatedArm
from sysid_ros.cli.main import main
from sysid_ros.estimation.identification import Identification


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A robot and a table without stamps, in the current folder."""
    arm = SimulatedArm(5)
    t = np.arange(1500) / 150.0
    q, _, _ = arm.motion(t)
    (tmp_path / 'robot.urdf').write_text(DESCRIPTION)
    np.savez(tmp_path / 'stamped.npz', t=t, q=q, tau=arm.torque(t))
    np.savez(tmp_path / 'unstamped.npz', q=q, tau=arm.torque(t))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_file_is_written_and_the_next_step_is_said(folder, capsys):
    assert main(['init', 'robot.urdf', 'stamped.npz']) == 0
    said = capsys.readouterr().out
    assert 'q[0] … q[3] (in the order of the joints, base_yaw first)' in said
    assert 'Next: sysid fit stamped.yaml --holdout 0.3' in said
    settings = Identification.load(folder / 'stamped.yaml').settings
    assert settings.recording.position.array == 'q'


def test_an_existing_file_stays_unless_it_is_forced(folder, capsys):
    (folder / 'stamped.yaml').write_text('mine')
    assert main(['init', 'robot.urdf', 'stamped.npz']) == 2
    assert '--force' in capsys.readouterr().err
    assert (folder / 'stamped.yaml').read_text() == 'mine'
    assert main(['init', 'robot.urdf', 'stamped.npz', '--force']) == 0


def test_what_is_open_is_said_with_the_option_where_nobody_can_be_asked(
    folder, capsys, monkeypatch
):
    monkeypatch.setattr(sys.stdin, 'isatty', lambda: False, raising=False)
    assert main(['init', 'robot.urdf', 'unstamped.npz']) == 2
    said = capsys.readouterr().err
    assert 'How many rows were recorded in a second?' in said
    assert 'Say it: --rate 1000' in said
    assert not (folder / 'unstamped.yaml').exists()
    assert main(['init', 'robot.urdf', 'unstamped.npz', '--rate', '150']) == 0


def test_who_can_be_asked_is_asked(folder, monkeypatch):
    answers = iter(['', '150'])
    monkeypatch.setattr(sys.stdin, 'isatty', lambda: True, raising=False)
    monkeypatch.setattr(builtins, 'input', lambda _: next(answers))
    assert main(['init', 'robot.urdf', 'unstamped.npz', '-o', 'new/asked.yaml']) == 0
    settings = Identification.load(folder / 'new' / 'asked.yaml').settings
    assert settings.recording.time.rate == 150.0
    assert settings.recording.file == '../unstamped.npz'
