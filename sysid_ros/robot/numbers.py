"""Numbers as URDF writes them: stricter than Python's own reading."""

from __future__ import annotations

import math
import re

# Python's float() also takes 'nan', 'inf', '1_0' and digits of other scripts; C++ loaders do not.
_NUMBER = re.compile(r'[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?')


def read_numbers(text: str | None, count: int) -> tuple[float, ...] | None:
    """Finite numbers of an attribute, or None where a URDF loader would refuse it.

    Args:
        text: Value of the attribute; None when it is absent.
        count: How many numbers, separated by white space, it must hold. A single number
            may not be surrounded by white space.
    """
    if text is None:
        return None
    words = text.split() if count > 1 else [text]
    if len(words) != count or not all(_NUMBER.fullmatch(word) for word in words):
        return None
    values = tuple(float(word) for word in words)
    return values if all(math.isfinite(value) for value in values) else None
