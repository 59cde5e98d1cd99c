"""Numbers as URDF writes them: stricter than Python's own reading."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from lxml import etree

# Python's float() also takes 'nan', 'inf', '1_0' and digits of other scripts; C++ loaders do not.
_NUMBER = re.compile(r'[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?')
# An angle with so many decimals, this near in units of the last one, means a multiple of 90°.
_DECIMALS, _LAST_UNITS = 4, 2.0


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


def written_numbers(values: Iterable[float]) -> str:
    """Numbers as an attribute, separated by spaces, so that they are read back exactly."""
    return ' '.join(repr(float(value)) for value in values)


def number_of(element: etree._Element | None, attribute: str, default: float) -> float:
    """One number of an element of a checked description.

    Args:
        element: The element, or None where it is absent.
        attribute: Name of the attribute.
        default: What URDF says an absent attribute means.

    Returns:
        The number; ``default`` where it is absent or cannot be read.
    """
    values = None if element is None else read_numbers(element.get(attribute), 1)
    return default if values is None else values[0]


def vector_of(element: etree._Element | None, attribute: str) -> tuple[float, ...]:
    """Three numbers of an element of a checked description, zeros where they are absent."""
    values = None if element is None else read_numbers(element.get(attribute), 3)
    return (0.0, 0.0, 0.0) if values is None else values


def unrounded_angle(text: str) -> str:
    """An angle in [rad] as it is meant: 3.1416 and 1.570796327 are π and π/2.

    Rounded right angles make axes that are parallel nearly parallel: parameters without any
    effect then seem to have one of 1e-6, and planar loops do not close.

    Args:
        text: A number as URDF writes it.

    Returns:
        The multiple of π/2 of which at least four decimals are written; any other text as it is.
    """
    decimals = len(text.partition('.')[2])
    if decimals < _DECIMALS or not re.fullmatch(r'[+-]?[0-9]*\.[0-9]+', text):
        return text
    meant = round(float(text) / (math.pi / 2)) * (math.pi / 2)
    away = abs(float(text) - meant)
    return repr(meant) if meant and away < _LAST_UNITS * 10.0 ** -decimals else text
