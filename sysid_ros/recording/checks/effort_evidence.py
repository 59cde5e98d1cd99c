r"""Evidence for the scales of recorded efforts, with gradient and Hessian.

With effects :math:`G_j` of deviations z of the prior on joint j, the prior's torque :math:`g_j` and
the effort :math:`\tau_j` it is minus twice the logarithm of what is left when z is integrated out,

.. math:: f(s) = \min_z \sum_j \|\tau_j - s_j (G_j z + g_j)\|^2 + \|z\|^2 + \log\det K, \qquad
          K = 1 + \sum_j s_j^2 S_j, \quad S_j = G_j^\top G_j.

The last term counts the room for deviations. Without it scales come out large, under which small
deviations bend the prior to any torque; with it rather small, which leave little room.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.optimize import OptimizeResult, minimize

from sysid_ros.recording.checks.effort_reading import Reading

#: Scales are looked for up to this factor either way.
RANGE = 1e2
# Logarithm of scales whose squares exceed double precision beside any torques.
_LARGEST = 300.0


class _Joint(NamedTuple):
    """One joint's effort.

    Attributes:
        columns: The deviations that it feels, shape ``(c,)``.
        squares: :math:`G^T G` of these, shape ``(c, c)``.
        effort: :math:`G^T tau`, shape ``(c,)``.
        prior: :math:`G^T g`, shape ``(c,)``.
    """

    columns: np.ndarray
    squares: np.ndarray
    effort: np.ndarray
    prior: np.ndarray


class _Here(NamedTuple):
    """The evidence at scales, and what its second derivatives are made from.

    Attributes:
        value: The value; infinite, and all else zero, where K exceeds double precision.
        gradient: By the logarithms of the scales, shape ``(n,)``.
        inverse: Inverse of K.
        curved: How each scale bends the value by itself, shape ``(n,)``.
        moved: How it moves K z less its right side, shape ``(n, d)``.
    """

    value: float
    gradient: np.ndarray
    inverse: np.ndarray
    curved: np.ndarray
    moved: np.ndarray


class ScaleEvidence:
    """Minus twice the logarithm of the evidence for scales of n efforts, up to a constant.

    Args:
        found: Each joint's effort beside the torque of the prior.
        room: Whether the last term counts.
        ratio: What accelerates the links counts so many times, beside what carries them.
    """

    def __init__(self, found: list[Reading], room: bool = True, ratio: float = 1.0) -> None:
        rows = [reading.rows(ratio) for reading in found]
        felt = np.any([gains.any(axis=0) for gains, _, _ in rows], axis=0)
        self._joints = [_joint(gains[:, felt], prior, tau) for gains, prior, tau in rows]
        self._deviations = int(np.count_nonzero(felt))
        self._sizes = np.array([
            (tau @ tau, prior @ tau, prior @ prior) for _, prior, tau in rows])
        self._room = float(room)
        self._last: tuple[np.ndarray, _Here] | None = None

    def value(self, logarithm: np.ndarray) -> tuple[float, np.ndarray]:
        """The value, and its gradient by the logarithms of the scales, shape ``(n,)``."""
        here = self._at(logarithm)
        return here.value, here.gradient

    def hessian(self, logarithm: np.ndarray) -> np.ndarray:
        """Second derivatives by the logarithms of the scales, shape ``(n, n)``."""
        here = self._at(logarithm)
        if not np.isfinite(here.value):
            return np.zeros((len(logarithm), len(logarithm)))
        s = np.exp(logarithm)
        curvature = np.diag(here.curved) - 2.0 * here.moved @ here.inverse @ here.moved.T
        curvature -= self._room * 4.0 * np.outer(s, s) * self._crossed(here.inverse)
        return np.outer(s, s) * curvature + np.diag(here.gradient)

    def _at(self, logarithm: np.ndarray) -> _Here:
        """The evidence at scales; that of the last ones is kept."""
        if self._last is None or not np.array_equal(self._last[0], logarithm):
            within = logarithm.max(initial=0.0) < _LARGEST
            self._last = logarithm.copy(), (
                self._computed(np.exp(logarithm)) if within else self._nowhere(logarithm))
        return self._last[1]

    def _computed(self, s: np.ndarray) -> _Here:
        """The evidence at scales s."""
        d = self._deviations
        matrix, right = np.eye(d), np.zeros(d)
        for scale, one in zip(s, self._joints, strict=True):
            matrix[np.ix_(one.columns, one.columns)] += scale**2 * one.squares
            right[one.columns] += scale * one.effort - scale**2 * one.prior
        try:
            factor = scipy.linalg.cho_factor(matrix)
        except np.linalg.LinAlgError:
            # Motions that no robot makes, such as degrees for radians.
            return self._nowhere(s)
        inverse = scipy.linalg.cho_solve(factor, np.eye(d))
        z = scipy.linalg.cho_solve(factor, right)
        tau, mixed, prior = self._sizes.T
        value = np.sum(tau - 2.0 * s * mixed + s**2 * prior) - right @ z
        value += self._room * 2.0 * np.log(np.diag(factor[0])).sum()
        # Of |G z + g|^2 and its product with tau, at the best z for these scales; and K^-1 S_j.
        size, product, trace = prior.copy(), mixed.copy(), np.zeros(len(s))
        moved = np.zeros((len(s), d))
        for j, one in enumerate(self._joints):
            own = z[one.columns]
            pulled = one.squares @ own + one.prior
            size[j] += (pulled + one.prior) @ own
            product[j] += one.effort @ own
            trace[j] = np.sum(inverse[np.ix_(one.columns, one.columns)] * one.squares)
            moved[j, one.columns] = 2.0 * s[j] * pulled - one.effort
        curved = 2.0 * size + self._room * 2.0 * trace
        return _Here(float(value), s * (s * curved - 2.0 * product), inverse, curved, moved)

    def _nowhere(self, scales: np.ndarray) -> _Here:
        """Where K exceeds double precision."""
        none, d = np.zeros(len(scales)), self._deviations
        return _Here(np.inf, none, np.zeros((d, d)), none, np.zeros((len(scales), d)))

    def _crossed(self, inverse: np.ndarray) -> np.ndarray:
        """Traces of K^-1 S_j K^-1 S_k, shape ``(n, n)``."""
        columns = [one.columns for one in self._joints]
        weighted = [inverse[:, one.columns] @ one.squares for one in self._joints]
        crossed = np.zeros((len(columns), len(columns)))
        for j, own in enumerate(weighted):
            for k in range(j + 1):
                crossed[j, k] = crossed[k, j] = np.sum(
                    own[columns[k]] * weighted[k][columns[j]].T)
        return crossed


def _joint(gains: np.ndarray, prior: np.ndarray, tau: np.ndarray) -> _Joint:
    columns = np.flatnonzero(gains.any(axis=0))
    own = gains[:, columns]
    return _Joint(columns, own.T @ own, own.T @ tau, own.T @ prior)


def most_likely(evidence: ScaleEvidence, start: np.ndarray) -> OptimizeResult:
    """The logarithms of scales with the most evidence, by Newton's steps within a trust region.

    Scales that leave their range are held at its end, until a bounded search confirms them.

    Args:
        evidence: The evidence.
        start: Logarithms to begin with, shape ``(n,)``.
    """
    reach, here, free = np.log(RANGE), np.array(start), np.ones(len(start), dtype=bool)
    while free.any():
        found = _among_free(evidence, here, free)
        here[free] = found.x
        beyond = np.abs(here) > reach
        if not beyond.any():
            break
        here, free = np.clip(here, -reach, reach), free & ~beyond
    if free.all():
        return found
    return minimize(
        evidence.value, here, jac=True, method='L-BFGS-B', bounds=[(-reach, reach)] * len(start))


def _among_free(evidence: ScaleEvidence, here: np.ndarray, free: np.ndarray) -> OptimizeResult:
    """The minimum by the scales that are free, a mask of shape ``(n,)``; the others stay."""
    def all_of(part: np.ndarray) -> np.ndarray:
        whole = here.copy()
        whole[free] = part
        return whole

    def value(part: np.ndarray) -> tuple[float, np.ndarray]:
        found, gradient = evidence.value(all_of(part))
        return found, gradient[free]

    return minimize(
        value, here[free], jac=True, method='trust-exact',
        options={'max_trust_radius': np.log(RANGE)},
        hess=lambda part: evidence.hessian(all_of(part))[np.ix_(free, free)])
