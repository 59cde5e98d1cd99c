"""Which parameters of a mechanism are sought, and what is known of them beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sysid_ros.errors import ParameterError, did_you_mean
from sysid_ros.estimation.trajectory.graph.factors import NodeFactor, Sigma
from sysid_ros.estimation.trajectory.graph.mechanism import Mechanism
from sysid_ros.estimation.trajectory.graph.variables import FreeParameters, Point
from sysid_ros.robot.parameters import ParameterSet


def free_parameters_of(
    mechanism: Mechanism, names: Sequence[str], *, shapes_held: bool = False
) -> FreeParameters:
    """Parameters to be sought with the motion, from their values on.

    Args:
        mechanism: The mechanism.
        names: Their names.
        shapes_held: Whether masses come with their first moments and inertias in proportion, as
            of bodies whose shape is known and whose density is not.

    Raises:
        ParameterError: There is no such parameter, one comes twice, or a mass of zero has no
            proportions.
    """
    parameters = mechanism.parameters
    index = [parameters.index(name) for name in names]
    if len(set(index)) < len(index):
        raise ParameterError('a parameter is sought twice', found=', '.join(names))
    matrix = np.zeros((len(parameters), len(names)))
    for column, (name, row) in enumerate(zip(names, index, strict=True)):
        matrix[row, column] = 1.0
        if shapes_held and name.endswith('.mass'):
            matrix[:, column] = _proportions(parameters, name)
    start = parameters.values[index]
    return FreeParameters(
        tuple(names), matrix, parameters.values - matrix @ start, start,
        parameters.lower[index], parameters.upper[index])


def _proportions(parameters: ParameterSet, name: str) -> np.ndarray:
    """All inertial parameters of a body per unit of its mass, shape ``(p,)``."""
    body, mass = name.removesuffix('.mass'), parameters[name]
    if not mass > 0.0:
        raise ParameterError(
            'a body without mass has no shape to hold', where=name, found=mass,
            fix='Give it a mass, or seek its parameters one by one')
    own = [
        k for k, other in enumerate(parameters.names)
        if other.rsplit('.', 1)[0] == body and _is_inertial(other)]
    column = np.zeros(len(parameters))
    column[own] = parameters.values[own] / mass
    return column


def _is_inertial(name: str) -> bool:
    field = name.rsplit('.', 1)[1]
    return field == 'mass' or field.startswith(('first_moment', 'inertia'))


@dataclass(frozen=True, eq=False)
class ParameterPrior(NodeFactor):
    """What is known of sought parameters beforehand.

    Attributes:
        names: The parameters.
        value: Shape ``(m,)``.
        sigma: Standard deviations.
    """

    names: Sequence[str]
    value: np.ndarray
    sigma: Sigma
    at: int = 0

    tells_parameters: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return 'parameter prior'

    @property
    def variables(self) -> tuple[str, ...]:
        """None: parameters are no variables of a step."""
        return ()

    def width(self, mechanism: Mechanism) -> int:
        """How many parameters are known."""
        return len(self.names)

    def fill(self, point: Point, data: np.ndarray | None, rows: np.ndarray) -> None:
        """Write what the parameters are off by; see :class:`NodeFactor`.

        Raises:
            ParameterError: A parameter is not sought.
        """
        size = point.layout.size
        for row, name in enumerate(self.names):
            if name not in point.free_parameters.names:
                raise ParameterError(
                    'a prior is given for what is not sought', found=repr(name),
                    allowed=', '.join(point.free_parameters.names),
                    fix=did_you_mean(name, point.free_parameters.names))
            column = point.free_parameters.names.index(name)
            rows[:, row, size + column] = 1.0
            rows[:, row, -1] = point.values[column] - np.asarray(self.value)[row]
