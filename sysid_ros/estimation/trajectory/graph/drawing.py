"""Pictures of factor graphs: two steps with their variables as circles and factors as squares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sysid_ros.estimation.trajectory.graph.factors import Factor
from sysid_ros.estimation.trajectory.graph.graph import FactorGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Places: steps are so far apart; factors of one step stand beside it, those between in the middle.
_APART, _BESIDE = 6.0, 1.6
_EXACT, _SOFT = 'black', 'tab:orange'


def draw(graph: FactorGraph, axes: Axes) -> None:
    """Draw two neighbouring steps of a graph: exact factors are black, soft ones orange.

    Dotted lines lead from factors that parameters enter to these.

    Args:
        graph: The graph.
        axes: Where to draw, of matplotlib.
    """
    rows = {name: -1.0 * k for k, name in enumerate(graph.layout.names)}
    for step in (0, 1):
        for name, y in rows.items():
            label = f'{name}[k{"+1" if step else ""}]'
            axes.plot(_APART * step, y, 'o', ms=34, mfc='white', mec='black', zorder=3)
            # As large as fits into the circle.
            size = min(7.0, 52.0 / len(label))
            axes.text(
                _APART * step, y, label, ha='center', va='center', fontsize=size, zorder=4)
    single = [factor for factor in graph.factors if not factor.pairs]
    between = [factor for factor in graph.factors if factor.pairs]
    lowest = min(rows.values(), default=0.0)
    for group, x in ((single, -_BESIDE), (between, 0.5 * _APART)):
        spread = lowest / max(len(group) - 1, 1)
        for k, factor in enumerate(group):
            middle = k * spread if len(group) > 1 else 0.5 * lowest
            _factor(axes, factor, x, middle, rows)
            if graph.parameters.names and factor.tells_parameters:
                for place in (x, _APART - x):
                    axes.plot(
                        [place, 0.5 * _APART], [middle, lowest - 1.2], ':', color='gray', lw=0.7,
                        zorder=1)
    if graph.parameters.names:
        axes.text(
            0.5 * _APART, lowest - 1.2, f'parameters: {", ".join(graph.parameters.names)}',
            ha='center', fontsize=7, bbox={'boxstyle': 'round', 'fc': 'white'})
    axes.set_xlim(-_BESIDE - 2.0, _APART + _BESIDE + 2.0)
    axes.set_ylim(lowest - 1.8, 0.8)
    axes.set_axis_off()
    axes.set_title(graph.mechanism.name)


def _factor(
    axes: Axes, factor: Factor, x: float, y: float, rows: dict[str, float]
) -> None:
    """One factor, with lines to what it ties together; those of one step on both sides."""
    color = _EXACT if factor.exact else _SOFT
    steps = (0, 1) if factor.pairs else (0,)
    mirrored = (False,) if factor.pairs or factor.at == 0 else (False, True)
    for other in mirrored:
        place = _APART - x if other else x
        for name in factor.variables:
            for step in (1,) if other else steps:
                axes.plot(
                    [place, _APART * step], [y, rows[name]], '-', color=color, lw=0.7, zorder=1)
        axes.plot(place, y, 's', ms=8, color=color, zorder=2)
        if not other:
            at, side = ((place, y + 0.25), 'center') if factor.pairs else (
                (place - 0.3, y), 'right')
            axes.text(
                *at, factor.name, ha=side, va='center', fontsize=6, color=color, zorder=5)
