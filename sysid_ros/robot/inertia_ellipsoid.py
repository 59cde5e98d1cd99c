r"""Inertia ellipsoids: the solid of uniform density that has a body's mass and inertia.

A solid ellipsoid with semi-axes a, b, c has the second moments m·a²/5, m·b²/5, m·c²/5 along its
axes, so that

.. math::
    C = \frac{5}{m}\,\Sigma_c, \qquad \Sigma_c = \tfrac12 \mathrm{tr}(I_c)\,1_3 - I_c

is the matrix of :math:`(x - c)^T C^{-1} (x - c) \le 1`, with the inertia :math:`I_c` about the
centre of mass c.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sysid_ros.robot.inertia import central_inertia, transform_inertial
from sysid_ros.robot.model import RobotModel


@dataclass(frozen=True, eq=False)
class InertiaEllipsoid:
    """The ellipsoid of uniform density with the mass and inertia of a body.

    Attributes:
        mass: In [kg], positive.
        centre: Centre of mass in [m], shape ``(3,)``.
        axes: Principal axes of inertia as columns of a rotation, shape ``(3, 3)``.
        semi_axes: Half lengths along them in [m], the shortest first, shape ``(3,)``; 0 where the
            second moment is negative.
        possible: Whether a mass distribution has this inertia.
    """

    mass: float
    centre: np.ndarray
    axes: np.ndarray
    semi_axes: np.ndarray
    possible: bool

    def __post_init__(self) -> None:
        for array in (self.centre, self.axes, self.semi_axes):
            array.setflags(write=False)

    @classmethod
    def of(cls, phi: np.ndarray) -> InertiaEllipsoid | None:
        """The ellipsoid in the frame of the parameters; None for a body without mass.

        Args:
            phi: Inertial parameters, shape ``(10,)``.

        Raises:
            ParameterError: ``phi`` has another shape or a non-finite entry.
        """
        if not phi[0] > 0.0:
            return None
        mass, centre, inertia = central_inertia(phi)
        second = (0.5 * np.trace(inertia) * np.eye(3) - inertia) / mass
        values, axes = np.linalg.eigh(second)
        # Eigenvectors may be a reflection; an orientation is a rotation.
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        return cls(
            mass, centre, axes, np.sqrt(5.0 * np.maximum(values, 0.0)), bool(values[0] >= 0.0))

    @property
    def shape(self) -> np.ndarray:
        """The matrix C in [m²], shape ``(3, 3)``; its eigenvalues are the squared semi-axes."""
        return np.asarray((self.axes * self.semi_axes**2) @ self.axes.T)


def link_ellipsoids(
    robot: RobotModel, inertials: Mapping[str, np.ndarray]
) -> dict[str, InertiaEllipsoid]:
    """Inertia ellipsoids of moving bodies in the frames of their first links.

    Args:
        robot: The robot.
        inertials: Inertial parameters at the joint-frame origin, shape ``(10,)``, by body. A body
            without a link, as the rotor of a drive, has no frame and is left out.

    Returns:
        Ellipsoids by link; bodies without mass are left out.
    """
    found = {}
    for link in robot.links:
        if link.name != link.body or link.body not in inertials:
            continue
        ellipsoid = InertiaEllipsoid.of(
            transform_inertial(inertials[link.body], np.linalg.inv(link.pose)))
        if ellipsoid is not None:
            found[link.name] = ellipsoid
    return found
