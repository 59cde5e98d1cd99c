"""Boxes that stand around a robot: typed in a table, and drawn in three dimensions."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from sysid_ros.studio.jobs import StandingBox
from sysid_ros.studio.page.errors import guarded
from sysid_ros.studio.page.frame import Frame
from sysid_ros.studio.page.parts import Column, button, light, table, text
from sysid_ros.studio.studio import Studio

_AXES = 'xyz'
# What a new box is: a table beside the robot.
_NEW = (0.4, -0.3, 0.0), (0.8, 0.3, 0.3)


def boxes_table(frame: Frame, studio: Studio) -> None:
    """What boxes are typed in, with what adds and removes them.

    Args:
        frame: The page.
        studio: Whose boxes.
    """
    # What somebody types in is not drawn anew under the cursor.
    frame.live(lambda: len(studio.choices.boxes), lambda: _rows(frame, studio))
    button('Add a box', guarded(lambda: studio.choose(
        boxes=(*studio.choices.boxes, _another(studio.choices.boxes)))))


def is_box(box: StandingBox) -> bool:
    """Whether the corners are in order.

    Args:
        box: The box.
    """
    return all(low < high for low, high in zip(box.lower, box.upper, strict=True))


def _another(boxes: tuple[StandingBox, ...]) -> StandingBox:
    names, number = {box.name for box in boxes}, len(boxes) + 1
    while f'box {number}' in names:
        number += 1
    return StandingBox(name=f'box {number}', lower=_NEW[0], upper=_NEW[1])


def _rows(frame: Frame, studio: Studio) -> None:
    boxes = studio.choices.boxes
    if not boxes:
        text('p', 'None yet. A wall, a table, a cable duct: a planned motion stays clear of them.',
             'soft')
        return
    table('boxes around the robot', [
        Column('Name'), *(Column(f'{end} {axis} [m]') for end in ('Lower', 'Upper')
                          for axis in _AXES), Column('In order'), Column('')], [
        [partial(_name, frame, studio, k), *(
            partial(_coordinate, frame, studio, k, corner, i)
            for corner in ('lower', 'upper') for i in range(3)),
         partial(_order, frame, studio, k), partial(_remove, studio, k)]
        for k in range(len(boxes))])


def _changed(studio: Studio, k: int, **fields: Any) -> None:
    """Choose other values of a box, if it is still there."""
    boxes = list(studio.choices.boxes)
    if k < len(boxes):
        boxes[k] = StandingBox.model_validate(boxes[k].model_dump() | fields)
        studio.choose(boxes=tuple(boxes))


def _name(frame: Frame, studio: Studio, k: int) -> None:
    def known() -> str:
        boxes = studio.choices.boxes
        return boxes[k].name if k < len(boxes) else ''

    def take(event: Any) -> None:
        name = str(event.value or '').strip().replace('=', '-')[:64]
        if name:
            _changed(studio, k, name=name)

    made = ui.input(value=known(), on_change=guarded(take))
    made.props('outlined dense').style('min-width: 9em; width: 9em')
    made.props['aria-label'] = f'name of box {k + 1}'
    frame.follow(made, lambda: None if made.value == known() else made.set_value(known()))


def _coordinate(frame: Frame, studio: Studio, k: int, corner: str, i: int) -> None:
    def known() -> float:
        boxes = studio.choices.boxes
        return float(getattr(boxes[k], corner)[i]) if k < len(boxes) else 0.0

    def take(event: Any) -> None:
        if event.value is None or not abs(event.value) <= 1000.0:
            return
        values = list(getattr(studio.choices.boxes[k], corner))
        values[i] = float(event.value)
        _changed(studio, k, **{corner: values})

    made = ui.number(value=known(), step=0.05, min=-1000, max=1000, on_change=guarded(take))
    made.props('outlined dense').style('min-width: 6em; width: 6em')
    made.props['aria-label'] = f'{corner} {_AXES[i]} of box {k + 1} in m'

    def update() -> None:
        # What somebody types is left alone until it is a value.
        if made.value is not None and made.value != known():
            made.set_value(known())

    frame.follow(made, update)


def _order(frame: Frame, studio: Studio, k: int) -> None:
    def ordered() -> bool:
        boxes = studio.choices.boxes
        return k >= len(boxes) or is_box(boxes[k])

    frame.live(ordered, lambda: light('good') if ordered() else light('bad', 'lower < upper'))


def _remove(studio: Studio, k: int) -> None:
    button('Remove', guarded(lambda: studio.choose(
        boxes=(*studio.choices.boxes[:k], *studio.choices.boxes[k + 1:]))),
        hint=f'box {k + 1}')
