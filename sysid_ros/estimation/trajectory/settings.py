"""The section ``trajectory:`` of a settings file, and those of estimators that seek motions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.trajectory.from_recording import NodeSettings
from sysid_ros.recording.recording import Recording
from sysid_ros.settings import StrictSettings

#: Rules of collocation between nodes.
Scheme = Literal['trapezoidal', 'hermite_simpson', 'variational']
# What of the section says how a recording becomes a problem; which joints nothing drives is said to
# the recording itself.
_NODES = tuple(name for name in NodeSettings.model_fields if name not in ('step', 'unpowered'))
_Positive = Annotated[float, Field(gt=0)]


class SearchSettings(StrictSettings):
    """What every estimator of states and parameters can be told; left out, each has its own.

    Attributes:
        prior_strength: Weight of the prior, by which bodies stay consistent.
        estimate_noise: Whether levels of noise are found from the residuals.
        max_iterations: Most steps of all searches together.
        tolerance: A search ends where the cost falls by less than this part of it.
        horizon: Longest piece of motion in [s] whose states hang together, or that is simulated at
            once; whole stretches, or the longest pieces that converge, where left out.
        parameter_tolerance: Part of a standard deviation: a search also ends where the next step
            would move no parameter by more; 0 for never.
        plausibility: Margins and ranges of masses.
    """

    prior_strength: float | None = Field(default=None, gt=0)
    estimate_noise: bool | None = None
    max_iterations: int | None = Field(default=None, ge=1)
    tolerance: float | None = Field(default=None, gt=0)
    horizon: float | None = Field(default=None, gt=0)
    parameter_tolerance: float | None = Field(default=None, ge=0, lt=1)
    plausibility: Plausibility | None = None

    def given(self) -> dict[str, Any]:
        """What was said about the estimator, by the names of its settings."""
        return {
            name: value for name in type(self).model_fields
            if name not in NodeSettings.model_fields
            and (value := getattr(self, name)) is not None}


class CollocationSettings(SearchSettings):
    """The section ``collocation:``.

    Attributes:
        scheme: Rule of collocation between nodes.
        process_noise: Square root of the spectral density of white noise of accelerations in
            [rad/s²/√Hz] or [m/s²/√Hz], one number or by joint; the dynamics hold exactly where
            left out. With ``estimate_noise`` it is where the search for each joint's begins.
        huber: Readings off by more standard deviations than this count by how far.
    """

    scheme: Scheme | None = None
    process_noise: _Positive | dict[str, _Positive] | None = None
    huber: float | None = Field(default=None, gt=0)


class ShootingSettings(SearchSettings):
    """The section ``shooting:``.

    Attributes:
        starts: Whether starts are estimated, or those that were recorded are taken.
        substeps: Steps of the integration from node to node; where left out as many as are
            accurate and, under steep friction, stable.
    """

    starts: Literal['estimated', 'recorded'] | None = None
    substeps: int | None = Field(default=None, ge=1)


class VariationalSettings(ShootingSettings):
    """The section ``variational:``.

    Attributes:
        rule: How the Lagrangian of a step is taken.
    """

    rule: Literal['midpoint', 'trapezoidal'] | None = None


class DiscreteSettings(SearchSettings):
    """The section ``discrete:``.

    Attributes:
        state_error_weight: How much missing forces weigh, found from the data where left out; see
            :class:`~sysid_ros.estimation.trajectory.discrete.estimator.MaximalCoordinatesEstimator`
            for this and what follows.
        lever: Length in [m] at which missing forces weigh like moments.
        compliance: Of joints' forces in [m/N].
        angular_compliance: Of their moments in [rad/(N·m)].
        damping: Time in which constraints' violations decay in [s].
        refinement: Steps of the dynamics from node to node; where left out as many as keep them to
            5 ms, and more where parameters tell the difference.
        huber: Readings off by more standard deviations than this count by how far.
    """

    state_error_weight: float | None = Field(default=None, gt=0)
    lever: float | None = Field(default=None, gt=0)
    compliance: float | None = Field(default=None, gt=0)
    angular_compliance: float | None = Field(default=None, gt=0)
    damping: float | None = Field(default=None, ge=0)
    refinement: int | None = Field(default=None, ge=1)
    huber: float | None = Field(default=None, gt=0)


class GraphSettings(SearchSettings):
    """The section ``graph:``.

    Attributes:
        torque_noise: Standard deviation of recorded torques in [N·m] or [N]; they are known
            exactly where it is left out.
        dynamics: Standard deviation of the equations of motion in [rad/s²] or [m/s²].
        refinement: Steps of the graph from node to node; where left out four, and more where
            parameters tell the difference.
    """

    torque_noise: float | None = Field(default=None, gt=0)
    dynamics: float | None = Field(default=None, gt=0)
    refinement: int | None = Field(default=None, ge=1)


class TrajectorySettings(
    CollocationSettings, VariationalSettings, DiscreteSettings, GraphSettings
):
    """How a recording becomes nodes; keys of estimators are an old spelling of their sections'.

    Attributes:
        step: Time from node to node in [s]; where left out the period of the positions, in
            the fastest of several recordings.
        observed: As in :class:`~sysid_ros.estimation.trajectory.from_recording.NodeSettings`,
            with the next four.
        velocities: Whether recorded velocities count as measured.
        unpowered: Joints that nothing drives in any recording: their effort is zero, recorded or
            not. What holds for one recording only is said in its section ``recording``.
        position_noise: Standard deviation of the encoders' noise in [rad] or [m].
        velocity_noise: That of velocities.
    """

    step: float | None = Field(default=None, gt=0)
    observed: tuple[str, ...] | None = None
    velocities: bool = False
    unpowered: tuple[str, ...] = ()
    position_noise: float | dict[str, float] | None = None
    velocity_noise: float | dict[str, float] | None = None

    def nodes(self, recordings: Sequence[Recording]) -> NodeSettings:
        """How recordings become a problem.

        Raises:
            RecordingError: No positions were recorded.
        """
        step = self.step
        if step is None:
            step = min(recording.channel('position').period for recording in recordings)
        return NodeSettings(step=step, **{name: getattr(self, name) for name in _NODES})
