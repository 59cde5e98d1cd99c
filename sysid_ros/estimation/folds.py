"""Folds of a recording for cross-validation: rows to fit, and rows to predict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.joint_factors import JointFactors
from sysid_ros.estimation.problem import RegressionProblem


@dataclass(frozen=True, eq=False)
class Fold:
    """One split of a problem's rows.

    Attributes:
        training: The problem with the rows to fit.
        held_out: The problem with the rows to predict.
    """

    training: RegressionProblem
    held_out: RegressionProblem


def time_folds(problem: RegressionProblem, count: int = 5, gap: float = 0.5) -> tuple[Fold, ...]:
    """Split the rows into stretches of time, each held out once.

    Neighbouring rows resemble each other, so rows are never drawn one by one, and those
    beside a held-out stretch are left out of the training, too. Rows are compressed once for
    all folds.

    Args:
        problem: Rows and prior.
        count: Number of folds.
        gap: Time beside a held-out stretch that is not used at all in [s].

    Returns:
        The folds, in the order of time.

    Raises:
        ConfigurationError: Fewer than two folds, a negative gap, or fewer rows than folds.
    """
    samples = len(problem.torque)
    if not 2 <= count <= samples:
        raise ConfigurationError(
            'the number of folds cannot be used', found=count, allowed=f'2 to {samples}'
        )
    if not gap >= 0.0:
        raise ConfigurationError('the gap is negative', found=gap, allowed='0 s or more')
    margin = round(gap * problem.rate)
    edges = np.linspace(0, samples, count + 1).round().astype(int)
    pieces = _Pieces.of(problem, [edges, edges - margin, edges + margin])
    folds = []
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        held_out, training = np.zeros(samples, dtype=bool), np.ones(samples, dtype=bool)
        held_out[start:stop] = True
        training[max(start - margin, 0):stop + margin] = False
        folds.append(Fold(pieces.joined(training), pieces.joined(held_out)))
    return tuple(folds)


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Compressed rows of stretches that folds begin and end with."""

    problem: RegressionProblem
    starts: np.ndarray
    factors: tuple[JointFactors, ...]

    @classmethod
    def of(cls, problem: RegressionProblem, cuts: list[np.ndarray]) -> _Pieces:
        edges = np.unique(np.clip(np.concatenate(cuts), 0, len(problem.torque)))
        empty = JointFactors.empty(problem.torque.shape[1], len(problem.parameters))
        factors = tuple(
            empty.folded(problem.regressor[i:j], problem.torque[i:j], problem.usable[i:j])
            for i, j in zip(edges[:-1], edges[1:], strict=True)
        )
        return cls(problem, edges[:-1], factors)

    def joined(self, rows: np.ndarray) -> RegressionProblem:
        """The problem with only some of its rows, all or none of each piece."""
        chosen = [
            factors for start, factors in zip(self.starts, self.factors, strict=True)
            if rows[start]
        ]
        part = self.problem.restricted(rows)
        if chosen:
            part.__dict__['factors'] = JointFactors.merged(chosen).triangles
        return part
