"""Recordings of one robot on their way to one problem."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sysid_ros.errors import ConfigurationError, EstimationError
from sysid_ros.estimation.fit_setup import FitSetup, effort_findings_of
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.trajectory.from_recording import problem_from_recordings
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem
from sysid_ros.mechanics.actuators.actuators import actuated
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.bag.long_bag import LongBag
from sysid_ros.recording.checks.effort_finding import EffortFinding
from sysid_ros.recording.dataset import Dataset, same_rate
from sysid_ros.recording.fingerprint import fingerprints, is_known
from sysid_ros.robot.parameters import ParameterSet


@dataclass(frozen=True, eq=False)
class Measurements:
    """One recording or several of one robot, to be fitted with the same parameters.

    Attributes:
        parts: One for each recording; the settings of the first say how all are fitted.

    Raises:
        ConfigurationError: There is no recording, or one came twice.
        EstimationError: One of several does not fit into memory.
    """

    parts: tuple[Measurement, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise ConfigurationError(
                'there is no recording to fit', fix='Name one, as sysid fit arm.yaml')
        long = [part.dataset.source for part in self.parts if part.bag is not None]
        if long and len(self.parts) > 1:
            raise EstimationError(
                'a bag that does not fit into memory can only be fitted alone',
                found=', '.join(long), fix='Cut the bag, or raise recording.memory_limit')
        for k, part in enumerate(self.parts):
            if any(_same(part.dataset, other.dataset) for other in self.parts[:k]):
                raise ConfigurationError(
                    'a recording is given twice, so that it would count twice',
                    where=part.dataset.source, fix='Name each recording once')

    @classmethod
    def read(cls, setup: FitSetup, others: Sequence[Identification] = ()) -> Measurements:
        """Read recordings.

        Args:
            setup: That of the first, which says what the robot is and how to fit it.
            others: Settings that name the other recordings, and how each is processed.

        Raises:
            RecordingError: A recording cannot be read or does not fit.
        """
        first = Measurement.read(setup)
        return cls(_at_one_rate((first, *(
            Measurement.read(setup.recording_of(other)).evenly_stamped() for other in others))))

    @property
    def setup(self) -> FitSetup:
        """Settings of the first recording, and the torque model."""
        return self.parts[0].setup

    @property
    def model(self) -> TorqueModel:
        """The torque model."""
        return self.setup.model

    @property
    def bag(self) -> LongBag | None:
        """The bag that does not fit into memory, if it is one."""
        return self.parts[0].bag

    @property
    def dataset(self) -> Dataset:
        """The aligned recordings, one after the other; of a long bag one window."""
        return Dataset.joined([part.dataset for part in self.parts])

    @property
    def driven(self) -> bool:
        """Whether any torque was measured that is not zero."""
        return self.bag is not None or any(
            bool((part.dataset.tau[part.dataset.mask] != 0.0).any()) for part in self.parts)

    @property
    def commanded(self) -> bool:
        """Whether commands of actuators were recorded in place of torques."""
        return actuated(self.model) is not None

    @property
    def hidden(self) -> tuple[str, ...]:
        """Joints whose positions are not measured in some recording."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.hidden))

    @property
    def judged_by_motion(self) -> bool:
        """Whether torques along measured motion say nothing, as some of both is not measured."""
        return self.commanded or bool(self.hidden)

    def driven_by(self, parameters: ParameterSet) -> Measurements:
        """The same recordings with the torques that commands make by parameters of a fit.

        Args:
            parameters: Those of the torque model, in any order.
        """
        values = np.array([parameters[name] for name in self.model.parameters.names])
        return Measurements(tuple(part.driven_by(values) for part in self.parts))

    def with_terms(self, terms: TermSettings) -> Measurements:
        """The same recordings of the robot with other joint terms.

        Raises:
            ConfigurationError: The settings have no robot.
        """
        return self._of_robot(lambda identification: identification.with_terms(terms))

    def with_robot(self, **changes: Any) -> Measurements:
        """The same recordings with some settings of the robot changed.

        Args:
            changes: New values by key; they say nothing on how recordings are read.

        Raises:
            ConfigurationError: The settings have no robot.
        """
        return self._of_robot(lambda identification: identification.with_robot(**changes))

    def _of_robot(self, change: Callable[[Identification], Identification]) -> Measurements:
        """The same recordings of a robot that settings describe in another way."""
        model = change(self.setup.identification).model()
        return Measurements(tuple(
            replace(part, setup=FitSetup(change(part.setup.identification), model))
            for part in self.parts))

    def with_fit(self, **changes: Any) -> Measurements:
        """The same recordings with some settings of the fit changed.

        Args:
            changes: New values by key; they say nothing on how recordings are read.
        """
        return Measurements(tuple(
            replace(part, setup=FitSetup(part.setup.identification.with_fit(**changes), self.model))
            for part in self.parts))

    def effort_findings(
        self, motions: Sequence[Dataset] | None = None, beside: Measurements | None = None,
        stop: float = 1.0,
    ) -> tuple[tuple[EffortFinding, ...], ...]:
        """Findings on the efforts of each recording compared with the torques the prior predicts.

        Args:
            motions: The part of each recording to look at; all of it by default.
            beside: Recordings to judge by, whose efforts have their say.
            stop: Where these parts end, as a fraction of the recording; efforts after it have their
                say, too.

        Raises:
            RecordingError: An effort has the wrong sign, unless the settings only warn.
        """
        others = () if beside is None else beside.parts
        return effort_findings_of(
            [part.setup for part in self.parts],
            [part.dataset for part in self.parts] if motions is None else motions,
            ([part.setup for part in others], [part.dataset for part in others]),
            [part.motion(stop, 1.0) for part in self.parts] if stop < 1.0 else ())

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """Fingerprints of the samples of all recordings, whatever their names and formats."""
        return tuple(dict.fromkeys(
            digest for part in self.parts
            for digest in fingerprints(part.recording, part.recorded_names)))

    def holds(self, known: Collection[str]) -> bool:
        """Whether a recording has samples of those with these fingerprints."""
        return any(
            is_known(part.recording, part.recorded_names, known) for part in self.parts)

    def motion(self, start: float = 0.0, stop: float = 1.0) -> Dataset:
        """Aligned samples of the same part of each recording; see :meth:`Measurement.motion`.

        Raises:
            RecordingError: A part holds too little, or rates differ.
        """
        return Dataset.joined([part.motion(start, stop) for part in self.parts])

    def problem(self, start: float = 0.0, stop: float = 1.0) -> RegressionProblem:
        """Rows of the same part of each recording; see :meth:`Measurement.problem`.

        Raises:
            RecordingError: A part holds too little, or rates differ.
        """
        if len(self.parts) == 1:
            return self.parts[0].problem(start, stop)
        parts = [part.motion(start, stop) for part in self.parts]
        dataset = Dataset.joined(parts)
        parallel = self.setup.settings.processing.parallel_filter
        retained, _ = parallel.retained_samples(dataset.rate, dataset.segments)
        edges = np.searchsorted(retained, np.cumsum([0, *map(len, parts)])).tolist()
        return replace(
            self.setup.problem(dataset),
            recordings=tuple(zip(edges[:-1], edges[1:], strict=True)))

    def trajectory_problem(self, start: float = 0.0, stop: float = 1.0) -> TrajectoryProblem:
        """Trajectory problem of what was measured from and to the same fractions of each recording.

        Raises:
            EstimationError: The recording does not fit into memory, or holds too little.
            ModelError: The torque of the model jumps.
            RecordingError: A recording does not fit.
        """
        if self.bag is not None:
            raise EstimationError(
                'states at all nodes need the whole recording in memory',
                fix='Cut the bag, or raise recording.memory_limit')
        fit, recordings = self.setup.settings.fit, [part.recording for part in self.parts]
        return problem_from_recordings(
            self.model, recordings, fit.trajectory.nodes(recordings),
            processing=[part.processing_of(start, stop) for part in self.parts],
            parameters=self.setup.parameters())


def _same(first: Dataset, second: Dataset) -> bool:
    """Whether two data sets are one; a file may hold several recordings."""
    return first.sha256 == second.sha256 and np.array_equal(first.q, second.q)


def _at_one_rate(parts: tuple[Measurement, ...]) -> tuple[Measurement, ...]:
    """Recordings with their rows at one rate, where settings leave it open.

    That of the fastest; or, where settings give the rate of some, or leave nothing to be chosen, as
    those of a run that is repeated, the fastest of these.
    """
    rates = [part.dataset.rate for part in parts]
    left_open = [_leaves_rate_open(part) for part in parts]
    given = [rate for rate, is_open in zip(rates, left_open, strict=True) if not is_open]
    rate = max(given or rates)
    return tuple(
        part.with_processing(part.setup.settings.processing.model_copy(update={'rate': rate}))
        if is_open and not same_rate(part.dataset.rate, rate) else part
        for part, is_open in zip(parts, left_open, strict=True))


def _leaves_rate_open(part: Measurement) -> bool:
    settings = part.setup.settings
    return (part.bag is None and settings.automatic
            and 'rate' not in settings.processing.model_fields_set)
