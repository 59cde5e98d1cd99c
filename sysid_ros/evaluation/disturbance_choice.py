"""Short stretches in which something touched the robot, left out of a fit."""

from __future__ import annotations

from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.outer_iteration import frozen_at
from sysid_ros.evaluation.disturbances import disturbances, row_times
from sysid_ros.recording.processing.choice import Choice


def choose_stretches(measured: Measurements, stop: float) -> tuple[Measurements, Choice] | None:
    """A recording without stretches that a model of the rest of it does not explain.

    Args:
        measured: The recording; of several nothing is left out, since their settings say which
            samples count, nor of a bag that does not fit into memory.
        stop: Where the data to fit ends, as a fraction of the recording.

    Returns:
        The recording and the choice, None where there are no such stretches.

    Raises:
        EstimationError: There are too few rows.
        RecordingError: The part to fit holds too little.
    """
    if len(measured.parts) > 1 or measured.bag is not None:
        return None
    part, = measured.parts
    processing, problem = part.setup.settings.processing, measured.problem(0.0, stop)
    found = disturbances(
        frozen_at(problem, problem.parameters.values),
        row_times(part.motion(0.0, stop), processing.parallel_filter))
    if found is None:
        return None
    undisturbed = part.with_processing(
        processing.model_copy(update={'leave_out': found.leave_out}))
    return Measurements((undisturbed,)), Choice(
        'processing.leave_out', [list(one) for one in found.leave_out],
        f'{100.0 * found.time:.2g} % of the time holds {100.0 * found.squares:.3g} % of the '
        'squared errors of a model that explains the rest, as where something touches the robot')
