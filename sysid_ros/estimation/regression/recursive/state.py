"""What the compiled recursion works on: the divergence to the prior, and what is kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_ros.numerics.tiled_ldl import TiledLdl, aligned, tiled_ldl_workspace

#: Entries of the counts of a state.
SAMPLES, SKIPPED, FAILED, ITERATIONS = range(4)
#: Entries of the outcome of a state.
DECREMENT, LENGTH, STRENGTH, DAMPING = range(4)


class Prior(NamedTuple):
    r"""The divergence :math:`R` of f free parameters in c bodies from their reference.

    Attributes:
        reference: Where R is least, strictly inside, shape ``(f,)``.
        slope: Gradient of all barriers there, shape ``(f,)``.
        quadratic_weight: Weights of half the squared distance to the reference, shape ``(f,)``.
        place: Where the parameters of a body are among the free ones, -1 if not, ``(c, 10)``.
        held: Values of those that are not free, less the floor, shape ``(c, 10)``.
        floor: Bodies that have to be left when taken off, shape ``(c, 10)``.
        matrix: Inequalities ``matrix @ theta <= bound``, shape ``(m, f)``.
        bound: Shape ``(m,)``.
        span: First parameter of each inequality and the one after its last, shape ``(m, 2)``.
        eliminated: How many first parameters are eliminated, since R is quadratic in them.
    """

    reference: np.ndarray
    slope: np.ndarray
    quadratic_weight: np.ndarray
    place: np.ndarray
    held: np.ndarray
    floor: np.ndarray
    matrix: np.ndarray
    bound: np.ndarray
    span: np.ndarray
    eliminated: int = 0


class State(NamedTuple):
    """All that is kept from sample to sample.

    Attributes:
        theta: The estimate, shape ``(f,)``.
        information: Upper triangle of the information, and the vector b last, ``(f + 1, f)``.
        rounding: What the sums in it lost, same shape.
        recent: What the last samples add to it, same shape.
        tally: Usable samples, squared torques and squared innovations per joint, ``(3, n)``.
        counts: Samples, those skipped, failed steps and Newton iterations, shape ``(4,)``.
        outcome: Squared decrement and length of the last Newton step, alpha, and the weight of
            the curvature in the next step, shape ``(4,)``.
    """

    theta: np.ndarray
    information: np.ndarray
    rounding: np.ndarray
    recent: np.ndarray
    tally: np.ndarray
    counts: np.ndarray
    outcome: np.ndarray


class Workspace(NamedTuple):
    """Workspace for one step, so that nothing is allocated: f free parameters, n joints.

    There is room for a multiple of four joints, N; the spare ones have no weight.

    Attributes:
        system: The Hessian, then its factor, with the right-hand side behind.
        rest: The information without what is eliminated, as long as that stays, ``(F, w)``.
        right: The right-hand side, shape ``(f,)``.
        slope: Gradient of the data's part of the objective, shape ``(f,)``.
        step: Newton step, shape ``(f,)``.
        trial: Estimate on trial, shape ``(f,)``.
        rows: Free columns of a sample, shape ``(N, f)``.
        information_rows: What of them was known before, shape ``(n, f)``.
        joints: Target, weight and innovation, shape ``(3, N)``.
        gradient: Of a body's barrier, shape ``(10,)``.
        hessian: Of a body's barrier, shape ``(10, 10)``.
    """

    system: TiledLdl
    rest: np.ndarray
    right: np.ndarray
    slope: np.ndarray
    step: np.ndarray
    trial: np.ndarray
    rows: np.ndarray
    information_rows: np.ndarray
    joints: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray


class Options(NamedTuple):
    """How a step is done.

    Attributes:
        strength: Weight alpha of the divergence.
        memory: Part of all that was known that a sample leaves, above 0 and at most 1.
        iterations: Newton iterations at most.
        tolerance: Squared decrement, in units of alpha, that ends them.
    """

    strength: float
    memory: float
    iterations: int
    tolerance: float


def state_for(theta: np.ndarray, joints: int) -> State:
    """A state that has seen no sample, at an estimate of shape ``(f,)``."""
    information, rounding, recent = (
        np.zeros((len(theta) + 1, len(theta))) for _ in range(3))
    return State(theta.copy(), information, rounding, recent, np.zeros((3, joints)),
                 np.zeros(4, dtype=np.int64), np.zeros(4))


def workspace_for(parameters: int, joints: int) -> Workspace:
    """Workspace for steps with so many free parameters and joints."""
    f, n, padded = parameters, joints, -(-joints // 4) * 4
    system = tiled_ldl_workspace(f)
    return Workspace(system, aligned(*system.matrix.shape), *(np.zeros(shape) for shape in (
        f, f, f, f, (padded, f), (n, f), (3, padded), 10, (10, 10))))
