"""``ros2 sysid`` does what ``sysid`` does.

ros2cli is in no registry that a test environment could take it from: a command line that deals
with an extension as its does stands for it.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BASE = """\
class CommandExtension:
    NAME = None
"""
ROS2 = """\
import argparse, importlib.metadata, sys

import numpy  # as it is loaded by then in the true one

point, = {point.name: point for point in importlib.metadata.entry_points(group='ros2cli.command')
          if point.name == 'sysid'}.values()
extension = point.load()()
extension.NAME = point.name
parser = argparse.ArgumentParser(prog='ros2')
commands = parser.add_subparsers(dest=' command')
command = commands.add_parser('sysid', description=extension.__doc__.splitlines()[0])
extension.add_arguments(command, 'ros2 sysid', argv=None)
sys.exit(extension.main(parser=parser, args=parser.parse_args()))
"""
ROBOT = Path(__file__).resolve().parents[2] / 'sysid_ros/demo/demo_arm.urdf'


@pytest.fixture
def ros2(tmp_path):
    package = tmp_path / 'path/ros2cli'
    package.mkdir(parents=True)
    (package / '__init__.py').touch()
    (package / 'command.py').write_text(BASE)
    (tmp_path / 'ros2').write_text(ROS2)
    path = os.pathsep.join(filter(None, [str(package.parent), os.environ.get('PYTHONPATH')]))

    def run(*words):
        return subprocess.run(
            [sys.executable, tmp_path / 'ros2', *words], text=True, capture_output=True,
            env={**os.environ, 'PYTHONPATH': path})

    return run


def sysid(*words):
    return subprocess.run(
        [sys.executable, '-m', 'sysid_ros.cli.main', *words], text=True, capture_output=True)


@pytest.mark.parametrize('words', [
    ('model', str(ROBOT)), ('model', 'no_such.urdf'), ('validate', 'no_such_run', 'sysid'),
], ids=lambda words: ' '.join(Path(word).name for word in words))
def test_a_verb_prints_and_ends_as_that_of_sysid(ros2, words):
    given, expected = ros2('sysid', *words), sysid(*words)
    assert given.stdout == expected.stdout
    assert given.stderr == expected.stderr
    assert given.returncode == expected.returncode


def test_the_help_names_every_verb_and_the_command(ros2):
    helped = ros2('sysid', '--help')
    assert helped.returncode == 0
    assert helped.stdout.startswith('usage: ros2 sysid ')
    for verb in ('model', 'excite', 'fit', 'validate', 'payload', 'export', 'replay', 'demo'):
        assert f'\n    {verb} ' in helped.stdout


def test_a_misspelt_verb_is_an_error_of_the_command(ros2):
    refused = ros2('sysid', 'fitt')
    assert refused.returncode == 2
    assert 'fitt' in refused.stderr
