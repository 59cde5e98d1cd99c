"""A settings file for planning: what a description gives is taken, what it lacks is asked."""

from importlib.metadata import PackageNotFoundError, distribution

import numpy as np
import pytest
import yaml

from support import closed_robots
from support.simulated_arm import DESCRIPTION
from sysid_ros.errors import SysidError
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.geometry.clearance import Box
from sysid_ros.recording.guess.evidence import OpenQuestionsError
from sysid_ros.runs.initial_excitation import Surroundings, initial_excitation

# From the package example-robot-data: arms, mobile arms, hands, legs, humanoids.
PUBLIC = {
    'ur_description/urdf/ur5_robot.urdf': {},
    'panda_description/urdf/panda.urdf': {},
    'kinova_description/robots/kinova.urdf': {},
    'z1_description/urdf/z1.urdf': {},
    'xarm_description/urdf/xarm7.urdf': {},
    'so_arm_description/urdf/so101.urdf': {},
    'talos_data/robots/talos_left_arm.urdf': {},
    'talos_data/robots/talos_full_v2.urdf': {},
    'allegro_hand_description/urdf/allegro_left_hand.urdf': {},
    'a1_description/urdf/a1.urdf': {},
    'anymal_b_simple_description/robots/anymal.urdf': {},
    'solo_description/robots/solo12.urdf': {},
    'bolt_description/robots/bolt.urdf': {},
    'double_pendulum_description/urdf/double_pendulum.urdf': {
        'lower': 'joint1=-1,joint2=-2', 'upper': '1.5', 'velocity': '2', 'effort': '3'},
    'finger_edu_description/robots/finger_edu.urdf': {},
    'asr_twodof_description/urdf/TwoDofs.urdf': {},
}


def link(name, shape='<sphere radius="0.05"/>'):
    return (f'<link name="{name}"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>'
            '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
            f'<collision><origin xyz="0 0 0.2"/><geometry>{shape}</geometry></collision></link>')


