"""Recordings as drivers of usual robots publish them: right or asked, then fitted as written."""

import pytest

import sysid_ros as si
from support.driver_recordings import (
    DEGREE,
    RECORDINGS,
    SERVOS,
    answered,
    require_right,
    written,
)
from support.drivers import named, write_table
from sysid_ros.cli.main import main
from sysid_ros.errors import RecordingError
from sysid_ros.estimation.identification import Identification
from sysid_ros.recording.guess.evidence import OpenQuestionsError
from sysid_ros.runs.initial_settings import initial_settings


def test_there_are_enough_recordings():
    assert len(RECORDINGS) >= 25


@pytest.mark.parametrize('name', RECORDINGS)
def test_a_recording_is_right_or_asked_for(name, tmp_path):
    own, robot, file, answers = written(name, tmp_path)
    settings, told = answered(name, robot, file, answers, initial_settings)
    assert set(told) == set(answers)
    (tmp_path / 'first.yaml').write_text(settings.text())
    require_right(Identification.load(tmp_path / 'first.yaml'), own)


# One of each kind of table and bag: settings that read what was measured, as those of all others
# do, give the same fit.
@pytest.mark.slow
@pytest.mark.parametrize('name', [
    'ur_rtde_table', 'franka_joint_states', 'kuka_fri_log', 'kinova_feedback_table',
    'dynamixel_counts', 'table_with_semicolons_and_decimal_commas', 'headerless_table',
    'ros2_topic_echo'])
def test_the_settings_are_fitted_as_they_were_written(name, tmp_path, monkeypatch):
    _, robot, file, answers = written(name, tmp_path)
    monkeypatch.chdir(tmp_path)
    options = [word for key, value in answers.items() for word in (f'--{key}', value)]
    assert main(['init', robot.name, file.name, '-o', 'first.yaml', *options]) == 0
    code = main(['fit', 'first.yaml', '--holdout', '0.3', '-o', 'run', '-q'])
    assert code == 0, si.Run.open('run').verdict.reasons


def test_a_table_without_efforts_is_asked_for_them(tmp_path):
    own = SERVOS
    t, q, *_ = own.measured()
    (tmp_path / 'robot.urdf').write_text(own.urdf)
    file = write_table(tmp_path / 'episode.csv', [
        (['timestamp'], t), ([f'observation.state.{name}.pos' for name in own.joints], q / DEGREE)])
    with pytest.raises(OpenQuestionsError, match='--effort'):
        initial_settings(tmp_path / 'robot.urdf', file, tmp_path, {'position-unit': 'deg'})


def test_a_data_set_of_actions_and_states_is_one_of_servos(tmp_path):
    own = SERVOS
    t, q, *_ = own.measured()
    (tmp_path / 'robot.urdf').write_text(own.urdf)
    file = write_table(tmp_path / 'episode.csv', [
        (['timestamp'], t), ([f'action.{name}.pos' for name in own.joints], q / DEGREE),
        ([f'observation.state.{name}.pos' for name in own.joints], q / DEGREE)])
    degrees = {'position-unit': 'deg'}
    with pytest.raises(OpenQuestionsError, match=r'--effort says which they are.*--constants'):
        initial_settings(tmp_path / 'robot.urdf', file, tmp_path, degrees)
    settings = initial_settings(tmp_path / 'robot.urdf', file, tmp_path, degrees | {
        'constants': 'kp=15'})
    assert {drive['kind'] for drive in settings.sections['robot']['actuators'].values()} == {
        'position_servo'}
    assert settings.sections['recording']['command']['unit'] == 'deg'


def test_states_without_a_word_for_them_are_asked_for(tmp_path):
    own = SERVOS
    t, q, _, tau = own.measured()
    (tmp_path / 'robot.urdf').write_text(own.urdf)
    file = write_table(tmp_path / 'episode.csv', [
        (['timestamp'], t), (named('action.{}', 4), q / DEGREE),
        (named('observation.state.{}', 4), q / DEGREE)])
    with pytest.raises(OpenQuestionsError, match='--position'):
        initial_settings(tmp_path / 'robot.urdf', file, tmp_path)


def test_a_matlab_file_is_refused_with_the_way_to_a_table(tmp_path):
    (tmp_path / 'robot.urdf').write_text(SERVOS.urdf)
    (tmp_path / 'data.mat').write_bytes(b'MATLAB 5.0 MAT-file, Platform: GLNXA64' + bytes(100))
    with pytest.raises(RecordingError, match='is no recording.*writetable'):
        initial_settings(tmp_path / 'robot.urdf', tmp_path / 'data.mat', tmp_path)
