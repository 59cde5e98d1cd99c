"""A fleet of simulated robots of one type, and what fits of short recordings know of them.

Estimates are drawn, not fitted: base parameters with the covariance that least squares has with
white torque noise and a random motion. So the truth is known, and a fleet takes milliseconds.
"""

from dataclasses import dataclass

import numpy as np

from support.simulated_arm import DESCRIPTION
from sysid_ros.estimation.regression.consistent.fleet_coordinates import FleetCoordinates
from sysid_ros.fleet.distribution import FleetDistribution
from sysid_ros.fleet.observations import FleetObservations
from sysid_ros.mechanics.base_parameters import base_parameters
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, TorqueOffset, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

#: Spread of masses, inertias and frictions within a fleet, and of offsets in [N·m].
SPREAD, OFFSET = 0.15, 0.1
# Rows of a recording of 5 s that are as good as independent, and noise of the torque in [N·m].
_ROWS, _NOISE = 125, 0.1


@dataclass(frozen=True, eq=False)
class SimulatedFleet:
    """Robots with known parameters.

    Attributes:
        model: Torque model of the description.
        coordinates: Coordinates of the parameters around the description.
        truth: Coordinates of the robots, shape ``(N, c)``.
        observed: What fits know of them.
    """

    model: TorqueModel
    coordinates: FleetCoordinates
    truth: np.ndarray
    observed: FleetObservations

    @property
    def theta(self):
        """True parameters, shape ``(N, p)``."""
        return self.coordinates.parameters(self.truth)[0]


def arm_model(description=DESCRIPTION):
    """An arm with frictions and offsets."""
    return TorqueModel(RobotModel.from_urdf(description), (
        ViscousFriction(), CoulombFriction(), TorqueOffset()))


def coordinates_of(model):
    """Coordinates around the description, whose frictions are 1 N·m and 1 N·m·s/rad."""
    parameters, joints = model.parameters, len(model.robot.joint_names)
    values = parameters.values.copy()
    values[-3 * joints:-joints] = 1.0
    steps = np.zeros(len(values))
    steps[-joints:] = OFFSET
    return FleetCoordinates(parameters.with_values(values), steps)


def simulated_fleet(seed, count, *, model=None, centre=None, change=None, rows=_ROWS):
    """A fleet whose masses, shapes and frictions have a spread of 15 %.

    Args:
        seed: Of the robots, the motions and the noise.
        count: Number of robots.
        model: Their torque model.
        centre: Coordinates of the mean; by default 20 % off the description, always the same.
        change: ``change(truth, coordinates)`` makes robots unlike the others.
        rows: Independent rows of each recording.

    Returns:
        The fleet.
    """
    random = np.random.default_rng([seed, 77])
    model = model or arm_model()
    coordinates = coordinates_of(model)
    if centre is None:
        centre = np.random.default_rng(5).normal(scale=0.2, size=coordinates.count)
    truth = centre + SPREAD * random.normal(size=(count, coordinates.count))
    truth[:, ~coordinates.logarithmic] /= SPREAD
    if change is not None:
        change(truth, coordinates)
    base = base_parameters(model)
    fleet = SimulatedFleet(model, coordinates, truth, None)
    found = [observation(model, base, theta, random, rows) for theta in fleet.theta]
    information, values = (np.array(part) for part in zip(*found, strict=True))
    observed = FleetObservations(
        tuple(f'arm_{k}' for k in range(count)), base.matrix, information,
        np.einsum('nij,nj->ni', information, values), values)
    return SimulatedFleet(model, coordinates, truth, observed)


def observation(model, base, theta, random, rows):
    """Information and values that least squares finds of base parameters."""
    joints = len(model.robot.joint_names)
    q, v, a = (random.normal(scale=size, size=(rows, joints)) for size in (1.0, 1.0, 3.0))
    regressor = model.regressor(q, v, a)[:, :, base.independent].reshape(rows * joints, -1)
    information = regressor.T @ regressor / _NOISE**2
    factor = np.linalg.cholesky(information)
    noise = np.linalg.solve(factor.T, random.normal(size=base.rank))
    return information, base.values(theta) + noise


def true_distribution(fleet, centre):
    """The distribution that robots of :func:`simulated_fleet` are drawn from."""
    spread = np.where(fleet.coordinates.logarithmic, SPREAD, 1.0)
    exact = np.zeros((len(centre), len(centre)))
    return FleetDistribution(fleet.coordinates, centre, np.diag(spread**2), exact)
