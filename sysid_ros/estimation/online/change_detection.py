r"""Whether a robot still has the parameters that were committed, and what changed if not.

Torques that the committed parameters leave over are tested against hypotheses: a load on the last
link (its mass and first moment), friction of one joint, or anything else. Under a hypothesis with
regressor columns :math:`\Gamma_c` the residual is

.. math:: \tau - \Gamma\theta_0 = \Gamma_c\,\delta + \Gamma_b\,\epsilon + \eta,

with the error :math:`\epsilon` of the committed base parameters, of which their information tells
the size, and noise :math:`\eta`. The generalised likelihood ratio of :math:`\delta = 0` is, with
what :math:`\epsilon` explains taken out, chi-squared (Basseville and Nikiforov 1993, section 7.2.4;
unknown onset: Willsky and Jones 1976). Samples are summed in blocks; all hypotheses are tested on
the last blocks, in segments of several lengths, so that old samples do not blur a new change.
The threshold bounds the rate of false alarms by the sum over all tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from pydantic import Field
from scipy.special import chdtri

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.online.change import STATIC, Change
from sysid_ros.mechanics.base_parameters import BaseParameters, base_parameters
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.inertia import log_det_divergence
from sysid_ros.robot.load_carriers import last_body
from sysid_ros.settings import StrictSettings

# Loads before they are seen are as large as the last link, give or take ten times that.
_LOAD = 10.0
# Probability that a change of one kind is not named so because of noise.
_MISNAMED = 1e-3
# A mass counts as changed beyond this many standard deviations.
_SIGNIFICANT = 3.0
# Combinations that a segment shows less than this part of one of its parameters are rounding.
_RELATIVE_RIDGE = 1e-5
_FRICTION = ('viscous_friction', 'coulomb_friction', 'torque_offset')


class ChangeSettings(StrictSettings):
    """How changes are looked for.

    Attributes:
        false_alarms_per_hour: Bound of the rate of false alarms, for white Gaussian noise of the
            size that is given.
        block: Time between tests in [s].
        windows: Lengths of the segments that are tested, in blocks; the first should be one.
    """

    false_alarms_per_hour: float = Field(default=0.05, gt=0.0)
    block: float = Field(default=0.1, gt=0.0)
    windows: tuple[int, ...] = (1, 2, 4, 7, 12, 20)


@dataclass(frozen=True, eq=False)
class _Hypothesis:
    """Parameters that may have changed together.

    Attributes:
        kind: As of a change.
        where: As of a change.
        columns: Their places among all parameters, shape ``(k,)``.
        directions: Base parameters by change of each, shape ``(r, k)``.
        tested: How many of them, from the first, are tested for.
        threshold: What the statistic has to exceed.
    """

    kind: str
    where: str
    columns: np.ndarray
    directions: np.ndarray
    tested: int
    threshold: float


@dataclass(frozen=True, eq=False)
class _Segment:
    """Sums over blocks, in base parameters, and what the committed ones are known by.

    ``score`` and ``variance`` are without what the error of the committed parameters explains.
    """

    blocks: int
    score: np.ndarray
    variance: np.ndarray
    whole: float

    @classmethod
    def of(
        cls, blocks: int, information: np.ndarray, score: np.ndarray, known: np.ndarray | None
    ) -> _Segment:
        """The segment of summed information ``(r, r)`` and score ``(r,)``."""
        size = np.diag(information)
        rounding = np.diag(_RELATIVE_RIDGE**2 * np.where(size > 0.0, size, 1.0))
        alone = scipy.linalg.cho_factor(information + rounding)
        whole = score @ scipy.linalg.cho_solve(alone, score)
        if known is None:
            return cls(blocks, score, information, float(whole))
        both = scipy.linalg.cho_factor(information + known + rounding)
        explained = scipy.linalg.cho_solve(both, np.column_stack([information, score]))
        return cls(
            blocks, score - information @ explained[:, -1],
            information - information @ explained[:, :-1],
            float(whole - score @ explained[:, -1]))

    def statistic(self, hypothesis: _Hypothesis, count: int) -> float:
        """Twice the likelihood ratio of a change of the first parameters of a hypothesis."""
        if hypothesis.kind == 'parameters':
            return self.whole
        along = hypothesis.directions[:, :count]
        matrix, score = along.T @ self.variance @ along, along.T @ self.score
        scale = np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
        matrix = matrix / np.outer(scale, scale) + _RELATIVE_RIDGE**2 * np.eye(count)
        return float((score / scale) @ np.linalg.solve(matrix, score / scale))


def base_information(estimate: Estimate) -> np.ndarray:
    """Inverse covariance of base parameters, zero where they are not known, shape ``(r, r)``.

    Args:
        estimate: An estimate.
    """
    known = np.isfinite(np.diag(estimate.base_covariance))
    information = np.zeros((len(known),) * 2)
    covariance = estimate.base_covariance[np.ix_(known, known)]
    scale = np.sqrt(np.diag(covariance))
    size = np.outer(scale, scale)
    information[np.ix_(known, known)] = np.linalg.inv(covariance / size) / size
    return information


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
        blocks = max(self.settings.windows)
        self._information = np.zeros((blocks, rank, rank))
        self._score = np.zeros((blocks, rank))
        self._block = np.zeros((rank, rank)), np.zeros(rank)
        self._filled, self.samples, self._blocks, self._alarmed = 0, 0, 0, 0

    def _make_hypotheses(self) -> tuple[_Hypothesis, ...]:
        parameters = self.model.parameters
        block = np.arange(*parameters.body_slice(self.body).indices(len(parameters)))
        chosen = [('payload', self.body, block, STATIC)]
        for joint in self.model.robot.joint_names:
            names = [f'{joint}.{field}' for field in _FRICTION]
            columns = np.array([parameters.index(n) for n in names if n in parameters], dtype=int)
            if len(columns):
                chosen.append(('friction', joint, columns, len(columns)))
        chosen.append(('parameters', '', self.base.independent, self.base.rank))
        per_block = sum(1.0 / blocks for blocks in self.settings.windows)
        tests = 3600.0 / self.settings.block * per_block * len(chosen)
        probability = min(self.settings.false_alarms_per_hour / tests, 0.5)
        return tuple(
            _Hypothesis(kind, where, columns, self.base.matrix[:, columns], tested,
                        float(chdtri(tested, probability)))
            for kind, where, columns, tested in chosen
        )

    def step(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray
    ) -> Change | None:
        """Update the statistics with one sample, shape ``(n,)`` each; see :meth:`extend`."""
        found = self.extend(*(np.asarray(x)[None] for x in (q, v, a, tau)))
        return found[-1] if found else None

    def extend(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray
    ) -> list[Change]:
        """Update the statistics with samples.

        Args:
            q: Joint positions in [rad] or [m], shape ``(T, n)``.
            v: Joint velocities, shape ``(T, n)``.
            a: Joint accelerations, shape ``(T, n)``.
            tau: Joint torques in [N·m] or [N], shape ``(T, n)``.

        Returns:
            What was found, at most one change for each block that they complete. Samples that
            are not finite are left out.
        """
        q, v, a, tau = (np.ascontiguousarray(x, dtype=float) for x in (q, v, a, tau))
        found, start = [], 0
        while start < len(tau):
            part = slice(start, start + self._length)
            found += self.extend_rows(self.model.regressor(q[part], v[part], a[part]), tau[part])
            start += self._length
        return found

    def extend_rows(
        self, rows: np.ndarray, tau: np.ndarray, usable: np.ndarray | None = None
    ) -> list[Change]:
        """Update the statistics with rows of the regressor; see :meth:`extend`.

        Args:
            rows: Shape ``(T, n, p)``.
            tau: Joint torques in [N·m] or [N], shape ``(T, n)``.
            usable: True where a row counts, shape ``(T, n)``; all by default.
        """
        usable = np.ones(tau.shape, dtype=bool) if usable is None else usable
        found, start = [], 0
        while start < len(tau):
            part = slice(start, start + self._length - self._filled)
            self._add(rows[part], tau[part], usable[part])
            taken = len(tau[part])
            start, self._filled = start + taken, self._filled + taken
            self.samples += taken
            if self._filled == self._length:
                self._close_block()
                change = self._tested()
                found += [] if change is None else [change]
        return found

    def forget(self) -> None:
        """Forget all samples so far, after a commit for example."""
        self._information[:], self._score[:] = 0.0, 0.0
        self._block[0][:], self._block[1][:] = 0.0, 0.0
        self._filled, self._blocks, self._alarmed = 0, 0, 0

    def _add(self, rows: np.ndarray, tau: np.ndarray, usable: np.ndarray) -> None:
        """Add the information and the score of some rows to the block."""
        finite = np.isfinite(rows).all(axis=(1, 2)) & np.isfinite(tau).all(axis=1)
        rows, tau = rows[finite], tau[finite]
        root = np.sqrt(self.weights) * usable[finite]
        residual = (tau - rows @ self.committed) * root
        flat = (rows[:, :, self.base.independent] * root[:, :, None]).reshape(-1, self.base.rank)
        information, score = self._block
        information += flat.T @ flat
        score += flat.T @ residual.ravel()

    def _close_block(self) -> None:
        place = self._blocks % len(self._score)
        for blocks, block in zip((self._information, self._score), self._block, strict=True):
            blocks[place] = block
            block[:] = 0.0
        self._filled = 0
        self._blocks += 1

    def _segment(self, blocks: int) -> _Segment:
        """The last blocks."""
        places = np.arange(self._blocks - blocks, self._blocks) % len(self._score)
        return _Segment.of(
            blocks, self._information[places].sum(axis=0), self._score[places].sum(axis=0),
            self.base_information)

    def _tested(self) -> Change | None:
        """The change that is seen, if any is."""
        # Longer segments overlap, and need no test after every block until there is an alarm.
        segments = [
            self._segment(blocks) for blocks in self.settings.windows
            if blocks <= self._blocks and (self._alarmed or self._blocks % blocks == 0)]
        alarm = any(
            segment.statistic(hypothesis, hypothesis.tested) > hypothesis.threshold
            for segment in segments for hypothesis in self._hypotheses)
        if not alarm:
            self._alarmed = 0
            return None
        # What came since the first alarm is surely after the change.
        since = min(self._alarmed, len(self._score))
        self._alarmed += 1
        longer = [self._segment(since)] if since else []
        return self._named([*longer, *segments[::-1]])

    def _named(self, segments: Sequence[_Segment]) -> Change:
        """The simplest change that leaves nothing but noise of a segment, the first that does."""
        everything = self._hypotheses[-1]
        for segment in segments:
            statistic, hypothesis = max(
                ((segment.statistic(h, len(h.columns)), h) for h in self._hypotheses[:-1]),
                key=lambda pair: pair[0])
            freedom = max(everything.tested - len(hypothesis.columns), 1)
            left = segment.whole - statistic
            if statistic > hypothesis.threshold and left <= chdtri(freedom, _MISNAMED):
                change = self._change(segment, hypothesis, statistic)
                sure = abs(change.values[0]) > _SIGNIFICANT * change.deviations[0]
                if sure or hypothesis.kind != 'payload':
                    return change
        most = max(segments, key=lambda segment: segment.whole)
        return self._change(most, everything, most.whole)

    def _change(
        self, segment: _Segment, hypothesis: _Hypothesis, statistic: float
    ) -> Change:
        values, deviations = self._values(segment, hypothesis)
        return Change(
            hypothesis.kind, hypothesis.where, self.samples,
            self.samples - segment.blocks * self._length, statistic, hypothesis.threshold,
            tuple(self.model.parameters.names[k] for k in hypothesis.columns), values, deviations)

    def _values(
        self, segment: _Segment, hypothesis: _Hypothesis
    ) -> tuple[np.ndarray, np.ndarray]:
        """The change under a hypothesis, and its deviations, shape ``(k,)`` each."""
        columns, along = hypothesis.columns, hypothesis.directions
        matrix, score = along.T @ segment.variance @ along, along.T @ segment.score
        if hypothesis.kind == 'payload':
            prior = self.model.parameters.prior[columns]
            matrix = matrix + log_det_divergence(prior, prior)[2] / _LOAD**2
        scale = np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
        matrix = matrix / np.outer(scale, scale) + _RELATIVE_RIDGE**2 * np.eye(len(columns))
        inverse = np.linalg.inv(matrix)
        return inverse @ (score / scale) / scale, np.sqrt(np.diag(inverse)) / scale
