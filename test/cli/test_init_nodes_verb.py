"""``sysid init nodes`` asks where several controllers fit, and writes what it saw."""

import json
import sys

import pytest
import yaml

from sysid_ros.cli import init_nodes
from sysid_ros.cli.main import main
from sysid_ros.runs.robot_graph import (
    FOLLOW_JOINT_TRAJECTORY,
    CommandInterface,
    JointStateTopic,
    RobotGraph,
)

STATES = JointStateTopic('/joint_states', ('/driver',), 500.0, ('a', 'b'), True, True)
CONTROLLERS = tuple(
    CommandInterface(f'/{name}/follow_joint_trajectory', FOLLOW_JOINT_TRAJECTORY, f'/{name}')
    for name in ('left', 'right'))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, where a system with two controllers runs and nobody can be asked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.stdin, 'isatty', lambda: False, raising=False)
    monkeypatch.setattr(
        init_nodes, 'read_graph', lambda _: RobotGraph(4.0, (), (STATES,), CONTROLLERS))
    return tmp_path


def test_where_two_controllers_fit_one_is_named_by_an_option(folder, capsys):
    assert main(['init', 'nodes']) == 2
    assert 'Say it: --command /left/follow_joint_trajectory' in capsys.readouterr().err
    assert not (folder / 'nodes.yaml').exists()
    assert main(['init', 'nodes', '--command', '/right/follow_joint_trajectory']) == 0
    said = capsys.readouterr().out
    assert 'identify.launch.py' in said and 'robot:=nodes.yaml' in said
    parameters = yaml.safe_load((folder / 'nodes.yaml').read_text())
    assert parameters['/**/excitation_node']['ros__parameters']['command'] == (
        '/right/follow_joint_trajectory')
    assert main(['init', 'nodes', '--command', 'none']) == 2
    assert 'is there already' in capsys.readouterr().err


@pytest.mark.parametrize('seconds', ['0', '-1', '1e9'])
def test_a_time_to_listen_that_cannot_be_used_is_refused(folder, seconds, capsys):
    assert main(['init', 'nodes', '--listen', seconds]) == 2
    assert '--listen: cannot be used' in capsys.readouterr().err


def answering(tmp_path, monkeypatch, program):
    """Let a program stand for Python in the place of the process that is asked."""
    python = tmp_path / 'python'
    python.write_text(f'#!/bin/sh\n{program}\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, 'executable', str(python))


def test_the_process_that_is_asked_answers_as_json(tmp_path, monkeypatch):
    pytest.importorskip('rclpy', reason='without ROS 2 nobody is asked')
    graph = RobotGraph(4.0, ('/driver',), (STATES,), CONTROLLERS)
    (tmp_path / 'graph.json').write_text(json.dumps(json.loads(graph.to_json())))
    answering(tmp_path, monkeypatch, f'cat {tmp_path}/graph.json')
    assert init_nodes.read_graph(1.0) == graph


def test_a_process_that_fails_is_told_by_its_last_line(tmp_path, monkeypatch, capsys):
    pytest.importorskip('rclpy', reason='without ROS 2 nobody is asked')
    answering(tmp_path, monkeypatch, 'echo first >&2; echo the middleware is gone >&2; exit 1')
    monkeypatch.chdir(tmp_path)
    assert main(['init', 'nodes']) == 2
    assert 'found the middleware is gone' in capsys.readouterr().err
