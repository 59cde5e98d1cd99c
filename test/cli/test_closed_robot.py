"""Robots with closed loops in a terminal: checked, and fitted from what their motors measured."""

import json
from pathlib import Path

import numpy as np
import pytest

from support import closed_robots as robots
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.files import load_excitation
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, TorqueOffset, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel

LOOPS = """
actuated: [left_joint, right_joint]
assembly: {left_joint: 2.2, left_tip_joint: -1.2, right_joint: 0.9, right_tip_joint: 1.2}
closures:
  - name: tips
    kind: point
    first: {link: left_tip, origin: [0.45, 0, 0]}
    second: {link: right_tip, origin: [0.45, 0, 0]}
"""
SETTINGS = """
robot:
  urdf: robot.urdf
  loops: loops.yaml
  gravity: [0, -9.80665, 0]
  terms: {viscous_friction: [left_joint, right_joint, left_tip_joint]}
recording:
  format: csv
  file: recorded.csv
  joints: [left_joint, right_joint]
  time: {column: t}
  position: {columns: [q1, q2], unit: rad}
  effort: {columns: [f1, f2], unit: N·m}
processing: {differentiation: central4, position_filter: {cutoff: 20}}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 'robot.urdf').write_text(robots.five_bar_linkage().urdf)
    (tmp_path / 'loops.yaml').write_text(LOOPS)
    return tmp_path


def test_the_model_check_shows_what_follows_and_how_far_it_is_from_a_dead_point(folder, capsys):
    code = main(['model', str(folder / 'robot.urdf'), '--loops', str(folder / 'loops.yaml')])
    told = capsys.readouterr().out
    assert code == ExitCode.OK
    assert "Robot 'five_bar': 2 joints, 4 moving bodies" in told
    assert 'Loops closed at tips, which move left_tip_joint, right_tip_joint' in told


def test_loops_with_a_mistake_end_with_a_sentence(folder, capsys):
    (folder / 'loops.yaml').write_text(LOOPS.replace('left_tip,', 'left_tp,'))
    code = main(['model', str(folder / 'robot.urdf'), '--loops', str(folder / 'loops.yaml')])
    assert code == ExitCode.BAD_INPUT
    assert "Did you mean 'left_tip'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_fit_needs_the_motors_alone_and_leaves_what_can_be_committed(folder):
    robot = robots.five_bar()
    joints = ('left_joint', 'right_joint', 'left_tip_joint')
    model = TorqueModel(robot, (ViscousFriction(joints), CoulombFriction(), TorqueOffset()))
    values = {f'{joint}.viscous_friction': 0.05 for joint in joints}
    values |= {'left.mass': 0.9, 'left_joint.coulomb_friction': 0.1}
    truth = model.parameters.with_values(values).values
    t = np.arange(8000) / 200.0
    q, v, a = robots.smooth_motion(robot, t, 1)
    tau = model.torque(truth, q, v, a)
    tau += 0.02 * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    np.savetxt(folder / 'recorded.csv', np.column_stack([t, q, tau]), delimiter=',',
               header='t,q1,q2,f1,f2', comments='')
    (folder / 'settings.yaml').write_text(SETTINGS)
    run = folder / 'run'
    code = main(['fit', str(folder / 'settings.yaml'), '--holdout', '0.3', '-o', str(run)])
    assert code == ExitCode.OK, (run / 'summary.txt').read_text()
    found = json.loads((run / 'estimate.json').read_text())
    friction = dict(zip(
        found['parameters']['names'], found['parameters']['values'], strict=True))
    for joint in joints:
        assert friction[f'{joint}.viscous_friction'] == pytest.approx(0.05, rel=0.1)
    assert 'left_tip_joint' in (run / 'identified.yaml').read_text()
    # The run needs no file outside of it.
    (folder / 'loops.yaml').rename(folder / 'moved.yaml')
    assert main(['validate', str(run), str(folder / 'settings.yaml')]) in (
        ExitCode.OK, ExitCode.NOT_COMMITTABLE)
    # Held-out torques move the loops as the prior's parameters do not.
    simulation = json.loads((run / 'evaluation.json').read_text())['simulation']
    assert simulation['joints'] == ['left_joint', 'right_joint']
    assert simulation['stretches'] == 23
    error = {name: simulation[name]['relative_to_coasting'] for name in ('candidate', 'prior')}
    assert error['candidate'] < 0.3
    assert error['prior'] > 3.0 * error['candidate']
    assert '23 held-out stretches of 0.5 s' in (run / 'summary.txt').read_text()


@pytest.mark.slow
def test_the_chain_of_the_paper_is_one_line_and_copes_with_contacts(folder):
    robot = robots.five_bar()
    model = TorqueModel(robot, (ViscousFriction(), CoulombFriction(), TorqueOffset()))
    joints = ('left_joint', 'right_joint')
    truth = model.parameters.with_values(
        {f'{joint}.viscous_friction': 0.05 for joint in joints} | {'left.mass': 0.9}).values
    t = np.arange(8000) / 500.0
    q, v, a = robots.smooth_motion(robot, t, 1)
    random, tau = np.random.default_rng(0), model.torque(truth, q, v, a)
    v = v + 0.002 * random.normal(size=v.shape)
    tau += 0.02 * tau.std(axis=0) * random.normal(size=tau.shape)
    tau[2000:2200] += 5.0 * tau.std(axis=0)
    np.savetxt(folder / 'recorded.csv', np.column_stack([t, q, v, tau]), delimiter=',',
               header='t,q1,q2,v1,v2,f1,f2', comments='')
    settings = SETTINGS.replace(', left_tip_joint', '').replace(
        'processing: {differentiation: central4, position_filter: {cutoff: 20}}',
        'preset: constrained_robots').replace(
        '  effort:', '  velocity: {columns: [v1, v2], unit: rad/s}\n  effort:')
    (folder / 'settings.yaml').write_text(settings)
    run = folder / 'run'
    code = main(['fit', str(folder / 'settings.yaml'), '--holdout', '0.3', '-o', str(run)])
    assert code == ExitCode.OK, (run / 'summary.txt').read_text()
    found = json.loads((run / 'estimate.json').read_text())
    assert found['estimator'] == 'irls_lmi'
    values = dict(zip(found['parameters']['names'], found['parameters']['values'], strict=True))
    for joint in joints:
        assert values[f'{joint}.viscous_friction'] == pytest.approx(0.05, rel=0.1)
    assert any('Rows left out as outliers: left_joint' in note for note in found['notes'])


def test_a_motion_is_designed_for_it(folder, capsys):
    (folder / 'excite.yaml').write_text("""
