"""The YAML export says everything, and comes back exactly."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from sysid_ros.errors import ConfigurationError, ParameterError
from sysid_ros.mechanics.joint_terms.terms import Armature, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.release.yaml_export import export_yaml, parameters_from_yaml
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
    read = parameters_from_yaml(export_yaml(robot, parameters, {'recording': 'run 1'}))
    assert read.names == parameters.names
    assert read.units == parameters.units
    for field in ('values', 'prior', 'lower', 'upper', 'free'):
        np.testing.assert_array_equal(getattr(read, field), getattr(parameters, field))


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


def test_editing_the_copy_that_programs_do_not_read_is_refused(exported):
    parameters, robot = exported
    content = yaml.safe_load(export_yaml(robot, parameters))
    content['bodies'][robot.body_names[0]]['mass'] *= 1.01
    with pytest.raises(ParameterError, match="disagree with 'parameters'"):
        parameters_from_yaml(yaml.safe_dump(content, sort_keys=False))


def test_a_file_with_sorted_keys_is_refused(exported):
    parameters, robot = exported
    content = yaml.safe_load(export_yaml(robot, parameters))
    with pytest.raises(ParameterError, match='missing or out of order'):
        parameters_from_yaml(yaml.safe_dump(content, sort_keys=True))


@pytest.mark.parametrize('text', ['a: 1', '[1, 2]', '', 'format: other'])
def test_another_yaml_is_refused(text):
    with pytest.raises(ConfigurationError, match='is not (an export of parameters|a mapping)'):
        parameters_from_yaml(text)


def test_python_objects_are_refused():
    with pytest.raises(ConfigurationError, match='is not plain YAML'):
        parameters_from_yaml('format: !!python/object/apply:os.getcwd []')


def test_a_parameter_without_value_is_refused(exported):
    parameters, robot = exported
    content = yaml.safe_load(export_yaml(robot, parameters))
    del content['parameters'][parameters.names[0]]['value']
    with pytest.raises(ParameterError, match='cannot be read'):
        parameters_from_yaml(yaml.safe_dump(content, sort_keys=False))
