"""How well a model predicts motion that is faster than what it was fitted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Key of a provenance.
FASTER_MOTION = 'faster_motion'
# Part of the speeds that the largest stands for: a few samples are no motion.
_HELD = 0.995


@dataclass(frozen=True)
class FasterMotion:
    """The error on each joint's faster half of the rows, predicted by fits to the slower half.

    Attributes:
        relative_error: Torque error in parts of the torque, mean over stretches of time.
        deviation: Its standard error over them.
        factors: By joint, the largest speed that was predicted over the largest that was fitted.
    """

    relative_error: float
    deviation: float
    factors: Mapping[str, float]

    @classmethod
    def of(
        cls, errors: np.ndarray, joints: Sequence[str], speeds: np.ndarray, usable: np.ndarray
    ) -> FasterMotion | None:
        """From errors of folds by speed.

        Args:
            errors: Relative errors on the fast rows of each stretch, shape ``(folds,)``.
            joints: Names of the n joints.
            speeds: Speed of every joint at every row in [rad/s] or [m/s], shape ``(T, n)``.
            usable: Rows that count, shape ``(T, n)``; slow are those up to their median.

        Returns:
            None where no stretch was predicted, or no joint moved.
        """
        factors = {}
        for joint, speed, use in zip(joints, speeds.T, usable.T, strict=True):
            median = float(np.median(speed[use])) if use.any() else 0.0
            if median > 0.0:
                factors[joint] = float(np.quantile(speed[use], _HELD)) / median
        if not (len(errors) and np.isfinite(errors).all() and factors):
            return None
        return cls(
            float(errors.mean()), float(errors.std(ddof=1) / np.sqrt(len(errors))), factors)

    @property
    def sentence(self) -> str:
        """The error to expect of faster motion, for people."""
        fastest = f'{max(self.factors.values()):.1f}'
        slowest = f'{min(self.factors.values()):.1f}'
        times = fastest if slowest == fastest else f'{slowest} to {fastest}'
        return (
            f'Fitted to the slower half of the training rows alone, this model is '
            f'{100.0 * self.relative_error:.2g} ± {100.0 * self.deviation:.1g} % off on the '
            f'faster half, which goes up to {times} times as fast, by joint.')

    def to_json(self) -> dict[str, Any]:
        """Plain values, the sentence among them."""
        return {
            'relative_error': self.relative_error, 'deviation': self.deviation,
            'speed_factors': dict(self.factors), 'in_words': self.sentence}

    @classmethod
    def from_json(cls, data: Any) -> FasterMotion | None:
        """The inverse of :meth:`to_json`; None where the data is no such thing."""
        try:
            factors = {str(name): float(value) for name, value in data['speed_factors'].items()}
            return cls(
                float(data['relative_error']), float(data['deviation']), factors
            ) if factors else None
        except (AttributeError, KeyError, TypeError, ValueError):
            return None
