"""Named, unit-carrying parameters with a prior, bounds and a free/fixed mask."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sysid_ros.errors import ParameterError, did_you_mean
from sysid_ros.robot.inertia import INERTIAL_FIELDS, INERTIAL_UNITS


@dataclass(frozen=True)
class Parameter:
    """One scalar parameter.

    Args:
        name: ``<link>.<field>`` or ``<joint>.<field>``.
        unit: SI unit, ``''`` for none.
        prior: Value before identification.
        lower: Smallest value that physics allows.
        upper: Largest value that physics allows.
        free: Whether it may be changed by a fit.
    """

    name: str
    unit: str
    prior: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf
    free: bool = True


_ARRAYS = ('values', 'prior', 'lower', 'upper', 'free')


@dataclass(frozen=True, eq=False)
class ParameterSet:
    """An ordered set of parameters and its vector view.

    Attributes:
        names: Unique names, p of them.
        units: SI units.
        values: Current values, shape ``(p,)``.
        prior: Values before identification, shape ``(p,)``.
        lower: Lower bounds, shape ``(p,)``.
        upper: Upper bounds, shape ``(p,)``.
        free: True for the parameters a fit may change, shape ``(p,)``.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: np.ndarray
    prior: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    free: np.ndarray

    def __post_init__(self) -> None:
        duplicates = sorted(name for name, count in Counter(self.names).items() if count > 1)
        if duplicates:
            raise ParameterError('parameter names are not unique', found=', '.join(duplicates))
        if len(self.units) != len(self.names):
            raise self._wrong_length('units', (len(self.units),))
        for field in _ARRAYS:
            array = self._checked(field)
            array.setflags(write=False)
            object.__setattr__(self, field, array)
        # Bounds that are infinite on the same side leave no number either.
        crossed = np.flatnonzero(
            ~(self.lower <= self.upper) | (self.lower == np.inf) | (self.upper == -np.inf))
        if crossed.size:
            k = crossed[0]
            raise ParameterError(
                'the lower bound is not below the upper', where=self.names[k],
                found=f'{self.lower[k]} and {self.upper[k]}',
                allowed='numbers in this order; -inf below and inf above for none',
            )

    def _checked(self, field: str) -> np.ndarray:
        """A vector of the set, as a copy of its own."""
        given = getattr(self, field)
        try:
            array = np.array(given, dtype=bool if field == 'free' else float)
        except (TypeError, ValueError) as error:
            raise ParameterError(f'{field} are not numbers: {error}', found=given) from error
        if array.shape != (len(self.names),):
            raise self._wrong_length(field, array.shape)
        bad = np.flatnonzero(~np.isfinite(array))
        if field in ('values', 'prior') and bad.size:
            raise ParameterError(
                f'{field} is not finite', where=self.names[bad[0]], found=array[bad[0]],
                allowed='a finite number',
            )
        return array

    def _wrong_length(self, field: str, shape: tuple[int, ...]) -> ParameterError:
        return ParameterError(
            f'{field} has the wrong length', found=shape, allowed=f'({len(self.names)},)'
        )

    @classmethod
    def of(cls, parameters: Sequence[Parameter]) -> ParameterSet:
        """A set at its prior."""
        prior = np.array([parameter.prior for parameter in parameters])
        return cls(
            names=tuple(parameter.name for parameter in parameters),
            units=tuple(parameter.unit for parameter in parameters),
            values=prior,
            prior=prior,
            lower=np.array([parameter.lower for parameter in parameters]),
            upper=np.array([parameter.upper for parameter in parameters]),
            free=np.array([parameter.free for parameter in parameters], dtype=bool),
        )

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> float:
        return float(self.values[self.index(name)])

    def index(self, name: str) -> int:
        """Position of a parameter in the vectors.

        Raises:
            ParameterError: There is none of that name; the nearest is named.
        """
        try:
            return self.names.index(name)
        except ValueError:
            raise ParameterError(
                'there is no such parameter', found=repr(name),
                fix=did_you_mean(name, self.names),
            ) from None

    def with_values(self, values: np.ndarray | Mapping[str, float]) -> ParameterSet:
        """The parameter set with other values.

        Args:
            values: Vector of shape ``(p,)``, or some values by name.

        Raises:
            ParameterError: Wrong length, an unknown name, or a non-finite value.
        """
        if isinstance(values, Mapping):
            changed = {self.index(name): value for name, value in values.items()}
            vector = [changed.get(k, value) for k, value in enumerate(self.values)]
            return replace(self, values=np.array(vector, dtype=object))
        return replace(self, values=values)

    def updated(self, other: ParameterSet) -> ParameterSet:
        """The set with what another says of the parameters that both have.

        Args:
            other: A set with any parameters.
        """
        mine, theirs = (
            [one.index(name) for name in self.names if name in other] for one in (self, other))
        changed = {field: getattr(self, field).copy() for field in _ARRAYS}
        for field, array in changed.items():
            array[mine] = getattr(other, field)[theirs]
        return replace(self, **changed)

    def fixed(self, *patterns: str) -> ParameterSet:
        """The parameter set with every parameter that matches a pattern fixed at its value.

        Args:
            patterns: Names with ``*`` and ``?`` wildcards.

        Raises:
            ParameterError: A pattern matches no parameter.
        """
        free = self.free.copy()
        for pattern in patterns:
            # Brackets stand for themselves: names may hold them.
            glob = pattern.replace('[', '[[]')
            matches = [fnmatch.fnmatchcase(name, glob) for name in self.names]
            if not any(matches):
                raise ParameterError(
                    'no parameter matches the pattern', found=repr(pattern),
                    fix=did_you_mean(pattern, self.names),
                )
            free &= ~np.array(matches)
        return replace(self, free=free)

    def body_slice(self, body: str) -> slice:
        """Where the ten inertial parameters of a body lie in the vectors.

        Raises:
            ParameterError: The set holds no such body.
        """
        start = self.index(f'{body}.{INERTIAL_FIELDS[0]}')
        return slice(start, start + len(INERTIAL_FIELDS))

    def inertial(self, body: str) -> np.ndarray:
        """Inertial parameters of a body at its joint-frame origin, shape ``(10,)``."""
        return self.values[self.body_slice(body)].copy()

    @property
    def bodies(self) -> tuple[str, ...]:
        """Bodies whose inertial parameters are in the set, in order."""
        suffix = f'.{INERTIAL_FIELDS[0]}'
        return tuple(name.removesuffix(suffix) for name in self.names if name.endswith(suffix))

    def is_inertial(self, name: str) -> bool:
        """Whether a parameter belongs to a body; a joint may have the name of a link."""
        owner, _, field = name.rpartition('.')
        return field in INERTIAL_FIELDS and owner in self.bodies

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; infinite bounds become ``None``."""
        bound = [[None if np.isinf(b) else float(b) for b in getattr(self, side)]
                 for side in ('lower', 'upper')]
        return {
            'names': list(self.names), 'units': list(self.units), 'values': self.values.tolist(),
            'prior': self.prior.tolist(), 'lower': bound[0], 'upper': bound[1],
            'free': self.free.tolist(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ParameterSet:
        """The inverse of :meth:`to_json`.

        Raises:
            ParameterError: The data does not describe a parameter set.
        """
        try:
            return cls(
                names=tuple(data['names']), units=tuple(data['units']), values=data['values'],
                prior=data['prior'],
                lower=np.array([-np.inf if x is None else x for x in data['lower']]),
                upper=np.array([np.inf if x is None else x for x in data['upper']]),
                free=data['free'],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ParameterError(f'cannot be read as parameters: {error!r}') from error


def inertial_parameter_list(body: str, prior: np.ndarray) -> list[Parameter]:
    """The ten inertial parameters of one body, masses bounded below by zero.

    Args:
        body: Name of the body.
        prior: Inertial parameters, shape ``(10,)``.
    """
    return [
        Parameter(f'{body}.{field}', unit, float(value), lower=0.0 if k == 0 else -np.inf)
        for k, (field, unit, value) in enumerate(
            zip(INERTIAL_FIELDS, INERTIAL_UNITS, prior, strict=True)
        )
    ]
