"""What is said of recorded efforts: what looks alike, at joints or in recordings, is said once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_ros.recording.checks.effort_finding import TOGETHER, EffortFinding, EffortKind, advice


@dataclass(frozen=True)
class EffortStatement:
    """One statement on the efforts of joints that look alike.

    Attributes:
        joints: The joints, or 'all joints'.
        kind: What their efforts look like.
        scales: Recorded effort per torque of each.
        next_step: What to change, with the line of settings; empty where nothing is known.
        recordings: Recordings that show it; empty where there is but one.
    """

    joints: tuple[str, ...]
    kind: EffortKind
    scales: tuple[float, ...]
    next_step: str
    recordings: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The statement with numbers and what to do, for one recording."""
        text = f'{", ".join(self.joints)}: the effort looks like {self.kind.value}'
        if np.isfinite(self.scales).all() and self.kind.scaled:
            text += f': {", ".join(f"{scale:.2g}" for scale in self.scales)} of the predicted'
        return f'{text}. {self.next_step}' if self.next_step else text


def effort_statements(findings: Sequence[EffortFinding]) -> tuple[EffortStatement, ...]:
    """Statements on efforts that are no torques of their joints.

    Args:
        findings: Findings on one recording, or on several that are named in them.
    """
    said: dict[tuple[EffortKind, tuple[str, ...]], list[EffortStatement]] = {}
    for name in dict.fromkeys(one.recording for one in findings):
        for statement in _of_recording([one for one in findings if one.recording == name]):
            said.setdefault((statement.kind, statement.joints), []).append(statement)
    return tuple(
        replace(
            alike[0], recordings=tuple(name for one in alike for name in one.recordings),
            scales=tuple(np.median([one.scales for one in alike], axis=0).tolist()))
        for alike in said.values())


def _of_recording(findings: Sequence[EffortFinding]) -> Iterator[EffortStatement]:
    """Statements on one recording, one for each kind of effort."""
    every = [one for one in findings if one.joint == TOGETHER and not one.kind.usable]
    single = [
        one for one in findings if one.joint != TOGETHER and not one.kind.usable
        and not (one.kind is EffortKind.SCALED and any(
            other.kind is EffortKind.SCALED for other in every))]
    names = tuple(dict.fromkeys(one.joint for one in findings if one.joint != TOGETHER))
    for kind in dict.fromkeys(one.kind for one in single):
        yield _together([one for one in single if one.kind is kind], names)
    for one in every:
        yield _together([one], names)


def _together(alike: Sequence[EffortFinding], joints: Sequence[str]) -> EffortStatement:
    """One statement on joints whose efforts are of one kind."""
    first = alike[0]
    scales = {one.joint: one.scale for one in alike}
    return EffortStatement(
        tuple(scales), first.kind, tuple(scales.values()),
        first.suggestion if len(alike) == 1 else advice(first.kind, scales, joints),
        (first.recording,) if first.recording else ())
