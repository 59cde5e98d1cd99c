"""Settings guessed of recordings without torques: what the drives were told, and what they are."""

from __future__ import annotations

import numpy as np
import pytest

from support.command_bags import Command, array_message, trajectory, write_command_bag
from support.drivers import write_table
from support.simulated_arm import DESCRIPTION, SimulatedArm
from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.estimation.actuator_commands import held_commands
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.mechanics.actuators.actuators import actuated
from sysid_ros.recording.guess.evidence import OpenQuestionsError
from sysid_ros.recording.load import load_recording
from sysid_ros.runs.initial_settings import initial_settings
from sysid_ros.runs.recording_check import check_recording

RATE, DURATION = 200.0, 12.0
# Drives are this late, in rows.
LATE = 6


@pytest.fixture(scope='module')
def arm():
    return SimulatedArm(4)


@pytest.fixture(scope='module')
def recorded(arm):
    """Stamps, positions and velocities, and the commands that they follow."""
    t = np.arange(int(RATE * DURATION)) / RATE
    q, v, _ = arm.motion(t)
    told = arm.motion(t + LATE / RATE)[0]
    return t, q, v, told


@pytest.fixture
def robot(tmp_path):
    file = tmp_path / 'robot.urdf'
    file.write_text(DESCRIPTION)
    return file


def named(form, joints):
    return [form.format(joint) for joint in joints]


def table(folder, recorded, arm, told, name='command_{}'):
    t, q, _, _ = recorded
    return write_table(folder / 'a.csv', [
        (['t'], t), (named('position_{}', arm.joint_names), q),
        (named(name, arm.joint_names), told)])


def guessed(robot, file, **told):
    """Settings, and the model of the file that they are written to."""
    settings = initial_settings(robot, file, robot.parent, told)
    written = robot.parent / 'guessed.yaml'
    written.write_text(settings.text())
    setup = FitSetup.of(Identification.load(written))
    return settings, setup


def actuators_of(setup):
    return {one.joint: one for one in actuated(setup.model).actuators.joints}


def as_read(setup):
    """Commands as a fit has them, in SI units."""
    recording = load_recording(setup.identification.settings.recording, setup.identification.folder)
    return held_commands(actuated(setup.model), recording).values


def asked(robot, file, **told):
    with pytest.raises(OpenQuestionsError) as caught:
        initial_settings(robot, file, robot.parent, told)
    return {question.option: question for question in caught.value.questions}


def test_positions_that_joints_follow_are_of_servos(arm, recorded, robot, tmp_path):
    file = table(tmp_path, recorded, arm, recorded[3])
    question = asked(robot, file)['constants']
    assert 'kp' in question.text + question.found
    assert question.example == 'kp=20'
    settings, setup = guessed(robot, file, constants='kp=250,kd=3', sought='kp')
    drives = actuators_of(setup)
    assert tuple(drives) == arm.joint_names
    limits = arm.model.robot.limits.effort
    for joint, limit in zip(arm.joint_names, limits, strict=True):
        drive = drives[joint]
        assert (drive.kind.name, drive.values, drive.free) == (
            'position_servo', (250.0, 3.0), ('kp',))
        assert drive.torque_limit == limit
    assert 'position_servo: joints follow at a correlation of' in settings.text()
    # What was written is read, and commands are followed.
    measured = Measurements.read(setup)
    assert measured.commanded
    channel = setup.identification.settings.recording.command
    assert channel.columns == tuple(f'command_{joint}' for joint in arm.joint_names)


def test_degrees_are_told_by_how_far_joints_follow(arm, recorded, robot, tmp_path):
    file = table(tmp_path, recorded, arm, np.rad2deg(recorded[3]))
    _, setup = guessed(robot, file, constants='kp=250')
    assert setup.identification.settings.recording.command.unit == 'deg'
    named = table(tmp_path, recorded, arm, np.rad2deg(recorded[3]), name='target_{}_deg')
    _, setup = guessed(robot, named, constants='kp=250')
    assert setup.identification.settings.recording.command.unit == 'deg'


MOTOR = 'torque_constant=1,resistance=1'


