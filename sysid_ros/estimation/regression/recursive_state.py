"""What the compiled recursion works on: the divergence to the prior, and what is kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: Entries of the counts of a state.
SAMPLES, SKIPPED, FAILED, ITERATIONS = range(4)
#: Entries of the outcome of a state.
DECREMENT, LENGTH, STRENGTH, DAMPING = range(4)
#: Row and column of the pseudo-inertia, or of the inertia, that the ten parameters stand for.
ENTRIES = (
    (3, 3), (0, 3), (1, 3), (2, 3), (0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2),
)


class Prior(NamedTuple):
    r"""The divergence :math:`R` of f free parameters in c bodies from their reference.

    Attributes:
        reference: Where R is least, strictly inside, shape ``(f,)``.
        slope: Gradient of all barriers there, shape ``(f,)``.
        stretch: Weights of half the squared distance to the reference, shape ``(f,)``.
        place: Where the parameters of a body are among the free ones, -1 if not, ``(c, 10)``.
        held: Values of those that are not free, less the floor, shape ``(c, 10)``.
        floor: Bodies that have to be left when taken off, shape ``(c, 10)``.
        matrix: Inequalities ``matrix @ theta <= bound``, shape ``(m, f)``.
        bound: Shape ``(m,)``.
        span: First parameter of each inequality and the one after its last, shape ``(m, 2)``.
    """

    reference: np.ndarray
    slope: np.ndarray
    stretch: np.ndarray
    place: np.ndarray
    held: np.ndarray
    floor: np.ndarray
    matrix: np.ndarray
    bound: np.ndarray
    span: np.ndarray


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


class Room(NamedTuple):
    """Room for one step, so that nothing is allocated: f free parameters, n joints.

    There is room for a multiple of four joints, N; the spare ones have no weight.

    Attributes:
        matrix: The Hessian, then its factor, the right-hand side behind, at least ``(f, f + 1)``.
        lean: Gradient of the data's part of the objective, shape ``(f,)``.
        step: Newton step, shape ``(f,)``.
        trial: Estimate on trial, shape ``(f,)``.
        rows: Free columns of a sample, shape ``(N, f)``.
        told: What of them was known before, shape ``(n, f)``.
        joints: Target, weight and innovation, shape ``(3, N)``.
        ten: A body, shape ``(10,)``.
        gradient: Of its barrier, shape ``(10,)``.
        hessian: Of its barrier, shape ``(10, 10)``.
        four: Root and inverse of its pseudo-inertia and a product, shape ``(3, 4, 4)``.
    """

    matrix: np.ndarray
    lean: np.ndarray
    step: np.ndarray
    trial: np.ndarray
    rows: np.ndarray
    told: np.ndarray
    joints: np.ndarray
    ten: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    four: np.ndarray


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


def room_for(parameters: int, joints: int) -> Room:
    """Room for steps with so many free parameters and joints."""
    f, n, padded = parameters, joints, -(-joints // 4) * 4
    width = -(-(f + 1) // 4) * 4
    return Room(*(np.zeros(shape) for shape in (
        (f, width), f, f, f, (padded, f), (n, f), (3, padded), 10, 10, (10, 10), (3, 4, 4))))
