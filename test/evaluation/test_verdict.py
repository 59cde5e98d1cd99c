"""The verdict: each reason where it should be, and nowhere else, with what to do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support import golden_problems as simulated
from sysid_ros.estimation.estimate import LACKS, Knowledge, Status
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.evaluation.contradictions import Contradiction, FaultKind
from sysid_ros.evaluation.data_findings import DataFindings
from sysid_ros.evaluation.prediction import predict
from sysid_ros.evaluation.verdict import judge
from sysid_ros.recording.checks.effort_finding import TOGETHER, EffortFinding, EffortKind
from sysid_ros.recording.checks.quality import DataQuality, JointQuality
from sysid_ros.recording.processing.torque_delays import TorqueDelays

SOLVER = 'the values are the '  # prior, or best it found
UNPHYSICAL = 'No real mass distribution has the inertia found for '
BOUNDS = 'Outside of what physics allows: '
CLEARLY = 'Clearly worse than the prior on held-out data, RMS: '
OVERFITTED = 'It is overfitted: '
NOTHING = 'This data determines none of the parameters.'
UNTRIED = 'It was not tried on data the fit has not seen.'
WORSE = 'On held-out data it predicts torques no better than the prior'


@pytest.fixture(scope='module')
def golden():
    return simulated.golden('arm')


@pytest.fixture(scope='module')
def estimate(golden):
    return make_estimator('entropic').fit(golden.problem(0.02))


@pytest.fixture(scope='module')
def prediction(golden, estimate):
    return predict(estimate, golden.problem(0.02, seed=31))


def scaled(statistics, factor):
    return replace(
        statistics, relative_error=factor * statistics.relative_error,
        rms_per_joint=factor * statistics.rms_per_joint)


def only(verdict, start):
    """The one reason, which must begin so."""
    assert not verdict.committable
    (reason,) = verdict.reasons
    assert start in reason
    assert verdict.next_step.endswith('.')
    return reason


def test_a_good_fit_is_committable_without_any_reason(estimate, prediction):
    verdict = judge(estimate, prediction)
    assert verdict.committable
    assert verdict.reasons == ()
    assert 'Export the description' in verdict.next_step


def test_a_solver_that_failed_is_the_reason(estimate, prediction):
    for status in Status:
        verdict = judge(replace(estimate, status=status), prediction)
        if status.ok:
            assert verdict.committable
        else:
            assert only(verdict, SOLVER) == status.value
            assert 'widen the plausible ranges' in verdict.next_step


@pytest.mark.parametrize('margin', [0.0, -1e-12, float('nan')])
def test_an_inconsistent_body_is_the_reason_and_named(estimate, prediction, margin):
    broken = replace(estimate, margins={**estimate.margins, 'hand': margin})
    assert only(judge(broken, prediction), UNPHYSICAL).endswith('for hand.')
    assert 'fit: {estimator: entropic}' in judge(broken, prediction).next_step


@pytest.mark.parametrize(('name', 'value'), [
    ('elbow.viscous_friction', -0.1), ('wrist.armature', -1e-6), ('hand.mass', -1.0)])
def test_a_value_outside_of_its_bounds_is_the_reason_and_named(
    estimate, prediction, name, value
):
    parameters = estimate.parameters.with_values({name: value})
    assert name in only(judge(replace(estimate, parameters=parameters), prediction), BOUNDS)


def test_a_value_on_its_bound_is_not_outside(estimate, prediction):
    parameters = estimate.parameters.with_values({'wrist.armature': 0.0})
    assert judge(replace(estimate, parameters=parameters), prediction).committable


def test_data_that_determines_nothing_is_the_reason(estimate, prediction):
    silent = replace(estimate, knowledge=(Knowledge.PRIOR,) * len(estimate.knowledge))
    only(judge(silent, prediction), NOTHING)
    assert 'moves every joint' in judge(silent, prediction).next_step
    shared = (Knowledge.COMBINATION, *silent.knowledge[1:])
    assert judge(replace(silent, knowledge=shared), prediction).committable


def test_rows_that_are_worth_few_independent_ones_are_the_reason(estimate, prediction):
    def of_rows(total):
        share = np.full(len(estimate.residuals.rows), total / len(estimate.residuals.rows))
        return replace(
            estimate, residuals=replace(estimate.residuals, effective_rows=share))

    sought = len(estimate.base_values)
    assert judge(of_rows(2.1 * sought), prediction).committable
    reason = only(judge(of_rows(1.9 * sought), prediction), 'The fitted rows are worth ')
    assert f'too few for the {sought} combinations' in reason


def test_without_held_out_data_nothing_is_committable(golden, estimate, prediction):
    only(judge(estimate, None), UNTRIED)
    only(judge(estimate, replace(prediction, held_out=False)), UNTRIED)
    assert 'another recording' in judge(estimate, None).next_step


@pytest.mark.parametrize('factor', [1.0, 2.0])
def test_no_better_than_the_prior_is_the_reason(estimate, prediction, factor):
    verdict = judge(estimate, replace(prediction, candidate=scaled(prediction.prior, factor)))
    assert not verdict.committable
    assert verdict.reasons[0].startswith(WORSE)
    assert 'units, signs and delays' in verdict.next_step


@pytest.mark.parametrize(('error', 'gained', 'nothing'), [
    (0.05, 0.1, True), (0.05, -0.02, True), (0.05, 0.3, False), (0.4, 0.1, False)])
def test_nothing_can_be_gained_over_a_good_description(
    estimate, prediction, error, gained, nothing
):
    # The prior is off by as much as is said, and the fit took a part of it off its own rows alone.
    before = scaled(prediction.prior, error / prediction.prior.relative_error)
    training = replace(
        prediction, held_out=False, prior=before, candidate=scaled(before, 1.0 - gained))
    unseen = replace(prediction, prior=before, candidate=scaled(before, 1.01))
    verdict = judge(estimate, unseen, training=training)
    assert not verdict.committable
    assert ('there is nothing to gain' in verdict.reasons[0]) == nothing
    assert verdict.next_step.startswith('Keep the description.') == nothing
    # A fault of the recording comes first, whatever the description is worth.
    good = judge(estimate, prediction, training=training)
    assert not any('nothing to gain' in reason for reason in good.reasons)


@pytest.mark.parametrize(('kept', 'committable'), [(0.7, True), (0.45, False), (0.05, False)])
def test_a_gain_over_the_prior_that_is_lost_on_unseen_data_is_overfitting(
    estimate, prediction, kept, committable
):
    training, prior = estimate.residuals.relative_error, prediction.prior.relative_error
    error = prior - kept * (prior - training)
    candidate = replace(prediction.candidate, relative_error=error)
    verdict = judge(estimate, replace(prediction, candidate=candidate))
    assert verdict.committable == committable
    if not committable:
        assert f'{100 * kept:.0f} % of what it seemed' in only(verdict, OVERFITTED)
        assert 'fewer joint terms' in verdict.next_step


def test_a_gain_that_may_be_chance_is_none(estimate, prediction):
    candidate = replace(
        scaled(prediction.prior, 0.9), effective_rows=np.full(3, 4.0))
    lucky = replace(prediction, candidate=candidate, advantage=1.0)
    assert judge(estimate, lucky).reasons[0].startswith(WORSE)
    sure = judge(estimate, replace(lucky, advantage=5.0))
    assert not any(reason.startswith(WORSE) for reason in sure.reasons)


def test_more_than_no_torque_would_be_off_is_a_reason_whatever_the_prior(estimate, prediction):
    factor = 1.2 / prediction.candidate.relative_error
    poor = replace(
        prediction, candidate=scaled(prediction.candidate, factor),
        prior=scaled(prediction.prior, 10.0 * factor), spread=None)
    assert any('no torque at all would be nearer' in r for r in judge(estimate, poor).reasons)


def test_a_joint_whose_mean_says_as_much_is_the_reason(estimate, prediction):
    assert judge(estimate, prediction).committable
    constant = replace(prediction, spread=0.5 * prediction.candidate.rms_per_joint)
    reason = only(judge(estimate, constant), 'A constant torque would predict')
    assert all(joint in reason for joint in prediction.joint_names)


def test_a_fit_that_explains_its_own_rows_no_better_than_the_prior_is_none(
    golden, estimate, prediction
):
    training = predict(estimate, golden.problem(0.02), held_out=False)
    assert judge(estimate, prediction, training=training).committable
    sated = replace(training, prior=estimate.residuals)
    only(judge(estimate, prediction, training=sated), 'Even the rows it was fitted to')


def test_friction_found_for_a_joint_that_stood_still_is_the_reason(estimate, prediction):
    reason = only(judge(estimate, prediction, data=DataFindings(still=('elbow',))), 'did not move')
    assert reason.startswith('elbow ')
    assert "fit: {fixed: ['elbow.*']}" in judge(
        estimate, prediction, data=DataFindings(still=('elbow',))).next_step


def test_a_joint_that_stood_still_and_was_held_at_the_prior_is_no_reason(estimate, prediction):
    parameters = estimate.parameters
    held = parameters.fixed('elbow.*')
    values = np.where(held.free, parameters.values, parameters.prior)
    kept = replace(estimate, parameters=replace(held, values=values))
    assert judge(kept, prediction, data=DataFindings(still=('elbow',))).committable


def delays(seconds, gain, deviation=1e-4):
    names = tuple(f'joint_{k}' for k in range(len(seconds)))
    return TorqueDelays(
        names, np.array(seconds), np.full(len(seconds), deviation), np.array(gain),
        np.full(len(seconds), 100.0), 200.0)


def test_torques_that_all_arrive_late_are_the_reason_with_the_line_to_paste(estimate, prediction):
    late = delays([0.02, 0.021, 0.0195], [0.5, 0.4, 0.3])
    verdict = judge(estimate, prediction, data=DataFindings(delays=(late,)))
    assert '20 ms later' in only(verdict, 'The torques arrive')
    assert 'processing: {torque_delay: {joint_0: 0.02, joint_1: 0.021,' in verdict.next_step


def test_a_delay_of_few_joints_is_not_shared():
    assert delays([0.02, 0.021, 0.0195], [0.5, 0.4, 0.3]).shared == pytest.approx(0.02)
    assert delays([0.02, 0.0, 0.0], [0.5, 0.0, 0.0]).shared is None
    assert delays([0.02, 0.01, -0.02], [0.5, 0.4, 0.3]).shared is None


@pytest.mark.parametrize(('values', 'words'), [
    ({'torque_frozen': 0.5}, 'elbow (50 %)'), ({'torque_step': 1.0}, 'elbow (1 of 2 RMS)')])
def test_efforts_that_say_little_are_a_reason(estimate, prediction, values, words):
    joint = JointQuality(
        name='elbow', lowest=-1.0, highest=1.0, range_used=None, fastest=1.0, moving=1.0,
        usable=1.0, encoder_step=None, encoder_bits=None, torque_step=None, torque_noise=0.1,
        torque_rms=2.0, torque_frozen=0.0)

    def of(joint):
        quality = DataQuality('file', 100.0, 0.0, 0, 0.01, 10.0, 1, (joint,), {}, (), (), ())
        return judge(estimate, prediction, data=DataFindings(qualities=(quality,)))

    assert of(joint).committable
    # A coarse current is one thing, steps as large as the torque another.
    assert of(replace(joint, torque_frozen=0.1, torque_step=0.5)).committable
    assert words in only(of(replace(joint, **values)), 'Efforts ')


@pytest.mark.parametrize(('seconds', 'gain'), [
    ([0.02, -0.02, 0.05], [0.5, 0.5, 0.5]),  # friction that lags, each joint by its own
    ([0.02, 0.0, 0.0], [0.5, 0.0, 0.0]),     # one joint
    ([-0.0045, -0.0042, -0.0048], [0.5, 0.5, 0.5]),  # held from one sample to the next
    ([0.02, 0.02, 0.02], [0.03, 0.03, 0.03])])  # hardly anything to gain
def test_delays_that_no_driver_makes_are_no_reason(estimate, prediction, seconds, gain):
    found = DataFindings(delays=(delays(seconds, gain),))
    assert judge(estimate, prediction, data=found).committable


def test_an_error_that_is_no_number_is_no_better_than_the_prior(estimate, prediction):
    empty = scaled(prediction.candidate, float('nan'))
    only(judge(estimate, replace(prediction, candidate=empty)), WORSE)


def test_all_reasons_are_listed_and_the_first_says_what_to_do(estimate):
    margins = dict.fromkeys(estimate.margins, -1.0)
    verdict = judge(replace(estimate, margins=margins, status=Status.FAILED), None)
    assert len(verdict.reasons) == len(verdict.next_steps) == 3
    assert verdict.next_step == verdict.next_steps[0]
    assert 'notes' in verdict.next_step


def test_notes_of_the_fit_are_remarks(estimate, prediction):
    noted = replace(estimate, notes=('Something was mended.',))
    assert 'Something was mended.' in judge(noted, prediction).remarks


def test_what_is_not_determined_is_a_remark_with_the_motion_that_helps(golden, prediction):
    still = make_estimator('entropic').fit(golden.problem(0.02, still=(2,)))
    (remark,) = [r for r in judge(still, prediction).remarks if r.startswith('Not determined')]
    assert 'wrist.viscous_friction' in remark
    assert 'motion' in remark


def test_masses_far_from_the_prior_are_a_remark(estimate, prediction):
    prior = estimate.parameters.prior[estimate.parameters.index('hand.mass')]
    for factor, told in ((1.0, False), (2.9, False), (3.1, True), (0.3, True), (-1.0, True)):
        parameters = estimate.parameters.with_values({'hand.mass': factor * prior})
        remarks = judge(replace(estimate, parameters=parameters), prediction).remarks
        assert any(r.startswith('Masses far from the prior: hand (') for r in remarks) == told


@pytest.mark.parametrize(('factor', 'told'), [(1.0, False), (1.4, False), (1.6, True)])
def test_a_held_out_error_above_the_training_error_is_a_remark(
    estimate, prediction, factor, told
):
    training = estimate.residuals.relative_error
    candidate = replace(prediction.candidate, relative_error=factor * training)
    remarks = judge(estimate, replace(prediction, candidate=candidate)).remarks
    assert any('times the training error' in r for r in remarks) == told


def test_training_without_any_error_is_no_reason_to_stumble(estimate, prediction):
    exact = replace(estimate, residuals=scaled(estimate.residuals, 0.0))
    assert judge(exact, prediction).committable


def worse_elbow(prediction, factor, effective_rows=200.0):
    """The prediction with the elbow some times as bad as by the prior."""
    rms = prediction.candidate.rms_per_joint.copy()
    rms[1] = factor * prediction.prior.rms_per_joint[1]
    return replace(prediction, candidate=replace(
        prediction.candidate, rms_per_joint=rms, effective_rows=np.full(3, effective_rows)))


def test_a_joint_that_is_predicted_somewhat_worse_than_before_is_a_remark(estimate, prediction):
    verdict = judge(estimate, worse_elbow(prediction, 1.2))
    assert verdict.committable
    (remark,) = [r for r in verdict.remarks if r.startswith('Predicted somewhat worse')]
    assert 'elbow' in remark
    assert 'waist' not in remark


def test_a_joint_that_is_predicted_clearly_worse_than_before_is_the_reason(estimate, prediction):
    verdict = judge(estimate, worse_elbow(prediction, 1.5))
    assert 'elbow' in only(verdict, CLEARLY)
    assert 'waist' not in verdict.reasons[0]
    assert not any('somewhat worse' in remark for remark in verdict.remarks)


def test_what_few_independent_rows_show_is_not_clear(estimate, prediction):
    verdict = judge(estimate, worse_elbow(prediction, 1.5, effective_rows=8.0))
    assert verdict.committable
    assert any('somewhat worse' in remark for remark in verdict.remarks)


def test_a_prior_without_any_error_is_no_reason_to_stumble(estimate, prediction):
    perfect = replace(prediction, prior=scaled(prediction.prior, 0.0))
    verdict = judge(estimate, perfect)
    assert not verdict.committable
    assert any(reason.startswith(CLEARLY) for reason in verdict.reasons)


def test_held_out_rows_of_the_same_recording_are_said_to_be_weak(golden, estimate, prediction):
    same = replace(prediction, same_recording=True)
    verdict = judge(estimate, same)
    assert verdict.committable
    assert any('weak evidence' in remark for remark in verdict.remarks)
    assert not any('weak evidence' in remark for remark in judge(estimate, prediction).remarks)


def test_an_ill_conditioned_fit_is_the_reason(estimate, prediction):
    noted = replace(estimate, notes=('The problem is ill-conditioned (condition number 1e9).',))
    assert '1e9' in only(judge(noted, prediction), 'ill-conditioned')


def test_process_noise_that_nobody_asked_for_is_a_reason_with_the_line_that_asks_for_it(
    estimate, prediction
):
    line = 'fit: {collocation: {process_noise: 0.3, estimate_noise: true}}.'
    verdict = judge(replace(estimate, notes=(f'{LACKS}{line}',)), prediction)
    assert 'friction above all' in only(verdict, 'The dynamics of this model')
    assert verdict.next_step.endswith(line)


@pytest.mark.parametrize(('kind', 'told'), [
    (EffortKind.JOINT_TORQUE, False), (EffortKind.UNKNOWN, False), (EffortKind.UNRELATED, True),
    (EffortKind.CONSTANT, True), (EffortKind.INCONSISTENT, True),
    (EffortKind.WRONG_SIGN, True), (EffortKind.MOTOR_SIDE, True), (EffortKind.SCALED, True),
    (EffortKind.GRAVITY_COMPENSATED, True)])
def test_an_effort_that_is_no_joint_torque_is_the_reason(estimate, prediction, kind, told):
    finding = EffortFinding('elbow', kind, 0.01, 0.99, 0.99, 'Set the scale')
    verdict = judge(estimate, prediction, data=DataFindings(efforts=(finding,)))
    assert verdict.committable is not told
    if told:
        assert only(verdict, 'the effort looks like').startswith('elbow')
        assert verdict.next_step == 'Set the scale.'


def test_what_several_recordings_show_alike_is_said_once_with_their_names(estimate, prediction):
    finding = EffortFinding('elbow', EffortKind.SCALED, 0.01, 0.99, 0.99, 'Set the scale')
    late = delays([0.02, 0.021, 0.0195], [0.5, 0.4, 0.3])
    on_time = delays([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    verdict = judge(estimate, prediction, data=DataFindings(
        efforts=tuple(replace(finding, recording=name) for name in ('a.npz', 'b.npz')),
        delays=(late, on_time, late)))
    effort, delay = verdict.reasons
    assert effort.startswith(
        'elbow: the effort looks like a current or a motor-side torque in a.npz, b.npz, so')
    assert 'than the motion they belong to (in 2 of 3 recordings), so' in delay


@pytest.mark.parametrize('kind', [EffortKind.GRAVITY_COMPENSATED, EffortKind.FILTERED])
def test_no_clock_is_blamed_where_efforts_lack_the_weight(estimate, prediction, kind):
    # The weight that accelerations are compared with is not in the efforts.
    clock = Contradiction(FaultKind.CLOCK, '', 1.5, 1e3, estimate.parameters.bodies)
    lacking = EffortFinding('elbow', kind, 1.0, 0.9, 0.9)
    verdict = judge(
        estimate, prediction, data=DataFindings(efforts=(lacking,), contradictions=(clock,)))
    assert only(verdict, 'the effort looks like') and len(verdict.reasons) == 1
    verdict = judge(estimate, prediction, data=DataFindings(contradictions=(clock,)))
    assert only(verdict, 'the stamps count')


def test_of_a_robot_that_stands_otherwise_nothing_else_is_said(estimate, prediction):
    # Zeros, scales and loads are told by torques of a robot that stands as described.
    turned = EffortFinding(
        TOGETHER, EffortKind.OTHER_GRAVITY, np.nan, np.nan, np.nan, 'Look how it is mounted')
    zero = Contradiction(FaultKind.ZERO, 'elbow', 0.3, 100.0, estimate.parameters.bodies)
    both = DataFindings(efforts=(turned,), contradictions=(zero,))
    reason = only(judge(estimate, prediction, data=both), 'stands otherwise than described')
    assert 'nan' not in reason
    assert judge(estimate, prediction, data=both).next_step == 'Look how it is mounted.'
    assert 'elbow' in only(
        judge(estimate, prediction, data=replace(both, efforts=())), 'agree with its positions')


def test_a_verdict_is_plain_values(estimate, prediction):
    data = judge(estimate, prediction).to_json()
    assert data['committable'] is True
    assert set(data) == {'committable', 'reasons', 'remarks', 'next_step', 'next_steps'}
    assert all(isinstance(text, str) for text in data['remarks'])
    assert np.all([isinstance(text, str) for text in data['reasons']])


def test_held_out_rows_of_which_none_counts_are_the_one_reason(estimate, prediction):
    none = np.zeros(len(prediction.joint_names))
    empty = replace(
        prediction, advantage=0.0, spread=none, **{
            name: replace(
                getattr(prediction, name), relative_error=np.nan, rms_per_joint=none,
                rows=none.astype(int))
            for name in ('candidate', 'prior')})
    assert 'minimum_velocity' in only(judge(estimate, empty), 'No row of the held-out data counts')


@pytest.mark.parametrize('status', Status)
def test_what_no_recording_shows_is_said_of_every_value_that_was_found(
    estimate, prediction, status
):
    remarks = judge(replace(estimate, status=status), prediction).remarks
    assert any('No recording shows' in remark for remark in remarks) is status.found_values


def test_without_weight_the_clock_is_said_to_be_one_with_the_scale_of_the_efforts(
    estimate, prediction
):
    def said(weightless):
        return ' '.join(judge(
            estimate, prediction, data=DataFindings(weightless=weightless)).remarks)

    assert 'cannot be told from one scale of all efforts' in said(True)
    assert 'No joint feels weight' not in said(False)
    assert 'few per cent off: masses are as right as the torque sensors' in said(False)