@pytest.mark.parametrize('name, size, kind, example', [
    ('cmd_vel_{}', 1.0, 'velocity_servo', 'kv=1'),
    ('cmd_vel_{}_deg', np.rad2deg(1.0), 'velocity_servo', 'kv=1'),
    ('pwm_{}', 1.0, 'dc_motor', f'{MOTOR},supply_voltage=12'),
    ('pwm_percent_{}', 100.0, 'dc_motor', f'{MOTOR},supply_voltage=12'),
    ('target_voltage_{}', 1.0, 'dc_motor', MOTOR),
    ('target_current_{}', 1.0, 'current', 'torque_constant=1'),
    ('target_current_{}_mA', 1000.0, 'current', 'torque_constant=1'),
])
def test_names_and_sizes_say_what_drives_are_told_in_which_unit(
    name, size, kind, example, arm, recorded, robot, tmp_path
):
    told = recorded[2] / np.abs(recorded[2]).max()
    file = table(tmp_path, recorded, arm, size * told, name=name)
    assert asked(robot, file)['constants'].example == example
    _, setup = guessed(robot, file, constants=example)
    assert {drive.kind.name for drive in actuators_of(setup).values()} == {kind}
    np.testing.assert_allclose(as_read(setup), told, atol=1e-6)


@pytest.mark.parametrize('kind, constants', [
    ('velocity_servo', 'kv=1'), ('current', 'torque_constant=1'), ('torque', ''),
    ('dc_motor', f'{MOTOR},supply_voltage=12')])
def test_commands_without_a_name_have_a_unit_of_the_drives(
    kind, constants, arm, recorded, robot, tmp_path
):
    told = recorded[2] / np.abs(recorded[2]).max()
    file = table(tmp_path, recorded, arm, told)
    _, setup = guessed(robot, file, actuator=kind, constants=constants)
    np.testing.assert_allclose(as_read(setup), told, atol=1e-6)


def test_a_unit_that_is_said_goes_before_guesses(arm, recorded, robot, tmp_path):
    file = table(tmp_path, recorded, arm, 885.0 * recorded[2], name='goal_pwm_{}')
    assert 'command-scale' in asked(robot, file)
    told = {'command-scale': str(1.0 / 885.0), 'constants': f'{MOTOR},supply_voltage=12'}
    _, setup = guessed(robot, file, **told)
    np.testing.assert_allclose(as_read(setup), recorded[2], atol=1e-6)
    file = table(tmp_path, recorded, arm, 1000.0 * recorded[2], name='goal_current_{}')
    assert asked(robot, file)['command-unit'].example == 'mA'
    _, setup = guessed(robot, file, **{'command-unit': 'mA', 'constants': 'torque_constant=1'})
    np.testing.assert_allclose(as_read(setup), recorded[2], atol=1e-6)
    with pytest.raises(ConfigurationError, match='no current is in rad.*A, mA'):
        initial_settings(robot, file, tmp_path, {'command-unit': 'rad'})
    with pytest.raises(ConfigurationError, match='unknown unit'):
        initial_settings(robot, file, tmp_path, {'command-unit': 'milliamperes'})


def test_commands_in_the_counts_of_the_positions_get_their_scale_and_zero(
    arm, recorded, robot, tmp_path
):
    t, q, _, told = recorded
    turn, middle = 4096.0 / (2.0 * np.pi), 2048.0
    file = write_table(tmp_path / 'a.csv', [
        (['t'], t), *((named(f'{word}_{{}}', arm.joint_names), np.round(middle + turn * values))
                      for word, values in (('position', q), ('goal', told)))])
    counts = {'position-scale': str(1.0 / turn), 'position-offset': str(-middle / turn)}
    _, setup = guessed(robot, file, constants='kp=20', **counts)
    assert {drive.kind.name for drive in actuators_of(setup).values()} == {'position_servo'}
    np.testing.assert_allclose(as_read(setup), told, atol=1.0 / turn)
    # Commands in radians stay what they are.
    file = write_table(tmp_path / 'a.csv', [
        (['t'], t), (named('position_{}', arm.joint_names), np.round(middle + turn * q)),
        (named('goal_{}', arm.joint_names), told)])
    _, setup = guessed(robot, file, constants='kp=20', **counts)
    np.testing.assert_allclose(as_read(setup), told, atol=1e-6)


