"""FAULTS 1 to 14, 47 to 49 and 55, as far as a recording meets them that is being made."""

import json
import shutil

import numpy as np
import pytest

from support import joint_state_stream, two_joint_robot
from support.joint_state_stream import START, STEP, Robot
from support.two_joint_robot import JOINTS, URDF
from sysid_ros.data_folder import DataFolder
from sysid_ros.errors import ConfigurationError, RecordingError, ReleaseError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.evaluation.live_torque import live_torque
from sysid_ros.recording.bag.joint_state_cdr import FIELDS, encode
from sysid_ros.recording.live.joint_states import LiveJointStates, LiveSettings
from sysid_ros.recording.live.readiness import require_recordable
from sysid_ros.recording.live.window import LiveWindow
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.runs import live_recording
from sysid_ros.runs.fit_job import fit_job
from sysid_ros.runs.job import FitJob
from sysid_ros.runs.judged import RecordingsGoneError
from sysid_ros.runs.judgement import judge_again
from sysid_ros.runs.live_recording import LiveRecording
from sysid_ros.runs.sources import load_source, load_without_recording

RATE = 200.0
SETTINGS = """\
robot: {urdf: robot.urdf}
processing: {position_filter: {cutoff: 10.0}, parallel_filter: {cutoff: 8.0, decimate_to: 20.0}}
"""


def require(robot, now=2.0, **changes):
    require_recordable(robot.deliver(), '/joint_states', now, **changes)


@pytest.fixture
def robot():
    return Robot()


def test_00_a_healthy_stream_may_be_recorded(robot):
    require(robot.move(), processing=Processing(position_filter=LowPass(cutoff=20.0)))


def test_02_without_effort_a_recording_is_refused_and_the_joint_named(robot):
    with pytest.raises(RecordingError, match='no effort is given for b: without it'):
        require(robot.move(effort=(1.0, np.nan)))
    require(Robot().move(effort=None), effort=False)


def test_02_no_effort_is_asked_for_of_a_joint_with_an_actuator(robot):
    require(robot.move(effort=(1.0, np.nan)), unmeasured={'b'})
    with pytest.raises(RecordingError, match='for a: without it.*actuators: {a: {kind:'):
        require(Robot().move(effort=None), unmeasured={'b'})


def test_05_joints_that_are_missing_are_named(robot):
    for k in range(200):
        robot.say(k, [0.1], effort=[1.0], names=('a',))
    with pytest.raises(RecordingError, match='nothing was heard of b'):
        require(robot)


def test_05_joint_states_that_have_stopped_are_refused(robot):
    with pytest.raises(RecordingError, match=r'have stopped \(found the last one 1 s ago'):
        require(robot.move(), now=2.99)


def test_05_a_topic_that_is_silent_or_of_another_robot_is_refused(robot):
    with pytest.raises(RecordingError, match='found no joint state'):
        require(robot)
    robot.say(0, [1.0], effort=[1.0], names=('hip',))
    with pytest.raises(RecordingError, match='found hip; allowed a, b'):
        require(robot)


def test_10_zero_stamps_are_refused(robot):
    with pytest.raises(RecordingError, match=r'zero stamp.*recording\.stamps: receive'):
        require(robot.move(stamp=0))


def test_10_times_of_reception_may_take_their_place():
    live = LiveJointStates(
        joint_state_stream.JOINTS, settings=LiveSettings(stamps='receive'))
    require(Robot(live).move(stamp=0))


@pytest.mark.parametrize(('offset', 'refused'), [(3.0, False), (-30.0, True), (30.0, True)])
def test_11_stamps_far_from_the_clock_are_refused_when_very_far(robot, offset, refused):
    for k in range(200):
        robot.say(k, [0.1, 0.2], received=START + k * STEP + round(offset * 1e9))
    if not refused:
        return require(robot)
    with pytest.raises(RecordingError, match=r'far from the clock \(found 30 s; allowed 10 s'):
        require(robot)
    return None


def test_13_a_rate_too_low_for_the_filters_is_refused(robot):
    with pytest.raises(RecordingError, match='come too seldom.*found 100 Hz'):
        require(robot.move(), processing=Processing(position_filter=LowPass(cutoff=60.0)))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 'robot.urdf').write_text(URDF)
    (tmp_path / 'settings.yaml').write_text(SETTINGS)
    return tmp_path


