"""A load that the robot carried in one of several recordings, and nobody said so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from sysid_ros.errors import SysidError
from sysid_ros.estimation.outer_iteration import frozen_at
from sysid_ros.estimation.payload.payload import identify_payload
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.estimation.regression.noise import residual_statistics
from sysid_ros.robot.load_carriers import load_carriers

# With the load, so much of the error may be left, and it is no larger than so many times that of
# the rows that were fitted: scales and biases also look like loads, but leave more.
_LEFT, _AS_FITTED = 0.6, 1.25
# A load is at least this part of the moving mass.
_HEAVY = 0.02
# Each of several recordings is compared with the rest, of so many at most.
_MOST_RECORDINGS = 8


@dataclass(frozen=True)
class UndeclaredLoad:
    """A load on an end of the robot that would explain prediction errors.

    Attributes:
        body: Body that carries it.
        mass: Its mass in [kg].
        recording: Which recording has it, in words.
        error_without: Relative error of the recording with the load if there was none.
        error_with: The same with it.
        number: Place of the recording among several that were fitted, from 0; None of others.
    """

    body: str
    mass: float
    recording: str
    error_without: float
    error_with: float
    number: int | None = None

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return (
            f'The recording {self.recording} looks as if the robot carried {self.mass:.3g} kg at '
            f'{self.body}, and the rest as if it did not: with this load the error falls from '
            f'{100.0 * self.error_without:.3g} to {100.0 * self.error_with:.3g} %.')


def undeclared_load(
    fitted: RegressionProblem, judged: RegressionProblem, values: np.ndarray, error: float
) -> UndeclaredLoad | None:
    """The load by which two recordings differ, if one explains what a model misses.

    Args:
        fitted: Rows that were fitted.
        judged: Rows to judge by.
        values: Parameters, shape ``(p,)``, at which what is not linear is held.
        error: Relative error on the rows that were fitted.

    Returns:
        None where no load on an end of the robot explains it.
    """
    rows = frozen_at(fitted, values), frozen_at(judged, values)
    return _clearest(values, error, [
        ('to judge by', rows[1], rows[0]), ('that was fitted', rows[0], rows[1])])


def load_in_one(fitted: RegressionProblem, values: np.ndarray) -> UndeclaredLoad | None:
    """The load of one of several recordings that were fitted together, if it explains their errors.

    Args:
        fitted: Rows of all recordings.
        values: Parameters found, shape ``(p,)``, at which what is not linear is held.

    Returns:
        None where no load of one of them on an end of the robot explains what is left.
    """
    count = len(fitted.recordings)
    if not 1 < count <= _MOST_RECORDINGS:
        return None
    rows, number = frozen_at(fitted, values), np.zeros((len(fitted.torque), 1), dtype=int)
    for k, (start, stop) in enumerate(fitted.recordings):
        number[start:stop] = k
    found = [
        _clearest(values, None, [(
            f'{k + 1} of {count} that were fitted', rows.with_usable(rows.usable & (number == k)),
            rows.with_usable(rows.usable & (number != k)))])
        for k in range(count)]
    return min(
        (replace(load, number=k) for k, load in enumerate(found) if load is not None),
        key=_left, default=None)


def _clearest(
    values: np.ndarray, error: float | None,
    pairs: Sequence[tuple[str, RegressionProblem, RegressionProblem]],
) -> UndeclaredLoad | None:
    """The load that explains most, among recordings with their names and those without it.

    Args:
        values: Parameters found, shape ``(p,)``.
        error: Relative error of rows that nothing is wrong with; None where none were fitted alone.
        pairs: Recordings.
    """
    found = []
    for (name, loaded, empty), link in product(pairs, load_carriers(pairs[0][1].model.robot)):
        # Where nothing drives the robot, no torque tells what it carries.
        if not (loaded.usable & (loaded.torque != 0.0)).any():
            continue
        try:
            load = identify_payload(loaded, empty, link=link)
            fitted = error if error is not None else _undisturbed(empty, load.arm)
        except SysidError:
            continue
        parameters = loaded.parameters
        mass = sum(values[parameters.index(f'{body}.mass')] for body in parameters.bodies)
        explains = load.error_with < min(_LEFT * load.error_without, _AS_FITTED * fitted)
        if load.status.ok and load.significant and explains and load.mass > _HEAVY * mass:
            found.append(UndeclaredLoad(
                load.body, load.mass, name, load.error_without, load.error_with))
    return min(found, key=_left, default=None)


def _left(load: UndeclaredLoad) -> float:
    """Part of the error that is left with a load."""
    return load.error_with / load.error_without


def _undisturbed(empty: RegressionProblem, arm: np.ndarray) -> float:
    """Relative error of recordings without a load, zero where the one with it disturbs their fit.

    What is no load, as a wrong scale, is made up for in the parameters of the arm.
    """
    error = residual_statistics(empty, arm).relative_error
    alone = WeightedLeastSquares().fit(empty).residuals.relative_error
    return error if error < _AS_FITTED * alone else 0.0
