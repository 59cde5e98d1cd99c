"""From a settings file to a problem: the one path that terminal and nodes share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import model_validator

from sysid_ros.dynamics.configuration import RobotSettings, TermSettings
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.fit_settings import FitSettings
from sysid_ros.estimation.known import Known
from sysid_ros.estimation.plausible_terms import with_plausible_terms
from sysid_ros.estimation.presets import filled_in
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.feasible_set import Plausibility
from sysid_ros.recording.align import Clock, align, align_from
from sysid_ros.recording.column_order import require_named_order
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.effort import (
    EffortFinding,
    EffortKind,
    effort_findings,
    require_right_signs,
)
from sysid_ros.recording.load import load_recording
from sysid_ros.recording.long_bag import LongBag
from sysid_ros.recording.processing import Processing
from sysid_ros.recording.processing_choice import filled_from
from sysid_ros.recording.recording import Recording
from sysid_ros.recording.unit_check import unit_mistakes
from sysid_ros.recording.windows import AlignedWindows
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet
from sysid_ros.settings import StrictSettings, load_yaml, parse_settings


class IdentificationSettings(StrictSettings):
    """A settings file: the robot, what was recorded, how it is processed and fitted.

    A file that only names another recording of a known robot needs no ``robot`` section.

    Attributes:
        preset: Name of settings for ``processing`` and ``fit`` that hold where the file says
            nothing, one of :data:`~sysid_ros.estimation.presets.PRESETS`.
        automatic: Whether a fit by regression chooses what ``robot: terms``, ``processing`` and
            ``fit`` leave open, by the data; otherwise that has the defaults written there.
        robot: The robot and its joint terms.
        folder: Folder of the recording's files, relative to the settings file.
        recording: What was recorded.
        processing: How it is filtered and differentiated.
        fit: How it is fitted.
        known: What is known from elsewhere: weighed links, a load of known mass.
    """

    preset: str | None = None
    automatic: bool = True
    robot: RobotSettings | None = None
    folder: str = '.'
    recording: RecordingSettings
    processing: Processing = Processing()
    fit: FitSettings = FitSettings()
    known: Known = Known()

    @model_validator(mode='before')
    @classmethod
    def _fill_in(cls, data: Any) -> Any:
        return filled_in(data) if isinstance(data, Mapping) else data

    @model_validator(mode='after')
    def _keep_total(self) -> IdentificationSettings:
        """A weighed total is kept as closely as it is known."""
        given = self.known.plausibility
        plausibility = self.fit.plausibility or Plausibility()
        if set(given) <= plausibility.model_fields_set:
            return self
        fit = self.fit.model_copy(update={
            'plausibility': Plausibility(**(plausibility.model_dump(exclude_unset=True) | given))})
        return self.model_copy(update={'fit': fit})


@dataclass(frozen=True)
class Identification:
    """Settings together with the folder that their file names are relative to."""

    settings: IdentificationSettings
    base: Path
    path: Path | None = None

    @classmethod
    def load(cls, path: str | Path, base: str | Path | None = None) -> Identification:
        """Read a settings file.

        Args:
            path: The YAML file.
            base: Folder that its file names are relative to; by default its own.

        Raises:
            ConfigurationError: The file cannot be read, or a key or value is not right.
        """
        path = Path(path)
        settings = parse_settings(IdentificationSettings, load_yaml(path), str(path))
        return cls(settings, path.parent if base is None else Path(base), path)

    def model(self) -> TorqueModel:
        """The torque model of the robot.

        Raises:
            ConfigurationError: The settings have no robot.
            ModelError: The description cannot be used.
        """
        return self.robot().build(self.base, self.settings.recording.joints)

    def robot(self) -> RobotSettings:
        """The robot's section of the settings.

        Raises:
            ConfigurationError: There is none.
        """
        if self.settings.robot is None:
            raise ConfigurationError(
                'there is no robot', where=str(self.path or 'settings'),
                fix='Add a section robot: with the key urdf',
            )
        return self.settings.robot

    def recording_of(self, other: Identification) -> Identification:
        """Another recording of this robot, fitted rows made the same way.

        Args:
            other: Settings that name the recording; what they say of its processing is kept, since
                it may have other rates, and filters are this one's where they say nothing; rows
                count by this one's fit settings.
        """
        processing = other.settings.processing
        if other.settings.automatic:
            processing = filled_from(processing, self.settings.processing)
        settings = other.settings.model_copy(update={
            'robot': self.settings.robot, 'fit': self.settings.fit,
            'known': self.settings.known, 'processing': processing})
        return Identification(settings, other.base, other.path)

    @property
    def described(self) -> RecordingSettings:
        """What was recorded, with all joints that nothing drives."""
        recording = self.settings.recording
        names = (*recording.unpowered, *self.settings.fit.trajectory.unpowered)
        return recording.model_copy(update={'unpowered': tuple(dict.fromkeys(names))})

    def recording(self) -> Recording:
        """What was recorded.

        Raises:
            RecordingError: It cannot be read.
        """
        return load_recording(self.described, self.base / self.settings.folder)

    def dataset(self, model: TorqueModel, recording: Recording | None = None) -> Dataset:
        """The recording, aligned for the joints of the model.

        Args:
            model: The torque model.
            recording: What :meth:`recording` gave, if it was called before.

        Raises:
            RecordingError: The recording cannot be read or does not fit.
        """
        robot = model.robot
        recording = self.recording() if recording is None else recording
        warnings = self.checked_units(recording, robot)
        dataset = align(
            recording, robot.joint_names, self.settings.processing,
            continuous=_continuous(robot), effort_limits=_effort_limits(robot))
        return replace(dataset, warnings=(*dataset.warnings, *warnings))

    def checked_units(self, recording: Recording, robot: RobotModel) -> tuple[str, ...]:
        """Warnings of positions and stamps that look like another unit than described.

        Args:
            recording: What was recorded.
            robot: The robot.

        Raises:
            RecordingError: One does, unless the settings only warn.
        """
        found = tuple(unit_mistakes(recording, robot, self.described))
        if found and self.settings.processing.unit_check == 'refuse':
            raise found[0]
        return tuple(map(str, found))

    def untrimmed_from(
        self, before: Clock, model: TorqueModel, recording: Recording
    ) -> tuple[Dataset, Clock]:
        """A stretch of a recording, aligned on the clock of the one before; nothing is trimmed.

        Args:
            before: Clock of the stretch before, which this one overlaps; an empty one to begin.
            model: The torque model.
            recording: The stretch.

        Returns:
            The data set and its clock.

        Raises:
            RecordingError: It does not fit.
        """
        robot = model.robot
        processing = self.settings.processing.model_copy(update={'trim': (0.0, 0.0)})
        return align_from(
            before, recording, robot.joint_names, processing, _continuous(robot),
            _effort_limits(robot))

    def windows(
        self, model: TorqueModel, bag: LongBag, start: float, stop: float
    ) -> AlignedWindows:
        """A part of a long bag in stretches that fit into memory.

        Args:
            model: The torque model.
            bag: The bag.
            start: Beginning of the part, as a fraction of the bag's duration.
            stop: Its end.
        """
        robot = model.robot
        return AlignedWindows(
            bag, robot.joint_names, self.settings.processing, _continuous(robot),
            _effort_limits(robot), start, stop,
        )

    def effort_findings(
        self, model: TorqueModel, dataset: Dataset
    ) -> tuple[EffortFinding, ...]:
        """What the measured efforts look like beside the prior's torques.

        Raises:
            RecordingError: Columns are those of other joints, or an effort has the wrong sign,
                unless the settings only warn.
        """
        described = self.settings.recording
        effort = described.effort
        ratios = None
        if described.transmission is not None and (effort is None or effort.side == 'joint'):
            gears = np.diag(described.transmission.build().motor_per_joint)
            ratios = dict(zip(described.joints, gears, strict=True))
        findings = effort_findings(dataset, model, ratios, self.described.unpowered)
        if self.settings.processing.effort_check == 'refuse':
            # Efforts of other joints may also look like those of the wrong sign.
            require_named_order(dataset, model)
            require_right_signs(findings)
            return findings
        # Scales are told by the description, which is what is wrong, says who only wants a warning.
        told = (EffortKind.INCONSISTENT, EffortKind.OTHER_CLOCK)
        return tuple(one for one in findings if one.kind not in told)

    def with_processing(self, processing: Processing) -> Identification:
        """The same with the recording processed in another way."""
        return replace(
            self, settings=self.settings.model_copy(update={'processing': processing}))

    def with_fit(self, **changes: Any) -> Identification:
        """The same with some settings of the fit changed."""
        fit = self.settings.fit.model_copy(update=changes)
        return replace(self, settings=self.settings.model_copy(update={'fit': fit}))

    def with_terms(self, terms: TermSettings) -> Identification:
        """The same with other joint terms, among which friction is not chosen again.

        Raises:
            ConfigurationError: The settings have no robot.
        """
        fit, robot = self.settings.fit, self.robot()
        settings = self.settings.model_copy(update={
            'robot': robot.model_copy(update={'terms': terms}),
            'fit': fit.model_copy(update={'friction_selection': None}),
        })
        return replace(self, settings=settings)

    def parameters(self, model: TorqueModel) -> ParameterSet:
        """Parameters with what is known of them, those the settings hold fixed among them.

        Raises:
            ConfigurationError: What is known does not fit the robot.
            ParameterError: A pattern of those to fix matches none.
        """
        return self.settings.known.parameters(model).fixed(*self.settings.fit.fixed)

    def problem(self, model: TorqueModel, dataset: Dataset) -> RegressionProblem:
        """Rows of the dataset for the parameters the settings leave free.

        Raises:
            ConfigurationError: A per-joint list has the wrong length.
        """
        fit = self.settings.fit
        return self._with_plausible_terms(RegressionProblem.from_dataset(
            model, dataset,
            parallel_filter=self.settings.processing.parallel_filter,
            minimum_velocity=fit.minimum_velocity,
            parameters=self.parameters(model),
        ))

    def problem_of_windows(
        self, model: TorqueModel, bag: LongBag, start: float, stop: float
    ) -> RegressionProblem:
        """Rows of a part of a long bag, like :meth:`problem`.

        Args:
            model: The torque model.
            bag: The bag.
            start: Beginning of the part, as a fraction of the bag's duration.
            stop: Its end.

        Raises:
            ConfigurationError: A per-joint list has the wrong length.
            RecordingError: The bag cannot be read or does not fit.
        """
        fit = self.settings.fit
        return self._with_plausible_terms(RegressionProblem.from_windows(
            model, self.windows(model, bag, start, stop),
            parallel_filter=self.settings.processing.parallel_filter,
            minimum_velocity=fit.minimum_velocity,
            parameters=self.parameters(model),
        ))

    def _with_plausible_terms(self, problem: RegressionProblem) -> RegressionProblem:
        plausibility = self.settings.fit.plausibility or Plausibility()
        return with_plausible_terms(problem, plausibility.term_factor)


def _continuous(robot: RobotModel) -> frozenset[str]:
    """Joints without limits, whose encoders may wrap."""
    return frozenset(
        name for name, kind in zip(robot.joint_names, robot.joint_types, strict=True)
        if kind == 'continuous'
    )


def _effort_limits(robot: RobotModel) -> dict[str, float]:
    """Largest torque by joint in [N·m] or [N]."""
    return dict(zip(robot.joint_names, robot.limits.effort, strict=True))
