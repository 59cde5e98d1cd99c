"""Damping and dry friction in place of laws that no robot description holds."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.joint_terms.closest_friction import (
    closest_frictions,
    frictions_from_json,
    frictions_to_json,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

SMOOTH = {'coulomb_smoothing': 'identified'}
LAWS = {
    'power': SMOOTH | {'power_friction': 'all'},
    'stribeck': SMOOTH | {'stribeck_friction': 'all'},
    'load': SMOOTH | {'load_friction': 'all'},
    'power_load': SMOOTH | {'power_friction': 'all', 'load_friction': 'all'},
    'asymmetric': {'asymmetric_coulomb': 'all'},
}
VALUES = {
    'viscous_friction': 0.4, 'coulomb_friction': 0.7, 'power_friction': 1.3,
    'stribeck_friction': 0.9, 'load_friction': 0.15, 'coulomb_smoothing': 0.02,
    'coulomb_friction_forward': 1.1, 'coulomb_friction_backward': 0.5,
}


def with_law(random_urdf, terms):
    """A robot with a friction law, its values, and a motion of it."""
    robot = RobotModel.from_urdf(random_urdf(3, 3))
    model = TorqueModel(robot, TermSettings.model_validate(terms).build(robot))
    values = model.parameters.with_values({
        name: VALUES[field] for name in model.parameters.names
        if (field := name.rpartition('.')[2]) in VALUES and name.split('.')[0] in robot.joint_names
    }).values
    rng = np.random.default_rng(1)
    q, a = rng.uniform(-1.0, 1.0, (2, 900, 3))
    return model, values, (q, rng.uniform(-2.0, 2.0, (900, 3)), a)


def law_of(model, values, motion, joint):
    """Friction torque of a joint: what its friction takes off when its values become zero."""
    without = values.copy()
    for k, name in enumerate(model.parameters.names):
        owner, _, field = name.rpartition('.')
        if owner == joint and field in VALUES and field != 'coulomb_smoothing':
            without[k] = 0.0
    index = model.robot.joint_index(joint)
    return (model.torque(values, *motion) - model.torque(without, *motion))[:, index]


@pytest.mark.parametrize('name', LAWS)
def test_the_pair_is_the_non_negative_least_squares_solution(random_urdf, name):
    model, values, motion = with_law(random_urdf, LAWS[name])
    found = closest_frictions(model, values, *motion)
    assert set(found) == set(model.robot.joint_names)
    for joint, pair in found.items():
        law, v = law_of(model, values, motion, joint), motion[1][:, model.robot.joint_index(joint)]
        columns = np.stack([v, np.sign(v)], axis=1)
        expected = lsq_linear(columns, law, (0.0, np.inf), tol=1e-14).x
        np.testing.assert_allclose([pair.damping, pair.friction], expected, atol=1e-6)
        left = law - columns @ [pair.damping, pair.friction]
        assert pair.error == pytest.approx(np.linalg.norm(left) / np.linalg.norm(law))
        # The part of the law that has these names in the model is further away.
        part = columns @ [values[model.parameters.index(f'{joint}.viscous_friction')],
                          VALUES['coulomb_friction'] if name != 'asymmetric' else 0.0]
        assert np.linalg.norm(left) < 0.95 * np.linalg.norm(law - part)


def test_a_law_that_falls_with_speed_gets_no_negative_damping(random_urdf):
    model, values, motion = with_law(random_urdf, LAWS['stribeck'])
    joint = model.robot.joint_names[0]
    changed = model.parameters.with_values(values).with_values({
        f'{joint}.viscous_friction': 0.0, f'{joint}.stribeck_friction': 5.0,
        f'{joint}.stribeck_velocity': 1.0}).values
    pair = closest_frictions(model, changed, *motion)[joint]
    assert pair.damping == 0.0
    assert 0.7 < pair.friction < 5.7


def test_slow_samples_that_were_not_fitted_do_not_count(random_urdf):
    model, values, motion = with_law(random_urdf, LAWS['power'])
    fast = closest_frictions(model, values, *motion, minimum_velocity=[1.0, 0.0, 0.0])
    all_rows = closest_frictions(model, values, *motion)
    joints = model.robot.joint_names
    assert fast[joints[0]].error < 0.5 * all_rows[joints[0]].error
    assert fast[joints[1]] == all_rows[joints[1]]


def test_plain_friction_stays_what_it_is(random_urdf):
    model, values, motion = with_law(random_urdf, {'coulomb_smoothing': 0.01})
    assert closest_frictions(model, values, *motion) == {}


def test_pairs_come_back_from_their_plain_values_and_nothing_else_does(random_urdf):
    model, values, motion = with_law(random_urdf, LAWS['load'])
    found = closest_frictions(model, values, *motion)
    assert frictions_from_json(frictions_to_json(found)) == found
    for odd in (None, [], {'joint': 3.0}, {'joint': {'damping': 1.0}},
                {'joint': {'damping': -1.0, 'friction': 0.0, 'error': 0.0}},
                {'joint': {'damping': float('nan'), 'friction': 0.0, 'error': 0.0}}):
        assert frictions_from_json(odd) == {}
