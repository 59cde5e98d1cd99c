"""The window of a smoother and the factors of its graph as arrays, for what is compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: Kinds of factors that a mechanism defines.
POSITION, VELOCITY, ACCELERATION, DYNAMICS = range(4)
#: How a sample can end, beside the number of iterations it took.
NOT_CLOSED, SINGULAR, NOT_DETERMINED, WORSE = -1, -2, -3, -4


class Program(NamedTuple):
    """Factors of a graph as arrays: N steps, states of s numbers, h exact and m soft rows.

    Attributes:
        place: Where positions, velocities and accelerations lie in a state, -1 for none, (3,).
        exact_kinds: Kind and first row of exact factors of the mechanism, shape ``(e, 2)``.
        soft_kinds: Kind and first row of soft factors of the mechanism.
        dynamics: Where the accelerations of the dynamics lie, and torques, -1 if known, (2,).
        chosen: Coordinates that the dynamics are said for, shape ``(c,)``.
        exact: Linear exact rows, shape ``(h, s)``, zero for others.
        exact_target: Shape ``(N, h)``.
        exact_weight: Zero where they are not said, one elsewhere, shape ``(N, h)``.
        soft: Linear soft rows, shape ``(m, s)``.
        soft_target: Shape ``(N, m)``.
        soft_weight: Zero where they are not said, shape ``(N, m)``.
        torque: Known torques, shape ``(N, u)``.
        here: Rows between steps, by the first, shape ``(l, s)``.
        after: Rows between steps, by the second, shape ``(l, s)``.
        constant: What is added, shape ``(N - 1, l)``.
        pair_weight: Weights of these rows, shape ``(N - 1, l)``.
        ranks: Of the exact rows, shape ``(N,)``.
        lightness: As for ``manifold_kernels.tangents``, shape ``(s,)``.
        prediction: A state from the last two, shape ``(s, 2 s)``.
        judged: Numbers of a state whose steps say whether to go on.
    """

    place: np.ndarray
    exact_kinds: np.ndarray
    soft_kinds: np.ndarray
    dynamics: np.ndarray
    chosen: np.ndarray
    exact: np.ndarray
    exact_target: np.ndarray
    exact_weight: np.ndarray
    soft: np.ndarray
    soft_target: np.ndarray
    soft_weight: np.ndarray
    torque: np.ndarray
    here: np.ndarray
    after: np.ndarray
    constant: np.ndarray
    pair_weight: np.ndarray
    ranks: np.ndarray
    lightness: np.ndarray
    prediction: np.ndarray
    judged: np.ndarray


class Window(NamedTuple):
    """The w steps of a smoother's window, with d directions each, and what is remembered.

    Attributes:
        states: Shape ``(w, s)``.
        information: What steps that have left say of the first one, shape ``(d, d)``.
        gradient: Its gradient, shape ``(d,)``.
        anchor: Where it was made, shape ``(s,)``.
        directions: Transposed inverse of the basis there, shape ``(s, d)``.
        basis: Of the states that were linearised last, shape ``(w, s, d)``.
        linearised: These states.
        nodes: Their soft rows, shape ``(w, m, d + 1)``.
        pairs: Those between them, shape ``(w - 1, l, 2 d + 1)``.
        found: What is remembered there, shape ``(d, d)``.
        slope: Its gradient, shape ``(d,)``.
        closed: Bases of the states as they are now, shape ``(w, s, d)``.
    """

    states: np.ndarray
    information: np.ndarray
    gradient: np.ndarray
    anchor: np.ndarray
    directions: np.ndarray
    basis: np.ndarray
    linearised: np.ndarray
    nodes: np.ndarray
    pairs: np.ndarray
    found: np.ndarray
    slope: np.ndarray
    closed: np.ndarray
