"""Rows compressed chunk by chunk: nothing lost, nothing added, and the right rank."""

from __future__ import annotations

import numpy as np
import pytest

from support import base_parameter_count as counts
from support.robot_factory import random_urdf
from sysid_ros.errors import EstimationError
from sysid_ros.estimation.joint_factors import JointFactors
from sysid_ros.mechanics.base_parameters import random_motion
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    Stiffness,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

TERMS = (ViscousFriction(), CoulombFriction(), TorqueOffset(), Armature(), Stiffness())
# Pivots that count and those that do not must lie this far apart.
GAP = 1e9


@pytest.fixture(scope='module')
def rows():
    """Rows of a branched robot, over two chunks long, a third of them not usable."""
    model = TorqueModel(RobotModel.from_urdf(random_urdf(5, 6)), [ViscousFriction()])
    motion = random_motion(model.robot, 1200, seed=0)
    random = np.random.default_rng(0)
    regressor = model.regressor(*motion)
    torque = regressor @ model.parameters.prior
    torque += random.normal(size=torque.shape)
    return regressor, torque, random.random(torque.shape) > 0.3


def empty(regressor):
    return JointFactors.empty(*regressor.shape[1:])


def assert_same_objective(found, expected, tolerance=1e-12):
    """The triangles of dependent columns are not unique, their squares are."""
    for ours, theirs in zip(found, expected, strict=True):
        square = theirs.T @ theirs
        size = np.sqrt(np.diag(square))
        error = np.abs(ours.T @ ours - square)
        assert np.all(error <= tolerance * np.outer(size, size))


def test_merged_factors_are_those_of_all_rows(rows):
    regressor, torque, usable = rows
    parts = [
        empty(regressor).folded(regressor[i:j], torque[i:j], usable[i:j])
        for i, j in ((0, 5), (5, 700), (700, 700), (700, 1200))
    ]
    before = [part.triangles.copy() for part in parts]
    merged = JointFactors.merged(parts)
    whole = empty(regressor).folded(regressor, torque, usable)
    assert_same_objective(merged.triangles, whole.triangles)
    np.testing.assert_array_equal(merged.counts, whole.counts)
    for part, triangles in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part.triangles, triangles)


def test_the_triangles_hold_all_usable_rows(rows):
    regressor, torque, usable = rows
    found = empty(regressor).folded(regressor, torque, usable)
    assert_same_objective(found.triangles, [
        np.column_stack([regressor[used, joint], torque[used, joint]])
        for joint, used in enumerate(usable.T)
    ])
    np.testing.assert_array_equal(found.counts, usable.sum(axis=0))
    np.testing.assert_array_equal(found.triangles, np.triu(found.triangles))


def test_columns_that_do_not_act_on_a_joint_stay_zero(rows):
    regressor, torque, usable = rows
    triangles = empty(regressor).folded(regressor, torque, usable).triangles
    silent = ~regressor.any(axis=0)
    assert silent.sum() > 20
    assert not triangles[:, :, :-1].transpose(0, 2, 1)[silent].any()
    assert not triangles[:, :-1][silent].any()


@pytest.mark.parametrize('block', [1, 100, 512, 777])
def test_blocks_of_rows_give_what_all_rows_at_once_give(rows, block):
    regressor, torque, usable = (part[:800] for part in rows)
    whole = empty(regressor).folded(regressor, torque, usable)
    found = empty(regressor)
    for start in range(0, len(regressor), block):
        part = slice(start, start + block)
        found = found.folded(regressor[part], torque[part], usable[part])
    assert_same_objective(found.triangles, whole.triangles)
    np.testing.assert_array_equal(found.counts, whole.counts)


def test_a_column_may_begin_to_act_at_any_row(rows):
    regressor, torque, _ = rows
    regressor = regressor.copy()
    # Every column begins somewhere else, some in the last chunk, some never.
    starts = np.linspace(0, 1.1 * len(regressor), regressor.shape[2]).astype(int)
    early = np.arange(len(regressor))[:, None] < starts
    regressor[np.broadcast_to(early[:, None, :], regressor.shape)] = 0.0
    found = empty(regressor).folded(regressor, torque)
    assert_same_objective(found.triangles, [
        np.column_stack([regressor[:, joint], torque[:, joint]])
        for joint in range(regressor.shape[1])
    ])


