"""The run that a person is guided through, with an operator that answers as told."""

from __future__ import annotations

import io
import signal
import sys
from types import SimpleNamespace

import pytest

from sysid_ros.action import Excite, Identify
from sysid_ros.errors import ConfigurationError, SysidError
from sysid_ros.msg import ResultCode, RevisionInfo
from sysid_ros.nodes.guided_run import Interruption, guided_run
from sysid_ros.nodes.guided_steps import GuidedRunSettings
from sysid_ros.nodes.terminal import Terminal
from sysid_ros.srv import CommitParameters, ListRevisions, StopIdentification


class PaperOperator:
    """Remembers what it was asked for.

    Attributes:
        asked: Steps in their order, with what was given.
        ends: Codes of the next motions; ok where there is none.
        committable: The verdict.
        code: What a commit is answered with.
    """

    def __init__(self, *, known=False):
        self.asked, self.ends = [], []
        self.committable, self.code = True, ResultCode.OK
        self._revisions = [
            RevisionInfo(revision='r2', estimate='e2' if known else '', current=True),
            RevisionInfo(revision='r1', estimate='' if known else 'e1')]

    def wait_for_nodes(self, seconds):
        self.asked.append('wait')

    def call(self, kind, name):
        assert (kind, name) == (ListRevisions, 'model_server/list_revisions')
        return ListRevisions.Response(success=True, revisions=self._revisions)

    def excite(self, *, motion, speed, seconds):
        self.asked.append(('excite', motion, speed))
        code = self.ends.pop(0) if self.ends else ResultCode.OK
        result = Excite.Result(
            success=code == ResultCode.OK, code=code, message='A person came near.')
        result.begin.sec, result.end.sec = 100, 112
        return result

    def begin_recording(self):
        self.asked.append('record')
        return f'recording_{self.asked.count("record")}'

    def end_recording(self):
        self.asked.append('recorded')
        return StopIdentification.Response(success=True, samples=1000, duration=4.0)

    def reset_monitor(self):
        self.asked.append('reset')

    def identify(self, recording):
        self.asked.append(('identify', recording))
        return Identify.Result(
            success=True, estimate='e7', committable=self.committable,
            reasons=[] if self.committable else ['Too little moved.'],
            next_steps=['Move more.'], held_out_relative_error=0.05,
            prior_relative_error=float('nan'))

    def ask(self, kind, name, **fields):
        assert (kind, name) == (CommitParameters, 'model_server/commit')
        self.asked.append(('commit', fields['estimate'], fields['shadow_duration']))
        return CommitParameters.Response(
            success=self.code == ResultCode.OK, code=self.code, message='e7 is revision r3.',
            kept=['hand.Ixx'])


def run(operator, monkeypatch, answers='', **settings):
    """Exit code of a run; a person gives so many answers."""
    monkeypatch.setattr(sys, 'stdin', io.StringIO(answers))
    given = GuidedRunSettings(motion='first', yes=not answers, **settings)
    return guided_run(given, operator, Terminal(yes=given.yes))


def test_a_robot_is_passed_through_slowly_recorded_identified_tried_and_committed(
    monkeypatch, capsys
):
    operator = PaperOperator()
    assert run(operator, monkeypatch, trial='second', speed=0.8) == 0
    assert operator.asked == [
        'wait', ('excite', 'first', 0.2), 'record', ('excite', 'first', 0.8), 'recorded',
        ('identify', 'recording_1'), ('excite', 'second', 0.8), ('commit', 'e7', 12.0)]
    said = capsys.readouterr().out
    assert 'torque error 5 % on data that was not fitted, unknown by the description' in said
    assert 'e7 is revision r3.' in said and 'hand.Ixx' in said


def test_a_robot_that_is_known_is_not_passed_through_slowly_unless_that_is_asked_for(monkeypatch):
    operator = PaperOperator(known=True)
    assert run(operator, monkeypatch) == 0
    assert ('excite', 'first', 0.2) not in operator.asked
    operator = PaperOperator(known=True)
    assert run(operator, monkeypatch, first_pass=0.5) == 0
    assert operator.asked[1] == ('excite', 'first', 0.5)


