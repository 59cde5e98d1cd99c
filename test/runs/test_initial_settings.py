"""Settings guessed of recordings as drivers and people write them: right, or asked."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import yaml

from support.simulated_arm import DESCRIPTION, SimulatedArm
from sysid_ros.errors import ConfigurationError, RecordingError
from sysid_ros.estimation.identification import Identification
from sysid_ros.mechanics.tree.inverse_dynamics import recursive_newton_euler
from sysid_ros.recording.bag.write import write_bag
from sysid_ros.recording.guess.evidence import OpenQuestionsError
from sysid_ros.recording.load import load_recording
from sysid_ros.runs import settings_guess
from sysid_ros.runs.initial_settings import initial_settings

RATE, DURATION = 200.0, 12.0
CONSTANTS = np.array([11.0, 9.0, 7.5, 4.0])


@pytest.fixture(scope='module')
def arm():
    return SimulatedArm(4)


@pytest.fixture(scope='module')
def recorded(arm):
    """Stamps, positions, velocities and torques."""
    t = np.arange(int(RATE * DURATION)) / RATE
    q, v, _ = arm.motion(t)
    return t, q, v, arm.torque(t)


@pytest.fixture
def robot(tmp_path):
    file = tmp_path / 'robot.urdf'
    file.write_text(DESCRIPTION)
    return file


def numbered(word, first=0, count=4, form='{word}_{k}'):
    return [form.format(word=word, k=k) for k in range(first, first + count)]


def write_csv(path, header, columns, delimiter=',', mark=''):
    table = np.column_stack(columns)
    lines = [mark + delimiter.join(header)] if header else []
    lines += [delimiter.join(f'{x:.9g}' if abs(x) < 1e6 else f'{x:.0f}' for x in row)
              for row in table]
    path.write_text('\n'.join(lines) + '\n')
    return path


def guessed(robot, file, **told):
    settings = initial_settings(
        robot, file, robot.parent, {key.replace('_', '-'): value for key, value in told.items()})
    written = robot.parent / 'guessed.yaml'
    written.write_text(settings.text())
    return settings, Identification.load(written)


def require_read(identification, recorded, joints, tolerance=1e-5):
    """The settings read what was recorded, in SI units at the joints."""
    t, q, _, tau = recorded
    recording = load_recording(identification.settings.recording, identification.base)
    for quantity, truth in (('position', q), ('effort', tau)):
        for k, joint in enumerate(joints):
            channel = recording.channel_of(quantity, joint)
            assert channel is not None, (quantity, joint)
            np.testing.assert_allclose(
                np.interp(t[5:-5], channel.t, channel.column(joint)), truth[5:-5, k],
                atol=tolerance * np.abs(truth).max())


def plain(recorded):
    t, q, v, tau = recorded
    header = ['time', *numbered('q'), *numbered('dq'), *numbered('tau')]
    return header, [t, q, v, tau]


def by_joint(recorded, arm, word_first=False):
    t, q, _, tau = recorded
    names = arm.joint_names
    header = ['t', *(f'{name}_position' for name in names), *(f'{name}_effort' for name in names)]
    if word_first:
        header = ['t', *(f'pos_{name}' for name in names), *(f'eff_{name}' for name in names)]
    return header, [t, q, tau]


def franka(recorded):
    t, q, v, tau = recorded
    header = [
        'time', *numbered('q'), *numbered('q_d'), *numbered('dq'), *numbered('dq_d'),
        *numbered('tau_J'), *numbered('tau_J_d'), *numbered('tau_ext_hat_filtered'),
        *numbered('theta')]
    return header, [t, q, q + 0.01, v, v, tau, tau + 1.0, 0.1 * tau, q + 0.002]


def universal_robots(recorded):
    t, q, v, tau = recorded
    header = [
        'timestamp', *numbered('target_q'), *numbered('target_qd'), *numbered('target_moment'),
        *numbered('actual_q'), *numbered('actual_qd'), *numbered('actual_current'),
        *numbered('joint_temperatures'), 'actual_digital_input_bits', 'runtime_state',
        *numbered('actual_TCP_pose', count=6)]
    zeros = np.zeros((len(t), 4))
    return header, [
        6000.0 + t, q + 0.01, v, tau, q, v, tau / CONSTANTS, zeros + 31.0, zeros[:, :2],
        np.zeros((len(t), 6))]


CSV = {
    'commas and numbers': lambda data, arm: plain(data),
    'words behind joints': by_joint,
    'words before joints': lambda data, arm: by_joint(data, arm, word_first=True),
    'other columns in between': lambda data, arm: franka(data),
}


@pytest.mark.parametrize('dialect', CSV)
def test_columns_are_found_by_their_names(dialect, arm, recorded, robot, tmp_path):
    file = write_csv(tmp_path / 'a.csv', *CSV[dialect](recorded, arm))
    _, identification = guessed(robot, file)
    require_read(identification, recorded, arm.joint_names)


@pytest.mark.parametrize('delimiter', [';', '\t', '|', ' '])
def test_the_separator_is_found(delimiter, arm, recorded, robot, tmp_path):
    file = write_csv(tmp_path / 'a.csv', *plain(recorded), delimiter=delimiter)
    _, identification = guessed(robot, file)
    assert identification.settings.recording.delimiter == delimiter
    require_read(identification, recorded, arm.joint_names)


def test_a_commented_header_is_read(arm, recorded, robot, tmp_path):
    file = write_csv(tmp_path / 'a.csv', *plain(recorded), mark='# ')
    _, identification = guessed(robot, file)
    require_read(identification, recorded, arm.joint_names)


@pytest.mark.parametrize(('suffix', 'degrees'), [('', True), ('_deg', True), ('_rad', False)])
def test_degrees_are_told_by_names_or_limits(
    suffix, degrees, arm, recorded, robot, tmp_path
):
    t, q, _, tau = recorded
    header = ['t', *(f'q{k}{suffix}' for k in range(1, 5)), *(f'tau{k}' for k in range(1, 5))]
    columns = [t, np.degrees(q) if degrees else q, tau]
    _, identification = guessed(robot, write_csv(tmp_path / 'a.csv', header, columns))
    assert identification.settings.recording.position.unit == ('deg' if degrees else None)
    require_read(identification, recorded, arm.joint_names)


@pytest.mark.parametrize(('unit', 'factor'), [('ms', 1e3), ('us', 1e6), ('ns', 1e9)])
@pytest.mark.parametrize('offset', [0.0, 1.7e9])
def test_the_unit_of_stamps_is_told(unit, factor, offset, arm, recorded, robot, tmp_path):
    header, (t, q, v, tau) = plain(recorded)
    file = tmp_path / 'a.npz'
    np.savez(file, time=np.round((t + offset) * factor), q=q, tau=tau)
    _, identification = guessed(robot, file)
    assert identification.settings.recording.time.unit == unit
    require_read(identification, recorded, arm.joint_names, 1e-3)


@pytest.mark.parametrize('names', [
    ('t', 'q', 'dq', 'tau'), ('timestamps', 'positions', 'velocities', 'efforts'),
    ('time', 'joint_pos', 'joint_vel', 'joint_torque'), ('t', 'qpos', 'qvel', 'torques')])
def test_arrays_are_found_by_their_names(names, arm, recorded, robot, tmp_path):
    np.savez(tmp_path / 'a.npz', **dict(zip(names, recorded, strict=True)))
    _, identification = guessed(robot, tmp_path / 'a.npz')
    require_read(identification, recorded, arm.joint_names)


def test_velocities_in_degrees_are_told_by_the_positions(arm, recorded, robot, tmp_path):
    t, q, v, tau = recorded
    np.savez(tmp_path / 'a.npz', t=t, q=q, dq=np.degrees(v), tau=tau)
    _, identification = guessed(robot, tmp_path / 'a.npz')
    assert identification.settings.recording.velocity.unit == 'deg/s'
    np.savez(tmp_path / 'b.npz', t=t, q=q, dq=v**2, tau=tau)
    _, identification = guessed(robot, tmp_path / 'b.npz')
    assert identification.settings.recording.velocity is None


def test_columns_in_another_order_are_taken_by_name(arm, recorded, robot, tmp_path):
    t, q, _, tau = recorded
    order = [2, 0, 3, 1]
    header = ['t', *(f'pos_{arm.joint_names[k]}' for k in order),
              *(f'tau_{arm.joint_names[k]}' for k in order[::-1])]
    file = write_csv(tmp_path / 'a.csv', header, [t, q[:, order], tau[:, order[::-1]]])
    _, identification = guessed(robot, file)
    require_read(identification, recorded, arm.joint_names)


def test_a_turned_sign_is_turned_back(arm, recorded, robot, tmp_path):
    t, q, _, tau = recorded
    signs = np.array([1.0, -1.0, 1.0, 1.0])
    np.savez(tmp_path / 'a.npz', t=t, q=q, tau=tau * signs)
    settings, identification = guessed(robot, tmp_path / 'a.npz')
    assert identification.settings.recording.effort.sign == tuple(signs)
    assert any('the sign of shoulder_pitch is turned' in one.value for one in settings.findings)
    require_read(identification, recorded, arm.joint_names)


@pytest.mark.parametrize('by_name', [True, False])
def test_torques_in_newton_millimetres_are_told(by_name, arm, recorded, robot, tmp_path):
    t, q, _, tau = recorded
    word = 'torque_Nmm' if by_name else 'torque'
    header = ['t', *numbered('q'), *(f'joint{k}_{word}' for k in range(4))]
    file = write_csv(tmp_path / 'a.csv', header, [t, q, 1e3 * tau])
    if not by_name:
        # They might as well be milliamperes.
        with pytest.raises(OpenQuestionsError, match='--effort-scale 0.001 for N·mm'):
            guessed(robot, file)
    _, identification = guessed(robot, file, **({} if by_name else {'effort_unit': 'N·mm'}))
    require_read(identification, recorded, arm.joint_names)


def test_one_torque_in_newton_millimetres_is_named_with_the_scales_to_say(
    arm, recorded, robot, tmp_path
):
    t, q, _, tau = recorded
    header = ['t', *numbered('q'), *(f'joint{k}_torque' for k in range(4))]
    mixed = tau * [1.0, 1e3, 1.0, 1.0]
    file = write_csv(tmp_path / 'a.csv', header, [t, q, mixed])
    with pytest.raises(OpenQuestionsError) as raised:
        guessed(robot, file)
    (question,) = raised.value.questions
    assert f'in N·m, it seems, but for {arm.joint_names[1]} in N·mm' in question.found
    assert question.example.startswith('1,0.001,1,1,')
    _, identification = guessed(robot, file, effort_scale='1,0.001,1,1')
    require_read(identification, recorded, arm.joint_names)


@pytest.mark.parametrize('times', [-141.6, -1e3, -30.0])
def test_a_torque_of_the_opposite_sign_is_called_so_and_no_unit_is_read_into_it(
    times, arm, recorded, robot, tmp_path
):
    t, q, _, tau = recorded
    header = ['t', *numbered('q'), *(f'joint{k}_torque' for k in range(4))]
    file = write_csv(tmp_path / 'a.csv', header, [t, q, tau * [1.0, times, 1.0, 1.0]])
    with pytest.raises(OpenQuestionsError) as raised:
        guessed(robot, file)
    (question,) = raised.value.questions
    assert f'with the opposite sign at {arm.joint_names[1]} (turned)' in question.found
    assert not any(unit in question.found for unit in ('ozf', 'mm', 'kgf'))
    _, identification = guessed(robot, file, effort_scale=f'1,{-1.0 / times},1,1')
    assert identification.settings.recording.effort.sign == (1, -1, 1, 1)
    require_read(identification, recorded, arm.joint_names)


def test_positions_in_turns_are_asked_for_and_taken(arm, recorded, robot, tmp_path):
    t, q, v, tau = recorded
    turns = 2.0 * np.pi
    file = write_csv(tmp_path / 'a.csv', plain(recorded)[0], [t, q / turns, v / turns, tau])
    with pytest.raises(OpenQuestionsError, match='--position-unit rev') as raised:
        guessed(robot, file)
    assert 'in turns the description explains' in raised.value.questions[0].found
    _, identification = guessed(robot, file, position_unit='rev')
    require_read(identification, recorded, arm.joint_names)
    # A name says it as well.
    header = ['t', *(f'joint{k}_turns' for k in range(4)), *numbered('tau')]
    _, identification = guessed(robot, write_csv(
        tmp_path / 'b.csv', header, [t, q / turns, tau]))
    require_read(identification, recorded, arm.joint_names)


def test_a_unit_of_positions_that_is_none_is_refused(arm, recorded, robot, tmp_path):
    file = write_csv(tmp_path / 'a.csv', *plain(recorded))
    with pytest.raises(ConfigurationError, match="--position-unit: unknown .* mean 'deg'"):
        guessed(robot, file, position_unit='degrees')


def test_positions_that_are_no_numbers_are_refused_without_a_word_of_the_machine(
    arm, recorded, robot, tmp_path
):
    t, q, v, tau = recorded
    nothing = np.full(q.shape, np.nan)
    file = write_csv(tmp_path / 'a.csv', plain(recorded)[0], [t, nothing, v, tau])
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        with pytest.raises(RecordingError, match='no finite position'):
            guessed(robot, file)


def test_currents_are_asked_for_and_scaled_as_told(arm, recorded, robot, tmp_path):
    file = write_csv(tmp_path / 'a.csv', *universal_robots(recorded))
    with pytest.raises(OpenQuestionsError) as raised:
        guessed(robot, file)
    (question,) = raised.value.questions
    assert question.option == 'effort-scale'
    assert 'currents' in question.found
    told = ','.join(map(str, CONSTANTS))
    _, identification = guessed(robot, file, effort_scale=told)
    require_read(identification, recorded, arm.joint_names)
    _, identification = guessed(robot, file, effort_scale='description')
    np.testing.assert_allclose(
        identification.settings.recording.effort.scale, CONSTANTS, rtol=0.5)


def test_a_servo_bus_in_degrees_and_milliamperes_is_asked_for(arm, recorded, robot, tmp_path):
    t, q, v, tau = recorded
    header = ['time_ms', *numbered('present_position', 1), *numbered('present_velocity', 1),
              *numbered('present_current', 1), *numbered('goal_position', 1)]
    file = write_csv(tmp_path / 'a.csv', header, [
        1e3 * t, np.degrees(q), np.degrees(v) / 6.0, 1e3 * tau / CONSTANTS, np.degrees(q)])
    with pytest.raises(OpenQuestionsError, match='effort-scale'):
        guessed(robot, file)
    told = ','.join(map(str, 1e-3 * CONSTANTS))
    _, identification = guessed(robot, file, effort_scale=told)
    require_read(identification, recorded, arm.joint_names)
    assert identification.settings.recording.velocity is None  # turns a minute


def test_columns_without_a_header_are_asked_for(arm, recorded, robot, tmp_path):
    file = write_csv(tmp_path / 'a.csv', [], plain(recorded)[1])
    with pytest.raises(OpenQuestionsError) as raised:
        guessed(robot, file)
    assert {one.option for one in raised.value.questions} == {'position'}
    _, identification = guessed(
        robot, file, time='0', position='1-4', velocity='5-8', effort='9-12')
    require_read(identification, recorded, arm.joint_names)


def test_a_table_without_stamps_needs_its_rate(arm, recorded, robot, tmp_path):
    header, columns = plain(recorded)
    file = write_csv(tmp_path / 'a.csv', header[1:], columns[1:])
    with pytest.raises(OpenQuestionsError, match='--rate'):
        guessed(robot, file)
    _, identification = guessed(robot, file, rate='200')
    require_read(identification, recorded, arm.joint_names)


@pytest.mark.parametrize('order, said', [
    (lambda rows: np.random.default_rng(0).permutation(rows), 'sort them by time'),
    (lambda rows: np.repeat(np.arange(rows), 2), 'time stays the same at 2400 of 4799 rows'),
])
def test_stamps_that_do_not_run_are_said_to_be_the_cause(
    order, said, arm, recorded, robot, tmp_path
):
    header, columns = plain(recorded)
    rows = order(len(recorded[0]))
    file = write_csv(tmp_path / 'log.csv', header, [column[rows] for column in columns])
    with pytest.raises(OpenQuestionsError) as asked:
        guessed(robot, file)
    (question,) = asked.value.questions
    assert question.option == 'rate'
    assert said in question.found


def test_velocities_in_turns_a_minute_are_said_to_be_such(arm, recorded, robot, tmp_path):
    t, q, v, tau = recorded
    header, _ = plain(recorded)
    file = write_csv(tmp_path / 'log.csv', header, [t, q, v * 60.0 / (2.0 * np.pi), tau])
    settings, identification = guessed(robot, file)
    assert identification.settings.recording.velocity is None
    (finding,) = [one for one in settings.findings if one.value == 'not used']
    assert 'as if these were in rpm' in finding.evidence


def test_seconds_and_nanoseconds_apart_are_put_together(arm, recorded, robot, tmp_path):
    t, q, _, tau = recorded
    header = ['header.stamp.sec', 'header.stamp.nanosec', *numbered('position'),
              *numbered('effort')]
    nanoseconds = np.rint(1e9 * t).astype(np.int64)
    file = write_csv(tmp_path / 'a.csv', header, [
        nanoseconds // 10**9, nanoseconds % 10**9, q, tau])
    _, identification = guessed(robot, file)
    assert identification.settings.recording.time.nanoseconds == 'header.stamp.nanosec'
    require_read(identification, recorded, arm.joint_names)


def test_two_arms_in_one_table_are_asked_for(arm, recorded, robot, tmp_path):
    t, q, _, tau = recorded
    header = ['t', *numbered('left_q'), *numbered('right_q'), *numbered('left_tau'),
              *numbered('right_tau')]
    file = write_csv(tmp_path / 'a.csv', header, [t, q, q[::-1], tau, tau[::-1]])
    with pytest.raises(OpenQuestionsError, match='Which columns are the position'):
        guessed(robot, file)
    _, identification = guessed(robot, file, position='left_q_*', effort='left_tau_*')
    require_read(identification, recorded, arm.joint_names)


def test_fewer_columns_than_joints_are_asked_for_and_the_rest_is_held(
    arm, recorded, robot, tmp_path
):
    t, q, _, tau = recorded
    header = ['t', *numbered('q', count=3), *numbered('tau', count=3)]
    file = write_csv(tmp_path / 'a.csv', header, [t, q[:, :3], tau[:, :3]])
    with pytest.raises(OpenQuestionsError, match='--joints'):
        guessed(robot, file)
    settings, identification = guessed(robot, file, joints=','.join(arm.joint_names[:3]))
    assert settings.sections['robot']['locked_joints'] == 'rest'
    require_read(identification, recorded, arm.joint_names[:3])


def test_positions_beyond_all_limits_are_asked_for(arm, recorded, robot, tmp_path):
    t, q, _, tau = recorded
    np.savez(tmp_path / 'a.npz', t=t, q=3000.0 * q, tau=tau)
    with pytest.raises(OpenQuestionsError, match='those of the motors'):
        guessed(robot, tmp_path / 'a.npz')


def test_positions_of_motors_are_asked_for(arm, recorded, robot, tmp_path):
    # Radians of a motor behind a gear of 50 look like degrees of the joint.
    t, q, _, tau = recorded
    header = ['t', *numbered('motor_position'), *numbered('tau')]
    file = write_csv(tmp_path / 'a.csv', header, [t, 50.0 * q, tau])
    with pytest.raises(OpenQuestionsError, match='--position-scale'):
        guessed(robot, file)
    _, identification = guessed(robot, file, position_scale='0.02')
    require_read(identification, recorded, arm.joint_names)


def test_torques_of_motors_are_asked_for(arm, recorded, robot, tmp_path):
    t, q, _, tau = recorded
    header = ['t', *numbered('q'), *numbered('motor_torque')]
    file = write_csv(tmp_path / 'a.csv', header, [t, q, tau])
    with pytest.raises(OpenQuestionsError, match='torques of motors, by their names'):
        guessed(robot, file)
    _, identification = guessed(robot, file, effort_unit='N·m')
    require_read(identification, recorded, arm.joint_names)


def test_currents_of_about_the_size_of_torques_are_asked_for(arm, recorded, robot, tmp_path):
    # 2.2 N·m/A: half the torques, which no single joint shows to be wrong.
    t, q, _, tau = recorded
    np.savez(tmp_path / 'a.npz', t=t, q=q, tau=tau / 2.2)
    with pytest.raises(OpenQuestionsError, match='--effort-scale') as raised:
        guessed(robot, tmp_path / 'a.npz')
    assert 'times what the description predicts: currents' in raised.value.questions[0].found
    _, identification = guessed(robot, tmp_path / 'a.npz', effort_scale='2.2')
    require_read(identification, recorded, arm.joint_names)


def test_efforts_without_the_load_of_gravity_are_named_and_no_scale_is_asked_for(
    arm, recorded, robot, tmp_path
):
    t, q, v, tau = recorded
    write_csv(tmp_path / 'a.csv', plain(recorded)[0], [t, q, v, tau - arm.gravity(t)])
    settings, _ = guessed(robot, tmp_path / 'a.csv')
    (said,) = [one for one in settings.findings if one.value == 'look at it before the fit']
    assert 'without the part that carries gravity' in said.evidence
    assert 'of the predicted' not in said.evidence


def test_currents_of_gears_are_not_taken_for_a_rare_unit_at_some_joints(
    arm, recorded, robot, tmp_path
):
    t, q, _, tau = recorded
    np.savez(tmp_path / 'a.npz', t=t, q=q, tau=tau / [12.0, 10.0, 2.5, 2.0])
    with pytest.raises(OpenQuestionsError, match='--effort-scale description') as raised:
        guessed(robot, tmp_path / 'a.npz')
    (question,) = raised.value.questions
    assert 'kgf' not in question.found


def test_torques_that_the_description_is_far_from_may_be_called_torques(
    arm, recorded, robot, tmp_path
):
    t, q, _, tau = recorded
    np.savez(tmp_path / 'a.npz', t=t, q=q, tau=2.2 * tau)
    with pytest.raises(OpenQuestionsError, match='say so by effort-unit, N·m'):
        guessed(robot, tmp_path / 'a.npz')
    _, identification = guessed(robot, tmp_path / 'a.npz', effort_unit='N·m')
    assert identification.settings.recording.effort.scale in (None, 1.0)


def test_rows_without_positions_between_those_of_a_topic_are_passed_over(
    arm, recorded, robot, tmp_path
):
    t, q, v, tau = recorded
    gaps = np.full_like(q, np.nan)
    rows = np.arange(2 * len(t)) // 2
    even = (np.arange(2 * len(t)) % 2 == 0)[:, None]
    stamps = np.repeat(t, 2) + 1e-3 * ~even[:, 0]
    lines = [','.join(['time', *numbered('q'), *numbered('tau')])]
    for stamp, row, there in zip(stamps, rows, even[:, 0], strict=True):
        cells = np.hstack([q[row], tau[row]]) if there else np.hstack([gaps[row], gaps[row]])
        lines.append(f'{stamp:.6f},' + ','.join('' if np.isnan(x) else f'{x:.9g}' for x in cells))
    (tmp_path / 'a.csv').write_text('\n'.join(lines) + '\n')
    _, identification = guessed(robot, tmp_path / 'a.csv')
    require_read(identification, recorded, arm.joint_names)


@pytest.mark.parametrize('word', [
    'tau_gravity', 'model_torque', 'tau_ff', 'torque_limit', 'tau_ext', 'predicted_effort'])
def test_torques_that_nobody_measured_are_no_efforts(word, arm, recorded, robot, tmp_path):
    t, q, _, tau = recorded
    header = ['t', *numbered('q'), *numbered(word)]
    with pytest.raises(OpenQuestionsError, match='--effort'):
        guessed(robot, write_csv(tmp_path / 'a.csv', header, [t, q, tau]))
    header += numbered('tau')
    file = write_csv(tmp_path / 'b.csv', header, [t, q, 0.5 * tau, tau])
    _, identification = guessed(robot, file)
    require_read(identification, recorded, arm.joint_names)


def test_columns_of_text_are_passed_over(arm, recorded, robot, tmp_path):
    header, columns = plain(recorded)
    lines = [','.join(['frame', *header])]
    lines += ['base,' + ','.join(f'{x:.9g}' for x in row) for row in np.column_stack(columns)]
    (tmp_path / 'a.csv').write_text('\n'.join(lines))
    _, identification = guessed(robot, tmp_path / 'a.csv')
    require_read(identification, recorded, arm.joint_names)


def test_joints_without_torque_are_asked_about_and_need_none_where_nothing_drives_them(
        arm, recorded, robot, tmp_path):
    t, q, _, tau = recorded
    names = arm.model.robot.joint_names
    file = write_csv(
        tmp_path / 'log.csv', ['t', *(f'q_{name}' for name in names), f'tau_{names[1]}'],
        [t, q, tau[:, 1]])
    others = ','.join(name for name in names if name != names[1])
    with pytest.raises(OpenQuestionsError, match=f'Say it: --unpowered {others}'):
        guessed(robot, file)
    settings, identification = guessed(robot, file, unpowered=others)
    section = identification.settings.recording
    assert section.unpowered == tuple(others.split(','))
    assert identification.settings.fit.estimator == 'entropic'
    recording = load_recording(section, identification.base)
    for k, name in enumerate(names):
        torque = tau[:, 1] if k == 1 else np.zeros(len(t))
        np.testing.assert_allclose(
            recording.channel_of('effort', name).column(name), torque, atol=1e-6)
    assert not any('unpowered' in str(finding) for finding in settings.findings)
    with pytest.raises(RecordingError, match=f'--unpowered.*found wrist2.*{names[0]}'):
        guessed(robot, file, unpowered='wrist2')


def test_joints_whose_drives_were_told_something_in_place_of_a_torque_are_named(
        arm, recorded, robot, tmp_path):
    t, q, _, tau = recorded
    names = arm.model.robot.joint_names
    file = write_csv(
        tmp_path / 'log.csv', [
            't', *(f'q_{name}' for name in names), f'tau_{names[0]}',
            *(f'command_{name}' for name in names[1:])], [t, q, tau[:, 0], q[:, 1:]])
    with pytest.raises(
            OpenQuestionsError, match=rf'command_{names[1]}.* tell drives: .*actuators: …'):
        guessed(robot, file)


def test_a_free_swing_needs_no_torque(arm, recorded, robot, tmp_path):
    t, q, _, _ = recorded
    names = arm.model.robot.joint_names
    file = write_csv(tmp_path / 'log.csv', ['t', *(f'q_{name}' for name in names)], [t, q])
    with pytest.raises(OpenQuestionsError, match='--unpowered all'):
        guessed(robot, file)
    _, identification = guessed(robot, file, unpowered='all')
    assert identification.settings.recording.unpowered == names
    assert identification.settings.recording.effort is None
    assert identification.settings.fit.estimator == 'shooting'


def test_a_bag_is_mapped_by_name(arm, recorded, robot, tmp_path):
    t, q, v, tau = recorded
    write_bag(tmp_path / 'bag', t, arm.joint_names, q, v, tau)
    settings, identification = guessed(robot, tmp_path / 'bag')
    assert 'rename' not in settings.sections['recording']
    require_read(identification, recorded, arm.joint_names)


def test_names_with_a_prefix_are_renamed(arm, recorded, robot, tmp_path):
    t, q, v, tau = recorded
    write_bag(tmp_path / 'bag', t, [f'left_{name}_joint' for name in arm.joint_names], q, v, tau,
              topic='/left/joint_states')
    settings, identification = guessed(robot, tmp_path / 'bag')
    assert settings.sections['recording']['topic'] == '/left/joint_states'
    require_read(identification, recorded, arm.joint_names)


def test_names_of_a_bag_that_say_nothing_are_asked_for(arm, recorded, robot, tmp_path):
    t, q, v, tau = recorded
    write_bag(tmp_path / 'bag', t, ['m1', 'm2', 'm3', 'm4'], q, v, tau)
    with pytest.raises(OpenQuestionsError, match='--joints'):
        guessed(robot, tmp_path / 'bag')
    _, identification = guessed(robot, tmp_path / 'bag', joints=','.join(arm.joint_names))
    require_read(identification, recorded, arm.joint_names)


def test_a_bag_in_degrees_is_told_by_the_limits(arm, recorded, robot, tmp_path):
    t, q, v, tau = recorded
    write_bag(tmp_path / 'bag', t, arm.joint_names, np.degrees(q), None, tau)
    settings, identification = guessed(robot, tmp_path / 'bag')
    assert settings.sections['recording']['position'] == {'unit': 'deg'}
    require_read(identification, recorded, arm.joint_names)


def test_of_a_bag_too_large_for_memory_the_first_part_is_looked_at(
    arm, recorded, robot, tmp_path, monkeypatch
):
    t, q, v, tau = recorded
    write_bag(tmp_path / 'bag', t, arm.joint_names, np.degrees(q), v, tau)
    survey = settings_guess.LongBag.survey
    monkeypatch.setattr(settings_guess, 'is_long', lambda *_: True)
    monkeypatch.setattr(
        settings_guess.LongBag, 'survey',
        lambda *words: replace(survey(*words), window=6.0))
    settings, identification = guessed(robot, tmp_path / 'bag')
    assert [one.value for one in settings.findings if one.subject == 'part'] == [
        'its first 6 s were looked at']
    require_read(identification, recorded, arm.joint_names)


def test_a_recording_without_torques_is_no_recording_for_a_fit(
    arm, recorded, robot, tmp_path
):
    t, q, v, _ = recorded
    write_bag(tmp_path / 'bag', t, arm.joint_names, q, v)
    with pytest.raises(RecordingError, match='effort|torque'):
        guessed(robot, tmp_path / 'bag')
    np.savez(tmp_path / 'a.npz', t=t, q=q)
    with pytest.raises(OpenQuestionsError, match='--effort'):
        guessed(robot, tmp_path / 'a.npz')


def test_what_is_told_has_to_be_there(arm, recorded, robot, tmp_path):
    file = write_csv(tmp_path / 'a.csv', *plain(recorded))
    with pytest.raises(RecordingError, match=r'--position names no column: angle_\*'):
        guessed(robot, file, position='angle_*')
    with pytest.raises(RecordingError, match='no moving joint'):
        guessed(robot, file, joints='a,b,c,d')
    with pytest.raises(RecordingError, match='is no recording'):
        guessed(robot, robot)


def test_the_file_has_the_evidence_as_comments(arm, recorded, robot, tmp_path):
    np.savez(tmp_path / 'a.npz', t=1e3 * recorded[0], q=recorded[1], tau=recorded[3])
    settings, _ = guessed(robot, tmp_path / 'a.npz')
    text = settings.text()
    assert '# in ms: 200 rows a second' in text
    assert yaml.safe_load(text) == settings.sections


def test_an_arm_on_a_wall_is_written_down_as_such(arm, recorded, robot, tmp_path):
    t, q, v, tau = recorded
    model = arm.model.robot
    wall = replace(model, gravity=np.array([0.0, 9.80665, 0.0]))
    weights = [
        recursive_newton_euler(
            one, arm.truth[:10 * len(one.body_names)], q, np.zeros_like(q), np.zeros_like(q))
        for one in (model, wall)]
    file = write_csv(
        tmp_path / 'wall.csv', ['time', *numbered('position'), *numbered('torque')],
        [t, q, tau - weights[0] + weights[1]])
    settings, _ = guessed(robot, file)
    assert settings.sections['robot']['gravity'] == pytest.approx([0.0, 9.81, 0.0], abs=0.01)
    assert 'look how the robot is mounted' in settings.text()
    # Who says where gravity pulls is not contradicted, and an arm that stands as described is not.
    upright = write_csv(
        tmp_path / 'upright.csv', ['time', *numbered('position'), *numbered('torque')], [t, q, tau])
    assert 'gravity' not in guessed(robot, upright)[0].sections['robot']
