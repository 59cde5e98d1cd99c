"""``sysid excite``: from a settings file to a motion, its files, and the verification of any."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from support.golden_problems import arm_urdf
from support.simulated_arm import SimulatedArm
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.files import load_excitation
from sysid_ros.runs.excitation_request import informed

SETTINGS = """\
robot: {urdf: arm.urdf}
motion: {duration: 4.0, harmonics: [1, 2, 3]}
clearance:
  boxes: [{name: wall, lower: [0.9, -2, -2], upper: [1.2, 2, 2]}]
design: {starts: 1, iterations: 5, seed: 4}
"""

RECORDED = """\
robot: {{urdf: arm.urdf}}
recording:
  format: csv
  file: recording.csv
  joints: [{}]
  time: {{column: t}}
  position: {{columns: [q0, q1, q2, q3]}}
  effort: {{columns: [f0, f1, f2, f3], unit: N·m}}
processing: {{parallel_filter: {{cutoff: 10.0, decimate_to: 25.0}}}}
"""


@pytest.fixture
def settings(tmp_path):
    (tmp_path / 'arm.urdf').write_text(arm_urdf())
    path = tmp_path / 'arm.yaml'
    path.write_text(SETTINGS)
    return path


@pytest.mark.slow
def test_motions_are_designed_written_and_can_be_checked(settings, tmp_path, capsys):
    folder = tmp_path / 'motions'
    assert main(['excite', str(settings), '-o', str(folder), '--count', '2']) == ExitCode.OK
    said = capsys.readouterr().out
    assert 'base parameters to better than' in said and 'Smallest clearance' in said
    names = {'excitation_{}.yaml', 'trajectory_{}.yaml', 'motion_{}.csv', 'summary_{}.txt',
             'preview_{}.png', 'report_{}.html', 'report_{}.json'}
    assert {path.name for path in folder.iterdir()} == {
        name.format(k) for name in names for k in (1, 2)
    }
    first, second = (load_excitation(folder / f'excitation_{k}.yaml') for k in (1, 2))
    assert first.design['seed'] == 4
    assert not np.allclose(first.coefficients, second.coefficients)
    trajectory = yaml.safe_load((folder / 'trajectory_1.yaml').read_text())
    assert trajectory['joint_names'] == list(first.joint_names)
    for name in ('excitation_1.yaml', 'motion_1.csv'):
        assert main(['excite', str(settings), '--check', str(folder / name)]) == ExitCode.OK
        assert 'may be played' in capsys.readouterr().out
    capsys.readouterr()
    again = ['excite', str(settings), '-o', str(tmp_path / 'again')]
    assert main([*again, '--after', str(folder / 'excitation_1.yaml'), '--json']) == ExitCode.OK
    plain = json.loads(capsys.readouterr().out)
    assert plain['folder'] == str(tmp_path / 'again')
    assert [Path(each['file']).name for each in plain['motions']] == ['excitation.yaml']
    assert plain['motions'][0]['duration'] == pytest.approx(second.duration)
    checked = ['excite', str(settings), '--check', str(folder / 'excitation_1.yaml')]
    assert main([*checked, '--json']) == ExitCode.OK
    plain = json.loads(capsys.readouterr().out)
    assert plain['allowed'] is True and plain['findings'] == []
    assert main([*checked, '-q']) == ExitCode.OK
    assert capsys.readouterr().out == ''
    repeated = load_excitation(tmp_path / 'again' / 'excitation.yaml')
    np.testing.assert_array_equal(repeated.coefficients, second.coefficients)


@pytest.mark.slow
def test_what_a_recording_told_already_is_known(tmp_path, capsys):
    arm = SimulatedArm(1)
    t = np.arange(1000) / 100.0
    np.savetxt(tmp_path / 'recording.csv', np.column_stack([t, arm.motion(t)[0], arm.torque(t)]),
               delimiter=',', comments='', header='t,q0,q1,q2,q3,f0,f1,f2,f3')
    (tmp_path / 'arm.urdf').write_text(arm.description)
    recorded, planned = tmp_path / 'recorded.yaml', tmp_path / 'planned.yaml'
    recorded.write_text(RECORDED.format(', '.join(arm.joint_names)))
    planned.write_text('robot: {urdf: arm.urdf}\nmotion: {harmonics: [1, 2, 3]}\n'
                       'design: {starts: 1, iterations: 2}')
    run = tmp_path / 'run'
    assert main(['fit', str(recorded), '--estimator', 'wls', '-o', str(run)]) in (0, 1)
    known = ExcitationPlan.load(planned).designer().information.known
    capsys.readouterr()
    command = ['excite', str(planned), '-o', str(tmp_path / 'motions'), '--after', str(run)]
    assert main(command) == ExitCode.OK
    told = capsys.readouterr().out
    # Friction of every joint was recorded, so nothing of it is among the least known.
    assert 'friction' not in told
    designer = informed(ExcitationPlan.load(planned), [run])
    assert (np.linalg.eigvalsh(designer.information.known - known) > -1e-6).all()
    planned.write_text('robot: {urdf: arm.urdf, terms: {torque_offset: []}}')
    assert main(command) == ExitCode.BAD_INPUT
    assert 'other parameters than the motion' in capsys.readouterr().err


def test_a_motion_that_breaks_limits_is_not_to_be_played(settings, tmp_path, capsys):
    names = ExcitationPlan.load(settings).designer().limits.joint_names
    t = np.arange(0.0, 2.0, 0.01)
    q = np.outer(1.5 * np.sin(8.0 * t), np.ones(len(names)))
    rows = np.column_stack([t, q, np.gradient(q, t, axis=0),
                            np.gradient(np.gradient(q, t, axis=0), t, axis=0)])
    header = ['time'] + [f'{kind}.{name}' for kind in ('position', 'velocity', 'acceleration')
                         for name in names]
    table = tmp_path / 'wild.csv'
    np.savetxt(table, rows, delimiter=',', header=','.join(header), comments='')
    assert main(['excite', str(settings), '--check', str(table)]) == ExitCode.BAD_INPUT
    said = capsys.readouterr().out
    assert 'does not begin at rest' in said and 'The velocity of' in said
    assert 'must not be played' in said


@pytest.mark.parametrize(('change', 'words'), [
    ({'motion': {'duration': -1.0}}, 'the duration cannot be used'),
    ({'motion': {'family': 'waltz'}}, 'motion.family'),
    ({'motion': {'harmonics': [1, 1, 2]}}, 'the harmonics cannot be used'),
    ({'design': {'critereon': 'determinant'}}, "Did you mean 'criterion'"),
    ({'design': {'criterion': 'beauty'}}, 'there is no such criterion'),
    ({'design': {'starts': 0}}, 'design.starts'),
    ({'design': {'margin': 1.0}}, 'design.margin'),
    ({'limits': {'elbw': {'velocity': 1.0}}}, "Did you mean 'elbow'"),
    ({'limits': {'elbow': {'speed': 1.0}}}, 'there is no such limit'),
    ({'limits': {'elbow': {'velocity': float('nan')}}}, 'not finite'),
    ({'torque_noise': {'elbow': 0.0}}, 'the torque noise cannot be used'),
    ({'rest': {'elbw': 0.0}}, "Did you mean 'elbow'"),
    ({'rest': {'elbow': 99.0}}, 'cannot rest there'),
    ({'clearance': {'boxes': [{'name': 'wall', 'lower': [1, 1, 1], 'upper': [0, 2, 2]}]}},
     'do not make a box'),
    ({'clearance': {'tool': {'link': 'hnd', 'lower': [0, 0, 0], 'upper': [1, 1, 1]}}},
     'there is no such moving link'),
])
def test_settings_that_cannot_be_used_are_refused(settings, change, words, capsys):
    settings.write_text(yaml.safe_dump(yaml.safe_load(SETTINGS) | change))
    assert main(['excite', str(settings)]) == ExitCode.BAD_INPUT
    assert words in capsys.readouterr().err


@pytest.mark.parametrize('option', ['--speed', '--count', '--rate'])
def test_options_that_cannot_be_used_are_refused(settings, option, capsys):
    assert main(['excite', str(settings), option, '0']) == ExitCode.BAD_INPUT
    assert option in capsys.readouterr().err


def test_what_happens_between_the_rows_of_a_table_counts(settings, tmp_path, capsys):
    designer = ExcitationPlan.load(settings).designer()
    names, limits = designer.limits.joint_names, designer.limits
    t = np.arange(0.0, 4.0, 0.02)
    still = np.zeros((len(t), len(names)))
    a = still.copy()
    # Accelerations that change their sign from row to row, though hardly anything moves.
    a[20:-20:2, 0], a[21:-20:2, 0] = 0.5 * limits.acceleration[0], -0.5 * limits.acceleration[0]
    header = ['time'] + [f'{kind}.{name}' for kind in ('position', 'velocity', 'acceleration')
                         for name in names]
    table = tmp_path / 'zigzag.csv'
    middle = still + limits.centre
    np.savetxt(table, np.column_stack([t, middle, still, a]), delimiter=',',
               header=','.join(header), comments='')
    assert main(['excite', str(settings), '--check', str(table)]) == ExitCode.BAD_INPUT
    assert 'The jerk of' in capsys.readouterr().out


def test_a_table_too_coarse_to_play_is_refused(settings, tmp_path, capsys):
    command = ['excite', str(settings), '-o', str(tmp_path / 'm'), '--rate', '2']
    assert main(command) == ExitCode.BAD_INPUT
    assert 'too coarse to play' in capsys.readouterr().err


def test_motions_are_not_designed_for_what_the_fit_holds(settings):
    everything = ExcitationPlan.load(settings).designer().information
    settings.write_text(f"{SETTINGS}fixed: ['*_friction']\n")
    some = ExcitationPlan.load(settings).designer().information
    names = some.model.parameters.names
    assert some.base.rank == everything.base.rank - 6
    assert not any('friction' in names[k] for k in some.base.independent)


def test_a_tool_is_kept_in_its_box(settings, tmp_path):
    plan = ExcitationPlan.load(settings)
    hand = plan.designer().model.robot.links[-1].name
    box = {'lower': [-5.0, -5.0, -5.0], 'upper': [5.0, 5.0, 5.0]}
    change = {'clearance': {'self_collision': False, 'tool': {'link': hand, **box}}}
    settings.write_text(yaml.safe_dump(yaml.safe_load(SETTINGS) | change))
    constraint, = ExcitationPlan.load(settings).designer().obstacles
    assert constraint.labels()[0] == 'lower x of the box of the tool'


def test_the_documented_settings_are_the_defaults():
    path = Path(__file__).parents[2] / 'config' / 'excitation.yaml'
    plan = ExcitationPlan.load(path)
    bare = type(plan.settings).model_validate({'robot': {'urdf': 'robot.urdf'}})
    assert plan.settings == bare


def test_a_robot_that_is_folded_in_the_middle_of_its_ranges_begins_elsewhere(tmp_path, capsys):
    link = (
        '<link name="l{0}"><inertial><mass value="1"/><origin xyz="0 0 0.15"/><inertia ixx="0.01" '
        'iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial><collision><origin '
        'xyz="0 0 0.15"/><geometry><box size="0.05 0.05 0.3"/></geometry></collision></link>')
    joint = (
        '<joint name="j{1}" type="revolute"><parent link="{0}"/><child link="l{1}"/><origin '
        'xyz="0 0 {2}"/><axis xyz="{3}"/><limit lower="{4}" upper="{5}" velocity="2" effort="50"/>'
        '</joint>')
    middle, parts, previous = (0.0, -2.8, 2.8, -2.8), ['<link name="base"/>'], 'base'
    for k, angle in enumerate(middle):
        axis = '0 1 0' if k % 2 else '1 0 0'
        parts += [link.format(k), joint.format(
            previous, k, 0.35 if k else 0.0, axis, angle - 1.5, angle + 1.5)]
        previous = f'l{k}'
    (tmp_path / 'arm.urdf').write_text(f'<robot name="folded">{"".join(parts)}</robot>')
    (tmp_path / 'arm.yaml').write_text(
        'robot: {urdf: arm.urdf}\nmotion: {duration: 4.0, harmonics: [1, 2, 3]}\n'
        'design: {starts: 1, iterations: 5}\n')
    settings, folder = tmp_path / 'arm.yaml', tmp_path / 'motions'
    assert main(['excite', str(settings), '-o', str(folder)]) == ExitCode.OK
    said = capsys.readouterr().out
    pose = yaml.safe_load(said.split('at rest: ')[1].splitlines()[0])
    assert 'In the middle of its ranges the robot touches itself.' in said
    assert set(pose) <= {'j1', 'j2', 'j3'}
    # What was said can be pasted, and is where it begins then.
    settings.write_text(settings.read_text() + f'rest: {pose}\n')
    begun = ExcitationPlan.load(settings).designer().clear_pose
    np.testing.assert_allclose([begun[1], begun[2], begun[3]], [
        pose.get(joint, middle[k]) for k, joint in ((1, 'j1'), (2, 'j2'), (3, 'j3'))])
    assert main(['excite', str(settings), '--check', str(folder / 'excitation.yaml')]) == 0
