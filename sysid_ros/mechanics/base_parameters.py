r"""Base parameters: what torques can tell about the standard parameters at all.

Many standard parameters act on the torques only in fixed combinations. With
:math:`\Gamma = \Gamma_b K`, torques determine at most :math:`\beta = K\theta`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from sysid_ros.errors import EstimationError, UnreachableError
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.numerics.column_rank import ColumnRank, column_rank
from sysid_ros.robot.inertia import INERTIAL_FIELDS
from sysid_ros.robot.model import RobotModel

# Without pivoting, what a column adds to those before it lies well above this or at rounding.
_INDEPENDENT = 1e-8
# Pivots on both sides of the rank that differ by so much leave no doubt.
_CLEAR = 1e5
# Coefficients in K smaller than this are rounding.
_COEFFICIENT_TOLERANCE = 1e-9
# Least number of samples of the random motion; sizes are those of so many, whatever the rank takes.
_SAMPLES = 50
# Poses in which weight is looked for, and the torque of a kilogram or a metre kilogram, in [N] or
# [N·m], that is the rounding of an axis in a description.
_POSES, _WEIGHTLESS = 20, 1e-4
# Joints with less torque than this part of the largest are measured by it.
_LEAST_TORQUE = 1e-3

# Which parameters keep their name when columns depend on each other: moments of inertia
# before first moments before masses, as in the tables of the literature.
_PREFERENCE = {
    field: rank for rank, field in enumerate((*INERTIAL_FIELDS[4:], *INERTIAL_FIELDS[1:4], 'mass'))
}


@dataclass(frozen=True, eq=False)
class BaseParameters:
    r"""A minimal set of combinations of parameters.

    Attributes:
        names: Names of the p standard parameters.
        independent: Indices of the r parameters whose columns span all others.
        matrix: The grouping K, shape ``(r, p)``, with :math:`\beta = K \theta`.
        gap: Smallest scaled pivot that counts and largest that does not.
        seed: Seed of the random motion the rank was found with.
        factor: R with :math:`\|R\beta\|` the torque of base parameters at random motion: its root
            mean square at each joint, in parts of what the bodies of the prior take there, added
            up in squares; upper triangular, shape ``(r, r)``.
    """

    names: tuple[str, ...]
    independent: np.ndarray
    matrix: np.ndarray
    gap: tuple[float, float]
    seed: int
    factor: np.ndarray

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.independent)

    @property
    def equations(self) -> tuple[str, ...]:
        """Each base parameter in words, its own parameter first."""
        return tuple(
            combination_in_words(row, self.names, first=int(own))
            for row, own in zip(self.matrix, self.independent, strict=True)
        )

    def values(self, theta: np.ndarray) -> np.ndarray:
        """Base parameters of standard parameters ``theta``, shape ``(r,)``."""
        return self.matrix @ theta


def combination_in_words(
    coefficients: np.ndarray, names: tuple[str, ...], first: int | None = None
) -> str:
    """A linear combination of parameters as text, leaving out zero coefficients.

    Args:
        coefficients: Shape ``(p,)``.
        names: The p names.
        first: Index of the term to begin with.
    """
    order = [k for k in np.flatnonzero(np.abs(coefficients) > _COEFFICIENT_TOLERANCE)]
    order.sort(key=lambda k: (k != first, k))
    words = ''
    for k in order:
        size = abs(coefficients[k])
        sign = '-' if coefficients[k] < 0.0 else '+'
        factor = '' if abs(size - 1.0) < _COEFFICIENT_TOLERANCE else f'{size:.6g}·'
        words += f' {sign} {factor}{names[k]}'
    return words.removeprefix(' + ').strip()


def base_parameters(
    model: TorqueModel, *, free: np.ndarray | None = None, seed: int = 0, samples: int = 0
) -> BaseParameters:
    """Find the base parameters of a model by random motion.

    The rank comes from a pivoted QR of the column-scaled regressor; which parameters
    represent their groups comes from their order: inertias, first moments, masses, terms.

    Args:
        model: The torque model.
        free: Mask of the parameters to group, shape ``(p,)``; all by default. The others
            have zero columns in K.
        seed: Seed of the random motion.
        samples: Number of random samples; by default enough for four rows per column.

    Returns:
        The base parameters.

    Raises:
        EstimationError: No free parameter acts on a torque, there are fewer rows than
            columns, closed loops cannot be followed, or two ways of counting the rank disagree:
            the model has parameters of nearly the same effect.
    """
    names = model.parameters.names
    rows = _random_rows(model, samples, seed)
    unit = _torque_of_bodies(model, rows)
    if free is not None:
        rows[:, ~free] = 0.0
    # All that follows of columns is that of this factor: far fewer rows.
    compressed = _triangle(rows)
    found = column_rank(compressed)
    if not found.rank:
        raise EstimationError('no free parameter acts on any torque', fix='Free some parameters')
    active = np.array(sorted(found.active, key=lambda k: _preference(names[k], int(k))))
    size = found.size
    chosen, grouping = _grouping(compressed[:, active] / size[active], active, found)
    own, grouped = active[chosen], active[~chosen]
    matrix = np.zeros((found.rank, len(names)))
    matrix[np.arange(found.rank), own] = 1.0
    matrix[:, grouped] = grouping * size[grouped] / size[own][:, None]
    matrix[np.abs(matrix) < _COEFFICIENT_TOLERANCE] = 0.0
    order = np.argsort(own)
    own = own[order]
    first = rows[:_SAMPLES * len(unit), own].reshape(-1, len(unit), len(own)) / unit[:, None]
    factor = _triangle(first.reshape(-1, len(own)) / np.sqrt(len(first)))
    return BaseParameters(names, own, matrix[order], found.gap, seed, factor[:len(own)])


def _triangle(rows: np.ndarray) -> np.ndarray:
    """Triangular factor of QR with as many rows as columns, or fewer where there are fewer."""
    return np.asarray(scipy.linalg.qr(
        rows, mode='r', overwrite_a=False, check_finite=False)[0][:rows.shape[1]])


def _random_rows(model: TorqueModel, samples: int, seed: int) -> np.ndarray:
    """Rows of the regressor at random motion, at least as many as columns."""
    parameters, joints = len(model.parameters), len(model.robot.joint_names)
    samples = samples or max(_SAMPLES, 4 * parameters // joints)
    if samples * joints < parameters:
        raise EstimationError(
            'there are too few samples to count base parameters', found=samples,
            allowed=f'{-(-parameters // joints)} or more',
        )
    motion = random_motion(model.robot, samples, seed)
    try:
        return model.regressor(*motion).reshape(-1, parameters)
    except UnreachableError as error:
        raise EstimationError(
            'base parameters are counted at random configurations, and the loops cannot go from '
            f'one to the next: {error}', where=model.robot.name,
            fix='Give the driven joints limits within which the loops close') from error


def _torque_of_bodies(model: TorqueModel, rows: np.ndarray) -> np.ndarray:
    """Root mean square torque of the prior's bodies at random motion by joint, shape ``(n,)``."""
    bodies = np.zeros(len(model.parameters))
    for block in map(model.parameters.body_slice, model.parameters.bodies):
        bodies[block] = model.parameters.prior[block]
    joints = len(model.robot.joint_names)
    torque = (rows[:_SAMPLES * joints] @ bodies).reshape(-1, joints)
    size = np.sqrt(np.mean(torque**2, axis=0))
    return np.maximum(size, _LEAST_TORQUE * size.max()) if size.max() > 0.0 else np.ones_like(size)


