"""Robot models: joints, bodies, links and limits, with Pinocchio as the reference."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pinocchio as pin
import pytest

from sysid_ros.errors import ModelError
from sysid_ros.robot.description.urdf import kinematic_description, load_description
from sysid_ros.robot.inertia import is_consistent, transform_inertial
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.rotors import GearedRotor

INERTIAL = (
    '<inertial><origin xyz="0.1 0.02 -0.1" rpy="0.3 -0.2 0.1"/><mass value="2"/>'
    '<inertia ixx="0.03" ixy="0.001" ixz="0.002" iyy="0.02" iyz="0.003" izz="0.025"/></inertial>'
)


def link(name, inertial=INERTIAL):
    return f'<link name="{name}">{inertial}</link>'


def joint(name, parent, child, kind='revolute', axis='0 0 1', extra='<limit lower="-1" upper="2"'
          ' effort="10" velocity="3"/>', origin='0.1 0 0.3', rpy='0.4 0 0.2'):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{origin}" rpy="{rpy}"/><axis xyz="{axis}"/>{extra}</joint>'
    )


def robot_of(*parts, **options):
    return RobotModel.from_urdf(
        f'<robot name="r">{link("base", "")}{"".join(parts)}</robot>', **options)


def arm(**options):
    """Three moving joints with a hand that is fixed to the last."""
    return robot_of(
        link('a'), joint('ja', 'base', 'a'),
        link('b'), joint('jb', 'a', 'b', 'continuous', '0 1 0', ''),
        link('c'), joint('jc', 'b', 'c', 'prismatic', '1 0 0'),
        link('hand'), joint('wrist', 'c', 'hand', 'fixed'),
        link('frame', ''), joint('mark', 'hand', 'frame', 'fixed'), **options,
    )


def test_joints_bodies_and_links_are_named_as_described():
    robot = arm()
    assert robot.name == 'r'
    assert robot.joint_names == ('ja', 'jb', 'jc')
    assert robot.joint_types == ('revolute', 'continuous', 'prismatic')
    assert robot.body_names == ('a', 'b', 'c')
    assert [(placed.name, placed.body) for placed in robot.links] == [
        ('a', 'a'), ('b', 'b'), ('c', 'c'), ('hand', 'c'), ('frame', 'c')]
    assert not robot.links[-1].inertial.any()
    assert robot.joint_index('jc') == 2
    assert {found.code for found in robot.findings} == {'missing-limits'}


def test_limits_are_as_written_and_missing_ones_are_said_to_be_missing():
    limits = robot_of(
        link('a'), joint('ja', 'base', 'a'),
        link('b'), joint('jb', 'a', 'b', 'continuous',
                         extra='<limit effort="4" velocity="5" lower="-1" upper="1"/>'),
        link('c'), joint('jc', 'b', 'c', extra=''),
        # A <limit> without positions means zero in URDF; the model check names it.
        link('d'), joint('jd', 'c', 'd', extra='<limit effort="6" velocity="7"/>'),
    ).limits
    np.testing.assert_array_equal(limits.lower, [-1.0, -np.inf, -np.inf, 0.0])
    np.testing.assert_array_equal(limits.upper, [2.0, np.inf, np.inf, 0.0])
    np.testing.assert_array_equal(limits.velocity, [3.0, 5.0, np.nan, 7.0])
    np.testing.assert_array_equal(limits.effort, [10.0, 4.0, np.nan, 6.0])


@pytest.mark.parametrize('bare_frames', [False, True])
def test_body_parameters_agree_with_pinocchio_on_random_trees(random_urdf, bare_frames):
    for seed in range(40):
        robot = RobotModel.from_urdf(random_urdf(seed, 8, bare_frames=bare_frames))
        expected = [inertia.toDynamicParameters() for inertia in robot.pinocchio_model.inertias]
        np.testing.assert_allclose(robot.inertial_prior, expected[1:], atol=1e-13)
        bodies = dict.fromkeys(placed.body for placed in robot.links)
        assert tuple(bodies) == robot.body_names


def test_a_body_is_named_by_the_link_its_joint_carries(random_urdf):
    for seed in range(40):
        text = random_urdf(seed, 8)
        full = RobotModel.from_urdf(text)
        locked = {name: 0.3 for name in full.joint_names[1::2]}
        for robot in (full, RobotModel.from_urdf(text, locked_joints=locked)):
            children = {
                j.get('name'): j.find('child').get('link')
                for j in robot.description.root.findall('joint')
            }
            assert robot.body_names == tuple(children[name] for name in robot.joint_names)
            for placed in robot.links:
                if placed.name == placed.body:
                    np.testing.assert_allclose(placed.pose, np.eye(4), atol=1e-15)


def test_locked_joints_agree_with_the_reduced_model_of_pinocchio(random_urdf, rng):
    for seed in range(30):
        text = random_urdf(seed, 7, fixed_fraction=0.2)
        full = RobotModel.from_urdf(text)
        chosen = rng.permutation(full.joint_names)[:len(full.joint_names) - 1]
        locked = {str(name): float(rng.uniform(-1.0, 1.0)) for name in chosen}
        robot = RobotModel.from_urdf(text, locked_joints=locked)
        model = pin.buildModelFromXML(kinematic_description(load_description(text)))
        at = pin.neutral(model)
        for name, position in locked.items():
            at[model.joints[model.getJointId(name)].idx_q] = position
        expected = pin.buildReducedModel(model, [model.getJointId(n) for n in locked], at)
        assert robot.joint_names == tuple(expected.names)[1:]
        assert dict(robot.locked_joints) == locked
        np.testing.assert_allclose(
            robot.inertial_prior,
            [inertia.toDynamicParameters() for inertia in expected.inertias][1:], atol=1e-12,
        )
        q, v, a = rng.normal(size=(3, len(robot.joint_names)))
        np.testing.assert_allclose(
            pin.rnea(robot.pinocchio_model, robot.pinocchio_model.createData(), q, v, a),
            pin.rnea(expected, expected.createData(), q, v, a), atol=1e-11,
        )


def test_links_beyond_a_locked_joint_belong_to_the_body_before_it():
    robot = arm(locked_joints={'jb': 0.7, 'jc': 0.1})
    assert robot.joint_names == ('ja',)
    assert {placed.body for placed in robot.links} == {'a'}
    assert {placed.name for placed in robot.links} == {'a', 'b', 'c', 'hand', 'frame'}


def test_a_continuous_joint_has_one_angle_that_may_be_any_number(rng):
    robot = arm()
    assert robot.pinocchio_model.nq == robot.pinocchio_model.nv == 3
    data = robot.pinocchio_model.createData()
    q = np.array([0.3, 0.4, 0.1])
    turned = q + [0.0, 6.0 * np.pi, 0.0]
    still = np.zeros(3)
    np.testing.assert_allclose(
        pin.rnea(robot.pinocchio_model, data, q, still, still),
        pin.rnea(robot.pinocchio_model, data, turned, still, still), atol=1e-12,
    )


def test_the_tree_says_how_bodies_hang_together():
    robot = robot_of(
        link('trunk'), joint('j0', 'base', 'trunk', axis='0 0 2'),
        link('left'), joint('j1', 'trunk', 'left', axis='0 1 1'),
        link('right'), joint('j2', 'trunk', 'right', 'prismatic'),
        link('tip'), joint('j3', 'left', 'tip'),
    )
    tree = robot.tree
    names = robot.body_names
    parents = {names[k]: names[p] if p >= 0 else None for k, p in enumerate(tree.parent)}
    assert parents == {'trunk': None, 'left': 'trunk', 'right': 'trunk', 'tip': 'left'}
    assert not tree.revolute[names.index('right')]
    assert tree.revolute.sum() == 3
    np.testing.assert_allclose(np.linalg.norm(tree.axis, axis=1), 1.0)
    np.testing.assert_allclose(tree.axis[names.index('left')], [0.0, 0.5**0.5, 0.5**0.5])
    np.testing.assert_array_equal(tree.translation[0], [0.1, 0.0, 0.3])
    np.testing.assert_allclose(tree.rotation[0], pin.rpy.rpyToMatrix(0.4, 0.0, 0.2))
    assert not tree.is_coupled


def test_a_robot_of_one_joint_is_a_robot():
    robot = robot_of(link('a'), joint('ja', 'base', 'a', axis='0 1 0'))
    assert robot.joint_names == ('ja',)
    np.testing.assert_array_equal(robot.tree.axis, [[0.0, 1.0, 0.0]])
    assert robot.tree.coupling.shape == (1, 1)
    assert robot.limits.lower.shape == (1,)


def test_gravity_is_a_direction_of_choice():
    robot = arm(gravity=(0.0, 9.81, 0.0))
    np.testing.assert_array_equal(robot.gravity, [0.0, 9.81, 0.0])
    np.testing.assert_array_equal(robot.pinocchio_model.gravity.linear, [0.0, 9.81, 0.0])


@pytest.mark.parametrize('gravity', [(0.0, 9.81), (0.0, 0.0, np.nan), 9.81, 'down'])
def test_gravity_that_is_no_vector_is_refused(gravity):
    with pytest.raises(ModelError, match='gravity: gravity is not a vector .*three finite numbers'):
        arm(gravity=gravity)


def follower(source, multiplier='', offset=''):
    numbers = (f' multiplier="{multiplier}"' if multiplier else '') + (
        f' offset="{offset}"' if offset else '')
    return (
        f'<mimic joint="{source}"{numbers}/>'
        '<limit lower="-9" upper="9" effort="1" velocity="1"/>'
    )


def gripper(**options):
    """A slide that follows an angle, an angle that follows the slide, and a free joint."""
    return robot_of(
        link('palm'), joint('roll', 'base', 'palm', axis='0 0 1'),
        link('left'), joint('grip', 'palm', 'left', axis='0 1 0'),
        link('right'), joint('slide', 'palm', 'right', 'prismatic', '1 0 0',
                             follower('grip', '-0.5', '0.1')),
        link('tip'), joint('curl', 'right', 'tip', axis='1 1 0', extra=follower('slide', '3')),
        **options,
    )


def test_mimic_joints_follow_along_their_chain():
    robot = gripper()
    assert robot.joint_names == ('roll', 'grip')
    assert robot.body_names == ('palm', 'left', 'right', 'tip')
    tree = robot.tree
    assert tree.is_coupled
    np.testing.assert_allclose(tree.coupling, [[1, 0], [0, 1], [0, -0.5], [0, -1.5]])
    np.testing.assert_allclose(tree.coupling_offset, [0.0, 0.0, 0.1, 0.3])


def test_a_follower_without_numbers_copies_its_source():
    robot = robot_of(
        link('a'), joint('ja', 'base', 'a'),
        link('b'), joint('jb', 'a', 'b', extra=follower('ja')))
    np.testing.assert_array_equal(robot.tree.coupling, [[1.0], [1.0]])
    assert robot.tree.is_coupled


def test_a_source_may_come_after_its_follower_in_the_tree():
    robot = robot_of(
        link('a'), joint('ja', 'base', 'a', extra=follower('jb', '2', '1')),
        link('b'), joint('jb', 'a', 'b'))
    assert robot.joint_names == ('jb',)
    np.testing.assert_array_equal(robot.tree.coupling, [[2.0], [1.0]])
    np.testing.assert_array_equal(robot.tree.coupling_offset, [1.0, 0.0])
    np.testing.assert_array_equal(robot.limits.upper, [2.0])


def test_the_followers_of_a_locked_joint_are_held_where_it_puts_them():
    robot = gripper(locked_joints={'grip': 0.4})
    assert robot.joint_names == ('roll',)
    assert not robot.tree.is_coupled
    free = RobotModel.from_urdf(kinematic_description(robot.description))
    held = RobotModel.from_urdf(
        kinematic_description(robot.description),
        locked_joints={'grip': 0.4, 'slide': -0.5 * 0.4 + 0.1, 'curl': 3 * (-0.5 * 0.4 + 0.1)},
    )
    assert free.joint_names == ('roll', 'grip', 'slide', 'curl')
    np.testing.assert_allclose(robot.inertial_prior, held.inertial_prior, atol=1e-14)


def test_a_follower_is_locked_through_its_source():
    with pytest.raises(ModelError, match="locked_joints.curl: .*mimic of 'grip'.*Lock 'grip'"):
        gripper(locked_joints={'curl': 0.0})
    with pytest.raises(ModelError, match=r'locked_joints.slide: .*found 0.3; allowed -0.1'):
        gripper(locked_joints={'grip': 0.4, 'slide': 0.3})
    agreeing = gripper(locked_joints={'grip': 0.4, 'slide': -0.1})
    assert agreeing.joint_names == ('roll',)


@pytest.mark.parametrize('name', ['jx', 'wrist', 'universe'])
def test_a_locked_joint_that_does_not_move_is_refused(name):
    with pytest.raises(ModelError, match=f"no such moving joint to lock .*'{name}'; allowed ja"):
        arm(locked_joints={name: 0.0})


@pytest.mark.parametrize('position', [np.nan, np.inf])
def test_a_locked_position_that_is_not_finite_is_refused(position):
    with pytest.raises(ModelError, match=r'locked_joints\.ja: the locked position is not finite'):
        arm(locked_joints={'ja': position})


def test_a_robot_with_nothing_left_to_move_is_refused():
    with pytest.raises(ModelError, match='no joint is left to move'):
        arm(locked_joints={'ja': 0.0, 'jb': 0.0, 'jc': 0.0})
    with pytest.raises(ModelError, match='no joint is left to move'):
        robot_of(link('a'), joint('ja', 'base', 'a', 'fixed'))
    with pytest.raises(ModelError, match='no joint is left to move'):
        robot_of()


def test_an_unknown_joint_is_refused_with_the_nearest_name():
    with pytest.raises(ModelError, match="found 'jcc'; allowed ja, jb, jc.*Did you mean 'jc'"):
        arm().joint_index('jcc')


ROTOR = GearedRotor(
    name='rotor', joint='jb', ratio=50.0, link='hand', origin=(0.1, 0.2, 0.3),
    rpy=(0.1, 0.2, 0.3), axis=(0.0, 3.0, 4.0),
    inertial=(0.5, 0.0, 0.0, 0.0, 1e-3, 0.0, 1e-3, 0.0, 0.0, 2e-3),
)


def test_a_rotor_is_one_more_body_that_turns_with_its_joint():
    plain = arm()
    robot = plain.with_rotors([ROTOR])
    assert robot.body_names == ('a', 'b', 'c', 'rotor')
    assert robot.joint_names == plain.joint_names
    assert plain.body_names == ('a', 'b', 'c')
    tree = robot.tree
    assert tree.is_coupled
    np.testing.assert_array_equal(tree.coupling[3], [0.0, 50.0, 0.0])
    np.testing.assert_allclose(tree.axis[3], [0.0, 0.6, 0.8])
    assert tree.parent[3] == 2
    hand = next(placed for placed in robot.links if placed.name == 'hand')
    rotor = pin.SE3(pin.rpy.rpyToMatrix(0.1, 0.2, 0.3), np.array([0.1, 0.2, 0.3])).homogeneous
    pose = hand.pose @ rotor
    np.testing.assert_allclose(tree.rotation[3], pose[:3, :3])
    np.testing.assert_allclose(tree.translation[3], pose[:3, 3])
    np.testing.assert_array_equal(robot.inertial_prior[3], ROTOR.inertial)
    assert robot.reference_inertials.shape == (4, 10)


def test_a_rotor_can_sit_on_the_base():
    robot = arm().with_rotors([dataclasses.replace(ROTOR, link='base')])
    assert robot.tree.parent[3] == -1


@pytest.mark.parametrize(('change', 'message'), [
    ({'link': 'nowhere'}, "no such link .*'nowhere'; allowed base, a, b, c"),
    ({'joint': 'jx'}, "no such moving joint .*'jx'"),
    ({'name': 'hand'}, "two bodies have the same name .*'hand'"),
    ({'axis': (0.0, 0.0, 0.0)}, "rotor 'rotor': the rotor has no axis"),
    ({'axis': (0.0, 1.0)}, r"rotor 'rotor': axis: .*found \(0.0, 1.0\); allowed 3 finite"),
    ({'ratio': np.nan}, "rotor 'rotor': the gear ratio is not finite"),
    ({'inertial': (1.0,) * 9}, "rotor 'rotor': inertial: .*allowed 10 finite numbers"),
    ({'origin': (0.0, 0.0, np.inf)}, "rotor 'rotor': origin"),
])
def test_a_rotor_that_does_not_fit_is_refused(change, message):
    with pytest.raises(ModelError, match=message):
        arm().with_rotors([dataclasses.replace(ROTOR, **change)])
    with pytest.raises(ModelError, match="'rotor'"):
        arm().with_rotors([ROTOR, ROTOR])


def inertial_of(mass, xx, yy, zz):
    return (
        f'<inertial><mass value="{mass}"/><inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" '
        f'iyz="0" izz="{zz}"/></inertial>'
    )


def test_priors_that_no_body_has_are_replaced_and_listed_with_the_reason():
    robot = robot_of(
        link('good'), joint('j0', 'base', 'good'),
        link('empty', ''), joint('j1', 'good', 'empty'),
        link('broken', inertial_of(1.0, 0.1, 0.1, 0.9)), joint('j2', 'empty', 'broken'),
        link('flat', inertial_of(1.0, 0.1, 0.1, 0.2)), joint('j3', 'broken', 'flat'),
        link('rod', inertial_of(1.0, 0.1, 0.1, 1e-6)), joint('j4', 'flat', 'rod'),
        link('negative', inertial_of(-1.0, 0.1, 0.1, 0.1)), joint('j5', 'rod', 'negative'),
        link('strange', inertial_of('nan', 0.1, 0.1, 0.1)), joint('j6', 'negative', 'strange'),
    )
    assert robot.replaced_priors == {
        'empty': 'it has no mass',
        'broken': 'its inertia belongs to no real mass distribution',
        'flat': 'its inertia belongs to no real mass distribution',
        'rod': 'its inertia is nearly singular',
        'negative': 'it has no mass',
        'strange': 'it has no mass',
    }
    assert is_consistent(robot.reference_inertials)
    np.testing.assert_array_equal(robot.reference_inertials[0], robot.inertial_prior[0])
    assert robot.inertial_prior[5, 0] == -1.0
    assert not robot.inertial_prior[6].any()


def test_the_share_of_a_link_is_moved_into_the_frame_of_its_body():
    robot = arm()
    hand = next(placed for placed in robot.links if placed.name == 'hand')
    alone = robot.links[0].inertial
    np.testing.assert_allclose(hand.inertial, transform_inertial(alone, hand.pose), atol=1e-14)


def test_a_model_cannot_be_changed_in_place():
    robot = arm(locked_joints={'jc': 0.1})
    placed = robot.links[0]
    for array in (
        robot.inertial_prior, robot.reference_inertials, robot.gravity, robot.limits.lower,
        robot.limits.effort, robot.tree.axis, robot.tree.coupling, placed.pose, placed.inertial,
    ):
        with pytest.raises(ValueError, match='read-only'):
            array[0] = 1.0
    with pytest.raises(TypeError):
        robot.locked_joints['jc'] = 0.2
    with pytest.raises(dataclasses.FrozenInstanceError):
        robot.gravity = np.zeros(3)


def test_a_model_does_not_follow_the_mapping_it_was_made_from():
    locks = {'jc': 0.1}
    robot = arm(locked_joints=locks)
    locks['ja'] = 0.0
    assert dict(robot.locked_joints) == {'jc': 0.1}


def test_a_description_that_was_loaded_before_is_used_as_it_is():
    description = load_description(arm().description.xml.decode())
    assert RobotModel.from_urdf(description).description is description


def chain_of(length):
    """Serial chain of ``length`` revolute joints."""
    bodies = ['base', *(f'body_{k}' for k in range(length))]
    return ''.join(
        link(bodies[k + 1]) + joint(f'joint_{k}', bodies[k], bodies[k + 1]) for k in range(length))


def calls_made(function):
    """Calls of Python and of compiled functions that ``function`` makes."""
    count = 0

    def on_event(_frame, event, _argument):
        nonlocal count
        count += event in ('call', 'c_call')

    sys.setprofile(on_event)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def test_work_of_loading_grows_in_proportion_to_the_length_of_a_chain():
    robot_of(chain_of(2))
    short, long = (calls_made(lambda n=n: robot_of(chain_of(n))) for n in (20, 80))
    # Four times the joints, at four times the calls and a tenth for what grows otherwise.
    assert long < 4.4 * short


def test_loading_asks_for_no_data_of_the_whole_model(monkeypatch):
    # They hold square matrices per joint: their time and memory grow with the cube.
    def refused(*_):
        raise AssertionError('data of the whole model while loading')

    monkeypatch.setattr(pin.Model, 'createData', refused)
    assert len(robot_of(chain_of(20)).joint_names) == 20


@pytest.mark.parametrize('kind', ['revolute', 'continuous', 'prismatic'])
@pytest.mark.parametrize('axis', ['1 0 0', '0 1 0', '0 0 1', '0.6 0 -0.8'])
def test_axes_of_the_tree_are_those_of_the_description(kind, axis):
    robot = robot_of(link('a'), joint('ja', 'base', 'a', kind, axis))
    assert np.allclose(robot.tree.axis, [[float(value) for value in axis.split()]])
    assert robot.tree.revolute.tolist() == [kind != 'prismatic']
