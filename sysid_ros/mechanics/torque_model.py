r"""The torque model :math:`\tau = \Gamma(q, v, a)\,\theta` of a robot with joint terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sysid_ros.errors import ModelError
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.closures.closed_gradient import closed_gradient
from sysid_ros.mechanics.joint_terms.drive_gain import DriveGain
from sysid_ros.mechanics.joint_terms.law import LawColumns
from sysid_ros.mechanics.joint_terms.shaped import NonlinearTerm
from sysid_ros.mechanics.joint_terms.term import JointTerm, LawTerm
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.mechanics.regressor.regressor_adjoint import regressor_gradient
from sysid_ros.mechanics.tree.inverse_dynamics import recursive_newton_euler
from sysid_ros.numerics.arrays import read_only
from sysid_ros.robot.cached import CachesValues
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet, inertial_parameter_list


@dataclass(frozen=True, eq=False)
class TorqueModel(CachesValues):
    """Rigid-body dynamics and joint terms of a robot.

    Where loops are closed, terms act on all joints of the tree, driven and passive, and the
    torque is what the driven joints feel of them and of the bodies.

    It is linear in all parameters but the shapes of nonlinear terms, for which
    the model stands at some values: initial ones, or those it was moved to with :meth:`at`.

    Args:
        robot: The robot.
        terms: Joint terms, in the order of their columns after the inertial ones.

    Raises:
        ModelError: A term names a joint that the robot does not have.
            Or its loops cannot be closed, or a term does not work in closed loops.
        ParameterError: Two terms have a parameter in common.
    """

    robot: RobotModel
    terms: Sequence[JointTerm] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, 'terms', tuple(self.terms))
        # Terms that do not fit the robot are refused here, not when a fit begins.
        _ = self.parameters
        if self.robot.loops is not None:
            closed_chain(self.robot)
            require_linear_terms(self.terms)

    @property
    def parameters(self) -> ParameterSet:
        """All p parameters at the prior: bodies first, then the terms.

        The prior of a body that no mass distribution could have is its consistent
        neighbour (``robot.replaced_priors`` lists them).
        """
        return self.cached(_parameters)

    @cached_property
    def _term_sizes(self) -> tuple[int, ...]:
        return tuple(len(term.parameters(self.robot.opened)) for term in self.terms)

    @property
    def is_linear(self) -> bool:
        """Whether the regressor does not depend on any parameter."""
        return not any(isinstance(term, NonlinearTerm) for term in self.terms)

    @cached_property
    def shapes(self) -> tuple[str, ...]:
        """Names of the parameters the torque is not linear in, drive gains among them."""
        return tuple(
            name for term in self.terms if isinstance(term, NonlinearTerm)
            for name in term.shapes(self.robot)
        )

    @cached_property
    def gains(self) -> np.ndarray:
        """Drive gains the model stands at, shape ``(n,)``."""
        gains = np.ones(len(self.robot.joint_names))
        for term in self.terms:
            if isinstance(term, DriveGain):
                gains = gains * term.gains(self.robot)
        return read_only(gains)

    def at(self, values: np.ndarray) -> TorqueModel:
        """The model with its nonlinear terms at parameter values, shape ``(p,)``."""
        if self.is_linear:
            return self
        parameters = self.parameters.with_values(values)
        terms = tuple(
            term.at(self.robot, parameters) if isinstance(term, NonlinearTerm) else term
            for term in self.terms
        )
        if all(new is old for new, old in zip(terms, self.terms, strict=True)):
            return self
        moved = replace(self, terms=terms)
        # Names, priors and bounds do not depend on where a model stands.
        moved.share(_parameters, self)
        return moved

    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        r"""The regressor :math:`\Gamma`, with zero columns for shapes.

        Args:
            q: Joint positions in [rad] or [m], shape ``(T, n)``.
            v: Joint velocities, shape ``(T, n)``.
            a: Joint accelerations, shape ``(T, n)``.

        Returns:
            Shape ``(T, n, p)``.

        Raises:
            ParameterError: The arrays do not fit the robot.
        """
        if self.robot.loops is None:
            regressor = self._tree_regressor(q, v, a)
        else:
            motion = closed_chain(self.robot).motion(q, v, a)
            regressor = motion.driven_rows(self._tree_regressor)
        gains = self.gains
        return regressor if (gains == 1.0).all() else regressor / gains[:, None]

    def term_regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Columns of the joint terms alone, before drive gains, shape ``(T, n, k)``.

        Args:
            q: Joint positions in [rad] or [m], shape ``(T, n)``.
            v: Joint velocities, shape ``(T, n)``.
            a: Joint accelerations, shape ``(T, n)``.
        """
        if self.robot.loops is None:
            return self._tree_terms(q, v, a)
        return closed_chain(self.robot).motion(q, v, a).driven_rows(self._tree_terms)

    def _tree_terms(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        columns = np.zeros((*q.shape, sum(self._term_sizes)))
        self._fill_terms(q, v, a, columns)
        return columns

    @cached_property
    def _law_columns(self) -> tuple[list[LawColumns] | None, ...]:
        """Columns by laws of each term; None of a term whose columns these do not say."""
        return tuple(
            term.law_columns(self.robot.opened)
            if isinstance(term, LawTerm) and term.says_all() else None
            for term in self.terms)

    def _fill_terms(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, columns: np.ndarray
    ) -> None:
        """Write the columns of all joint terms into zeros of shape ``(T, n, k)``."""
        first = 0
        for term, count, parts in zip(
                self.terms, self._term_sizes, self._law_columns, strict=True):
            own = columns[:, :, first:first + count]
            if parts is None:
                own[:] = term.columns(self.robot.opened, q, v, a)
            for part in parts or ():
                part.fill((q, v, a), own)
            first += count

    def _tree_regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """The regressor of the tree, before drive gains, shape ``(T, m, p)``."""
        robot = self.robot.opened
        regressor = inertial_regressor(robot, q, v, a, extra_columns=sum(self._term_sizes))
        self._fill_terms(q, v, a, regressor[:, :, 10 * len(robot.body_names):])
        return regressor

    def regressor_gradient(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Gradient of :math:`\sum_{tjp} W_{tjp} \Gamma_{tjp}` with respect to the motion.

        Args:
            q: Joint positions in [rad] or [m], shape ``(T, n)``.
            v: Joint velocities, shape ``(T, n)``.
            a: Joint accelerations, shape ``(T, n)``.
            weights: The weights W, shape ``(T, n, p)``.

        Returns:
            Derivatives with respect to q, v and a, shape ``(T, n)`` each.

        Raises:
            ParameterError: The arrays do not belong together.
        """
        weights = weights / self.gains[:, None]
        if self.robot.loops is not None:
            return closed_gradient(
                closed_chain(self.robot), (q, v, a), weights, self._tree_regressor,
                self._tree_gradient)
        return self._tree_gradient(q, v, a, weights)

    def _tree_gradient(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        robot, first = self.robot.opened, 10 * len(self.robot.body_names)
        gradient = np.array(regressor_gradient(robot, q, v, a, weights[:, :, :first]))
        for term, count in zip(self.terms, self._term_sizes, strict=True):
            last = first + count
            gradient += term.gradient(robot, q, v, a, weights[:, :, first:last])
            first = last
        return gradient[0], gradient[1], gradient[2]

    def torque(
        self, values: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Joint torques in [N·m] or [N], shape ``(T, n)``, with parameter values ``(p,)``."""
        return self.at(values).linear_torque(values, q, v, a)

    def linear_torque(
        self, values: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        r"""Joint torques :math:`\Gamma\theta` with the shapes at which the model stands.

        The bodies' part comes from the recursive Newton-Euler algorithm, which is several times
        as fast as their regressor.

        Args:
            values: Parameter values, shape ``(p,)``; those of shapes do not count.
            q: Joint positions in [rad] or [m], shape ``(T, n)``.
            v: Joint velocities, shape ``(T, n)``.
            a: Joint accelerations, shape ``(T, n)``.

        Returns:
            In [N·m] or [N], shape ``(T, n)``.

        Raises:
            ParameterError: The arrays do not fit the robot.
        """
        robot = self.robot.opened
        first = 10 * len(robot.body_names)

        def tree_torque(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
            bodies = recursive_newton_euler(robot, values[:first], q, v, a)
            return bodies + self._tree_terms(q, v, a) @ values[first:]

        if self.robot.loops is None:
            return tree_torque(q, v, a) / self.gains
        motion = closed_chain(self.robot).motion(q, v, a)
        torque: np.ndarray = motion.driven_rows(lambda *rows: tree_torque(*rows)[..., None])
        return torque[..., 0] / self.gains

    def jacobian(
        self, values: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Derivatives of :meth:`torque` by all parameters, shape ``(T, n, p)``.

        Args:
            values: Parameter values, shape ``(p,)``.
            q: Joint positions in [rad] or [m], shape ``(T, n)``.
            v: Joint velocities, shape ``(T, n)``.
            a: Joint accelerations, shape ``(T, n)``.
        """
        model = self.at(values)
        jacobian = model.regressor(q, v, a)
        torque = jacobian @ values
        columns = [self.parameters.index(name) for name in self.shapes]
        jacobian[:, :, columns] += model.shape_slopes(values, torque, q, v, a)
        parameters = self.parameters.with_values(values)
        for term in model.terms:
            if isinstance(term, NonlinearTerm):
                slopes = term.inertial_slopes(self.robot, parameters, q, v, a)
                if slopes is not None:
                    jacobian[:, :, :slopes.shape[2]] += slopes / model.gains[:, None]
        return jacobian

    def shape_slopes(
        self, values: np.ndarray, torque: np.ndarray, q: np.ndarray, v: np.ndarray,
        a: np.ndarray,
    ) -> np.ndarray:
        """Derivatives of the torque by the s shapes, shape ``(T, n, s)``.

        Args:
            values: Parameter values at which the model stands, shape ``(p,)``.
            torque: The torque there, shape ``(T, n)``.
            q: Joint positions in [rad] or [m], shape ``(T, n)``.
            v: Joint velocities, shape ``(T, n)``.
            a: Joint accelerations, shape ``(T, n)``.
        """
        slopes = np.zeros((*v.shape, len(self.shapes)))
        parameters = self.parameters.with_values(values)
        for term in self.terms:
            if isinstance(term, NonlinearTerm):
                for name, slope in term.shape_slopes(self.robot, parameters, q, v, a).items():
                    slopes[:, :, self.shapes.index(name)] += slope / self.gains
        for joint, name in enumerate(self.robot.joint_names):
            if f'{name}.drive_gain' in self.shapes:
                slopes[:, joint, self.shapes.index(f'{name}.drive_gain')] -= (
                    torque[:, joint] / self.gains[joint]
                )
        return slopes

    def linearised(self, values: np.ndarray) -> LinearisedTorqueModel:
        """The model whose regressor is the Jacobian at parameter values, shape ``(p,)``."""
        return LinearisedTorqueModel(self.robot, self.terms, np.array(values, dtype=float))


def _parameters(model: TorqueModel) -> ParameterSet:
    """See :attr:`TorqueModel.parameters`."""
    robot = model.robot
    parameters = [
        parameter
        for body, prior in zip(robot.body_names, robot.reference_inertials, strict=True)
        for parameter in inertial_parameter_list(body, prior)
    ]
    for term in model.terms:
        parameters += term.parameters(robot.opened)
    return ParameterSet.of(parameters)


def require_linear_terms(terms: Sequence[JointTerm]) -> None:
    """Refuse terms with shapes to identify, which closed loops would mix.

    Raises:
        ModelError: The first such term.
    """
    for term in terms:
        if isinstance(term, NonlinearTerm) and not isinstance(term, DriveGain):
            raise ModelError(
                'the term cannot be used in closed loops', found=type(term).__name__,
                allowed='terms that are linear in their parameters, and drive gains',
                fix='Give coulomb_smoothing a number, and leave out Stribeck, power and load '
                'friction',
            )


@dataclass(frozen=True, eq=False)
class LinearisedTorqueModel(TorqueModel):
    """First-order changes of the torque about parameter values.

    Args:
        values: Where it is linearised, shape ``(p,)``.
    """

    values: np.ndarray | None = None

    @property
    def is_linear(self) -> bool:
        """True: that is what it is for."""
        return True

    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Derivatives of the torque by all parameters, shape ``(T, n, p)``."""
        values = self.parameters.values if self.values is None else self.values
        return TorqueModel(self.robot, self.terms).jacobian(values, q, v, a)

    def regressor_gradient(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Motions are designed for the model itself, at values where it stands.

        Raises:
            TypeError: Always.
        """
        raise TypeError('a linearised model has no gradient by the motion')
