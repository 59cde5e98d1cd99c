"""Settings with the torque model that they describe: how recordings become rows of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.identification import Identification, IdentificationSettings
from sysid_ros.estimation.motion import Motion
from sysid_ros.estimation.plausible_terms import with_plausible_terms
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.mechanics.actuators.actuators import actuated
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.bag.long_bag import LongBag
from sysid_ros.recording.checks.clipped_effort import clipped_efforts
from sysid_ros.recording.checks.column_order import require_named_order
from sysid_ros.recording.checks.effort import RecordedEfforts, effort_findings_together
from sysid_ros.recording.checks.effort_finding import EffortFinding, EffortKind
from sysid_ros.recording.checks.effort_signs import RecordedSigns, require_right_signs
from sysid_ros.recording.checks.unit_check import unit_mistakes
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.floating_base_sensors import with_sensors
from sysid_ros.recording.processing.align import Clock, align, align_from
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.windows import AlignedWindows
from sysid_ros.recording.recording import Recording
from sysid_ros.robot.inertia import INERTIAL_FIELDS
from sysid_ros.robot.parameters import ParameterSet


@dataclass(frozen=True, eq=False)
class FitSetup:
    """Settings and torque model, resolved once, by which recordings are aligned and fitted.

    Attributes:
        identification: The settings, and the folder that their file names are relative to.
        model: The torque model that they describe.
    """

    identification: Identification
    model: TorqueModel

    @classmethod
    def of(cls, identification: Identification) -> FitSetup:
        """Build the torque model that settings describe.

        Raises:
            ConfigurationError: The settings have no robot.
            ModelError: The description cannot be used.
        """
        return cls(identification, identification.model())

    @classmethod
    def load(cls, path: str | Path, base: str | Path | None = None) -> FitSetup:
        """Read a settings file and build its torque model; see :meth:`Identification.load`."""
        return cls.of(Identification.load(path, base))

    @property
    def settings(self) -> IdentificationSettings:
        """The settings."""
        return self.identification.settings

    @property
    def unmeasured(self) -> frozenset[str]:
        """Joints whose efforts a fit does not need: of an actuator, or that nothing drives."""
        drives = actuated(self.model)
        return frozenset(self.identification.described.unpowered) | frozenset(
            () if drives is None else drives.actuators.names)

    def recording_of(self, other: Identification) -> FitSetup:
        """For another recording of the robot; see :meth:`Identification.recording_of`."""
        return replace(self, identification=self.identification.recording_of(other))

    def align(self, recording: Recording) -> Dataset:
        """A recording, aligned for the joints of the model.

        Raises:
            RecordingError: It does not fit, or its units look wrong.
        """
        warnings = self.unit_warnings(recording)
        dataset = with_sensors(
            self.model.robot, align(recording, *self._alignment(self.settings.processing)),
            recording, self.settings.processing, self.identification.described.contacts)
        if actuated(self.model) is None:
            clipped = clipped_efforts(recording, dataset, self.model)
            warnings = (*warnings, *(one.sentence for one in clipped))
        return replace(dataset, warnings=(*dataset.warnings, *warnings))

    def align_from(self, before: Clock, recording: Recording) -> tuple[Dataset, Clock]:
        """A part of a recording, aligned on the clock of the one before; nothing is trimmed.

        Args:
            before: Clock of the part before, which this one overlaps; an empty one to begin.
            recording: The part.

        Returns:
            The data set and its clock.

        Raises:
            RecordingError: It does not fit.
        """
        untrimmed = self.settings.processing.model_copy(update={'trim': (0.0, 0.0)})
        return align_from(before, recording, *self._alignment(untrimmed))

    def windows(self, bag: LongBag, start: float, stop: float) -> AlignedWindows:
        """A part of a long bag in windows that fit into memory.

        Args:
            bag: The bag.
            start: Beginning of the part, as a fraction of the bag's duration.
            stop: Its end.
        """
        return AlignedWindows(bag, *self._alignment(self.settings.processing), start, stop)

    def _alignment(
        self, processing: Processing
    ) -> tuple[tuple[str, ...], Processing, frozenset[str], Mapping[str, float]]:
        """Joints, processing, joints whose encoders may wrap, and largest torques."""
        robot = self.model.robot
        continuous = frozenset(
            name for name, kind in zip(robot.joint_names, robot.joint_types, strict=True)
            if kind == 'continuous')
        largest = dict(zip(robot.joint_names, robot.limits.effort, strict=True))
        return robot.limb_joints, processing, continuous, largest

    def unit_warnings(self, recording: Recording) -> tuple[str, ...]:
        """Warnings of positions and stamps that look like another unit than described.

        Raises:
            RecordingError: One does, unless the settings only warn.
        """
        found = tuple(unit_mistakes(recording, self.model.robot, self.identification.described))
        if found and self.settings.processing.unit_check == 'refuse':
            raise found[0]
        return tuple(map(str, found))

    def effort_findings(self, dataset: Dataset) -> tuple[EffortFinding, ...]:
        """Findings on the measured efforts compared with the torques that the prior predicts.

        Raises:
            RecordingError: Columns are those of other joints, or an effort has the wrong sign,
                unless the settings only warn.
        """
        found, = effort_findings_of([self], [dataset])
        return found

    def recorded_efforts(self, dataset: Dataset) -> RecordedEfforts:
        """Measured efforts with what the settings know of them."""
        described = self.settings.recording
        effort, ratios = described.effort, {}
        if described.transmission is not None and (effort is None or effort.side == 'joint'):
            gears = np.diag(described.transmission.build().motor_per_joint)
            ratios = dict(zip(described.joints, gears, strict=True))
        return RecordedEfforts(
            dataset, ratios, self.identification.described.unpowered,
            self.settings.processing.parallel_filter.low_pass)

    def parameters(self) -> ParameterSet:
        """Parameters with what is known of them, those the settings hold fixed among them.

        Raises:
            ConfigurationError: What is known does not fit the robot.
            ParameterError: A pattern of those to fix matches none, or there is no parameter of a
                first guess.
        """
        known, fixed = self._first_guesses(), self.settings.fit.fixed
        if fixed is None:
            fixed = known.bodies if actuated(self.model) else ()
            return known.fixed(*(f'{body}.{name}' for body in fixed for name in INERTIAL_FIELDS))
        return known.fixed(*fixed)

    def _first_guesses(self) -> ParameterSet:
        """Parameters before identification, joint terms by the settings where these say so."""
        known, guesses = self.settings.known.parameters(self.model), self.settings.fit.prior
        for name, value in guesses.items():
            k = known.index(name)
            if known.is_inertial(name):
                raise ConfigurationError(
                    'masses and inertias are those of the description', where='fit.prior',
                    found=name, allowed='parameters of joint terms',
                    fix='Change the description; a link that was weighed goes into known: {masses: '
                    '{link: kg}}')
            if not known.lower[k] <= value <= known.upper[k]:
                raise ConfigurationError(
                    'the first guess is not a value that the parameter may have',
                    where=f'fit.prior.{name}', found=value,
                    allowed=f'{known.lower[k]:g} to {known.upper[k]:g} {known.units[k]}')
        known = known.with_values(guesses)
        return replace(known, prior=known.values) if guesses else known

    def speeds(self, dataset: Dataset) -> np.ndarray:
        """How fast each joint is in each row of a data set, in [rad/s] or [m/s], ``(T', n)``."""
        return Motion(dataset, self.settings.processing.parallel_filter).speeds()

    def problem(self, data: Dataset | AlignedWindows) -> RegressionProblem:
        """Rows of aligned data for the parameters the settings leave free.

        Args:
            data: Motion and torque, in memory or in windows of a long bag.

        Raises:
            ConfigurationError: A per-joint list has the wrong length.
            RecordingError: The data does not fit, or its bag cannot be read.
        """
        build: Any = RegressionProblem.from_windows
        if isinstance(data, Dataset):
            build = RegressionProblem.from_dataset
        fit = self.settings.fit
        problem: RegressionProblem = build(
            self.model, data, parallel_filter=self.settings.processing.parallel_filter,
            minimum_velocity=fit.minimum_velocity, parameters=self.parameters())
        plausible = fit.plausible
        return with_plausible_terms(problem, plausible.term_factor, plausible.effort_limits)


def effort_findings_of(
    setups: Sequence[FitSetup], datasets: Sequence[Dataset],
    beside: tuple[Sequence[FitSetup], Sequence[Dataset]] = ((), ()),
    rest: Sequence[Dataset] = (),
) -> tuple[tuple[EffortFinding, ...], ...]:
    """Findings on the efforts of recordings of one robot compared with the prior's torques.

    Args:
        setups: Settings of each recording; the torque model is that of the first.
        datasets: The recordings.
        beside: Settings and data of recordings to judge by; see
            :func:`~sysid_ros.recording.checks.effort.effort_findings_together`.
        rest: What is left of each of the recordings, to judge by as well.

    Raises:
        RecordingError: Columns are those of other joints, or efforts have the wrong sign, in a
            recording or one beside, unless its settings only warn.
    """
    every = [*zip(setups, datasets, strict=True), *zip(*beside, strict=True)]
    recorded, count = [setup.recorded_efforts(data) for setup, data in every], len(setups)
    kept = [one._replace(dataset=left) for one, left in zip(recorded[:count], rest, strict=False)]
    found = effort_findings_together(
        recorded[:count], setups[0].model, (*recorded[count:], *kept))[:len(every)]
    refusing = [setup.settings.processing.effort_check == 'refuse' for setup, _ in every]
    signs = []
    for (setup, data), those, refuses in zip(every, found, refusing, strict=True):
        if refuses:
            # Efforts of other joints may also look like those of the wrong sign, and those of a
            # robot on a wall like others'.
            if all(one.kind is not EffortKind.OTHER_GRAVITY for one in those):
                require_named_order(data, setup.model)
            signs.append(RecordedSigns(those, setup.settings.recording, data.source))
    require_right_signs(*signs)
    # Scales are told by the description, which is what is wrong, says who only wants a warning.
    scales = (EffortKind.INCONSISTENT, EffortKind.OTHER_CLOCK, EffortKind.OTHER_GRAVITY)
    return tuple(
        those if refuses else tuple(one for one in those if one.kind not in scales)
        for those, refuses in zip(found[:count], refusing[:count], strict=True))
