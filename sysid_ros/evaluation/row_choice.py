"""The speed below which rows are left out: they say more of stiction than of the robot.

Beside standstill dry friction is whatever holds the joint, up to its limit, and the sign of a
measured velocity is that of its noise. Rows there bias all parameters, more than leaving them
out costs. How slow that is differs from robot to robot and is told by cross-validation: models
fitted to ever fewer rows predict the same fast ones.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.outer_iteration import OuterIteration
from sysid_ros.evaluation.candidates import (
    as_good_as_best,
    candidate_errors,
    errors_side_by_side,
    excess_over_best,
    ranked,
)
from sysid_ros.recording.processing.choice import Choice

# Speeds that are tried, in parts of each joint's root mean square, and the part of a joint's rows
# that has to be left.
_PARTS = (0.0, 0.05, 0.1, 0.2, 0.3)
_LEFT = 0.4


def choose_minimum_velocity(
    measured: Measurements, stop: float, estimator: OuterIteration
) -> tuple[Choice | None, tuple[str, ...]]:
    """The speed in [rad/s] or [m/s] of each joint below which rows are left out.

    Of the speeds that are as good as the best, the highest: what rows near standstill do to
    parameters shows less in torques of fast ones than in the parameters.

    Args:
        measured: The recordings.
        stop: Where the data to fit ends, as a fraction of each recording.
        estimator: The estimator that will fit.

    Returns:
        The choice, None where leaving out rows is of no use; and what could not be fitted.

    Raises:
        ConfigurationError: There are fewer rows than folds.
        EstimationError: There are too few rows.
        RecordingError: A part of the recordings holds too little.
    """
    dataset, setup = measured.motion(0.0, stop), measured.setup
    problem, speeds = setup.problem(dataset), setup.speeds(dataset)
    typical = np.sqrt(np.mean(dataset.v**2, axis=0))
    counts = np.maximum(problem.usable.sum(axis=0), 1)
    fast = [problem.usable & (speeds >= part * typical) for part in _PARTS]
    enough = [rows for rows in fast if (rows.sum(axis=0) >= _LEFT * counts).all()]
    if len(enough) < 2:
        return None, ()
    candidates = errors_side_by_side([
        partial(candidate_errors, f'rows above {part:g} of the usual speed',
                problem.with_usable(rows), None, estimator, judged=enough[-1])
        for part, rows in zip(_PARTS, enough, strict=False)])
    good = np.flatnonzero(as_good_as_best(excess_over_best(candidates)))
    best = int(good[-1]) if len(good) else 0
    unfitted = ranked(candidates).unfitted
    if best == 0:
        return None, unfitted
    errors = [float(np.mean(each.errors)) for each in candidates]
    out = 1.0 - enough[best].sum() / problem.usable.sum()
    return Choice(
        'fit.minimum_velocity', tuple(float(f'{_PARTS[best] * v:.3g}') for v in typical),
        f"{100.0 * out:.0f} % of the rows are slower than {_PARTS[best]:g} of their joint's usual "
        f'speed; without them faster ones are predicted {100.0 * errors[best]:.3g} % off, with '
        f'them {100.0 * errors[0]:.3g} %'), unfitted
