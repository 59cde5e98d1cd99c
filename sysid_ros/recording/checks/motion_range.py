"""How far, how fast and under which load a robot moved: up to there a model was tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_ros.recording.dataset import Dataset

# Part of the samples that the range of a quantity holds: a few samples make no range.
_HELD = 0.995
# A motion goes beyond another from this factor on; of positions, by this part of their range.
_BEYOND, _FURTHER = 1.2, 0.1
# Speeds and accelerations below these, in [rad/s] or [m/s] and per second, are those of noise.
_SLOW, _STEADY = 0.02, 0.1


@dataclass(frozen=True, eq=False)
class MotionRange:
    """Ranges of positions, speeds, accelerations and torques of each joint.

    Attributes:
        joint_names: The n joints.
        lower: Smallest positions in [rad] or [m], shape ``(n,)``, like the others.
        upper: Largest positions in [rad] or [m].
        speed: Largest speeds in [rad/s] or [m/s].
        acceleration: Largest accelerations in [rad/s²] or [m/s²].
        torque: Largest torques in [N·m] or [N].
    """

    joint_names: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    torque: np.ndarray

    @classmethod
    def of(cls, dataset: Dataset) -> MotionRange:
        """The range of all but half a percent of the samples."""
        torque = np.where(dataset.mask, np.abs(dataset.tau), 0.0)
        speed, acceleration, felt = (
            np.quantile(np.abs(values), _HELD, axis=0)
            for values in (dataset.v, dataset.a, torque))
        return cls(
            dataset.joint_names, dataset.q.min(axis=0), dataset.q.max(axis=0), speed,
            acceleration, felt)

    def beyond(self, other: MotionRange) -> tuple[str, ...]:
        """In what this motion goes beyond another, in words, with the joint that does so most.

        Args:
            other: Range of the same joints.
        """
        found = []
        for word, here, there, least in (
            ('speed', self.speed, other.speed, _SLOW),
            ('acceleration', self.acceleration, other.acceleration, _STEADY),
            ('torque', self.torque, other.torque, 0.0),
        ):
            with np.errstate(divide='ignore', invalid='ignore'):
                factor = np.where(here > least, here / np.maximum(there, 1e-12), 0.0)
            worst = int(np.argmax(factor))
            if factor[worst] > _BEYOND:
                times = f'{factor[worst]:.1f}' if factor[worst] < 100.0 else 'over 100'
                found.append(f'{times} times the {word} ({self.joint_names[worst]})')
        room = np.maximum(other.upper - other.lower, 1e-12)
        further = np.maximum(self.upper - other.upper, other.lower - self.lower) / room
        worst = int(np.argmax(further))
        if further[worst] > _FURTHER:
            found.append(f'positions outside of the range ({self.joint_names[worst]})')
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """Plain values by joint."""
        return {
            name: {
                'position': [float(self.lower[k]), float(self.upper[k])],
                'speed': float(self.speed[k]), 'acceleration': float(self.acceleration[k]),
                'torque': float(self.torque[k]),
            } for k, name in enumerate(self.joint_names)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], joints: Sequence[str]) -> MotionRange | None:
        """The inverse of :meth:`to_json`; None where a joint or a number is missing."""
        try:
            rows = [data[name] for name in joints]
            lower, upper = np.array([row['position'] for row in rows], dtype=float).T
            speed, acceleration, torque = (
                np.array([row[key] for row in rows], dtype=float)
                for key in ('speed', 'acceleration', 'torque'))
        except (KeyError, OverflowError, TypeError, ValueError):
            return None
        if not all(one.shape == lower.shape for one in (upper, speed, acceleration, torque)):
            return None
        return cls(tuple(joints), lower, upper, speed, acceleration, torque)
