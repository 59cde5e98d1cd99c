"""Torques that arrive late, moved back where that predicts other motion better."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sysid_ros.estimation.measurements import Measurements
from sysid_ros.estimation.outer_iteration import OuterIteration
from sysid_ros.evaluation.candidates import (
    CandidateErrors,
    candidate_errors,
    errors_side_by_side,
    ranked,
)
from sysid_ros.recording.processing.choice import Choice
from sysid_ros.recording.processing.delay import estimate_delays
from sysid_ros.recording.processing.torque_delays import TorqueDelays


def choose_delays(
    measured: Measurements, stop: float, estimator: OuterIteration
) -> tuple[tuple[Measurements, Choice] | None, tuple[str, ...]]:
    """Recordings whose torques are moved back, where that is beyond doubt and helps.

    Delays are found without the model, joint by joint, where friction that lags looks like one.
    So they are judged inside the model: none, the same for all joints where most agree on one, and
    each joint's own.

    Args:
        measured: The recordings.
        stop: Where the data to fit ends, as a fraction of each recording.
        estimator: The estimator that will fit.

    Returns:
        The recordings and the choice, None where there is no delay that helps; and what could not
        be fitted.

    Raises:
        ConfigurationError: There are fewer rows than folds.
        EstimationError: There are too few rows.
        RecordingError: A part of the recordings holds too little.
    """
    found = estimate_delays(measured.motion(0.0, stop), measured.model)
    own = found.setting()
    if not own:
        return None, ()
    tried: list[tuple[str, Mapping[str, float]]] = [('none', {}), ('one for each joint', own)]
    if found.shared is not None:
        tried.insert(1, ('one for all joints', _common(found)))
    moved = [measured, *(_moved(measured, delays) for _, delays in tried[1:])]

    def errors(name: str, each: Measurements) -> CandidateErrors:
        dataset = each.motion(0.0, stop)
        return candidate_errors(
            name, each.setup.problem(dataset), each.setup.speeds(dataset), estimator)

    best, gain, unfitted = ranked(errors_side_by_side([
        partial(errors, name, each) for (name, _), each in zip(tried, moved, strict=True)]))
    if not best:
        return None, unfitted
    return (moved[best], Choice(
        'processing.torque_delay', dict(tried[best][1]),
        f'torques arrive late; moved back, other and faster motion is predicted '
        f'{100.0 * gain:.2g} % better')), unfitted


def _common(found: TorqueDelays) -> dict[str, float]:
    """The mean of the delays that are told, by how sure they are, for all joints."""
    told = found.significant
    weights = 1.0 / found.deviation[told] ** 2
    mean = float(found.seconds[told] @ weights / weights.sum())
    return dict.fromkeys(found.joint_names, round(mean, 7))


def _moved(measured: Measurements, delays: Mapping[str, float]) -> Measurements:
    return Measurements(tuple(
        part.with_processing(part.setup.settings.processing.model_copy(
            update={'torque_delay': dict(delays)}))
        for part in measured.parts))
