"""From the folder of a fit to what a revision hands over; nothing is written here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sysid_ros.errors import RecordingError, ReleaseError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.payload.payload import identify_payload, in_link_frame
from sysid_ros.estimation.payload.payload_estimate import PayloadEstimate
from sysid_ros.evaluation.evaluation import FITTED_RANGE, JUDGED_RANGE
from sysid_ros.evaluation.faster_motion import FASTER_MOTION, FasterMotion
from sysid_ros.evaluation.shadow import (
    Candidate,
    Shadow,
    ShadowSettings,
    shadow_test,
)
from sysid_ros.mechanics.actuators.actuators import actuated
from sysid_ros.mechanics.joint_terms.armature import Armature
from sysid_ros.mechanics.joint_terms.coulomb import CoulombFriction
from sysid_ros.mechanics.joint_terms.offset import TorqueOffset
from sysid_ros.mechanics.joint_terms.stiffness import Stiffness
from sysid_ros.mechanics.joint_terms.term import JointTerm
from sysid_ros.mechanics.joint_terms.viscous import ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.checks.motion_range import MotionRange
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.live.window import LiveWindow
from sysid_ros.release.description_export import export_description, verify_export
from sysid_ros.release.link_inertias import require_joint_terms_known
from sysid_ros.release.revert_to_prior import revert_to_prior
from sysid_ros.release.revision import Content, Quality, Revision, Validity
from sysid_ros.release.store import RevisionStore
from sysid_ros.robot.inertia import consistency_margin
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet
from sysid_ros.runs.judged import NotCommittableError, changed_since
from sysid_ros.runs.run_files import read_provenance, read_verdict

_TERMS = (ViscousFriction, CoulombFriction, TorqueOffset, Armature, Stiffness)
# Part of the time asked for that has to be there.
_COVERED = 0.9


class InconsistentError(ReleaseError):
    """Physics does not allow the parameters, or does not after they were written."""


@dataclass(frozen=True, eq=False)
class FinishedFit:
    """What the folder of a fit holds.

    Attributes:
        name: Id of the estimate.
        setup: Settings of the fit, and the torque model that was fitted.
        estimate: The estimate.
        verdict: The verdict, as in its file.
        provenance: Base revision, end of the recording and figures, as in their file; empty for
            a fit that was made in a terminal.
        changed: Files of the run that are not those which the verdict was made from.
        written: When the estimate was written, in nanoseconds since 1970.
    """

    name: str
    setup: FitSetup
    estimate: Estimate
    verdict: Mapping[str, Any]
    provenance: Mapping[str, Any]
    changed: tuple[str, ...]
    written: int

    @classmethod
    def open(cls, name: str, folder: Path) -> FinishedFit:
        """Read the folder of a fit.

        Args:
            name: Id of the estimate.
            folder: Its folder.

        Raises:
            ConfigurationError: It is no folder of a fit, or is not complete.
            SysidError: A file in it cannot be used.
        """
        # Its figures take half a second to import, which a node that starts need not wait for.
        from sysid_ros.runs.run_folder import RunFolder  # noqa: PLC0415

        run = RunFolder.open(folder)
        verdict = read_verdict(folder)
        return cls(
            name, run.setup(), run.estimate(), verdict, read_provenance(folder),
            changed_since(folder, verdict), (folder / 'estimate.json').stat().st_mtime_ns,
        )

    @property
    def model(self) -> TorqueModel:
        """Torque model that was fitted."""
        return self.setup.model

    @property
    def base(self) -> str:
        """Id of the revision that ran when the fit began; empty for the initial one."""
        return str(self.provenance.get('base_revision', ''))

    @property
    def recording_end(self) -> float:
        """Time in [s] since 1970 from which on data is new to the estimate."""
        # Where it is not said, all that came before the fit was done may have been fitted.
        return 1e-9 * float(self.provenance.get('recording_end') or self.written)

    @property
    def fitted_range(self) -> MotionRange | None:
        """How far, how fast and under which load the fitted motion went, if that is known."""
        return self._range(FITTED_RANGE)

    @property
    def validity(self) -> Validity:
        """Up to where the estimate was fitted and judged, of what is readable of it."""
        fitted, judged = self.fitted_range, self._range(JUDGED_RANGE)
        faster = FasterMotion.from_json(self.estimate.provenance.get(FASTER_MOTION))
        return Validity(*(
            {} if known is None else known.to_json() for known in (fitted, judged, faster)))

    def _range(self, key: str) -> MotionRange | None:
        return MotionRange.from_json(
            self.estimate.provenance.get(key, {}), self.model.robot.joint_names)

    def require_committable(self) -> None:
        """Refuse what the verdict is against, or what it was not made from.

        Raises:
            NotCommittableError: Its reasons, or the files that changed since.
        """
        if self.changed:
            raise NotCommittableError(
                f'the verdict was not made from {", ".join(self.changed)} as they are now',
                where=self.name, fix='Fit again, or restore what the fit wrote')
        reasons = self.verdict.get('reasons')
        if self.verdict.get('committable') is True and not reasons and self.estimate.status.ok:
            return
        reasons = ' '.join(map(str, self.verdict.get('reasons') or (self.estimate.status.value,)))
        steps = self.verdict.get('next_steps') or ('Record again',)
        raise NotCommittableError(
            f'the verdict is against it: {reasons.rstrip(".")}', where=self.name,
            fix=str(steps[0]).rstrip('.'))

    def content(self, robot: RobotModel) -> Content:
        """What a commit would hand over; the prior is kept where the data does not tell.

        Consistency is checked on the numbers as they stand in the exported description, and
        this is loaded again and gives the same torques.

        Args:
            robot: The robot as described before identification.

        Raises:
            NotCommittableError: The verdict is against it, the estimate is of another robot, or
                there is no place for its parameters.
            InconsistentError: No real body has them.
        """
        self.require_committable()
        _require_same_robot(self.model.robot, robot, self.name)
        handed = revert_to_prior(self.model, self.estimate)
        try:
            require_joint_terms_known(robot, handed.parameters)
        except ReleaseError as error:
            raise _as(NotCommittableError, error) from error
        drives = actuated(self.model)
        try:
            export = export_description(
                robot, handed.parameters, actuators=None if drives is None else drives.actuators)
            verify_export(robot, handed.parameters, export)
        except ReleaseError as error:
            raise _as(InconsistentError, error) from error
        return Content(
            export.xml, handed.parameters, robot.description.sha256, self.name,
            int(self.provenance.get('estimated') or self.written),
            str(self.estimate.provenance.get('sha256', '')), self._quality(handed.parameters),
            handed.kept, (*handed.notes, *export.notes),
            self.validity,
        )

    def require_measured_torques(self) -> None:
        """Refuse a shadow test of what was identified from commands.

        Raises:
            NotCommittableError: No torque of the robot is measured.
        """
        if actuated(self.model) is not None:
            raise NotCommittableError(
                'no torque of this robot is measured that a shadow test could be of',
                where=self.name,
                fix='Commit with shadow_duration 0: the verdict says how well a motion is '
                'simulated that was not fitted')

    def shadow(
        self, content: Content, current: ParameterSet, window: LiveWindow, duration: float,
        settings: ShadowSettings,
    ) -> Shadow:
        """Let what would be handed over predict live torques beside what runs now.

        Args:
            content: What :meth:`content` gave.
            current: Parameters that run now.
            window: Joint states as they came in.
            duration: How much of the last motion to predict, in [s].
            settings: What is asked of the motion.

        Raises:
            RecordingError: There is too little new data, or the robot hardly moved.
        """
        dataset = self._new_motion(window, duration, settings.velocity)
        smoothing = self._smoothing()
        return shadow_test(
            _candidate(self.model.robot, content.parameters, smoothing),
            _candidate(self.model.robot, current, smoothing), dataset,
            parallel_filter=self.setup.settings.processing.parallel_filter,
            minimum_velocity=self.setup.settings.fit.minimum_velocity,
            settings=settings,
            fitted=self.fitted_range,
        )

    def payload(
        self, window: LiveWindow, duration: float, velocity: float, link: str | None
    ) -> tuple[str, PayloadEstimate]:
        """The load that the robot has moved since it was fitted without one.

        Args:
            window: Joint states as they came in.
            duration: How much of the last motion tells, in [s].
            velocity: Slower joints count as standing still, in [rad/s] or [m/s].
            link: A link of the body that carries it; by default the end of the chain.

        Returns:
            The link, and the load in its frame.

        Raises:
            ConfigurationError: There is no such link, or the robot has several ends.
            EstimationError: The motion tells nothing of a load.
            RecordingError: There is too little new data.
        """
        dataset = self._new_motion(window, duration, velocity)
        problem = self.setup.problem(dataset)
        estimate = identify_payload(problem, self.estimate, link=link)
        return in_link_frame(self.model.robot, link, estimate)

    def _new_motion(self, window: LiveWindow, duration: float, velocity: float) -> Dataset:
        """The last motion since the fitted recording ended."""
        recording = self.setup.settings.recording
        live = window.after(self.recording_end).last_motion(duration, velocity)
        if live.duration < _COVERED * duration:
            raise RecordingError(
                'too little was heard since the fitted recording ended',
                found=f'{live.duration:.3g} s up to the last motion', allowed=f'{duration:g} s',
                fix='Move the robot for longer, or ask for a shorter time')
        own = recording if recording.format == 'rosbag' else None
        return self.setup.align(live.recording(own))

    def _smoothing(self) -> float:
        smoothing = self.setup.identification.robot().terms.coulomb_smoothing
        return smoothing if isinstance(smoothing, float) else 0.0

    def _quality(self, parameters: ParameterSet) -> Quality:
        known = {
            name: float(value) for name in (
                'held_out_relative_error', 'prior_relative_error', 'condition_number')
            if (value := self.provenance.get(name)) is not None
        }
        margins = [
            float(consistency_margin(
                parameters.inertial(body), parameters.prior[parameters.body_slice(body)]))
            for body in parameters.bodies
        ]
        return Quality(**known, consistency_margin=min(margins, default=math.nan))


@dataclass(frozen=True, eq=False)
class Preparation:
    """Everything that is needed to commit an estimate.

    Attributes:
        fit: Where it comes from.
        content: What would be handed over.
        current: The revision that it would replace.
        judgement: What came of judging it again, in words; empty where it is current already.
    """

    fit: FinishedFit
    content: Content
    current: Revision
    judgement: str = ''

    @property
    def is_current(self) -> bool:
        """Whether the current revision holds the same already."""
        return self.current.content.same_as(self.content)


def judged_by_recordings(name: str, folder: Path) -> str:
    """Judge an estimate again; see :func:`sysid_ros.runs.judgement.judge_again`."""
    # What it needs takes a second to import, which a node that starts need not wait for.
    from sysid_ros.runs.judgement import judge_again  # noqa: PLC0415

    return judge_again(name, folder)


def prepare(
    store: Path, name: str, folder: Path, robot: RobotModel,
    judge: Callable[[str, Path], str] = judged_by_recordings, *, shadowed: bool = False,
) -> Preparation:
    """Look whether an estimate may be committed, and what would be handed over.

    It is judged again by its recordings: who edits an estimate can edit its verdict, too.

    Args:
        store: File of the revision store.
        name: Id of the estimate.
        folder: Its folder.
        robot: The robot as described before identification.
        judge: Judges the estimate with this id in this folder, and says what came of it.
        shadowed: Whether a shadow test is to follow.

    Raises:
        NotCommittableError: As for :meth:`FinishedFit.content`, the recordings say otherwise, or
            there is no torque for a shadow test.
        InconsistentError: As for :meth:`FinishedFit.content`.
        BaseChangedError: Another revision was committed since the fit began.
        SysidError: The folder or the store cannot be used.
    """
    fit = FinishedFit.open(name, folder)
    if shadowed:
        fit.require_measured_torques()
    content = fit.content(robot)
    with RevisionStore(store) as revisions:
        current = revisions.current()
        if current is None:
            raise ReleaseError(
                'the store is empty', where=str(store),
                fix='Commit the description first, or start the model server, which does')
        preparation = Preparation(fit, content, current)
        if not preparation.is_current:
            revisions.require_base(fit.base)
    if preparation.is_current:
        return preparation
    return replace(preparation, judgement=judge(name, folder))


def initial_content(model: TorqueModel) -> Content:
    """What is handed out before anything was identified: the description, byte for byte.

    Args:
        model: Torque model of the robot as described.
    """
    description = model.robot.description
    notes = tuple(
        f'The described inertia of {body} is not used: {reason}.'
        for body, reason in model.robot.replaced_priors.items()
    )
    return Content(description.xml, model.parameters, description.sha256, notes=notes)


def _candidate(robot: RobotModel, parameters: ParameterSet, smoothing: float) -> Candidate:
    """Parameters with the model that has just their terms."""
    terms: list[JointTerm] = []
    for term in _TERMS:
        joints = tuple(
            joint for joint in robot.joint_names if f'{joint}.{term.fields[0]}' in parameters)
        if joints:
            terms.append(
                term(joints, smoothing) if term is CoulombFriction else term(joints))
    return Candidate(TorqueModel(robot, terms), parameters)


def _require_same_robot(fitted: RobotModel, robot: RobotModel, name: str) -> None:
    same = (
        fitted.name == robot.name and fitted.joint_names == robot.joint_names
        and set(robot.body_names) <= set(fitted.body_names)
        and np.array_equal(fitted.gravity, robot.gravity)
        and dict(fitted.locked_joints) == dict(robot.locked_joints)
        and fitted.description.sha256 == robot.description.sha256
    )
    if not same:
        raise NotCommittableError(
            'the estimate is of another robot, or of another description of it', where=name,
            found=f'{fitted.name}, SHA-256 {fitted.description.sha256[:16]}…',
            allowed=f'{robot.name}, SHA-256 {robot.description.sha256[:16]}…',
            fix='Identify with the robot settings of the model server')


def _as(kind: type[ReleaseError], error: ReleaseError) -> ReleaseError:
    return kind(
        error.problem, where=error.where, found=error.found, allowed=error.allowed, fix=error.fix)
