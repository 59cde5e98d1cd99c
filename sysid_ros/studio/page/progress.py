"""How far a job is: its steps with their times, the work within the present one, and its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from sysid_ros.studio.job_process import Step
from sysid_ros.studio.page.errors import error_card, guarded
from sysid_ros.studio.page.frame import Frame
from sysid_ros.studio.page.parts import block, button, duration, heading, text
from sysid_ros.studio.studio import Studio
from sysid_ros.studio.tasks import Phase, Task


def progress(frame: Frame, task: Task) -> None:
    """Show the steps of a job while it is done.

    Args:
        frame: The page.
        task: The job.
    """
    steps = block('ol')
    steps.props.update({'aria-label': 'steps of the work', 'aria-live': 'polite'})
    bar = block('progress')
    bar.props.update({'aria-label': 'progress of the step', 'max': '1'})
    part = text('div', '', 'soft')
    lines: list[Any] = []

    def update() -> None:
        done = [] if task.process is None else task.process.steps
        with steps:
            for _ in done[len(lines):]:
                lines.append(text('li', ''))
        for line, step in zip(lines, done, strict=True):
            line.set_text(_line(step))
        _show_part(bar, part, done[-1] if done else None)

    update()
    frame.follow(steps, update)


def _line(step: Step) -> str:
    took = '…' if step.seconds is None else duration(step.seconds)
    return f'{step.text}: {took}'


def _show_part(bar: Any, part: Any, step: Step | None) -> None:
    """How much of the present step is done; a bar without a value where nobody knows."""
    if step is not None and step.count > 0 and step.seconds is None:
        bar.props['value'] = f'{step.done / step.count:.3f}'
    else:
        bar.props.pop('value', None)
    part.set_text('' if step is None else _part_in_words(step))


def _part_in_words(step: Step) -> str:
    if step.seconds is not None:
        return ''
    said = step.what
    if step.count:
        said += f'{", " if said else ""}{step.done} of {step.count}'
    left = step.left()
    return said + (f', about {duration(left)} left' if left is not None and left >= 1.0 else '')


def outcome(task: Task) -> bool:
    """Show how a job ended that gave nothing; whether there is more to be shown of it.

    Args:
        task: The job.
    """
    if task.error is not None:
        error_card(task.error)
    elif task.phase is Phase.STOPPED:
        with block('div', 'card notice'):
            text('span', 'It was stopped; what was not complete is not kept.')
    elif task.phase is Phase.INTERRUPTED:
        with block('div', 'card notice'):
            text('span', 'The server ended while it was under way. Nothing of it is left: begin it '
                 'again.')
    return task.result is not None


def when(task: Task) -> str:
    """When a job came to its end, in the time of the computer that did it."""
    moment = time.localtime(task.ended)
    today = time.strftime('%x', moment) == time.strftime('%x')
    return time.strftime('%H:%M' if today else '%Y-%m-%d %H:%M', moment)


def last_task(
    frame: Frame, studio: Studio, kind: str, name: str,
    show: Callable[[Mapping[str, Any]], None],
) -> None:
    """The last job of a kind of which there is one at a time: how far it is, or what came of it.

    Args:
        frame: The page.
        studio: Whose jobs.
        kind: The kind, which is its subject, too.
        name: What it is called.
        show: Shows its result.
    """
    def key() -> object:
        task = studio.task(kind, kind)
        return None if task is None else (task.asked, task.phase)

    def draw() -> None:
        task = studio.task(kind, kind)
        if task is None:
            return
        heading(f'The {name}' if task.phase.active else f'The last {name}, {when(task)}')
        text('code', task.command)
        if task.phase.active:
            progress(frame, task)
            button('Stop', guarded(lambda: studio.stop(task)),
                   hint='what is not complete is not kept')
        elif outcome(task):
            assert task.result is not None
            show(task.result)

    frame.live(key, draw)
