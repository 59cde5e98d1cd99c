"""Figures of a report as Plotly's plain JSON: nothing here imports Plotly, nothing draws.

Plotly reads a subset of HTML in titles, labels and names: what comes from a robot or a recording
goes through :func:`label`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sysid_ros.report.joint_strips import CANDIDATE, ERROR, MEASURED, PRIOR

#: A figure: ``data``, ``layout`` and the ``height`` in pixels.
Figure = dict[str, Any]
Trace = dict[str, Any]

#: What each line is, in colours that stay apart for colour-blind eyes (Okabe and Ito 2008).
IDENTIFIED, BEFORE, RECORDED, RESIDUAL, COASTING = CANDIDATE, PRIOR, MEASURED, ERROR, '#009e73'
#: Lines of equal rank, apart for colour-blind eyes; after them they begin again.
COLOURS = ('#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#222222')
INK, GRID, LINK = '#222222', '#e4e4e4', '#7d8894'
# Longer names would leave no room for the plot.
_LONGEST = 36
_MARGIN = {'l': 62, 'r': 12, 't': 30, 'b': 44}
_FONT = {'family': 'system-ui, sans-serif', 'size': 12, 'color': INK}


def label(text: str, longest: int = _LONGEST) -> str:
    """A name as Plotly shows it: as plain text, its middle left out where it is long.

    Args:
        text: Any text.
        longest: Most characters.
    """
    if len(text) > longest:
        half = (longest - 1) // 2
        text = f'{text[:half]}…{text[-half:]}'
    return text.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')


def line(
    x: Sequence[Any], y: Sequence[Any], name: str, colour: str, *, width: float = 1.3,
    **more: Any
) -> Trace:
    """A line.

    Args:
        x: Along the horizontal axis; None leaves a hole.
        y: As many values.
        name: In the legend; see :func:`label`.
        colour: Of the line.
        width: In pixels.
        more: Further entries of the trace.
    """
    return {
        'type': 'scatter', 'mode': 'lines', 'x': list(x), 'y': list(y), 'name': name,
        'line': {'color': colour, 'width': width}, **more}


def dots(
    x: Sequence[Any], y: Sequence[Any], name: str, colour: str, *, size: float = 4.0, **more: Any
) -> Trace:
    """Points; the arguments are those of :func:`line`."""
    return {
        'type': 'scatter', 'mode': 'markers', 'x': list(x), 'y': list(y), 'name': name,
        'marker': {'color': colour, 'size': size, 'opacity': 0.7, **more.pop('marker', {})},
        **more}


def axis(title: str = '', **more: Any) -> dict[str, Any]:
    """An axis with a thin grid.

    Args:
        title: What it shows, with its unit.
        more: Further entries of the axis.
    """
    return {
        'title': {'text': title, 'standoff': 6}, 'gridcolor': GRID, 'zerolinecolor': '#999999',
        'linecolor': '#999999', 'automargin': True, 'exponentformat': 'power', **more}


def figure(
    data: Sequence[Trace], x: dict[str, Any], y: dict[str, Any], *, height: int = 300,
    **layout: Any
) -> Figure:
    """A figure with one pair of axes, or more in ``layout``.

    Args:
        data: The traces.
        x: Horizontal axis, see :func:`axis`.
        y: Vertical axis.
        height: In pixels.
        layout: Further entries of Plotly's layout.
    """
    return {'height': height, 'data': list(data), 'layout': {
        'xaxis': x, 'yaxis': y, 'font': _FONT, 'margin': _MARGIN, 'paper_bgcolor': '#ffffff',
        'plot_bgcolor': '#ffffff', 'hovermode': 'closest',
        'legend': {'orientation': 'h', 'y': 1.0, 'yanchor': 'bottom', 'x': 0.0},
        **layout}}


def band(low: float, high: float, *, y: str = 'y') -> dict[str, Any]:
    """A shaded band over the whole width, below the lines.

    Args:
        low: Lower edge on the vertical axis.
        high: Upper edge.
        y: Name of the vertical axis.
    """
    return {
        'type': 'rect', 'xref': 'paper', 'yref': y, 'x0': 0, 'x1': 1, 'y0': low, 'y1': high,
        'fillcolor': '#888888', 'opacity': 0.18, 'line': {'width': 0}, 'layer': 'below'}
