"""Base parameters: rank, grouping and words, on real arms and random trees."""

from __future__ import annotations

import numpy as np
import pytest

from support import closed_robots as closed
from support import golden_problems as simulated
from sysid_ros.errors import EstimationError
from sysid_ros.mechanics.base_parameters import (
    base_parameters,
    combination_in_words,
    feels_weight,
    random_motion,
)
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    Stiffness,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

# Pivots that count and those that do not must lie this far apart.
GAP = 1e6


def all_terms():
    return [ViscousFriction(), CoulombFriction(), TorqueOffset(), Armature(), Stiffness()]


def rows_of(model, samples, seed):
    return model.regressor(*random_motion(model.robot, samples, seed)).reshape(
        -1, len(model.parameters))


def rank_by_singular_values(rows):
    size = np.linalg.norm(rows, axis=0)
    scaled = rows[:, size > 1e-12 * size.max()] / size[size > 1e-12 * size.max()]
    # The spectrum of the Gram matrix would lose half the digits of the gap.
    triangle = np.linalg.qr(scaled, mode='r')
    values = np.linalg.svd(triangle, compute_uv=False)
    return int(np.sum(values > 1e-9 * values[0]))


@pytest.mark.parametrize(('path', 'rank'), [
    ('kuka_lwr4/kuka_lwr4.urdf', 43),
    ('staubli_tx40/tx40_mdh_modified.urdf', 36),
])
def test_the_rank_of_real_arms_is_the_published_one(shared_data, path, rank):
    base = base_parameters(TorqueModel(RobotModel.from_urdf(shared_data / path)))
    assert base.rank == rank
    assert base.gap[0] >= GAP * base.gap[1]


@pytest.mark.parametrize('first_seed', range(0, 100, 20))
def test_the_rank_of_random_robots_is_that_of_many_samples(random_urdf, first_seed):
    for seed in range(first_seed, first_seed + 20):
        robot = RobotModel.from_urdf(random_urdf(seed, 1 + seed % 7))
        model = TorqueModel(robot, all_terms() if seed % 2 else [])
        base = base_parameters(model)
        assert base.rank == rank_by_singular_values(rows_of(model, 150, seed=99))
        assert base.gap[0] >= GAP * base.gap[1]


def test_base_parameters_give_the_torques_of_all_parameters(random_urdf, rng):
    for seed in range(15):
        robot = RobotModel.from_urdf(random_urdf(seed, 6))
        model = TorqueModel(robot, all_terms())
        base = base_parameters(model)
        # Fresh motion, and parameters that no body has: an identity of matrices.
        rows, theta = rows_of(model, 30, seed=123), rng.normal(size=len(model.parameters))
        torque = rows @ theta
        np.testing.assert_allclose(
            rows[:, base.independent] @ base.values(theta), torque,
            atol=1e-9 * np.abs(torque).max(),
        )


@pytest.mark.parametrize('samples', [0, 200])
def test_the_factor_is_the_torque_of_base_parameters_in_parts_of_that_of_the_bodies(samples, rng):
    robot = RobotModel.from_urdf(simulated.arm_urdf())
    model = TorqueModel(robot, all_terms())
    base = base_parameters(model, samples=samples, seed=5)
    rows = model.regressor(*random_motion(robot, 50, 5))
    bodies = np.arange(len(model.parameters)) < 10 * len(robot.body_names)
    unit = np.sqrt(np.mean((rows @ np.where(bodies, model.parameters.prior, 0.0))**2, axis=0))
    for _ in range(5):
        theta = rng.normal(size=len(model.parameters))
        expected = np.linalg.norm(np.sqrt(np.mean((rows @ theta)**2, axis=0)) / unit)
        assert np.linalg.norm(base.factor @ base.values(theta)) == pytest.approx(expected)


def test_each_base_parameter_has_its_own_parameter_once(random_urdf):
    for seed in range(15):
        base = base_parameters(TorqueModel(RobotModel.from_urdf(random_urdf(seed, 6))))
        assert base.matrix.shape == (base.rank, len(base.names))
        np.testing.assert_array_equal(base.matrix[:, base.independent], np.eye(base.rank))
        assert sorted(base.independent) == list(base.independent)


