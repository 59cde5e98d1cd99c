r"""Decides after each recording: enough is known, which motion comes next, or why none helps.

With the information F of the recordings so far the covariance of the base parameters is
:math:`C = F^{-1}`. The relative torque error to expect on other motion with rows :math:`Y_b` is

.. math:: \sqrt{\operatorname{tr}(Y_b C Y_b^T)} \,/\, \|Y\theta\|,

for random motions within the limits. k repetitions of a motion with information
:math:`F_m` give :math:`F + k F_m`: where all that are left do not suffice, the best one that
the limits allow is not worth playing, and what stands in the way is named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np
import scipy.linalg

from sysid_ros.errors import ConfigurationError
from sysid_ros.excitation.design.design import Designer, Progress
from sysid_ros.excitation.design.information import Information
from sysid_ros.excitation.excitation import Excitation

# Random motions within the limits on which torques are to be predicted.
_TRIALS = 3
# Repetitions beyond which a motion does not show a parameter at all.
_MOST_REPETITIONS = 4096
# A limit of which a motion uses this part stands in its way.
_BINDING = 0.9
# Parameters and limits that are named.
_NAMED = 5
# Torques below this are none, in [N·m] or [N].
_TINY = 1e-300
# An error of prediction beyond so many times what the covariance says is one of the model.
_UNEXPLAINED = 3.0


@dataclass(frozen=True)
class WantedAccuracy:
    """What is known well enough; every figure that is given must be reached.

    Attributes:
        torque: Relative torque error on random motion within the limits, noise left out.
        base: Relative deviation of the base parameters, each in the torque that it takes on
            such motion; unlike a torque, it counts what their errors would cancel. None: not
            asked for.
    """

    torque: float | None = 0.01
    base: float | None = None

    def __post_init__(self) -> None:
        given = [value for value in (self.torque, self.base) if value is not None]
        if not given or not all(0.0 < value < np.inf for value in given):
            raise ConfigurationError(
                'the wanted accuracy cannot be used', found=f'torque {self.torque}, base '
                f'{self.base}', allowed='numbers above 0, at least one of them',
                fix='torque: 0.01')


@dataclass(frozen=True, eq=False)
class Accuracy:
    """How well a robot is known.

    Attributes:
        torque: Relative torque error to expect on random motion within the limits.
        base: Relative deviation of the base parameters, each in the torque that it takes.
        shares: Relative torque error that each of the r base parameters alone brings.
    """

    torque: float
    base: float
    shares: np.ndarray

    def reaches(self, wanted: WantedAccuracy) -> bool:
        """Whether every figure that is wanted is reached."""
        return (wanted.torque is None or self.torque <= wanted.torque) and (
            wanted.base is None or self.base <= wanted.base)

    def __str__(self) -> str:
        return f'torque error {_percent(self.torque)}, base parameters {_percent(self.base)}'


class Outcome(Enum):
    """What a campaign does next; the value is the sentence for people."""

    REACHED = 'The wanted accuracy is reached.'
    PLAY = 'Play and record the next motion.'
    OUT_OF_REACH = 'More motion does not reach the wanted accuracy.'
    WRONG_MODEL = 'Torques differ from the model, whatever its parameters.'


@dataclass(frozen=True, eq=False)
class Evidence:
    """What recordings tell so far.

    Attributes:
        information: Information on all p parameters, the weighted normal matrix of the rows,
            shape ``(p, p)``.
        values: The estimate, or the prior before there is one, shape ``(p,)``.
        noise: Torque noise of a row of the design in [N·m] or [N], shape ``(n,)``; None where
            nothing was measured yet.
        motions: Motions that were played.
        unexplained: Relative torque error of the last recording that is not noise, as the
            estimate before it predicted it.
        explained: What the covariance of that estimate lets expect of it.
    """

    information: np.ndarray
    values: np.ndarray
    noise: np.ndarray | None = None
    motions: int = 0
    unexplained: float = 0.0
    explained: float = 0.0


@dataclass(frozen=True, eq=False)
class Decision:
    """What to do, and why.

    Attributes:
        outcome: What comes next.
        reached: Accuracy of what is known.
        motion: The motion to play; None unless there is one.
        expected: Accuracy after it.
        limiting: Parameters that torques are least known by, worst first; none where enough is.
        reason: Sentences for people.
    """

    outcome: Outcome
    reached: Accuracy
    motion: Excitation | None = None
    expected: Accuracy | None = None
    limiting: tuple[str, ...] = ()
    reason: str = ''

    def __str__(self) -> str:
        return f'{self.outcome.value} {self.reason}'.rstrip()


@dataclass(frozen=True, eq=False)
class CampaignPlanner:
    """Decides by what is known of a robot which motion comes next, if any.

    Attributes:
        designer: The search for motions, without what recordings tell.
        wanted: Accuracy at which the campaign ends.
        most_motions: Most motions that are played.
    """

    designer: Designer
    wanted: WantedAccuracy = WantedAccuracy()
    most_motions: int = 6

    def __post_init__(self) -> None:
        if self.most_motions != int(self.most_motions) or self.most_motions < 1:
            raise ConfigurationError(
                'cannot be used', where='most_motions', found=self.most_motions,
                allowed='a whole number, 1 or more',
                fix='Set most_motions: 6')

    def decide(self, evidence: Evidence, progress: Progress | None = None) -> Decision:
        """The next motion, or why there is none.

        Args:
            evidence: What recordings tell so far.
            progress: Is told of every beginning of the search for a motion.

        Raises:
            ExcitationError: No motion is allowed at all.
        """
        designer = self.informed(evidence)
        information = designer.information
        reached = self.accuracy(information, information.known, evidence.values)
        if self.wanted.torque is not None and evidence.unexplained > max(
                self.wanted.torque, _UNEXPLAINED * evidence.explained):
            return Decision(Outcome.WRONG_MODEL, reached, reason=_wrong_model(evidence))
        if reached.reaches(self.wanted):
            return Decision(Outcome.REACHED, reached, reason=f'Now: {reached}.')
        left = self.most_motions - evidence.motions
        motion = designer.design(progress)
        gain = designer.after(motion).information.known - information.known
        needed = self._repetitions(information, gain, evidence.values)
        names = self._limiting(information, reached)
        # Before anything was measured the noise is a guess.
        if evidence.motions > 0 and (needed is None or needed > left):
            return Decision(
                Outcome.OUT_OF_REACH, reached, limiting=names,
                reason=self._out_of_reach(designer, motion, needed, left, reached, names))
        expected = self.accuracy(information, information.known + gain, evidence.values)
        return Decision(
            Outcome.PLAY, reached, motion, expected, names,
            f'Now: {reached}; expected after it: {expected}.')

    def informed(self, evidence: Evidence) -> Designer:
        """The search for a motion that shows what recordings do not."""
        information = self.designer.information
        own = information.base.independent
        known = information.known + evidence.information[np.ix_(own, own)]
        noise = information.noise if evidence.noise is None else evidence.noise
        return replace(self.designer, information=replace(information, known=known, noise=noise))

    def accuracy(
        self, information: Information, total: np.ndarray, values: np.ndarray
    ) -> Accuracy:
        """How well a robot is known.

        Args:
            information: What rows tell.
            total: Information of all that is known, shape ``(r, r)``.
            values: Parameters that torques are relative to, shape ``(p,)``.
        """
        rows = self._trial_rows
        base = rows[:, information.base.independent]
        torque = float(np.linalg.norm(rows @ values))
        columns = np.linalg.norm(base, axis=0)
        own = float(np.linalg.norm(columns * information.base.values(values)))
        covariance = scipy.linalg.cho_solve(
            scipy.linalg.cho_factor(total, lower=True), np.eye(len(total)))
        shares = columns * np.sqrt(np.diag(covariance))
        return Accuracy(
            _relative(float(np.sqrt(np.sum((base @ covariance) * base))), torque),
            _relative(float(np.linalg.norm(shares)), own), shares / max(torque, _TINY))

    @cached_property
    def _trial_rows(self) -> np.ndarray:
        """Regressor of random motions within the limits, shape ``(T n, p)``."""
        designer, rest = self.designer, self.designer.rest()
        objective = designer.objective(
            int(designer.settings.samples_per_period * designer.basis.duration
                * designer.basis.highest_frequency) + 1)
        rows = [
            objective.motion(designer.random_motion(rest, seed))[1] for seed in range(_TRIALS)]
        return np.concatenate(rows).reshape(-1, rows[0].shape[-1])

    def _repetitions(
        self, information: Information, gain: np.ndarray, values: np.ndarray
    ) -> int | None:
        """How often a motion must be played to reach what is wanted; None where it never does."""
        def enough(count: int) -> bool:
            total = information.known + count * gain
            return self.accuracy(information, total, values).reaches(self.wanted)

        high = 1
        while not enough(high):
            if high >= _MOST_REPETITIONS:
                return None
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    @staticmethod
    def _limiting(information: Information, reached: Accuracy) -> tuple[str, ...]:
        """Parameters that torques are least known by, worst first."""
        names = information.model.parameters.names
        return tuple(
            names[information.base.independent[k]] for k in np.argsort(-reached.shares)[:_NAMED])

    def _out_of_reach(
        self, designer: Designer, motion: Excitation, needed: int | None, left: int,
        reached: Accuracy, names: tuple[str, ...],
    ) -> str:
        said = [f'Now: {reached}.']
        if needed is None:
            said.append(
                f'Not even {_MOST_REPETITIONS} motions such as the best one that the limits allow '
                'would do.')
        else:
            said.append(
                f'About {needed} motions such as the best one that the limits allow would be '
                f'needed; {max(left, 0)} of {self.most_motions} are left.')
        said.append(f'Least known, with what they are combined with: {", ".join(names)}.')
        helps = []
        if needed is not None and left > 0:
            helps.append(f'torques with {np.sqrt(needed / left):.2g} times less noise')
        binding = _binding(designer, motion)
        if binding:
            helps.append(f'more room at {", ".join(binding)}')
        helps.append(f'longer motions (motion: {{duration: {2.0 * motion.basis.duration:g}}})')
        fixed = ', '.join(names)
        helps.append(f'or values from a data sheet that are held (fixed: [{fixed}])')
        said.append(f'What helps: {"; ".join(helps)}.')
        return ' '.join(said)


def _wrong_model(evidence: Evidence) -> str:
    return (
        f'Of the torques of the last recording {_percent(evidence.unexplained)} are neither the '
        f"model's nor noise, where {_percent(evidence.explained)} were to be expected. More motion "
        'fits the same model again; what helps is another one: compare joint terms (sysid fit '
        'chooses them by the data), check torque scales, delays and loads (sysid check).')


def _binding(designer: Designer, motion: Excitation) -> tuple[str, ...]:
    """Limits that a motion uses nearly all of, most used first."""
    used = designer.verify(designer.dense(motion)).used
    names = designer.limits.joint_names
    shares = {
        f'{quantity} of {name}': share[k]
        for quantity, share in used.items() for k, name in enumerate(names)
        if share[k] >= _BINDING}
    return tuple(sorted(shares, key=lambda limit: -shares[limit])[:_NAMED])


def _relative(error: float, size: float) -> float:
    return error / size if size > 0.0 else np.inf


def _percent(value: float) -> str:
    return f'{100.0 * value:.2g} %' if value < 10.0 else f'{value:.2g} times'
