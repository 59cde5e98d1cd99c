r"""What an estimate knows is handed over; for the rest the prior is kept, and listed.

Consistency is a property of all ten inertial parameters of a body, so that single ones cannot
simply be put back. Three kinds of parameters go back to the prior, in this order:

1. Bodies, and single joint terms, of which the data tells nothing at all: no torque changes.
2. The values without any effect on torque in a body of which others are known, as in the first
   body of an arm: all of them or, where no real body would have the known values beside the
   prior's, none. No torque changes either.
3. Bodies and joint terms whose change from the prior is insignificant. They are put back one
   after the other, the least significant first, for as long as all that was put back shifts the
   base parameters by no more than chance does: :math:`\Delta\beta^T \Sigma^{-1} \Delta\beta` stays
   below the 95 % quantile of :math:`\chi^2` with as many degrees of freedom as directions were
   shifted. The parameters that stay are not fitted again, so that this is stricter than a test of
   each by itself, and what is handed over lies within the estimate's own region of confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Estimate, Knowledge
from sysid_ros.mechanics.base_parameters import base_parameters
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.inertia import consistency_margin
from sysid_ros.robot.parameters import ParameterSet

_CONFIDENCE = 0.95
_UNDETERMINED = (Knowledge.PRIOR, Knowledge.COUPLED)
# A body may come this much nearer to what nothing can have, in parts of its margin.
_LEAST_MARGIN = 0.5
# Variances below this part of the largest are rounding.
_SINGULAR = 1e-14


@dataclass(frozen=True, eq=False)
class RevertedParameters:
    """Parameters to hand over.

    Attributes:
        parameters: What is known from the data, and the prior of everything else.
        kept: Names of those that keep the prior because the data does not tell them, or tells
            no change.
        notes: What a person should know, whole sentences.
    """

    parameters: ParameterSet
    kept: tuple[str, ...]
    notes: tuple[str, ...]


def revert_to_prior(model: TorqueModel, estimate: Estimate) -> RevertedParameters:
    """Revert parameters that the data does not determine to the prior.

    Args:
        model: Torque model that the estimate was fitted with.
        estimate: The estimate.

    Returns:
        What may be handed over. Parameters that were fixed by request are not listed.

    Raises:
        EstimationError: The covariance or a value of the estimate cannot be one.
    """
    parameters = estimate.parameters
    determined = np.array([knowledge not in _UNDETERMINED for knowledge in estimate.knowledge])
    prior = np.clip(parameters.prior, parameters.lower, parameters.upper)
    values = parameters.values.copy()
    back = np.zeros(len(values), dtype=bool)
    notes = []
    for group in _groups(parameters):
        if not determined[group].any():
            back[group] = True
    values[back] = prior[back]
    for body in parameters.bodies:
        block = _indices(parameters, body)
        silent = block[~determined[block] & parameters.free[block]]
        if not len(silent) or back[block].any():
            continue
        mixed = values.copy()
        mixed[silent] = prior[silent]
        if _is_sound(mixed[block], values[block], parameters.prior[block]):
            values, back[silent] = mixed, True
        else:
            notes.append(
                f'What the data does not tell of {body} follows what it tells: no real body has '
                'the known values beside those of the prior.')
    insignificant = _insignificant(model, estimate, values, prior, back)
    values[insignificant] = prior[insignificant]
    back |= insignificant
    kept = tuple(name for name, own in zip(parameters.names, back.tolist(), strict=True) if own)
    return RevertedParameters(parameters.with_values(values), kept, tuple(notes))


def _groups(parameters: ParameterSet) -> list[np.ndarray]:
    """Indices of free parameters that go back together: those of a body, or one joint term."""
    blocks = [_indices(parameters, body) for body in parameters.bodies]
    inertial = np.concatenate(blocks) if blocks else np.zeros(0, dtype=int)
    terms = np.setdiff1d(np.arange(len(parameters)), inertial)
    # A body with values that are fixed elsewhere than at the prior need not fit together with it.
    blocks = [
        block for block in blocks
        if (parameters.free[block] | (parameters.values == parameters.prior)[block]).all()
    ]
    groups = [block[parameters.free[block]] for block in blocks]
    groups += [np.array([k]) for k in terms if parameters.free[k]]
    return [group for group in groups if len(group)]


def _indices(parameters: ParameterSet, body: str) -> np.ndarray:
    return np.arange(len(parameters))[parameters.body_slice(body)]


def _is_sound(phi: np.ndarray, before: np.ndarray, prior: np.ndarray) -> bool:
    least = _LEAST_MARGIN * float(consistency_margin(before, prior))
    return float(consistency_margin(phi, prior)) >= max(least, np.finfo(float).tiny)


def _insignificant(
    model: TorqueModel, estimate: Estimate, values: np.ndarray, prior: np.ndarray,
    back: np.ndarray,
) -> np.ndarray:
    """Mask of the parameters whose change is no more than chance, shape ``(p,)``."""
    mask = np.zeros(len(values), dtype=bool)
    shifts = _Shifts.of(model, estimate)
    if shifts is None:
        return mask
    changes = [
        (group, shifts.of_change(group, (prior - values)[group]))
        for group in _groups(estimate.parameters) if not back[group].all()
    ]
    changes.sort(key=lambda change: float(change[1] @ change[1]))
    shift = np.zeros(shifts.count)
    chosen: list[np.ndarray] = []
    for group, own in changes:
        if _is_chance(shift + own, [*chosen, own]):
            shift = shift + own
            chosen.append(own)
            mask[group] = True
    return mask


def _is_chance(shift: np.ndarray, parts: Sequence[np.ndarray]) -> bool:
    """Whether a shift in whitened base parameters is one that noise makes, too."""
    directions = np.linalg.matrix_rank(np.array(parts))
    if not directions:
        return True
    return bool(shift @ shift <= chdtri(directions, 1.0 - _CONFIDENCE))


@dataclass(frozen=True, eq=False)
class _Shifts:
    """How changes of parameters shift the base parameters, in standard deviations.

    Attributes:
        matrix: Whitened grouping, shape ``(r', p)``, of the base parameters that are known.
    """

    matrix: np.ndarray

    @classmethod
    def of(cls, model: TorqueModel, estimate: Estimate) -> _Shifts | None:
        """None where the base parameters are not those of the estimate."""
        free = estimate.parameters.free
        if not free.any() or not model.is_linear:
            return None
        base = base_parameters(model, free=free, seed=_seed(estimate))
        known = np.isfinite(np.diag(estimate.base_covariance))
        if base.equations != estimate.base_names or not known.any():
            return None
        covariance = estimate.base_covariance[np.ix_(known, known)]
        scale = np.sqrt(np.diag(covariance))
        with np.errstate(all='ignore'):  # what comes of damaged numbers is refused below
            correlation = covariance / scale[:, None] / scale
            if np.isfinite(correlation).all():
                variances, axes = np.linalg.eigh(correlation)
                variances = np.maximum(variances, _SINGULAR * variances[-1])
                matrix = (axes / np.sqrt(variances)).T / scale @ base.matrix[known]
                if np.isfinite(matrix).all():
                    return cls(matrix)
        raise EstimationError(
            'the covariance of the base parameters cannot be used', where='base_covariance',
            fix='Fit again')

    @property
    def count(self) -> int:
        """Number of base parameters that are known."""
        return len(self.matrix)

    def of_change(self, group: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Whitened shift by a change of some parameters, shape ``(r',)``."""
        with np.errstate(all='ignore'):
            shift: np.ndarray = self.matrix[:, group] @ change
            if np.isfinite(shift @ shift):
                return shift
        raise EstimationError(
            'a parameter is beyond all measure far from its prior', found=change, fix='Fit again')


def _seed(estimate: Estimate) -> int:
    """Of the random states that told the base parameters of an estimate apart."""
    seed = estimate.provenance.get('base_seed', 0)
    if not isinstance(seed, int) or seed < 0:
        raise EstimationError(
            'the seed cannot be used', where='provenance.base_seed', found=repr(seed),
            allowed='a whole number from 0 on', fix='Fit again')
    return seed
