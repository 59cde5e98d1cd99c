r"""Instrumental variables: rows of a simulated robot against noise in the rows of the real one.

Least squares is biased when the regressor is noisy, as with coarse encoders whose positions
are differentiated twice, however much data there is. With instruments Z that go with the true
motion but not with its noise,

.. math:: \hat\theta = (Z^T W \Gamma)^{-1} Z^T W \tau

is not (Janot, Vandanjon and Gautier 2014, IDIM-IV). Z is the regressor of a simulated robot that
has the current estimate and tracks the reference of the real one in closed loop, through the
same parallel filter; estimate and simulation take turns. That the simulated robot moves a little
differently costs precision, not correctness.

Where no reference was recorded the measured positions, smoothed to the motion's own band, are
the reference. Noise above that band, where differentiating makes it large, is then not in the
instruments; noise within it still is.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg

from sysid_ros.errors import ConfigurationError, EstimationError, ModelError
from sysid_ros.estimation.estimate import Estimate, Status
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.assessment import assess
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.estimation.regression.noise import noise_level
from sysid_ros.estimation.regression.simulated_rows import SimulatedRows

# Correlation of instruments and regressor in their worst direction below which the instruments
# are weak, and below which they tell nothing.
_WEAK = 0.1
_NOTHING = 1e-3


@dataclass(frozen=True)
class InstrumentalVariables:
    """Instruments from a simulated robot, joints weighted by their own noise.

    Like the least-squares estimators it fits the base parameters; bodies need not be
    physically consistent.

    Args:
        reference_cutoff: Cut-off of the low-pass that smooths the reference in [Hz]; by
            default three times the band of the motion.
        measured_reference: Whether the measured positions, smoothed, may stand in for
            commanded ones that were not recorded.
        tolerance: Largest change of a base parameter, in its standard deviations, at which the
            iteration ends.
        max_iterations: Most simulations.
    """

    reference_cutoff: float | None = None
    measured_reference: bool = True
    tolerance: float = 0.01
    max_iterations: int = 10

    name: ClassVar[str] = 'iv'

    def __post_init__(self) -> None:
        cutoff = 1.0 if self.reference_cutoff is None else self.reference_cutoff
        if not (cutoff > 0.0 and self.tolerance > 0.0 and self.max_iterations >= 1):
            raise ConfigurationError(
                'the iteration cannot work', where=self.name,
                found=', '.join(f'{key} {value}' for key, value in asdict(self).items()),
                allowed='a cut-off and a tolerance above 0, and at least one iteration',
            )

    def fit(self, problem: RegressionProblem) -> Estimate:
        """Fit the problem.

        Args:
            problem: Rows, their motion and the prior.

        Returns:
            The estimate, with the covariance of instrumental variables. Its status is
            ``ITERATION_LIMIT`` when it did not settle, and ``FAILED`` when the simulated
            motion does not show what the rows do.

        Raises:
            EstimationError: The problem has no motion, too little of it, or no reference
                where one is required.
            ModelError: Not even the prior can be simulated.
        """
        problem.require_rows()
        self._require_reference(problem)
        simulation = SimulatedRows.of(problem, self.reference_cutoff)
        problem = simulation.problem
        theta, sigma, _ = WeightedLeastSquares().iterate(problem)
        values = problem.reference
        notes: tuple[str, ...] = (_assumption(simulation),)
        status, before, iteration = Status.ITERATION_LIMIT, None, 0
        while status is Status.ITERATION_LIMIT and iteration < self.max_iterations:
            iteration += 1
            instruments, notes = _instruments(simulation, values, notes)
            fitted = InstrumentedFit.of(problem, instruments, sigma)
            if fitted.strength < _NOTHING:
                status = Status.FAILED
            elif before is not None and fitted.change(before) < self.tolerance:
                status = Status.CONVERGED
            values = before = theta = fitted.theta
            sigma = noise_level(problem, theta)
        if fitted.strength < _WEAK:
            notes = (*notes, fitted.weakness())
        return assess(
            problem, theta, fitted.sigma, estimator=self.name, settings=asdict(self),
            status=status, instruments=instruments, iterations=iteration, notes=notes,
        )

    def _require_reference(self, problem: RegressionProblem) -> None:
        motion = problem.motion
        if motion is not None and motion.reference is None and not self.measured_reference:
            raise EstimationError(
                'the commanded positions were not recorded', where=motion.dataset.source,
                fix='Record them, or let the measured ones stand in (measured_reference)',
            )


@dataclass(frozen=True, eq=False)
class InstrumentedFit:
    r"""One solution with given instruments, in the k directions that the rows determine.

    Attributes:
        problem: The problem.
        directions: What its weighted rows tell.
        theta: Fitted values, shape ``(p,)``.
        step: Change of the parameters per standard deviation of noise along each of k
            orthonormal combinations of the weighted instruments, shape ``(p, k)``.
        strength: Correlation of instruments and regressor in their worst direction: 1 for
            instruments that are the regressor, 0 for ones that tell nothing of it.
        weakest: That direction in the parameters, shape ``(p,)``.
    """

    problem: RegressionProblem
    directions: DataDirections
    theta: np.ndarray
    step: np.ndarray
    strength: float
    weakest: np.ndarray

    @property
    def sigma(self) -> np.ndarray:
        """Noise per joint that weighted the rows, shape ``(n,)``."""
        return self.directions.sigma

    @classmethod
    def of(
        cls, problem: RegressionProblem, instruments: np.ndarray, sigma: np.ndarray
    ) -> InstrumentedFit:
        """Solve with instruments.

        Args:
            problem: The problem.
            instruments: Rows of another regressor, shape ``(T, n, p)``.
            sigma: Noise per joint to weigh by, shape ``(n,)``.
        """
        directions = DataDirections(problem, sigma)
        steps = problem.scale @ directions.principal_rows()[1].T
        weights = problem.usable / sigma
        count = steps.shape[1]

        def weighted(columns: np.ndarray) -> np.ndarray:
            return (columns @ steps * weights[..., None]).reshape(-1, count)

        rows, triangle = np.linalg.qr(weighted(problem.regressor))
        basis, _ = np.linalg.qr(weighted(instruments))
        left, cosines, right = np.linalg.svd(basis.T @ rows)
        # Instruments that tell nothing are not solved with; the caller looks at the strength.
        safe = np.maximum(cosines, np.finfo(float).eps)
        back = steps @ scipy.linalg.solve_triangular(triangle, right.T / safe)
        target = (weights * (problem.torque - problem.regressor @ problem.reference)).ravel()
        step = back @ left.T
        return cls(
            problem, directions, problem.reference + step @ (basis.T @ target),
            step, float(cosines[-1]), back[:, -1],
        )

    def change(self, before: np.ndarray) -> float:
        """Largest change of a base parameter, in its standard deviations.

        Args:
            before: Parameters to compare with, shape ``(p,)``.
        """
        # Of noise no smaller than sensors have, or rounding would count in exact data.
        deviation = np.linalg.norm(self.problem.base.matrix @ self.step, axis=1)
        moved = np.abs(self.problem.base.matrix @ (self.theta - before))
        told = ~self.directions.undetermined & (deviation > 0.0)
        moved = moved[told] / deviation[told]
        return float(moved.max(initial=0.0))

    def weakness(self) -> str:
        """What the simulated motion hardly shows, in words."""
        steps = np.linalg.norm(self.problem.scale, axis=1)
        share = np.abs(self.weakest) / np.where(steps > 0.0, steps, np.inf)
        name = self.problem.parameters.names[int(np.argmax(share))]
        return (
            f'The simulated motion hardly shows what the measured one does (correlation '
            f'{self.strength:.2g}), foremost {name}: look for a joint that stands still, fix the '
            'parameter, or raise reference_cutoff.'
        )


def _instruments(
    simulation: SimulatedRows, values: np.ndarray, notes: tuple[str, ...]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Rows of the robot with the values or, where it cannot be simulated, with the prior."""
    try:
        return simulation.regressor(values), notes
    except ModelError as error:
        prior = simulation.problem.reference
        if values is prior:
            raise
        note = f'The instruments are those of the prior, since {error}.'
        return simulation.regressor(prior), (*notes, *(() if note in notes else (note,)))


def _assumption(simulation: SimulatedRows) -> str:
    """What the instruments rest on, in words."""
    motion = simulation.problem.motion
    if motion is not None and motion.reference is not None:
        return 'The instruments are those of a simulated robot that tracks the recorded reference.'
    return (
        'No reference was recorded: the instruments are those of a simulated robot that tracks '
        f'the measured positions, smoothed to {simulation.cutoff:.3g} Hz. Encoder noise '
        'below that is not removed.'
    )
