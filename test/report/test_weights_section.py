"""The section of a report on how much rows weigh, and which of them do not count."""

import json

import numpy as np
import pytest

from support.finished_fit import make_fit
from support.report_runs import finished_run
from support.simulated_arm import SimulatedArm
from sysid_ros.estimation.identification import Identification
from sysid_ros.report.page import render_page
from sysid_ros.report.report import Report
from sysid_ros.report.sections.weights import WeightsSection
from sysid_ros.runs.fit import fit_to_folder

#: When a hand is on the arm, in [s].
HELD = (3.0, 3.6)


def weights(folder):
    """The section of a run."""
    report = Report.load(folder / 'report.json')
    return next(part for part in report.sections if isinstance(part, WeightsSection))


@pytest.fixture(scope='module')
def held(tmp_path_factory):
    """Folder of a fit by ``irls`` of an arm that a hand was on for a while."""
    folder = make_fit(tmp_path_factory.mktemp('held'), SimulatedArm(1))
    recording = dict(np.load(folder / 'recording.npz'))
    touched = (recording['t'] >= HELD[0]) & (recording['t'] < HELD[1])
    recording['tau'][touched] += 2.0 * np.std(recording['tau'], axis=0)
    np.savez(folder / 'recording.npz', **recording)
    settings = folder / 'settings.yaml'
    settings.write_text(f'automatic: false\n{settings.read_text()}')
    fit_to_folder(
        Identification.load(settings), folder / 'robust', estimator='irls', holdout=0.25)
    return folder / 'robust'


def test_rows_and_noise_are_those_of_the_estimate():
    found = weights(finished_run())
    residuals = json.loads((finished_run() / 'estimate.json').read_text())['residuals']
    assert [joint.rows for joint in found.joints] == residuals['rows']
    assert [joint.noise for joint in found.joints] == pytest.approx(residuals['rms_per_joint'])
    assert all(0 < joint.independent <= joint.rows for joint in found.joints)


def test_an_estimator_that_looks_for_no_outliers_draws_none():
    found = weights(finished_run())
    assert not found.looked_for_outliers and not found.drawn and found.figures() == {}


def test_a_hand_on_the_arm_is_seen_when_it_was_there(held):
    found = weights(held)
    assert found.looked_for_outliers
    for joint in found.joints:
        longest = max(
            zip(joint.left_out[::2], joint.left_out[1::2], strict=True),
            key=lambda run: run[1] - run[0])
        # The low-pass smears both ends, and rows begin a little after the recording.
        assert longest == pytest.approx(HELD, abs=0.4)


def test_rows_that_do_not_count_are_those_of_the_estimate(held):
    estimate = json.loads((held / 'estimate.json').read_text())
    for joint in weights(held).joints:
        runs = estimate['outliers'][joint.joint]
        assert joint.outliers == sum(stop - start for start, stop in runs) > 0


def test_the_figure_has_a_bar_for_each_run_of_rows(held):
    found = weights(held)
    drawn = found.figures()['left_out']
    for joint, trace in zip(found.drawn, drawn['data'], strict=True):
        assert trace['x'].count(None) == len(joint.left_out) // 2
        assert set(trace['y']) == {joint.joint, None}
    json.dumps(drawn, allow_nan=False)


def test_the_page_says_how_many(held):
    page = render_page(Report.load(held / 'report.json')).decode()
    assert 'Weights' in page and 'Rows that did not count' in page
    joint = weights(held).joints[0]
    assert f'<td>{joint.outliers} (' in page