class Session:
    """A robot that moves, and its recording."""

    def __init__(self, folder, topics=('/joint_states',)):
        self.setup = FitSetup.of(load_without_recording(folder / 'settings.yaml'))
        self.model = self.setup.model
        self.lives = [
            LiveJointStates(JOINTS, quantities=FIELDS if len(topics) == 1 else FIELDS[:2])]
        self.lives += [LiveJointStates(JOINTS, quantities=('effort',)) for _ in topics[1:]]
        self.data = DataFolder(folder / 'data')
        self.topics = topics
        q, v, tau = two_joint_robot.motion(folder / 'robot.urdf', RATE)
        self.q, self.v, self.tau = q, v, tau

    def start(self, name='one'):
        self.recording = LiveRecording(
            name, self.data.recording(name), self.setup, joints=JOINTS,
            topics=self.topics, live=self.lives)
        return self

    def move(self, first, last, shift=0):
        for begin in range(first, last, 4):
            rows = slice(begin, min(begin + 4, last))
            arrived = START + np.arange(last)[rows] * 5_000_000
            stamps = arrived + shift
            values = {'position': self.q[rows], 'velocity': self.v[rows], 'effort': self.tau[rows]}
            if len(self.topics) == 1:
                self.hear(0, encode(stamps, JOINTS, values), arrived)
            else:
                without = dict(values, effort=None)
                self.hear(0, encode(stamps, JOINTS, without), arrived)
                late = stamps + 1_000_000
                efforts = {'position': None, 'velocity': None, 'effort': self.tau[rows]}
                self.hear(1, encode(late, JOINTS, efforts), arrived + 1_000_000)
        return self

    def hear(self, topic, table, arrived):
        payloads, received = [row.tobytes() for row in table], (arrived + 300_000).tolist()
        self.recording.add(topic, payloads, received)
        self.lives[topic].receive(payloads, received, [1e-9 * at for at in received])

    def stop(self):
        tally = self.recording.stop()
        assert self.recording._recorder.wait(20.0)
        return tally


def test_what_is_recorded_live_is_fitted_and_says_where_it_comes_from(folder):
    session = Session(folder).start().move(0, 3000)
    tally = session.stop()
    assert (tally.samples, tally.dropped) == (3000, 0)
    assert tally.duration == pytest.approx(2999 / RATE)
    estimate = session.data.estimate('first')
    said = []
    result = fit_job(FitJob(
        recording=session.data.recording('one'), folder=estimate, recordings=('one',),
        base_revision='r7'), lambda stage, progress: said.append(progress))
    assert result['committable'], result['reasons']
    assert said == sorted(said)
    provenance = json.loads((estimate / 'provenance.json').read_text())
    assert provenance['base_revision'] == 'r7'
    assert provenance['recordings'] == ['one']
    assert provenance['recording_end'] == START + 2999 * 5_000_000 + 300_000
    assert provenance['condition_number'] == result['condition_number'] > 1.0
    sha256 = load_source(session.data.recording('one')).recording().sha256
    assert provenance['recording_sha256'] == sha256
    assert (estimate / 'identified.urdf').is_file()


@pytest.mark.slow
def test_recordings_that_are_fitted_together_are_judged_again_together(folder):
    session = Session(folder).start('early').move(0, 2000)
    session.stop()
    session.start('late').move(2000, 4000).stop()
    early, late = (session.data.recording(name) for name in ('early', 'late'))
    results = {}
    for estimate, others in (('alone', ()), ('both', (late,))):
        results[estimate] = fit_job(FitJob(
            recording=early, others=others, folder=session.data.estimate(estimate),
            recordings=('early', 'late')[:1 + len(others)]), lambda *_: None)
    assert results['both']['committable'], results['both']['reasons']
    rows = {
        name: sum(json.loads((session.data.estimate(name) / 'estimate.json').read_text())[
            'residuals']['rows']) for name in results}
    assert rows['both'] > 1.5 * rows['alone']
    folder = session.data.estimate('both')
    assert 'Judged again by its recordings' in judge_again('both', folder)
    provenance = json.loads((folder / 'provenance.json').read_text())
    assert provenance['recordings'] == ['early', 'late']
    assert provenance['recording_end'] == START + 3999 * 5_000_000 + 300_000
    shutil.rmtree(late)
    with pytest.raises(RecordingsGoneError):
        judge_again('both', folder)


