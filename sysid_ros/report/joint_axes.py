"""Figures with one strip of axes per joint, one below the other.

Margins are given in inches: a layout that is solved for draws everything once more to measure it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

# Colours that stay apart in print and for colour-blind eyes.
MEASURED, CANDIDATE, PRIOR, ERROR = '#222222', '#0072b2', '#e69f00', '#d55e00'

# Sizes in [in]: the figure's width, the height of a strip and the gap below it, and the margins.
_WIDTH, _STRIP, _GAP = 11.0, 1.6, 0.1
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.95, 0.15, 0.45, 0.5
_EDGE = 0.1
# Room that a name of the joint may take beside a strip, in characters of the small font.
_LETTERS = 18


def joint_axes(names: Sequence[str], units: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """A figure with the axes of every joint, which share their time.

    Args:
        names: Joints, from top to bottom.
        units: Unit of what is drawn for each.
    """
    count = len(names)
    height = _TOP + count * _STRIP + (count - 1) * _GAP + _BOTTOM
    figure = Figure(figsize=(_WIDTH, height))
    FigureCanvasAgg(figure)
    axes = figure.subplots(count, 1, sharex=True, squeeze=False, gridspec_kw={
        'left': _LEFT / _WIDTH, 'right': 1.0 - _RIGHT / _WIDTH, 'top': 1.0 - _TOP / height,
        'bottom': _BOTTOM / height, 'hspace': _GAP / _STRIP,
    })[:, 0]
    for axis, name, unit in zip(axes, names, units, strict=True):
        shown = name if len(name) <= _LETTERS else f'{name[:_LETTERS - 1]}…'
        axis.set_ylabel(f'{shown}\n[{unit}]', fontsize=8)
        axis.yaxis.set_label_coords(-0.6 / (_WIDTH - _LEFT - _RIGHT), 0.5)
        axis.grid(color='0.92', linewidth=0.6)
        axis.tick_params(labelsize=8)
    return figure, list(axes)


def save(figure: Figure, path: str | Path, title: str) -> None:
    """Add title and legend, and write the figure.

    Args:
        figure: Figure of :func:`joint_axes`, its curves labelled.
        path: PNG file to write.
        title: What is drawn.
    """
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc='upper right', ncols=len(labels), fontsize=8, frameon=False)
    top = 1.0 - _EDGE / figure.get_figheight()
    figure.suptitle(title, fontsize=11, x=0.01, y=top, ha='left', va='top')
    # Compressing lines well takes longer than drawing them.
    figure.savefig(path, dpi=110, pil_kwargs={'compress_level': 1})
