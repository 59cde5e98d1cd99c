"""The result in three sentences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sysid_ros.estimation.estimate import Estimate, Knowledge
from sysid_ros.evaluation.prediction import TorquePrediction
from sysid_ros.report.report_source import HELD_OUT
from sysid_ros.report.tables import number

# A joint with less torque than this part of the largest carries nothing.
_CARRIES = 0.01
# Gains nearer to one would be rounded to it.
_ALIKE = 0.05
# An error above this part of the torque's own spread about its mean is that of a constant.
_CONSTANT = 0.9


def gain(prediction: TorquePrediction) -> float:
    """By how much the error is smaller than that of the prior; NaN where that means nothing."""
    own, prior = prediction.candidate.relative_error, prediction.prior.relative_error
    return prior / own if own > 0.0 and not is_constant(prediction) else float('nan')


def is_constant(prediction: TorquePrediction) -> bool:
    """Whether the mean of every joint's torque would predict as well: a robot that stood still.

    A description that is off by a constant there makes any gain, and none of it is about motion.
    """
    if prediction.spread is None:
        return False
    rows, rms = prediction.candidate.rows, prediction.candidate.rms_per_joint
    error, spread = (float(np.sum(rows * part**2)) for part in (rms, prediction.spread))
    return bool(error > 0.0) and error >= _CONSTANT**2 * spread


def worst_joint(prediction: TorquePrediction) -> int | None:
    """Index of the joint with the largest relative error; None where no joint has one.

    Joints with next to no torque, whose error is that of the sensor, are left out, but for those
    that the prior predicts better: the sensor is the same there.
    """
    errors = np.array(prediction.candidate.relative_per_joint, dtype=float)
    with np.errstate(divide='ignore', invalid='ignore'):
        torque = np.asarray(prediction.candidate.rms_per_joint, dtype=float) / errors
    carries = torque >= _CARRIES * torque[np.isfinite(torque)].max(initial=0.0)
    worse = errors > (1.0 + _ALIKE) * np.asarray(prediction.prior.relative_per_joint, dtype=float)
    errors[~(carries | worse)] = np.nan
    return int(np.nanargmax(errors)) if np.isfinite(errors).any() else None


def headline(predictions: Mapping[str, TorquePrediction], estimate: Estimate) -> tuple[str, ...]:
    """What the model gained, where it is worst, and how much of it the data told.

    Args:
        predictions: Errors by what the rows are called; those to judge by come first.
        estimate: The estimate.
    """
    rows, prediction = next(iter(predictions.items()))
    return (_gain(rows, prediction), _worst(prediction), _known(estimate))


def _gain(rows: str, prediction: TorquePrediction) -> str:
    own, prior = prediction.candidate.relative_error, prediction.prior.relative_error
    if not np.isfinite(own) and prediction.what == 'motion':
        return 'The motion cannot be simulated with what was found.'
    if not np.isfinite(own) and not prediction.candidate.rows.any():
        return 'No row to judge by counts, so nothing says how well torques are predicted.'
    if not np.isfinite(own):
        return 'No torque was measured, so nothing says how well it is predicted.'
    motion = (
        'On motion that was not fitted' if rows == HELD_OUT else
        'On the motion that was fitted (none was kept to judge by)')
    times = gain(prediction)
    compared = ''
    if is_constant(prediction):
        compared = ', no nearer than a constant would be, which is no evidence for the model'
    elif np.isfinite(times):
        compared = f', {_beside(times)} the description before the fit ({percent(prior)})'
    said = f'the simulated {prediction.what}' if prediction.what == 'motion' else 'the torque'
    return f'{motion} {said} is {percent(own)} off{compared}.'


def _beside(times: float) -> str:
    """A gain in words that go before what it is a gain over."""
    if abs(times - 1.0) < _ALIKE:
        return 'as far as'
    if times > 1.0:
        return f'{number(times, 2)} times less than'
    return f'{number(1.0 / times, 2)} times more than' if times > 0.0 else 'more than'


def _worst(prediction: TorquePrediction) -> str:
    joint = worst_joint(prediction)
    if joint is None:
        return f'No joint has a {prediction.what} to compare with.'
    own, prior = (
        errors.relative_per_joint[joint] for errors in (prediction.candidate, prediction.prior))
    before = '' if is_constant(prediction) else f', {percent(prior)} before'
    return f'The worst joint is {prediction.joint_names[joint]}: {percent(own)} off{before}.'


def _known(estimate: Estimate) -> str:
    if not estimate.status.ok:
        return estimate.status.value
    told = sum(entry is Knowledge.DATA for entry in estimate.knowledge)
    shared = sum(entry is Knowledge.COMBINATION for entry in estimate.knowledge)
    rest = len(estimate.knowledge) - told - shared
    return (f'Of {len(estimate.knowledge)} parameters the data tells {told} one by one and '
            f'{shared} in combination with others; {rest} stay as described.')


def percent(part: float) -> str:
    """A part as a percentage with two digits or all before the point."""
    if not np.isfinite(part):
        return 'not comparable'
    return f'{100.0 * part:.0f} %' if part >= 0.0995 else f'{100.0 * part:.2g} %'
