r"""Accelerations of a torque model and their derivatives, for many samples at once.

With the torque :math:`\tau(q, v, a, \theta)` of the model, linear in a with the mass matrix M,
the acceleration under a torque u solves :math:`\tau(q, v, a, \theta) = u`, and by the implicit
function theorem :math:`\partial a / \partial x = -M^{-1}\, \partial\tau / \partial x` for
positions, velocities and parameters, :math:`\partial a / \partial u = M^{-1}`. All of it comes
from the regressor and its gradient, so that whatever a
:class:`~sysid_ros.mechanics.torque_model.TorqueModel` expresses can be differentiated. Trees and
closed loops whose joint terms are linear in their parameters are compiled; see
:mod:`~sysid_ros.mechanics.tree.driven_kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_ros.errors import ModelError, ParameterError, UnreachableError
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.closures.closure_arrays import closures_of_joints
from sysid_ros.mechanics.joint_terms.coupled_axis import CoupledAxis
from sysid_ros.mechanics.joint_terms.load_friction import LoadFriction
from sysid_ros.mechanics.joint_terms.term import JointTerm, LawTerm
from sysid_ros.mechanics.regressor.sample_regressor import ShapedModel, shaped_model
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.mechanics.tree.driven_kernels import (
    STUCK,
    WEIGHTLESS,
    DrivenSystem,
    accelerate_driven,
    driven_workspace,
)
from sysid_ros.mechanics.tree.tree_arrays import tree_values

# Samples worked on at a time, so that arrays of every parameter stay small.
_BLOCK = 2048


class Acceleration(NamedTuple):
    """Accelerations at S samples, and their derivatives.

    Attributes:
        value: In [rad/s²] or [m/s²], shape ``(S, n)``.
        by_position: Shape ``(S, n, n)``.
        by_velocity: Shape ``(S, n, n)``.
        by_torque: Inverse mass matrices, shape ``(S, n, n)``.
        by_parameters: With respect to some parameters, shape ``(S, n, k)``.
    """

    value: np.ndarray
    by_position: np.ndarray
    by_velocity: np.ndarray
    by_torque: np.ndarray
    by_parameters: np.ndarray


def require_smooth(model: TorqueModel) -> None:
    """Refuse a model whose torque jumps with the velocity, or that accelerations cannot have.

    Args:
        model: The model.

    Raises:
        ModelError: Dry friction is not smoothed; or it grows with the load where a drive turns
            several joints, its smoothing is identified, or the model is not compiled.
    """
    for term in model.terms:
        if isinstance(term, LoadFriction):
            _require_compiled_load(model, term)
        if jumps(model, term):
            raise ModelError(
                'dry friction jumps where the velocity changes its sign, and has no derivative',
                where=model.robot.name, found=f'{type(term).__name__} with coulomb_smoothing 0',
                fix='Give coulomb_smoothing a number above zero, in rad/s or m/s: '
                'robot: {terms: {coulomb_smoothing: 0.02}}',
            )


def _require_compiled_load(model: TorqueModel, term: LoadFriction) -> None:
    """Refuse friction by load of robots whose accelerations under it are not compiled.

    Raises:
        ModelError: What the robot has that this friction cannot go with.
    """
    found, fix = '', 'Leave load_friction out'
    if any(isinstance(other, CoupledAxis) for other in model.terms):
        found = 'a drive that turns several joints'
    elif term.smoothing is None:
        found, fix = 'coulomb_smoothing: identified', (
            'Give coulomb_smoothing a number, in rad/s or m/s: robot: {terms: '
            '{coulomb_smoothing: 0.02}}, or leave load_friction out')
    elif model.cached(_driven_system) is None:
        found = 'a free base, a drive gain, or a joint term that is not by laws'
    if found:
        raise ModelError(
            'motion under friction that grows with the load cannot be computed for this robot',
            where=model.robot.name, found=found, fix=fix)


def jumps(model: TorqueModel, term: JointTerm) -> bool:
    """Whether the torque of a joint term jumps where the velocity changes its sign.

    Args:
        model: A torque model.
        term: One of its terms.
    """
    if isinstance(term, LoadFriction):
        return term.smoothing == 0.0
    parts = term.law_columns(model.robot.opened) if isinstance(term, LawTerm) else ()
    return any(part.law.jumps(part.shape) for part in parts)


def accelerations(
    model: TorqueModel, values: np.ndarray, q: np.ndarray, v: np.ndarray, torque: np.ndarray,
) -> np.ndarray:
    """Accelerations under torques.

    Args:
        model: Torque model without jumps; see :func:`require_smooth`.
        values: Parameter values, shape ``(p,)``.
        q: Joint positions in [rad] or [m], shape ``(S, n)``.
        v: Joint velocities, shape ``(S, n)``.
        torque: Joint torques in [N·m] or [N], shape ``(S, n)``.

    Returns:
        Shape ``(S, n)``.

    Raises:
        numpy.linalg.LinAlgError: A mass matrix is singular.
        ParameterError: The arrays do not have the robot's joints, or differ in shape.
        UnreachableError: Loops cannot be closed at a sample.
    """
    _require_shapes(model, values, q, v, torque)
    system = model.cached(_driven_system)
    if system is not None:
        return _compiled(model, system, values, (q, v, torque), None).value
    here, found = model.at(values), np.empty(q.shape)
    for start in range(0, len(q), _BLOCK):
        part = slice(start, start + _BLOCK)
        found[part] = _solved(here, values, q[part], v[part], torque[part])[0]
    return found


def linearised_accelerations(
    model: TorqueModel, values: np.ndarray, q: np.ndarray, v: np.ndarray, torque: np.ndarray,
    columns: np.ndarray,
) -> Acceleration:
    """Accelerations under torques, with their derivatives.

    Args:
        model: Torque model without jumps; see :func:`require_smooth`.
        values: Parameter values, shape ``(p,)``.
        q: Joint positions in [rad] or [m], shape ``(S, n)``.
        v: Joint velocities, shape ``(S, n)``.
        torque: Joint torques in [N·m] or [N], shape ``(S, n)``.
        columns: Indices of the k parameters to differentiate by, shape ``(k,)``.

    Raises:
        numpy.linalg.LinAlgError: A mass matrix is singular.
        ParameterError: The arrays do not have the robot's joints, or differ in shape.
        UnreachableError: Loops cannot be closed at a sample.
    """
    _require_shapes(model, values, q, v, torque)
    system = model.cached(_driven_system)
    if system is not None:
        return _compiled(model, system, values, (q, v, torque), columns)
    samples, joints = q.shape
    square = (samples, joints, joints)
    result = Acceleration(
        np.empty((samples, joints)), np.empty(square), np.empty(square), np.empty(square),
        np.empty((samples, joints, len(columns))))
    here = model.at(values)
    for start in range(0, samples, _BLOCK):
        part = slice(start, start + _BLOCK)
        motion = q[part], v[part]
        a, mass = _solved(here, values, *motion, torque[part])
        by_q, by_v, _ = _torque_derivatives(here, values, *motion, a)
        by_theta = model.jacobian(values, *motion, a)[:, :, columns]
        inverse = np.linalg.inv(mass)
        result.value[part], result.by_torque[part] = a, inverse
        for target, slope in zip(
            (result.by_position, result.by_velocity, result.by_parameters),
            (by_q, by_v, by_theta), strict=True,
        ):
            np.negative(inverse @ slope, out=target[part])
    return result


def _require_shapes(
    model: TorqueModel, values: np.ndarray, q: np.ndarray, v: np.ndarray, torque: np.ndarray
) -> None:
    """Refuse arrays that kernels, which check nothing, would read or write beyond."""
    if values.shape != (len(model.parameters),):
        raise ParameterError(
            'the values are not one number for each parameter', where=model.robot.name,
            found=values.shape, allowed=(len(model.parameters),))
    allowed = (len(q), len(model.robot.joint_names))
    for name, array in (('q', q), ('v', v), ('torque', torque)):
        if array.shape != allowed:
            raise ParameterError(
                'the motion is not one number for each sample and joint', where=name,
                found=array.shape, allowed=allowed)


def _solved(
    model: TorqueModel, values: np.ndarray, q: np.ndarray, v: np.ndarray, torque: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations and mass matrices."""
    samples, joints = q.shape
    blocks = joints + 1
    unit = np.vstack([np.zeros_like(q), np.repeat(np.eye(joints), samples, axis=0)])
    found = model.regressor(np.tile(q, (blocks, 1)), np.tile(v, (blocks, 1)), unit) @ values
    found = found.reshape(blocks, samples, joints)
    mass = np.moveaxis(found[1:] - found[0], 0, 2)
    return np.linalg.solve(mass, (torque - found[0])[..., None])[..., 0], mass