@pytest.mark.parametrize('degrees', [False, True])
def test_velocities_that_joints_follow_are_of_servos(degrees, arm, recorded, robot, tmp_path):
    t = recorded[0]
    told = arm.motion(t + LATE / RATE)[1]
    file = table(tmp_path, recorded, arm, np.rad2deg(told) if degrees else told)
    settings, setup = guessed(robot, file, constants='kv=20')
    assert {drive.kind.name for drive in actuators_of(setup).values()} == {'velocity_servo'}
    assert 'as velocities' in settings.text()
    np.testing.assert_allclose(as_read(setup), told, atol=1e-6)


def test_commands_that_nothing_follows_are_asked_for(arm, recorded, robot, tmp_path):
    noise = np.random.default_rng(0).normal(size=recorded[3].shape)
    file = table(tmp_path, recorded, arm, noise)
    question = asked(robot, file)['actuator']
    assert 'position_servo' in question.found and 'correlation' in question.found
    _, setup = guessed(robot, file, actuator='torque')
    assert {drive.kind.name for drive in actuators_of(setup).values()} == {'torque'}
    with pytest.raises(ConfigurationError, match='position_servo'):
        initial_settings(robot, file, tmp_path, {'actuator': 'position_servos'})


def test_measured_torques_go_before_commands(arm, recorded, robot, tmp_path):
    t, q, _, told = recorded
    file = write_table(tmp_path / 'a.csv', [
        (['t'], t), *((named(f'{word}_{{}}', arm.joint_names), values) for word, values in (
            ('position', q), ('command', told), ('torque', arm.torque(t))))])
    settings, setup = guessed(robot, file)
    assert 'command' not in settings.sections['recording']
    assert actuated(setup.model) is None


def test_a_constant_that_a_drive_has_not_is_refused(arm, recorded, robot, tmp_path):
    file = table(tmp_path, recorded, arm, recorded[3])
    with pytest.raises(ConfigurationError, match='kp=…, kd=…'):
        initial_settings(robot, file, tmp_path, {'constants': 'kq=20'})
    with pytest.raises(ConfigurationError, match='--sought'):
        initial_settings(robot, file, tmp_path, {'constants': 'kp=20', 'sought': 'ki'})


def test_a_damping_that_is_sought_has_a_first_guess(arm, recorded, robot, tmp_path):
    file = table(tmp_path, recorded, arm, recorded[3])
    first, *others = arm.joint_names
    settings, setup = guessed(
        robot, file, constants=f'kp=250; {first}: kd=3', sought='kp,kd')
    drives = actuators_of(setup)
    assert drives[first].values == (250.0, 3.0)
    assert {drives[joint].values for joint in others} == {(250.0, 10.0)}
    assert {drive.free for drive in drives.values()} == {('kp', 'kd')}
    assert '0.04 s of kp where it was not said' in settings.text()


def test_constants_may_differ_from_joint_to_joint(arm, recorded, robot, tmp_path):
    file = table(tmp_path, recorded, arm, recorded[3])
    first, *others = arm.joint_names
    _, setup = guessed(robot, file, constants=f'kp=250,kd=3; {first}: kp=400')
    drives = actuators_of(setup)
    assert drives[first].values == (400.0, 3.0)
    assert {drives[joint].values for joint in others} == {(250.0, 3.0)}
    # What is left open at one joint is asked for.
    question = asked(robot, file, constants=f'{first}: kp=400')['constants']
    assert question.example == 'kp=20'
    with pytest.raises(ConfigurationError, match='no such moving joint'):
        initial_settings(robot, file, tmp_path, {'constants': 'kp=250; wing: kp=400'})


SERVO = '<position joint="{}" kp="{}" kv="{}" forcerange="-{} {}" {}/>'


