"""Coordinates of a fleet: consistent bodies, the log-det geometry, derivatives."""

import numpy as np
import pytest

from support.simulated_fleet import arm_model, coordinates_of
from sysid_ros.errors import ParameterError
from sysid_ros.estimation.regression.consistent.fleet_coordinates import BODY, FleetCoordinates
from sysid_ros.robot.inertia import is_consistent, log_det_divergence


@pytest.fixture(scope='module')
def coordinates():
    return coordinates_of(arm_model())


def test_all_coordinates_are_real_bodies_and_positive_frictions(coordinates, rng):
    theta, _ = coordinates.parameters(rng.normal(scale=3.0, size=(20, coordinates.count)))
    bodies = [theta[:, coordinates.reference.body_slice(body)] for body in coordinates.bodies]
    assert is_consistent(np.array(bodies))
    positive = coordinates.reference.lower == 0.0
    assert (theta[:, positive] > 0.0).all()


def test_derivatives_are_those_of_differences(coordinates, rng):
    x = rng.normal(scale=0.3, size=(3, coordinates.count))
    x[1] = 0.0  # where eigenvalues are the same
    _, slope = coordinates.parameters(x)
    step = 1e-5
    for k in range(coordinates.count):
        away = step * np.eye(coordinates.count)[k]
        after, before = (coordinates.parameters(x + sign * away)[0] for sign in (1.0, -1.0))
        np.testing.assert_allclose(slope[:, :, k], (after - before) / (2 * step), atol=1e-8)


def test_half_the_square_of_a_bodys_coordinates_is_its_log_det_divergence(coordinates, rng):
    x = np.zeros((1, coordinates.count))
    x[0, :BODY] = 1e-3 * rng.normal(size=BODY)
    block = coordinates.reference.body_slice(coordinates.bodies[0])
    theta = coordinates.parameters(x)[0][0]
    divergence = log_det_divergence(theta[block], coordinates.reference.values[block])[0]
    assert divergence == pytest.approx(0.5 * x[0] @ x[0], rel=1e-2)


def test_what_is_fixed_has_no_coordinates():
    model = arm_model()
    coordinates = coordinates_of(model)
    first, joint = model.parameters.bodies[0], model.robot.joint_names[0]
    fixed = FleetCoordinates(
        coordinates.reference.fixed(f'{first}.*', f'{joint}.viscous_friction'), coordinates.steps)
    assert fixed.count == coordinates.count - BODY - 1
    assert first not in fixed.bodies
    theta, _ = fixed.parameters(np.ones((1, fixed.count)))
    index = coordinates.reference.index(f'{joint}.viscous_friction')
    assert theta[0, index] == coordinates.reference.values[index]


def test_they_come_back_from_json(coordinates):
    again = FleetCoordinates.from_json(coordinates.to_json())
    x = np.full((1, coordinates.count), 0.1)
    np.testing.assert_array_equal(again.parameters(x)[0], coordinates.parameters(x)[0])


def test_a_step_that_is_missing_is_said(coordinates):
    data = coordinates.to_json()
    data['steps'].pop()
    with pytest.raises(ParameterError, match='not one step for each parameter'):
        FleetCoordinates.from_json(data)


def test_a_reference_that_is_no_real_body_is_refused(coordinates):
    values = coordinates.reference.values.copy()
    values[4] = -1.0
    broken = FleetCoordinates(coordinates.reference.with_values(values), coordinates.steps)
    with pytest.raises(ParameterError, match='not physically consistent'):
        broken.parameters(np.zeros((1, coordinates.count)))


def test_coordinates_of_parameters_are_those_they_were_made_with(coordinates, rng):
    for x in rng.normal(scale=0.5, size=(5, coordinates.count)):
        theta = coordinates.parameters(x[None])[0][0]
        np.testing.assert_allclose(coordinates.at(theta), x, atol=1e-9)
        again = coordinates.recentred(theta)
        np.testing.assert_allclose(again.at(theta), 0.0, atol=1e-9)


def test_what_is_no_body_or_no_friction_has_no_coordinates(coordinates):
    theta = coordinates.reference.values.copy()
    body = coordinates.reference.body_slice(coordinates.bodies[1])
    friction = coordinates.reference.index('base_yaw.viscous_friction')
    theta[body.start], theta[friction] = -1.0, 0.0
    x = coordinates.at(theta)
    assert np.isinf(x[coordinates.parts[coordinates.bodies[1]]]).all()
    assert np.isinf(x[coordinates.parts['joint base_yaw'][0]])
    assert np.isfinite(x[coordinates.parts[coordinates.bodies[0]]]).all()
