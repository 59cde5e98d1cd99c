"""Excitations: motions that can be sampled at any time and any lower speed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.design.basis import Basis

#: Longest motion in [s]: an hour at 1 kHz takes a gigabyte to sample.
LONGEST = 3600.0


@dataclass(frozen=True, eq=False)
class Motion:
    """A sampled motion of n joints, SI units.

    Attributes:
        t: Times in [s], shape ``(T,)``.
        q: Positions in [rad] or [m], shape ``(T, n)``.
        v: Velocities, shape ``(T, n)``.
        a: Accelerations, shape ``(T, n)``.
        jerk: Derivatives of the accelerations, shape ``(T, n)``.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    jerk: np.ndarray


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion that begins and ends at rest.

    Attributes:
        joint_names: The n joints.
        basis: Family of motions it is one of.
        coefficients: Coefficients of the family, shape ``(k, n)`` in [rad] or [m].
        speed: Played so many times as fast; below 1 is slower and gentler.
        design: How it was designed, as plain values.
    """

    joint_names: tuple[str, ...]
    basis: Basis
    coefficients: np.ndarray
    speed: float = 1.0
    design: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        coefficients = np.array(self.coefficients, dtype=float)
        shape = (len(self.basis.pose), len(self.joint_names))
        if coefficients.shape != shape or not np.isfinite(coefficients).all():
            raise ConfigurationError(
                'the coefficients do not fit the motion', found=coefficients.shape,
                allowed=f'finite numbers of shape {shape}',
            )
        if not 0.0 < self.speed < np.inf:
            raise ConfigurationError(
                'cannot be played at this speed', where='speed', found=self.speed,
                allowed='a number above 0',
                fix='Say 1.0 for the speed it was designed for',
            )
        if not self.duration <= LONGEST:
            raise ConfigurationError(
                'takes too long', where='duration', found=f'{self.duration:g} s',
                allowed=f'{LONGEST:g} s',
                fix='Play it faster, or plan a shorter one',
            )
        if not isinstance(self.design, Mapping):
            raise ConfigurationError(
                'is no mapping', where='design', found=type(self.design).__name__,
                allowed='plain values by name',
            )
        coefficients.setflags(write=False)
        object.__setattr__(self, 'coefficients', coefficients)

    @property
    def duration(self) -> float:
        """Length in [s]."""
        return self.basis.duration / self.speed

    def at_speed(self, speed: float) -> Excitation:
        """The same path, ``speed`` times as fast as it was designed."""
        return replace(self, speed=speed)

    def sample(self, t: np.ndarray) -> Motion:
        """The motion at times in [s], from 0 to ``duration``, shape ``(T,)``.

        Raises:
            ConfigurationError: A time before the beginning or after the end.
        """
        t = np.asarray(t, dtype=float)
        inside = (t >= 0.0) & (t <= self.duration * (1.0 + 1e-12))
        if not inside.all():
            raise ConfigurationError(
                'the motion is not defined there', where='time', found=t[~inside][0],
                allowed=f'0 to {self.duration} s',
                fix='Sample it within its duration',
            )
        functions = self.basis.sample(np.minimum(t * self.speed, self.basis.duration))
        scaled = functions * self.speed ** np.arange(len(functions))[:, None, None]
        return Motion(t, *(scaled @ self.coefficients))

    def grid(self, rate: float) -> Motion:
        """The motion at even times, both ends included, at no less than ``rate`` in [Hz]."""
        return self.sample(np.linspace(0.0, self.duration, int(np.ceil(self.duration * rate)) + 1))
