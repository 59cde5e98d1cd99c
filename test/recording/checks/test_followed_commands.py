"""Commands that no servo followed are refused with the setting that mends it; others are not."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from support import actuated_arm as arm
from support import legged_robot as leg
from sysid_ros.errors import RecordingError
from sysid_ros.estimation.actuator_commands import with_actuator_torques
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.mechanics.actuators.kinds import kind_named

SECONDS = 6.0
SERVO = {'kind': 'position_servo', 'kp': leg.KP, 'kd': leg.KD}


def read(folder, command, position, actuator=SERVO, unit='rad'):
    """The recording of the legged robot with these columns."""
    (folder / 'robot.xml').write_text(leg.document())
    header = ['t', *(f'u_{name}' for name in leg.JOINTS), *(f'q_{name}' for name in leg.JOINTS)]
    t = np.arange(len(command)) / leg.RATE
    np.savetxt(folder / 'data.csv', np.column_stack([t, command, position]), delimiter=',',
               header=','.join(header), comments='')
    (folder / 'settings.yaml').write_text(yaml.safe_dump({
        'robot': {'description': 'robot.xml', 'actuators': {'*': actuator}},
        'recording': {
            'format': 'csv', 'file': 'data.csv', 'joints': list(leg.JOINTS),
            'time': {'column': 't'}, 'position': {'prefix': 'q_'},
            'command': {'prefix': 'u_', 'unit': unit}}}))
    setup = FitSetup.load(folder / 'settings.yaml')
    return with_actuator_torques(setup.identification.recording(), setup.model)


@pytest.fixture(scope='module')
def free():
    """Commands and positions of legs that move on their own."""
    command = leg.free_motion(SECONDS)
    return command, leg.recording(command)[1]


@pytest.mark.parametrize('motion', [leg.free_motion, leg.squats, leg.trot])
@pytest.mark.parametrize('stands', [False, True])
def test_commands_that_servos_followed_are_not_accused(tmp_path, motion, stands):
    command = motion(SECONDS)
    assert not read(tmp_path, command, leg.recording(command, stands=stands)[1]).warnings


def test_commands_in_degrees_that_are_taken_for_radians_are_refused(tmp_path, free):
    with pytest.raises(RecordingError, match=r'57th of what they are told.*\{unit: deg\}'):
        read(tmp_path, np.degrees(free[0]), free[1])


def test_commands_of_the_other_sign_are_refused_with_the_signs_to_say(tmp_path, free):
    sign = np.ones(12)
    sign[[1, 5]] = -1.0
    with pytest.raises(RecordingError, match=(
            r'against their commands \(found front_left_thigh, front_right_calf\).*'
            r'sign: \[1, -1, 1, 1, 1, -1, 1')):
        read(tmp_path, free[0] * sign, free[1])


@pytest.mark.parametrize('motion', [leg.free_motion, leg.squats])
def test_commands_of_other_joints_are_refused_with_the_joints_that_follow_them(tmp_path, motion):
    command = motion(SECONDS)
    other = command.copy()
    other[:, [1, 2]] = command[:, [2, 1]]
    with pytest.raises(RecordingError, match=(
            'front_left_thigh follows the command of front_left_calf; front_left_calf follows')):
        read(tmp_path, other, leg.recording(command)[1])


def test_commands_that_never_change_while_the_robot_moves_are_refused(tmp_path, free):
    still = np.broadcast_to(leg.STANDING, free[0].shape)
    with pytest.raises(RecordingError, match='no command changes while joints move.*moves by'):
        read(tmp_path, still, free[1])


def test_a_single_command_that_never_changes_is_said(tmp_path, free):
    command = free[0].copy()
    command[:, 4] = leg.STANDING[4]
    warning, = read(tmp_path, command, free[1]).warnings
    assert 'the command of front_right_thigh never changes while the joint moves' in warning


def test_a_joint_that_is_held_while_others_move_is_not_accused(tmp_path):
    command = leg.free_motion(SECONDS)
    command[:, 4] = leg.STANDING[4]
    assert not read(tmp_path, command, leg.recording(command)[1]).warnings


def test_drives_that_are_at_their_limit_all_the_time_are_refused(tmp_path, free):
    assert not read(tmp_path, *free, SERVO | {'torque_limit': 23.7}).warnings
    with pytest.raises(RecordingError, match='at its torque limit all the time.*torque_limit 0.02'):
        read(tmp_path, *free, SERVO | {'torque_limit': 0.02})


def test_a_joint_that_loads_push_against_a_small_command_is_not_accused(tmp_path):
    command = leg.squats(SECONDS)
    # Where the others ask for half a radian, this one sags against its own twentieth.
    position = leg.recording(command)[1].copy()
    command[:, 0] *= 0.1
    position[:, 0] = -command[:, 0]
    assert not read(tmp_path, command, position).warnings


def test_velocities_that_are_held_are_compared_with_velocities(tmp_path, free):
    servo = {'kind': 'velocity_servo', 'kv': 5.0}
    v = np.gradient(free[1], 1.0 / leg.RATE, axis=0)
    assert kind_named('velocity_servo').regulates
    assert not read(tmp_path, v, free[1], servo, 'rad/s').warnings
    with pytest.raises(RecordingError, match=r'unit: deg/s'):
        read(tmp_path, np.degrees(v), free[1], servo, 'rad/s')


def test_a_servo_that_sags_under_its_load_is_not_accused(tmp_path):
    # Commands of a quarter of the stiffness leave errors of a third of the motion.
    t, command, q = arm.recording(SECONDS, 1.0, 0)
    assert np.std(q - command) > 0.05
    (tmp_path / 'arm.xml').write_text(arm.DESCRIBED)
    np.savetxt(tmp_path / 'data.csv', np.column_stack([t, command, q]), delimiter=',',
               header='t,u_shoulder,u_elbow,q_shoulder,q_elbow', comments='')
    (tmp_path / 'settings.yaml').write_text(yaml.safe_dump({
        'robot': {'description': 'arm.xml', 'actuators': {
            '*': {'kind': 'position_servo', 'kp': 30.0, 'kd': 1.0}}},
        'recording': {
            'format': 'csv', 'file': 'data.csv', 'joints': list(arm.JOINTS),
            'time': {'column': 't'}, 'position': {'prefix': 'q_'}, 'command': {'prefix': 'u_'}}}))
    setup = FitSetup.load(tmp_path / 'settings.yaml')
    assert not with_actuator_torques(setup.identification.recording(), setup.model).warnings
