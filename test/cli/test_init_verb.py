"""``sysid init`` writes what it guesses, asks what it cannot know, and overwrites nothing."""

import builtins
import sys

import numpy as np
import pytest
import yaml

from support import closed_robots
from support.simulated_arm import DESCRIPTION, SimulatedArm
from sysid_ros.cli.main import main
from sysid_ros.estimation.identification import Identification
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, TorqueOffset, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel


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
    assert 'Next: sysid check stamped.yaml\nThen: sysid fit stamped.yaml --holdout 0.3\n' in said
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


def test_an_input_that_ends_before_an_answer_is_one_line(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdin, 'isatty', lambda: True, raising=False)

    def ended(prompt):
        raise EOFError

    monkeypatch.setattr(builtins, 'input', ended)
    assert main(['init', 'robot.urdf', 'unstamped.npz']) == 2
    assert 'Say it: --rate' in capsys.readouterr().err
    assert not (folder / 'unstamped.yaml').exists()


def test_arguments_of_xacro_are_kept_in_the_file(folder, capsys):
    (folder / 'arm.urdf.xacro').write_text(DESCRIPTION.replace(
        '<robot name="demo_arm">',
        '<robot name="demo_arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:arg name="mount" default="none"/>').replace(
            'joint name="gripper_mount"', 'joint name="$(arg mount)"'))
    assert main(['init', 'arm.urdf.xacro', 'stamped.npz', '--xacro', 'mount:=flange']) == 0
    robot = Identification.load(folder / 'stamped.yaml').robot()
    assert robot.xacro_arguments == {'mount': 'flange'}
    assert main(['init', 'arm.urdf.xacro', 'stamped.npz', '--force', '--xacro', 'mount']) == 2
    assert '--xacro: is not a pair' in capsys.readouterr().err


def test_loops_of_a_robot_are_kept_in_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    linkage = closed_robots.five_bar_linkage()
    (tmp_path / 'robot.urdf').write_text(linkage.urdf)
    loops = linkage.loops(['left_joint', 'right_joint'], {
        'left_joint': 2.2, 'left_tip_joint': -1.2, 'right_joint': 0.9, 'right_tip_joint': 1.2})
    (tmp_path / 'loops.yaml').write_text(yaml.safe_dump(loops.model_dump(mode='json')))
    robot = closed_robots.five_bar()
    model = TorqueModel(robot, (ViscousFriction(), CoulombFriction(), TorqueOffset()))
    t = np.arange(3000) / 200.0
    q, v, a = closed_robots.smooth_motion(robot, t, 1)
    np.savez(tmp_path / 'a.npz', t=t, q=q, tau=model.torque(model.parameters.values, q, v, a))
    # Without weight nothing tells the size of the efforts: it has to be said.
    words = ['init', 'robot.urdf', 'a.npz', '--loops', 'loops.yaml']
    assert main([*words, '--effort-scale', '1']) == 0
    settings = Identification.load(tmp_path / 'a.yaml').settings
    assert settings.robot.loops == 'loops.yaml'
    assert settings.recording.joints == ('left_joint', 'right_joint')
