"""Coordinates of a fleet: consistent bodies, the log-det geometry, derivatives."""

import numpy as np
import pytest

from support.simulated_fleet import arm_model, coordinates_of
from sysid_ros.errors import ParameterError
from sysid_ros.fleet.coordinates import BODY, FleetCoordinates
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


def test_a_reference_that_is_no_real_body_is_refused(coordinates):
    values = coordinates.reference.values.copy()
    values[4] = -1.0
    broken = FleetCoordinates(coordinates.reference.with_values(values), coordinates.steps)
    with pytest.raises(ParameterError, match='not physically consistent'):
        broken.parameters(np.zeros((1, coordinates.count)))