def _torque_derivatives(
    model: TorqueModel, values: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """Derivatives of the torque by q, v and a, shape ``(3, S, n, n)``, joints of torque first."""
    samples, joints = q.shape
    derivatives = np.empty((3, samples, joints, joints))
    for joint in range(joints):
        weights = np.zeros((samples, joints, len(values)))
        weights[:, joint] = values
        derivatives[:, :, joint] = model.regressor_gradient(q, v, a, weights)
    return derivatives


def _driven_system(model: TorqueModel) -> tuple[ShapedModel, DrivenSystem] | None:
    """The model as arrays; None where it has to be worked on by its regressor."""
    robot = model.robot
    shaped = shaped_model(TorqueModel(robot.opened, model.terms))
    if shaped is None:
        return None
    if robot.loops is None:
        joints = np.arange(len(robot.joint_names))
        return shaped, DrivenSystem(
            shaped.tree, closures_of_joints(robot, ()), joints, joints[:0])
    return shaped, DrivenSystem(
        shaped.tree, closures_of_joints(robot, robot.loops.closures),
        np.array(robot.loops.actuated), robot.loops.passive)


def _compiled(
    model: TorqueModel, arrays: tuple[ShapedModel, DrivenSystem], values: np.ndarray,
    motion: tuple[np.ndarray, np.ndarray, np.ndarray], columns: np.ndarray | None,
) -> Acceleration:
    """Accelerations, with derivatives where columns of parameters are given."""
    # Copies, so that kernels see arrays of one kind.
    q, v, torque = (np.array(x, dtype=float, order='C') for x in motion)
    robot, (samples, joints) = model.robot, q.shape
    wanted, free = (0, np.zeros(0, dtype=int)) if columns is None else (samples, columns)
    slots = np.full(len(values), -1)
    slots[free] = np.arange(len(free))
    square = (wanted, joints, joints)
    found = Acceleration(
        np.empty((samples, joints)), np.empty(square), np.empty(square), np.empty(square),
        np.empty((wanted, joints, len(free))))
    closed = q if robot.loops is None else closed_chain(robot).positions(q)
    tree, linear = arrays[0].at(values)
    system = arrays[1]._replace(tree=tree)
    known = tree_values(tree, linear, slots, bool(robot.opened.tree.is_coupled))
    done, ended = accelerate_driven(
        system, known, driven_workspace(system, len(free)), closed, v, torque, found.value,
        found.by_position, found.by_velocity, found.by_torque, found.by_parameters)
    if ended == STUCK:
        raise UnreachableError(
            'the loops are at a singular configuration, where they could go on in several ways',
            where=f'{robot.name}: sample {done}', found=np.round(q[done], 6).tolist(),
            fix='Keep the motion away from dead points')
    if ended == WEIGHTLESS:
        raise np.linalg.LinAlgError(f'the mass matrix of sample {done} is singular')
    return found
