r"""What physics allows: consistent bodies, non-negative dissipation, plausible masses.

Written in the prior's steps, :math:`\theta = \theta_0 + C z`, as linear matrix
inequalities and linear inequalities. Consistency of each body alone is not enough: with
torques that do not tell the masses apart a fit may pair a 100 kg link with a
weightless one, so masses are held near the prior too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.robot.inertia import PSEUDO_INERTIA_BASIS, pseudo_inertia
from sysid_ros.settings import StrictSettings


class Plausibility(StrictSettings):
    """How far bodies may stray from the prior.

    Attributes:
        margin: Smallest consistency margin of a body, between 0 and 1.
        mass_factor: A mass stays between prior / factor and prior · factor; above 1.
        total_mass: The moving mass stays within this fraction of the prior's.
    """

    margin: float = 1e-3
    mass_factor: float = 3.0
    total_mass: float = 0.3

    def model_post_init(self, _: object) -> None:
        """Refuse limits that contradict the prior itself."""
        allowed = {
            'margin': 0.0 < self.margin < 1.0,
            'mass_factor': self.mass_factor > 1.0,
            'total_mass': self.total_mass > 0.0,
        }
        for name, fits in allowed.items():
            if not fits:
                raise ConfigurationError(
                    'the plausible range does not contain the prior', where=name,
                    found=getattr(self, name),
                    allowed='margin in (0, 1), mass_factor > 1, total_mass > 0',
                )


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    r"""Constraints on the prior's steps z, shape ``(f,)``.

    Attributes:
        names: Bodies with free parameters, c of them.
        constant: Whitened pseudo-inertias at z = 0, less the margin, shape ``(c, 4, 4)``.
        slopes: Their derivatives, shape ``(c, f, 4, 4)``; positive definite
            ``constant + slopes · z`` means consistent.
        matrix: Linear inequalities ``matrix @ z <= bound``, shape ``(m, f)``.
        bound: Shape ``(m,)``.
        labels: What each inequality says, for people.
    """

    names: tuple[str, ...]
    constant: np.ndarray
    slopes: np.ndarray
    matrix: np.ndarray
    bound: np.ndarray
    labels: tuple[str, ...]

    def pseudo_inertias(self, z: np.ndarray) -> np.ndarray:
        """Whitened pseudo-inertias less the margin, shape ``(c, 4, 4)``."""
        return self.constant + np.einsum('cfij,f->cij', self.slopes, z)

    def slack(self, z: np.ndarray) -> np.ndarray:
        """Distance to each linear bound, shape ``(m,)``, negative when violated."""
        return self.bound - self.matrix @ z

    def contains(self, z: np.ndarray, tolerance: float = 0.0) -> bool:
        """Whether z satisfies every constraint up to a tolerance without unit."""
        eigenvalues = np.linalg.eigvalsh(self.pseudo_inertias(z)) if self.names else np.zeros(1)
        return bool(
            (eigenvalues >= -tolerance).all()
            and (self.slack(z) >= -tolerance * np.maximum(np.abs(self.bound), 1.0)).all()
        )


def feasible_set(problem: RegressionProblem, plausibility: Plausibility) -> FeasibleSet:
    """Constraints of a problem.

    Args:
        problem: The problem; bounds of its parameters become inequalities.
        plausibility: Margins and ranges of masses.

    Returns:
        The set. Masses of bodies that came without one are not held.
    """
    names, constant, slopes = [], [], []
    for body in problem.parameters.bodies:
        block = problem.parameters.body_slice(body)
        if not problem.free[block].any():
            continue
        # Whitening by the prior makes every entry a ratio, so that one margin fits all.
        factor = scipy.linalg.cholesky(
            pseudo_inertia(problem.parameters.prior[block]), lower=True
        )
        inverse = scipy.linalg.solve_triangular(factor, np.eye(4), lower=True)
        basis = inverse @ PSEUDO_INERTIA_BASIS @ inverse.T
        start = np.tensordot(problem.reference[block], basis, axes=1)
        names.append(body)
        constant.append(start - plausibility.margin * np.eye(4))
        slopes.append(np.einsum('kf,kij->fij', problem.scale[block], basis))
    matrix, bound, labels = _linear(problem, plausibility)
    steps = problem.scale.shape[1]
    return FeasibleSet(
        tuple(names), np.array(constant).reshape(-1, 4, 4),
        np.array(slopes).reshape(-1, steps, 4, 4), matrix, bound, labels,
    )


def _linear(
    problem: RegressionProblem, plausibility: Plausibility
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    rows, bounds, labels = [], [], []

    def hold(weights: np.ndarray, limit: float, label: str) -> None:
        """Add ``weights · theta <= limit``, scaled to a slope of one."""
        row = weights @ problem.scale
        size = np.linalg.norm(row)
        if size > 0.0:
            rows.append(row / size)
            bounds.append((limit - weights @ problem.reference) / size)
            labels.append(label)

    parameters = problem.parameters
    lower, upper = parameters.lower.copy(), parameters.upper.copy()
    masses = _described_masses(problem)
    lower[masses] = np.maximum(lower[masses], parameters.prior[masses] / plausibility.mass_factor)
    upper[masses] = np.minimum(upper[masses], parameters.prior[masses] * plausibility.mass_factor)
    for k, name in enumerate(parameters.names):
        unit = np.zeros(len(parameters))
        unit[k] = 1.0
        if np.isfinite(upper[k]):
            hold(unit, upper[k], f'{name} <= {upper[k]:.6g}')
        if np.isfinite(lower[k]):
            hold(-unit, -lower[k], f'{name} >= {lower[k]:.6g}')
    if len(masses) == len(parameters.bodies) > 0:
        total = np.zeros(len(parameters))
        total[masses] = 1.0
        prior = total @ parameters.prior
        reach = plausibility.total_mass * prior
        hold(total, prior + reach, f'moving mass <= {prior + reach:.6g} kg')
        hold(-total, reach - prior, f'moving mass >= {prior - reach:.6g} kg')
    steps = problem.scale.shape[1]
    return np.array(rows).reshape(-1, steps), np.array(bounds), tuple(labels)


def _described_masses(problem: RegressionProblem) -> list[int]:
    """Indices of the masses whose prior the robot description really gave."""
    robot = problem.model.robot
    described = dict(zip(robot.body_names, robot.inertial_prior[:, 0] > 0.0, strict=True))
    return [
        problem.parameters.index(f'{body}.mass')
        for body in problem.parameters.bodies if described.get(body, False)
    ]
