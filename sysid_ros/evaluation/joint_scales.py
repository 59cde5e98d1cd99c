r"""Scale of one joint's effort beside those of the others, told by the symmetry of the mass matrix.

A joint that accelerates acts on its neighbours as they act on it, and what carries a body carries
it at every joint below. With the scale of joint j free,

.. math:: \min_z \; \sum_{i \ne j} \frac{\|\tau_i - \Gamma_i\theta\|^2}{\sigma_i^2}
    + \frac{\|\tau_j - s\,\Gamma_j\theta\|^2}{\sigma_j^2} + \rho\,\|z\|^2,
    \quad \theta = \theta_0 + C z,

is smallest at s = 1 where all efforts are of one scale, whatever the prior says of the masses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.optimize import minimize_scalar

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.outer_iteration import held_at
from sysid_ros.estimation.problem import RegressionProblem

# A scale is off by at least this factor, and by so many squared standard deviations; model errors
# of real robots also look like scales, but smaller ones.
_FACTOR, _DECISIVE = 1.25, 20.0
# Torques are not known better than this, in parts.
_MISMATCH = 0.01
# Weight of the prior, in squared standard deviations: as of a mass that is told to a part of 1.
_PRIOR = 1.0
# Logarithms of scales that are tried. What is best at the ends is no scale: the joint then shares
# too little with the others.
_SCALES = np.linspace(-2.4, 2.4, 13)


@dataclass(frozen=True)
class JointScale:
    """A joint whose effort contradicts those of the others.

    Attributes:
        joint: Name of the joint.
        scale: Its effort per torque, in that of the others.
        evidence: How much better the rows are explained so, in squared standard deviations.
    """

    joint: str
    scale: float
    evidence: float

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return (
            f'{self.joint}: beside the efforts of the other joints its own is {self.scale:.3g} '
            'times the torque: accelerations of one joint act on another as they do in reverse, '
            f'and only this scale agrees (by {self.evidence**0.5:.0f} standard deviations).')

    @property
    def next_step(self) -> str:
        """What to do about it."""
        return (
            f'Check torque constant and gear of the joint: recording.effort.scale: '
            f'{{{self.joint}: {1.0 / self.scale:.3g}}} would agree; or give its drive what the '
            'model lacks, such as armature or a coupling of joints.')


def joint_scales(problem: RegressionProblem, estimate: Estimate) -> tuple[JointScale, ...]:
    """Joints whose effort is of another scale than that of the others, the clearest first.

    Args:
        problem: Rows that were fitted.
        estimate: What was found; its residuals say how far rows are to be believed.
    """
    names = problem.model.robot.joint_names
    if not estimate.status.found_values:
        return ()
    misfit = _Misfit(held_at(problem, estimate.parameters.values), estimate)
    scales = np.ones(len(names))
    found: list[JointScale] = []
    while len(found) < len(names) - 1:
        left = [joint for joint in range(len(names)) if scales[joint] == 1.0]
        joint, least, scale = min(
            (misfit.best(scales, joint) for joint in left), key=lambda one: one[1])
        evidence = misfit(scales) - least
        if not (evidence > _DECISIVE and abs(np.log(scale)) > np.log(_FACTOR)):
            break
        scales[joint] = scale
        found.append(JointScale(names[joint], scale, evidence))
    return tuple(found)


class _Misfit:
    """The smallest misfit of all parameters, as a function of the joints' scales.

    Args:
        problem: Rows, linear in the parameters.
        estimate: What was found.
    """

    def __init__(self, problem: RegressionProblem, estimate: Estimate) -> None:
        residuals, factors = estimate.residuals, problem.factors
        torque = np.linalg.norm(factors[:, :, -1], axis=1)
        rows = np.maximum(residuals.rows, 1)
        sigma = np.maximum(
            residuals.rms_per_joint, _MISMATCH * torque / np.sqrt(rows))
        # Rows count as often as independent ones would.
        with np.errstate(divide='ignore', invalid='ignore'):
            weight = np.sqrt(residuals.effective_rows / rows) / sigma
        weight[~np.isfinite(weight)] = 0.0
        weighted = factors * weight[:, None, None]
        gains = weighted[:, :, :-1] @ problem.scale
        prior = weighted[:, :, :-1] @ problem.reference
        tau = weighted[:, :, -1]
        self._squares = np.einsum('jkf,jkg->jfg', gains, gains)
        self._efforts = np.einsum('jkf,jk->jf', gains, tau)
        self._priors = np.einsum('jkf,jk->jf', gains, prior)
        self._sizes = np.stack([
            np.sum(tau * tau, axis=1), np.sum(tau * prior, axis=1), np.sum(prior * prior, axis=1)])
        self._told = torque > 0.0

    def __call__(self, scales: np.ndarray) -> float:
        """The misfit at scales, shape ``(n,)``."""
        normal = np.tensordot(scales**2, self._squares, axes=1)
        normal[np.diag_indices_from(normal)] += _PRIOR
        right = scales @ self._efforts - scales**2 @ self._priors
        tau, mixed, prior = self._sizes
        z = scipy.linalg.cho_solve(scipy.linalg.cho_factor(normal), right)
        return float(np.sum(tau - 2.0 * scales * mixed + scales**2 * prior) - right @ z)

    def best(self, scales: np.ndarray, joint: int) -> tuple[int, float, float]:
        """Joint, smallest misfit and its scale, those of the others held; infinite without one."""
        nothing = (joint, np.inf, 1.0)
        if not self._told[joint]:
            return nothing

        def at(logarithm: float) -> float:
            tried = scales.copy()
            tried[joint] = np.exp(logarithm)
            return self(tried)

        least = int(np.argmin([at(float(one)) for one in _SCALES]))
        if least in (0, len(_SCALES) - 1):
            return nothing
        near, step = float(_SCALES[least]), float(_SCALES[1] - _SCALES[0])
        solution = minimize_scalar(
            at, bounds=(near - step, near + step), method='bounded', options={'xatol': 1e-3})
        return joint, float(solution.fun), float(np.exp(solution.x))