def test_folding_leaves_the_factors_before_as_they_were(rows):
    regressor, torque, usable = rows
    first = empty(regressor).folded(regressor, torque, usable)
    kept, counted = first.triangles.copy(), first.counts.copy()
    first.folded(regressor, 2.0 * torque)
    np.testing.assert_array_equal(first.triangles, kept)
    np.testing.assert_array_equal(first.counts, counted)


def test_rows_in_any_memory_order_are_taken(rows):
    regressor, torque, usable = rows
    expected = empty(regressor).folded(regressor, torque, usable)
    found = empty(regressor).folded(*map(np.asfortranarray, rows))
    np.testing.assert_array_equal(found.triangles, expected.triangles)


def test_rows_that_are_not_usable_may_hold_anything(rows):
    regressor, torque, usable = rows
    spoilt = np.where(usable[:, :, None], regressor, np.nan)
    expected = empty(regressor).folded(regressor, torque, usable)
    found = empty(regressor).folded(spoilt, np.where(usable, torque, np.inf), usable)
    np.testing.assert_array_equal(found.triangles, expected.triangles)


def test_no_rows_change_nothing(rows):
    regressor, torque, usable = rows
    none = empty(regressor).folded(regressor[:0], torque[:0])
    assert not none.triangles.any()
    assert not none.counts.any()
    assert none.rank().rank == 0
    masked = empty(regressor).folded(regressor, torque, np.zeros_like(usable))
    assert not masked.triangles.any()


def test_small_numbers_survive_where_normal_equations_lose_them():
    """Läuchli's matrix: its square is singular in double precision, its columns are not."""
    small = 1e-9
    stack = np.vstack([np.ones(3), small * np.eye(3)])
    factors = JointFactors.empty(1, 3).folded(stack[:, None, :], np.zeros((4, 1)))
    values = np.linalg.svd(factors.triangles[0, :-1, :-1], compute_uv=False)
    np.testing.assert_allclose(values, [np.sqrt(3.0), small, small], rtol=1e-6)


@pytest.mark.parametrize('first_seed', range(0, 100, 25))
def test_the_rank_of_random_robots_is_that_of_the_grouping_rules(first_seed):
    """The rules count joints; they see neither a regressor nor a motion nor a tolerance."""
    for seed in range(first_seed, first_seed + 25):
        robot = RobotModel.from_urdf(random_urdf(seed, 1 + seed % 9))
        model = TorqueModel(robot, TERMS if seed % 2 else ())
        expected = counts.base_parameter_count(robot.tree)
        if model.terms:
            expected += 4 * len(robot.joint_names) + counts.told_armatures(robot.tree)
        regressor = model.regressor(*random_motion(robot, 120, seed))
        found = empty(regressor).folded(regressor, regressor @ model.parameters.prior).rank()
        assert found.rank == expected
        assert found.gap[0] >= GAP * found.gap[1]


@pytest.mark.parametrize('spoilt', ['regressor', 'torque'])
@pytest.mark.parametrize('value', [np.nan, np.inf])
def test_a_usable_value_that_is_not_finite_is_refused(rows, spoilt, value):
    regressor, torque, usable = (part[:50].copy() for part in rows)
    (regressor[:, :, -1] if spoilt == 'regressor' else torque)[20, 0] = value
    usable[20, 0] = True
    with pytest.raises(EstimationError, match='a value that is not finite'):
        empty(regressor).folded(regressor, torque, usable)


def test_rows_of_another_robot_are_refused(rows):
    regressor, torque, usable = rows
    samples, joints, parameters = regressor.shape
    allowed = rf'allowed \(T, {joints}, {parameters}\), \(T, {joints}\) and \(T, {joints}\)'
    with pytest.raises(EstimationError, match=rf'do not belong to these factors.*{allowed}'):
        empty(regressor).folded(regressor[:, :, 1:], torque, usable)
    with pytest.raises(EstimationError, match=rf'found .*\({samples - 1}, {joints}\)'):
        empty(regressor).folded(regressor, torque[1:], usable)
    with pytest.raises(EstimationError, match='do not belong'):
        empty(regressor).folded(regressor, torque, usable[:, 1:])
