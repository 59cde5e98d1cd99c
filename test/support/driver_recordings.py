"""Recordings as drivers of usual robots and their tools write them, and what is known of each.

Each is written from what any robot measures, a simulated arm or a published one: columns, units,
order and what else stands beside are those of the driver.
"""

import numpy as np

from support import drivers
from support.drivers import driver, named, write_states, write_table
from sysid_ros.recording.guess.evidence import OpenQuestionsError
from sysid_ros.recording.load import load_recording

DEGREE = np.pi / 180.0
RECORDINGS = {}


def recording(own, asked=None):
    """Register a recording: its robot, and the answers to what has to be asked."""
    def register(write):
        RECORDINGS[write.__name__.removeprefix('write_')] = (own, asked or {}, write)
        return write
    return register


def comma(values):
    return ','.join(f'{value:.9g}' for value in np.atleast_1d(values))


def beside(values):
    """What else stands in a table: numbers that mean nothing here."""
    return 30.0 + 0.0 * values


@recording(driver(drivers.UR), {'effort-scale': '{constants}'})
def write_ur_rtde_table(path, own, t, q, v, tau):
    return write_table(path / 'robot_data.csv', [
        (['timestamp'], 5000.0 + t), (named('target_q_{}', 6), q + 1e-3),
        (named('target_qd_{}', 6), v), (named('target_moment_{}', 6), 1.1 * tau),
        (named('actual_q_{}', 6), q), (named('actual_qd_{}', 6), v),
        (named('actual_current_{}', 6), tau / own.constants),
        (named('joint_temperatures_{}', 6), beside(q)),
        (named('actual_TCP_pose_{}', 6), beside(q)), (['actual_main_voltage'], beside(t)),
        (['safety_mode'], beside(t)), (['speed_scaling'], 1.0 + 0.0 * t)], delimiter=' ')


@recording(driver(drivers.UR))
def write_ur_rtde_torques(path, own, t, q, v, tau):
    return write_table(path / 'rtde.csv', [
        (['timestamp'], t), (named('actual_q_{}', 6), q), (named('actual_qd_{}', 6), v),
        (named('actual_current_{}', 6), tau / own.constants),
        (named('actual_current_as_torque_{}', 6), tau), (named('target_current_{}', 6), tau)])


@recording(driver(drivers.UR), {'effort-scale': '{constants}'})
def write_ur_joint_states(path, own, t, q, v, tau):
    return write_states(
        path / 'ur', own, t, q, v, tau / own.constants, order=[2, 1, 0, 3, 4, 5])


@recording(driver(drivers.FR3, ('fr3_finger_joint1', 'fr3_finger_joint2')))
def write_franka_joint_states(path, own, t, q, v, tau):
    return write_states(path / 'fr3', own, t, q, v, tau, topic='/franka/joint_states')


@recording(driver(drivers.PANDA))
def write_franka_bag_with_desired_states(path, own, t, q, v, tau):
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    from sysid_ros.recording.bag.joint_state_cdr import JOINT_STATE, encode

    stamps = 1_700_000_000_000_000_000 + np.rint(1e9 * t).astype(np.int64)
    with Writer(path / 'panda', version=9, storage_plugin=StoragePlugin.SQLITE3) as bag:
        for topic, off in (('/a/joint_states_desired', 0.02), ('/b/joint_states', 0.0)):
            connection = bag.add_connection(
                topic, JOINT_STATE, typestore=get_typestore(Stores.ROS2_HUMBLE))
            table = encode(stamps, own.joints, {
                'position': q + off, 'velocity': v, 'effort': tau + 50.0 * off})
            for stamp, row in zip(stamps.tolist(), table, strict=True):
                bag.write(connection, stamp, row.tobytes())
    return path / 'panda'


