"""Inputs of a page whose values all browsers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui

from sysid_ros.studio.page.drawing import Drawing
from sysid_ros.studio.page.errors import guarded
from sysid_ros.studio.page.parts import text


def selection(
    frame: Drawing, label: str, options: Callable[[], Mapping[str, str]],
    value: Callable[[], str], choose: Callable[[str], Any],
) -> Any:
    """One of several options.

    Args:
        frame: The page.
        label: What is chosen.
        options: What is shown of each option, by its value.
        value: What is chosen now.
        choose: Is told what is chosen; the first option where it was cleared.
    """
    def known() -> str | None:
        return value() if value() in options() else None

    made = ui.select(
        dict(options()), label=label, value=known(),
        on_change=guarded(lambda event: choose(event.value or '')))
    made.props('outlined dense options-dense').classes('grow')

    def update() -> None:
        if made.options != dict(options()):
            made.set_options(dict(options()), value=known())
        elif made.value != known():
            made.set_value(known())

    frame.follow(made, update)
    return made


def selections(
    frame: Drawing, label: str, options: Callable[[], Sequence[str]],
    value: Callable[[], Sequence[str]], choose: Callable[[tuple[str, ...]], Any],
) -> Any:
    """Some of several options, in the order in which they are chosen.

    Args:
        frame: The page.
        label: What is chosen.
        options: The options.
        value: What is chosen now.
        choose: Is told what is chosen.
    """
    def known() -> list[str]:
        return [name for name in value() if name in options()]

    made = ui.select(
        list(options()), label=label, value=known(), multiple=True,
        on_change=guarded(lambda event: choose(tuple(event.value or ()))))
    made.props('outlined dense options-dense').classes('grow')

    def update() -> None:
        if made.options != list(options()):
            made.set_options(list(options()), value=known())
        elif made.value != known():
            made.set_value(known())

    frame.follow(made, update)
    return made


def switch(
    frame: Drawing, label: str, value: Callable[[], bool], choose: Callable[[bool], Any]
) -> Any:
    """A box to tick.

    Args:
        frame: The page.
        label: What it is for.
        value: Whether it is ticked.
        choose: Is told whether it is.
    """
    made = ui.checkbox(label, value=value(), on_change=guarded(lambda event: choose(event.value)))
    frame.follow(made, lambda: None if made.value == value() else made.set_value(value()))
    return made


def quantity(
    frame: Drawing, label: str, least: float, most: float, step: float,
    value: Callable[[], float], choose: Callable[[float], Any],
) -> Any:
    """A number between bounds; others are not taken.

    Args:
        frame: The page.
        label: What it is, with its unit.
        least: Smallest.
        most: Largest.
        step: Of its arrows.
        value: What it is now.
        choose: Is told what it is.
    """
    def take(event: Any) -> None:
        if event.value is not None and least <= event.value <= most:
            choose(event.value)

    made = ui.number(
        label, value=value(), min=least, max=most, step=step, on_change=guarded(take))
    made.props('outlined dense')

    def update() -> None:
        # What somebody types is left alone until it is a value.
        if made.value is not None and least <= made.value <= most and made.value != value():
            made.set_value(value())

    frame.follow(made, update)
    return made


def answered(questions: Sequence[Mapping[str, str]]) -> Callable[[], dict[str, str]]:
    """Ask what nobody but a person knows.

    Args:
        questions: As :func:`~sysid_ros.studio.error_notes.error_note` has them.

    Returns:
        What gives the answers that were typed so far, by the name of the option.
    """
    typed: dict[str, Any] = {}
    for question in questions:
        text('div', question['text'])
        text('div', question['found'], 'soft')
        typed[question['option']] = ui.input(
            question['option'], placeholder=f'such as {question["example"]}').props(
                'outlined dense').classes('grow')
    return lambda: {
        option: made.value.strip() for option, made in typed.items() if made.value.strip()}


def enable_while(frame: Drawing, made: Any, condition: Callable[[], bool]) -> None:
    """Let a button be pressed while something holds. It stays the same element all the time.

    What is drawn anew under a click loses it.

    Args:
        frame: The page.
        made: The button.
        condition: Whether it may be pressed now.
    """
    def update() -> None:
        made.set_enabled(condition())

    update()
    frame.follow(made, update)
