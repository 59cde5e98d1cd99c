"""Weighed masses: tested where torques tell a mass, and said to be untested where they do not."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from support.simulated_arm import SimulatedArm
from support.two_joint_robot import write_recording
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimator import REGRESSION_ESTIMATORS, settings_of
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification, IdentificationSettings
from sysid_ros.estimation.payload.known import Known
from sysid_ros.estimation.payload.weighing import Weighing, weighing_of
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.study import Study

# Of the tool that the slide moves, and of the upper arm before it, in [kg].
TOOL, UPPER = 0.7, 1.8


@pytest.fixture(scope='module')
def fitted(tmp_path_factory):
    """``fitted(known, scale)``: the evaluation of a swing with a slide, with scaled efforts."""
    folder = tmp_path_factory.mktemp('weighed')
    path = write_recording(folder, 'first', 1)
    table = np.loadtxt(folder / 'first.csv', delimiter=',', skiprows=1)
    settings = yaml.safe_load(path.read_text()) | {'automatic': False}
    header = (folder / 'first.csv').read_text().partition('\n')[0]

    def evaluation(known, scale=1.0):
        spoilt = table * np.where(np.arange(table.shape[1]) >= table.shape[1] - 2, scale, 1.0)
        np.savetxt(folder / 'first.csv', spoilt, delimiter=',', header=header, comments='')
        path.write_text(yaml.safe_dump(settings | {'known': known}))
        setup = FitSetup.of(Identification.load(path))
        return Study.load(setup, holdout=0.25).fit('entropic')
    return evaluation


@pytest.mark.parametrize('known', [
    {'masses': {'tool': TOOL}}, {'total_mass': TOOL + UPPER, 'masses': {'upper': UPPER}}])
def test_a_slide_tells_whether_efforts_agree_with_what_was_weighed(fitted, known):
    verdict = fitted(known).verdict
    assert verdict.committable, verdict.reasons
    assert any(remark.startswith('The effort of slide agrees with what was weighed: 0.7 kg')
               for remark in verdict.remarks)


@pytest.mark.parametrize('scale', [0.6, 1.5])
def test_a_slide_whose_efforts_make_another_mass_is_refused_with_its_line(fitted, scale):
    verdict = fitted({'masses': {'tool': TOOL}}, scale).verdict
    k, = (k for k, reason in enumerate(verdict.reasons) if reason.startswith('slide moves '))
    said = verdict.next_steps[k].partition('recording: {effort: {scale: [1, ')[2].partition(']')[0]
    assert float(said) == pytest.approx(1.0 / scale, rel=0.05)


def test_a_smaller_difference_which_friction_may_make_is_a_remark(fitted):
    verdict = fitted({'masses': {'tool': TOOL}}, 1.25).verdict
    assert verdict.committable, verdict.reasons
    assert any('kg, and 0.7 kg were weighed: friction near' in one for one in verdict.remarks)


def test_nothing_is_said_of_a_weighing_that_was_not_done(fitted):
    verdict = fitted({}).verdict
    assert not any('eighed' in sentence for sentence in (*verdict.reasons, *verdict.remarks))


def test_joints_that_turn_test_no_weighing_and_the_verdict_says_so(tmp_path):
    arm = SimulatedArm(4)
    recording = arm.recording(16.0, 100.0, noise=0.02)
    np.savez(tmp_path / 'a.npz', t=recording.channel('position').t,
             q=recording.channel('position').values,
             tau=1.25 * recording.channel('effort').values)
    (tmp_path / 'arm.urdf').write_text(arm.description)
    model = arm.model
    (tmp_path / 'a.yaml').write_text(yaml.safe_dump({
        'robot': {'urdf': 'arm.urdf'}, 'automatic': False,
        'recording': {
            'format': 'npz', 'file': 'a.npz', 'time': {'array': 't'}, 'position': {'array': 'q'},
            'effort': {'array': 'tau'}, 'joints': list(arm.joint_names)},
        'processing': {'parallel_filter': {'cutoff': 10.0, 'decimate_to': 25.0}},
        'known': {'masses': {
            body: float(model.parameters.prior[model.parameters.index(f'{body}.mass')])
            for body in model.robot.body_names}}}))
    setup = FitSetup.of(Identification.load(tmp_path / 'a.yaml'))
    remarks = Study.load(setup, holdout=0.25).fit('entropic').verdict.remarks
    assert any('were tested by nothing' in remark for remark in remarks)
    assert any('Pick up a load of known mass' in remark for remark in remarks)


def test_what_was_not_weighed_in_all_its_parts_is_not_tested():
    arm = SimulatedArm(3)
    problem = RegressionProblem.from_dataset(arm.model, arm.dataset())
    values = problem.parameters.prior
    assert weighing_of(Known(), problem, values) is None
    assert weighing_of(Known(total_mass=20.0), problem, values) == Weighing()


@pytest.mark.parametrize('name', [
    name for name in REGRESSION_ESTIMATORS if 'plausibility' not in settings_of(name)])
def test_an_estimator_that_keeps_no_total_is_refused_by_the_key_that_was_written(name):
    settings = IdentificationSettings.model_validate({
        'recording': {'format': 'rosbag', 'file': 'a.mcap'}, 'known': {'total_mass': 20.0},
        'fit': {'estimator': name}})
    with pytest.raises(ConfigurationError, match=f'{name} keeps no total mass') as refused:
        settings.require_estimator(name)
    assert 'known.total_mass' in str(refused.value)
    assert 'plausibility' not in str(refused.value)
    # What a command names in place of it takes what it has.
    settings.require_estimator('entropic')
