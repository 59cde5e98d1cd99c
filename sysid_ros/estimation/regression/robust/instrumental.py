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
from sysid_ros.estimation.joint_factors import JointFactors
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.assessment import assess
from sysid_ros.estimation.regression.directions import DataDirections
from sysid_ros.estimation.regression.least_squares import WeightedLeastSquares
from sysid_ros.estimation.regression.noise import noise_level
from sysid_ros.estimation.regression.simulated_rows import SimulatedRows
from sysid_ros.numerics.decomposition import svd

# Correlation of instruments and regressor in their worst direction below which the instruments
# are weak, and below which they tell nothing.
_WEAK = 0.1
_NOTHING = 1e-3
# Size of instruments beside the largest, in the directions of the regressor, that is rounding.
_MISSING = 1e-9
# Relative change of noise levels at which weights have settled, and most rounds until then. That
# rows are weighed by something else costs precision, not correctness.
_SETTLED = 1e-4
_MOST_WEIGHTINGS = 100
# Rows that are compressed at once.
_CHUNK = 4096


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
                fix='Leave them out for their defaults',
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
        fitted, status, iterations, notes = self._iterate(simulation)
        if fitted.strength < _WEAK:
            notes = (*notes, fitted.weakness())
        return assess(
            problem, fitted.theta, fitted.sigma, estimator=self.name, settings=asdict(self),
            status=status, instruments=fitted.rows.instruments, iterations=iterations,
            notes=(_assumption(simulation), *notes),
        )

    def _iterate(
        self, simulation: SimulatedRows
    ) -> tuple[InstrumentedFit, Status, int, tuple[str, ...]]:
        """The last fit, how it ended, simulations, and what to tell of them."""
        problem = simulation.problem
        _, sigma, _ = WeightedLeastSquares().iterate(problem)
        of_prior = InstrumentedRows.of(problem, simulation.regressor(problem.reference))
        fitted = InstrumentedFit.weighted(of_prior, sigma)
        notes: tuple[str, ...] = ()
        for iteration in range(2, self.max_iterations + 1):
            if fitted.strength < _NOTHING:
                return fitted, Status.FAILED, iteration - 1, notes
            before, notes = fitted.theta, ()
            try:
                rows = InstrumentedRows.of(problem, simulation.regressor(before))
            except ModelError as error:
                rows, notes = of_prior, (f'The instruments are those of the prior: {error}',)
            fitted = InstrumentedFit.weighted(rows, fitted.sigma)
            if fitted.change(before) < self.tolerance:
                return fitted, Status.CONVERGED, iteration, notes
        return fitted, Status.ITERATION_LIMIT, self.max_iterations, notes

    def _require_reference(self, problem: RegressionProblem) -> None:
        motion = problem.motion
        if motion is not None and motion.commanded is None and not self.measured_reference:
            raise EstimationError(
                'the commanded positions were not recorded', where=motion.dataset.source,
                fix='Record them, or let the measured ones stand in (measured_reference)',
            )


