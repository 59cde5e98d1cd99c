"""Ellipsoids of uniform density: their mass and inertia are those of the body."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from support.robot_factory import random_mjcf, random_urdf
from sysid_ros.errors import ParameterError
from sysid_ros.robot.inertia import inertial_from_pseudo, inertial_parameters
from sysid_ros.robot.inertia_ellipsoid import InertiaEllipsoid, link_ellipsoids
from sysid_ros.robot.model import RobotModel


def random_body(rng: np.random.Generator) -> np.ndarray:
    root = rng.normal(size=(4, 4))
    return inertial_from_pseudo(root @ root.T)


def of_pinocchio(ellipsoid: InertiaEllipsoid) -> pin.Inertia:
    """The inertia that Pinocchio has for such an ellipsoid."""
    own = pin.Inertia.FromEllipsoid(ellipsoid.mass, *ellipsoid.semi_axes.tolist())
    return pin.SE3(np.array(ellipsoid.axes), np.array(ellipsoid.centre)).act(own)


def test_the_ellipsoid_has_the_inertia_of_the_body(rng) -> None:
    for _ in range(100):
        phi = random_body(rng)
        ellipsoid = InertiaEllipsoid.of(phi)
        assert ellipsoid.possible
        np.testing.assert_allclose(
            of_pinocchio(ellipsoid).toDynamicParameters(), phi, rtol=1e-9, atol=1e-9 * phi[0])
        assert np.linalg.det(ellipsoid.axes) == pytest.approx(1.0)
        values = np.linalg.eigvalsh(ellipsoid.shape)
        np.testing.assert_allclose(np.sqrt(values), ellipsoid.semi_axes, rtol=1e-9)


def test_a_cuboid_gives_axes_along_its_edges_longest_last() -> None:
    # A cuboid with edges 2a has second moments m·a²/3: those of semi-axes a·sqrt(5/3).
    half = np.array([0.3, 0.1, 0.2])
    inertia = 2.0 / 3.0 * (half @ half * np.eye(3) - np.diag(half**2))
    ellipsoid = InertiaEllipsoid.of(inertial_parameters(2.0, np.array([0.0, 0.0, 0.5]), inertia))
    np.testing.assert_allclose(ellipsoid.semi_axes, np.sqrt(5.0 / 3.0) * np.sort(half))
    np.testing.assert_allclose(np.abs(ellipsoid.axes), np.eye(3)[:, [1, 2, 0]], atol=1e-12)
    np.testing.assert_allclose(ellipsoid.centre, [0.0, 0.0, 0.5])


def test_an_inertia_of_no_mass_distribution_is_drawn_flat_and_said_to_be_such() -> None:
    impossible = inertial_parameters(1.0, np.zeros(3), np.diag([0.1, 0.1, 0.5]))
    ellipsoid = InertiaEllipsoid.of(impossible)
    assert not ellipsoid.possible
    # Second moments per mass are half of 0.5 each, and half of 0.1 + 0.1 - 0.5.
    np.testing.assert_allclose(ellipsoid.semi_axes, np.sqrt(5.0 * np.array([0.0, 0.25, 0.25])))


def test_a_body_without_mass_has_none_and_one_that_is_no_number_is_refused() -> None:
    assert InertiaEllipsoid.of(np.zeros(10)) is None
    with pytest.raises(ParameterError, match='not finite'):
        InertiaEllipsoid.of(np.array([1.0, *[np.nan] * 9]))


@pytest.mark.parametrize('text', [random_urdf(3, 7, bare_frames=True), random_mjcf(2, 6)])
def test_ellipsoids_are_in_the_frames_of_links_as_pinocchio_places_them(text) -> None:
    robot = RobotModel.from_description(text)
    found = link_ellipsoids(
        robot, dict(zip(robot.body_names, robot.inertial_prior, strict=True)))
    assert found
    model = robot.pinocchio_model
    for name, ellipsoid in found.items():
        frame = model.frames[model.getFrameId(name, pin.FrameType.BODY)]
        body = robot.inertial_prior[robot.body_names.index(name)]
        np.testing.assert_allclose(
            frame.placement.act(of_pinocchio(ellipsoid)).toDynamicParameters(), body,
            rtol=1e-8, atol=1e-9)
    massive = {name for name, phi in zip(robot.body_names, robot.inertial_prior, strict=True)
               if phi[0] > 0.0}
    assert set(found) == massive


def test_a_body_that_is_no_link_is_left_out() -> None:
    robot = RobotModel.from_description(random_urdf(0, 3, fixed_fraction=0.0))
    rotor = {'the rotor': robot.inertial_prior[0]}
    assert link_ellipsoids(robot, rotor) == {}