def _grouping(
    scaled: np.ndarray, active: np.ndarray, expected: ColumnRank
) -> tuple[np.ndarray, np.ndarray]:
    """The first independent columns, as a mask, and the others as combinations of them.

    Beside bodies of negligible size, some that count add hardly more to those before them than
    rounding. Then the columns that pivoting takes are the ones, where it leaves no doubt.
    """
    triangle = _triangle(scaled)
    chosen = np.abs(np.diag(triangle)) > _INDEPENDENT
    is_clear = expected.gap[0] > _CLEAR * expected.gap[1]
    if int(chosen.sum()) != expected.rank and is_clear:
        chosen = np.isin(active, expected.leading)
    if int(chosen.sum()) != expected.rank:
        raise EstimationError(
            'the number of base parameters is not clear',
            found=f'{expected.rank} and {int(chosen.sum())}, '
                  f'pivots {expected.gap[0]:.1e} and {expected.gap[1]:.1e}',
            fix='Remove joint terms that repeat each other, or bodies of negligible size',
        )
    if chosen.all():
        return chosen, np.zeros((int(chosen.sum()), 0))
    together = _triangle(np.hstack([triangle[:, chosen], triangle[:, ~chosen]]))
    rank = int(chosen.sum())
    return chosen, scipy.linalg.solve_triangular(together[:rank, :rank], together[:rank, rank:])


def random_motion(
    robot: RobotModel, samples: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random positions within the limits, and velocities and accelerations of order one.

    Args:
        robot: The robot.
        samples: Number of samples T.
        seed: Seed of the generator.

    Returns:
        q, v, a, shape ``(T, n)`` each.

    Raises:
        ModelError: Closed loops can hardly be closed anywhere within the limits.
    """
    # With generators of their own the first samples are the same however many there are.
    rng, *others = (np.random.default_rng([seed, k]) for k in range(3))
    shape = (samples, len(robot.joint_names))
    v, a = (other.normal(size=shape) for other in others)
    if robot.loops is not None:
        return closed_chain(robot).random_positions(samples, rng), v, a
    lower = np.where(np.isfinite(robot.limits.lower), robot.limits.lower, -np.pi)
    upper = np.where(np.isfinite(robot.limits.upper), robot.limits.upper, np.pi)
    # Limits that leave no room would hide what the motion could show.
    open_range = upper - lower > 1e-2
    lower, upper = np.where(open_range, lower, -np.pi), np.where(open_range, upper, np.pi)
    return rng.uniform(lower, upper, shape), v, a


def feels_weight(robot: RobotModel) -> bool:
    """Whether weight acts on a joint anywhere: not where all axes are vertical, or gravity is zero.

    Args:
        robot: The robot; the masses of its prior do not matter.

    Raises:
        ModelError: Closed loops can hardly be closed anywhere within the limits.
    """
    if robot.base_joints:
        # Of a base that floats weight is a part of its acceleration.
        return True
    q = random_motion(robot, _POSES, seed=0)[0]
    weight = TorqueModel(robot).regressor(q, np.zeros_like(q), np.zeros_like(q))
    return bool(np.abs(weight).max() > _WEIGHTLESS)


def _preference(name: str, index: int) -> tuple[int, int]:
    """Sort key: body by body as they come, within a body inertias first, terms last."""
    field = name.rsplit('.', 1)[-1]
    if field not in _PREFERENCE:
        return index, 0
    return index - INERTIAL_FIELDS.index(field), _PREFERENCE[field]