def servo_arm(folder, *servos):
    """An MJCF with actuators, and a table of what they were told and did."""
    bench = pytest.importorskip('support.actuated_arm')
    t, command, q = bench.recording(8.0, 1.0, 0)
    file = folder / 'arm.xml'
    file.write_text(bench.DESCRIBED.replace(
        '</mujoco>', f'<actuator>{"".join(servos)}</actuator></mujoco>'))
    return file, write_table(folder / 'log.csv', [
        (['t'], t), (named('command_{}', bench.JOINTS), command),
        (named('position_{}', bench.JOINTS), q)])


def test_servos_of_an_mjcf_need_no_constants(tmp_path):
    file, log = servo_arm(
        tmp_path, SERVO.format('shoulder', 40, 1, 18, 18, 'timeconst="0.02"'),
        SERVO.format('elbow', 25, 0.6, 12, 12, 'timeconst="0.02"'))
    settings, setup = guessed(file, log)
    drives = actuators_of(setup)
    assert (drives['shoulder'].values, drives['shoulder'].torque_limit) == ((40.0, 1.0), 18.0)
    assert (drives['elbow'].values, drives['elbow'].torque_limit) == ((25.0, 0.6), 12.0)
    assert setup.settings.robot.command_time_constant == 0.02
    assert 'kp and kd of the MJCF' in settings.text()
    # Who knows better says so.
    _, setup = guessed(file, log, constants='kp=30,kd=2')
    assert {drive.values for drive in actuators_of(setup).values()} == {(30.0, 2.0)}
    assert setup.settings.robot.command_time_constant == 0.0


@pytest.mark.parametrize('elbow', [
    '', '<motor joint="elbow"/>', SERVO.format('elbow', 25, 0.6, 12, 12, 'gear="2"'),
    SERVO.format('elbow', 25, 0.6, 12, 12, '') + '<motor joint="elbow"/>',
    '<intvelocity joint="elbow" kp="25" actrange="-3 3"/>'])
def test_gains_that_an_mjcf_has_not_of_all_joints_are_asked_for(tmp_path, elbow):
    file, log = servo_arm(tmp_path, SERVO.format('shoulder', 40, 1, 18, 18, ''), elbow)
    assert 'constants' in asked(file, log)


@pytest.mark.parametrize('form', ['trajectory', 'array'])
def test_the_topic_of_commands_is_found_where_joint_states_have_no_effort(
    form, arm, recorded, robot, tmp_path
):
    t, q, _, told = recorded
    rows = range(0, len(t), 10)
    messages = [
        Command(float(t[k]), trajectory(arm.joint_names, [(0.0, told[k])], stamp=float(t[k]))
                if form == 'trajectory' else array_message(told[k])) for k in rows]
    write_command_bag(tmp_path / 'bag', t, arm.joint_names, q, messages)
    settings, setup = guessed(robot, tmp_path / 'bag', constants='kp=250')
    assert settings.sections['recording']['command']['topic'] == '/commands'
    assert {drive.kind.name for drive in actuators_of(setup).values()} == {'position_servo'}
    assert Measurements.read(setup).commanded


def test_the_topic_of_numbers_says_by_its_name_what_they_are(arm, recorded, robot, tmp_path):
    t, q, v, _ = recorded
    topic = '/velocity_controller/commands'
    messages = [Command(float(stamp), array_message(told), topic=topic)
                for stamp, told in zip(t[::10], v[::10], strict=True)]
    write_command_bag(tmp_path / 'bag', t, arm.joint_names, q, messages)
    settings, setup = guessed(robot, tmp_path / 'bag', constants='kv=20')
    assert {drive.kind.name for drive in actuators_of(setup).values()} == {'velocity_servo'}
    assert settings.sections['recording']['command'] == {'topic': topic, 'unit': 'rad/s'}


def test_what_was_written_can_be_checked(arm, recorded, robot, tmp_path):
    file = table(tmp_path, recorded, arm, recorded[3])
    _, setup = guessed(robot, file, constants='kp=250')
    checked = check_recording(setup)
    assert checked.usable
    # Bodies are held: armature, two frictions and an offset of each joint are sought.
    assert checked.content.combinations == 4 * len(arm.joint_names)
    file = table(tmp_path, recorded, arm, -recorded[3])
    _, setup = guessed(robot, file, constants='kp=250', actuator='position_servo')
    with pytest.raises(RecordingError, match='joints move against their commands'):
        check_recording(setup)
