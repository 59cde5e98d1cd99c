"""Torque limits that are to be found: where a search for them begins, and what data do not tell.

Data sheets promise more than a drive has, and no motion depends on a limit that it never comes to:
a search that begins above would stay there. Where a real drive was at its limit it fell behind its
command, so that along the measured motion the command asks for more than there was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.starts import initial_states
from sysid_ros.mechanics.actuators.actuators import JointActuator
from sysid_ros.mechanics.actuators.driven import torques_along
from sysid_ros.mechanics.actuators.envelope import LIMITS, Limits, at_limits

# Part of the samples in which commands ask for more than the limits that a search begins with.
_REACHED = 0.25
# Guesses are not made smaller than this part, and halvings that find by how much.
_LEAST, _HALVINGS = 1e-2, 20


def with_reachable_limits(problem: TrajectoryProblem) -> TrajectoryProblem:
    """The problem with limits that are sought begun where its commands ask for more.

    Along the measured motion commands ask for torque :math:`f(u, q, v; p)`. The limits of a joint
    that are free are scaled down from their first guess until that is beyond them in a quarter of
    the samples.

    Args:
        problem: The problem, its parameters at the first guess.
    """
    drives, parameters = problem.actuated, problem.parameters
    free = list(_free_limits(problem))
    if drives is None or problem.near or not free:
        return problem
    asked, v = _asked_torques(problem)
    values: dict[str, float] = {}
    for each, places in free:
        j, limits = drives.joint_names.index(each.joint), each.limits_of(parameters)
        scale = _scale(asked[:, j], v[:, j], limits, places)
        values |= {f'{each.joint}.{LIMITS[k].name}': scale * limits[k] for k in places}
    return problem.with_values(parameters.with_values(values).values)


def with_silent_limits_as_given(
    problem: TrajectoryProblem, values: np.ndarray, silent: Sequence[str]
) -> np.ndarray:
    """Values with limits that nothing depends on as given, where that is more, shape ``(p,)``.

    A search leaves them where simulated motion just does not come to them: faster motion would.

    Args:
        problem: The problem.
        values: What was found, shape ``(p,)``.
        silent: Names of free parameters that nothing measured depends on.
    """
    found, parameters = values.copy(), problem.parameters
    for each, places in _free_limits(problem):
        for name in (f'{each.joint}.{LIMITS[k].name}' for k in places):
            if name in silent:
                k = parameters.index(name)
                found[k] = max(found[k], parameters.prior[k])
    return found


def _free_limits(problem: TrajectoryProblem) -> Iterator[tuple[JointActuator, list[int]]]:
    """Actuators with limits that are free, and the places of these among the limits."""
    parameters, drives = problem.parameters, problem.actuated
    for each in drives.actuators.joints if drives is not None else ():
        places = [k for k in each.free_limits if parameters.free[
            parameters.index(f'{each.joint}.{LIMITS[k].name}')]]
        if places:
            yield each, places


def _asked_torques(problem: TrajectoryProblem) -> tuple[np.ndarray, np.ndarray]:
    """Torques that commands ask for along the measured motion, and velocities, ``(S, n)`` each."""
    drives, asked, speeds = problem.actuated, [], []
    assert drives is not None
    for segment, (q, v) in zip(problem.segments, initial_states(problem), strict=True):
        assert segment.commands is not None  # required of problems with actuators
        asked.append(torques_along(
            drives, problem.parameters.values, segment.commands, segment.t, q, v, limited=False))
        speeds.append(v)
    return np.concatenate(asked), np.concatenate(speeds)


def _scale(torque: np.ndarray, v: np.ndarray, limits: Limits, places: list[int]) -> float:
    """Largest scale up to 1 of some limits that are passed in enough of the samples; 1 for none."""
    def is_reached(scale: float) -> bool:
        scaled = list(limits)
        for k in places:
            scaled[k] *= scale
        own = scaled[0], scaled[1], scaled[2]
        return bool(np.mean(at_limits(torque, v, own)) >= _REACHED)

    if is_reached(1.0) or not is_reached(_LEAST):
        return 1.0
    low, high = _LEAST, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_reached(middle) else (low, middle)
    return low
