"""Sections of a settings file for estimators by regression, each under its estimator's name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from sysid_ros.estimation.regression.consistent.fleet_prior import FleetPriorSettings
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.regression.consistent.prior_strength import StrengthSearch
from sysid_ros.settings import StrictSettings

_Strength = Annotated[float, Field(gt=0.0)]


class RegressionSettings(StrictSettings):
    """The section of an estimator that has nothing to set, ``ols:``."""

    def given(self) -> dict[str, Any]:
        """What was said about the estimator, by the names of its settings."""
        said = {name: getattr(self, name) for name in self.model_fields_set}
        return {name: value for name, value in said.items() if value is not None}


class IterativeSettings(RegressionSettings):
    """The sections ``wls:`` and ``irls:``.

    Attributes:
        max_iterations: Most steps; left out, the estimator's own number.
    """

    max_iterations: int | None = Field(default=None, ge=1)


class InstrumentalSettings(IterativeSettings):
    """The section ``iv:``.

    Attributes:
        reference_cutoff: See ``reference_cutoff`` of ``fit``.
    """

    reference_cutoff: _Strength | None = None


class PlausibleSettings(IterativeSettings):
    """The sections ``irls_lmi:`` and ``recursive:``.

    Attributes:
        prior_strength: Weight of the prior.
        plausibility: Margins and ranges of masses.
    """

    prior_strength: _Strength | None = None
    plausibility: Plausibility | None = None


class PriorSettings(IterativeSettings):
    """The sections ``lmi:`` and ``log_cholesky:``.

    Attributes:
        prior_strength: Weight of the prior; ``auto`` for cross-validation within the training
            data.
        strength_search: How the weight is cross-validated where it is ``auto``.
        plausibility: Margins and ranges of masses.
    """

    prior_strength: _Strength | Literal['auto'] | None = None
    strength_search: StrengthSearch | None = None
    plausibility: Plausibility | None = None


class LogDetSettings(PriorSettings):
    """The section ``entropic:``.

    Attributes:
        fleet: Distribution of a fleet as the prior, see ``fleet`` of ``fit``.
    """

    fleet: FleetPriorSettings | None = None
