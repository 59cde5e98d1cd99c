r"""Ends of a robot that something holds up: it stands on the ground, and is described as held.

The weight of links draws their joints one way, whatever they weigh. What supports the last body of
a branch, as the ground does a foot, draws the other way, like a weight below zero. With the torques
:math:`G_j(q)\,\mu` at rest of a mass with its first moments, :math:`\mu = (m, m c)`, on that body,
and columns :math:`T_j` of friction, armature and offsets, least squares over the joints that feel
it,

.. math:: \tau_j - \tau_{l,j} = G_j(q)\, \mu + T_j\, \theta_j,

of the actuators' torque :math:`\tau` less that of the described links :math:`\tau_l` give the mass
that is missing there; with what the described links weigh, at the same place, the weight that hangs
from the branch. Constant torques are among the columns T: zeros of encoders that are off make some,
so a robot that stands without bending its legs is not told. Where gains are wrong torques are those
of the links times a factor, and that explains them better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.mechanics.actuators.actuators import actuated
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.numerics.noise import correlated_squares
from sysid_ros.robot.tree import KinematicTree

# Weights below zero by so many standard deviations, and by this part of the mass of the branch.
_SIGMAS, _PART = 4.0, 0.25
# Mass and first moments of a body, of its ten parameters.
_WEIGHS = 4
# Singular values of columns of unit length below this part of the largest tell nothing.
_RANK = 1e-6
# Rows that are looked at, spread evenly.
_ROWS = 4000


@dataclass(frozen=True)
class SupportedLink:
    """The last body of a branch, and what seems to hang from it.

    Attributes:
        body: The body.
        weight: Mass in [kg] that hangs from the branch there, below zero.
        deviation: Its standard deviation in [kg].
    """

    body: str
    weight: float
    deviation: float


def supported_links(rows: RegressionProblem) -> tuple[SupportedLink, ...]:
    """Last bodies of branches that something holds up; none where torques were measured.

    Args:
        rows: Torques that the actuators make by the settings, and what the prior takes.
    """
    robot, motion = rows.model.robot, rows.motion
    if actuated(rows.model) is None or motion is None or robot.loops is not None:
        return ()
    data = motion.dataset
    retained, _ = motion.parallel_filter.retained_samples(data.rate, data.segments)
    picked = np.arange(0, len(retained), max(1, len(retained) // _ROWS))
    q = data.q[retained[picked]]
    weight = inertial_regressor(robot, q, np.zeros_like(q), np.zeros_like(q))
    found = (_supported(rows, picked, weight, branch) for branch in _branches(robot.tree))
    return tuple(each for each in found if each is not None)


def _branches(tree: KinematicTree) -> Iterator[list[int]]:
    """Places among the robot's bodies of each last body and of those that carry it, it first."""
    parent = tree.parent.tolist()
    place = np.cumsum(~tree.massless) - 1
    for last in range(len(parent)):
        if last not in parent:
            found, body = [], last
            while body >= 0:
                found += [] if tree.massless[body] else [int(place[body])]
                body = parent[body]
            yield found


def _supported(
    rows: RegressionProblem, picked: np.ndarray, weight: np.ndarray, branch: list[int]
) -> SupportedLink | None:
    """The last body of a branch, if it weighs less than nothing."""
    prior, first = rows.parameters.prior, 10 * branch[0]
    bodies = weight.shape[2]
    columns, missing, described, scaled = [], [], [], 0.0
    for j in np.flatnonzero(weight[:, :, first:first + _WEIGHS].any(axis=(0, 2))):
        usable = rows.usable[picked, j]
        own, at_rest = rows.regressor[picked[usable], j], weight[usable, j]
        left = _without_terms(own[:, bodies:])
        links, made = own[:, :bodies] @ prior[:bodies], rows.torque[picked[usable], j]
        columns.append(left(at_rest[:, first:first + _WEIGHS]))
        missing.append(left(made - links))
        described.append(left(at_rest @ prior[:bodies]))
        scaled += _unexplained(left(links), left(made))
    if sum(map(len, columns)) <= _WEIGHS:
        return None
    matrix = np.concatenate(columns)
    size = np.linalg.norm(matrix, axis=0)
    size[size == 0.0] = np.inf
    inverse = np.linalg.pinv(matrix / size, rcond=_RANK)
    own_mass, extra = (
        float((inverse @ np.concatenate(part))[0] / size[0]) for part in (described, missing))
    residual = np.concatenate(missing) - matrix / size @ (inverse @ np.concatenate(missing))
    ends = np.cumsum([len(part) for part in missing])[:-1]
    total, count = correlated_squares([part[:, None] for part in np.split(residual, ends)])
    deviation = float(np.linalg.norm(inverse[0]) / size[0] * np.sqrt(total / max(count, 1)))
    mass = sum(float(prior[10 * body]) for body in branch)
    hanging = own_mass + extra
    clear = hanging < -max(_SIGMAS * deviation, _PART * mass)
    if not clear or scaled < float(residual @ residual):
        return None
    return SupportedLink(rows.model.robot.body_names[branch[0]], hanging, deviation)


def _without_terms(terms: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """What takes out of torques that the joint's own terms explain, with columns ``(T, k)``."""
    own = terms[:, terms.any(axis=0)]
    basis = np.linalg.qr(own / np.linalg.norm(own, axis=0))[0]
    return lambda x: x - basis @ (basis.T @ x)


def _unexplained(links: np.ndarray, made: np.ndarray) -> float:
    """Squares of a torque that no multiple of the links' torque explains."""
    size = float(links @ links)
    factor = max(float(links @ made) / size, 0.0) if size > 0.0 else 0.0
    return float(np.sum((made - factor * links) ** 2))
