"""What settings leave open of a model, chosen by the data that is fitted.

For regressions in this order, each step with what those before have chosen: whether stamps jitter
on arrival, filters, stretches in which something touched the robot, the speed below which rows say
more of stiction than of the robot, torques that arrive late, drive inertia and springs, and the
friction model. For states and parameters together
whether stamps jitter, and filters, by which the fit is judged; where motion is simulated, under
torques or commands, how dry friction acts and whether links are as described. Whatever a settings
file says stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from sysid_ros.errors import ConfigurationError, EstimationError, RecordingError
from sysid_ros.estimation.estimator import TRAJECTORY_ESTIMATORS
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.friction_models import FrictionModel, FrictionSelection
from sysid_ros.estimation.identification import Identification, IdentificationSettings
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.evaluation.delay_choice import choose_delays
from sysid_ros.evaluation.disturbance_choice import (
    LEAVE_OUT,
    choose_stretches,
    undisturbed_part,
)
from sysid_ros.evaluation.disturbances import Disturbances
from sysid_ros.evaluation.friction_selection import FrictionChoice, choose_friction
from sysid_ros.evaluation.row_choice import choose_minimum_velocity
from sysid_ros.evaluation.term_choice import choose_terms
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.joint_terms.terms import friction_keys
from sysid_ros.mechanics.tree.acceleration import jumps
from sysid_ros.numerics.progress import work
from sysid_ros.recording.processing.choice import (
    Choice,
    choose_filters,
    filled_from,
    open_filters,
    too_coarse,
)

Found = TypeVar('Found')

# Friction models whose parameters a revision has a place for.
_PLAIN: tuple[FrictionModel, ...] = ('viscous', 'dry', 'coulomb')


@dataclass(frozen=True, eq=False)
class ModelChoice:
    """Recordings with settings that leave nothing open.

    Attributes:
        measured: The recordings, processed as chosen, with the chosen terms.
        choices: What was chosen, and why.
        left: What was left as it is since the data does not allow a choice, in words.
        coarse: Joints whose accelerations the positions do not tell.
        friction: How the friction model was chosen; None where the settings gave it.
        values: Parameters of robots under commands that fit best, shape ``(p,)``; None where none
            were looked for.
    """

    measured: Measurements
    choices: tuple[Choice, ...] = ()
    left: tuple[str, ...] = ()
    coarse: tuple[str, ...] = ()
    friction: FrictionChoice | None = None
    values: np.ndarray | None = None

    @property
    def setup(self) -> FitSetup:
        """The settings of the first recording, and the torque model."""
        return self.measured.setup

    def read(self, other: Identification) -> Measurements:
        """Another recording of the robot, processed alike where its settings say nothing.

        Raises:
            RecordingError: It cannot be read or does not fit.
        """
        part = Measurement.read(self.setup.recording_of(other))
        return Measurements((part.evenly_stamped(),))

    @property
    def trusts_description(self) -> bool:
        """Whether the description counts where the rows of a fit tell nothing."""
        return self.setup.settings.processing.effort_check == 'refuse'

    @property
    def resolved(self) -> FitSetup:
        """The setup with everything chosen that the settings leave open."""
        settings = self.setup.settings.model_copy(update={'automatic': False})
        return replace(
            self.setup, identification=replace(self.setup.identification, settings=settings))


def choose_model(
    measured: Measurements, stop: float = 1.0, estimator: str | None = None,
    handed_over: bool = False,
) -> ModelChoice:
    """Choose what the settings of recordings leave open.

    Args:
        measured: The recordings, with the settings as they are.
        stop: Where the data to fit ends, as a fraction of each recording; what comes after is
            not looked at.
        estimator: Estimator to use in place of the one in the settings.
        handed_over: Whether the model is for controllers, which know links and plain joint terms
            alone.

    Returns:
        The choice. Trajectory estimators see the samples themselves: for them it is of the
        smoothing of dry friction, of stamps and filters, by which they are judged, or of a friction
        model that the settings ask to be chosen; where ``automatic`` is false, of the first and
        last.

    Raises:
        ConfigurationError: A friction model cannot be chosen as the settings ask.
        EstimationError: No friction model could be fitted to all folds.
        RecordingError: A recording does not fit.
    """
    settings = measured.setup.settings
    by_regression = (estimator or settings.fit.estimator) not in TRAJECTORY_ESTIMATORS
    choice = ModelChoice(measured)
    if measured.judged_by_motion:
        choice = choice if measured.commanded else _smooth_friction(choice, estimator)
        return _by_motion(
            choice, settings, stop, estimator) if settings.automatic else choice
    if not by_regression:
        choice = _smooth_friction(choice, estimator)
        for step in (_stamps, _filters) if settings.automatic else ():
            choice = step(choice, stop, estimator)
        if settings.automatic:
            choice = _by_motion(choice, settings, stop, estimator)
    elif settings.automatic:
        for step in (_stamps, _filters, _undisturbed, _rows, _delays):
            choice = step(choice, stop, estimator)
        choice = _terms(choice, stop, estimator, handed_over)
    candidates = _PLAIN if handed_over else FrictionSelection().candidates
    return _friction(
        choice, settings, stop, estimator,
        FrictionSelection(candidates=candidates) if settings.automatic and by_regression else None)


def with_filters(measured: Measurements) -> Measurements:
    """Recordings with the stamps and filters that their settings leave open, chosen by the data.

    Raises:
        RecordingError: A recording does not fit.
    """
    choice = ModelChoice(measured)
    if measured.setup.settings.automatic:
        for step in (_stamps, _filters):
            choice = step(choice, 1.0, None)
    return choice.measured


def _added(choice: ModelChoice, measured: Measurements, *chosen: Choice) -> ModelChoice:
    return replace(choice, measured=measured, choices=(*choice.choices, *chosen))


def _stamps(choice: ModelChoice, stop: float, estimator: str | None) -> ModelChoice:
    parts = tuple(part.evenly_stamped() for part in choice.measured.parts)
    if all(new is old for new, old in zip(parts, choice.measured.parts, strict=True)):
        return choice
    return _added(choice, Measurements(parts), Choice(
        'processing.stamps', 'uniform', 'stamps jitter, but positions are smooth by their number'))


def _filters(choice: ModelChoice, stop: float, estimator: str | None) -> ModelChoice:
    first, *others = choice.measured.parts
    if not open_filters(first.setup.settings.processing):
        return choice
    dataset = first.motion(0.0, stop)
    choice = replace(choice, coarse=too_coarse(dataset))
    processing, chosen = choose_filters(dataset, first.setup.settings.processing)
    if not chosen:
        return choice
    try:
        parts = [first.with_processing(processing)] + [
            other.with_processing(
                filled_from(other.setup.settings.processing, processing))
            for other in others]
    except RecordingError:
        # Too many gaps for filters: what was asked for is fitted as it is.
        return choice
    return _added(choice, Measurements(tuple(parts)), *chosen)


def _undisturbed(choice: ModelChoice, stop: float, estimator: str | None) -> ModelChoice:
    measured = choice.measured
    if 'leave_out' in choice.setup.settings.processing.model_fields_set:
        return choice
    choice, found = _attempted(choice, 'stretches to leave out', lambda: (
        choose_stretches(measured, stop), ()))
    return choice if found is None else _added(choice, *found)


def left_in(choice: ModelChoice, stop: float) -> tuple[Measurements, Disturbances | None]:
    """Recordings as checks of their efforts should see them, and what of them speaks against a fit.

    Args:
        choice: What was chosen.
        stop: Where the data to fit ends, as a fraction of the recording.

    Returns:
        Recordings without what touched the robot; and that, where it is in the fit although no
        setting asks for it.
    """
    settings, measured = choice.setup.settings, choice.measured
    said = 'leave_out' in settings.processing.model_fields_set
    chosen = any(one.key == LEAVE_OUT for one in choice.choices)
    if chosen or (settings.automatic and not said):
        return measured, None
    undisturbed, found = undisturbed_part(measured, stop)
    return undisturbed, None if said else found


def _rows(choice: ModelChoice, stop: float, estimator: str | None) -> ModelChoice:
    measured, fit = choice.measured, choice.setup.settings.fit
    if 'minimum_velocity' in fit.model_fields_set:
        return choice
    choice, chosen = _attempted(choice, 'the slowest rows', lambda: choose_minimum_velocity(
        measured, stop, fit.build(estimator)))
    if chosen is None:
        return choice
    faster = measured.with_fit(minimum_velocity=chosen.value)
    return _added(choice, faster, chosen)


def _delays(choice: ModelChoice, stop: float, estimator: str | None) -> ModelChoice:
    measured, settings = choice.measured, choice.setup.settings
    if 'torque_delay' in settings.processing.model_fields_set:
        return choice
    choice, found = _attempted(choice, 'delays', lambda: choose_delays(
        measured, stop, settings.fit.build(estimator)))
    return choice if found is None else _added(choice, *found)


def _terms(
    choice: ModelChoice, stop: float, estimator: str | None, handed_over: bool
) -> ModelChoice:
    measured, fit = choice.measured, choice.setup.settings.fit
    choice, found = _attempted(choice, 'joint terms', lambda: choose_terms(
        measured, stop, fit.build(estimator), coupled=not handed_over))
    if found is None or not found[1]:
        return choice
    return _added(choice, measured.with_terms(found[0]), *found[1])


def _smooth_friction(choice: ModelChoice, estimator: str | None) -> ModelChoice:
    """A smoothing of dry friction where simulated motion needs one and settings leave it out."""
    settings = choice.setup.settings
    robot, model = settings.robot, choice.measured.model
    method = settings.fit.build_trajectory(estimator or settings.fit.estimator)
    if robot is None or not method.smooths_friction or not any(
            jumps(model, term) for term in model.terms):
        return choice
    terms = robot.terms.smoothed()
    if terms is robot.terms:
        return choice
    return _added(choice, choice.measured.with_terms(terms), Choice(
        'robot.terms.coulomb_smoothing', terms.coulomb_smoothing,
        'in rad/s or m/s; simulated motion has no derivative where friction jumps'))


def _by_motion(
    choice: ModelChoice, settings: IdentificationSettings, stop: float, estimator: str | None
) -> ModelChoice:
    """Friction, links and a filter of commands by shooting, where settings leave them open.

    Args:
        choice: What was chosen before.
        settings: Those of the file.
        stop: Where the data to fit ends.
        estimator: Estimator to use in place of the one in the settings.
    """
    # Compiled simulations, which no fit by regression needs.
    from sysid_ros.estimation.trajectory.shooting_estimator import ShootingEstimator
    from sysid_ros.evaluation.motion_choice import SHARPNESS, Open, choose_by_motion

    measured, fit = choice.measured, settings.fit
    method = fit.build_trajectory(estimator or fit.estimator)
    choosable = Open(
        sharpness=settings.robot is not None
        and SHARPNESS not in settings.robot.terms.model_fields_set,
        laws=not _says_friction(settings), links=measured.commanded and fit.fixed is None,
        filters=measured.commanded and settings.robot is not None
        and 'command_time_constant' not in settings.robot.model_fields_set)
    if not isinstance(method, ShootingEstimator) or not any(choosable):
        return choice
    choice, found = _attempted(choice, 'friction, links and a filter of commands', lambda: (
        choose_by_motion(measured, stop, method, choosable), ()))
    if found is None:
        return choice
    again = {each.key for each in found.choices}
    others = tuple(each for each in choice.choices if each.key not in again)
    return replace(
        _added(replace(choice, choices=others), found.measured, *found.choices),
        values=found.values if measured.judged_by_motion else None)


def _says_friction(settings: IdentificationSettings) -> bool:
    """Whether settings say what friction joints have, or how that is to be chosen.

    Who sets one of the keys that say it sets all.
    """
    keys = friction_keys() | {'drive_gain'}
    return 'friction_selection' in settings.fit.model_fields_set or (
        settings.robot is not None and bool(settings.robot.terms.model_fields_set & keys))


def _friction(
    choice: ModelChoice, settings: IdentificationSettings, stop: float, estimator: str | None,
    default: FrictionSelection | None,
) -> ModelChoice:
    """The friction model, where the settings as they were ask for that or leave it open."""
    asked = settings.fit.friction_selection
    if asked is None and (_says_friction(settings) or default is None):
        return choice
    measured = choice.measured.with_fit(friction_selection=asked or default)
    found: FrictionChoice | None
    if asked is not None:
        found = choose_friction(measured, stop, estimator)
    else:
        choice, found = _attempted(choice, 'the friction model', lambda: (
            choose_friction(measured, stop, estimator), ()))
    if found is None:
        return choice
    return replace(
        _added(choice, measured.with_terms(found.terms), Choice(
            'robot.terms', _shown(found.terms),
            f'the friction model {found.chosen}: {found.reason(found.chosen)}')),
        friction=found)


def _shown(terms: TermSettings) -> dict[str, Any]:
    """Keys of terms that are not as they are where a file says nothing."""
    return terms.model_dump(mode='json', exclude_defaults=True) | {
        key: getattr(terms, key) for key in ('viscous_friction', 'coulomb_friction')}


def _attempted(
    choice: ModelChoice, what: str, choose: Callable[[], tuple[Found, tuple[str, ...]]]
) -> tuple[ModelChoice, Found | None]:
    """What was chosen; None where the data does not allow that, as when it is too short.

    Candidates that could not be fitted to every fold are named among what is left.
    """
    try:
        with work(what):
            found, unfitted = choose()
    except (ConfigurationError, EstimationError, RecordingError) as error:
        return replace(choice, left=(*choice.left, f'{what}: {error}')), None
    left = tuple(
        f'{what}: {name} could not be fitted to every part of the data, from safer values '
        'neither, and is out' for name in unfitted)
    return replace(choice, left=(*choice.left, *left)), found
