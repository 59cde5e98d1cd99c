"""Commands on their way from settings and tables to actuators, and what is said of mistakes."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from sysid_ros.errors import ConfigurationError, EstimationError, RecordingError
from sysid_ros.estimation.actuator_commands import with_actuator_torques, with_torques_by
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.evaluation.study_checks import require_fitting_estimator
from sysid_ros.mechanics.actuators.actuators import actuated
from sysid_ros.mechanics.actuators.driven import actuator_torques
from sysid_ros.recording.bag.write import write_bag
from sysid_ros.release.mjcf_actuators import actuator_tag

ARM = """<mujoco model="arm"><compiler angle="radian"/><worldbody>
<body name="upper" pos="0 0 0.3">
<joint name="shoulder" axis="0 1 0" damping="0.4" frictionloss="0.3"/>
<inertial pos="0.02 0 0.12" mass="1.5" diaginertia="0.012 0.012 0.004"/>
<body name="fore" pos="0 0 0.25"><joint name="elbow" axis="1 0 0" damping="0.2"/>
<inertial pos="0 0.01 0.1" mass="0.8" diaginertia="0.006 0.006 0.001"/></body></body>
</worldbody></mujoco>"""
SETTINGS = {
    'robot': {
        'description': 'arm.xml',
        'actuators': {'*': {'kind': 'position_servo', 'kp': 30.0, 'kd': 1.0}}},
    'recording': {
        'format': 'csv', 'file': 'data.csv', 'joints': ['shoulder', 'elbow'],
        'time': {'column': 't'}, 'position': {'prefix': 'q_'}, 'command': {'prefix': 'u_'}}}
# Lag of the servo in the table in [s].
LAG = 0.04


@pytest.fixture
def folder(tmp_path):
    """An arm that follows its commands late and a little short of them."""
    (tmp_path / 'arm.xml').write_text(ARM)
    t = np.arange(400) * 0.01
    u, q = (0.5 * np.column_stack([np.sin(2.1 * x), np.cos(3.3 * x)]) for x in (t, t - LAG))
    np.savetxt(
        tmp_path / 'data.csv', np.column_stack([t, 0.95 * q, u]), delimiter=',', comments='',
        header='t,q_shoulder,q_elbow,u_shoulder,u_elbow')
    return tmp_path


def changed(**changes):
    """The settings with parts of sections in other words; None takes a key away."""
    found = yaml.safe_load(yaml.safe_dump(SETTINGS))
    for section, keys in changes.items():
        for key, value in keys.items():
            found[section][key] = value
            if value is None:
                del found[section][key]
    return found


def setup_of(folder, settings=SETTINGS):
    (folder / 'settings.yaml').write_text(yaml.safe_dump(settings))
    return FitSetup.load(folder / 'settings.yaml')


def read(folder, settings=SETTINGS):
    setup = setup_of(folder, settings)
    return with_actuator_torques(setup.identification.recording(), setup.model)


def test_torques_are_those_of_the_servo(folder):
    recording = read(folder, changed(robot={'command_delay': 0.0}))
    effort, q = recording.channel('effort'), recording.channel('position')
    u = recording.channel('command').values
    v = np.gradient(q.values, q.t, axis=0)
    np.testing.assert_allclose(effort.values, 30.0 * (u - q.values) - v, atol=1e-12)
    assert effort.unit == 'N·m'


def test_torques_are_made_anew_by_what_a_fit_has_found(folder):
    setup = setup_of(folder, changed(robot={'command_delay': 0.0}))
    values, parameters = setup.model.parameters.prior.copy(), setup.model.parameters
    for name, value in (('shoulder.kp', 20.0), ('elbow.kd', 2.0), ('command.delay', 0.025)):
        values[parameters.index(name)] = value
    guessed = read(folder, changed(robot={'command_delay': 0.0}))
    found = with_torques_by(guessed, setup.model, values)
    q, u = found.channel('position'), found.channel('command').values
    # Of two commands the one that was given at least so long before.
    late = np.vstack([np.repeat(u[:1], 3, axis=0), u[:-3]])
    expected = [20.0, 30.0] * (late - q.values) - [1.0, 2.0] * np.gradient(q.values, q.t, axis=0)
    # What was commanded before the recording is not known.
    np.testing.assert_allclose(found.channel('effort').values[3:], expected[3:], atol=1e-9)
    assert len(found.channels_of('effort')) == 1 and found.warnings == guessed.warnings


def test_a_robot_with_actuators_is_simulated_and_its_bodies_are_held(folder):
    setup = setup_of(folder)
    assert setup.settings.fit.estimator == 'shooting'
    parameters = setup.parameters()
    free = set(np.array(parameters.names)[parameters.free])
    assert free == {'command.delay'} | {
        f'{joint}.{field}' for joint in ('shoulder', 'elbow')
        for field in ('viscous_friction', 'coulomb_friction', 'torque_offset', 'armature')}
    freed = setup_of(folder, SETTINGS | {'fit': {'fixed': []}}).parameters()
    assert freed.free[freed.body_slice('fore')].all()
    assert not freed.free[freed.names.index('elbow.kp')]


def test_constants_that_are_sought_are_free(folder):
    servo = {'kind': 'position_servo', 'kp': 30.0, 'kd': 1.0, 'sought': ['kp']}
    settings = changed(robot={
        'actuators': {'*': SETTINGS['robot']['actuators']['*'], 'elbow': servo},
        'command_delay': 0.01})
    setup = setup_of(folder, settings)
    parameters = setup.parameters()
    free = dict(zip(parameters.names, parameters.free, strict=True))
    assert free['elbow.kp'] and not free['elbow.kd'] and not free['shoulder.kp']
    assert not free['command.delay']
    assert actuated(setup.model).delay(parameters.values) == 0.01


def test_estimators_that_need_torques_are_refused(folder):
    with pytest.raises(ConfigurationError, match=r'fit: \{estimator: shooting\}'):
        require_fitting_estimator(setup_of(folder), 'entropic')


@pytest.mark.parametrize(('changes', 'error', 'words'), [
    ({'recording': {'command': None}}, RecordingError,
     r'no command was recorded for shoulder, elbow .*recording: \{command: \{prefix: command_, '
     r'unit: rad\}\}'),
    ({'recording': {'command': {'prefix': 'u_', 'unit': 'A'}}}, RecordingError,
     r'commands of shoulder are not of the kind .*found A.*unit: rad'),
    ({'recording': {'command': {'prefix': 'q_'}, 'position': {'prefix': 'u_'}}}, RecordingError,
     'positions of shoulder, elbow go before their commands.*Swap the columns'),
    ({'robot': {'actuators': {'shoulder': {'kind': 'position_servo', 'kp': 30.0}}}},
     ConfigurationError, r'nothing says what drives elbow.*Add elbow: \{kind: position_servo'),
    ({'robot': {'actuators': {'*': {'kind': 'position_servo', 'kp': 3e4, 'torque_limit': 1e-6}}}},
     RecordingError, 'at its torque limit all the time'),
    ({'robot': {'actuators': {'wrist': {'kind': 'torque'}}}}, ConfigurationError,
     'no joint has this name, or matches this pattern.*wrist'),
    ({'robot': {'actuators': {'sh*': {'kind': 'torque'}, '*der': {'kind': 'torque'}}}},
     ConfigurationError, 'two patterns say what actuator shoulder has.*Add shoulder:'),
    ({'robot': {'actuators': {'*': {'kind': 'position_servo', 'kd': 1.0}}}}, ConfigurationError,
     'needs kp.*Add kp'),
    ({'robot': {'actuators': {'*': {'kind': 'current', 'kp': 1.0, 'torque_constant': 1.0}}}},
     ConfigurationError, 'kp means nothing for an actuator of the kind current'),
    ({'robot': {'actuators': {'*': {'kind': 'position_servo', 'kp': 1.0, 'sought': ['ki']}}}},
     ConfigurationError, 'has no such constant'),
    ({'robot': {'actuators': {'*': {'kind': 'position_servo', 'kp': -1.0}}}}, ConfigurationError,
     'kp of an actuator is not above zero'),
    ({'robot': {'actuators': {'*': {'kind': 'position_servo', 'kp': 1.0, 'sought': ['kd']}}}},
     ConfigurationError, 'needs kd.*as a first guess'),
    ({'robot': {'actuators': {'*': {'kind': 'position_servo', 'kp': 1.0, 'stall_torque': 9.0}}}},
     ConfigurationError, 'stall_torque alone .*Add no_load_speed: … in rad/s'),
    ({'robot': {'actuators': {'*': {'kind': 'current', 'torque_constant': 1.0,
                                    'no_load_speed': 9.0}}}},
     ConfigurationError, 'no_load_speed alone .*Add stall_torque: … in N·m'),
    ({'robot': {'actuators': {'*': {
        'kind': 'dc_motor', 'torque_constant': 1.0, 'resistance': 1.0, 'stall_torque': 9.0}}}},
     ConfigurationError, 'falls with speed already, by its back_emf'),
    ({'robot': {'actuators': {'*': {
        'kind': 'position_servo', 'kp': 1.0, 'sought': ['torque_limit']}}}},
     ConfigurationError, 'no first guess.*Add torque_limit: …'),
    ({'recording': {'command': {'prefix': 'u_', 'side': 'motor'}}}, ConfigurationError,
     'a command is taken as the actuator of a joint gets it'),
    ({'recording': {'command': {'prefix': 'u_', 'columns': ['a', 'b']}}}, ConfigurationError,
     'columns and prefix say the same'),
])
def test_mistakes_are_told_with_what_to_do(folder, changes, error, words):
    with pytest.raises(error, match=words):
        read(folder, changed(**changes))


def test_long_saturation_is_a_warning(folder):
    settings = changed(robot={
        'actuators': {'*': {'kind': 'position_servo', 'kp': 30.0, 'torque_limit': 1.0}}})
    warnings = read(folder, settings).warnings
    assert any('at its torque limit (torque_limit 1) for' in text for text in warnings)


def test_saturation_by_speed_is_a_warning_but_where_limits_are_to_be_found(folder):
    servo = {'kind': 'position_servo', 'kp': 30.0, 'stall_torque': 1.5, 'no_load_speed': 4.0}
    warnings = read(folder, changed(robot={'actuators': {'*': servo}})).warnings
    assert any('(stall_torque 1.5, no_load_speed 4) for' in text for text in warnings)
    servo |= {'sought': ['stall_torque', 'no_load_speed']}
    warnings = read(folder, changed(robot={'actuators': {'*': servo}})).warnings
    assert not any('at its torque limit' in text for text in warnings)


def test_the_back_emf_is_the_torque_constant_where_it_is_not_given(folder):
    motor = {'kind': 'dc_motor', 'torque_constant': 0.05, 'resistance': 0.8, 'gear': 30.0}
    setup = setup_of(folder, changed(robot={'actuators': {'*': motor}}))
    parameters = setup.model.parameters
    assert parameters['elbow.back_emf'] == 0.05
    assert parameters.units[parameters.index('elbow.resistance')] == 'Ω'
    assert Identification.load(folder / 'settings.yaml').robot().actuators['*'].gear == 30.0


def test_a_back_emf_that_is_left_out_goes_with_the_torque_constant_that_is_sought(folder):
    motor = {'kind': 'dc_motor', 'torque_constant': 0.05, 'resistance': 0.8, 'gear': 30.0,
             'sought': ['torque_constant']}
    model = setup_of(folder, changed(robot={'actuators': {'*': motor}})).model
    parameters, drives = model.parameters, actuated(model)
    assert 'elbow.back_emf' not in parameters.names
    place = parameters.index('elbow.torque_constant')

    def made(constant):
        values = parameters.prior.copy()
        values[place] = constant
        slots = np.where(np.arange(len(values)) == place, 0, -1)
        state = np.array([[[0.2, 0.1], [1.5, -2.0]]])
        return actuator_torques(
            drives.arrays(values, slots), np.zeros((1, 2)), np.ones((1, 2)),
            np.zeros((2, 1, 2)), state, 1)

    # Of the motor's equations: N k (u - k N v) / R.
    assert made(0.07).value[0, 1] == pytest.approx(
        30.0 * 0.07 * (1.0 + 0.07 * 30.0 * 2.0) / 0.8)
    slope = (made(0.07 + 1e-6).value - made(0.07 - 1e-6).value)[0, 1] / 2e-6
    assert made(0.07).by_parameters[0, 1, 0] == pytest.approx(slope, rel=1e-6)
    # What is written for simulators has it, too.
    values = parameters.values.copy()
    values[place] = 0.07
    elbow = drives.actuators.actuator_of('elbow')
    tag = actuator_tag(elbow, parameters.with_values(values))
    assert f'0 0 {-30.0**2 * 0.07**2 / 0.8!r}'[:12] in tag
    # Where it is given, or sought as well, it is a constant of its own.
    for own in ({'back_emf': 0.06}, {'sought': ['torque_constant', 'back_emf']}):
        model = setup_of(folder, changed(robot={'actuators': {'*': motor | own}})).model
        assert 'elbow.back_emf' in model.parameters.names


def test_a_bag_that_is_too_long_to_be_simulated_is_refused(folder):
    t = np.arange(40000) * 0.01
    write_bag(folder / 'bag', t, ['shoulder', 'elbow'], np.zeros((len(t), 2)))
    settings = changed(recording={
        'format': 'rosbag', 'file': 'bag', 'time': None, 'position': None, 'command': {},
        'memory_limit': 1.0})
    with pytest.raises(EstimationError, match=r'has to fit into memory.*memory_limit: 1\}'):
        Measurement.read(setup_of(folder, settings))


@pytest.mark.parametrize(('recording', 'has_drive'), [
    ({'effort': {'columns': {'shoulder': 'u_shoulder'}}, 'command': {
        'columns': {'elbow': 'u_elbow'}}}, True),
    ({'unpowered': ['shoulder'], 'command': {'columns': {'elbow': 'u_elbow'}}}, False),
])
def test_joints_beside_those_with_actuators_run_away_and_have_armatures_if_they_have_drives(
        folder, recording, has_drive):
    servo = {'kind': 'position_servo', 'kp': 30.0, 'kd': 1.0}
    setup = setup_of(folder, changed(robot={'actuators': {'elbow': servo}}, recording=recording))
    drives = actuated(setup.model)
    assert drives.actuators.names == ('elbow',) and not drives.hold_positions
    assert actuated(setup_of(folder).model).hold_positions
    assert ('shoulder.armature' in setup.model.parameters.names) is has_drive
    assert 'elbow.armature' in setup.model.parameters.names
    measured = Measurement.read(setup)
    tau = dict(zip(measured.dataset.joint_names, measured.dataset.tau.T, strict=True))
    assert bool(np.abs(tau['shoulder']).max() > 0.1) is has_drive
