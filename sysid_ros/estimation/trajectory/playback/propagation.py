r"""Noise of torques and encoders, followed to the parameters of a playback by the adjoint.

About the fit, :math:`\delta\rho = -I^{-1} S^\top \delta r` with the sensitivities S of the
residuals r and the information :math:`I = S^\top S`. Noise of a reading changes its residual and,
through the reference that the arm is held to, the simulated motion; noise of a torque changes
the motion alone. For each parameter one adjoint tells what all of them do.
"""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.trajectory.playback.costs import JointAngles
from sysid_ros.estimation.trajectory.playback.problem import (
    InputNoise,
    Playback,
    PlaybackProblem,
    Point,
)
from sysid_ros.mechanics.integrators.variational.driven_trajectory import Hold


def propagated(
    problem: PlaybackProblem, point: Point, information: np.ndarray
) -> np.ndarray:
    """Covariance of the logarithms of the parameters, shape ``(k, k)``.

    Args:
        problem: The problem, all of whose recordings say how noisy their inputs were.
        point: Where it was fitted, with derivatives.
        information: There, shape ``(k, k)``.

    Raises:
        EstimationError: A recording does not say it, or holds joints whose positions it does
            not compare.
    """
    covariance = np.zeros_like(information)
    inverse = np.linalg.inv(information)
    values = problem.at(point.logs)
    for number, playback in enumerate(problem.playbacks):
        scale = np.exp(point.logs)
        motion, parts = point.motions[number], point.compared[number]
        slopes = motion.slopes[:, 0] * scale
        gains = [np.einsum('tmn,tnk,kl->tml', part.by_position, slopes, inverse)
                 for part in parts]
        effects = []
        for k in range(len(inverse)):
            weights = sum(
                np.einsum('tm,tmn->tn', gain[:, :, k], part.by_position)
                for gain, part in zip(gains, parts, strict=True))
            found = problem.integrator.adjoint(
                values, point.trajectories[number], motion, weights)
            own = [gain[:, :, k] for gain in gains]
            effects.append(_effect(playback, own, found.by_torque, found.by_interval_torque))
        table = np.array(effects)
        covariance += table @ table.T
    return covariance


def _effect(
    playback: Playback, own: list[np.ndarray], by_torque: np.ndarray, by_interval_torque: np.ndarray
) -> np.ndarray:
    """What every number of unit variance does to a parameter, side by side."""
    if playback.noise is None:
        raise EstimationError('the recording does not say how noisy its torques are')
    pieces = [(by_torque * playback.noise.torque).ravel()]
    hold, compared = playback.trajectory.hold, False
    for cost, direct in zip(playback.costs, own, strict=True):
        change = -direct.copy()
        # Residuals of the last node are as many times noisier as they count more.
        change[-1] *= np.sqrt(cost.terminal)
        if (hold is not None and not compared and isinstance(cost, JointAngles)
                and np.isin(hold.joints, cost.joints).all()):
            same = [int(np.flatnonzero(cost.joints == joint)[0]) for joint in hold.joints]
            known = np.isfinite(cost.measured[:, same])
            by_reference = _by_reference(
                hold, playback.noise, playback.trajectory.step, by_torque, by_interval_torque)
            change[:, same] += np.where(known, by_reference * cost.sigma[same], 0.0)
            compared = True
        pieces.append(change.ravel())
    if hold is not None and not compared:
        raise EstimationError(
            'joints are held to positions that are not compared',
            fix='Compare the positions of all joints that are held')
    return np.concatenate(pieces)


def _by_reference(
    hold: Hold, noise: InputNoise, step: float, by_torque: np.ndarray,
    by_interval_torque: np.ndarray
) -> np.ndarray:
    """Derivatives by measured positions of the held joints, through their reference."""
    if len(hold.stiffness) > 1:
        raise EstimationError(
            'noise is followed through constant gains only', found='gains that change in time',
            fix='Leave the noise out; the covariance is then taken from the residuals')
    found = by_torque[:, hold.joints] @ hold.stiffness[0]
    damped = by_interval_torque[:, hold.joints] @ hold.damping[0] / step
    found[1:] += damped
    found[:-1] -= damped
    return np.asarray(noise.smoothing(found))
