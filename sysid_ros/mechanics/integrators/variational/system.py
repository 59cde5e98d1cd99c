"""A torque model with closures as the plain arrays that discrete mechanics walks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sysid_ros.errors import ModelError
from sysid_ros.mechanics.closures.closure_arrays import Closures, closures_of_bodies
from sysid_ros.mechanics.joint_terms.dispatch import TermArrays, columns_by_laws
from sysid_ros.mechanics.joint_terms.law import POSITION
from sysid_ros.mechanics.joint_terms.load_friction import LoadFriction
from sysid_ros.mechanics.joint_terms.stiffness import SPRING
from sysid_ros.mechanics.regressor.sample_regressor import SampleModel, shaped_model
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.acceleration import require_smooth
from sysid_ros.robot.loops import LoopClosure


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
    terms: TermArrays
    closures: Closures
    coupled: bool
    rows: int


def discrete_system(model: TorqueModel, closures: Sequence[LoopClosure] = ()) -> DiscreteSystem:
    """Read a torque model and closures into arrays, all rows of the closures kept.

    Args:
        model: Of the tree that is left when all loops are cut.
        closures: What closes them.

    Raises:
        ModelError: The torque jumps, or a joint term is not by laws, or the base is free or loops
            are closed already.
    """
    require_smooth(model)
    shaped = shaped_model(model)
    if shaped is None or any(isinstance(term, LoadFriction) for term in model.terms):
        raise ModelError(
            'discrete mechanics does not know the robot or one of its joint terms',
            where=model.robot.name, found=', '.join(type(t).__name__ for t in model.terms),
            allowed='a tree on a fixed base, and terms by laws over position and velocity',
            fix='Leave out friction by load; give the tree, and its closures beside it')
    _require_linear_springs(model)
    tree, arrays = shaped.tree, closures_of_bodies(model.robot, closures)
    return DiscreteSystem(
        tree, tree.terms, arrays, bool(model.robot.tree.is_coupled), int(arrays.row[-1]))


def _require_linear_springs(model: TorqueModel) -> None:
    """Refuse springs of which half the stretch times the torque is not the energy."""
    for term in model.terms:
        for part in columns_by_laws(term, model.robot) or ():
            if part.law.variable == POSITION and part.law != SPRING:
                raise ModelError(
                    'discrete mechanics knows the energy of linear springs alone',
                    where=model.robot.name, found=type(term).__name__,
                    fix='Leave the term out, or use another transcription')


def with_rows(system: DiscreteSystem, kept: np.ndarray) -> DiscreteSystem:
    """The system with some of its closures' rows only.

    Args:
        system: With all rows.
        kept: Indices of those to keep, in ascending order.
    """
    place = np.full(len(system.closures.place), -1)
    place[kept] = np.arange(len(kept))
    return system._replace(closures=system.closures._replace(place=place), rows=len(kept))