def test_efforts_on_a_topic_of_their_own_are_recorded_beside(folder):
    session = Session(folder, ('/joint_states', '/efforts')).start().move(0, 2000)
    session.stop()
    recording = load_source(session.data.recording('one')).recording()
    assert len(recording.channel('effort').t) == len(recording.channel('position').t) == 2000
    window = LiveWindow.heard(session.lives[0], session.lives[1], 2.0)
    heard = window.recording()
    np.testing.assert_array_equal(heard.channel('effort').values[-399:], session.tau[1601:2000])
    late = heard.channel('effort').t[-1] - heard.channel('position').t[-1]
    assert late == pytest.approx(1e-3, abs=1e-6)


def test_the_residual_of_the_live_torques_is_that_of_the_parameters(folder):
    session = Session(folder).start().move(0, 2000)
    session.stop()
    window = LiveWindow.heard(session.lives[0], None, 2.0)
    parameters = session.model.parameters
    prior = live_torque(window, session.setup, parameters)
    true = live_torque(
        window, session.setup, parameters.with_values(dict(zip(
            parameters.names, two_joint_robot.truth(session.model), strict=True))))
    # The noise of the torques is 0.05; friction switches within a filter's reach.
    assert (true.residual_rms < 0.35).all()
    assert (true.residual_rms < prior.residual_rms).all()
    assert (prior.residual_rms < prior.rms).all()


def test_01_samples_without_a_position_are_counted_for_the_recording_they_are_in(folder):
    session = Session(folder).start('before')
    session.q[10:20] = np.nan
    session.move(0, 100)
    assert session.stop().counts['samples with a NaN position dropped'] == 10
    session.start('after').move(100, 200)
    tally = session.stop()
    assert (tally.samples, tally.dropped, dict(tally.counts)) == (100, 0, {})


def test_12_a_clock_reset_is_counted_and_ends_a_segment_of_the_bag(folder):
    session = Session(folder).start().move(0, 1000)
    session.move(1000, 2000, shift=-3_000_000_000)
    tally = session.stop()
    assert tally.counts['clock resets'] == 1
    # It takes some messages to tell a reset from a late message.
    assert (tally.samples, tally.dropped) == (1996, 4)
    recording = load_source(session.data.recording('one')).recording()
    assert len(recording.breaks) == 1


def test_48_an_estimate_of_a_recording_of_another_robot_is_refused(folder):
    session = Session(folder).start().move(0, 400)
    session.stop()
    settings = session.data.recording('one') / 'settings.yaml'
    settings.write_text(settings.read_text().replace('- slide', '- hip'))
    with pytest.raises(RecordingError, match='hip'):
        fit_job(FitJob(
            recording=session.data.recording('one'), folder=session.data.estimate('x')), print)


def test_49_a_recording_that_is_too_short_is_refused_with_what_is_needed(folder):
    session = Session(folder).start().move(0, 40)
    session.stop()
    with pytest.raises(RecordingError, match='allowed'):
        fit_job(FitJob(
            recording=session.data.recording('one'), folder=session.data.estimate('x')), print)


def test_55_nan_efforts_are_found_before_the_numerics(folder):
    session = Session(folder)
    session.tau[:, 1] = np.nan
    session.start().move(0, 1000)
    session.stop()
    with pytest.raises(RecordingError, match='no effort was recorded for slide'):
        fit_job(FitJob(
            recording=session.data.recording('one'), folder=session.data.estimate('x')), print)


def test_a_recording_is_not_recorded_over(folder):
    Session(folder).start().stop()
    with pytest.raises(ConfigurationError, match='such a recording already'):
        Session(folder).start()


def test_a_recording_whose_settings_cannot_be_written_does_not_begin(folder, monkeypatch):
    def full(*_):
        raise ReleaseError('No space left on device')

    monkeypatch.setattr(live_recording, 'write_recording_settings', full)
    with pytest.raises(ReleaseError, match='No space left'):
        Session(folder).start()
