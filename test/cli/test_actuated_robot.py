"""A robot without torque sensors goes from commands to a model that simulates it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import mujoco
import numpy as np
import pytest
import yaml

from support import actuated_arm as arm
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.errors import EstimationError
from sysid_ros.estimation.actuator_commands import gain_warnings
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.online.online import OnlineIdentification, OnlineSettings
from sysid_ros.estimation.trajectory.friction_law_error import DRY_FRICTION
from sysid_ros.estimation.trajectory.gain_start import with_gains_by_links
from sysid_ros.estimation.trajectory.shooting_estimator import ShootingEstimator
from sysid_ros.evaluation.study import Study
from sysid_ros.runs.commit import FinishedFit, NotCommittableError, prepare
from sysid_ros.runs.judgement import judge_again

SERVOS = {
    name: {'kind': 'position_servo', 'kp': kp, 'kd': kd, 'torque_limit': limit}
    for name, kp, kd, limit in zip(arm.JOINTS, arm.KP, arm.KD, arm.LIMIT, strict=True)}


def settings(file, **robot):
    """What a user writes."""
    return {
        'robot': {'description': 'arm.xml', 'actuators': SERVOS} | robot,
        'recording': {
            'format': 'csv', 'file': file, 'joints': list(arm.JOINTS), 'time': {'column': 't'},
            'position': {'prefix': 'q_'}, 'command': {'prefix': 'u_'}}}


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """The arm as described, two recordings and their settings."""
    path = tmp_path_factory.mktemp('actuated')
    (path / 'arm.xml').write_text(arm.DESCRIBED)
    for number, (name, seconds, pace) in enumerate((('first', 8.0, 1.0), ('other', 5.0, 1.3))):
        t, command, q = arm.recording(seconds, pace, number)
        np.savetxt(path / f'{name}.csv', np.column_stack([t, command, q]), delimiter=',',
                   header='t,u_shoulder,u_elbow,q_shoulder,q_elbow', comments='')
        (path / f'{name}.yaml').write_text(yaml.safe_dump(settings(f'{name}.csv')))
    return path


@pytest.fixture(scope='module')
def run(folder):
    """A fit, judged by the other recording."""
    code = main([
        'fit', str(folder / 'first.yaml'), '--validate', str(folder / 'other.yaml'),
        '-o', str(folder / 'run')])
    assert code == ExitCode.OK
    return folder / 'run'


def test_drives_are_found_from_commands_and_encoders(run):
    estimate = Estimate.load(run / 'estimate.json')
    deviation = dict(zip(estimate.parameters.names, estimate.standard_deviation, strict=True))
    for field, values in arm.TRUTH.items():
        for joint, truth in zip(arm.JOINTS, values, strict=True):
            name = f'{joint}.{field}'
            # Dry friction is another law in MuJoCo, which holds a joint that hardly moves.
            assert estimate.parameters[name] == pytest.approx(truth, rel=0.1), name
            assert 0.0 < deviation[name] < 0.2 * truth
    assert estimate.parameters['command.delay'] == pytest.approx(arm.DELAY, abs=5e-4)
    assert estimate.parameters['elbow.kp'] == arm.KP[1] and deviation['elbow.kp'] == 0.0


def test_torques_of_the_report_are_those_that_commands_make_by_what_was_found(run):
    report = json.loads((run / 'report.json').read_text())
    torques = next(each for each in report['sections'] if each['section'] == 'torques')
    assert 'the grey band is' not in (run / 'report.html').read_text()
    held_out = torques['groups'][0]
    for joint in held_out['joints']:
        made, left = (
            np.array(joint[key], dtype=float)
            for key in ('measured', 'residual'))
        assert np.sqrt(np.nanmean(left**2)) < 0.1 * np.sqrt(np.nanmean(made**2))
        assert joint['measured_name'] == 'made by the commands'
        # The fit has residuals of positions, and none of torque.
        assert joint['sigma'] is None


def test_it_is_judged_by_the_motion_that_it_simulates(run):
    verdict = json.loads((run / 'verdict.json').read_text())
    evidence = json.loads((run / 'evaluation.json').read_text())
    assert verdict['committable']
    unseen = evidence['held_out']
    # Judged by another recording, ten times nearer to it than by the description.
    assert unseen['relative_error'] < 0.1 * unseen['prior_relative_error']
    summary = (run / 'summary.txt').read_text()
    assert 'Errors of the simulated motion' in summary
    assert 'open loop under the recorded commands' in summary
    assert any('No torque was measured' in remark for remark in verdict['remarks'])


def test_it_is_judged_alike_by_its_recordings_again(run):
    assert judge_again('run', run).startswith('Judged again by its recordings')


def test_the_report_shows_what_the_drives_do(run):
    report = json.loads((run / 'report.json').read_text())
    drives, = [each for each in report['sections'] if each['section'] == 'drives']
    shoulder = next(each for each in drives['joints'] if each['joint'] == 'shoulder')
    assert shoulder['by_command'] and 0.0 <= shoulder['at_limit'] < 20.0
    assert max(shoulder['limits']['found']) == arm.LIMIT[0]
    for way in ('loss_driving', 'loss_driven'):
        # Dry friction, and viscous friction at a usual speed.
        assert 0.5 < shoulder['gear'][way] < 2.0, way
    simulated, = [each for each in report['sections'] if each['section'] == 'simulation']
    assert simulated['under'] == 'the recorded commands'


def test_another_recording_is_predicted_by_simulation(run, folder, capsys):
    assert main(['validate', str(run), str(folder / 'other.yaml')]) == ExitCode.OK
    assert 'the simulated motion is' in capsys.readouterr().out
    assert json.loads((run / 'verdict_other.json').read_text())['committable']


def test_the_mjcf_simulates_the_arm_in_mujoco(run):
    file = run / 'identified.xml'
    position = {
        each.get('joint'): each
        for each in ElementTree.parse(file).getroot().find('actuator').findall('position')}
    assert float(position['elbow'].get('kp')) == arm.KP[1]
    assert position['elbow'].get('forcerange') == '-12.0 12.0'
    exported = mujoco.MjModel.from_xml_path(str(file))
    exported.opt.timestep, exported.opt.integrator = (
        arm.STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST)
    described = mujoco.MjModel.from_xml_path(str(file))
    described.opt.timestep, described.opt.integrator = (
        arm.STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST)
    prior = mujoco.MjModel.from_xml_string(arm.DESCRIBED)
    for name in ('dof_damping', 'dof_frictionloss', 'dof_armature'):
        getattr(described, name)[:] = getattr(prior, name)
    t = np.arange(600) / arm.RATE
    command = arm.commanded(t, 0.8)
    true = arm.simulated(arm.plant(), command, command[0])
    errors = [
        np.sqrt(np.mean((arm.simulated(model, command, command[0]) - true)**2))
        for model in (exported, described)]
    assert errors[0] < 0.1 * errors[1]


def test_drives_are_handed_over_to_isaac_lab_and_ros2_control(run, folder, capsys):
    files = folder / 'isaac.yaml', folder / 'ros2.yaml'
    code = main(['export', str(run), '--isaac-lab', str(files[0]), '--ros2-control', str(files[1])])
    assert code == ExitCode.OK and str(files[1]) in capsys.readouterr().out
    group = yaml.safe_load(files[0].read_text())['actuators']['identified']
    estimate = Estimate.load(run / 'estimate.json')
    assert group['stiffness'] == dict(zip(arm.JOINTS, arm.KP, strict=True))
    # What simulates dry friction gets the values for it.
    dry = estimate.provenance[DRY_FRICTION]
    assert group['armature']['elbow'] == dry['elbow.armature']
    assert group['friction']['elbow'] == dry['elbow.coulomb_friction']
    gains = yaml.safe_load(files[1].read_text())['/**']['ros__parameters']['gains']
    assert gains['shoulder'] == {'p': arm.KP[0], 'i': 0.0, 'd': arm.KD[0]}


def test_an_mjcf_that_was_identified_stays_itself_by_either_option(run, folder, capsys):
    files = folder / 'by_o.xml', folder / 'by_mjcf.xml'
    assert main(['export', str(run), '-o', str(files[0])]) == ExitCode.OK
    assert main(['export', str(run), '--mjcf', str(files[1])]) == ExitCode.OK
    assert files[0].read_bytes() == files[1].read_bytes()
    # The delay has no place that every MuJoCo knows; the note is the line to paste.
    assert capsys.readouterr().out.count('nsample="N" at each actuator') == 2


def test_a_revision_holds_the_drives_and_has_no_shadow_test(run):
    fit = FinishedFit.open('run', run)
    content = fit.content(fit.model.robot)
    root = ElementTree.fromstring(content.description)
    gains = {each.get('joint'): float(each.get('kp'))
             for each in root.find('actuator').findall('position')}
    assert gains == dict(zip(arm.JOINTS, arm.KP, strict=True))
    assert content.parameters['command.delay'] == pytest.approx(arm.DELAY, abs=5e-4)
    with pytest.raises(NotCommittableError, match='no torque of this robot.*shadow_duration 0'):
        prepare(run / 'none.sqlite', 'run', run, fit.model.robot, shadowed=True)


def test_a_robot_with_actuators_is_not_followed_row_by_row(run):
    with pytest.raises(EstimationError, match='not measured, so it cannot be followed'):
        OnlineIdentification(FinishedFit.open('run', run).setup, OnlineSettings())


def test_a_model_for_gazebo_has_the_frictions_for_dry_friction(run, folder):
    assert main(['export', str(run), '--sdf', str(folder / 'arm.sdf')]) == ExitCode.OK
    dry = Estimate.load(run / 'estimate.json').provenance[DRY_FRICTION]
    model = ElementTree.parse(folder / 'arm.sdf').getroot().find('model')
    dynamics = model.find("joint[@name='elbow']/axis/dynamics")
    assert float(dynamics.find('friction').text) == dry['elbow.coulomb_friction']
    assert float(dynamics.find('damping').text) == dry['elbow.viscous_friction']


@pytest.mark.slow
def test_a_stiffness_that_is_sought_is_found_by_the_weight_of_the_links(folder):
    sought = {name: servo | {'kp': 1.3 * servo['kp'], 'sought': ['kp']}
              for name, servo in SERVOS.items()}
    (folder / 'sought.yaml').write_text(yaml.safe_dump(settings('first.csv', actuators=sought)))
    code = main(['fit', str(folder / 'sought.yaml'), '--validate', str(folder / 'other.yaml'),
                 '-o', str(folder / 'sought')])
    assert code == ExitCode.OK
    estimate = Estimate.load(folder / 'sought' / 'estimate.json')
    for joint, kp in zip(arm.JOINTS, arm.KP, strict=True):
        assert estimate.parameters[f'{joint}.kp'] == pytest.approx(kp, rel=0.05)


#: Gains of which one is far too small, the other far too large, as one guess for all drives is.
FAR = {'shoulder': 0.05, 'elbow': 20.0}


def far_off(folder):
    """Settings of the first recording, by their file, with gains that are sought and far off."""
    sought = {
        name: {'kind': 'position_servo', 'kp': FAR[name] * servo['kp'],
               'kd': 0.04 * FAR[name] * servo['kp'], 'sought': ['kp', 'kd']}
        for name, servo in SERVOS.items()}
    (folder / 'far.yaml').write_text(yaml.safe_dump(settings('first.csv', actuators=sought)))
    return folder / 'far.yaml'


def test_gains_that_are_sought_begin_at_what_the_links_take(folder):
    problem = with_gains_by_links(
        Measurements.read(FitSetup.load(far_off(folder)), ()).trajectory_problem())
    parameters, said = problem.parameters, problem.warnings[-1]
    for joint, kp in zip(arm.JOINTS, arm.KP, strict=True):
        assert parameters[f'{joint}.kp'] == pytest.approx(kp, rel=0.3)
        assert parameters[f'{joint}.kd'] == pytest.approx(0.04 * parameters[f'{joint}.kp'])
        assert f'{joint}.kp {parameters[f"{joint}.kp"]:.3g}' in said
    told = Measurements.read(FitSetup.load(folder / 'first.yaml'), ()).trajectory_problem()
    assert with_gains_by_links(told) is told


def test_the_scale_of_all_torques_is_that_of_the_described_links(folder):
    content = yaml.safe_load(far_off(folder).read_text()) | {'fit': {'fixed': []}}
    (folder / 'far_free.yaml').write_text(yaml.safe_dump(content))
    problem = Measurements.read(
        FitSetup.load(folder / 'far_free.yaml'), ()).trajectory_problem()
    held = with_gains_by_links(problem)
    said = held.warnings[-1]
    assert 'but for a common factor' in said and 'fit: {fixed: [LINK.mass]}' in said
    name, = (name for name, free in zip(held.parameters.names, held.parameters.free, strict=True)
             if not free and name.endswith('.kp'))
    kp = dict(zip(arm.JOINTS, arm.KP, strict=True))[name.removesuffix('.kp')]
    assert held.parameters[name] == pytest.approx(kp, rel=0.3) and name in said
    assert 'agrees with the described links' in said
    # Links without mass tell nothing, and nothing is said to agree with them.
    prior = problem.parameters.prior.copy()
    for body in problem.parameters.bodies:
        prior[problem.parameters.body_slice(body)] = 0.0
    weightless = replace(problem, parameters=replace(problem.parameters, prior=prior))
    untold = with_gains_by_links(weightless).warnings[-1]
    assert 'a guess, since the described links do not tell it' in untold
    # Values of a fit belong together.
    fitted = replace(problem.with_values(2.0 * held.parameters.values), near=True)
    assert with_gains_by_links(fitted).parameters[name] == 2.0 * held.parameters[name]
    # A link that was weighed tells the scale.
    weighed = replace(problem, parameters=problem.parameters.fixed('upper.mass'))
    assert 'common factor' not in with_gains_by_links(weighed).warnings[-1]


def test_gains_that_are_far_off_are_found_and_not_complained_of(folder):
    study = Study.load(FitSetup.load(far_off(folder)), holdout=0.3, estimator='shooting')
    evaluation = study.fit('shooting')
    estimate = evaluation.estimate
    assert evaluation.held_out.candidate.relative_error < 0.02
    for k, (joint, kp) in enumerate(zip(arm.JOINTS, arm.KP, strict=True)):
        assert estimate.parameters[f'{joint}.kp'] == pytest.approx(kp, rel=0.1)
        # Damping of a drive acts as viscous friction does: the drive has both.
        damping = arm.KD[k] + arm.TRUTH['viscous_friction'][k]
        assert estimate.parameters[f'{joint}.kd'] == pytest.approx(damping, rel=0.2)
        assert estimate.parameters[f'{joint}.viscous_friction'] == 0.0
    said, = [note for note in estimate.notes if 'show as their sum only' in note]
    assert 'shoulder, elbow' in said
    assert not any('units of a firmware' in note for note in estimate.notes)


@pytest.mark.slow
def test_a_common_factor_is_said_with_what_would_fix_it(folder, capsys):
    sought = {name: servo | {'sought': ['kp', 'kd']} for name, servo in SERVOS.items()}
    content = settings('first.csv', actuators=sought) | {'fit': {'fixed': []}}
    (folder / 'scale.yaml').write_text(yaml.safe_dump(content))
    main(['fit', str(folder / 'scale.yaml'), '--validate', str(folder / 'other.yaml'),
          '-o', str(folder / 'scale')])
    notes = ' '.join(Estimate.load(folder / 'scale' / 'estimate.json').notes)
    assert 'but for a common factor of all torques' in notes
    assert 'fit: {fixed: [LINK.mass]}' in notes


@pytest.mark.slow
def test_gains_in_degrees_are_told(folder):
    degrees = {name: servo | {key: servo[key] * np.pi / 180.0 for key in ('kp', 'kd')}
               for name, servo in SERVOS.items()}
    (folder / 'degrees.yaml').write_text(yaml.safe_dump(settings('first.csv', actuators=degrees)))
    study = Study.load(FitSetup.load(folder / 'degrees.yaml'), holdout=0.3, estimator='shooting')
    assert any('N·m/deg have to be given in N·m/rad' in text for text in study.trajectory.warnings)
    right = Study.load(FitSetup.load(folder / 'first.yaml'), holdout=0.3, estimator='shooting')
    assert not any('N·m/deg' in text for text in right.trajectory.warnings)


def test_gains_in_units_of_a_firmware_are_told(folder):
    # A register of 800 for 40 N·m/rad.
    register = {name: servo | {'kp': 20.0 * servo['kp'], 'torque_limit': 1e4}
                for name, servo in SERVOS.items()}
    (folder / 'register.yaml').write_text(yaml.safe_dump(settings('first.csv', actuators=register)))
    rows = Measurement.read(FitSetup.load(folder / 'register.yaml')).problem()
    warning, = gain_warnings(rows)
    assert 'gains in units of a firmware' in warning and 'sought: [kp]' in warning
    times = {name: float(re.search(rf'{name} (\d+)', warning)[1]) for name in arm.JOINTS}
    assert all(times[name] == pytest.approx(20.0, rel=0.25) for name in arm.JOINTS)
    right = Measurement.read(FitSetup.load(folder / 'first.yaml')).problem()
    assert not gain_warnings(right)


@pytest.mark.slow
def test_a_constant_alone_may_be_sought(folder):
    sought = {name: servo | {'kp': 1.1 * servo['kp'], 'sought': ['kp']}
              for name, servo in SERVOS.items()}
    (folder / 'arm_as_it_is.xml').write_text(
        arm.ARM.format(*(value for pair in arm.TRUTH.values() for value in pair)))
    content = settings(
        'first.csv', actuators=sought, description='arm_as_it_is.xml', command_delay=arm.DELAY
    ) | {'fit': {'fixed': [
        '*.viscous_friction', '*.coulomb_friction', '*.armature', '*.torque_offset',
        'upper.*', 'fore.*']}}
    (folder / 'alone.yaml').write_text(yaml.safe_dump(content))
    problem = Study.load(
        FitSetup.load(folder / 'alone.yaml'), holdout=0.3, estimator='shooting').trajectory
    estimate = ShootingEstimator().fit(problem)
    for joint, kp in zip(arm.JOINTS, arm.KP, strict=True):
        assert estimate.parameters[f'{joint}.kp'] == pytest.approx(kp, rel=0.05)
