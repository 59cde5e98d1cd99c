"""Planar mechanisms as robots: torques against equations that were written down elsewhere."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from support import four_bar_reference as reference
from support.planar_mechanisms import RUBBED_FOUR_BAR, SLIDER_CRANK, SliderCrank
from sysid_ros.errors import ConfigurationError, ModelError
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.configuration import RobotSettings
from sysid_ros.robot.description.planar.mechanism_file import mechanism_of_text
from sysid_ros.robot.description.planar.spanning_tree import planar_tree


def model_of(folder, text, **terms):
    """The torque model of a mechanism, with the joint terms that its file has."""
    (folder / 'mechanism.yaml').write_text(text, encoding='utf-8')
    section = {'description': 'mechanism.yaml', 'terms': {'coulomb_friction': [], **terms}}
    return RobotSettings.model_validate(section).build(folder)


def tree_of(text):
    return planar_tree(mechanism_of_text(text, 'mechanism', 'mechanism'), 'mechanism')


def test_the_torque_of_a_four_bar_is_that_of_its_reduced_equation(tmp_path, rng):
    model = model_of(tmp_path, reference.description(more='viscous_friction: 0.7'))
    motion = rng.uniform(-2.5, 2.5, size=(3, 40))
    wanted = reference.FourBar(friction=0.7).torque(*motion)
    found = model.torque(model.parameters.values, *(part[:, None] for part in motion))
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-9, atol=1e-9)


def test_joints_are_where_the_angles_of_the_file_say(tmp_path):
    model = model_of(tmp_path, SLIDER_CRANK)
    robot = model.robot
    assert robot.joint_names == ('theta',)
    assert set(robot.passive_joints) == {'rod_joint', 'piston'}
    assert robot.body_names == ('crank', 'rod')
    assembled = dict(zip(robot.loops.joint_names, closed_chain(robot).assembly, strict=True))
    assert assembled['theta'] == pytest.approx(np.arctan2(0.4, 0.3))
    # The way of the piston from the first point of its line, H at x = 3.
    assert assembled['piston'] == pytest.approx(1.5)


def test_a_slider_crank_with_spring_drive_and_offset_moves_as_its_energy_says(tmp_path, rng):
    model = model_of(tmp_path, SLIDER_CRANK)
    motion = rng.uniform(-2.0, 2.0, size=(3, 30))
    crank = SliderCrank()
    wanted = [crank.torque(*sample) for sample in motion.T]
    found = model.torque(model.parameters.values, *(part[:, None] for part in motion))
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-6, atol=1e-6)


def test_friction_all_around_a_loop_is_that_of_all_its_joints(tmp_path, rng):
    model = model_of(tmp_path, RUBBED_FOUR_BAR)
    theta, rate, acceleration = motion = rng.uniform(-2.0, 2.0, size=(3, 30))
    bar = reference.FourBar()
    (first, second), (u, w), _ = bar.points(theta)

    def turning(way, change):
        return (way[:, 0] * change[:, 1] - way[:, 1] * change[:, 0]) / np.sum(way**2, axis=1)

    # Rates of coupler and rocker by that of the crank; power of friction at each joint.
    coupler, rocker = turning(second - first, w - u), turning(second - reference.PIVOT, w)
    wanted = bar.torque(*motion) + rate * (
        0.3 + 0.5 * (coupler - 1.0)**2 + 0.7 * (coupler - rocker)**2 + 0.9 * rocker**2)
    found = model.torque(model.parameters.values, *(part[:, None] for part in motion))
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-8, atol=1e-8)
    assert {'theta', 'elbow', 'knee', 'heel'} <= set(model.robot.opened.joint_names)


def test_the_plane_stands_upright_in_the_tree_that_is_written(tmp_path):
    model = model_of(tmp_path, reference.description())
    tree = pin.buildModelFromXML(model.robot.description.xml.decode())
    data, q = tree.createData(), pin.neutral(tree)
    pin.framesForwardKinematics(tree, data, q)
    coupler = data.oMf[tree.getFrameId('coupler')]
    np.testing.assert_allclose(coupler.translation, [1.0, 0.0, 0.0], atol=1e-12)
    # Its first axis leads from (1, 0) to (1, 2), which is up.
    np.testing.assert_allclose(coupler.rotation[:, 0], [0.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(model.robot.gravity, [0.0, 0.0, -9.8])


def test_an_angle_that_only_measures_is_no_joint(tmp_path):
    text = reference.description().replace(
        'torques:', '  tilt: {of: [P1, P2]}\ntorques:')
    model = model_of(tmp_path, text)
    assert model.robot.joint_names == ('theta',)


def test_an_open_chain_is_a_robot_without_loops(tmp_path):
    text = """
    points:
      A: {at: [0, 0], fixed: true}
      B: {at: [0, -1]}
      C: {at: [0.5, -1]}
    bodies:
      upper: {points: [A, B], mass: 1.0}
      lower: {points: [B, C], mass: 0.5}
    angles:
      shoulder: {of: [A, B]}
      elbow: {of: [B, C], against: [A, B]}
    """
    model = model_of(tmp_path, text)
    assert model.robot.loops is None and model.robot.joint_names == ('shoulder', 'elbow')
    # Straight out along x: 1 kg at 0.5 m, and 0.5 kg half a metre beyond a metre, at right angles.
    q, still = np.array([[0.0, np.pi / 2]]), np.zeros((1, 2))
    found = model.torque(model.parameters.values, q, still, still)
    np.testing.assert_allclose(found, 9.80665 * np.array([[0.5 + 0.5, 0.0]]), atol=1e-9)


@pytest.mark.parametrize(('change', 'error', 'words'), [
    (('P1, P2]', 'P1, P3]'), ModelError, "found 'P3'.*Did you mean 'P"),
    (('mass: 2.0', 'mas: 2.0'), ConfigurationError, "Did you mean 'mass'"),
    (('at: [1, 2]', 'at: [1, 0]'), ModelError, 'two points are at the same place'),
    (('torques: [theta]', 'torques: [teta]'), ModelError, "Did you mean 'theta'"),
    (('fixed: true', 'fixed: false'), ModelError, 'hang on nothing.*crank, coupler, rocker'),
    (('mass: 4.0', 'mass: 4.0, inertia: 3.0'), ModelError,
     'rocker: the moment of inertia about the first point is less.*found 3 kg·m²; allowed 13 kg'),
    (('mass: 4.0', 'mass: 0.0, inertia: 3.0'), ModelError,
     'rocker: a body without mass has a moment of inertia'),
    (('{of: [A, P1]}', '{of: [P1, P2]}'), ModelError, 'nothing turns there.*coupler and ground'),
    (('{of: [A, P1]}', '{of: [A, P2]}'), ModelError, 'no body holds both points'),
    (('crank:', 'world:'), ModelError, 'kept for what stands still'),
    (('torques:', 'sliders: {s: {point: P2, line: [A, B]}}\ntorques:'), ModelError,
     'is not on its line.*found 2 m beside it'),
])
def test_mistakes_are_said(change, error, words):
    with pytest.raises(error, match=words):
        tree_of(reference.description().replace(*change))


def test_a_motor_that_does_not_move_all_is_said_by_the_names_of_the_joints(tmp_path):
    five_bar = """
    points:
      A: {at: [0, 0], fixed: true}
      P: {at: [-0.1, 0.3]}
      T: {at: [0.2, 0.6]}
      Q: {at: [0.5, 0.3]}
      B: {at: [0.4, 0], fixed: true}
    bodies:
      left: {points: [A, P], mass: 1.0}
      left_tip: {points: [P, T], mass: 1.0}
      right_tip: {points: [T, Q], mass: 1.0}
      right: {points: [B, Q], mass: 1.0}
    angles:
      one: {of: [A, P]}
    torques: [one]
    """
    with pytest.raises(ModelError, match='left_tip_joint|right_joint|right_tip_joint'):
        model_of(tmp_path, five_bar)
