"""Files of which nothing is said: columns and units are guessed, or asked for by keyword."""

from pathlib import Path

import numpy as np
import pytest
import yaml

import sysid_ros as si
from support import drivers
from support.drivers import driver, named, write_states, write_table
from sysid_ros.api.guess_answers import as_keyword
from sysid_ros.recording.guess.evidence import OpenQuestionsError, Question

OWN = driver(drivers.SERVOS, ('gripper',))
PLAIN = driver(drivers.SERVOS)
LEGGED = """<mujoco><worldbody>
<body name="trunk"><freejoint name="root"/><inertial pos="0 0 0" mass="4" diaginertia="1 1 1"/>
<body name="thigh"><joint name="hip" axis="0 1 0"/>
<inertial pos="0 0 -0.1" mass="1" diaginertia="0.01 0.01 0.01"/>
<body name="calf" pos="0 0 -0.2"><joint name="knee" axis="0 1 0"/>
<inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.01 0.01 0.01"/></body></body></body></worldbody>
<actuator><position joint="hip" kp="20" kv="1"/><position joint="knee" kp="20" kv="1"/></actuator>
</mujoco>"""


@pytest.fixture(scope='module')
def measured():
    """Stamps, positions, velocities and torques."""
    return OWN.measured()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with the descriptions of the arm with and without its gripper."""
    (tmp_path / 'robot.urdf').write_text(OWN.urdf)
    (tmp_path / 'plain.urdf').write_text(PLAIN.urdf)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(folder, t, q, tau, effort='tau'):
    return write_table(folder / 'log.csv', [
        (['ms'], 1e3 * t), (named('angle_{}', 4), np.degrees(q)), (named(effort + '_{}', 4), tau)],
        delimiter=';', decimal=',')


def test_a_table_is_guessed_with_the_robot(folder, measured):
    t, q, _, tau = measured
    recording = si.Recording.from_csv(table(folder, t, q, tau))
    assert not recording.findings
    guessed = recording.guessed({'urdf': 'robot.urdf'})
    assert guessed.section['decimal'] == ',' and guessed.section['time']['unit'] == 'ms'
    assert guessed.section['position']['unit'] == 'deg'
    assert any('in deg' in finding for finding in guessed.findings)
    assert guessed.guessed({'urdf': 'robot.urdf'}) is guessed


def test_what_is_open_is_said_with_its_keyword(folder, measured):
    t, q, _, tau = measured
    file = table(folder, t, q, tau / PLAIN.constants, effort='current')
    with pytest.raises(si.RecordingError, match=r'effort_scale=\[…\], one for each joint'):
        si.Recording.from_csv(file).guessed({'urdf': 'plain.urdf'})
    guessed = si.Recording.from_csv(file, effort_scale=list(PLAIN.constants)).guessed(
        {'urdf': 'plain.urdf'})
    assert guessed.section['effort']['scale'] == list(PLAIN.constants)
    write_table(file, [(named('a{}', 8), np.hstack([q, tau]))])
    with pytest.raises(si.RecordingError, match=r"Name the columns: time='…', position=\[…\]"):
        si.Recording.from_csv(file).guessed({'urdf': 'plain.urdf'})
    write_table(file, [(named('q{}', 4), q), (named('tau{}', 4), tau)])
    with pytest.raises(si.RecordingError, match='Say it: rate=1000'):
        si.Recording.from_csv(file).guessed({'urdf': 'plain.urdf'})
    guessed = si.Recording.from_csv(file, rate=125).guessed({'urdf': 'plain.urdf'})
    assert guessed.section['time'] == {'rate': 125.0}


def test_joints_that_nothing_drives_are_asked_for_with_their_names():
    question = Question('unpowered', 'Does nothing drive them?', 'tau_1', 'upper,lower')
    error = as_keyword(OpenQuestionsError([question], 'log.csv'), Path('log.csv'))
    assert "Say it: unpowered=['upper', 'lower']" in str(error)


def test_keys_of_the_section_leave_nothing_to_a_guess(folder):
    said = si.Recording.from_csv('log.csv', delimiter=';')
    assert said.guessed({'urdf': 'plain.urdf'}) is said
    assert si.Recording.from_csv('log.csv').answers == {}
    assert si.Recording.from_bag('bag', topic='/joint_states').answers is None
    with pytest.raises(si.ConfigurationError, match='rte'):
        si.Recording.from_csv('log.csv', rte=500, joints=['a']).described(['a'])


@pytest.mark.slow
def test_a_fit_of_a_bag_takes_what_was_guessed(folder, measured):
    t, q, v, tau = measured
    bag = write_states(folder / 'bag', OWN, t, np.degrees(q), np.degrees(v), tau)
    fit = si.fit('robot.urdf', si.Recording.from_bag(bag), automatic=False, folder='run')
    assert fit.verdict.committable, fit.verdict.reasons
    settings = yaml.safe_load((fit.folder / 'settings.yaml').read_text())
    assert settings['recording']['position'] == {'unit': 'deg'}
    assert settings['recording']['velocity'] == {'unit': 'deg/s'}
    assert settings['recording']['joints'] == list(OWN.joints)
    # The gripper stood still without effort.
    assert settings['robot']['locked_joints'] == 'rest'
    validation = si.validate(fit, si.Recording.from_bag(bag))
    assert not validation.verdict.committable  # it is what was fitted


def test_a_free_joint_of_the_description_is_held_where_columns_are_guessed(tmp_path):
    (tmp_path / 'legged.xml').write_text(LEGGED)
    t = np.arange(0.0, 8.0, 0.005)
    u = np.column_stack([0.5 * np.sin(2.0 * t + k) * np.sin(0.7 * t) for k in range(2)])
    write_table(tmp_path / 'log.csv', [
        (['t'], t), (['q_hip', 'q_knee'], 0.98 * u), (['action_hip', 'action_knee'], u)])
    guessed = si.Recording.from_csv(tmp_path / 'log.csv').guessed(
        {'description': str(tmp_path / 'legged.xml')})
    assert guessed.base == 'fixed' and guessed.actuators
    assert any('the free joint root' in finding for finding in guessed.findings)
    floating = si.Recording.from_csv(tmp_path / 'log.csv').guessed(
        {'description': str(tmp_path / 'legged.xml'), 'base': 'floating'})
    assert floating.base == 'floating' and not any('root' in one for one in floating.findings)
