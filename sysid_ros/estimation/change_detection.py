r"""Whether a robot still has the parameters that were committed, and what changed if not.

Torques that the committed parameters leave over are tested against hypotheses: a load on the last
link (its mass and first moment), friction of one joint, or anything else. Under a hypothesis with
regressor columns :math:`\Gamma_c` the residual is

.. math:: \tau - \Gamma\theta_0 = \Gamma_c\,\delta + \Gamma_b\,\epsilon + \eta,

with the error :math:`\epsilon` of the committed base parameters, of which their information tells
the size, and noise :math:`\eta`. The generalised likelihood ratio of :math:`\delta = 0` is, with
what :math:`\epsilon` explains taken out, chi-squared (Basseville and Nikiforov 1993, section 7.2.4;
unknown onset: Willsky and Jones 1976). Samples are summed in blocks; after each block
all hypotheses are tested on the last blocks, of several lengths, so that old samples do not blur a
new change. The threshold bounds the rate of false alarms by the sum over all tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from pydantic import Field
from scipy.stats import chi2

from sysid_ros.dynamics.base_parameters import BaseParameters, base_parameters
from sysid_ros.dynamics.torque_model import TorqueModel
from sysid_ros.errors import EstimationError
from sysid_ros.estimation.payload import last_body
from sysid_ros.robot.inertia import log_det_divergence
from sysid_ros.settings import StrictSettings

# Mass and first moments of a body come first among its parameters.
_STATIC = 4
# Loads before they are seen are as large as the last link, give or take ten times that.
_LOAD = 10.0
# Probability that a change of one kind is not named so because of noise.
_MISNAMED = 1e-3
# A mass counts as changed beyond this many standard deviations.
_SIGNIFICANT = 3.0
_FRICTION = ('viscous_friction', 'coulomb_friction', 'torque_offset')


class ChangeSettings(StrictSettings):
    """How changes are looked for.

    Attributes:
        false_alarms_per_hour: Bound of the rate of false alarms, for white Gaussian noise of the
            size that is given.
        block: Time between tests in [s].
        windows: Lengths of the stretches that are tested, in blocks.
    """

    false_alarms_per_hour: float = Field(default=0.05, gt=0.0)
    block: float = Field(default=0.1, gt=0.0)
    windows: tuple[int, ...] = (1, 2, 4, 7, 12, 20)


@dataclass(frozen=True, eq=False)
class Change:
    """A change that was found.

    Attributes:
        kind: ``'payload'``, ``'friction'`` or ``'parameters'``.
        where: The body or joint; empty for parameters at large.
        sample: Samples seen when it was found.
        since: Samples seen before the stretch that shows it best.
        statistic: The likelihood ratio of that stretch.
        threshold: What it had to exceed.
        names: Parameters that changed.
        values: By how much, shape ``(k,)``.
        deviations: Their standard deviations, shape ``(k,)``.
    """

    kind: str
    where: str
    sample: int
    since: int
    statistic: float
    threshold: float
    names: tuple[str, ...]
    values: np.ndarray
    deviations: np.ndarray

    @property
    def words(self) -> str:
        """What changed, for people."""
        size = ', '.join(
            f'{name} {value:+.3g} ± {deviation:.2g}'
            for name, value, deviation in zip(
                self.names[:_STATIC], self.values, self.deviations, strict=False))
        if self.kind == 'payload':
            return f'The load on {self.where} changed: {size}.'
        if self.kind == 'friction':
            return f'Friction of {self.where} changed: {size}.'
        return 'The robot no longer has the committed parameters; no single load or joint tells why.'


@dataclass(frozen=True, eq=False)
class _Hypothesis:
    kind: str
    where: str
    columns: np.ndarray
    tested: np.ndarray
    threshold: float


@dataclass(frozen=True, eq=False)
class _Stretch:
    """Sums over blocks with what the error of the committed parameters explains taken out."""

    information: np.ndarray
    score: np.ndarray

    def statistic(self, columns: np.ndarray) -> float:
        """Twice the likelihood ratio of a change of some parameters."""
        matrix, score = self.information[np.ix_(columns, columns)], self.score[columns]
        scale = np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
        known = values > 1e-9 * len(values)
        return float(np.sum((vectors.T @ (score / scale))[known] ** 2 / values[known]))


class ChangeDetector:
    """Compares samples with committed parameters.

    Args:
        model: Torque model, linear in its parameters.
        committed: Values of its parameters, shape ``(p,)``.
        noise: Torque noise per joint in [N·m] or [N], shape ``(n,)``. Where neighbouring
            residuals resemble each other: of as many independent samples.
        rate: Samples per second in [Hz].
        base_information: Inverse covariance of the committed base parameters, shape ``(r, r)``;
            without it they count as exact.
        settings: How changes are looked for.
        link: A link that carries loads; by default the end of the chain.

    Raises:
        ConfigurationError: The robot has several ends, and no link is given.
        EstimationError: The noise or the information has the wrong shape.
    """

    def __init__(
        self, model: TorqueModel, committed: np.ndarray, noise: np.ndarray, rate: float, *,
        base_information: np.ndarray | None = None, settings: ChangeSettings | None = None,
        link: str | None = None,
    ) -> None:
        self.settings = settings or ChangeSettings()
        self.model, self.committed = model, np.array(committed, dtype=float)
        self.weights = np.asarray(noise, dtype=float) ** -2.0
        self.base: BaseParameters = base_parameters(model)
        self.base_information = base_information
        rank, joints = self.base.rank, len(model.robot.joint_names)
        if self.weights.shape != (joints,) or (
                base_information is not None and base_information.shape != (rank, rank)):
            raise EstimationError(
                'noise or information do not belong to the model', found=self.weights.shape,
                allowed=f'({joints},) and ({rank}, {rank})')
        self.body = last_body(model.robot, link)
        self._hypotheses = self._make_hypotheses()
        self._length = max(round(self.settings.block * rate), 1)
        count, blocks = len(self.committed), max(self.settings.windows)
        self._information = np.zeros((blocks, count, count))
        self._score = np.zeros((blocks, count))
        self._filled, self.samples = 0, 0
        self._pending: list[np.ndarray] = []

    def _make_hypotheses(self) -> tuple[_Hypothesis, ...]:
        parameters = self.model.parameters
        block = np.arange(*parameters.body_slice(self.body).indices(len(parameters)))
        chosen = [('payload', self.body, block, block[:_STATIC])]
        for joint in self.model.robot.joint_names:
            names = [f'{joint}.{field}' for field in _FRICTION]
            columns = np.array([parameters.index(n) for n in names if n in parameters], dtype=int)
            if len(columns):
                chosen.append(('friction', joint, columns, columns))
        own = self.base.independent
        chosen.append(('parameters', '', own, own))
        tests = 3600.0 / self.settings.block * len(self.settings.windows) * len(chosen)
        probability = min(self.settings.false_alarms_per_hour / tests, 0.5)
        return tuple(
            _Hypothesis(kind, where, columns, tested, float(chi2.isf(probability, len(tested))))
            for kind, where, columns, tested in chosen
        )

    def step(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray
    ) -> Change | None:
        """Take in one sample, shape ``(n,)`` each; see :meth:`extend`."""
        found = self.extend(*(np.asarray(x)[None] for x in (q, v, a, tau)))
        return found[-1] if found else None

    def extend(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray
    ) -> list[Change]:
        """Take in samples.

        Args:
            q: Joint positions in [rad] or [m], shape ``(T, n)``.
            v: Joint velocities, shape ``(T, n)``.
            a: Joint accelerations, shape ``(T, n)``.
            tau: Joint torques in [N·m] or [N], shape ``(T, n)``.

        Returns:
            What was found, at most one change for each block that they complete. Samples that
            are not finite are left out.
        """
        samples, found = np.stack([q, v, a, tau], axis=1), []
        while len(samples):
            room = self._length - self._filled
            part, samples = samples[:room], samples[room:]
            self._pending.append(part)
            self._filled += len(part)
            self.samples += len(part)
            if self._filled == self._length:
                self._close_block()
                change = self._tested()
                found += [] if change is None else [change]
        return found

    def forget(self) -> None:
        """Forget all samples so far, after a commit for example."""
        self._information[:], self._score[:] = 0.0, 0.0
        self._filled, self._pending = 0, []

    def _close_block(self) -> None:
        block = np.concatenate(self._pending)
        self._pending, self._filled = [], 0
        block = block[np.isfinite(block).all(axis=(1, 2))]
        q, v, a, tau = (np.ascontiguousarray(block[:, k]) for k in range(4))
        rows = self.model.regressor(q, v, a)
        residual = tau - rows @ self.committed
        flat = (rows * np.sqrt(self.weights)[:, None]).reshape(-1, rows.shape[2])
        self._information[1:] = self._information[:-1].copy()
        self._score[1:] = self._score[:-1].copy()
        self._information[0] = flat.T @ flat
        self._score[0] = flat.T @ (residual * np.sqrt(self.weights)).ravel()

    def _stretch(self, blocks: int) -> _Stretch:
        information = self._information[:blocks].sum(axis=0)
        score = self._score[:blocks].sum(axis=0)
        if self.base_information is None:
            return _Stretch(information, score)
        own = self.base.independent
        cross = information[:, own]
        factor = scipy.linalg.cho_factor(information[np.ix_(own, own)] + self.base_information)
        return _Stretch(
            information - cross @ scipy.linalg.cho_solve(factor, cross.T),
            score - cross @ scipy.linalg.cho_solve(factor, score[own]))

    def _tested(self) -> Change | None:
        """The change that exceeds its threshold by most, if any does."""
        best: tuple[float, int, _Stretch, float] | None = None
        for blocks in self.settings.windows:
            if blocks * self._length > self.samples:
                break
            stretch = self._stretch(blocks)
            for hypothesis in self._hypotheses:
                statistic = stretch.statistic(hypothesis.tested)
                excess = statistic - hypothesis.threshold
                if excess > 0.0 and (best is None or excess > best[0]):
                    best = excess, blocks, stretch, statistic
        return None if best is None else self._named(best[1], best[2])

    def _named(self, blocks: int, stretch: _Stretch) -> Change:
        """The simplest hypothesis that leaves nothing but noise, or else the last."""
        everything = self._hypotheses[-1]
        whole = stretch.statistic(everything.tested)
        chosen, most = everything, whole
        ranked: Sequence[tuple[float, _Hypothesis]] = sorted(
            ((stretch.statistic(h.columns), h) for h in self._hypotheses[:-1]),
            key=lambda pair: -pair[0])
        for statistic, hypothesis in ranked[:1]:
            freedom = max(len(everything.tested) - len(hypothesis.columns), 1)
            enough = whole - statistic <= chi2.isf(_MISNAMED, freedom)
            values, deviations = self._values(stretch, hypothesis)
            real = hypothesis.kind != 'payload' or abs(values[0]) > _SIGNIFICANT * deviations[0]
            if enough and real:
                chosen, most = hypothesis, statistic
        values, deviations = self._values(stretch, chosen)
        names = tuple(self.model.parameters.names[k] for k in chosen.columns)
        return Change(
            chosen.kind, chosen.where, self.samples, self.samples - blocks * self._length, most,
            chosen.threshold, names, values, deviations)

    def _values(
        self, stretch: _Stretch, hypothesis: _Hypothesis
    ) -> tuple[np.ndarray, np.ndarray]:
        """The change under a hypothesis, and its deviations, shape ``(k,)`` each."""
        columns = hypothesis.columns
        matrix = stretch.information[np.ix_(columns, columns)]
        if hypothesis.kind == 'payload':
            prior = self.model.parameters.prior[columns]
            matrix = matrix + log_det_divergence(prior, prior)[2] / _LOAD**2
        scale = np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
        inverse = np.linalg.pinv(matrix / np.outer(scale, scale), hermitian=True)
        values = inverse @ (stretch.score[columns] / scale) / scale
        return values, np.sqrt(np.maximum(np.diag(inverse), 0.0)) / scale