@pytest.mark.parametrize(('answers', 'last'), [
    ('n\n', 'wait'), ('\n', 'wait'), ('y\nno\n', ('excite', 'first', 0.2)),
    ('y\ny\nn\n', 'recorded'), ('y\ny\ny\nn\n', ('identify', 'recording_1')),
    ('y\ny\ny\nyes\nn\n', ('excite', 'first', 1.0))])
def test_nothing_is_done_that_was_not_agreed_to(monkeypatch, answers, last):
    operator = PaperOperator()
    with pytest.raises(KeyboardInterrupt):
        run(operator, monkeypatch, answers)
    assert operator.asked[-1] == last


def test_where_nobody_can_be_asked_nothing_is_done(monkeypatch):
    operator = PaperOperator()
    monkeypatch.setattr(sys, 'stdin', io.StringIO(''))
    with pytest.raises(ConfigurationError, match='--yes'):
        guided_run(GuidedRunSettings(motion='first'), operator, Terminal())
    assert operator.asked == ['wait']


def test_a_motion_that_was_stopped_is_begun_again_after_a_person_agreed(monkeypatch, capsys):
    operator = PaperOperator(known=True)
    operator.ends = [ResultCode.FAILED]
    assert run(operator, monkeypatch, 'y\n' * 5) == 0
    assert operator.asked[:7] == [
        'wait', 'record', ('excite', 'first', 1.0), 'recorded', 'reset', 'record',
        ('excite', 'first', 1.0)]
    assert ('identify', 'recording_2') in operator.asked
    assert 'A person came near' in capsys.readouterr().out


def test_a_motion_that_was_stopped_is_not_begun_again_where_nobody_is_asked(monkeypatch):
    operator = PaperOperator(known=True)
    operator.ends = [ResultCode.FAILED]
    with pytest.raises(SysidError, match='A person came near'):
        run(operator, monkeypatch)
    assert operator.asked[-1] == 'recorded' and 'reset' not in operator.asked


def test_an_estimate_that_must_not_be_committed_is_not_tried(monkeypatch, capsys):
    operator = PaperOperator(known=True)
    operator.committable = False
    assert run(operator, monkeypatch) == 1
    assert operator.asked[-1] == ('identify', 'recording_1')
    said = capsys.readouterr().out
    assert 'Too little moved.' in said and 'Move more.' in said


def test_without_a_trial_or_a_commit_nothing_moves_after_the_fit(monkeypatch):
    operator = PaperOperator(known=True)
    assert run(operator, monkeypatch, shadow=0.0) == 0
    assert operator.asked[-2:] == [('identify', 'recording_1'), ('commit', 'e7', 0.0)]
    operator = PaperOperator(known=True)
    assert run(operator, monkeypatch, commit=False) == 0
    assert operator.asked[-1] == ('identify', 'recording_1')


@pytest.mark.parametrize(('code', 'ends'), [
    (ResultCode.SHADOW_LOST, 1), (ResultCode.NOT_COMMITTABLE, 1), (ResultCode.STORAGE, None)])
def test_a_commit_that_is_refused_says_whether_that_is_the_estimate(monkeypatch, code, ends):
    operator = PaperOperator(known=True)
    operator.code = code
    if ends is None:
        with pytest.raises(SysidError, match='the commit was refused'):
            run(operator, monkeypatch)
    else:
        assert run(operator, monkeypatch) == ends


@pytest.mark.parametrize('wrong', [
    {'speed': 0.0}, {'speed': 1.1}, {'first_pass': -0.1}, {'shadow': -1.0}, {'patience': 0.0}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        GuidedRunSettings(motion='first', **wrong)


@pytest.fixture
def handlers():
    """What handles the signals that end a run, as before once the test is over."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def test_a_signal_never_breaks_off_the_executor_and_ends_the_run_after_it(handlers):
    interruption = Interruption()
    interruption.operator = SimpleNamespace(spinning=True)
    signal.raise_signal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt, match='SIGTERM'):
        interruption.check()
    # The stop that follows spins, too.
    interruption.check()
    signal.raise_signal(signal.SIGINT)


def test_a_signal_ends_what_waits_for_a_person_at_once(handlers):
    interruption = Interruption()
    interruption.operator = SimpleNamespace(spinning=False)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGHUP)
    interruption.check()