def test_the_seed_changes_the_samples_and_not_the_result(random_urdf):
    model = TorqueModel(RobotModel.from_urdf(random_urdf(2, 6)), all_terms())
    first, second = base_parameters(model, seed=1), base_parameters(model, seed=2)
    assert (first.seed, second.seed) == (1, 2)
    np.testing.assert_array_equal(first.independent, second.independent)
    np.testing.assert_allclose(first.matrix, second.matrix, atol=1e-7)
    again = base_parameters(model, seed=1)
    np.testing.assert_array_equal(first.matrix, again.matrix)


PENDULUMS = (
    '<robot name="r"><link name="base"/><link name="a"/><link name="b"/>'
    '<joint name="ja" type="continuous"><parent link="base"/><child link="a"/>'
    '<axis xyz="0 1 0"/></joint>'
    '<joint name="jb" type="continuous"><parent link="a"/><child link="b"/>'
    '<origin xyz="0.5 0 0"/><axis xyz="0 1 0"/></joint></robot>'
)


def test_the_groups_of_a_double_pendulum_are_those_of_the_textbook():
    """By hand: seven numbers move a planar double pendulum, one of them through the other."""
    base = base_parameters(TorqueModel(RobotModel.from_urdf(PENDULUMS)))
    assert set(base.equations) == {
        'a.inertia_yy + 0.25·b.mass',
        'a.first_moment_x + 0.5·b.mass',
        'a.first_moment_z',
        'b.first_moment_x',
        'b.first_moment_z',
        'b.inertia_yy',
    }


def test_the_inertia_of_a_drive_is_not_told_from_that_of_the_link():
    model = TorqueModel(RobotModel.from_urdf(PENDULUMS), [Armature()])
    base = base_parameters(model)
    assert 'a.inertia_yy + 0.25·b.mass + ja.armature' in base.equations
    # The second drive sits on link a: its inertia counts for joint b alone, as modelled.
    assert 'jb.armature' in base.equations


def test_only_free_parameters_are_grouped(random_urdf):
    model = TorqueModel(RobotModel.from_urdf(PENDULUMS), [ViscousFriction()])
    parameters = model.parameters.fixed('b.mass', '*.first_moment_*')
    base = base_parameters(model, free=parameters.free)
    assert not base.matrix[:, ~parameters.free].any()
    assert base.equations == (
        'a.inertia_yy', 'b.inertia_yy', 'ja.viscous_friction', 'jb.viscous_friction')


def test_parameters_that_act_on_no_torque_are_in_no_group():
    base = base_parameters(TorqueModel(RobotModel.from_urdf(PENDULUMS)))
    named = {name for name, used in zip(base.names, base.matrix.any(axis=0), strict=True) if used}
    assert named == {
        'a.inertia_yy', 'a.first_moment_x', 'a.first_moment_z', 'b.mass',
        'b.first_moment_x', 'b.first_moment_z', 'b.inertia_yy',
    }


def test_nothing_free_is_refused():
    model = TorqueModel(RobotModel.from_urdf(PENDULUMS))
    with pytest.raises(EstimationError, match='no free parameter acts on any torque'):
        base_parameters(model, free=np.zeros(20, dtype=bool))


def test_loops_that_cannot_be_followed_are_no_sample_of_the_users_recording(monkeypatch):
    robot = closed.four_bar()
    # Driven all around at the rocker, which only swings.
    monkeypatch.setattr(
        'sysid_ros.mechanics.base_parameters.random_motion',
        lambda robot, samples, seed: 9.0 * np.ones((3, samples, 1)) * np.arange(samples)[:, None])
    swinging = closed.four_bar_linkage().robot(['rocker_joint'], closed.FOUR_BAR_ASSEMBLY)
    assert base_parameters(TorqueModel(robot, ())).rank
    with pytest.raises(EstimationError, match='counted at random configurations.*limits within'):
        base_parameters(TorqueModel(swinging, ()))


def test_fewer_rows_than_parameters_are_refused():
    model = TorqueModel(RobotModel.from_urdf(PENDULUMS))
    with pytest.raises(EstimationError, match=r'too few samples .*found 9; allowed 10 or more'):
        base_parameters(model, samples=9)