robot: {urdf: robot.urdf, loops: loops.yaml, gravity: [0, -9.80665, 0],
        terms: {viscous_friction: [left_joint, right_joint]}}
motion: {duration: 4.0, harmonics: [1, 2, 3]}
design: {starts: 1, iterations: 5, singularity_margin: 0.3}
""")
    code = main(['excite', str(folder / 'excite.yaml'), '-o', str(folder / 'motion')])
    assert code == ExitCode.OK, capsys.readouterr().err
    names = load_excitation(folder / 'motion' / 'excitation.yaml').joint_names
    assert names == ('left_joint', 'right_joint')


def test_a_motion_that_the_nodes_would_not_play_is_told_before(capsys, tmp_path):
    five_bar = Path(__file__).parents[1] / 'ros' / 'five_bar'
    motion = five_bar / 'motions' / 'identification.yaml'
    assert main(['excite', str(five_bar / 'excitation.yaml'), '--check', str(motion)]) == (
        ExitCode.OK)
    assert 'may be played' in capsys.readouterr().out
    # Room for a passive joint on the path, and none for motors that brake and leave it.
    robot = ExcitationPlan.load(five_bar / 'excitation.yaml').designer().model.robot
    tip = closed_chain(robot).positions(load_excitation(motion).grid(1000.0).q)[:, 1]
    centre, reach = 0.5 * (tip.min() + tip.max()), 0.501 * np.ptp(tip)
    for file, old, new in (
        ('robot.urdf', 'lower="-2.6" upper="-0.4"',
         f'lower="{centre - reach}" upper="{centre + reach}"'),
        ('excitation.yaml', 'margin: 0.1,', 'margin: 0.0001,'), ('loops.yaml', '', ''),
    ):
        (tmp_path / file).write_text((five_bar / file).read_text().replace(old, new))
    code = main(['excite', str(tmp_path / 'excitation.yaml'), '--check', str(motion)])
    assert code == ExitCode.BAD_INPUT
    assert 'closed loops could not be stopped in time' in capsys.readouterr().err


def test_motion_and_parameters_of_closed_loops_are_fitted_together(folder):
    robot = robots.five_bar()
    joints = ('left_joint', 'right_joint', 'left_tip_joint')
    model = TorqueModel(robot, (ViscousFriction(joints),))
    truth = model.parameters.with_values(
        {f'{joint}.viscous_friction': 0.05 for joint in joints} | {'left.mass': 0.9}).values
    # Torques by inverse dynamics, so that no integrator has made the recording.
    t = np.arange(1200) / 100.0
    q, v, a = robots.smooth_motion(robot, t, 1)
    tau, random = model.torque(truth, q, v, a), np.random.default_rng(0)
    q = q + 2e-4 * random.normal(size=q.shape)
    tau += 0.002 * tau.std(axis=0) * random.normal(size=tau.shape)
    np.savetxt(folder / 'recorded.csv', np.column_stack([t, q, tau]), delimiter=',',
               header='t,q1,q2,f1,f2', comments='')
    (folder / 'settings.yaml').write_text(
        SETTINGS.replace('terms: {', 'terms: {coulomb_friction: [], ')
        + 'fit: {estimator: variational, variational: {horizon: 0.3}}\n')
    run = folder / 'run'
    code = main(['fit', str(folder / 'settings.yaml'), '--holdout', '0.3', '-o', str(run)])
    assert code in (ExitCode.OK, ExitCode.NOT_COMMITTABLE), (run / 'summary.txt').read_text()
    found = json.loads((run / 'estimate.json').read_text())
    assert found['estimator'] == 'variational' and found['status'] == 'CONVERGED'
    names = found['parameters']['names']
    values = dict(zip(names, found['parameters']['values'], strict=True))
    deviations = dict(zip(names, found['standard_deviation'], strict=True))
    for joint in joints:
        name = f'{joint}.viscous_friction'
        # From a prior of zero to a tenth of the truth, and no farther than is said.
        assert abs(values[name] - 0.05) < min(0.005, 4.0 * deviations[name])
