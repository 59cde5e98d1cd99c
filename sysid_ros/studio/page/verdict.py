"""The verdict on a page: committable or not, why, what next, and what else should be known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sysid_ros.studio.page.parts import block, light, term, text


def verdict_card(verdict: Mapping[str, Any], headline: Sequence[str] = ()) -> None:
    """Show a verdict.

    Args:
        verdict: As ``verdict.json`` of a run has it.
        headline: Sentences on what the model gained, where they are known.
    """
    good = verdict.get('committable') is True
    with block('div', f'card {"fine" if good else "error"}') as card:
        card.props.update({'role': 'region', 'aria-label': 'verdict'})
        with block('div', 'beside'):
            light('good' if good else 'bad', 'Verdict:')
            term('committable', 'committable' if good else 'not committable')
        for sentence in headline:
            text('p', sentence)
        _sentences('Why not', verdict.get('reasons', ()))
        _sentences('Next', verdict.get('next_steps', ()))
        if remarks := _strings(verdict.get('remarks', ())):
            with block('details'):
                text('summary', f'Remarks ({len(remarks)})')
                _list(remarks)


def _sentences(title: str, sentences: Any) -> None:
    if found := _strings(sentences):
        text('strong', title)
        _list(found)


def _list(sentences: Sequence[str]) -> None:
    with block('ul'):
        for sentence in sentences:
            text('li', sentence)


def _strings(values: Any) -> list[str]:
    """What of a file that may have been edited is text."""
    return [value for value in values if isinstance(value, str)] if isinstance(
        values, (list, tuple)) else []
