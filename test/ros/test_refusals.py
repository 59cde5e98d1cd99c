"""What nodes refuse: said once, with what to do."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from sysid_ros.action import Excite
from sysid_ros.data_folder import DataFolder
from sysid_ros.errors import SysidError
from sysid_ros.msg import ResultCode
from sysid_ros.nodes.excitation_goal import prepare_goal, require_one_motion
from sysid_ros.nodes.refusal import RefusedError, refused
from sysid_ros.srv import CommitParameters

ROOT = Path(__file__).resolve().parents[2]
NODES = sorted((ROOT / 'sysid_ros' / 'nodes').glob('*.py'))
# Whose reason comes from elsewhere, with what to do: the decision of a campaign.
TAKEN_OVER = {'campaign.outcome.rstrip('}


def refusals(text):
    """Errors that are written out in refusals of a module."""
    for call in ast.walk(ast.parse(text)):
        if isinstance(call, ast.Call) and getattr(call.func, 'id', '') == 'RefusedError':
            _, error = call.args
            if isinstance(error, ast.Call) and getattr(error.func, 'id', '').endswith('Error'):
                yield error


def without_fix(text):
    """Refusals of a module that do not say what to do, as source."""
    return [
        ast.unparse(error) for error in refusals(text)
        if not any(keyword.arg == 'fix' for keyword in error.keywords)
        and not any(mark in ast.unparse(error) for mark in TAKEN_OVER)]


@pytest.mark.parametrize('path', NODES, ids=lambda path: path.stem)
def test_every_refusal_of_a_node_says_what_to_do(path):
    assert without_fix(path.read_text(encoding='utf-8')) == []


def test_a_refusal_that_does_not_would_be_found():
    text = "raise RefusedError(ResultCode.BUSY, SysidError('a fit is under way', found='e1'))"
    assert without_fix(text) == ["SysidError('a fit is under way', found='e1')"]
    assert sum(len(list(refusals(path.read_text(encoding='utf-8')))) for path in NODES) > 25


def test_an_answer_says_problem_found_allowed_and_what_to_do_each_once():
    error = RefusedError(ResultCode.BUSY, SysidError(
        'a fit is under way', where='identify', found='e1', allowed='one', fix='Wait'))
    # Passed on by a client, and refused again.
    again = RefusedError(error.code, error)
    answer = refused(CommitParameters.Response(), again)
    assert answer.message == 'identify: a fit is under way (found e1; allowed one). Wait.'
    assert answer.code == ResultCode.BUSY


@pytest.mark.parametrize(('fix', 'end'), [
    ('Wait', 'Wait.'), ('Contact, or a payload?', 'a payload?')])
def test_a_sentence_ends_once(fix, end):
    assert str(SysidError('it was stopped', fix=fix)).endswith(end)


@pytest.mark.parametrize(('fields', 'words'), [
    ({}, 'found neither; allowed one of them.*motion: first'),
    ({'motion': 'a', 'speed_scale': 0.0}, 'found 0.0; .*Send speed_scale: 1.0'),
])
def test_goals_of_the_excitation_that_make_no_sense_say_what_to_send(fields, words):
    with pytest.raises(SysidError, match=words):
        require_one_motion(Excite.Goal(**fields))


@pytest.mark.parametrize(('there', 'words'), [
    ('swing', "Did you mean 'swing'"), ('other', 'by sysid excite, or send it as motion_yaml')])
def test_a_motion_that_is_not_there_says_which_is_or_where_it_belongs(tmp_path, there, words):
    folder = DataFolder(tmp_path)
    folder.motion(there).touch()
    with pytest.raises(RefusedError, match=words) as refusal:
        prepare_goal(
            Excite.Goal(motion='swimg', speed_scale=1.0), folder, None, np.zeros(1), 0.1,
            lambda motion: None)
    assert refusal.value.code == ResultCode.UNKNOWN_ID
