"""A torque model with closures as the plain arrays that discrete mechanics walks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sysid_ros.dynamics.acceleration import require_smooth
from sysid_ros.dynamics.sample_regressor import SampleModel, sample_model
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.errors import ModelError
from sysid_ros.robot.loops import LoopClosure
from sysid_ros.robot.model import RobotModel

POINT, FRAME, ROD = range(3)
_KINDS = {'point': POINT, 'frame': FRAME, 'rod': ROD}
_ROWS = {'point': 3, 'frame': 6, 'rod': 1}


class Closures(NamedTuple):
    """Holonomic constraints, c closures of r rows that are kept.

    Attributes:
        kind: Of each closure, shape ``(c,)``.
        ends: Bodies it holds together, -1 for the world, shape ``(c, 2)``.
        point: Its places in them in [m], shape ``(c, 2, 3)``.
        turn: Orientation of these, shape ``(c, 2, 3, 3)``.
        length: Of rods in [m], shape ``(c,)``.
        row: First of its rows, before any is left out, shape ``(c + 1,)``.
        place: Place of each of these rows among the kept ones, -1 for one that the others
            imply, shape ``(row[-1],)``.
    """

    kind: np.ndarray
    ends: np.ndarray
    point: np.ndarray
    turn: np.ndarray
    length: np.ndarray
    row: np.ndarray
    place: np.ndarray


class JointTerms(NamedTuple):
    """Joint terms, t columns; as in :class:`~sysid_ros.dynamics.sample_regressor.SampleModel`.

    Attributes:
        signal: What a column is made of, shape ``(t,)``.
        smoothing: Of dry friction in [rad/s] or [m/s], shape ``(t,)``.
        weights: Direction that a column acts along, shape ``(t, n)``.
        span: First joint that it acts on, and the one after the last, shape ``(t, 2)``.
    """

    signal: np.ndarray
    smoothing: np.ndarray
    weights: np.ndarray
    span: np.ndarray


class DiscreteSystem(NamedTuple):
    """What moves: b bodies, n joints, t columns of joint terms, r constraints.

    Attributes:
        tree: Bodies and joint terms.
        terms: The joint terms alone.
        closures: What closes its loops.
        coupled: Whether bodies do not simply follow the joints of their own index.
        rows: The number r.
    """

    tree: SampleModel
    terms: JointTerms
    closures: Closures
    coupled: bool
    rows: int


def discrete_system(model: TorqueModel, closures: Sequence[LoopClosure] = ()) -> DiscreteSystem:
    """Read a torque model and closures into arrays, all rows of the closures kept.

    Args:
        model: Of the tree that is left when all loops are cut.
        closures: What closes them.

    Raises:
        ModelError: The torque jumps, or a joint term is not linear in its parameters, or the
            base is free or loops are closed already.
    """
    require_smooth(model)
    tree = sample_model(model)
    if tree is None:
        raise ModelError(
            'discrete mechanics does not know the robot or one of its joint terms',
            where=model.robot.name, found=', '.join(type(t).__name__ for t in model.terms),
            allowed='a tree on a fixed base, and terms that are linear in their parameters',
            fix='Leave out terms with shapes; give the tree, and its closures beside it')
    span = np.zeros((len(tree.signal), 2), dtype=np.int64)
    for k, weights in enumerate(tree.weights):
        felt = np.flatnonzero(weights)
        span[k] = felt[0], felt[-1] + 1
    arrays = _closures(model.robot, closures)
    terms = JointTerms(tree.signal, tree.smoothing, tree.weights, span)
    return DiscreteSystem(
        tree, terms, arrays, bool(model.robot.tree.is_coupled), int(arrays.row[-1]))


def with_rows(system: DiscreteSystem, kept: np.ndarray) -> DiscreteSystem:
    """The system with some of its closures' rows only.

    Args:
        system: With all rows.
        kept: Indices of those to keep, in ascending order.
    """
    place = np.full(len(system.closures.place), -1)
    place[kept] = np.arange(len(kept))
    return system._replace(closures=system.closures._replace(place=place), rows=len(kept))


def _closures(robot: RobotModel, closures: Sequence[LoopClosure]) -> Closures:
    ends, poses = np.zeros((len(closures), 2), dtype=np.int64), np.zeros((len(closures), 2, 4, 4))
    for c, closure in enumerate(closures):
        for end, (link, own) in enumerate(zip(closure.links, closure.poses, strict=True)):
            body, pose = robot.place_of(link)
            ends[c, end], poses[c, end] = body, pose @ own
        if ends[c, 0] == ends[c, 1]:
            raise ModelError(
                'the closure holds two places of one body', where=f'closure {closure.name!r}',
                found=' and '.join(closure.links), fix='Name links with joints between them')
    row = np.cumsum([0, *(_ROWS[closure.kind] for closure in closures)])
    return Closures(
        np.array([_KINDS[closure.kind] for closure in closures], dtype=np.int64), ends,
        np.ascontiguousarray(poses[:, :, :3, 3]), np.ascontiguousarray(poses[:, :, :3, :3]),
        np.array([closure.length for closure in closures], dtype=float), row,
        np.arange(row[-1]))
