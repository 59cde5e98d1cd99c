"""Draws figures with one strip of axes per joint, one below the other.

Margins are given in inches: a layout that is solved for draws everything once more to measure it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sysid_ros.report.joint_strips import JointStrips, Strip

# Sizes in [in]: the figure's width, the height of a strip and the gap below it, and the margins.
_WIDTH, _STRIP, _GAP = 11.0, 1.6, 0.1
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.95, 0.15, 0.65, 0.5
_EDGE, _BELOW_TITLE = 0.1, 0.32
_GRID: dict[str, Any] = {'color': '0.92', 'linewidth': 0.6}
# Room that a name of the joint may take beside a strip, in characters of the small font.
_LETTERS = 18


def draw(path: str | Path, shown: JointStrips) -> None:
    """Write a figure.

    Args:
        path: PNG file to write.
        shown: What it shows.
    """
    # Compressing lines well takes longer than drawing them.
    drawn(shown).savefig(path, dpi=110, pil_kwargs={'compress_level': 1})


def drawn(shown: JointStrips) -> Figure:
    """A figure with its curves, title and legend.

    Args:
        shown: What it shows.
    """
    figure, axes = _joint_axes(shown.strips)
    for axis, strip in zip(axes, shown.strips, strict=True):
        for curve in strip.curves:
            axis.plot(
                curve.x, curve.y, color=curve.colour, linewidth=curve.width, label=curve.label)
        if strip.band is not None:
            axis.axhspan(-strip.band, strip.band, color='0.93', zorder=0)
        if strip.shaded is not None:
            # Over the whole height, at less cost than filling between curves; Matplotlib 3.8 takes
            # its height for one of the curves.
            heights = axis.get_ylim()
            axis.broken_barh(
                strip.shaded.tolist(), (0.0, 1.0), color='0.9', zorder=0,
                transform=axis.get_xaxis_transform(), linewidth=0.0)
            axis.set_ylim(heights)
        if strip.reach is not None:
            axis.set_ylim(-strip.reach, strip.reach)
        axis.margins(x=shown.margin)
    if shown.ticks is not None:
        axes[-1].set_xticks(*shown.ticks)
    axes[-1].set_xlabel(shown.along, fontsize=9)
    _extend_grid(axes)
    _entitle(figure, shown.title)
    return figure


def _joint_axes(strips: Sequence[Strip]) -> tuple[Figure, list[Axes]]:
    """A figure with the axes of every strip."""
    count = len(strips)
    heights = [strip.height for strip in strips]
    height = _TOP + sum(heights) * _STRIP + (count - 1) * _GAP + _BOTTOM
    figure = Figure(figsize=(_WIDTH, height))
    FigureCanvasAgg(figure)
    axes = figure.subplots(count, 1, sharex=True, squeeze=False, gridspec_kw={
        'left': _LEFT / _WIDTH, 'right': 1.0 - _RIGHT / _WIDTH, 'top': 1.0 - _TOP / height,
        'bottom': _BOTTOM / height, 'hspace': _GAP / (_STRIP * sum(heights) / count),
        'height_ratios': heights,
    })[:, 0]
    for axis, strip in zip(axes, strips, strict=True):
        name = strip.name if len(strip.name) <= _LETTERS else f'{strip.name[:_LETTERS - 1]}…'
        axis.set_ylabel(f'{name}\n[{strip.unit}]', fontsize=8, parse_math=False)
        axis.yaxis.set_label_coords(-0.6 / (_WIDTH - _LEFT - _RIGHT), 0.5)
        axis.grid(**_GRID)
        axis.tick_params(labelsize=8)
    # Ticks along the strips are the lowest one's: those of the others would take a third of the
    # time, label by label, and show none.
    for axis in axes[:-1]:
        axis.xaxis.set_visible(False)
    return figure, list(axes)


def _extend_grid(axes: Sequence[Axes]) -> None:
    """Continue the lines at the ticks of the lowest strip through the others."""
    for axis in axes[:-1]:
        axis.vlines(
            axes[-1].get_xticks(), 0.0, 1.0, transform=axis.get_xaxis_transform(),
            zorder=axis.xaxis.get_zorder(), **_GRID)


def _entitle(figure: Figure, title: str) -> None:
    """Add title and legend; what several strips show stands in the legend once."""
    shown: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            shown.setdefault(name, handle)
    labels = list(shown)
    height = figure.get_figheight()
    figure.legend(
        list(shown.values()), labels, loc='upper left', ncols=len(labels), fontsize=8,
        frameon=False, bbox_to_anchor=(0.0, 1.0 - _BELOW_TITLE / height), borderaxespad=0.0)
    # A name of a robot is no formula, whatever is in it.
    figure.suptitle(
        title, fontsize=11, x=0.01, y=1.0 - _EDGE / height, ha='left', va='top', parse_math=False)