def joint(name, parent, child, limit='', kind='revolute', axis='0 1 0'):
    return (f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="0 0 0.4"/><axis xyz="{axis}"/>{limit}</joint>')


FULL = '<limit lower="-1" upper="2" velocity="3" effort="40"/>'
PARTLY = '<limit lower="0" upper="0" velocity="0" effort="40"/>'


def written(folder, *joints, told=None, **around):
    names = [f'l{k}' for k in range(len(joints) + 1)]
    body = ''.join(map(link, names)) + ''.join(
        joint(f'j{k + 1}', names[k], names[k + 1], limit, kind)
        for k, (limit, kind) in enumerate(joints))
    (folder / 'robot.urdf').write_text(f'<robot name="r">{body}</robot>')
    settings = initial_excitation(
        folder / 'robot.urdf', folder, {'floor': 'none'} | (told or {}), Surroundings(**around))
    (folder / 'plan.yaml').write_text(settings.text())
    return settings, ExcitationPlan.load(folder / 'plan.yaml').designer()


def test_limits_of_the_description_are_taken_and_shown_as_comments(tmp_path):
    settings, designer = written(tmp_path, (FULL, 'revolute'), (FULL, 'revolute'))
    text = settings.text()
    assert '#   j1: lower -1, upper 2, velocity 3, effort 40' in text
    assert 'limits' not in yaml.safe_load(text)
    np.testing.assert_array_equal(designer.limits.velocity, [3.0, 3.0])
    assert 'full speed within 0.5 s' in text and '--acceleration' in text


def test_limits_that_the_description_lacks_are_asked_and_not_invented(tmp_path):
    with pytest.raises(OpenQuestionsError) as raised:
        written(tmp_path, (FULL, 'revolute'), (PARTLY, 'revolute'), ('', 'continuous'))
    questions = {question.option: question.found for question in raised.value.questions}
    assert set(questions) == {'lower', 'upper', 'velocity', 'effort'}
    assert 'of j2,' in questions['lower'] and 'of j2, j3,' in questions['velocity']
    assert 'of j3,' in questions['effort']


def test_answers_complete_what_is_missing_and_replace_what_is_named(tmp_path):
    told = {'lower': '-0.5', 'upper': '0.25', 'velocity': '2.5', 'effort': 'j1=30,j3=10'}
    settings, designer = written(
        tmp_path, (FULL, 'revolute'), (PARTLY, 'revolute'), ('', 'continuous'), told=told)
    limits = designer.limits
    np.testing.assert_array_equal(limits.lower, [-1.0, -0.5, -np.inf])
    np.testing.assert_array_equal(limits.upper, [2.0, 0.25, np.inf])
    np.testing.assert_array_equal(limits.velocity, [3.0, 2.5, 2.5])
    np.testing.assert_array_equal(limits.effort, [30.0, 40.0, 10.0])
    assert '# velocity 2.5 of j2, j3: --velocity' in settings.text()


def test_a_number_that_no_joint_lacks_is_said_to_be_unused(tmp_path):
    settings, designer = written(tmp_path, (FULL, 'revolute'), told={'velocity': '1'})
    assert designer.limits.velocity[0] == 3.0
    assert '--velocity 1 not needed' in settings.text()


@pytest.mark.parametrize(('told', 'words'), [
    ({'velocity': 'j1=0'}, 'a number above 0'),
    ({'velocity': 'j9=1'}, "found 'j9'"),
    ({'effort': 'fast'}, 'neither a number nor joints'),
    ({'effort': '1,2'}, 'neither a number nor joints'),
    ({'joints': 'j7'}, "found 'j7'"),
    ({'floor': 'low'}, 'is no height'),
    ({'rest': 'j1=9'}, 'the joint cannot rest there'),
])
def test_what_cannot_be_used_is_refused(tmp_path, told, words):
    with pytest.raises(SysidError, match=words):
        written(tmp_path, (FULL, 'revolute'), told=told)


LIMITS = """
robot_description_planning:
  joint_limits:
    j1: {has_velocity_limits: true, max_velocity: 1.5, has_acceleration_limits: true,
         max_acceleration: 4.0, has_effort_limits: false, max_effort: 1.0}
    j2: {has_velocity_limits: true, max_velocity: 9.0, max_jerk: 50, has_jerk_limits: true}
    finger: {has_velocity_limits: true, max_velocity: 1.0}
"""


def test_of_limits_in_a_file_and_in_the_description_the_tighter_count(tmp_path):
    (tmp_path / 'joint_limits.yaml').write_text(LIMITS)
    settings, designer = written(
        tmp_path, (FULL, 'revolute'), (FULL, 'revolute'), limits=tmp_path / 'joint_limits.yaml')
    np.testing.assert_array_equal(designer.limits.velocity, [1.5, 3.0])
    np.testing.assert_array_equal(designer.limits.acceleration, [4.0, 6.0])
    np.testing.assert_array_equal(designer.limits.jerk, [40.0, 50.0])
    np.testing.assert_array_equal(designer.limits.effort, [40.0, 40.0])
    text = settings.text()
    assert 'finger of joint_limits.yaml left out' in text
    assert 'joint_limits.yaml has 9, which is wider' in text


@pytest.mark.parametrize(('text', 'words'), [
    ('a: {b: 1}', 'there is no section joint_limits'),
    ('joint_limits: {k1: {max_velocity: 1.0}}', 'names no moving joint of the robot'),
    ('joint_limits: {j1: {max_velocity: fast}}', 'is not a limit'),
])
def test_a_file_of_limits_that_cannot_be_used_is_refused(tmp_path, text, words):
    (tmp_path / 'joint_limits.yaml').write_text(text)
    with pytest.raises(SysidError, match=words):
        written(tmp_path, (FULL, 'revolute'), limits=tmp_path / 'joint_limits.yaml')


def test_joints_that_do_not_move_are_held(tmp_path):
    settings, designer = written(
        tmp_path, (FULL, 'revolute'), ('', 'continuous'), told={'joints': 'j1'})
    assert designer.limits.joint_names == ('j1',)
    assert settings.sections['robot']['locked_joints'] == ['j2']
    _, designer = written(
        tmp_path, (FULL, 'revolute'), ('', 'continuous'), locks={'j2': 0.5})
    assert designer.model.robot.locked_joints == {'j2': 0.5}
    with pytest.raises(SysidError, match='both named'):
        written(tmp_path, (FULL, 'revolute'), told={'joints': 'j1'}, locks={'j1': 0.5})


def test_what_stands_around_is_asked_with_where_the_base_ends(tmp_path):
    with pytest.raises(OpenQuestionsError) as raised:
        written(tmp_path, (FULL, 'revolute'), told={'floor': ''})
    (question,) = raised.value.questions
    assert question.option == 'floor'
    # A ball of 0.05 m whose centre is 0.2 m above the origin; its corners lie up to 6 % outside.
    assert 0.145 < float(question.example) < 0.15
    box = Box('wall', (1.0, -2.0, -2.0), (1.2, 2.0, 2.0))
    _, designer = written(tmp_path, (FULL, 'revolute'), told={'floor': ''}, boxes=[box])
    assert any('and wall' in label for check in designer.checks for label in check.labels())


def test_a_floor_is_as_wide_as_the_robot_reaches_and_one_too_high_is_said(tmp_path):
    joints = [(FULL, 'revolute')] * 3
    settings, designer = written(tmp_path, *joints, told={'floor': '-0.1'})
    (box,) = settings.sections['clearance']['boxes']
    assert box['upper'][2] == -0.1
    # Two links of 0.4 m and a ball 0.2 m beyond, of radius 0.05 m.
    assert box['upper'][0] >= 1.05
    with pytest.raises(SysidError, match='too near the floor in every pose') as raised:
        written(tmp_path, *joints, told={'floor': '0.9'})
    highest = raised.value.allowed.split()[0]
    written(tmp_path, *joints, told={'floor': highest})


def test_a_pose_is_written_where_the_robot_touches_itself_in_the_middle(tmp_path):
    # In the middle the third link lies along the first: two folds by half a turn.
    fold = '<limit lower="2.6" upper="3.6" velocity="3" effort="40"/>'
    wide = '<limit lower="-3.1" upper="3.1" velocity="3" effort="40"/>'
    settings, designer = written(
        tmp_path, (wide, 'revolute'), (wide, 'revolute'), (fold, 'revolute'),
        (fold.replace('2.6', '-0.3').replace('3.6', '0.3'), 'revolute'))
    rest = settings.sections['rest']
    assert rest and set(rest) <= set(designer.limits.joint_names)
    assert 'the robot touches itself' in settings.text()
    assert np.isfinite(designer.rest()).all()


def test_a_base_that_floats_is_to_be_held(tmp_path):
    (tmp_path / 'robot.xml').write_text(
        '<mujoco><worldbody><body name="base"><freejoint name="root"/><geom size=".1" mass="1"/>'
        '<body name="arm"><joint name="j" axis="0 1 0" range="-90 90"/>'
        '<geom size=".05" pos="0 0 .3" mass="1"/></body></body></worldbody></mujoco>')
    settings = initial_excitation(
        tmp_path / 'robot.xml', tmp_path, {'velocity': '1', 'effort': '9', 'floor': 'none'},
        Surroundings())
    assert settings.sections['robot']['base'] == 'fixed'
    assert any('hang the robot up, or bolt it down, at base' in str(found)
               for found in settings.findings)

def test_a_robot_with_closed_loops_begins_where_they_are_assembled(tmp_path):
    linkage = closed_robots.five_bar_linkage()
    (tmp_path / 'robot.urdf').write_text(linkage.urdf)
    loops = linkage.loops(['left_joint', 'right_joint'], {
        'left_joint': 2.2, 'left_tip_joint': -1.2, 'right_joint': 0.9, 'right_tip_joint': 1.2})
    (tmp_path / 'loops.yaml').write_text(yaml.safe_dump(loops.model_dump(mode='json')))
    settings = initial_excitation(
        tmp_path / 'robot.urdf', tmp_path, {'floor': '-0.6'},
        Surroundings(loops=tmp_path / 'loops.yaml'))
    assert settings.sections['robot']['loops'] == 'loops.yaml'
    assert 'rest' not in settings.sections
    (tmp_path / 'plan.yaml').write_text(settings.text())
    designer = ExcitationPlan.load(tmp_path / 'plan.yaml').designer()
    assert designer.limits.joint_names == ('left_joint', 'right_joint')
    assert np.isfinite(designer.rest()).all()


@pytest.fixture(scope='module')
def public():
    try:
        files = distribution('example-robot-data').files or []
    except PackageNotFoundError:
        files = []
    for file in files:
        if file.name == 'ur5_robot.urdf':
            return file.locate().resolve().parents[4]
    pytest.skip('example-robot-data is not installed; see benchmarks/robots.txt')


@pytest.mark.slow
@pytest.mark.parametrize('file', PUBLIC)
def test_the_file_for_a_public_robot_is_planned_by_as_it_is(public, tmp_path, file, monkeypatch):
    description = public / 'example-robot-data' / 'robots' / file
    if not description.exists():
        pytest.skip(f'this release of example-robot-data has no {file}')
    monkeypatch.setenv('ROS_PACKAGE_PATH', str(public))
    settings = initial_excitation(
        description, tmp_path, {'floor': 'none', **PUBLIC[file]}, Surroundings())
    (tmp_path / 'plan.yaml').write_text(settings.text())
    designer = ExcitationPlan.load(tmp_path / 'plan.yaml').designer()
    assert np.isfinite(designer.rest()).all()
    for joint_name, own in settings.sections['limits'].items():
        assert {'lower', 'upper', 'velocity', 'effort'} >= set(own), joint_name


def test_an_example_arm_has_all_that_is_asked_but_the_floor(tmp_path):
    (tmp_path / 'arm.urdf').write_text(DESCRIPTION)
    with pytest.raises(OpenQuestionsError) as raised:
        initial_excitation(tmp_path / 'arm.urdf', tmp_path, {}, Surroundings())
    assert [question.option for question in raised.value.questions] == ['floor']