@recording(driver(drivers.PANDA))
def write_libfranka_log(path, own, t, q, v, tau):
    return write_table(path / 'log.csv', [
        (['duration'], np.rint(1e3 * t)), (['success_rate'], 1.0 + 0.0 * t),
        (named('state.q[{}]', 7), q), (named('state.q_d[{}]', 7), q + 1e-3),
        (named('state.dq[{}]', 7), v), (named('state.dq_d[{}]', 7), v),
        (named('state.tau_J[{}]', 7), tau), (named('state.tau_J_d[{}]', 7), tau - 3.0),
        (named('state.tau_ext_hat_filtered[{}]', 7), 0.1 * tau),
        (named('state.theta[{}]', 7), q + 2e-3), (named('control.tau_J[{}]', 7), tau - 5.0)])


@recording(driver(drivers.LBR))
def write_kuka_fri_log(path, own, t, q, v, tau):
    stamps = 1_700_000_000_000_000_000 + np.rint(1e9 * t).astype(np.int64)
    return write_table(path / 'fri.csv', [
        (['time_stamp_sec', 'time_stamp_nano_sec'],
         np.column_stack([stamps // 10**9, stamps % 10**9])),
        (named('measured_joint_position_A{}', 7, 1), q),
        (named('commanded_joint_position_A{}', 7, 1), q + 1e-3),
        (named('measured_torque_A{}', 7, 1), tau), (named('commanded_torque_A{}', 7, 1), tau - 4.0),
        (named('external_torque_A{}', 7, 1), 0.1 * tau), (['tracking_performance'], beside(t))])


@recording(driver(drivers.IIWA))
def write_kuka_bag_with_another_prefix(path, own, t, q, v, tau):
    return write_states(
        path / 'iiwa', own, t, q, v, tau, names=named('lbr_iiwa_joint_{}', 7, 1))


@recording(driver(drivers.LBR))
def write_kuka_of_the_opposite_sign(path, own, t, q, v, tau):
    return write_states(path / 'lbr', own, t, q, v, -tau)


@recording(driver(drivers.XARM, ('drive_joint',)))
def write_xarm_joint_states(path, own, t, q, v, tau):
    return write_states(path / 'xarm', own, t, q, v, tau, topic='/xarm/joint_states')


@recording(driver(drivers.XARM))
def write_xarm_table_in_degrees(path, own, t, q, v, tau):
    return write_table(path / 'xarm.csv', [
        (['time'], 1.7e9 + np.round(t, 3)), (named('J{} angle', 7, 1), q / DEGREE),
        (named('J{} torque', 7, 1), tau), (named('J{} temperature', 7, 1), beside(q))])


GEN3 = driver(drivers.GEN3, continuous=drivers.GEN3[::2], limit=2.3)


def kinova_columns(q, v):
    # Every second joint has limits; all angles are counted from 0 to 360 degrees.
    return [(named('actuators[{}].position', 7), (q / DEGREE) % 360.0),
            (named('actuators[{}].velocity', 7), v / DEGREE)]


@recording(GEN3)
def write_kinova_feedback_table(path, own, t, q, v, tau):
    return write_table(path / 'gen3.csv', [
        (['timestamp'], t), *kinova_columns(q, v), (named('actuators[{}].torque', 7), tau),
        (named('actuators[{}].current_motor', 7), tau / own.constants),
        (named('actuators[{}].temperature_motor', 7), beside(q)),
        (named('actuators[{}].voltage', 7), beside(q))])


@recording(GEN3, {'effort-scale': '{constants}'})
def write_kinova_with_currents_alone(path, own, t, q, v, tau):
    return write_table(path / 'currents.csv', [
        (['timestamp'], t), *kinova_columns(q, v),
        (named('actuators[{}].current_motor', 7), tau / own.constants)])


@recording(driver(drivers.JACO, tuple(named('j2n6s300_joint_finger_{}', 3, 1))))
def write_kinova_jaco_joint_states(path, own, t, q, v, tau):
    return write_states(
        path / 'jaco', own, t, q, v, tau, topic='/j2n6s300_driver/out/joint_state')


SERVOS = driver(drivers.SERVOS)
# One count of the current in [A].
COUNT = 2.69e-3


@recording(SERVOS, {
    'position-scale': f'{2.0 * np.pi / 4096:.9g}', 'position-offset': f'{-np.pi:.9g}',
    'effort-scale': '{counts}'})
def write_dynamixel_counts(path, own, t, q, v, tau):
    counts = np.rint(2048 + q / (2.0 * np.pi / 4096))
    return write_table(path / 'bus.csv', [
        (['time_ms'], np.rint(1e3 * t)), (named('present_position_{}', 4, 1), counts),
        (named('present_velocity_{}', 4, 1), np.rint(v / 0.229 / 6.0 / DEGREE)),
        (named('present_current_{}', 4, 1), np.rint(tau / own.constants / COUNT)),
        (named('goal_position_{}', 4, 1), counts), (named('present_voltage_{}', 4, 1), beside(q)),
        (named('present_temperature_{}', 4, 1), beside(q))])


@recording(SERVOS, {'effort-scale': '{thousandths}'})
def write_dynamixel_joint_states_in_milliamperes(path, own, t, q, v, tau):
    return write_states(path / 'servos', own, t, q, v, 1e3 * tau / own.constants)


@recording(SERVOS, {'position-unit': 'deg'})
def write_lerobot_table_with_efforts(path, own, t, q, v, tau):
    return write_table(path / 'episode.csv', [
        (['timestamp', 'frame_index', 'episode_index', 'index', 'task_index'],
         np.column_stack([t, np.arange(len(t)), 0 * t, np.arange(len(t)), 0 * t])),
        ([f'action.{name}.pos' for name in own.joints], q / DEGREE),
        ([f'observation.state.{name}.pos' for name in own.joints], q / DEGREE),
        ([f'observation.state.{name}.effort' for name in own.joints], tau)])


@recording(SERVOS)
def write_table_with_semicolons_and_decimal_commas(path, own, t, q, v, tau):
    return write_table(path / 'messung.csv', [
        (['Zeit time [s]'], t), (named('q{} [rad]', 4, 1), q), (named('tau{} [Nm]', 4, 1), tau)],
        delimiter=';', decimal=',')


@recording(SERVOS)
def write_labview_table(path, own, t, q, v, tau):
    return write_table(path / 'labview.csv', [
        (['Time (ms)'], 1e3 * t), (named('Position J{} (°)', 4, 1), q / DEGREE),
        (named('Torque J{} (N·m)', 4, 1), tau)], delimiter='\t')


@recording(SERVOS)
def write_matlab_table(path, own, t, q, v, tau):
    return write_table(path / 'export.csv', [
        (['t'], t), (named('q_{}', 4, 1), q), (named('qd_{}', 4, 1), v),
        (named('tau_{}', 4, 1), tau)])


@recording(SERVOS, {'position': '1-4', 'velocity': '5-8', 'effort': '9-12', 'time': '0'})
def write_matlab_matrix(path, own, t, q, v, tau):
    return write_table(path / 'matrix.csv', [
        (named('Var{}', 13, 1), np.column_stack([t, q, v, tau]))])


@recording(SERVOS, {'position': '1-4', 'effort': '5-8', 'time': '0'})
def write_headerless_table(path, own, t, q, v, tau):
    return write_table(path / 'plain.csv', [([''] * 9, np.column_stack([t, q, tau]))],
                       header=False)


@recording(SERVOS, {'effort': 'tau_{1},tau_{0},tau_{2},tau_{3}'})
def write_columns_of_two_joints_swapped(path, own, t, q, v, tau):
    return write_table(path / 'swapped.csv', [
        (['t'], t), ([f'q_{name}' for name in own.joints], q),
        ([f'tau_{name}' for name in own.joints], tau[:, [1, 0, 2, 3]])])


@recording(SERVOS)
def write_ros2_topic_echo(path, own, t, q, v, tau):
    stamps = 1_700_000_000_000_000_000 + np.rint(1e9 * t).astype(np.int64)
    lines = [
        ','.join([str(stamp // 10**9), str(stamp % 10**9), 'base_link', *own.joints,
                  *(f'{x:.9g}' for x in np.hstack(row))])
        for stamp, *row in zip(stamps.tolist(), q, v, tau, strict=True)]
    (path / 'echo.csv').write_text('\n'.join(lines) + '\n')
    return path / 'echo.csv'


@recording(SERVOS)
def write_plotjuggler_table(path, own, t, q, v, tau):
    return write_table(path / 'plotjuggler.csv', [
        (['__time'], 1.7e9 + t), (['/joint_states/header/stamp'], 1.7e9 + t),
        *(([f'/joint_states/{name}/{quantity}' for name in own.joints], values)
          for quantity, values in (('effort', tau), ('position', q), ('velocity', v)))])


@recording(SERVOS)
def write_table_of_a_converted_bag(path, own, t, q, v, tau):
    return write_table(path / 'bagpy.csv', [
        (['Time'], 1.7e9 + t + 0.002), (['header.seq'], np.arange(len(t))),
        (['header.stamp.secs'], np.floor(t)), (['header.stamp.nsecs'], np.rint(1e9 * (t % 1.0))),
        (named('position_{}', 4), q), (named('velocity_{}', 4), v), (named('effort_{}', 4), tau)])


def written(name, folder, own=None):
    """Write a recording of its own robot, or of another, beside the description.

    Returns:
        The robot, its file, that of the recording, and the answers to what has to be asked.
    """
    simulated, asked, write = RECORDINGS[name]
    own = own or simulated
    robot = folder / 'robot.urdf'
    robot.write_text(own.urdf)
    answers = {key: value.format(
        *own.joints, constants=comma(own.constants), thousandths=comma(1e-3 * own.constants),
        counts=comma(COUNT * own.constants)) for key, value in asked.items()}
    return own, robot, write(folder, own, *own.measured()), answers


def answered(name, robot, file, answers, ask):
    """Settings once all that is asked has its answer.

    Args:
        name: Of the recording, for what is wrong.
        robot: Description.
        file: The recording.
        answers: What may be asked, and is then answered.
        ask: ``initial_settings``, or what else guesses with what was told.

    Returns:
        Settings, and what was asked.

    Raises:
        AssertionError: Something else is asked, or the same twice.
    """
    told = {}
    for _ in range(4):
        try:
            return ask(robot, file, file.parent, told), told
        except OpenQuestionsError as error:
            asked = {question.option for question in error.questions}
            assert asked <= set(answers), (name, error.questions)
            assert not asked & set(told), (name, error.questions)
            told |= {option: answers[option] for option in asked}
            if 'position' in asked:
                # Who has to say the columns says all of them.
                told |= answers
    raise AssertionError(f'{name}: it asks again and again')


def require_right(identification, own):
    """The settings read what was measured, in SI units at the joints."""
    t, q, _, tau = own.measured()
    recording = load_recording(identification.settings.recording, identification.base)
    assert identification.settings.recording.joints == own.joints
    for quantity, truth, off in (('position', q, 2e-3), ('effort', tau, 2e-2)):
        for k, joint in enumerate(own.joints):
            channel = recording.channel_of(quantity, joint)
            assert channel is not None, (quantity, joint)
            # A joint without limits may be a turn away, or counted within one.
            values = np.unwrap(channel.column(joint)) if quantity == 'position' else (
                channel.column(joint))
            turns = np.rint((values[0] - truth[0, k]) / (2.0 * np.pi))
            if quantity == 'position' and joint in own.continuous:
                values = values - 2.0 * np.pi * turns
            # The first of a table's rows is taken for its header where it has text.
            apart = min(np.abs(np.interp(t[5:-5], channel.t - channel.t[0] + lost, values)
                               - truth[5:-5, k]).max() for lost in (0.0, t[1] - t[0]))
            assert apart < off * np.abs(truth[:, k]).max() + 2e-3, f'{quantity} of {joint}'