def test_a_combination_is_words_with_its_own_parameter_first():
    names = ('a.mass', 'b.mass', 'c.mass', 'd.mass')
    words = combination_in_words(np.array([-0.25, 0.0, 1.0, 1e-12]), names, first=2)
    assert words == 'c.mass - 0.25·a.mass'
    assert combination_in_words(np.array([-1.0, 2.0, 0.0, 0.0]), names) == '- a.mass + 2·b.mass'
    assert combination_in_words(np.zeros(4), names) == ''


def test_random_motion_stays_within_limits_that_leave_room():
    joints = ''.join(
        f'<link name="l{k}"/><joint name="j{k}" type="revolute"><parent link="base"/>'
        f'<child link="l{k}"/><limit lower="{low}" upper="{high}" effort="1" velocity="1"/></joint>'
        for k, (low, high) in enumerate([(0.2, 0.5), (0.0, 0.0), (-9.0, 9.0)])
    )
    robot = RobotModel.from_urdf(f'<robot name="r"><link name="base"/>{joints}</robot>')
    q, v, a = random_motion(robot, 500, seed=4)
    assert q.shape == v.shape == a.shape == (500, 3)
    assert 0.2 <= q[:, 0].min() < 0.21
    assert 0.49 < q[:, 0].max() <= 0.5
    # A joint that cannot move by its limits would hide what its motion could show.
    assert np.abs(q[:, 1]).max() > 3.0
    assert np.abs(q[:, 2]).max() > 8.0


def test_followers_that_move_almost_as_their_leader_leave_no_doubt_about_the_rank():
    link = ('<link name="{0}"><inertial><origin xyz="0.1 0 0.2"/><mass value="1"/><inertia ixx="1" '
            'iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>')
    joint = ('<joint name="j{0}" type="continuous"><parent link="base"/><child link="{0}"/>'
             '<axis xyz="0 1 0"/>{1}</joint>')
    follow = {'b': 1.001, 'c': 1.002, 'd': 1.003}
    robot = RobotModel.from_urdf(
        '<robot name="r"><link name="base"/>' + ''.join(map(link.format, 'abcd'))
        + joint.format('a', '') + ''.join(
            joint.format(name, f'<mimic joint="ja" multiplier="{ratio}"/>')
            for name, ratio in follow.items()) + '</robot>')
    model = TorqueModel(robot)
    base = base_parameters(model)
    # The inertia, and two moments of every body, hardly different from each other.
    assert base.rank == 9
    assert 1e-11 < base.gap[0] < 1e-8 and base.gap[1] < 1e-14
    rows = rows_of(model, 50, 3)
    theta = np.random.default_rng(0).normal(size=len(model.parameters))
    np.testing.assert_allclose(
        rows[:, base.independent] @ base.values(theta), rows @ theta, rtol=0, atol=1e-6)


@pytest.mark.parametrize(('axis', 'feels'), [('0 0 1', False), ('0 1e-3 1', True), ('1 0 0', True)])
def test_weight_is_felt_unless_all_axes_are_vertical(axis, feels):
    joints = ''.join(
        f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
        f'ixz="0" iyz="0"/></inertial></link><joint name="j{k}" type="revolute">'
        f'<parent link="{"base" if k == 0 else f"l{k - 1}"}"/><child link="l{k}"/>'
        f'<origin xyz="0.3 0 0"/><axis xyz="{axis}"/>'
        '<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>' for k in range(2))
    robot = RobotModel.from_urdf(f'<robot name="r"><link name="base"/>{joints}</robot>')
    assert feels_weight(robot) == feels


def test_a_long_chain_has_the_grouping_of_all_its_rows(random_urdf):
    model = TorqueModel(RobotModel.from_urdf(random_urdf(3, 25)), (ViscousFriction(),))
    base = base_parameters(model)
    rows = model.regressor(*random_motion(model.robot, 60, seed=9)).reshape(-1, len(base.names))
    size = np.linalg.norm(rows, axis=0)
    scaled = rows / np.where(size > 0.0, size, 1.0)
    assert base.rank == np.linalg.matrix_rank(scaled, tol=1e-9)
    dense = np.linalg.lstsq(rows[:, base.independent], rows, rcond=None)[0]
    np.testing.assert_allclose(base.matrix, dense, atol=1e-7 * np.abs(dense).max())
