"""The file of a planar mechanism with identified parameters, read back as a robot."""

from __future__ import annotations

import numpy as np

from support.planar_mechanisms import RUBBED_FOUR_BAR, SLIDER_CRANK
from sysid_ros.estimation.trajectory.graph.mechanism_file import parse_mechanism
from sysid_ros.mechanics.configuration import RobotSettings
from sysid_ros.release.mechanism_export import identified_mechanism


def model_of(folder, text, **terms):
    (folder / 'mechanism.yaml').write_text(text, encoding='utf-8')
    section = {'description': 'mechanism.yaml', 'terms': {'coulomb_friction': [], **terms}}
    return RobotSettings.model_validate(section).build(folder)


def changed(model):
    """Parameters some percent off the description, each by its own part."""
    names = model.parameters.names
    return model.parameters.with_values({
        name: model.parameters[name] * (1.0 + 0.01 * k) for k, name in enumerate(names)})


def test_a_mechanism_read_back_has_the_torques_that_were_identified(tmp_path, rng):
    for text in (SLIDER_CRANK, RUBBED_FOUR_BAR):
        model = model_of(tmp_path, text)
        identified = changed(model)
        written, notes = identified_mechanism(model.robot, identified)
        again = model_of(tmp_path, written)
        assert not notes and again.parameters.names == model.parameters.names
        motion = rng.uniform(-2.0, 2.0, size=(3, 20, 1))
        np.testing.assert_allclose(
            again.torque(again.parameters.values, *motion),
            model.torque(identified.values, *motion), rtol=1e-9, atol=1e-9)


def test_the_same_file_is_read_for_factor_graphs(tmp_path):
    model = model_of(tmp_path, RUBBED_FOUR_BAR)
    identified = changed(model)
    graphed = parse_mechanism(identified_mechanism(model.robot, identified)[0]).parameters
    assert graphed['rocker.mass'] == identified['rocker.mass']
    assert graphed['heel.viscous_friction'] == identified['heel.viscous_friction']


def test_friction_of_a_joint_without_an_angle_has_no_place_in_it(tmp_path):
    model = model_of(tmp_path, SLIDER_CRANK, viscous_friction=['theta', 'rod_joint'])
    identified = model.parameters.with_values({'rod_joint.viscous_friction': 0.2})
    _, notes = identified_mechanism(model.robot, identified)
    assert notes == (
        'The file of the mechanism has no place for rod_joint.viscous_friction: the YAML export '
        'holds it.',)
