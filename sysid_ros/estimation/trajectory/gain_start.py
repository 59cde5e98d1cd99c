r"""Gains of drives that are sought begin at what described links take, and one holds their scale.

Gains that are sought may be guessed wrong by any factor, one for all drives of a robot, say; motion
under a hundredfold gain tells nothing of where to go. Along the smoothed motion the torque that
commands make is proportional to the gains of a drive, and descriptions are wrong by some tens of
percent, so that for each joint

.. math:: \tau_l - \tau_h = s\, \tau_g - T \theta, \qquad s \ge 0,

by least squares, with the torque :math:`\tau_l` that the described links take, :math:`\tau_g` made
by the gains that are sought at their first guess and :math:`\tau_h` by all else, and friction,
armature and offset of the joint within their bounds. Gains that are far off begin with s times
their guesses.

Where all gains and the links are sought, motion tells nothing of the scale of all torques: the gain
is held whose torque the described links explain best.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

from sysid_ros.errors import SysidError
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.trajectory.actuator_constants import with_damping_by_drives
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.estimation.trajectory.smoothed_rows import smoothed_rows
from sysid_ros.estimation.trajectory.starts import hidden_joints
from sysid_ros.mechanics.actuators.actuators import DELAY, FILTER, ActuatedModel

# Gains explain at least this part of the squared torques that friction and armature leave of the
# links, or their guesses stand.
_EXPLAINED = 0.2
# Within this factor a guess is as good.
_NEAR = 1.5
# A gain stays above this part of where it begins.
_LEAST = 1e-3


class _Factor(NamedTuple):
    """What described links tell of the gains of a joint.

    Attributes:
        value: By what they are larger than guessed; 1 where the links do not tell.
        left: Part of the links' squared torques that nothing explains.
    """

    value: float
    left: float

    @property
    def is_far(self) -> bool:
        """Whether the guess is far off."""
        return not 1.0 / _NEAR < self.value < _NEAR


def with_gains_by_links(problem: TrajectoryProblem) -> TrajectoryProblem:
    """The problem with gains that described links take, damping by drives, and one scale held.

    Args:
        problem: The problem.

    Returns:
        The problem itself where no gain is sought.
    """
    problem, drives = with_damping_by_drives(problem), problem.actuated
    gains = {} if drives is None else _free_gains(problem, drives)
    if drives is None or not gains or hidden_joints(problem).any():
        return problem
    try:
        factors = _factors(problem, gains)
    except (SysidError, np.linalg.LinAlgError):
        # A start is a convenience: what is wrong shows where it matters.
        return problem
    guesses = problem.parameters.prior.copy()
    far = [int(own[0]) for j, own in gains.items() if factors[j].is_far]
    for j, own in gains.items():
        guesses[own] *= factors[j].value if factors[j].is_far else 1.0
    if far and not problem.near:
        problem = _beginning_there(problem, guesses, np.concatenate(list(gains.values())), far)
    if not _scale_is_open(problem, drives, gains):
        return problem
    best = int(gains[min(gains, key=lambda j: factors[j].left)][0])
    # Values of a fit belong together: a gain that moves alone leaves all others behind.
    guess = problem.parameters.values[best] if problem.near else guesses[best]
    agrees = min(factors[j].left for j in gains) < 1.0
    return _with_scale_held(problem, best, float(guess), (
        'which agrees with the described links' if agrees else
        'a guess, since the described links do not tell it'))


def _beginning_there(
    problem: TrajectoryProblem, guesses: np.ndarray, places: np.ndarray, far: list[int]
) -> TrajectoryProblem:
    """The problem with other values of gains, and a word on those that were far off."""
    parameters = problem.parameters
    values, lower = parameters.values.copy(), parameters.lower.copy()
    values[places] = guesses[places]
    lower[places] = np.minimum(lower[places], _LEAST * guesses[places])
    words = ', '.join(f'{parameters.names[k]} {guesses[k]:.3g}' for k in far)
    return replace(
        problem, parameters=replace(parameters, lower=lower).with_values(values),
        warnings=(*problem.warnings, (
            'First guesses of gains were far from what the described links take, and the search '
            f'began with those: {words}.')))


def _free_gains(problem: TrajectoryProblem, drives: ActuatedModel) -> dict[int, np.ndarray]:
    """Places of the free gains among all parameters, by the place of their joint."""
    found = {}
    for each in drives.actuators.joints:
        names = [f'{each.joint}.{gain}' for gain in each.kind.gains if gain in each.free]
        places = [problem.parameters.index(name) for name in names]
        own = np.array([k for k in places if problem.parameters.free[k]], dtype=int)
        if len(own):
            found[drives.joint_names.index(each.joint)] = own
    return found


def _scale_is_open(
    problem: TrajectoryProblem, drives: ActuatedModel, gains: dict[int, np.ndarray]
) -> bool:
    """Whether all torques may be larger by a common factor unseen, whatever the motion."""
    parameters = problem.parameters
    every = all(
        each.kind.gains and set(each.kind.gains) >= {
            constant.name for constant in each.kind.constants}
        and drives.joint_names.index(each.joint) in gains for each in drives.actuators.joints)
    # What was held for being weak is no more known than what is free.
    unknown = np.isin(parameters.names, [
        f'{each.joint}.{name}' for each in drives.actuators.joints for name in each.free])
    held = ~(parameters.free | unknown) & (parameters.values != 0.0) & _torques(problem)
    return every and not held.any() and not any(
        np.any(segment.torque) for segment in problem.segments)


def _torques(problem: TrajectoryProblem) -> np.ndarray:
    """Which parameters are proportional to torques, ``(p,)``."""
    return ~np.isin(problem.parameters.names, [DELAY, FILTER, *problem.model.shapes])


def _with_scale_held(
    problem: TrajectoryProblem, place: int, guess: float, why: str
) -> TrajectoryProblem:
    """The problem with one gain held at a guess, and why there, in words."""
    parameters, name = problem.parameters, problem.parameters.names[place]
    return replace(
        problem, parameters=parameters.with_values({name: guess}).fixed(name),
        warnings=(*problem.warnings, (
            'Gains and links are sought, and motion tells them but for a common factor of all '
            f'torques: {name} was held at {guess:.3g} {parameters.units[place]}, {why}. '
            'Give one that is known: a gain, or the mass of a link that was weighed, known: '
            '{masses: {LINK: …}} with fit: {fixed: [LINK.mass]}.')))


def _factors(
    problem: TrajectoryProblem, gains: dict[int, np.ndarray]
) -> dict[int, _Factor]:
    """What the links tell of the gains, by joint.

    Raises:
        EstimationError: Encoders do not tell the positions of all joints.
    """
    guessed = problem.parameters.prior.copy()
    without = guessed.copy()
    without[np.concatenate(list(gains.values()))] = 0.0
    rows = smoothed_rows(problem.with_values(guessed))
    held = smoothed_rows(problem.with_values(without)).torque
    return {j: _factor(rows, held[:, j], j) for j in gains}


def _factor(rows: RegressionProblem, held: np.ndarray, j: int) -> _Factor:
    """What the links tell of the gains of joint j.

    Args:
        rows: Torques along the smoothed motion with all gains as guessed.
        held: Torque of the joint without those that are sought, shape ``(N,)``.
        j: Its place.
    """
    bodies = 10 * len(rows.model.robot.body_names)
    own, parameters = rows.regressor[:, j], rows.parameters
    links = own[:, :bodies] @ parameters.values[:bodies] - held
    shown = bodies + np.flatnonzero(own[:, bodies:].any(axis=0))
    columns = np.column_stack([rows.torque[:, j] - held, -own[:, shown]])
    size = np.linalg.norm(columns, axis=0)
    if not (size.all() and links.any()):
        return _Factor(1.0, 1.0)
    lower = np.append(0.0, parameters.lower[shown]) * size
    upper = np.append(np.inf, parameters.upper[shown]) * size
    columns, left = columns / size, []
    for first in (1, 0):
        found = lsq_linear(columns[:, first:], links, (lower[first:], upper[first:]))
        left.append(2.0 * found.cost)
    factor, part = float(found.x[0] / size[0]), left[1] / float(links @ links)
    if not factor > 0.0 or left[0] - left[1] < _EXPLAINED * left[0]:
        return _Factor(1.0, 1.0)
    return _Factor(factor, part)
