r"""Regression problems: rows of :math:`\tau = \Gamma(q, v, a)\,\theta` and what is known before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.joint_factors import JointFactors
from sysid_ros.estimation.motion import Motion
from sysid_ros.estimation.prior_steps import prior_steps
from sysid_ros.estimation.row_source import RowSource
from sysid_ros.estimation.rows import FileStore, MemoryStore, RowBuilder, require_joints
from sysid_ros.mechanics.base_parameters import BaseParameters, base_parameters
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.numerics.freed_memory import return_freed_memory
from sysid_ros.recording.bag.prefetch import prefetched
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.signals import ParallelFilter
from sysid_ros.recording.processing.windows import AlignedWindows
from sysid_ros.robot.cached import CachesValues
from sysid_ros.robot.parameters import ParameterSet

# Fewer rows than this many per parameter leave no freedom to judge the fit.
_ROWS_PER_PARAMETER = 2


@dataclass(frozen=True, eq=False)
class RegressionProblem(CachesValues):
    """Filtered regressor and torque rows of a recording, with a prior.

    Attributes:
        model: Torque model of the robot.
        parameters: Prior, bounds and free/fixed mask, p parameters.
        regressor: Rows of the regressor, shape ``(T, n, p)``.
        torque: Rows of the torque in [N·m] or [N], shape ``(T, n)``.
        usable: True where a row counts, shape ``(T, n)``.
        segments: Half-open ranges of rows without gaps.
        rate: Rows per second in [Hz].
        provenance: Where the rows came from.
        warnings: What the data had to be mended for, in words.
        motion: Where the rows came from, for estimators that need more than the rows; None
            where that does not fit into memory.
        source: Where the rows come from, if the model is not linear in all parameters.
            The regressor is then the one at the values where the model stands.
        recordings: Half-open ranges of rows of each recording; empty where it is one.
    """

    model: TorqueModel
    parameters: ParameterSet
    regressor: np.ndarray
    torque: np.ndarray
    usable: np.ndarray
    segments: tuple[tuple[int, int], ...]
    rate: float
    provenance: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    motion: Motion | None = None
    source: RowSource | None = None
    recordings: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        samples, joints, columns = self.regressor.shape
        if self.torque.shape != (samples, joints) or self.usable.shape != (samples, joints):
            raise EstimationError(
                'regressor and torque do not belong together', found=self.torque.shape,
                allowed=(samples, joints),
            )
        if columns != len(self.parameters):
            raise EstimationError(
                'regressor and parameters do not belong together', found=columns,
                allowed=len(self.parameters),
            )
        if not (np.isfinite(self.regressor).all() and np.isfinite(self.torque).all()):
            raise EstimationError(
                'the rows hold a value that is not finite', where=self.provenance.get('source'),
                fix='Check the recording and the filters',
            )

    @classmethod
    def from_dataset(
        cls,
        model: TorqueModel,
        dataset: Dataset,
        *,
        parallel_filter: ParallelFilter | None = None,
        minimum_velocity: float | Sequence[float] = 0.0,
        parameters: ParameterSet | None = None,
        commanded: np.ndarray | None = None,
    ) -> RegressionProblem:
        """Build the rows of a dataset, both sides filtered alike.

        Args:
            model: Torque model; its joints must be the dataset's, in order.
            dataset: Motion and torque.
            parallel_filter: Low-pass and decimation of regressor and torque.
            minimum_velocity: Rows whose joint is slower do not count, in [rad/s] or [m/s];
                one number, or one per joint.
            parameters: Prior, bounds and mask in place of the model's own.
            commanded: Positions that the robot was commanded at the samples of the dataset, in
                [rad] or [m], shape ``(T, n)``, for estimators that simulate it.

        Returns:
            The problem.

        Raises:
            ConfigurationError: A per-joint list of the wrong length.
            RecordingError: The joints or the shape of the commanded positions differ, or the filter
                leaves nothing.
        """
        require_joints(model, dataset)
        parallel = parallel_filter or ParallelFilter()
        count = len(parallel.retained_samples(dataset.rate, dataset.segments)[0])
        shape = (count, len(model.robot.joint_names), len(model.parameters))
        rows = RowBuilder(model, parallel, minimum_velocity, MemoryStore(shape))
        rows.add(dataset)
        problem = cls._from_rows(rows, dataset, parameters, dataset.warnings)
        if model.is_linear:
            return replace(problem, motion=Motion(dataset, parallel, commanded))
        source = RowSource(dataset, parallel, commanded)
        return replace(problem, motion=source, source=source)

    @classmethod
    def from_windows(
        cls,
        model: TorqueModel,
        windows: AlignedWindows,
        *,
        parallel_filter: ParallelFilter | None = None,
        minimum_velocity: float | Sequence[float] = 0.0,
        parameters: ParameterSet | None = None,
    ) -> RegressionProblem:
        """Build the rows of a recording that is read in windows.

        The rows are those that :meth:`from_dataset` makes of the whole recording, to rounding.
        They are kept in a temporary file, from which the system reads back what is needed.

        Raises:
            ConfigurationError: A per-joint list of the wrong length.
            RecordingError: The joints differ, the filter leaves nothing, or no window can
                be used.
            EstimationError: The rows do not fit on the disk, or the model is not linear, so
                that its rows would have to be made again and again.
        """
        if not model.is_linear:
            raise EstimationError(
                'joint terms that are not linear need the whole recording in memory',
                found=', '.join(model.shapes) or 'friction by load',
                fix='Cut the bag, raise recording.memory_limit, or take linear terms',
            )
        shape = (len(model.robot.joint_names), len(model.parameters))
        rows = RowBuilder(
            model, parallel_filter or ParallelFilter(), minimum_velocity, FileStore(shape))
        # A window is read and aligned while rows of the one before are built.
        for part in prefetched(windows):
            require_joints(model, part.dataset)
            rows.add(part.dataset, part.goes_on)
        problem = cls._from_rows(rows, part.dataset, parameters, windows.warnings)
        return_freed_memory()
        return problem

    @classmethod
    def _from_rows(
        cls, rows: RowBuilder, dataset: Dataset, parameters: ParameterSet | None,
        warnings: Sequence[str],
    ) -> RegressionProblem:
        regressor, torque, usable = rows.finish()
        return cls(
            model=rows.model,
            parameters=parameters or rows.model.parameters,
            regressor=regressor,
            torque=torque,
            usable=usable,
            segments=tuple(rows.segments),
            rate=dataset.rate / rows.parallel.factor(dataset.rate),
            provenance={'source': dataset.source, 'sha256': dataset.sha256},
            warnings=tuple(warnings),
        )

    def require_rows(self) -> None:
        """Refuse a problem with too few rows to fit, or one that is not linear.

        Raises:
            EstimationError: How many rows there are, and how many are needed; or the
                regressor depends on parameters.
        """
        if self.source is not None:
            raise EstimationError(
                'the torque is not linear in all parameters',
                found=', '.join(self.model.shapes) or 'friction by load',
                fix='Wrap the estimator in an OuterIteration, as settings files do',
            )
        self.require_enough_rows()

    def require_enough_rows(self) -> None:
        """Refuse a problem with too few rows to fit.

        Raises:
            EstimationError: How many rows there are, and how many are needed.
        """
        rows, needed = int(self.usable.sum()), _ROWS_PER_PARAMETER * int(self.free.sum())
        if rows < needed:
            raise EstimationError(
                'there is too little data for the parameters',
                where=self.provenance.get('source'), found=f'{rows} usable rows',
                allowed=f'at least {needed}, two per free parameter',
                fix='Record longer, decimate less, or fix parameters',
            )

    def restricted(self, rows: np.ndarray) -> RegressionProblem:
        """The problem with only some of its rows.

        Args:
            rows: True for the samples to keep, shape ``(T,)``.
        """
        return self.with_usable(self.usable & rows[:, None])

    def with_usable(self, usable: np.ndarray) -> RegressionProblem:
        """The problem with other usable rows, shape ``(T, n)``, and the same base parameters."""
        return self.replaced('base', usable=usable)

    def replaced(self, *same: str, **changes: Any) -> RegressionProblem:
        """The problem with other fields, and with what was computed and does not depend on them.

        Args:
            same: Names of computed properties that the changes leave as they are.
            changes: New fields.
        """
        return replace(self, **changes).seeded(**{name: getattr(self, name) for name in same})

    def with_factors(self, factors: np.ndarray, *same: str) -> RegressionProblem:
        """The problem with triangular factors of rows that are known already.

        Args:
            factors: What :attr:`factors` gives, shape ``(n, p + 1, p + 1)``.
            same: Names of computed properties that do not depend on them.
        """
        return self.replaced(*same).seeded(factors=factors)

    @property
    def free(self) -> np.ndarray:
        """Mask of the parameters that may change, shape ``(p,)``."""
        return self.parameters.free

    @cached_property
    def counts(self) -> np.ndarray:
        """Usable rows per joint, shape ``(n,)``."""
        return self.usable.sum(axis=0)

    @cached_property
    def factors(self) -> np.ndarray:
        r"""Triangular factors of :math:`[\Gamma_j \mid \tau_j]`, shape ``(n, p + 1, p + 1)``.

        They hold all that a least-squares fit needs from the rows of each joint; weights
        per joint can be changed without touching the rows again.
        """
        empty = JointFactors.empty(self.torque.shape[1], len(self.parameters))
        return empty.folded(self.regressor, self.torque, self.usable).triangles

    @cached_property
    def base(self) -> BaseParameters:
        """Base parameters of the free parameters."""
        return base_parameters(self.model, free=self.free)

    @cached_property
    def reference(self) -> np.ndarray:
        """Prior of the free parameters and values of the fixed ones, shape ``(p,)``."""
        return np.where(self.free, self.parameters.prior, self.parameters.values)

    @cached_property
    def scale(self) -> np.ndarray:
        r"""One step of the prior for each of the f free parameters, shape ``(p, f)``.

        See :func:`~sysid_ros.estimation.prior_steps.prior_steps`; for a joint term a unit of z
        is the size at which the term explains all of its joints' torque, but no more than
        the whole range of a term with two bounds.
        """
        return prior_steps(self.parameters, self.free, self._term_scale())

    def _term_scale(self) -> np.ndarray:
        # Squared size of each column and of the torque, over the joints the column acts on.
        columns = np.sum(self.factors[:, :, :-1] ** 2, axis=1)
        torque = self.squared_residuals(np.zeros(len(self.parameters)))
        explained = (columns > 0.0).T @ torque
        with np.errstate(divide='ignore', invalid='ignore'):
            scale = np.sqrt(explained / columns.sum(axis=0))
        fallback = np.maximum(np.abs(self.parameters.prior), 1.0)
        scale = np.where(np.isfinite(scale) & (scale > 0.0), scale, fallback)
        width = self.parameters.upper - self.parameters.lower
        return np.where((width > 0.0) & (width < scale), width, scale)

    def weighted(self, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""Compressed rows with joint j divided by :math:`\sigma_j`.

        Args:
            sigma: Torque noise per joint in [N·m] or [N], shape ``(n,)``.

        Returns:
            Matrix ``(p + 1, p)`` and vector ``(p + 1,)`` with the same least-squares
            objective as all usable rows.
        """
        columns = self.factors.shape[2]
        stack = (self.factors / np.asarray(sigma)[:, None, None]).reshape(-1, columns)
        # A joint feels a part of the parameters: of many joints most rows are zero.
        stack = stack[stack.any(axis=1)]
        triangle = np.zeros((columns, columns))
        # Older versions of SciPy refuse to factorise nothing.
        if rows := min(len(stack), columns):
            triangle[:rows] = scipy.linalg.qr(stack, mode='r')[0][:rows]
        return triangle[:, :-1], triangle[:, -1]

    def at(self, theta: np.ndarray) -> RegressionProblem:
        """The problem with its model, hence its regressor, at parameter values ``(p,)``.

        It is the problem itself where nothing in the regressor depends on parameters.
        """
        if self.source is None:
            return self
        model = self.model.at(theta)
        return self if model is self.model else self.source.moved(self, model)

    def predicted(self, theta: np.ndarray) -> np.ndarray:
        """Torque with parameter values ``(p,)`` in [N·m] or [N], shape ``(T, n)``."""
        return self.at(theta).regressor @ theta

    def residuals(self, theta: np.ndarray) -> np.ndarray:
        """Measured minus predicted torque in [N·m] or [N], zero where not usable, ``(T, n)``."""
        return np.where(self.usable, self.torque - self.predicted(theta), 0.0)

    def squared_residuals(self, theta: np.ndarray) -> np.ndarray:
        """Sum of a joint's squared residuals, from the compressed rows alone, ``(n,)``."""
        return np.sum((self.factors @ np.append(-theta, 1.0)) ** 2, axis=1)
