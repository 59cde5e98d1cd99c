r"""Coordinates of a robot's parameters in which a fleet is a normal distribution.

The pseudo-inertia of each body is :math:`L = C \exp(X) C^T` with :math:`L_0 = C C^T` that of a
reference: every symmetric X is a real mass distribution, and :math:`\tfrac12\|X\|_F^2` is, to
second order, the log-det divergence from the reference, which depends on no frame and no unit.
Frictions and drive inertias, which are positive, have the logarithm of their ratio to a reference;
offsets and the like their distance from it, in steps.

References: Lee, Wensing and Park 2020, "Geometric robot dynamic identification"; Bhatia 2007,
"Positive definite matrices", theorem V.3.3 (Daleckii and Krein) for the derivative.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sysid_ros.errors import ParameterError
from sysid_ros.robot.inertia import inertial_from_pseudo, pseudo_inertia
from sysid_ros.robot.parameters import ParameterSet

#: Coordinates of a body: symmetric 4×4 matrices.
BODY = 10


def _symmetric_basis() -> np.ndarray:
    """Orthonormal basis of the symmetric 4×4 matrices, shape ``(10, 4, 4)``."""
    basis = []
    for row in range(4):
        for column in range(row, 4):
            matrix = np.zeros((4, 4))
            matrix[row, column] = matrix[column, row] = 1.0 if row == column else np.sqrt(0.5)
            basis.append(matrix)
    return np.array(basis)


_BASIS = _symmetric_basis()


@dataclass(frozen=True, eq=False)
class FleetCoordinates:
    """Coordinates x of the c free parameters of a robot, and the way to its p parameters.

    Attributes:
        reference: Parameters at x = 0, p of them; consistent bodies.
        steps: Change of a parameter that belongs to no body per unit of its coordinate, shape
            ``(p,)``; zero where the coordinate is a logarithm.
    """

    reference: ParameterSet
    steps: np.ndarray

    @cached_property
    def bodies(self) -> tuple[str, ...]:
        """Bodies of which a parameter is free."""
        known, free = self.reference, self.reference.free
        return tuple(body for body in known.bodies if free[known.body_slice(body)].any())

    @property
    def whole_bodies(self) -> bool:
        """Whether all parameters of each of these bodies are free."""
        known, free = self.reference, self.reference.free
        return all(free[known.body_slice(body)].all() for body in self.bodies)

    @cached_property
    def terms(self) -> np.ndarray:
        """Indices of free parameters that belong to no body, shape ``(k,)``."""
        parameters = self.reference
        return np.array([
            k for k, name in enumerate(parameters.names)
            if parameters.free[k] and not parameters.is_inertial(name)], dtype=int)

    @property
    def count(self) -> int:
        """Number of coordinates c."""
        return BODY * len(self.bodies) + len(self.terms)

    @cached_property
    def parts(self) -> Mapping[str, np.ndarray]:
        """Indices of the coordinates of each body and each joint."""
        parts: dict[str, list[int]] = {
            body: list(range(BODY * k, BODY * (k + 1))) for k, body in enumerate(self.bodies)}
        for k, index in enumerate(self.terms, start=BODY * len(self.bodies)):
            owner = self.reference.names[index].rpartition('.')[0]
            parts.setdefault(f'joint {owner}', []).append(k)
        return {name: np.array(indices) for name, indices in parts.items()}

    @cached_property
    def blocks(self) -> tuple[tuple[np.ndarray, bool], ...]:
        """Coordinates that are scaled alike; whether they are independent: a kind of terms."""
        kinds: dict[str, list[int]] = {}
        for k, index in enumerate(self.terms, start=BODY * len(self.bodies)):
            name = self.reference.names[index]
            kinds.setdefault(name.rpartition('.')[2], []).append(k)
        return (
            *((self.parts[body], False) for body in self.bodies),
            *((np.array(indices), True) for indices in kinds.values()))

    @cached_property
    def logarithmic(self) -> np.ndarray:
        """Which coordinates are relative changes: those of bodies, and logarithms, ``(c,)``."""
        return np.concatenate([
            np.ones(BODY * len(self.bodies), dtype=bool), self.steps[self.terms] == 0.0])

    @cached_property
    def _roots(self) -> np.ndarray:
        """Cholesky factors of the references' pseudo-inertias, shape ``(b, 4, 4)``."""
        phi = np.array([self.reference.inertial(body) for body in self.bodies]).reshape(-1, 10)
        try:
            return np.linalg.cholesky(pseudo_inertia(phi))
        except np.linalg.LinAlgError as error:
            raise ParameterError('a body of the reference is not physically consistent') from error

    def parameters(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Parameters at coordinates, and their derivatives.

        Args:
            x: Coordinates of m robots, shape ``(m, c)``.

        Returns:
            Parameters ``(m, p)`` and derivatives ``(m, p, c)``.
        """
        theta = np.repeat(self.reference.values[None], len(x), axis=0)
        slope = np.zeros((*theta.shape, self.count))
        for k, body in enumerate(self.bodies):
            columns, rows = slice(BODY * k, BODY * (k + 1)), self.reference.body_slice(body)
            pseudo, change = _exponential(np.tensordot(x[:, columns], _BASIS, axes=1))
            root = self._roots[k]
            theta[:, rows] = inertial_from_pseudo(root @ pseudo @ root.T)
            slope[:, rows, columns] = np.swapaxes(
                inertial_from_pseudo(root @ change @ root.T), 1, 2)
        for k, index in enumerate(self.terms, start=BODY * len(self.bodies)):
            if self.steps[index]:
                theta[:, index] += self.steps[index] * x[:, k]
                slope[:, index, k] = self.steps[index]
            else:
                theta[:, index] *= np.exp(x[:, k])
                slope[:, index, k] = theta[:, index]
        return theta, slope

    def at(self, theta: np.ndarray) -> np.ndarray:
        """Coordinates of parameters, the inverse of :meth:`parameters`.

        Args:
            theta: Parameters of one robot, shape ``(p,)``.

        Returns:
            Shape ``(c,)``; infinite entries where a body is not consistent or a parameter with a
            logarithm is not positive.
        """
        x = np.full(self.count, np.inf)
        for k, body in enumerate(self.bodies):
            half = np.linalg.solve(
                self._roots[k], pseudo_inertia(theta[self.reference.body_slice(body)]))
            values, vectors = np.linalg.eigh(np.linalg.solve(self._roots[k], half.T))
            if values[0] > 0.0:
                logarithm = (vectors * np.log(values)) @ vectors.T
                x[BODY * k:BODY * (k + 1)] = np.tensordot(_BASIS, logarithm, axes=2)
        for k, index in enumerate(self.terms, start=BODY * len(self.bodies)):
            value, reference = theta[index], self.reference.values[index]
            if self.steps[index]:
                x[k] = (value - reference) / self.steps[index]
            elif value / reference > 0.0:
                x[k] = np.log(value / reference)
        return x

    def recentred(self, theta: np.ndarray) -> FleetCoordinates:
        """Coordinates of the same parameters around others, consistent and positive.

        Args:
            theta: The new reference, shape ``(p,)``.
        """
        return FleetCoordinates(self.reference.with_values(theta), self.steps)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {'reference': self.reference.to_json(), 'steps': self.steps.tolist()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FleetCoordinates:
        """The inverse of :meth:`to_json`.

        Raises:
            ParameterError: There is not one step for each parameter.
        """
        reference = ParameterSet.from_json(data['reference'])
        steps = np.array(data['steps'], dtype=float)
        if steps.shape != reference.values.shape:
            raise ParameterError(
                'there is not one step for each parameter', where='steps', found=steps.shape,
                allowed=reference.values.shape, fix='Make the prior again: sysid batch --prior')
        return cls(reference, steps)


def _exponential(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Exponentials of symmetric matrices ``(m, 4, 4)``, and their changes ``(m, 10, 4, 4)``."""
    values, vectors = np.linalg.eigh(matrix)
    middle = 0.5 * (values[:, :, None] + values[:, None, :])
    half = 0.5 * (values[:, :, None] - values[:, None, :])
    # (exp a - exp b) / (a - b), also where both are the same.
    quotient = np.exp(middle) * np.where(
        np.abs(half) > 1e-6, np.sinh(half) / np.where(half == 0.0, 1.0, half), 1.0 + half**2 / 6.0)
    transposed = np.swapaxes(vectors, 1, 2)
    inner = transposed[:, None] @ _BASIS @ vectors[:, None]
    change = vectors[:, None] @ (inner * quotient[:, None]) @ transposed[:, None]
    return (vectors * np.exp(values)[:, None]) @ transposed, change
