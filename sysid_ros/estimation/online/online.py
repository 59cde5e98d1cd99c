"""Parameters of a robot that moves, followed row by row, and compared with what was committed.

The first seconds of motion tell the noise of the torques. From then on every row moves an estimate
that physics allows, and is tested for a change against the committed parameters. Rows at rest tell
little and count for neither, so that a robot that waits forgets nothing.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from pydantic import Field

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.online.change import Change
from sysid_ros.estimation.online.change_detection import (
    ChangeDetector,
    ChangeSettings,
    base_information,
)
from sysid_ros.estimation.online.live_rows import LiveRows
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.recursive.recursion import Recursion
from sysid_ros.estimation.regression.recursive.recursive import RecursiveLeastSquares
from sysid_ros.estimation.rows import Rows
from sysid_ros.mechanics.actuators.actuators import actuated
from sysid_ros.mechanics.base_parameters import base_parameters
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.live.window import LiveWindow
from sysid_ros.robot.load_carriers import last_body
from sysid_ros.robot.parameters import ParameterSet
from sysid_ros.settings import StrictSettings

# Motion over which the error of the predicted torques is told, in [s].
_RECENT = 10.0
# Rows that wait for a start, in times of the warm-up and at least of the parameters.
_KEPT = 4


class OnlineSettings(StrictSettings):
    """How a moving robot is followed.

    Attributes:
        warm_up: Motion that tells the noise before anything else, in [s].
        velocity: Rows count while some joint is faster, in [rad/s] or [m/s].
        forgetting: ``none``; ``exponential``, of all there is; or ``directional``, of what rows
            tell anew.
        memory: Motion after which e-times less is left of what is forgotten, in [s].
        false_alarms_per_hour: Bound of the rate of false alarms of the change detection.
        payload_link: Link that carries loads; empty for the end of the chain.
    """

    warm_up: float = Field(default=5.0, gt=0.0)
    velocity: float = Field(default=0.05, ge=0.0)
    forgetting: Literal['none', 'exponential', 'directional'] = 'none'
    memory: float = Field(default=60.0, gt=0.0)
    false_alarms_per_hour: float = Field(default=0.05, gt=0.0)
    payload_link: str = ''


@dataclass(frozen=True, eq=False)
class Committed:
    """Parameters that a robot is taken to have.

    Attributes:
        name: Their name, for people.
        parameters: The parameters.
        estimate: What they come from, whose covariance says how well they are known; None when
            that is not at hand, and they count as exact.
        model: Torque model that they are of; None for the one that settings describe.
    """

    name: str
    parameters: ParameterSet
    estimate: Estimate | None = None
    model: TorqueModel | None = None


@dataclass(frozen=True, eq=False)
class OnlineEstimate:
    """Estimate of a moving robot's parameters, and changes that were detected.

    Attributes:
        time: Seconds since 1970 up to which joint states were used.
        rows: Rows that were used.
        parameters: Parameters, each body a real one.
        standard_deviation: Their posterior deviations, shape ``(p,)``; zero for fixed ones.
        margins: Consistency margin of every body against its prior.
        relative_error: ‖τ − τ̂‖ / ‖τ‖ over the last seconds of motion, each torque predicted
            before it was used; NaN before the first.
        change: What has changed against the committed parameters; None if nothing has.
    """

    time: float
    rows: int
    parameters: ParameterSet
    standard_deviation: np.ndarray
    margins: dict[str, float]
    relative_error: float
    change: Change | None


class OnlineIdentification:
    """Follows a robot. It has no threads; every call takes in what has come since the last one.

    Args:
        setup: What joint states mean, how they are filtered, and the torque model.
        settings: How the robot is followed.

    Attributes:
        message: What it is doing, or what is in its way, in words.

    Raises:
        ConfigurationError: The robot has several ends, and no link that carries loads is named.
        EstimationError: The model is not linear in all parameters, the robot has actuators, or its
            base floats.
    """

    def __init__(self, setup: FitSetup, settings: OnlineSettings) -> None:
        model = setup.model
        if actuated(model) is not None:
            raise EstimationError(
                'the torques of a robot with actuators are not measured, so it cannot be followed '
                'row by row', where='robot.actuators', fix='Fit its recordings instead')
        if model.robot.base_joints:
            raise EstimationError(
                'joint states do not tell how a base that floats moves, so the robot cannot be '
                'followed row by row', where='robot.base', fix='Fit its recordings instead')
        if not model.is_linear:
            raise EstimationError(
                'the model is not linear in all parameters, so it cannot be followed row by row',
                where='robot.terms', fix='Follow the robot with viscous and Coulomb friction')
        self._described, self._settings = setup, settings
        last_body(model.robot, settings.payload_link or None)
        self._committed: Committed | None = None
        self._begin_anew(setup)

    def _begin_anew(self, setup: FitSetup) -> None:
        """Wait for the motion that tells the noise, with other joint terms perhaps."""
        self._setup, self._model = setup, setup.model
        self._parameters = setup.parameters()
        self._rows = LiveRows(setup)
        self._waiting: Rows | None = None
        self._recursion: Recursion | None = None
        self._detector: ChangeDetector | None = None
        self._change: Change | None = None
        self._tallies: deque[tuple[int, np.ndarray]] = deque()
        self.message = 'waiting for motion'

    @property
    def committed(self) -> Committed | None:
        """What the robot is compared with; None for nothing."""
        return self._committed

    @property
    def since(self) -> float:
        """Time in [s] since 1970 from which on joint states are needed."""
        return self._rows.since

    def compare_with(self, committed: Committed | None) -> None:
        """Detect changes against other parameters from now on.

        Where they have other joint terms than what was followed so far, it begins anew with them.

        Args:
            committed: The parameters; None for no comparison.
        """
        self._committed, self._change = committed, None
        model = None if committed is None else committed.model
        model = model or self._described.model
        if model.parameters.names != self._model.parameters.names:
            self._begin_anew(replace(self._described, model=model))
        self._detector = self._new_detector()

    def take(self, window: LiveWindow) -> None:
        """Update the estimate and the change detection with new joint states.

        Args:
            window: Joint states from :attr:`since` on.
        """
        rows = self._rows.take(window)
        if rows is not None:
            rows = rows.select((np.abs(rows.v) > self._settings.velocity).any(axis=1))
            if len(rows):
                self._use(rows)
        if self._rows.problem:
            self.message = self._rows.problem

    def _use(self, rows: Rows) -> None:
        if self._recursion is None:
            rows = self._warmed_up(rows)
            if self._recursion is None:
                return
        if self._detector is not None:
            changes = self._detector.extend_rows(rows.regressor, rows.torque, rows.usable)
            self._change = changes[-1] if changes else None
        self._recursion.extend_rows(rows.regressor, rows.torque, rows.usable)
        self._remember()
        self.message = f'following, {self._recursion.samples / self._rows.rate:.0f} s of motion'

    def _warmed_up(self, rows: Rows) -> Rows:
        """All rows so far; a recursion begins when they are enough to tell the noise."""
        whole = rows if self._waiting is None else Rows.joined([self._waiting, rows])
        self._waiting = whole = self._latest(whole)
        seconds = len(whole) / self._rows.rate
        self.message = f'warming up, {seconds:.1f} of {self._settings.warm_up:g} s of motion'
        if seconds < self._settings.warm_up:
            return whole
        problem = RegressionProblem(
            self._model, self._parameters, whole.regressor, whole.torque, whole.usable,
            segments=((0, len(whole)),), rate=self._rows.rate)
        try:
            problem.require_enough_rows()
            self._recursion = self._estimator().start(problem)
        except EstimationError as error:
            self.message = str(error)
            return whole
        self._waiting = None
        self._detector = self._new_detector()
        return whole

    def _latest(self, rows: Rows) -> Rows:
        """As many rows as a start can need, the last of those that count."""
        most = max(
            round(_KEPT * self._settings.warm_up * self._rows.rate), _KEPT * len(self._parameters))
        if len(rows) > most:
            rows = rows.select(np.flatnonzero(rows.usable.any(axis=1)))
        return rows.select(slice(max(len(rows) - most, 0), None))

    def _estimator(self) -> RecursiveLeastSquares:
        settings, fit = self._settings, self._setup.settings.fit
        said = fit.said_to(fit.estimator)
        given: dict[str, Any] = {'plausibility': fit.plausible}
        # A strength weighs a divergence of that kind in these alone.
        if isinstance(said.get('prior_strength'), float) and fit.estimator in (
            'entropic', 'recursive'
        ):
            given['prior_strength'] = said['prior_strength']
        given |= fit.recursive.given()
        given.pop('max_iterations', None)
        # What one iteration leaves undone is made up for by that of the next row.
        estimator = make_estimator(
            'recursive', forgetting=settings.forgetting, max_iterations=1,
            memory=math.exp(-1.0 / (settings.memory * self._rows.rate)), **given)
        assert isinstance(estimator, RecursiveLeastSquares)  # it has this name
        return estimator

    def _new_detector(self) -> ChangeDetector | None:
        committed, recursion = self._committed, self._recursion
        if committed is None or recursion is None:
            return None
        known = None
        if committed.estimate is not None and self._is_of_the_model(committed.estimate):
            known = base_information(committed.estimate)
        values = np.array([committed.parameters[name] for name in self._model.parameters.names])
        return ChangeDetector(
            self._model, values, recursion.noise, self._rows.rate, base_information=known,
            link=self._settings.payload_link or None, settings=ChangeSettings(
                false_alarms_per_hour=self._settings.false_alarms_per_hour))

    def _is_of_the_model(self, estimate: Estimate) -> bool:
        return estimate.status.ok and estimate.base_names == base_parameters(self._model).equations

    def _remember(self) -> None:
        """Keep the tallies that the recent error is the difference of."""
        assert self._recursion is not None  # it has taken rows
        samples = self._recursion.samples
        self._tallies.append((samples, self._recursion.tally))
        oldest = samples - _RECENT * self._rows.rate
        while len(self._tallies) > 2 and self._tallies[1][0] <= oldest:
            self._tallies.popleft()

    @property
    def estimate(self) -> OnlineEstimate | None:
        """The estimate from all rows so far; None before the noise is known."""
        recursion = self._recursion
        if recursion is None or not recursion.samples:
            return None
        parameters = recursion.parameters
        _, torque, innovation = self._tallies[-1][1]
        if len(self._tallies) > 1:
            _, before, missed = self._tallies[0][1]
            torque, innovation = torque - before, innovation - missed
        total = float(torque.sum())
        return OnlineEstimate(
            time=self._rows.until, rows=recursion.samples, parameters=parameters,
            standard_deviation=recursion.standard_deviation(),
            margins={body: float(margin) for body, margin in recursion.margins().items()},
            relative_error=math.sqrt(innovation.sum() / total) if total > 0.0 else math.nan,
            change=self._change)
