"""Factors that are linear in variables: priors, readings, soft equality, integrators, selection.

A factor is a declaration: what it ties together, where, and how well. One of standard deviation
zero is an equation that holds exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from sysid_ros.errors import EstimationError, did_you_mean
from sysid_ros.estimation.trajectory.graph.mechanism import Mechanism
from sysid_ros.estimation.trajectory.graph.variables import RATES, Layout, Point, labels

#: Standard deviations: one for all numbers of a factor, or one for each.
Sigma = float | Sequence[float] | np.ndarray


class Declared(NamedTuple):
    """What a factor is declared for.

    Attributes:
        mechanism: The mechanism.
        layout: Where variables lie in a state of s numbers.
        step: Time from step to step in [s].
        steps: How many steps N there are.
        parameters: How many parameters k are sought.
    """

    mechanism: Mechanism
    layout: Layout
    step: float
    steps: int
    parameters: int


class Factor(ABC):
    """Something that is known of variables.

    Attributes:
        sigma: Standard deviations, zero for what holds exactly.
        at: The steps it is said for; None for all.
    """

    sigma: Sigma
    at: int | slice | Sequence[int] | None

    pairs: ClassVar[bool] = False
    #: Whether parameters matter, so that it is no equation of motion alone.
    tells_parameters: ClassVar[bool] = False

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in reports and messages."""

    @property
    @abstractmethod
    def variables(self) -> tuple[str, ...]:
        """What it ties together, of one step or of a step and the next."""

    @abstractmethod
    def width(self, mechanism: Mechanism) -> int:
        """How many numbers it has at a step."""

    @property
    def exact(self) -> bool:
        """Whether it holds exactly."""
        return not np.any(self.sigma)

    def weights(self, declared: Declared) -> np.ndarray:
        """One over standard deviations where it is said and zero elsewhere, shape ``(N, m)``.

        Raises:
            EstimationError: There are more or fewer standard deviations than numbers, only some
                of them are zero, one is negative, or steps do not exist.
        """
        width, sigma = self.width(declared.mechanism), np.asarray(self.sigma, dtype=float)
        if sigma.ndim and sigma.shape != (width,):
            raise EstimationError(
                'standard deviations do not fit the factor', where=self.name, found=sigma.shape,
                allowed=f'one, or ({width},)')
        sigma = np.broadcast_to(sigma, (width,))
        mixed = not self.exact and not (sigma > 0.0).all()
        if mixed or not np.isfinite(sigma).all():
            raise EstimationError(
                'standard deviations are neither all above zero nor all zero', where=self.name,
                found=sigma.tolist(), fix='Say what is exact in a factor of its own')
        size = declared.steps - 1 if self.pairs else declared.steps
        weights = np.zeros((size, width))
        try:
            weights[slice(None) if self.at is None else self.at] = (
                1.0 if self.exact else 1.0 / sigma)
        except IndexError as error:
            raise EstimationError(
                'the factor is said for steps that do not exist', where=self.name,
                found=self.at, allowed=f'0 to {size - 1}') from error
        return weights


class LinearFactor(Factor):
    """A factor :math:`C_0 x_k (+ C_1 x_{k+1}) - d_k`."""

    @abstractmethod
    def matrices(self, declared: Declared) -> tuple[np.ndarray, np.ndarray | None]:
        """The matrices C, shape ``(m, s)`` each; the second None but for pairs."""

    def targets(self, declared: Declared) -> np.ndarray:
        """What they are to give, NaN where it is not known, shape ``(N, m)``."""
        size = declared.steps - 1 if self.pairs else declared.steps
        return np.zeros((size, self.width(declared.mechanism)))


class NodeFactor(Factor):
    """A factor that is not linear in the variables of its step."""

    @abstractmethod
    def fill(self, point: Point, data: np.ndarray | None, rows: np.ndarray) -> None:
        """Write residuals and their derivatives.

        Args:
            point: Where; N states of s numbers, and k parameters.
            data: Of :meth:`data`, for these steps.
            rows: By the state, by parameters and the residual, shape ``(N, m, s + k + 1)``;
                zero, or as this method left it the last time.
        """

    def data(self, declared: Declared) -> np.ndarray | None:
        """What is known at each step, shape ``(N, ...)``."""
        return None


class SensorFactor(NodeFactor):
    """What a sensor read that is not linear in the variables of its step.

    Attributes:
        value: Readings, NaN where they are missing, shape ``(N, m)``.
    """

    value: np.ndarray

    def weights(self, declared: Declared) -> np.ndarray:
        """One over standard deviations, zero where a reading is missing; see :class:`Factor`."""
        return np.where(np.isfinite(self._readings(declared)), super().weights(declared), 0.0)

    def data(self, declared: Declared) -> np.ndarray:
        """The readings, zero where they are missing, first, shape ``(N, m ...)``.

        Raises:
            EstimationError: They do not fit the sensor or the steps.
        """
        value = self._readings(declared)
        return np.where(np.isfinite(value), value, 0.0)

    def _readings(self, declared: Declared) -> np.ndarray:
        value = np.asarray(self.value, dtype=float)
        shape = (declared.steps, self.width(declared.mechanism))
        if value.shape != shape:
            raise EstimationError(
                'readings do not fit the sensor', where=self.name, found=value.shape,
                allowed=str(shape))
        return value


