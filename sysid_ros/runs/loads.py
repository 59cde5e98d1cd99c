"""The load between two recordings of a robot, or between a recording and a run."""

from __future__ import annotations

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.estimation.payload.found_load import FoundLoad
from sysid_ros.estimation.payload.payload import identify_payload, in_link_frame
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.runs.run_folder import RunFolder
from sysid_ros.runs.stages import Stage, silent


def find_payload(
    loaded: Identification, empty: Identification | RunFolder, link: str | None = None,
    stage: Stage = silent,
) -> FoundLoad:
    """Identify a load from a recording with it and one without.

    Args:
        loaded: Settings of the recording with the load.
        empty: Settings of a recording without it, or a run on one. Of two settings either names
            the robot.
        link: Link that carries the load; by default the last one.
        stage: Entered for each step, with what is being done in words.

    Raises:
        SysidError: Settings, a recording or the link cannot be used.
    """
    rows, reference = _rows(loaded, empty, stage)
    with stage('Identifying the load'):
        estimate = identify_payload(rows, reference, link=link)
    if not estimate.status.ok:
        return FoundLoad(estimate.body, estimate, estimate, rows)
    return FoundLoad(*in_link_frame(rows.model.robot, link, estimate), estimate, rows)


def _rows(
    loaded: Identification, empty: Identification | RunFolder, stage: Stage
) -> tuple[RegressionProblem, RegressionProblem | Estimate]:
    """Rows with the load, and rows or a fit without it."""
    if isinstance(empty, RunFolder):
        with stage('Reading the recording'):
            setup = empty.setup().recording_of(loaded)
            return Measurement.read(setup).problem(), empty.estimate()
    # Either may be the one that names the robot.
    own = loaded if loaded.settings.robot is not None else empty
    with stage('Reading the recordings'):
        setup = FitSetup.of(own)
        first, second = (
            Measurement.read(setup if source is own else setup.recording_of(source)).problem()
            for source in (loaded, empty))
        return first, second
