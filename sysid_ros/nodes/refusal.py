"""Requests that are not granted, and the codes that say why."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from sysid_ros.errors import SysidError
from sysid_ros.msg import ResultCode

# Longest text and list that a request may hold; a motion as YAML is the longest there is.
MAX_TEXT, MAX_ENTRIES = 1_000_000, 10_000


class RefusedError(SysidError):
    """A request that is not granted.

    Args:
        code: One of the codes of ``ResultCode``.
        error: Why.
    """

    def __init__(self, code: str, error: SysidError) -> None:
        self.code = code
        super().__init__(
            error.problem, where=error.where, found=error.found, allowed=error.allowed,
            fix=error.fix,
        )


def code_of(error: BaseException) -> str:
    """The code of ``ResultCode`` that an exception stands for."""
    if isinstance(error, RefusedError):
        return error.code
    return ResultCode.INVALID_REQUEST if isinstance(error, SysidError) else ResultCode.FAILED


def refused(answer: Any, error: BaseException) -> Any:
    """Fill an answer of a request that is not granted.

    Args:
        answer: A service's response or an action's result, with ``success``, ``code``, ``message``.
        error: Why.

    Returns:
        The answer.
    """
    answer.success, answer.code = False, code_of(error)
    answer.message = str(error) or type(error).__name__
    return answer


def without_figures(message: Any) -> Any:
    """A message, none of whose numbers is known yet: zero would be a figure, NaN is none."""
    for name, kind in message.get_fields_and_field_types().items():
        if kind in ('double', 'float'):
            setattr(message, name, math.nan)
        elif hasattr(getattr(message, name), 'get_fields_and_field_types'):
            without_figures(getattr(message, name))
    return message


def require_short(request: Any) -> None:
    """Refuse a request with overlong texts or lists.

    Raises:
        RefusedError: A field is longer than any honest one.
    """
    for name, value in _sized_fields(request):
        longest = MAX_TEXT if isinstance(value, str) else MAX_ENTRIES
        if len(value) > longest:
            raise RefusedError(ResultCode.INVALID_REQUEST, SysidError(
                'the field is too long', where=name, found=len(value), allowed=longest,
                fix='Send less'))


def _sized_fields(message: Any) -> Iterable[tuple[str, Any]]:
    for name in message.get_fields_and_field_types():
        value = getattr(message, name)
        if hasattr(value, 'get_fields_and_field_types'):
            yield from _sized_fields(value)
        elif hasattr(value, '__len__'):
            yield name, value
