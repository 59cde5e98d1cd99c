r"""Rows of a problem whose model is not linear, made anew where its parameters have moved.

Whole rows come from a :class:`~sysid_ros.estimation.rows.RowBuilder`, here as everywhere. What a
search moves are the few columns of nonlinear terms, whose signals alone are filtered again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from sysid_ros.estimation.motion import Motion
from sysid_ros.estimation.rows import MemoryStore, RowBuilder
from sysid_ros.mechanics.joint_terms.load_friction import LoadFriction
from sysid_ros.mechanics.joint_terms.shaped import ShapedFriction, SlopeCurve
from sysid_ros.mechanics.joint_terms.term import JointTerm
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.inverse_dynamics import recursive_newton_euler
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet


class SourcedRows(Protocol):
    """Rows that a source made, with the model that they are of."""

    @property
    def model(self) -> TorqueModel:
        """Torque model of the robot."""

    @property
    def parameters(self) -> ParameterSet:
        """Priors, bounds and names, p of them."""

    @property
    def regressor(self) -> np.ndarray:
        """Rows of the regressor, shape ``(T', n, p)``."""

    @property
    def torque(self) -> np.ndarray:
        """Rows of the torque in [N·m] or [N], shape ``(T', n)``."""

    def replaced(self, *same: str, **changes: Any) -> Self:
        """The rows with other fields, and with computed properties that these leave the same."""


_Rows = TypeVar('_Rows', bound=SourcedRows)


@dataclass(frozen=True, eq=False)
class RowSource(Motion):
    """The motion that rows come from, which makes them anew."""

    _loads: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, repr=False)
    _moved: dict[str, tuple[SourcedRows, Any]] = field(default_factory=dict, repr=False)

    @property
    def motion(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, velocities and accelerations, shape ``(T, n)`` each."""
        return self.dataset.q, self.dataset.v, self.dataset.a

    def rows(self, columns: np.ndarray) -> np.ndarray:
        """Samples of shape ``(T, ...)``, filtered and decimated to the rows of a problem."""
        data = self.dataset
        return self.parallel_filter.apply(columns, data.rate, data.segments)[0]

    def moved(self, problem: _Rows, model: TorqueModel) -> _Rows:
        """The problem with its model at other values.

        The last one is kept: a search ends, and the next begins, where rows were just made.

        Args:
            problem: A problem whose rows come from here.
            model: Its model, at other values.
        """
        last = self._moved.get('last')
        if last is None or last[0] is not problem or last[1].model.terms != model.terms:
            last = self._moved['last'] = problem, self._at(problem, model)
        return last[1]

    def _at(self, problem: _Rows, model: TorqueModel) -> _Rows:
        """The columns of terms that moved are computed again; a drive gain scales rows."""
        regressor = problem.regressor * (problem.model.gains / model.gains)[:, None]
        stop = len(model.parameters)
        for old, term in zip(reversed(problem.model.terms), reversed(model.terms), strict=True):
            start = stop - len(term.parameters(model.robot))
            if term is not old and isinstance(term, (ShapedFriction, LoadFriction)):
                regressor[:, :, start:stop] = self._columns(term, model)
            stop = start
        # Which columns depend on each other does not depend on where the terms stand.
        return problem.replaced('base', model=model, regressor=regressor)

    def jacobian(self, model: TorqueModel, values: np.ndarray) -> np.ndarray:
        """Rows of the derivatives of the torque by all parameters, shape ``(T', n, p)``."""
        data = self.dataset
        count = len(self.parallel_filter.retained_samples(data.rate, data.segments)[0])
        store = MemoryStore((count, data.q.shape[1], len(values)))
        rows = RowBuilder(model.linearised(values), self.parallel_filter, 0.0, store)
        rows.add(data)
        return rows.finish()[0]

    def shape_slopes(self, problem: SourcedRows, values: np.ndarray) -> np.ndarray:
        """Rows of the derivatives of the torque by the s shapes alone, ``(T', n, s)``.

        Args:
            problem: A problem whose rows come from here, at these values.
            values: Parameter values, shape ``(p,)``.
        """
        model, parameters = problem.model, problem.parameters.with_values(values)
        slopes = np.zeros((*problem.torque.shape, len(model.shapes)))
        for term in model.terms:
            for name, slope in self._slopes(term, model, parameters):
                slopes[:, :, model.shapes.index(name)] += slope / model.gains
        # By gains the derivatives are the torque's own rows, which need no filter again.
        torque = problem.regressor @ values
        for joint, name in enumerate(problem.model.robot.joint_names):
            if f'{name}.drive_gain' in problem.model.shapes:
                column = problem.model.shapes.index(f'{name}.drive_gain')
                slopes[:, joint, column] = -torque[:, joint] / problem.model.gains[joint]
        return slopes

    def _slopes(
        self, term: JointTerm, model: TorqueModel, parameters: ParameterSet
    ) -> Iterator[tuple[str, np.ndarray]]:
        """Shapes of a term, each with rows of the derivative of its torque, ``(T', n)``."""
        slopes: list[SlopeCurve] = []
        if isinstance(term, ShapedFriction):
            slopes = term.slope_curves(model.robot, self.dataset.v)
        elif isinstance(term, LoadFriction):
            load = self._load(model.robot, term.inertials(model.robot))
            slopes = term.slope_curves(model.robot, load, self.dataset.v)
        if slopes:
            rows = self.rows(np.stack([slope for _, _, slope, _ in slopes], axis=1))
            for (shape, amplitude, _, w), row in zip(slopes, rows.T, strict=True):
                yield shape, parameters[amplitude] * row[:, None] * w

    def _columns(self, term: ShapedFriction | LoadFriction, model: TorqueModel) -> np.ndarray:
        """Rows of a term's columns, one filtered signal per axis, whatever its joints."""
        robot = model.robot
        if isinstance(term, ShapedFriction):
            curves = term.curves(robot, self.dataset.v)
        else:
            curves = term.curves(robot, self._load(robot, term.inertials(robot)), self.dataset.v)
        rows = self.rows(curves)
        weights = np.array([w for _, w in term.directions(robot)])
        columns = np.zeros((
            len(rows), len(robot.joint_names), len(weights) + len(term.shapes(robot))
        ))
        columns[:, :, :len(weights)] = rows[:, None] * weights.T
        return columns / model.gains[:, None]

    def _load(self, robot: RobotModel, inertials: np.ndarray) -> np.ndarray:
        """Rigid-body torque of all samples; the last one is kept, as shapes change far more."""
        last = self._loads.get('last')
        if last is None or not np.array_equal(last[0], inertials):
            last = inertials, recursive_newton_euler(robot, inertials, *self.motion)
            self._loads['last'] = last
        return last[1]
