"""The YAML export says everything, and comes back exactly."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.joint_terms.terms import Armature, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.yaml_export import export_yaml
from sysid_ros.robot.model import RobotModel


@pytest.fixture
def exported(random_urdf):
    robot = RobotModel.from_urdf(random_urdf(4, 5))
    parameters = TorqueModel(robot, (ViscousFriction(), Armature())).parameters
    rng = np.random.default_rng(4)
    parameters = parameters.with_values(parameters.values * rng.uniform(0.9, 1.1))
    return parameters.fixed('joint1.armature'), robot


def test_every_field_comes_back_exactly(exported):
    parameters, robot = exported
    content = yaml.safe_load(export_yaml(robot, parameters, {'recording': 'run 1'}))
    entries = content['parameters']
    assert tuple(entries) == parameters.names
    assert tuple(entry['unit'] for entry in entries.values()) == parameters.units
    for key, field in {'value': 'values', 'prior': 'prior', 'lower': 'lower', 'upper': 'upper',
                       'free': 'free'}.items():
        read = [entry[key] for entry in entries.values()]
        np.testing.assert_array_equal(read, getattr(parameters, field))
    assert content['joints']['joint1']['armature'] == parameters['joint1.armature']


def test_bodies_are_said_about_their_centre_of_mass(exported):
    parameters, robot = exported
    content = yaml.safe_load(export_yaml(robot, parameters))
    body = robot.body_names[0]
    shown, phi = content['bodies'][body], parameters.inertial(body)
    assert shown['mass'] == phi[0]
    np.testing.assert_allclose(shown['center_of_mass'], phi[1:4] / phi[0])
    # Steiner's theorem, written out for one entry.
    x, y, _ = shown['center_of_mass']
    np.testing.assert_allclose(
        shown['inertia_about_center_of_mass']['zz'], phi[9] - phi[0] * (x * x + y * y))
    assert shown['links'][0] == body


def test_provenance_is_kept_and_must_be_plain(exported):
    parameters, robot = exported
    text = export_yaml(robot, parameters, {'estimator': 'lmi', 'seed': 3})
    assert yaml.safe_load(text)['provenance'] == {'estimator': 'lmi', 'seed': 3}
    with pytest.raises(ConfigurationError, match='numbers, strings'):
        export_yaml(robot, parameters, {'array': np.zeros(2)})
