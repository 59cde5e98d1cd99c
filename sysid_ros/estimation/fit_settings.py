"""The ``fit:`` section of a settings file, and the estimators that come of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.estimator import (
    ALIASES,
    REGRESSION_ESTIMATORS,
    TRAJECTORY_ESTIMATORS,
    TrajectoryEstimator,
    make_estimator,
    make_trajectory_estimator,
    own_name,
    settings_of,
)
from sysid_ros.estimation.friction_models import FrictionSelection
from sysid_ros.estimation.outer_iteration import OuterIteration
from sysid_ros.estimation.regression.consistent.consistent import ConsistentLeastSquares
from sysid_ros.estimation.regression.consistent.fleet_prior import (
    FleetLeastSquares,
    FleetPriorSettings,
)
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.regression.consistent.prior_strength import (
    CrossValidatedPrior,
    StrengthSearch,
)
from sysid_ros.estimation.regression.settings import (
    InstrumentalSettings,
    IterativeSettings,
    LogDetSettings,
    PlausibleSettings,
    PriorSettings,
    RegressionSettings,
)
from sysid_ros.estimation.trajectory.settings import (
    CollocationSettings,
    DiscreteSettings,
    GraphSettings,
    ShootingSettings,
    TrajectorySettings,
    VariationalSettings,
)
from sysid_ros.settings import StrictSettings

_AUTO = 'auto'
_STRENGTH, _SEARCH, _FLEET = 'prior_strength', 'strength_search', 'fleet'
# Settings of estimators by regression that may stand beside their sections.
_FLAT = (_STRENGTH, _SEARCH, 'plausibility', 'reference_cutoff', _FLEET)


class FitSettings(StrictSettings):
    """The ``fit:`` section of a settings file.

    Attributes:
        estimator: One of the registered estimators: ``ols``, ``wls``, ``irls``, ``iv``,
            ``lmi``, ``irls_lmi``, ``entropic``, ``log_cholesky`` or ``recursive``; or, for states
            and parameters together, ``collocation``, ``shooting``, ``variational``,
            ``discrete`` or ``graph``. ``log_det`` is another name of ``entropic``, and
            ``maximal_coordinates`` of ``discrete``; their sections may be called so, too.
        minimum_velocity: Rows whose joint is slower do not count, in [rad/s] or [m/s]; one
            number, or one per joint. They do not in a fit by regression, nor where any estimator's
            result is judged by torques.
        fixed: Parameters held at the prior; names with ``*`` and ``?`` wildcards. Where left out,
            none, or all bodies where the robot has actuators, unless the motion tells that these
            are not as described: ``[]`` frees them in any case.
        prior: First guesses of joint terms by the parameter's name, which descriptions do not
            tell, as the stiffness of a spring: ``{knee.stiffness: 0.6}``, in SI units.
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
        trajectory: How estimators of states and parameters see the recording. Settings of the one
            that is used may stand here, too: an old spelling, of which a note says the new one.
        ols: What that estimator is told, whether it is named here or by a command: the section of
            an estimator that is not used has no effect. Keys mean what they mean beside the
            sections, where those that the estimator named here does not have are refused, as are
            two values for one.
        wls: See ``ols``.
        irls: See ``ols``.
        iv: See ``ols``.
        lmi: See ``ols``.
        irls_lmi: See ``ols``.
        entropic: See ``ols``.
        log_cholesky: See ``ols``.
        recursive: See ``ols``.
        collocation: See ``ols``.
        shooting: See ``ols``.
        variational: See ``ols``.
        discrete: See ``ols``.
        graph: See ``ols``.
    """

    other_keys: ClassVar[Mapping[str, str]] = ALIASES

    estimator: str = 'entropic'
    minimum_velocity: float | tuple[float, ...] = 0.0
    fixed: tuple[str, ...] | None = None
    prior: dict[str, float] = {}
    prior_strength: Annotated[float, Field(gt=0.0)] | Literal['auto'] | None = None
    fleet: FleetPriorSettings | None = None
    strength_search: StrengthSearch = StrengthSearch()
    plausibility: Plausibility | None = None
    reference_cutoff: float | None = Field(default=None, gt=0.0)
    friction_selection: FrictionSelection | None = None
    trajectory: TrajectorySettings = TrajectorySettings()
    ols: RegressionSettings = RegressionSettings()
    wls: IterativeSettings = IterativeSettings()
    irls: IterativeSettings = IterativeSettings()
    iv: InstrumentalSettings = InstrumentalSettings()
    lmi: PriorSettings = PriorSettings()
    irls_lmi: PlausibleSettings = PlausibleSettings()
    entropic: LogDetSettings = LogDetSettings()
    log_cholesky: PriorSettings = PriorSettings()
    recursive: PlausibleSettings = PlausibleSettings()
    collocation: CollocationSettings = CollocationSettings()
    shooting: ShootingSettings = ShootingSettings()
    variational: VariationalSettings = VariationalSettings()
    discrete: DiscreteSettings = DiscreteSettings()
    graph: GraphSettings = GraphSettings()

    @model_validator(mode='before')
    @classmethod
    def _own_names(cls, data: Any) -> Any:
        """Estimators and sections that are called by an alias, by the names of the fields."""
        if not isinstance(data, Mapping):
            return data
        named = {own_name(key): value for key, value in data.items()}
        if len(named) < len(data):
            twice = [alias for alias, own in ALIASES.items() if {alias, own} <= data.keys()]
            raise ConfigurationError(
                'two sections are of one estimator', where=f'fit.{twice[0]}',
                found=f'{twice[0]} and {ALIASES[twice[0]]}', allowed='one of both',
                fix=f'Move what fit.{ALIASES[twice[0]]} says into fit.{twice[0]}')
        if isinstance(estimator := named.get('estimator'), str):
            named['estimator'] = own_name(estimator)
        return named

    def require_estimator(self, name: str) -> None:
        """Refuse an estimator that does not exist, of either kind, or does not fit the settings.

        Raises:
            ConfigurationError: There is no such estimator, or a setting does not go with it.
        """
        name = own_name(name)
        # What a command names in place of the one in the file takes what it has.
        if name == self.estimator:
            self._refuse_foreign(name)
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
        return make_trajectory_estimator(name, **self.said_to(name))

    def build(self, name: str | None = None) -> OuterIteration:
        """The estimator, with the settings that apply to it, for any joint terms.

        Args:
            name: Estimator to use in place of the one in the settings.

        Raises:
            ConfigurationError: There is no such estimator, or a setting is said twice.
        """
        name = name or self.estimator
        given = self.said_to(name)
        search = given.pop(_SEARCH, StrengthSearch())
        automatic = given.get(_STRENGTH) == _AUTO
        if automatic:
            del given[_STRENGTH]
        estimator = FleetLeastSquares(**given) if _FLEET in given else make_estimator(name, **given)
        if automatic and isinstance(estimator, ConsistentLeastSquares):
            return OuterIteration(CrossValidatedPrior(estimator, search))
        return OuterIteration(estimator)

    def said_to(self, name: str) -> dict[str, Any]:
        """What the settings say to an estimator, by the names of its settings.

        Args:
            name: Its name.

        Raises:
            ConfigurationError: There is no such estimator; or it is the one that the settings
                name, and a key of its section has another value beside the section.
        """
        settings_of(name)
        name = own_name(name)
        section = getattr(self, name)
        said = {
            key: value for key, value in self._beside(name).items()
            if not _is_foreign(key, value, section)}
        for key, value in section.given().items():
            said[key] = self._agreed(name, key, said[key], value) if key in said else value
        return said

    @property
    def plausible(self) -> Plausibility:
        """Margins and ranges of the estimator named here, or those that are for any."""
        said = self.said_to(self.estimator)
        found: Plausibility = said.get('plausibility', self.plausibility) or Plausibility()
        return found

    def old_spellings(self, name: str) -> tuple[str, ...]:
        """Sentences about settings of an estimator that stand in ``trajectory``, in short.

        Args:
            name: An estimator of either kind.
        """
        name = own_name(name)
        short = self.trajectory.given() if name in TRAJECTORY_ESTIMATORS else {}
        section = type(getattr(self, name)).model_fields if short else {}
        said = ', '.join(f'{key}: {value}' for key, value in short.items() if key in section)
        return (
            f'fit: {{trajectory: {{{said}}}}} is an old spelling, which is read for now; write '
            f'fit: {{{name}: {{{said}}}}}.',) if said else ()

    def _beside(self, name: str) -> dict[str, Any]:
        """What is said beside the sections of estimators: flat, or in short in ``trajectory``."""
        said = {key: value for key in _FLAT if key in self.model_fields_set
                and (value := getattr(self, key)) is not None}
        return said | (self.trajectory.given() if name in TRAJECTORY_ESTIMATORS else {})

    def _agreed(self, name: str, key: str, flat: Any, own: Any) -> Any:
        """The value of a key that stands in an estimator's section and beside it."""
        if isinstance(flat, StrictSettings) and isinstance(own, type(flat)):
            both = {
                inner: self._agreed(name, f'{key}.{inner}', getattr(flat, inner), getattr(
                    own, inner)) for inner in flat.model_fields_set & own.model_fields_set}
            return flat.model_copy(update={
                inner: getattr(own, inner) for inner in own.model_fields_set} | both)
        if flat != own and name == self.estimator:
            raise ConfigurationError(
                'a setting is given twice, and differently', where=f'fit.{key}', found=str(flat),
                allowed=f'{own}, as fit.{name}.{key} says',
                fix=f'Keep one of both, as in fit: {{{name}: {{{key}: {own}}}}}')
        return own

    def _refuse_foreign(self, name: str) -> None:
        """Refuse what is said beside the sections and is no setting of the estimator.

        Raises:
            ConfigurationError: There is such a setting, or a search for nothing.
        """
        said, section, beside = self.said_to(name), getattr(self, name), self._beside(name)
        strange = [key for key, value in beside.items() if _is_foreign(key, value, section)]
        if name not in TRAJECTORY_ESTIMATORS:
            short = self.trajectory.given()
            beside, strange = beside | short, [*strange, *short]
        if strange:
            key = strange[0]
            raise ConfigurationError(
                f'{name} has no such setting', where='fit',
                found=', '.join(_shown(each, beside[each]) for each in strange),
                allowed=', '.join(sorted(type(section).model_fields)) or 'none',
                fix=_whose(key, beside[key]))
        if _SEARCH in said and said.get(_STRENGTH) != _AUTO:
            raise ConfigurationError(
                'strengths are searched for only where the prior has none', where='fit',
                found=f'{_SEARCH}, and {_STRENGTH}: {said.get(_STRENGTH, "left out")}',
                allowed=f'{_STRENGTH}: {_AUTO}',
                fix=f'Take {_SEARCH} out, or write fit: {{{_STRENGTH}: {_AUTO}}}')


def _is_foreign(key: str, value: Any, section: StrictSettings) -> bool:
    """Whether the estimator of a section cannot take what is said beside the section."""
    keys = type(section).model_fields
    return key not in keys or (key == _STRENGTH and value == _AUTO and _SEARCH not in keys)


def _shown(key: str, value: Any) -> str:
    """A key, with its value where that is what is wrong."""
    return f'{key}: {value}' if value == _AUTO else key


def _whose(key: str, value: Any) -> str:
    """What to do with a setting that the chosen estimator does not have."""
    nothing = FitSettings()
    owners = [name for name in (*REGRESSION_ESTIMATORS, *TRAJECTORY_ESTIMATORS)
              if not _is_foreign(key, value, getattr(nothing, name))]
    if key in _FLAT:
        return f'Take it out, or choose an estimator that has it: {", ".join(owners)}'
    owner = next(name for name in owners if name in TRAJECTORY_ESTIMATORS)
    return ('Take it out, or say it to the estimator it is for, as in '
            f'fit: {{{owner}: {{{key}: {value}}}}}')
