"""``sysid init excite`` writes a file that ``sysid excite`` takes as it is, and asks the rest."""

import builtins
import sys

import pytest
import yaml

from support.simulated_arm import DESCRIPTION
from sysid_ros.cli.main import main
from sysid_ros.excitation.configuration import ExcitationPlan


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A robot in the current folder, where nobody can be asked."""
    (tmp_path / 'arm.urdf').write_text(DESCRIPTION)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.stdin, 'isatty', lambda: False, raising=False)
    return tmp_path


@pytest.mark.slow
def test_a_motion_is_planned_by_the_file_without_an_edit(folder, capsys):
    wall = ['--box', 'wall=0.9,-2,-2,1.2,2,2']
    assert main(['init', 'excite', 'arm.urdf', '--floor', 'none', *wall]) == 0
    said = capsys.readouterr().out
    assert 'Next: sysid excite arm_excite.yaml' in said and '4 move' in said
    plan = yaml.safe_load((folder / 'arm_excite.yaml').read_text())
    assert plan['clearance']['boxes'] == [
        {'name': 'wall', 'lower': [0.9, -2.0, -2.0], 'upper': [1.2, 2.0, 2.0]}]
    assert main(['excite', 'arm_excite.yaml', '--starts', '1', '-o', 'motions']) == 0
    assert (folder / 'motions' / 'excitation.yaml').exists()


def test_what_stands_around_is_said_with_its_option_where_nobody_can_be_asked(folder, capsys):
    assert main(['init', 'excite', 'arm.urdf']) == 2
    said = capsys.readouterr().err
    assert 'the floor or table that the robot stands on' in said and 'Say it: --floor ' in said
    assert not (folder / 'arm_excite.yaml').exists()


def test_who_can_be_asked_is_asked(folder, monkeypatch):
    monkeypatch.setattr(sys.stdin, 'isatty', lambda: True, raising=False)
    answers = iter(['-0.8'])
    monkeypatch.setattr(builtins, 'input', lambda _: next(answers))
    assert main(['init', 'excite', 'arm.urdf', '-o', 'plans/a.yaml']) == 0
    boxes = ExcitationPlan.load(folder / 'plans' / 'a.yaml').settings.clearance.boxes
    assert [(box.name, box.upper[2]) for box in boxes] == [('floor', -0.8)]


@pytest.mark.parametrize(('words', 'error'), [
    (['--box', 'wall=1,2,3'], '--box: is not a box'),
    (['--box', 'wall=1,1,1,0,0,0'], 'do not make a box'),
    (['--lock', 'elbow'], '--lock: is not a pair'),
    (['--srdf', 'gone.srdf', '--floor', 'none'], 'gone.srdf: cannot be read'),
    (['--limits', 'gone.yaml', '--floor', 'none'], 'gone.yaml: cannot be read'),
    (['--flor', 'none'], "Did you mean '--floor'"),
])
def test_options_that_cannot_be_used_are_refused_and_nothing_is_written(
    folder, words, error, capsys
):
    assert main(['init', 'excite', 'arm.urdf', *words]) == 2
    said = capsys.readouterr().err
    assert error in said and said.startswith(('sysid init excite: ', 'sysid: init excite has'))
    assert not (folder / 'arm_excite.yaml').exists()


def test_an_srdf_is_kept_in_the_file(folder):
    (folder / 'arm.srdf').write_text(
        '<robot name="a"><disable_collisions link1="base" link2="forearm" reason="Never"/></robot>')
    words = ['init', 'excite', 'arm.urdf', '--floor', 'none', '--srdf', 'arm.srdf']
    assert main([*words, '-o', 'plans/a.yaml']) == 0
    plan = yaml.safe_load((folder / 'plans/a.yaml').read_text())
    assert plan['clearance'] == {'srdf': '../arm.srdf'}
