"""A load that the robot carried in one of two recordings, and nobody said so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.errors import SysidError
from sysid_ros.estimation.outer_iteration import frozen_at
from sysid_ros.estimation.payload.payload import identify_payload
from sysid_ros.estimation.problem import RegressionProblem

# With the load, so much of the error may be left, and it is no larger than so many times that of
# the rows that were fitted: scales and biases also look like loads, but leave more.
_LEFT, _AS_FITTED = 0.6, 1.25
# A load is at least this part of the moving mass.
_HEAVY = 0.02


@dataclass(frozen=True)
class UndeclaredLoad:
    """A load on the last link that would explain prediction errors.

    Attributes:
        body: Body that carries it.
        mass: Its mass in [kg].
        judged: Whether it is in the recording to judge by; else it is in what was fitted.
        error_without: Relative error of the recording with the load if there was none.
        error_with: The same with it.
    """

    body: str
    mass: float
    judged: bool
    error_without: float
    error_with: float

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return (
            f'The recording {"to judge by" if self.judged else "that was fitted"} looks as if the '
            f'robot carried {self.mass:.3g} kg at {self.body}, and the other as if it did not: '
            f'with this load the error falls from {100.0 * self.error_without:.3g} to '
            f'{100.0 * self.error_with:.3g} %.')


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
        None where no load on the end of the robot explains it, or the robot has several ends.
    """
    rows = frozen_at(fitted, values), frozen_at(judged, values)
    bodies = fitted.parameters.bodies
    masses = [values[fitted.parameters.index(f'{body}.mass')] for body in bodies]
    found = []
    for loaded, empty, is_judged in ((rows[1], rows[0], True), (rows[0], rows[1], False)):
        try:
            load = identify_payload(loaded, empty)
        except SysidError:
            continue
        explains = load.error_with < min(_LEFT * load.error_without, _AS_FITTED * error)
        if load.status.ok and load.significant and explains and (
                load.mass > _HEAVY * sum(masses)):
            found.append(UndeclaredLoad(
                load.body, load.mass, is_judged, load.error_without, load.error_with))
    return min(found, key=lambda load: load.error_with / load.error_without, default=None)
