r"""Ellipsoids around a body, and which inertial parameters mass inside of one can have.

Mass that lies within the ellipsoid :math:`(x - c)^T C^{-1} (x - c) \le 1` has

.. math::
    \mathrm{tr}(L(\phi)\,Q) \ge 0, \qquad Q = \begin{bmatrix}
        -C^{-1} & C^{-1} c \\ c^T C^{-1} & 1 - c^T C^{-1} c\end{bmatrix},

since the trace is the integral of :math:`1 - (x - c)^T C^{-1} (x - c)` over the mass. Together with
a positive definite :math:`L` that is sufficient, too: some density inside has these parameters.
So the centre of mass lies inside, and moments of inertia are no larger than the ellipsoid allows
(Wensing, Kim and Slotine 2018, section IV; Traversaro et al. 2016).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.robot.inertia import PSEUDO_INERTIA_BASIS

# How far the volume may be above the least, about, and most steps until it is.
_LEAST_VOLUME, _STEPS = 0.02, 1000
# Points whose weight is this part of the largest do not touch the ellipsoid.
_WEIGHTLESS = 1e-6
# No semi-axis is shorter, in [m]: flat shapes have some thickness.
_THINNEST = 1e-3


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    r"""The points x with :math:`(x - c)^T C^{-1} (x - c) \le 1`.

    Attributes:
        centre: c in [m], shape ``(3,)``.
        shape: C in [m²], symmetric and positive definite, shape ``(3, 3)``; its eigenvalues are
            the squared semi-axes.
    """

    centre: np.ndarray
    shape: np.ndarray

    def __post_init__(self) -> None:
        self.centre.setflags(write=False)
        self.shape.setflags(write=False)

    @classmethod
    def around(cls, points: np.ndarray) -> Ellipsoid:
        """The ellipsoid of least volume that holds points, up to a few per cent of its volume.

        Args:
            points: The points in [m], shape ``(k, 3)``.

        References:
            Titterington 1978, "Estimation of correlation coefficients by ellipsoidal trimming":
            weights of the points that make a D-optimal design are multiplied by their variances.
        """
        middle = points.mean(axis=0)
        thick = _THINNEST * np.vstack([np.eye(3), -np.eye(3)])
        away = np.vstack([points - middle, thick])
        lifted = np.column_stack([away, np.ones(len(away))])
        weights = np.full(len(lifted), 1.0 / len(lifted))
        for _ in range(_STEPS):
            moments = lifted.T @ (weights[:, None] * lifted)
            variance = np.einsum('ki,ki->k', lifted @ np.linalg.inv(moments), lifted)
            if variance.max() <= 4.0 * (1.0 + _LEAST_VOLUME):
                break
            weights *= 0.25 * variance
            touching = weights > _WEIGHTLESS * weights.max()
            lifted, weights = lifted[touching], weights[touching] / weights[touching].sum()
        centre = weights @ lifted[:, :3]
        shape = 3.0 * (lifted[:, :3].T @ (weights[:, None] * lifted[:, :3])
                       - np.outer(centre, centre))
        offset = away - centre
        farthest = np.einsum('ki,ki->k', offset @ np.linalg.inv(shape), offset).max()
        return cls(middle + centre, farthest * shape)

    @classmethod
    def ball(cls, centre: np.ndarray, radius: float) -> Ellipsoid:
        """A ball with its centre ``(3,)`` and its radius in [m]."""
        return cls(np.array(centre, dtype=float), radius**2 * np.eye(3))

    def grown(self, factor: float) -> Ellipsoid:
        """The ellipsoid with every semi-axis so many times as long."""
        return Ellipsoid(self.centre.copy(), factor**2 * self.shape)

    def widened(self, length: float) -> Ellipsoid:
        """The ellipsoid with every semi-axis longer by so much in [m]."""
        squares, axes = np.linalg.eigh(self.shape)
        return Ellipsoid(
            self.centre.copy(), axes * (np.sqrt(squares) + length)**2 @ axes.T)

    @property
    def realisable(self) -> np.ndarray:
        r"""The row g, shape ``(10,)``, with :math:`g^T \phi = \mathrm{tr}(L(\phi)\,Q)`.

        It is in [kg] at parameters in SI units; not negative for mass inside the ellipsoid.
        """
        inverse = np.linalg.inv(self.shape)
        along = inverse @ self.centre
        matrix = np.block([
            [-inverse, along[:, None]], [along[None], np.array([[1.0 - along @ self.centre]])]])
        return np.tensordot(PSEUDO_INERTIA_BASIS, matrix, axes=2)

    def spread(self, phi: np.ndarray) -> float:
        """Mean of (x - c)ᵀ C⁻¹ (x - c) over a body's mass: at most 1 for mass inside.

        Args:
            phi: Inertial parameters in the frame of the ellipsoid, shape ``(10,)``, with a mass.
        """
        return 1.0 - float(self.realisable @ phi) / float(phi[0])
