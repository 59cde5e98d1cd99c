"""Errors on a page: what is wrong, where, what would be right, and what mends it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any

from nicegui import ui

from sysid_ros.errors import SysidError
from sysid_ros.studio.page.parts import block, text


def error_card(error: Mapping[str, Any]) -> None:
    """An error with the line that mends it.

    Args:
        error: As :func:`~sysid_ros.studio.error_notes.error_note` has it.
    """
    with block('div', 'card error') as card:
        card.props['role'] = 'alert'
        text('strong', f'✕ {_capital(error["problem"])}')
        with block('dl'):
            for key, title in (('where', 'Where'), ('found', 'Found'), ('allowed', 'Allowed')):
                if error[key]:
                    text('dt', title, 'soft')
                    text('dd', error[key])
        if error['fix']:
            text('div', 'What to do', 'soft')
            text('pre', error['fix'])


def guarded(action: Callable[..., Any]) -> Callable[..., Any]:
    """An action of a page whose errors are shown to whoever pressed the button.

    Args:
        action: The action; what it gives is lost.
    """
    @wraps(action)
    async def run(*arguments: Any) -> None:
        try:
            came = action(*arguments)
            if isinstance(came, Awaitable):
                await came
        except SysidError as error:
            ui.notify(
                str(error), type='negative', multi_line=True, timeout=0, close_button='Close')

    return run


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
