"""Folds of a recording for cross-validation: rows to fit, and rows to predict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.joint_factors import JointFactors
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.repetition import repetition

# A joint that is slower than this part of its root mean square speed rests.
_RESTS = 0.05


@dataclass(frozen=True, eq=False)
class Fold:
    """One split of a problem's rows.

    Attributes:
        training: The problem with the rows to fit.
        held_out: The problem with the rows to predict.
        stretch: The samples that were held out, whether their rows are usable or not, ``(T,)``.
    """

    training: RegressionProblem
    held_out: RegressionProblem
    stretch: np.ndarray


def time_folds(problem: RegressionProblem, count: int = 5, gap: float = 0.5) -> tuple[Fold, ...]:
    """Split the rows into stretches with as many rows in motion, each held out once.

    Neighbouring rows resemble each other, so rows are never drawn one by one, and those
    beside a held-out stretch are left out of the training, too. Of motion that repeats itself a
    stretch is held out of all repetitions. Rows are compressed once for all folds.

    Args:
        problem: Rows and prior.
        count: Number of folds.
        gap: Time beside a held-out stretch that is not used at all in [s].

    Returns:
        The folds, in the order of time.

    Raises:
        ConfigurationError: Fewer than two folds, a negative gap, or fewer rows than folds.
    """
    stretches = _stretches(problem, count, gap)
    pieces = _Pieces.of(problem, [rows for stretch in stretches for rows in stretch])
    return tuple(
        Fold(pieces.joined(training), pieces.joined(held_out), held_out)
        for held_out, training in stretches
    )


def speed_folds(
    problem: RegressionProblem, speeds: np.ndarray, count: int = 5, gap: float = 0.5
) -> tuple[Fold, ...]:
    """Fit the slow rows, predict the fast ones of another stretch of time.

    A row is fast when its joint moves faster than the median of the joint's usable rows, so
    that each half of every joint's rows is on one side. Stretches of the same motion do not
    show how a model extrapolates; these folds do, at about half the speed.

    Args:
        problem: Rows and prior.
        speeds: Speed of every joint at every row in [rad/s] or [m/s], shape ``(T, n)``.
        count: Number of stretches, each held out once.
        gap: Time beside a held-out stretch that is not used at all in [s].

    Returns:
        The folds, in the order of time.

    Raises:
        ConfigurationError: As for :func:`time_folds`, or the speeds are not the rows'.
    """
    slow = _slow(problem, speeds)
    folds = []
    for held_out, training in _stretches(problem, count, gap):
        slow_rows = _of_rows(problem, training[:, None] & slow)
        fast_rows = _of_rows(problem, held_out[:, None] & ~slow)
        folds.append(Fold(slow_rows, fast_rows, held_out))
    return tuple(folds)


def slow_rows(problem: RegressionProblem, speeds: np.ndarray) -> RegressionProblem:
    """The problem with the rows that :func:`speed_folds` fits, of all stretches.

    Args:
        problem: Rows and prior.
        speeds: Speed of every joint at every row in [rad/s] or [m/s], shape ``(T, n)``.

    Raises:
        ConfigurationError: The speeds are not the rows'.
    """
    return _of_rows(problem, _slow(problem, speeds))


def _slow(problem: RegressionProblem, speeds: np.ndarray) -> np.ndarray:
    """Where joints are no faster than the median of their usable rows, shape ``(T, n)``."""
    if speeds.shape != problem.torque.shape:
        raise ConfigurationError(
            'the speeds do not belong to the rows', found=speeds.shape,
            allowed=problem.torque.shape,
        )
    median = np.array([
        np.median(speed[use]) if use.any() else 0.0
        for speed, use in zip(speeds.T, problem.usable.T, strict=True)
    ])
    return speeds <= median


def _of_rows(problem: RegressionProblem, rows: np.ndarray) -> RegressionProblem:
    """The problem with some rows of every joint, shape ``(T, n)``."""
    return problem.with_usable(problem.usable & rows)


def _stretches(
    problem: RegressionProblem, count: int, gap: float
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows held out and rows of training for every stretch of time, shape ``(T,)`` each."""
    samples = len(problem.torque)
    if not 2 <= count <= samples:
        raise ConfigurationError(
            'the number of folds cannot be used', found=count, allowed=f'2 to {samples}',
            fix='Take 5')
    if not gap >= 0.0:
        raise ConfigurationError(
            'the gap is negative', found=gap, allowed='0 s or more', fix='Take 0.5 s')
    period = _period(problem)
    if period is not None:
        return _phases(problem, period, count, gap)
    margin = round(gap * problem.rate)
    edges = _edges(_moving(problem), count)
    stretches = []
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        held_out, training = np.zeros(samples, dtype=bool), np.ones(samples, dtype=bool)
        held_out[start:stop] = True
        training[max(start - margin, 0):stop + margin] = False
        stretches.append((held_out, training))
    return stretches


def _edges(moving: np.ndarray, count: int) -> np.ndarray:
    """Where stretches begin and end that have as many moving rows each, shape ``(count + 1,)``.

    Args:
        moving: Rows in which something moves, shape ``(T,)``.
        count: Number of stretches.
    """
    samples = len(moving)
    if moving.all() or np.count_nonzero(moving) < count:
        return np.linspace(0, samples, count + 1).round().astype(int)
    passed = np.cumsum(moving)
    inner = np.searchsorted(passed, passed[-1] * np.arange(1, count) / count) + 1
    return np.concatenate([[0], inner, [samples]])


def _moving(problem: RegressionProblem) -> np.ndarray:
    """Rows in which a joint moves: a stretch of rest alone tells nothing, shape ``(T,)``."""
    if problem.motion is None:
        return np.ones(len(problem.torque), dtype=bool)
    data, parallel = problem.motion.dataset, problem.motion.parallel_filter
    speeds = np.abs(data.v[parallel.retained_samples(data.rate, data.segments)[0]])
    typical = np.sqrt(np.mean(speeds**2, axis=0))
    return np.asarray((speeds > _RESTS * typical).any(axis=1))


def _period(problem: RegressionProblem) -> int | None:
    """Samples of the motion behind the rows after which it repeats itself, if it does."""
    return None if problem.motion is None else repetition(problem.motion.dataset.q)


def _phases(
    problem: RegressionProblem, period: int, count: int, gap: float
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Held-out and training rows of periodic motion: parts of its period, in every repetition.

    A stretch that was fitted in another repetition tells nothing of how a model predicts.
    """
    assert problem.motion is not None
    data, parallel = problem.motion.dataset, problem.motion.parallel_filter
    phase = parallel.retained_samples(data.rate, data.segments)[0] % period / period
    margin = gap * data.rate / period
    stretches = []
    for part in range(count):
        held_out = np.floor(phase * count).astype(int) == part
        # From the middle of the part, around the period.
        away = np.abs((phase - (part + 0.5) / count + 0.5) % 1.0 - 0.5)
        stretches.append((held_out, away > 0.5 / count + margin))
    return stretches


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Compressed rows of stretches that folds begin and end with."""

    problem: RegressionProblem
    starts: np.ndarray
    factors: tuple[JointFactors, ...]

    @classmethod
    def of(cls, problem: RegressionProblem, rows: list[np.ndarray]) -> _Pieces:
        """Pieces between all places where one of the masks, shape ``(T,)``, begins or ends."""
        cuts = [np.flatnonzero(np.diff(mask)) + 1 for mask in rows]
        edges = np.unique(np.concatenate([[0], *cuts, [len(problem.torque)]]))
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
        if not chosen:
            return part
        return part.with_factors(JointFactors.merged(chosen).triangles, 'base')
