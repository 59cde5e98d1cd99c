"""Remarks that differ in joints and numbers alone, brought together."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r'[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?')


def grouped_remarks(
    remarks: Sequence[str], joint_names: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """Groups of remarks that say the same of other joints, in the order of their first.

    Args:
        remarks: Sentences.
        joint_names: Names that may differ within a group; numbers may, too.
    """
    names = '|'.join(sorted(map(re.escape, joint_names), key=len, reverse=True))
    joints = re.compile(rf'(?<!\w)(?:{names})(?!\w)' if names else r'(?!)')
    groups: dict[str, list[str]] = {}
    for remark in remarks:
        pattern = _NUMBER.sub('#', joints.sub('joint', remark))
        group = groups.setdefault(pattern, [])
        if remark not in group:
            group.append(remark)
    return tuple(map(tuple, groups.values()))
