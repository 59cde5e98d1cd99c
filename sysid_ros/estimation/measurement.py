"""One recording on its way from settings to problems."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.errors import EstimationError, RecordingError
from sysid_ros.estimation.actuator_commands import with_actuator_torques, with_torques_by
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.hidden_positions import hidden_joints, with_hidden_positions
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.mechanics.actuators.actuators import actuated
from sysid_ros.recording.bag.long_bag import LongBag, is_long
from sysid_ros.recording.checks.effort_finding import EffortFinding
from sysid_ros.recording.checks.quality import DataQuality, assess_quality
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.choice import choose_filters
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.torque_delays import TorqueDelays
from sysid_ros.recording.processing.tracks import evenly_sampled, joint_track
from sysid_ros.recording.recording import Recording


@dataclass(frozen=True, eq=False)
class Measurement:
    """A recording on its way to problems.

    Attributes:
        setup: Its settings and the torque model.
        recording: What was recorded; of a bag that does not fit into memory, one window.
        dataset: The same, aligned.
        bag: The bag that does not fit into memory; None for any other recording.
        hidden: Joints whose positions are not measured but made up by the first guess.
    """

    setup: FitSetup
    recording: Recording
    dataset: Dataset
    bag: LongBag | None
    hidden: tuple[str, ...] = ()

    @classmethod
    def read(cls, setup: FitSetup) -> Measurement:
        """Read a recording into memory or, where it is too long for that, in windows.

        Args:
            setup: The settings, which name the recording, and the torque model.

        Raises:
            EstimationError: The robot has actuators or sensors on links, and the bag is too long.
            RecordingError: The recording cannot be read or does not fit.
        """
        described, folder = setup.identification.described, setup.identification.folder
        if not is_long(described, folder):
            recorded = setup.identification.recording()
            recording = with_actuator_torques(
                with_hidden_positions(recorded, setup), setup.model)
            return cls(setup, recording, setup.align(recording), None,
                       hidden_joints(setup, recorded))
        beside = 'commands' if actuated(setup.model) is not None else (
            'sensors on links' if described.sensors else '')
        if beside:
            raise EstimationError(
                f'a bag with {beside} has to fit into memory', where=described.file or '',
                found=f'more than recording: {{memory_limit: {described.memory_limit:g}}}',
                fix='Raise recording.memory_limit, in MB, or cut the bag')
        bag = LongBag.survey(described, folder)
        recording, dataset = setup.windows(bag, 0.0, 1.0).sample()
        looked_at = (
            f'data quality, delays and efforts are those of {dataset.t[0]:.4g} s to '
            f'{dataset.t[-1]:.4g} s; the whole bag takes {bag.duration:.4g} s'
        )
        units = setup.unit_warnings(recording)
        dataset = replace(dataset, warnings=(*dataset.warnings, looked_at, *units))
        return cls(setup, recording, dataset, bag)

    @property
    def recorded_names(self) -> tuple[str, ...]:
        """Joints whose positions are measured."""
        return tuple(
            name for name in self.setup.model.robot.limb_joints if name not in self.hidden)

    def with_processing(self, processing: Processing) -> Measurement:
        """The same recording, processed in another way.

        Raises:
            RecordingError: It does not fit.
        """
        settings = self.setup.identification.with_processing(processing)
        setup = replace(self.setup, identification=settings)
        if self.bag is not None:
            return Measurement.read(setup)
        return replace(self, setup=setup, dataset=setup.align(self.recording))

    def driven_by(self, values: np.ndarray) -> Measurement:
        """The same recording with the torques that commands make by other constants of actuators.

        Filters that settings leave open are chosen as for measured torques: a fit of simulated
        motion needs none, and torques that motion takes are noise without.

        Args:
            values: Parameters of the torque model, shape ``(p,)``.
        """
        recording = with_torques_by(self.recording, self.setup.model, values)
        driven = replace(self, recording=recording, dataset=self.setup.align(recording))
        processing, chosen = choose_filters(driven.dataset, self.setup.settings.processing)
        try:
            return driven.with_processing(processing) if chosen else driven
        except RecordingError:
            # Too many gaps for filters.
            return driven

    def evenly_stamped(self) -> Measurement:
        """The recording with its stamps taken as even, where that is open and positions show it.

        Raises:
            RecordingError: It does not fit.
        """
        processing = self.setup.settings.processing
        if (
            not self.setup.settings.automatic or 'stamps' in processing.model_fields_set
            or self.bag is not None
        ):
            return self
        joint = self.setup.model.robot.limb_joints[0]
        if not evenly_sampled(joint_track(self.recording, joint, 'position', processing)):
            return self
        return self.with_processing(processing.model_copy(update={'stamps': 'uniform'}))

    def motion(self, start: float = 0.0, stop: float = 1.0) -> Dataset:
        """Aligned samples of a part of the recording; of a long bag one window of the part.

        Args:
            start: Beginning of the part, as a fraction of the recording.
            stop: Its end.

        Raises:
            RecordingError: The part holds too little.
        """
        if self.bag is not None:
            return self.setup.windows(self.bag, start, stop).sample()[1]
        whole = (start, stop) == (0.0, 1.0)
        return self.dataset if whole else self.dataset.subset(start, stop)

    def quality(
        self, efforts: tuple[EffortFinding, ...] = (), delays: TorqueDelays | None = None
    ) -> DataQuality:
        """Data quality of the recording.

        Args:
            efforts: What its efforts look like.
            delays: Delays between its torques and its motion, if they were estimated.
        """
        return assess_quality(
            self.recording, self.dataset, self.setup.model.robot,
            processing=self.setup.settings.processing, delays=delays, efforts=efforts)

    def processing_of(self, start: float, stop: float) -> Processing:
        """The processing of the recording from and to fractions of it: more is trimmed off."""
        processing = self.setup.settings.processing
        begin, end = processing.trim
        left = self.recording.duration - begin - end
        return processing.model_copy(update={
            'trim': (begin + start * left, end + (1.0 - stop) * left)})

    def problem(self, start: float = 0.0, stop: float = 1.0) -> RegressionProblem:
        """Rows of a part of the recording, for the parameters the settings leave free.

        Args:
            start: Beginning of the part, as a fraction of the recording.
            stop: Its end.

        Raises:
            ConfigurationError: A per-joint list has the wrong length.
            RecordingError: The part holds too little.
        """
        if self.bag is not None:
            return self.setup.problem(self.setup.windows(self.bag, start, stop))
        return self.setup.problem(self.motion(start, stop))
