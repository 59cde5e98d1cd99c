"""Short stretches in which something touched the robot, left out of a fit."""

from __future__ import annotations

from sysid_ros.errors import EstimationError, RecordingError
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.outer_iteration import frozen_at
from sysid_ros.evaluation.disturbances import Disturbances, disturbances, row_times
from sysid_ros.recording.processing.choice import Choice

#: The key of settings that leaves stretches out.
LEAVE_OUT = 'processing.leave_out'


def choose_stretches(measured: Measurements, stop: float) -> tuple[Measurements, Choice] | None:
    """A recording without stretches that a model of the rest of it does not explain.

    Args:
        measured: The recording; see :func:`without_disturbances`.
        stop: Where the data to fit ends, as a fraction of the recording.

    Returns:
        The recording and the choice, None where there are no such stretches.

    Raises:
        EstimationError: There are too few rows.
        RecordingError: The part to fit holds too little.
    """
    undisturbed = without_disturbances(measured, stop)
    if undisturbed is None:
        return None
    rest, found = undisturbed
    return rest, Choice(
        LEAVE_OUT, [list(one) for one in found.leave_out],
        f'{100.0 * found.time:.2g} % of the time holds {100.0 * found.squares:.3g} % of the '
        'squared errors of a model that explains the rest, as where something touches the robot')


def undisturbed_part(
    measured: Measurements, stop: float = 1.0
) -> tuple[Measurements, Disturbances | None]:
    """A recording as checks of its efforts should see it: without what touched the robot.

    Args:
        measured: The recording, or several.
        stop: Where the data to look at ends, as a fraction of the recording.

    Returns:
        The recording without stretches, and these; as it is, and None, where there are none.
    """
    try:
        return without_disturbances(measured, stop) or (measured, None)
    except (EstimationError, RecordingError):
        # Too few rows to tell: whoever fits them says so.
        return measured, None


def without_disturbances(
    measured: Measurements, stop: float
) -> tuple[Measurements, Disturbances] | None:
    """A recording without stretches that a model of the rest of it does not explain, and these.

    Args:
        measured: The recording; of several nothing is left out, since their settings say which
            samples count, nor of a bag that does not fit into memory.
        stop: Where the data to fit ends, as a fraction of the recording.

    Returns:
        None where there are no such stretches.

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
    return Measurements((undisturbed,)), found
