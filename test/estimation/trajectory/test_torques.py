"""Torques at the nodes: what survives of a signal, and what drives were told."""

from __future__ import annotations

import numpy as np
import pytest

from support import golden_problems as golden
from sysid_ros.errors import ModelError, RecordingError
from sysid_ros.estimation.trajectory.torques import MotorCommand, at_nodes, command_torques
from sysid_ros.mechanics.joint_terms.drive_gain import DriveGain
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

ROBOT = RobotModel.from_urdf(golden.arm_urdf())
NODES = np.arange(101) / 50.0
FAST = np.arange(2001) / 1000.0


def integral(values, t):
    """Of straight lines between samples."""
    return float(np.sum(0.5 * (values[1:] + values[:-1]) * np.diff(t)))


def test_a_signal_on_the_nodes_stays_as_it_is(rng):
    values = rng.normal(size=len(NODES))
    np.testing.assert_allclose(at_nodes(NODES, NODES, values), values, atol=1e-12)


def test_straight_lines_stay_as_they_are_at_any_stamps(rng):
    t = np.sort(np.concatenate([[0.0, 2.0], rng.uniform(0.0, 2.0, 57)]))
    np.testing.assert_allclose(at_nodes(NODES, t, 3.0 - 2.0 * t), 3.0 - 2.0 * NODES, atol=1e-12)


def test_no_straight_lines_are_nearer_to_a_slow_signal():
    slow = np.sin(2.0 * np.pi * 3.0 * FAST)

    def away(values):
        return np.sqrt(integral((np.interp(FAST, NODES, values) - slow) ** 2, FAST))

    found = at_nodes(NODES, FAST, slow)
    # Lines between samples cut the corners of a curve everywhere, these half of the time.
    assert away(found) < 0.45 * away(slow[::20])
    for change in (1e-2, -1e-2):
        for node in (0, 1, 40, 100):
            assert away(found + change * (np.arange(len(NODES)) == node)) > away(found)


def test_what_is_too_fast_for_the_nodes_does_not_fold_back():
    # Taken at the nodes, 51 Hz would look like 1 Hz of full size.
    fast = np.sin(2.0 * np.pi * 51.0 * FAST + 0.3)
    found = at_nodes(NODES, FAST, fast)
    assert np.abs(found[5:-5]).max() < 0.05
    assert np.abs(fast[::20]).max() > 0.9


@pytest.mark.parametrize('held', [False, True])
def test_impulse_and_moment_of_a_signal_are_kept(held, rng):
    t = np.sort(np.concatenate([[0.0, 2.0], rng.uniform(0.0, 2.0, 30)]))
    values = rng.normal(size=len(t))
    found = at_nodes(NODES, t, values, held=held)
    steps = np.diff(t)
    exact = np.sum(steps * values[:-1]) if held else integral(values, t)
    assert integral(found, NODES) == pytest.approx(exact, abs=1e-10)


def test_a_held_signal_is_that_of_its_last_stamp():
    found = at_nodes(NODES, np.array([-0.3, 1.0]), np.array([2.0, 5.0]), held=True)
    np.testing.assert_allclose(found[:40], 2.0, atol=1e-4)
    np.testing.assert_allclose(found[-40:], 5.0, atol=1e-4)


@pytest.mark.parametrize(('start', 'stop', 'held'), [
    (0.1, 2.0, False), (0.0, 1.9, False), (0.1, 2.0, True)])
def test_a_signal_that_ends_before_the_nodes_is_refused(start, stop, held):
    t = np.linspace(start, stop, 50)
    with pytest.raises(RecordingError, match=r'does not reach .*allowed 0 s to 2 s'):
        at_nodes(NODES, t, 0.0 * t, held=held)


def test_commands_become_torques_of_their_joints():
    commands = [
        MotorCommand('wrist', FAST, np.sin(FAST), torque_per_unit=-0.5),
        MotorCommand('waist', FAST, FAST),
    ]
    torque = command_torques(ROBOT, NODES, commands, unpowered=['elbow'])
    expected = np.column_stack([NODES, 0.0 * NODES, -0.5 * np.sin(NODES)])
    np.testing.assert_allclose(torque, expected, atol=2e-5)


def test_the_gain_of_a_command_is_that_of_the_torque_model(rng):
    model = TorqueModel(ROBOT, [DriveGain()])
    gains = {f'{joint}.drive_gain': gain for joint, gain in zip(
        ROBOT.joint_names, (0.7, 1.2, 2.0), strict=True)}
    values = model.parameters.with_values(gains).values
    q, v, a = rng.normal(size=(3, len(NODES), 3))
    true = TorqueModel(ROBOT).torque(values[:30], q, v, a)
    # A drive that makes g times what the data sheet says is told 1 / g of the torque.
    commands = [
        MotorCommand(joint, NODES, true[:, k] / gain / 0.1, torque_per_unit=0.1)
        for k, (joint, gain) in enumerate(zip(ROBOT.joint_names, gains.values(), strict=True))]
    torque = command_torques(ROBOT, NODES, commands)
    np.testing.assert_allclose(model.torque(values, q, v, a), torque, atol=1e-10)


def lossy(held):
    values = np.ones(len(FAST))
    values[500:700] = np.nan
    return MotorCommand('waist', FAST, values, held=held)


def test_lost_commands_are_filled_only_where_that_is_asked_for():
    with pytest.raises(RecordingError, match=r'command of waist: .*missing .*0\.201 s.*Set held'):
        lossy(held=False).torque(NODES)
    np.testing.assert_allclose(lossy(held=True).torque(NODES), 1.0, atol=1e-12)


def test_single_lost_commands_are_joined_by_a_straight_line():
    values = 2.0 * FAST
    values[[300, 301, 900]] = np.nan
    found = MotorCommand('waist', FAST, values).torque(NODES)
    np.testing.assert_allclose(found, 2.0 * NODES, atol=1e-12)


def test_commands_that_begin_late_are_refused_by_name():
    with pytest.raises(RecordingError, match='command of waist: a signal does not reach'):
        MotorCommand('waist', FAST + 0.5, FAST, held=True).torque(NODES)


@pytest.mark.parametrize(('joints', 'unpowered', 'match'), [
    (['waist', 'elbow'], [], '^wrist: each joint needs .*none of these'),
    (['waist', 'elbow', 'wrist', 'wrist'], [], '^wrist: .*more than one'),
    (['waist', 'elbow', 'wrist'], ['elbow'], '^elbow: .*more than one'),
])
def test_every_joint_has_one_command_or_is_unpowered(joints, unpowered, match):
    commands = [MotorCommand(joint, FAST, FAST) for joint in joints]
    with pytest.raises(RecordingError, match=match):
        command_torques(ROBOT, NODES, commands, unpowered)


def test_a_command_of_no_joint_is_refused():
    with pytest.raises(ModelError, match="Did you mean 'wrist'"):
        command_torques(ROBOT, NODES, [MotorCommand('wirst', FAST, FAST)])


@pytest.mark.parametrize(('changes', 'match'), [
    ({'t': FAST[::-1]}, 'do not increase'),
    ({'t': FAST[:-1]}, 'do not belong together'),
    ({'values': np.where(FAST > 1.0, np.inf, 0.0)}, 'infinite'),
    ({'torque_per_unit': 0.0}, 'makes no torque'),
    ({'torque_per_unit': np.nan}, 'makes no torque'),
])
def test_commands_that_mean_nothing_are_refused(changes, match):
    with pytest.raises(RecordingError, match=f'command of waist: .*{match}'):
        MotorCommand(**{'joint': 'waist', 't': FAST, 'values': FAST, **changes})
