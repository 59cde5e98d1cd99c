"""What data leaves open, told apart: what no motion shows, and which motion would show the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sysid_ros.errors import listed

# So many motions, those that help most parameters, are written out, with so many names each.
_MOTIONS, _NAMED = 4, 6


@dataclass(frozen=True)
class WeakParameter:
    """A base parameter that the data says little of.

    Attributes:
        name: The parameter that stands first in the combination.
        left: What the data leaves of one step of the prior, a ratio from 0 to 1; a step is a
            change of 100 % for a body, for a joint term the size that explains all torque.
        motion: The simplest motion that would leave a quarter of it or less, or else the one
            that leaves least; none when no candidate helps.
        then: What would be left after that motion.
    """

    name: str
    left: float
    motion: str | None
    then: float


@dataclass(frozen=True)
class Identifiability:
    """Why parameters are not known, and what would help.

    Attributes:
        without_effect: Free parameters that act on no torque, whatever the motion.
        inseparable: Free parameters that act on torques only in combination with others,
            whatever the motion.
        weak: Base parameters that a motion could show, but this one hardly did.
        duration: Length of each motion that was tried in [s].
    """

    without_effect: tuple[str, ...] = ()
    inseparable: tuple[str, ...] = ()
    weak: tuple[WeakParameter, ...] = ()
    duration: float = 0.0

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of it in words; nothing where everything is known."""
        return (*self._structure(), *self._advice())

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Identifiability:
        """The inverse of :meth:`to_json`.

        Raises:
            KeyError: An entry is missing.
            TypeError: An entry is of another kind.
        """
        return cls(
            tuple(data['without_effect']), tuple(data['inseparable']),
            tuple(WeakParameter(**entry) for entry in data['weak']), float(data['duration']),
        )

    def _structure(self) -> list[str]:
        sentences = []
        if self.without_effect:
            sentences.append(
                f'No motion can tell {listed(self.without_effect, _NAMED)}: they act on no joint '
                'torque. Their values come from the prior.'
            )
        if self.inseparable:
            sentences.append(
                f'No motion can tell apart {listed(self.inseparable, _NAMED)}: torques show them '
                'in combinations only. How each is shared out comes from the prior.'
            )
        return sentences

    def _advice(self) -> list[str]:
        groups: dict[str | None, list[WeakParameter]] = {}
        for entry in self.weak:
            groups.setdefault(entry.motion, []).append(entry)
        beyond = groups.pop(None, [])
        # The motion that helps most parameters comes first.
        helpful = sorted(groups.items(), key=lambda group: -len(group[1]))
        sentences = [self._sentence(motion, group) for motion, group in helpful[:_MOTIONS]]
        rest = [entry.name for _, group in helpful[_MOTIONS:] for entry in group]
        if rest:
            sentences.append(
                f'This data hardly shows {listed(rest, _NAMED)} either; the estimate names a '
                'motion for each of them.'
            )
        return [*sentences, *([self._sentence(None, beyond)] if beyond else [])]

    def _sentence(self, motion: str | None, group: Sequence[WeakParameter]) -> str:
        names = listed([entry.name for entry in group], _NAMED)
        before = max(entry.left for entry in group)
        shown = (
            f'This data hardly shows {names}: it leaves up to {100 * before:.0f} % of what the '
            'prior left open'
        )
        if motion is None:
            return (
                f'{shown}. None of the motions tried would tell much more: record longer, or '
                'lower the noise of the torques.'
            )
        after = max(entry.then for entry in group)
        return (
            f'{shown}. {self.duration:.0f} s more with {motion} would leave '
            f'{_percent(after)} of it.'
        )


def _percent(value: float) -> str:
    return f'{100.0 * value:.0f} %' if value >= 0.01 else 'less than 1 %'
