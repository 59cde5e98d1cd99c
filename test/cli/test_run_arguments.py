"""What ``sysid run`` hands to the process that knows ROS, and what it refuses before."""

from __future__ import annotations

import json

import pytest

from sysid_ros.cli import run as run_verb
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main


@pytest.fixture
def handed(monkeypatch):
    """Settings and arguments of ROS that were handed over."""
    given = []

    def become(module, words):
        given.append((module, json.loads(words[0]), list(words[1:])))
        raise KeyboardInterrupt

    monkeypatch.setattr(run_verb, 'become', become)
    return given


def test_one_motion_is_run_with_what_was_asked_for(handed):
    assert main([
        'run', 'first', '--trial', 'second', '--speed', '0.5', '--shadow', '8', '--namespace',
        '/left/', '--yes']) == ExitCode.INTERRUPTED
    (module, settings, ros), = handed
    assert module == 'sysid_ros.nodes.guided_run'
    assert ros == ['--ros-args', '-r', '__ns:=/left']
    assert settings == {
        'motion': 'first', 'trial': 'second', 'speed': 0.5, 'first_pass': None, 'shadow': 8.0,
        'commit': True, 'comment': '', 'yes': True, 'patience': 60.0, 'campaign': None}


@pytest.mark.parametrize(('words', 'part'), [
    (['--accuracy', '2%'], 0.02), (['--accuracy', '0.005'], 0.005), (['--accuracy=5 %'], 0.05),
    ([], 0.01)])
def test_the_accuracy_of_a_campaign_is_a_part_or_in_percent(handed, words, part):
    main(['run', '--campaign', '--most-motions', '4', *words])
    (_, settings, ros), = handed
    assert settings['campaign']['torque'] == pytest.approx(part)
    assert settings['campaign']['base'] is None and settings['campaign']['most_motions'] == 4
    assert (settings['motion'], settings['yes'], ros) == ('', False, [])


@pytest.mark.parametrize(('words', 'found'), [
    ([], 'neither'), (['first', '--campaign'], 'both'), (['first', '--speed', '0'], '--speed'),
    (['first', '--speed', '1.5'], 'above 0, at most 1'),
    (['first', '--first-pass', '-0.1'], '--first-pass'),
    (['first', '--shadow', 'nan'], '--shadow'),
    (['first', '--patience', '0'], '--patience'),
    (['--campaign', '--accuracy', '0%'], '--accuracy'),
    (['--campaign', '--base-accuracy', '200%'], '--base-accuracy'),
    (['--campaign', '--most-motions', '0'], '--most-motions')])
def test_what_makes_no_sense_is_refused_before_ros_is_asked(handed, capsys, words, found):
    assert main(['run', *words]) == ExitCode.BAD_INPUT
    assert found in capsys.readouterr().err
    assert not handed
