"""Mechanism, parameter values and workspace of compiled multibody steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_ros.estimation.trajectory.discrete.rows import Rows
from sysid_ros.mechanics.joint_terms.dispatch import LawArrays

#: Parameters of a drive, in this order.
DRIVE_FIELDS = (
    'viscous_friction', 'coulomb_friction', 'stribeck_friction', 'stribeck_velocity',
    'bearing_friction', 'stribeck_bearing_friction', 'armature', 'drive_gain', 'torque_offset',
    'stribeck_exponent')
(VISCOUS, COULOMB, STRIBECK, STRIBECK_VELOCITY, BEARING, STRIBECK_BEARING, ARMATURE, GAIN,
 OFFSET, STRIBECK_EXPONENT) = range(len(DRIVE_FIELDS))


class DriveLaws(NamedTuple):
    """Laws of drives beside what is in :data:`DRIVE_FIELDS`, e of them.

    Attributes:
        drive: The drive of each, shape ``(e,)``.
        laws: The laws; those that are not constant look at the drive's speed.
    """

    drive: np.ndarray
    laws: LawArrays


class MechanismArrays(NamedTuple):
    """A mechanism as arrays: b bodies, m rows of constraints, f drives.

    Attributes:
        rows: Constraints of positions and, behind them, the directions in which joints move, or
            contacts slide: the drives.
        compliance: Of each, above zero, in [m/N] or [rad/(N·m)], shape ``(m,)``.
        damping: Damping times in [s], shape ``(m,)``.
        one_sided: Whether a row is a contact, that only pushes, shape ``(m,)``.
        arms: What a unit of a row's impulse presses on the friction of its joint, ``(m,)``.
        dry: Which drives have dry friction, shape ``(f,)``.
        loaded: Half-open range of rows that press on each, shape ``(f, 2)``.
        averaged: Whether gyroscopic forces and viscous friction are a mean of both ends of a step,
            or those before and of the next, as published.
        drive_laws: Further laws of the drives.
    """

    rows: Rows
    compliance: np.ndarray
    damping: np.ndarray
    one_sided: np.ndarray
    arms: np.ndarray
    dry: np.ndarray
    loaded: np.ndarray
    averaged: bool
    drive_laws: DriveLaws


class BodyParameters(NamedTuple):
    """Parameter values.

    Attributes:
        bodies: Mass, first moments and second moments xx, xy, yy, xz, yz, zz of each body at its
            origin in its axes in [kg, kg·m, kg·m²], shape ``(b, 10)``.
        drives: As :data:`DRIVE_FIELDS`, in the units that parameters of such joints have, shape
            ``(f, 10)``.
        amplitudes: Of the further laws of drives, shape ``(e,)``.
        gravity: Its acceleration, tilt included, in [m/s²], shape ``(3,)``.
        gravity_slope: The derivative by the tilt, shape ``(3, 3)``.
    """

    bodies: np.ndarray
    drives: np.ndarray
    amplitudes: np.ndarray
    gravity: np.ndarray
    gravity_slope: np.ndarray


class Workspace(NamedTuple):
    r"""Workspace for one step; n = 6 b coordinates.

    Attributes:
        positions: Of the bodies in [m], shape ``(b, 3)``.
        rotations: From their frames to the world's, shape ``(b, 3, 3)``.
        inertia: Bodies' first moments and second moments in the world's axes, ``(b, 4, 3)``.
        mass: LU factors of :math:`\tilde M`, shape ``(n, n)``.
        momentum: :math:`\tilde M_0 v + h f`, shape ``(n,)``.
        gap: Values of the rows, shape ``(m,)``.
        direction: Of rows and, behind them, drives, for their two bodies, ``(m + f, 12)``.
        whole: The same for all bodies, shape ``(m + f, n)``.
        slope: Their derivatives, shape ``(m + f, 12, 12)``.
        stable: What rows keep of their speeds, :math:`\Upsilon`, how they give, :math:`\Sigma`, and
            the speed at which they close a gap, :math:`4 \Upsilon / h`; drives, that only give,
            are behind; shape ``(3, m + f)``.
        right: Right sides of rows, and zeros for drives that stick, shape ``(m + f,)``.
        bound: Friction without load, and the part of the load, Stribeck's part included, and
            the derivatives of both by the speed, shape ``(f, 4)``.
        speed: Of drives before the step, shape ``(f,)``.
        pushing: Whether a contact pushes, shape ``(m,)``.
        sign: Which way the impulse of a row points, shape ``(m,)``.
        slip: Which way a drive slips, 0 where it sticks, shape ``(f,)``.
        active: Rows, and drives that stick, in the linear problem, shape ``(m + f,)``.
        by_lower: :math:`L^{-1} G^\top`, by rows, drives behind, shape ``(m + f, n)``.
        by_upper: :math:`G U^{-1}`, by rows, drives behind, shape ``(m + f, n)``.
        schur: LU factors of what is left of the problem, shape ``(m + f, m + f)``.
        pivot: Their pivots, shape ``(m + f,)``.
        impulse: Of rows and drives, shape ``(m + f,)``.
        velocity: The next velocity u, shape ``(n,)``.
        left: Workspace for solutions, shape ``(n + m + f + 12,)``.
    """

    positions: np.ndarray
    rotations: np.ndarray
    inertia: np.ndarray
    mass: np.ndarray
    momentum: np.ndarray
    gap: np.ndarray
    direction: np.ndarray
    whole: np.ndarray
    slope: np.ndarray
    stable: np.ndarray
    right: np.ndarray
    bound: np.ndarray
    speed: np.ndarray
    pushing: np.ndarray
    sign: np.ndarray
    slip: np.ndarray
    active: np.ndarray
    by_lower: np.ndarray
    by_upper: np.ndarray
    schur: np.ndarray
    pivot: np.ndarray
    impulse: np.ndarray
    velocity: np.ndarray
    left: np.ndarray


class FreeParameterMap(NamedTuple):
    """Linear map from the k free parameters to those of a mechanism.

    Attributes:
        source: Places among mass and moments of all bodies, then those of drives, then
            amplitudes of their further laws, then the tilt, in ascending order, shape ``(z,)``.
        column: Parameters that they depend on, shape ``(z,)``.
        factor: By how much, shape ``(z,)``.
    """

    source: np.ndarray
    column: np.ndarray
    factor: np.ndarray


def workspace_for(bodies: int, rows: int, drives: int) -> Workspace:
    """Workspace for steps of a machine, its modes at rest: contacts push, nothing slips."""
    n, every = 6 * bodies, rows + drives
    return Workspace(
        positions=np.zeros((bodies, 3)), rotations=np.zeros((bodies, 3, 3)),
        inertia=np.zeros((bodies, 4, 3)), mass=np.zeros((n, n)), momentum=np.zeros(n),
        gap=np.zeros(rows),
        direction=np.zeros((every, 12)), whole=np.zeros((every, n)),
        slope=np.zeros((every, 12, 12)), stable=np.zeros((3, every)), right=np.zeros(every),
        bound=np.zeros((drives, 4)), speed=np.zeros(drives),
        pushing=np.ones(rows, dtype=bool), sign=np.ones(rows), slip=np.zeros(drives),
        active=np.zeros(every, dtype=np.int64), by_lower=np.zeros((every, n)),
        by_upper=np.zeros((every, n)),
        schur=np.zeros((every, every)), pivot=np.zeros(every, dtype=np.int64),
        impulse=np.zeros(every), velocity=np.zeros(n), left=np.zeros(n + every + 12))
