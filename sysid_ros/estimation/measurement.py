"""One recording on its way from settings to problems."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.long_bag import LongBag, is_long
from sysid_ros.recording.processing import Processing
from sysid_ros.recording.recording import Recording
from sysid_ros.recording.tracks import evenly_sampled, joint_track


@dataclass(frozen=True, eq=False)
class Measurement:
    """A recording on its way to problems.

    Attributes:
        identification: Its settings.
        model: The torque model.
        recording: What was recorded; of a bag that does not fit into memory, one window.
        dataset: The same, aligned.
        bag: The bag that does not fit into memory; None for any other recording.
    """

    identification: Identification
    model: TorqueModel
    recording: Recording
    dataset: Dataset
    bag: LongBag | None

    @classmethod
    def read(cls, identification: Identification, model: TorqueModel) -> Measurement:
        """What was recorded, in memory or, where it is too much for that, read in windows.

        Args:
            identification: The settings.
            model: The torque model.

        Raises:
            RecordingError: The recording cannot be read or does not fit.
        """
        base = identification.base / identification.settings.folder
        if not is_long(identification.settings.recording, base):
            recording = identification.recording()
            return cls(
                identification, model, recording, identification.dataset(model, recording), None)
        bag = LongBag.survey(identification.described, base)
        recording, dataset = identification.windows(model, bag, 0.0, 1.0).sample()
        looked_at = (
            f'data quality, delays and efforts are those of {dataset.t[0]:.4g} s to '
            f'{dataset.t[-1]:.4g} s; the whole bag takes {bag.duration:.4g} s'
        )
        units = identification.checked_units(recording, model.robot)
        dataset = replace(dataset, warnings=(*dataset.warnings, looked_at, *units))
        return cls(identification, model, recording, dataset, bag)

    def with_processing(self, processing: Processing) -> Measurement:
        """The same recording, processed in another way.

        Raises:
            RecordingError: It does not fit.
        """
        identification = self.identification.with_processing(processing)
        if self.bag is not None:
            return Measurement.read(identification, self.model)
        return replace(
            self, identification=identification,
            dataset=identification.dataset(self.model, self.recording))

    def evenly_stamped(self) -> Measurement:
        """The recording with its stamps taken as even, where that is open and positions show it.

        Raises:
            RecordingError: It does not fit.
        """
        settings = self.identification.settings
        if (
            not settings.automatic or 'stamps' in settings.processing.model_fields_set
            or self.bag is not None
        ):
            return self
        joint, processing = self.model.robot.joint_names[0], settings.processing
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
            return self.identification.windows(self.model, self.bag, start, stop).sample()[1]
        whole = (start, stop) == (0.0, 1.0)
        return self.dataset if whole else self.dataset.subset(start, stop)

    def processing_until(self, stop: float) -> Processing:
        """The processing of the recording up to a fraction of it: more is trimmed off its end."""
        processing = self.identification.settings.processing
        begin, end = processing.trim
        end += (1.0 - stop) * (self.recording.duration - begin - end)
        return processing.model_copy(update={'trim': (begin, end)})

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
            return self.identification.problem_of_windows(self.model, self.bag, start, stop)
        return self.identification.problem(self.model, self.motion(start, stop))
