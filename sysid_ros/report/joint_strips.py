"""What a figure shows that has one strip per joint, as plain numbers: nothing here draws."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

# Colours that stay apart in print and for colour-blind eyes.
MEASURED, CANDIDATE, PRIOR, ERROR = '#222222', '#0072b2', '#e69f00', '#d55e00'


@dataclass(frozen=True, eq=False)
class PlottedLine:
    """A line; values that are not a number leave a hole.

    Attributes:
        x: Along the strip, shape ``(k,)``.
        y: Same shape.
        colour: As Matplotlib names it.
        width: In points.
        label: In the legend; empty for none.
    """

    x: np.ndarray
    y: np.ndarray
    colour: str
    width: float
    label: str = ''


@dataclass(frozen=True, eq=False)
class Strip:
    """One strip of axes.

    Attributes:
        name: Left of it.
        unit: Of what is drawn, below the name.
        curves: In the order in which they are drawn.
        shaded: Begin and length of stretches that are shaded over the whole height, ``(k, 2)``.
        band: Values up to which zero is shaded on either side, if it is.
        reach: Values up to which zero is shown on either side; as far as the curves go if None.
        height: Of the strip, in parts of a whole one.
    """

    name: str
    unit: str
    curves: tuple[PlottedLine, ...]
    shaded: np.ndarray | None = None
    band: float | None = None
    reach: float | None = None
    height: float = 1.0


@dataclass(frozen=True, eq=False)
class JointStrips:
    """A figure with one strip per joint, one below the other, which share what is along them.

    Attributes:
        title: What is drawn.
        along: What is along the strips, with its unit.
        strips: From top to bottom.
        margin: Room before the first and behind the last point, in parts of the length.
        ticks: Marks along the strips and what they say; chosen by the drawing program if None.
    """

    title: str
    along: str
    strips: tuple[Strip, ...]
    margin: float = 0.0
    ticks: tuple[np.ndarray, tuple[str, ...]] | None = None

    def write(self, file: Path) -> None:
        """Write it as arrays, and one text that says where each belongs."""
        arrays: list[np.ndarray] = []

        def stored(array: np.ndarray | None) -> int | None:
            if array is None:
                return None
            arrays.append(array)
            return len(arrays) - 1

        layout = {
            'title': self.title, 'along': self.along, 'margin': self.margin,
            'ticks': None if self.ticks is None else [stored(self.ticks[0]), list(self.ticks[1])],
            'strips': [{
                'name': strip.name, 'unit': strip.unit, 'shaded': stored(strip.shaded),
                'band': strip.band, 'reach': strip.reach, 'height': strip.height,
                'curves': [
                    [stored(one.x), stored(one.y), one.colour, one.width, one.label]
                    for one in strip.curves],
            } for strip in self.strips],
        }
        with file.open('wb') as stream:
            np.savez(stream, *arrays, layout=np.array(json.dumps(layout)))

    @classmethod
    def read(cls, file: Path) -> JointStrips:
        """What :meth:`write` has written."""
        with np.load(file, allow_pickle=False) as content:
            layout = json.loads(str(content['layout']))
            return cls(
                title=layout['title'], along=layout['along'], margin=layout['margin'],
                ticks=layout['ticks'] and (
                    content[f'arr_{layout["ticks"][0]}'], tuple(layout['ticks'][1])),
                strips=tuple(_strip(one, lambda k: content[f'arr_{k}'])
                             for one in layout['strips']))


def _strip(layout: dict[str, Any], array: Callable[[int], np.ndarray]) -> Strip:
    shaded = layout['shaded']
    return Strip(
        layout['name'], layout['unit'], tuple(
            PlottedLine(array(x), array(y), *rest) for x, y, *rest in layout['curves']),
        None if shaded is None else array(shaded), layout['band'], layout['reach'],
        layout['height'])