def _block(declared: Declared, variable: str, rows: Sequence[int], scale: float) -> np.ndarray:
    """Rows that pick some numbers of a variable, shape ``(m, s)``."""
    matrix = np.zeros((len(rows), declared.layout.size))
    first = declared.layout.places[variable].start
    matrix[np.arange(len(rows)), first + np.asarray(rows, dtype=int)] = scale
    return matrix


@dataclass(frozen=True, eq=False)
class Prior(LinearFactor):
    """What is known of a variable beforehand, or what a sensor read of it.

    An encoder reads coordinates, a gyroscope the rate of an angle, a torque sensor torques.

    Attributes:
        variable: The variable.
        value: One value for all steps, shape ``(m,)`` or a number, or one for each step, shape
            ``(N, m)``, NaN where it is missing.
        sigma: See :class:`Factor`.
        at: See :class:`Factor`.
        only: Which of its numbers, by their labels; all if left out.
        title: Name in reports and messages.
    """

    variable: str
    value: float | np.ndarray
    sigma: Sigma
    at: int | slice | Sequence[int] | None = None
    only: Sequence[str] | None = None
    title: str = 'prior'

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return self.title

    @property
    def variables(self) -> tuple[str, ...]:
        """The variable."""
        return (self.variable,)

    def width(self, mechanism: Mechanism) -> int:
        """How many numbers are known."""
        return len(self._rows(mechanism))

    def matrices(self, declared: Declared) -> tuple[np.ndarray, None]:
        """Which numbers are known."""
        return _block(declared, self.variable, self._rows(declared.mechanism), 1.0), None

    def targets(self, declared: Declared) -> np.ndarray:
        """What is known; see :class:`LinearFactor`.

        Raises:
            EstimationError: The values do not fit the variable or the steps.
        """
        value, shape = np.asarray(self.value, dtype=float), (
            declared.steps, self.width(declared.mechanism))
        if value.ndim and value.shape not in (shape, shape[1:]):
            raise EstimationError(
                'values do not fit the variable', where=f'{self.name} of {self.variable}',
                found=value.shape, allowed=f'{shape} or {shape[1:]}')
        return np.broadcast_to(value, shape).copy()

    def _rows(self, mechanism: Mechanism) -> list[int]:
        known = labels(mechanism, self.variable)
        for name in self.only or ():
            if name not in known:
                raise EstimationError(
                    f'{self.variable} has no such number', where=self.name, found=repr(name),
                    allowed=', '.join(known), fix=did_you_mean(name, known))
        return [known.index(name) for name in (known if self.only is None else self.only)]


@dataclass(frozen=True, eq=False)
class Selection(LinearFactor):
    """Independent coordinates are some of the dependent ones, and so are their derivatives.

    Attributes:
        variable: ``q``, ``v`` or ``a``.
        sigma: See :class:`Factor`.
        at: See :class:`Factor`.
    """

    variable: str
    sigma: Sigma = 0.0
    at: int | slice | Sequence[int] | None = None

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return 'selection'

    @property
    def variables(self) -> tuple[str, ...]:
        """The dependent ones, and the independent ones."""
        return self.variable, {'q': 'z', 'v': 'dz', 'a': 'ddz'}[self.variable]

    def width(self, mechanism: Mechanism) -> int:
        """How many independent coordinates there are."""
        return len(mechanism.independent)

    def matrices(self, declared: Declared) -> tuple[np.ndarray, None]:
        """Dependent less independent."""
        dependent, independent = self.variables
        index = declared.mechanism.independent.tolist()
        own = list(range(len(index)))
        return (
            _block(declared, dependent, index, 1.0) + _block(declared, independent, own, -1.0),
            None)


@dataclass(frozen=True, eq=False)
class _Pair(LinearFactor):
    """A factor between a variable, its rate and the same at the next step."""

    variable: str
    sigma: Sigma
    at: int | slice | Sequence[int] | None = None

    pairs: ClassVar[bool] = True
    #: Parts of the step that the rates here and there count for.
    _parts: ClassVar[tuple[float, float]] = (0.0, 0.0)
    _rate: ClassVar[bool] = True

    @property
    def variables(self) -> tuple[str, ...]:
        """The variable, and its rate."""
        return (self.variable, RATES[self.variable]) if self._rate else (self.variable,)

    def width(self, mechanism: Mechanism) -> int:
        """How many numbers the variable has."""
        return len(labels(mechanism, self.variable))

    def matrices(self, declared: Declared) -> tuple[np.ndarray, np.ndarray]:
        """What is after less what is before, and less the way in between."""
        everything = list(range(self.width(declared.mechanism)))
        found = []
        for sign, part in zip((-1.0, 1.0), self._parts, strict=True):
            matrix = _block(declared, self.variable, everything, sign)
            if part:
                matrix += _block(
                    declared, self.variables[1], everything, -part * declared.step)
            found.append(matrix)
        return found[0], found[1]


@dataclass(frozen=True, eq=False)
class Equality(_Pair):
    """A variable hardly changes from step to step: for first guesses, since it is a bias."""

    _rate: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return 'soft equality'


@dataclass(frozen=True, eq=False)
class Euler(_Pair):
    """A variable changes by its rate at the step before."""

    _parts: ClassVar[tuple[float, float]] = (1.0, 0.0)

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return 'Euler'


@dataclass(frozen=True, eq=False)
class Trapezoidal(_Pair):
    """A variable changes by the mean of its rates at both steps."""

    _parts: ClassVar[tuple[float, float]] = (0.5, 0.5)

    @property
    def name(self) -> str:
        """Name in reports and messages."""
        return 'trapezoidal'
