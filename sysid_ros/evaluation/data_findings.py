"""What recordings show by themselves, before and beside any estimate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.errors import RecordingError
from sysid_ros.estimation.payload.known import LoadFinding
from sysid_ros.estimation.payload.weighing import Weighing
from sysid_ros.evaluation.bound_cost import BoundCost
from sysid_ros.evaluation.common_scale import CommonScale
from sysid_ros.evaluation.contradictions import Contradiction, ScoreTest
from sysid_ros.evaluation.counterweights import Counterweight
from sysid_ros.evaluation.departures import Departure
from sysid_ros.evaluation.disturbances import Disturbances
from sysid_ros.evaluation.reversed_position import ReversedPosition
from sysid_ros.evaluation.supported_links import SupportedLink
from sysid_ros.evaluation.undeclared_load import UndeclaredLoad
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.checks.effort_finding import EffortFinding, EffortKind
from sysid_ros.recording.checks.quality import DataQuality
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.delay import estimate_delays
from sysid_ros.recording.processing.torque_delays import TorqueDelays

# Joints that move less than this, in [rad] or [m], tell nothing of their friction.
_STILL, _STILL_PRISMATIC = 0.02, 0.002

# What the torques of a load look like beside those of a description that has none.
_LIKE_LOADS = (EffortKind.INCONSISTENT, EffortKind.SCALED)


@dataclass(frozen=True)
class DataFindings:
    """Findings on the data that a model was fitted to.

    Attributes:
        efforts: What the efforts look like beside the torques of the prior.
        delays: Delays of the torques, by recording.
        still: Joints that did not move in what was fitted.
        judged_still: Joints that did not move in what is judged by.
        coarse: Joints whose accelerations the positions do not tell.
        qualities: Quality of each recording, in numbers.
        load: What the torques make of a load of known mass.
        weighing: What the torques say of weighed masses; None where nothing was weighed.
        undeclared_load: A load by which the recording to judge by differs from the fitted ones.
        contradictions: What of the fitted recordings contradicts the rest of them.
        trusts_description: Whether the description counts where the rows tell nothing.
        departures: Where what was found leaves the description, and the rows cannot tell which
            is right.
        supported: Last bodies of branches that something holds up.
        weightless: Whether gravity acts on no joint, wherever the robot is.
        bounds: What bounds of plausibility cost that the data ask to overstep.
        common_scale: What all efforts are of the torques of the prior, by the rows of the fit.
        scale_of_bodies: What torques of all bodies as found are of those of the prior, where none
            was measured.
        reversed_position: A joint whose position has the other sign.
        touched: Short stretches that hold nearly all of what a fit of the rest misses, where
            settings choose nothing and so nothing was left out.
        disturbed: Short stretches that hold what the data to judge by is predicted worse.
        drifting: Joints most of whose residuals are a trend along the recording, however small.
    """

    efforts: tuple[EffortFinding, ...] = ()
    delays: tuple[TorqueDelays, ...] = ()
    still: tuple[str, ...] = ()
    judged_still: tuple[str, ...] = ()
    coarse: tuple[str, ...] = ()
    qualities: tuple[DataQuality, ...] = ()
    load: LoadFinding | None = None
    weighing: Weighing | None = None
    undeclared_load: UndeclaredLoad | None = None
    contradictions: tuple[Contradiction, ...] = ()
    trusts_description: bool = True
    departures: tuple[Departure | Counterweight, ...] = ()
    supported: tuple[SupportedLink, ...] = ()
    weightless: bool = False
    bounds: BoundCost | None = None
    common_scale: CommonScale | None = None
    scale_of_bodies: CommonScale | None = None
    reversed_position: ReversedPosition | None = None
    touched: Disturbances | None = None
    disturbed: Disturbances | None = None
    drifting: tuple[str, ...] = ()

    def without_excluded_clock(self, test: ScoreTest) -> DataFindings:
        """The findings without a clock error that the description suggests and the rows exclude.

        The rows need no description for it: then the inertias of the description are wrong.
        """
        return replace(self, efforts=tuple(
            one for one in self.efforts if one.kind is not EffortKind.OTHER_CLOCK
            or not test.excludes_clock(0.5 * float(np.log(one.scale)))))

    def with_undeclared_load(self, load: UndeclaredLoad | None) -> DataFindings:
        """The findings with a load, without scales of the efforts of the recording that has it.

        The torques of a load are those of masses that the description has not: by themselves they
        look like efforts of another scale, which a sensor would be blamed for.
        """
        names = tuple(dict.fromkeys(one.recording for one in self.efforts))
        if load is None:
            return self
        if load.number is None and len(names) < 2:
            # One recording to fit and to judge by: the load was picked up somewhere in it.
            return replace(self, undeclared_load=load, efforts=tuple(
                one for one in self.efforts
                if one.kind not in (*_LIKE_LOADS, EffortKind.UNRELATED)))
        if load.number is None or load.number >= len(names):
            return replace(self, undeclared_load=load)
        loaded = names[load.number]
        return replace(self, undeclared_load=load, efforts=tuple(
            one for one in self.efforts
            if one.recording != loaded or one.kind not in _LIKE_LOADS))


#: Nothing that was looked at.
NO_FINDINGS = DataFindings()


def still_joints(datasets: Sequence[Dataset], model: TorqueModel) -> tuple[str, ...]:
    """Names of the joints that moved in none of some recordings, each by itself.

    Args:
        datasets: The recordings: a robot at rest in one pose, and in another, did not move.
        model: The torque model.
    """
    least = np.array([
        _STILL_PRISMATIC if kind == 'prismatic' else _STILL for kind in model.robot.joint_types])
    # Those of a base that floats stay at zero, however it moves.
    least[:len(model.robot.base_joints)] = 0.0
    everywhere = set.intersection(*(set(dataset.still(least)) for dataset in datasets))
    return tuple(name for name in datasets[0].joint_names if name in everywhere)


def named_efforts(
    findings: Sequence[tuple[EffortFinding, ...]], datasets: Sequence[Dataset]
) -> tuple[EffortFinding, ...]:
    """Findings on the efforts of all recordings, with names where there are several.

    Args:
        findings: Those of each recording.
        datasets: The recordings, in the same order.
    """
    if len(datasets) == 1:
        return findings[0]
    return tuple(
        replace(finding, recording=dataset.source)
        for found, dataset in zip(findings, datasets, strict=True) for finding in found)


def delays_of(dataset: Dataset, model: TorqueModel) -> TorqueDelays | None:
    """Delays of the torques, or nothing where the recording is too short to tell."""
    try:
        return estimate_delays(dataset, model)
    except RecordingError:
        return None


def delays_to_arrays(delays: Iterable[TorqueDelays | None]) -> tuple[np.ndarray, ...]:
    """Delays, deviations, gains and likelihood ratios of each recording, ``(4, n)``, or none."""
    return tuple(
        np.zeros(0) if one is None else np.stack(
            [one.seconds, one.deviation, one.gain, one.ratio])
        for one in delays)


def delays_from_arrays(
    arrays: Iterable[np.ndarray], datasets: Iterable[Dataset]
) -> tuple[TorqueDelays | None, ...]:
    """The delays that :func:`delays_to_arrays` made arrays of.

    Args:
        arrays: One for each recording.
        datasets: The recordings, in the same order.
    """
    return tuple(
        TorqueDelays(data.joint_names, array[0], array[1], array[2], array[3], data.rate)
        if array.size else None for array, data in zip(arrays, datasets, strict=True))
