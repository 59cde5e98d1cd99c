"""The ``fit:`` section of a settings file, and the estimators that come of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimator import (
    REGRESSION_ESTIMATORS,
    TRAJECTORY_ESTIMATORS,
    TrajectoryEstimator,
    make_estimator,
    make_trajectory_estimator,
    settings_of,
)
from sysid_ros.estimation.friction_models import FrictionSelection
from sysid_ros.estimation.outer_iteration import OuterIteration
from sysid_ros.estimation.regression.consistent.consistent import ConsistentLeastSquares
from sysid_ros.estimation.regression.consistent.feasible_set import Plausibility
from sysid_ros.estimation.regression.consistent.fleet_prior import (
    FleetLeastSquares,
    FleetPriorSettings,
)
from sysid_ros.estimation.regression.consistent.prior_strength import (
    CrossValidatedPrior,
    StrengthSearch,
)
from sysid_ros.estimation.trajectory.settings import (
    CollocationSettings,
    DiscreteSettings,
    GraphSettings,
    SearchSettings,
    ShootingSettings,
    TrajectorySettings,
    VariationalSettings,
)
from sysid_ros.settings import StrictSettings

_AUTO, _FLEET = 'auto', 'fleet'


class FitSettings(StrictSettings):
    """The ``fit:`` section of a settings file.

    Attributes:
        estimator: One of the registered estimators: ``ols``, ``wls``, ``irls``, ``iv``,
            ``lmi``, ``irls_lmi``, ``entropic``, ``log_cholesky`` or ``recursive``; or, for states
            and parameters together, ``collocation``, ``shooting``, ``variational``,
            ``discrete`` or ``graph``.
        minimum_velocity: Rows whose joint is slower do not count, in [rad/s] or [m/s]; one
            number, or one per joint.
        fixed: Parameters held at the prior; names with ``*`` and ``?`` wildcards. Where left out,
            none, or all bodies where the robot has actuators: ``[]`` frees these, too.
        prior_strength: Weight of the prior in a consistent estimator; ``auto`` for
            cross-validation within the training data.
        fleet: Distribution of the fleet that the robot is expected to be of, as the prior of the
            entropic estimator; ``prior_strength`` then weighs it, and is 1 by default.
        strength_search: How the weight of a prior is cross-validated.
        plausibility: Margins and ranges of masses in a consistent estimator.
        reference_cutoff: Cut-off in [Hz] of the reference that the simulated robot of
            instrumental variables tracks; by default from the band of the motion.
        friction_selection: Friction models to choose from by cross-validation; without it the
            joint terms are those of the robot's settings.
        trajectory: How estimators of states and parameters see the recording, and, in short, what
            the one that is named by ``estimator`` is told.
        collocation: What that estimator is told, whether it is named here or by a command.
        shooting: See ``collocation``.
        variational: See ``collocation``.
        discrete: See ``collocation``.
        graph: See ``collocation``.
    """

    estimator: str = 'entropic'
    minimum_velocity: float | tuple[float, ...] = 0.0
    fixed: tuple[str, ...] | None = None
    prior_strength: Annotated[float, Field(gt=0.0)] | Literal['auto'] | None = None
    fleet: FleetPriorSettings | None = None
    strength_search: StrengthSearch = StrengthSearch()
    plausibility: Plausibility | None = None
    reference_cutoff: float | None = Field(default=None, gt=0.0)
    friction_selection: FrictionSelection | None = None
    trajectory: TrajectorySettings = TrajectorySettings()
    collocation: CollocationSettings = CollocationSettings()
    shooting: ShootingSettings = ShootingSettings()
    variational: VariationalSettings = VariationalSettings()
    discrete: DiscreteSettings = DiscreteSettings()
    graph: GraphSettings = GraphSettings()

    def require_estimator(self, name: str) -> None:
        """Refuse an estimator that does not exist, of either kind, or does not fit the settings.

        Raises:
            ConfigurationError: There is no such estimator, or a setting does not go with it.
        """
        given = self._given(name)
        strange = [key for key in given if key not in _settings_of(name)]
        # What a command names in place of the one in the file takes what it has.
        if strange and name == self.estimator:
            raise ConfigurationError(
                f'{name} has no such setting', where='fit', found=', '.join(strange),
                allowed=', '.join(sorted(_settings_of(name))),
                fix=_whose(strange[0], given[strange[0]]))
        if name not in TRAJECTORY_ESTIMATORS:
            self.build(name)
            return
        self.build_trajectory(name)
        if self.friction_selection is not None:
            raise ConfigurationError(
                'friction models are chosen by regression', where='friction_selection',
                found=f'estimator {name}',
                fix='Choose with another estimator, then write the chosen terms down')

    def build_trajectory(self, name: str) -> TrajectoryEstimator:
        """An estimator of states and parameters, with the settings that apply to it.

        Args:
            name: Its name.

        Raises:
            ConfigurationError: There is no such estimator, or a setting is out of range.
        """
        known = settings_of(name)
        own: SearchSettings = getattr(self, name)
        return make_trajectory_estimator(name, **{
            key: value for key, value in self._given(name).items() if key in known} | own.given())

    def build(self, name: str | None = None) -> OuterIteration:
        """The estimator, with the settings that apply to it, for any joint terms.

        Args:
            name: Estimator to use in place of the one in the settings.

        Raises:
            ConfigurationError: There is no such estimator.
        """
        name = name or self.estimator
        known = _settings_of(name)
        given = {key: value for key, value in self._given(name).items() if key in known}
        estimator = FleetLeastSquares(**given) if _FLEET in given else make_estimator(name, **given)
        if self.prior_strength == _AUTO and isinstance(estimator, ConsistentLeastSquares):
            return OuterIteration(CrossValidatedPrior(estimator, self.strength_search))
        return OuterIteration(estimator)

    def _given(self, name: str) -> dict[str, Any]:
        """What was said about estimators of one kind, by the names of their settings."""
        given = {
            'prior_strength': None if self.prior_strength == _AUTO else self.prior_strength,
            'plausibility': self.plausibility, 'reference_cutoff': self.reference_cutoff,
            _FLEET: self.fleet}
        said = {key: value for key, value in given.items() if value is not None}
        return said | (self.trajectory.given() if name in TRAJECTORY_ESTIMATORS else {})


def _settings_of(name: str) -> frozenset[str]:
    """Names of the settings of an estimator, with the fleet where it takes one as its prior."""
    return settings_of(name) | ({_FLEET} if name == FleetLeastSquares.name else frozenset())


def _whose(key: str, value: Any) -> str:
    """What to do with a setting that the chosen estimator does not have."""
    owners = [name for name in REGRESSION_ESTIMATORS if key in _settings_of(name)]
    if owners:
        return f'Take it out, or choose an estimator that has it: {", ".join(owners)}'
    owner = next(
        name for name in TRAJECTORY_ESTIMATORS
        if key in type(getattr(FitSettings(), name)).model_fields)
    return ('Take it out, or say it to the estimator it is for, as in '
            f'fit: {{{owner}: {{{key}: {value}}}}}')