@dataclass(frozen=True, eq=False)
class InstrumentedRows:
    r"""Rows of instruments beside those of a problem, compressed alike.

    Attributes:
        problem: The problem.
        instruments: Rows of another regressor, shape ``(T, n, p)``.
        factors: Triangular factors of :math:`[Z_j \mid \Gamma_j \mid \tau_j]`, shape
            ``(n, 2 p + 1, 2 p + 1)``.
    """

    problem: RegressionProblem
    instruments: np.ndarray
    factors: np.ndarray

    @classmethod
    def of(cls, problem: RegressionProblem, instruments: np.ndarray) -> InstrumentedRows:
        """Compress instruments, shape ``(T, n, p)``, with the rows of a problem."""
        joints, columns = instruments.shape[1:]
        factors = JointFactors.empty(joints, 2 * columns)
        for start in range(0, len(instruments), _CHUNK):
            part = slice(start, start + _CHUNK)
            both = np.concatenate([instruments[part], problem.regressor[part]], axis=2)
            factors = factors.folded(both, problem.torque[part], problem.usable[part])
        return cls(problem, instruments, factors.triangles)

    def weighted(self, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Instruments, regressor and torque, weighted and compressed.

        Args:
            sigma: Noise per joint to weigh by, shape ``(n,)``.

        Returns:
            Shapes ``(R, p)``, ``(R, p)`` and ``(R,)`` with the same inner products as all rows.
        """
        joints, size, _ = self.factors.shape
        rows = (self.factors / sigma[:, None, None]).reshape(joints * size, size)
        columns = size // 2
        return rows[:, :columns], rows[:, columns:-1], rows[:, -1]


@dataclass(frozen=True, eq=False)
class InstrumentedFit:
    r"""One solution with given instruments, in the k directions that the rows determine.

    Attributes:
        rows: The problem and its instruments.
        directions: What the problem's weighted rows tell.
        theta: Fitted values, shape ``(p,)``.
        step: Change of the parameters per standard deviation of noise along each of k
            orthonormal combinations of the weighted instruments, shape ``(p, k)``.
        strength: Correlation of instruments and regressor in their worst direction: 1 for
            instruments that are the regressor, 0 for ones that tell nothing of it.
        shown: Part of each parameter's torque that the instruments show, shape ``(p,)``; 1 where
            there is none, or the parameter is fixed.
    """

    rows: InstrumentedRows
    directions: DataDirections
    theta: np.ndarray
    step: np.ndarray
    strength: float
    shown: np.ndarray

    @property
    def problem(self) -> RegressionProblem:
        """The problem that is solved."""
        return self.rows.problem

    @property
    def sigma(self) -> np.ndarray:
        """Noise per joint that weighted the rows, shape ``(n,)``."""
        return self.directions.sigma

    @classmethod
    def weighted(cls, rows: InstrumentedRows, sigma: np.ndarray) -> InstrumentedFit:
        """Solve with weights that go with the residuals.

        Args:
            rows: The problem and its instruments.
            sigma: Noise per joint to begin with, shape ``(n,)``.
        """
        for _ in range(_MOST_WEIGHTINGS):
            fitted = cls.of(rows, sigma)
            updated = noise_level(rows.problem, fitted.theta)
            if fitted.strength < _NOTHING or np.abs(updated / sigma - 1.0).max() < _SETTLED:
                break
            sigma = updated
        return fitted

    @classmethod
    def of(cls, rows: InstrumentedRows, sigma: np.ndarray) -> InstrumentedFit:
        """Solve with given weights.

        Args:
            rows: The problem and its instruments.
            sigma: Noise per joint to weigh by, shape ``(n,)``.
        """
        problem = rows.problem
        directions = DataDirections(problem, sigma)
        steps = problem.scale @ directions.principal_rows[1].T
        instruments, regressor, torque = rows.weighted(sigma)
        own, triangle = np.linalg.qr(regressor @ steps)
        # In the directions of the regressor, so that instruments that are missing are seen.
        instruments = scipy.linalg.solve_triangular(
            triangle, (instruments @ steps).T, trans='T').T
        basis, sizes, _ = svd(instruments, full_matrices=False)
        basis = basis[:, sizes > _MISSING * sizes[0]]
        left, cosines, right = svd(basis.T @ own)
        cosines = np.pad(cosines, (0, len(right) - len(cosines)))
        # Instruments that tell nothing are not solved with; the caller looks at the strength.
        safe = np.maximum(cosines, np.finfo(float).eps)
        back = steps @ scipy.linalg.solve_triangular(triangle, right.T / safe)
        step = back[:, :len(left)] @ left.T
        target = torque - regressor @ problem.reference
        sizes = np.linalg.norm(regressor, axis=0)
        shown = np.linalg.norm(basis.T @ regressor, axis=0) / np.where(sizes > 0.0, sizes, np.inf)
        return cls(
            rows, directions, problem.reference + step @ (basis.T @ target), step,
            float(cosines[-1]), np.where(problem.free & (sizes > 0.0), shown, 1.0),
        )

    def change(self, before: np.ndarray) -> float:
        """Largest change of a base parameter, in its standard deviations.

        Args:
            before: Parameters to compare with, shape ``(p,)``.
        """
        # Of noise no smaller than sensors have, or rounding would count in exact data.
        deviation = np.linalg.norm(self.problem.base.matrix @ self.step, axis=1)
        moved = np.abs(self.problem.base.matrix @ (self.theta - before))
        determined = ~self.directions.undetermined & (deviation > 0.0)
        moved = moved[determined] / deviation[determined]
        return float(moved.max(initial=0.0))

    def weakness(self) -> str:
        """Parameter for which the instruments are weakest, in words."""
        name = self.problem.parameters.names[int(np.argmin(self.shown))]
        return (
            f'The simulated motion hardly shows what the measured one does (correlation '
            f'{self.strength:.2g}), foremost {name}: look for a joint that stands still, fix the '
            'parameter, or raise reference_cutoff.'
        )


def _assumption(simulation: SimulatedRows) -> str:
    """What the instruments rest on, in words."""
    motion = simulation.problem.motion
    if motion is not None and motion.commanded is not None:
        return 'The instruments are those of a simulated robot that tracks the recorded reference.'
    return (
        'No reference was recorded: the instruments are those of a simulated robot that tracks '
        f'the measured positions, smoothed to {simulation.cutoff:.3g} Hz. Encoder noise '
        'below that is not removed.'
    )
