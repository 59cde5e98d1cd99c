"""What the compiled iteration works on: the problem, the iterate and a step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: Steps of one body, and numbers in a symmetric 4×4 matrix.
BODY = 10
#: Which of these numbers are on its diagonal.
DIAGONAL = (0, 2, 5, 9)
#: Errors and changes of the objective below this part of the misfit are rounding.
MISFIT_TOLERANCE = 1e-10
#: Places in :attr:`Point.effort`.
ORTHOGONAL, REFINEMENTS = 0, 1


class Program(NamedTuple):
    """A problem, sorted into groups: the steps of one body, or one step by itself.

    Attributes:
        rows: Transposed rows of the data, then of the inequalities that couple groups,
            shape ``(f, k + l)``.
        spread: Inverse squared weights of the k rows of data, shape ``(k,)``.
        goal: Target over weight, shape ``(k,)``.
        quadratic: Shape ``(f,)``.
        linear: Shape ``(f,)``.
        groups: First step of each group and, last, f; shape ``(g + 1,)``.
        body: Which body a group is, or -1, shape ``(g,)``.
        constant: Matrices at zero, shape ``(c, 4, 4)``.
        slopes: Their derivatives, shape ``(c, f, 4, 4)``, zero outside of their group.
        matrix: Inequalities ``matrix @ z <= bound``, shape ``(m, f)``.
        span: First step of each inequality and the one after its last, shape ``(m, 2)``.
        bound: Shape ``(m,)``.
        owner: Group that an inequality belongs to, or -1 when it couples several, ``(m,)``.
        unbounded: 1 for steps that no constraint bends, else 0, shape ``(f,)``.
    """

    rows: np.ndarray
    spread: np.ndarray
    goal: np.ndarray
    quadratic: np.ndarray
    linear: np.ndarray
    groups: np.ndarray
    body: np.ndarray
    constant: np.ndarray
    slopes: np.ndarray
    matrix: np.ndarray
    span: np.ndarray
    bound: np.ndarray
    owner: np.ndarray
    unbounded: np.ndarray


class Point(NamedTuple):
    """An iterate, and the problem made linear and scaled there.

    Matrices and their multipliers are kept by their scalings alone.

    Attributes:
        z: Shape ``(f,)``.
        best: The z whose objective was nearest to its minimum so far, shape ``(f,)``.
        y: Multipliers of the inequalities, shape ``(m,)``.
        slack: Shape ``(m,)``.
        residual: Residual over weight, shape ``(k,)``.
        inverse: Scalings, shape ``(c, 4, 4)``.
        values: Matrices and multipliers alike, scaled, shape ``(c, 4)``.
        scaled: Scaled slopes by step, flattened, shape ``(f, 10)``.
        triangles: Factors of the groups' curvatures, shape ``(g, 10, 10)``.
        whitened: Rows over the curvatures' factors, then zeros, shape ``(k + l, at least f)``.
        schur: Factor of the Schur complement, shape ``(k + l, k + l)``.
        spread: Inverse squared weights of data and coupling inequalities, ``(k + l,)``.
        effort: Whether the Schur complement is factored by orthogonalisation, 0 or 1, and how
            often its solutions are refined, shape ``(2,)``.
    """

    z: np.ndarray
    best: np.ndarray
    y: np.ndarray
    slack: np.ndarray
    residual: np.ndarray
    inverse: np.ndarray
    values: np.ndarray
    scaled: np.ndarray
    triangles: np.ndarray
    whitened: np.ndarray
    schur: np.ndarray
    spread: np.ndarray
    effort: np.ndarray


class Step(NamedTuple):
    """A step, its matrices scaled and flattened.

    Attributes:
        z: Shape ``(f,)``.
        y: Shape ``(m,)``.
        slack: Shape ``(m,)``.
        primal: Shape ``(c, 10)``.
        dual: Shape ``(c, 10)``.
        second_order: Second-order correction of the inequalities, shape ``(m,)``.
        twisted: The same of the matrices, shape ``(c, 10)``.
        residual: Residual over weight after the step, shape ``(k,)``.
        squares: Workspace: 4×4 matrices, shape ``(7, 4, 4)``.
        block: Workspace: columns of a group's curvature, shape ``(10, at least 20 + m)``.
        rows: Workspace: rows of a group, shape ``(10, k + l)``.
        right: Workspace: right side of the eliminated system, as wide as ``whitened``.
        forces: Workspace: of the rows, shape ``(3, k + l)``.
        stack: Workspace: columns of the Schur complement's root, ``(k + l, k + l + width)``.
    """

    z: np.ndarray
    y: np.ndarray
    slack: np.ndarray
    primal: np.ndarray
    dual: np.ndarray
    second_order: np.ndarray
    twisted: np.ndarray
    residual: np.ndarray
    squares: np.ndarray
    block: np.ndarray
    rows: np.ndarray
    right: np.ndarray
    forces: np.ndarray
    stack: np.ndarray
