"""Variables of a factor graph: which there are at every step, and where they lie in its state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sysid_ros.errors import EstimationError, did_you_mean
from sysid_ros.estimation.trajectory.graph.mechanism import Constrained, Mechanism, Response

#: Dependent and independent coordinates with their first and second derivatives, torques and rates.
VARIABLES = ('q', 'v', 'a', 'z', 'dz', 'ddz', 'torque', 'dtorque')
#: What each one's derivative by time is called.
RATES = {'q': 'v', 'v': 'a', 'z': 'dz', 'dz': 'ddz', 'torque': 'dtorque'}


def labels(mechanism: Mechanism, variable: str) -> tuple[str, ...]:
    """What the numbers of a variable are called."""
    if variable in ('torque', 'dtorque'):
        return tuple(mechanism.torques)
    if variable in ('z', 'dz', 'ddz'):
        return tuple(mechanism.coordinates[k] for k in mechanism.independent)
    return tuple(mechanism.coordinates)


@dataclass(frozen=True)
class Layout:
    """Where variables lie in the state of a step.

    Attributes:
        names: The variables, in order.
        sizes: How many numbers each one has.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, mechanism: Mechanism, names: Iterable[str]) -> Layout:
        """The layout of some variables of a mechanism.

        Raises:
            EstimationError: There is no such variable.
        """
        wanted = set(names)
        for name in wanted.difference(VARIABLES):
            raise EstimationError(
                'there is no such variable', found=repr(name), allowed=', '.join(VARIABLES),
                fix=did_you_mean(name, VARIABLES))
        ordered = tuple(name for name in VARIABLES if name in wanted)
        return cls(ordered, tuple(len(labels(mechanism, name)) for name in ordered))

    @cached_property
    def places(self) -> Mapping[str, slice]:
        """Where each lies."""
        ends = np.cumsum([0, *self.sizes]).tolist()
        return {
            name: slice(first, last)
            for name, first, last in zip(self.names, ends[:-1], ends[1:], strict=True)}

    @property
    def size(self) -> int:
        """Numbers of a state."""
        return sum(self.sizes)

    def split(self, states: np.ndarray) -> dict[str, np.ndarray]:
        """Variables ``(N, ...)`` of states ``(N, size)``."""
        return {name: states[:, place] for name, place in self.places.items()}


class FreeParameters(NamedTuple):
    """Parameters that are sought with the motion: k combinations of a mechanism's p ones.

    Attributes:
        names: What they are called.
        matrix: What each one's unit adds to the parameters, shape ``(p, k)``.
        origin: All parameters where the sought ones are zero, shape ``(p,)``.
        start: Where they begin, shape ``(k,)``.
        lower: Their lower bounds, shape ``(k,)``.
        upper: Their upper bounds, shape ``(k,)``.
    """

    names: tuple[str, ...]
    matrix: np.ndarray
    origin: np.ndarray
    start: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def values(self, free_parameters: np.ndarray) -> np.ndarray:
        """All parameters ``(p,)`` from the sought ones ``(k,)``."""
        return np.asarray(self.origin + self.matrix @ free_parameters)


def no_free_parameters(mechanism: Mechanism) -> FreeParameters:
    """Parameters as they are."""
    none, values = np.zeros(0), mechanism.parameters.values
    return FreeParameters((), np.zeros((len(values), 0)), values, none, none, none)


class Point:
    """States of N steps, and what the mechanism says there; computed once when it is asked for.

    Args:
        mechanism: The mechanism.
        layout: Where variables lie.
        states: Shape ``(N, size)``.
        free_parameters: Which parameters are sought.
        values: These, shape ``(k,)``.
    """

    def __init__(
        self, mechanism: Mechanism, layout: Layout, states: np.ndarray,
        free_parameters: FreeParameters, values: np.ndarray,
    ) -> None:
        self.mechanism, self.layout, self.states = mechanism, layout, states
        self.free_parameters, self.values = free_parameters, values
        self._constrained: Constrained | None = None

    def __getitem__(self, name: str) -> np.ndarray:
        """A variable, shape ``(N, ...)``; zero where the graph does not hold it."""
        place = self.layout.places.get(name)
        if place is None:
            return np.zeros((len(self.states), len(labels(self.mechanism, name))))
        return self.states[:, place]

    @property
    def constrained(self) -> Constrained:
        """The constraints and their derivatives."""
        if self._constrained is None:
            self._constrained = self.mechanism.constrained(self['q'], self['v'], self['a'])
        return self._constrained

    def response(self, torque: np.ndarray) -> Response:
        """How torques ``(N, u)`` accelerate the mechanism."""
        return self.mechanism.response(
            self.free_parameters.values(self.values), self['q'], self['v'], torque,
            self.free_parameters.matrix)

    def remember(self, other: Point) -> None:
        """Take over what another point of the same states knows, but for parameters."""
        if other._constrained is not None:
            self._constrained = other._constrained
