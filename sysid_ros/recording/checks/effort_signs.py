"""Efforts of the wrong sign are refused before a fit, with the line of settings that turns them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sysid_ros.errors import RecordingError
from sysid_ros.recording.checks.effort_finding import TOGETHER, EffortFinding
from sysid_ros.recording.description import RecordingSettings, per_joint


class RecordedSigns(NamedTuple):
    """What tells the signs of the efforts of a recording.

    Attributes:
        findings: What the efforts look like.
        described: Description of the recording, whose signs are those to turn; by default all
            are +1, in the order of the findings.
        recording: What the recording is called, for the message.
    """

    findings: Sequence[EffortFinding]
    described: RecordingSettings | None = None
    recording: str = ''

    @property
    def wrong(self) -> tuple[EffortFinding, ...]:
        """Findings of a wrong sign."""
        return tuple(one for one in self.findings if one.wrong_sign)

    @property
    def right_line(self) -> str:
        """The line of settings with the signs that the findings make right."""
        names = tuple(dict.fromkeys(
            one.joint for one in self.findings if one.joint != TOGETHER))
        listed = self.described.joints if self.described is not None else ()
        effort = self.described.effort if self.described is not None else None
        order = listed or names
        before = per_joint(effort.sign, len(order)) if effort is not None else [1.0] * len(order)
        wrong = {one.joint for one in self.wrong}
        signs = [
            round(-sign if name in wrong or TOGETHER in wrong else sign)
            for name, sign in zip(order, before, strict=True)]
        if len(set(signs)) == 1:
            return f'recording: {{effort: {{sign: {signs[0]}}}}}'
        joints = '' if listed else f'joints: [{", ".join(order)}], '
        return f'recording: {{{joints}effort: {{sign: {signs}}}}}'


def require_right_signs(*recordings: RecordedSigns) -> None:
    """Refuse efforts of the wrong sign, of all recordings at once.

    Args:
        recordings: Findings on each recording.

    Raises:
        RecordingError: The joints by recording, and what to put into the settings of each.
    """
    wrong = [one for one in recordings if one.wrong]
    if not wrong:
        return
    joints = dict.fromkeys(finding.joint for one in wrong for finding in one.wrong)
    named = ', '.join(one.recording for one in wrong if one.recording)
    lines = {one.right_line for one in wrong}
    if len(lines) == 1:
        lines_to_set = lines.pop() + (' in the settings of each' if len(wrong) > 1 else '')
    else:
        lines_to_set = '; '.join(f'for {one.recording} {one.right_line}' for one in wrong)
    raise RecordingError(
        f'the effort of {", ".join(joints)} has the wrong sign',
        where=f'recording.effort of {named}' if named else 'recording.effort',
        found='; '.join(
            (f'in {one.recording} ' if len(wrong) > 1 else '') + ', '.join(
                f'{finding.joint} {finding.scale:.2g}' for finding in one.wrong)
            for one in wrong) + ' times the predicted torque',
        fix=f'Set {lines_to_set}, or, if the model is wrong instead, '
        'processing: {effort_check: warn}')
