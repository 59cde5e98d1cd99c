from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from support.report_runs import finished_run
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.evaluation.verdict import Verdict
from sysid_ros.report.brief import remarks_text, verdict_text, wrapped
from sysid_ros.report.tables import WIDTH

GOOD = Verdict(True, (), ('Export the URDF, and try it at low speed first.',), ())
BAD = Verdict(
    False, ('The clock is odd.', 'The effort is odd.', 'Nothing moved.'),
    ('Check the driver.', 'Check the driver.', 'Move.'), ())


def said(verdict):
    errors = SimpleNamespace(
        relative_per_joint=np.array([0.1, 0.2]), rms_per_joint=np.array([1.0, 1.0]),
        relative_error=0.12)
    before = SimpleNamespace(
        relative_per_joint=np.array([0.5, 0.6]), rms_per_joint=np.array([5.0, 3.0]),
        relative_error=0.54)
    prediction = SimpleNamespace(
        what='torque', spread=None, joint_names=('elbow', 'wrist'), candidate=errors, prior=before)
    estimate = Estimate.load(finished_run() / 'estimate.json')
    return verdict_text(verdict, {'held-out': prediction}, estimate)


def test_the_first_sixty_words_are_verdict_gain_worst_joint_and_next_step():
    for verdict, word in ((GOOD, 'VERDICT: committable'), (BAD, 'VERDICT: NOT committable')):
        first = ' '.join(said(verdict).split()[:60])
        assert first.startswith(word)
        assert '4.5 times less' in first
        assert 'The worst joint is wrist: 20 %' in first
        assert f'Next: {verdict.next_step}' in first


def test_reasons_follow_and_a_step_that_mends_several_is_said_once():
    text = said(BAD)
    for reason in BAD.reasons:
        assert reason in text
    assert text.count('Check the driver.') == 1
    assert text.count('Move.') == 1
    assert 'What speaks against it' not in said(GOOD)


def test_remarks_of_the_same_kind_are_one_with_the_names_of_the_other_joints():
    remarks = ('elbow used 3 % of its range.', 'wrist used 5 % of its range.', 'The clock is odd.')
    text = remarks_text(replace(BAD, remarks=remarks), ('elbow', 'wrist'))
    # A remark that is a reason has been said.
    assert text == 'Remarks\n  - elbow used 3 % of its range. The same of wrist.'
    assert remarks_text(BAD, ()) == ''


def test_lines_are_broken_wherever_they_are_too_long():
    text = wrapped(f'  - {"a word  " * 40}\nshort')
    assert max(map(len, text.split('\n'))) <= WIDTH
    assert ' '.join(text.split()) == ' '.join(f'- {"a word " * 40} short'.split())
