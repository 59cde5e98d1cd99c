"""Estimates: what was inferred, how well, and whether the solver vouches for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from sysid_ros.errors import EstimationError, SysidError, unreadable
from sysid_ros.estimation.identifiability import Identifiability
from sysid_ros.numerics.json_values import finite_or_null, null_as_infinite
from sysid_ros.robot.parameters import ParameterSet

FORMAT = 'sysid_ros estimate 1'
#: How notes of a fit that ended early begin where they say which setting to change.
CHANGE = 'To change: '
#: How notes begin that ask for the process noise that a fit had to do with, the line at their end.
LACKS = (
    'Process noise stands for something that the model lacks, and intervals take it for random. '
    'To have it so: ')
# Makes 95 % intervals of standard deviations.
_NORMAL = 1.96


class Status(Enum):
    """How a fit ended; the value is the sentence for people."""

    CONVERGED = 'The fit converged.'
    INFEASIBLE = 'No parameters satisfy all constraints; the values are the prior.'
    INACCURATE = (
        'The solver stopped short of its accuracy; the values are the best it found, without '
        'intervals.')
    ITERATION_LIMIT = (
        'The fit ran out of iterations; the values are the best it found, without intervals.')
    FAILED = 'The solver failed; the values are the prior.'

    @property
    def ok(self) -> bool:
        """Whether the values may be used."""
        return self is Status.CONVERGED

    @property
    def found_values(self) -> bool:
        """Whether the values are what the solver found, be it the solution or its best point."""
        return self not in (Status.INFEASIBLE, Status.FAILED)


class Knowledge(Enum):
    """Where the value of a parameter comes from."""

    DATA = 'known from this data'
    COMBINATION = 'known only in combination with others; its share comes from the prior'
    COUPLED = 'unidentifiable: no effect on torque in this data; from the prior, after its body'
    PRIOR = 'this data does not tell; the prior is kept'
    UNSETTLED = 'not known: this data tells it, but the fit did not converge'
    FIXED = 'fixed by request'


@dataclass(frozen=True, eq=False)
class ResidualStatistics:
    """Torque residuals of the rows that were fitted.

    Attributes:
        relative_error: ‖τ − τ̂‖ / ‖τ‖ over all joints; NaN where no torque was measured.
        relative_per_joint: The same per joint, shape ``(n,)``; NaN where no torque was measured.
        rms_per_joint: Root mean square in [N·m] or [N], shape ``(n,)``.
        rows: Usable rows per joint, shape ``(n,)``.
        effective_rows: Rows that independent noise of the same information would have,
            shape ``(n,)``.
    """

    relative_error: float
    relative_per_joint: np.ndarray
    rms_per_joint: np.ndarray
    rows: np.ndarray
    effective_rows: np.ndarray

    @property
    def rms(self) -> float:
        """Root mean square over the rows of all joints in [N·m] or [N]."""
        rows = np.asarray(self.rows)
        return float(np.sqrt(rows @ self.rms_per_joint**2 / max(rows.sum(), 1)))


@dataclass(frozen=True, eq=False)
class BetweenRecordings:
    """How sure values are by how much several recordings disagree, errors of the model included.

    Attributes:
        recordings: Number of recordings G.
        standard_deviation: Per parameter, as that of an estimate, shape ``(p,)``.
        base_standard_deviation: Per base parameter, shape ``(r,)``.
    """

    recordings: int
    standard_deviation: np.ndarray
    base_standard_deviation: np.ndarray

    @property
    def quantile(self) -> float:
        """Student's t quantile of 95 % intervals, with G - 1 degrees of freedom."""
        return float(stdtrit(self.recordings - 1, 0.975))

    def to_json(self) -> dict[str, Any]:
        """Plain values, infinities as null."""
        return {
            'recordings': self.recordings, 'quantile': self.quantile,
            'standard_deviation': finite_or_null(self.standard_deviation),
            'base_standard_deviation': finite_or_null(self.base_standard_deviation),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> BetweenRecordings:
        """The inverse of :meth:`to_json`."""
        return cls(
            int(data['recordings']), null_as_infinite(data['standard_deviation']),
            null_as_infinite(data['base_standard_deviation']))


@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters inferred from data.

    Attributes:
        estimator: Name of the estimator.
        settings: Its settings.
        status: How the fit ended. Unless ``status.ok``, the values are the best that were found,
            or the prior, as it says, and deviations and covariance are infinite.
        parameters: Parameters with their estimated values, p of them.
        standard_deviation: Per parameter, shape ``(p,)``; infinite where the data alone
            does not determine it, zero where it is fixed.
        knowledge: Where each value comes from, p entries; what the data tells is ``UNSETTLED``
            unless ``status.ok``.
        base_names: Base parameters in words, r of them.
        base_values: Their values, shape ``(r,)``.
        base_covariance: Their covariance, shape ``(r, r)``; rows of a direction that the
            data does not determine are infinite.
        unidentified: Combinations the data does not determine, in words.
        margins: Consistency margin of every body against its prior.
        residuals: Statistics of the fitted rows.
        iterations: Iterations of the solver.
        notes: What else a person should know.
        provenance: Data, model, seed and versions the estimate came from.
        identifiability: Why parameters are not known and which motion would help, where it
            was looked at.
        between: Deviations by how much recordings disagree; None where it is one, or there are
            no intervals.
        outliers: Half-open ranges of the fitted rows that did not count, by joint; empty where
            the estimator looks for none.
    """

    estimator: str
    settings: Mapping[str, Any]
    status: Status
    parameters: ParameterSet
    standard_deviation: np.ndarray
    knowledge: tuple[Knowledge, ...]
    base_names: tuple[str, ...]
    base_values: np.ndarray
    base_covariance: np.ndarray
    unidentified: tuple[str, ...]
    margins: Mapping[str, float]
    residuals: ResidualStatistics
    iterations: int = 0
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    identifiability: Identifiability | None = None
    between: BetweenRecordings | None = None
    outliers: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.status.ok:
            determined = (Knowledge.DATA, Knowledge.COMBINATION)
            object.__setattr__(self, 'knowledge', tuple(
                Knowledge.UNSETTLED if entry in determined else entry for entry in self.knowledge))

    @property
    def consistent(self) -> bool:
        """Whether every body is a real mass distribution."""
        return all(margin > 0.0 for margin in self.margins.values())

    def has_seen(self, sha256: str) -> bool:
        """Whether it was fitted to one of some recordings.

        Args:
            sha256: Hashes of the recordings as in a provenance, with commas between several.
        """
        return bool(_hashes(str(self.provenance.get('sha256', ''))) & _hashes(sha256))

    def with_status(self, status: Status) -> Estimate:
        """The same values where a fit of which this is a part ended otherwise.

        Args:
            status: How the whole fit ended. Without success there are no intervals.
        """
        if status.ok:
            return replace(self, status=status)
        return replace(
            self, status=status, between=None,
            standard_deviation=np.where(self.parameters.free, np.inf, 0.0),
            base_covariance=np.full_like(self.base_covariance, np.inf))

    def intervals(self) -> dict[str, dict[str, float]]:
        """Half-widths of 95 % intervals, by kind and parameter, where they are finite.

        ``noise`` takes the model as right; ``between_recordings`` is there with several
        recordings, and includes errors of the model.
        """
        kinds = {'noise': (_NORMAL, self.standard_deviation)}
        if self.between is not None:
            kinds['between_recordings'] = self.between.quantile, self.between.standard_deviation
        return {
            kind: {
                name: float(quantile * deviation)
                for name, deviation in zip(self.parameters.names, deviations, strict=True)
                if 0.0 < deviation < np.inf}
            for kind, (quantile, deviations) in kinds.items()}

    def base_standard_deviation(self) -> np.ndarray:
        """Standard deviations of the base parameters, shape ``(r,)``."""
        return np.sqrt(np.diag(self.base_covariance))

    def base_parameters_known(self, part: float) -> int:
        r"""Number of base parameters whose relative standard deviation is small.

        Of :math:`\sigma_k / |\beta_k|` up to 10 % a base parameter is called well identified, and
        from 30 % on poorly; one whose value is next to zero never is, however sure that is.

        Args:
            part: Largest relative standard deviation.

        References:
            Khalil and Dombre 2002, section 12.4.
        """
        return int(np.sum(self.base_standard_deviation() <= part * np.abs(self.base_values)))

    def to_json(self) -> str:
        """The estimate as JSON text, infinities written as null."""
        statistics = vars(self.residuals)
        residuals: dict[str, Any] = {
            name: finite_or_null(np.atleast_1d(value)) for name, value in statistics.items()
        }
        # One number; it is not finite where no torque was measured at all.
        residuals['relative_error'] = residuals['relative_error'][0]
        return json.dumps({
            'format': FORMAT,
            'estimator': self.estimator,
            'settings': dict(self.settings),
            'status': self.status.name,
            'message': self.status.value,
            'parameters': self.parameters.to_json(),
            'standard_deviation': finite_or_null(self.standard_deviation),
            'knowledge': [entry.name for entry in self.knowledge],
            'base_names': list(self.base_names),
            'base_values': self.base_values.tolist(),
            'base_covariance': [finite_or_null(row) for row in self.base_covariance],
            'unidentified': list(self.unidentified),
            'margins': dict(self.margins),
            'residuals': residuals,
            'iterations': self.iterations,
            'notes': list(self.notes),
            'provenance': dict(self.provenance),
            'identifiability': self.identifiability and self.identifiability.to_json(),
            'between_recordings': self.between and self.between.to_json(),
            'outliers': {joint: list(rows) for joint, rows in self.outliers.items()},
        }, indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Estimate:
        """The inverse of :meth:`to_json`.

        Raises:
            EstimationError: The text is not an estimate of this format.
        """
        try:
            data = json.loads(text, parse_constant=_refuse_constant)
            if data['format'] != FORMAT:
                raise EstimationError(
                    'the estimate has another format', found=data['format'], allowed=FORMAT,
                    fix='Fit the recording again with this version')
            residuals: dict[str, Any] = {
                name: np.array(value, dtype=float) for name, value in data['residuals'].items()
            }
            residuals['relative_error'] = float(residuals['relative_error'])
            advice, between = data.get('identifiability'), data.get('between_recordings')
            estimate = cls(
                estimator=data['estimator'],
                settings=data['settings'],
                status=Status[data['status']],
                parameters=ParameterSet.from_json(data['parameters']),
                standard_deviation=null_as_infinite(data['standard_deviation']),
                knowledge=tuple(Knowledge[name] for name in data['knowledge']),
                base_names=tuple(data['base_names']),
                base_values=np.array(data['base_values'], dtype=float),
                base_covariance=_table(data['base_covariance']),
                unidentified=tuple(data['unidentified']),
                margins=data['margins'],
                residuals=ResidualStatistics(**residuals),
                iterations=data['iterations'],
                notes=tuple(data['notes']),
                provenance=data['provenance'],
                identifiability=advice and Identifiability.from_json(advice),
                between=between and BetweenRecordings.from_json(between),
                outliers={
                    joint: [(int(start), int(stop)) for start, stop in rows]
                    for joint, rows in data.get('outliers', {}).items()},
            )
            _require_whole(estimate)
        except (
            AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError,
        ) as error:
            raise EstimationError(
                f'cannot be read as an estimate: {error!r}',
                fix='Name the estimate.json of a run, or fit the recording again') from error
        return estimate

    @classmethod
    def load(cls, path: str | Path) -> Estimate:
        """Read an ``estimate.json``.

        Raises:
            EstimationError: The file cannot be read or is not an estimate.
        """
        try:
            text = Path(path).read_text(encoding='utf-8')
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable(EstimationError, path, error) from error
        try:
            return cls.from_json(text)
        except SysidError as error:
            raise EstimationError(
                error.problem, where=str(path), found=error.found, allowed=error.allowed,
                fix='Fit again') from error


def _refuse_constant(name: str) -> float:
    raise ValueError(f'{name} is no number')


def _require_whole(estimate: Estimate) -> None:
    """Refuse what no fit has written: vectors of other lengths, or no covariance.

    Raises:
        TypeError: A part is of another kind.
        ValueError: A part does not fit the others.
    """
    for part in (estimate.settings, estimate.provenance, estimate.margins):
        if not isinstance(part, Mapping):
            raise TypeError(f'{type(part).__name__} instead of values by name')
    names = (*estimate.parameters.names, *estimate.base_names, *estimate.notes)
    if not all(isinstance(name, str) for name in names):
        raise TypeError('a name or a note is no text')
    count, base = len(estimate.parameters), len(estimate.base_names)
    covariance = estimate.base_covariance
    for name, found, allowed in (
        ('standard_deviation', estimate.standard_deviation.shape, (count,)),
        ('knowledge', (len(estimate.knowledge),), (count,)),
        ('base_values', estimate.base_values.shape, (base,)),
        ('base_covariance', covariance.shape, (base, base)),
    ):
        if found != allowed:
            raise ValueError(f'{name} has the shape {found} instead of {allowed}')
    known = np.isfinite(np.diag(covariance))
    finite = covariance[np.ix_(known, known)]
    if not np.isfinite(finite).all() or (np.diag(finite) < 0.0).any():
        raise ValueError('base_covariance is no covariance')


def _table(rows: list[list[float | None]]) -> np.ndarray:
    return np.array([null_as_infinite(row) for row in rows]) if rows else np.zeros((0, 0))


def _hashes(sha256: str) -> set[str]:
    return {one for one in sha256.split(', ') if one}
