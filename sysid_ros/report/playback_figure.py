"""Figures of a flexible object that was identified: how the search went, and how it bent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sysid_ros.errors import ModelError
from sysid_ros.estimation.trajectory.playback.end_effector import (
    EndEffectorPosition,
    link_places,
)
from sysid_ros.estimation.trajectory.playback.search import Found
from sysid_ros.report.joint_strips import CANDIDATE, ERROR, MEASURED, PRIOR
from sysid_ros.robot.model import RobotModel

_COLOURS = (CANDIDATE, PRIOR, ERROR, MEASURED)
_STYLES = ('-', '--', ':', '-.')
# Steps of a search whose paths are drawn, besides the last.
_SHOWN = 6
# Part of the first cost below which costs differ by rounding.
_COST_TOLERANCE = 1e-12
# Least half width of what a film shows in [m].
_NARROW = 0.12


def convergence_figure(path: str | Path, searches: Mapping[str, Found]) -> None:
    """Draw cost and parameters step by step, one search beside the other.

    Args:
        path: PNG file to write.
        searches: Searches of one problem, by name.
    """
    figure = _figure(8.0, 6.0)
    above, below = figure.subplots(2, 1, sharex=True)
    least = min(found.point.cost for found in searches.values())
    for (name, found), colour in zip(searches.items(), _COLOURS * len(searches), strict=False):
        problem = found.problem
        begun = problem.evaluate(problem.first).cost
        costs = np.array([begun, *(step.cost for step in found.steps)])
        values = np.array([np.exp(problem.first), *(step.values for step in found.steps)])
        # What is at the least has no logarithm.
        above.semilogy(
            np.where(costs - least > _COST_TOLERANCE * begun, costs - least, np.nan), '.-',
            color=colour, label=name)
        for k, (entry, style) in enumerate(zip(
                problem.free_parameters, _STYLES * len(problem.free_parameters), strict=False)):
            below.plot(
                values[:, k], marker='.', linestyle=style, color=colour,
                label=f'{entry.name}, {name}')
    above.set_ylabel('cost above the least')
    below.set_ylabel('parameters')
    below.set_xlabel('step')
    below.xaxis.get_major_locator().set_params(integer=True)
    for axes in (above, below):
        axes.legend(fontsize=8, frameon=False, loc='center left', bbox_to_anchor=(1.0, 0.5))
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110, bbox_inches='tight')


def path_figure(path: str | Path, place: EndEffectorPosition, found: Found) -> None:
    """Draw the end effector's path at every step of a search over what was measured.

    Args:
        path: PNG file to write.
        place: Where the first recording measured it; its noise does not matter.
        found: The search; its motions are simulated once more.
    """
    figure = _figure(8.0, 6.0)
    axes = figure.add_subplot(projection='3d')
    axes.plot(
        *place.measured.T, color=MEASURED, linewidth=0.6, alpha=0.4, label='measured', zorder=1)
    problem = found.problem
    every = [problem.first, *(np.log(step.values) for step in found.steps)]
    # The first steps go far, the last ones nowhere to be seen.
    shown = sorted({*range(min(_SHOWN, len(every))), len(every) - 1})
    for number in shown:
        point = problem.evaluate(every[number])
        if point.motions and point.motions[0].status.ok:
            places = link_places(
                place.robot, place.link, place.point, point.motions[0].positions).position
            axes.plot(
                *places.T, color=colormaps['viridis'](1.0 - shown.index(number) / len(shown)),
                linewidth=1.2, label='start' if number == 0 else f'step {number}',
                zorder=2 + number)
    axes.set_xlabel('x [m]')
    axes.set_ylabel('y [m]')
    axes.set_zlabel('z [m]')
    axes.legend(fontsize=8, frameon=False, loc='center left', bbox_to_anchor=(1.08, 0.5))
    figure.savefig(path, dpi=110, bbox_inches='tight')


def film_strip(
    path: str | Path, robot: RobotModel, positions: np.ndarray, times: Sequence[float],
    links: Sequence[str], tip: np.ndarray,
) -> None:
    """Draw chains of links at some times, side by side, as seen from the front and the side.

    Args:
        path: PNG file to write.
        robot: The tree.
        positions: Joint positions at these times, shape ``(T, n)``.
        times: In [s], shape ``(T,)``.
        links: Links to draw, chain by chain; where one does not follow the other, a new line
            begins.
        tip: Where a chain ends in the frame of its last link in [m], shape ``(3,)``.

    Raises:
        ModelError: There is no such link.
    """
    chains = _chains(robot, links)
    figure = _figure(2.0 * len(times), 5.0)
    axes = figure.subplots(2, len(times), squeeze=False, sharex='row', sharey=True)
    for column, (q, time) in enumerate(zip(positions, times, strict=True)):
        for chain in chains:
            points = [(link, np.zeros(3)) for link in chain] + [(chain[-1], tip)]
            corners = np.array([
                link_places(robot, link, point, q[None]).position[0] for link, point in points])
            for row, across in enumerate((1, 0)):
                axes[row, column].plot(
                    corners[:, across], corners[:, 2], '.-', color=CANDIDATE, linewidth=1.0)
        axes[0, column].set_title(f'{time:.1f} s', fontsize=9)
    for row, name in enumerate(('y [m]', 'x [m]')):
        axes[row, 0].set_ylabel('z [m]', fontsize=8)
        for axis in axes[row]:
            axis.set_aspect('equal', adjustable='box')
            axis.set_xlabel(name, fontsize=8)
            axis.tick_params(labelsize=7)
            # What moves little across would have no room for its axis.
            middle = float(np.mean(axis.get_xlim()))
            reach = max(0.5 * float(np.ptp(axis.get_xlim())), _NARROW)
            axis.set_xlim(middle - reach, middle + reach)
            axis.locator_params(axis='x', nbins=3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _chains(robot: RobotModel, links: Sequence[str]) -> list[list[str]]:
    """Links that carry each other, in order."""
    body = {link: robot.place_of(link)[0] for link in links}
    chains: list[list[str]] = []
    for link in links:
        before = body[chains[-1][-1]] if chains else None
        chain, ancestor = False, body[link]
        while ancestor >= 0 and not chain:
            ancestor = int(robot.tree.parent[ancestor])
            chain = ancestor == before
        if chain:
            chains[-1].append(link)
        else:
            chains.append([link])
    if not chains:
        raise ModelError('there are no links to draw', where=robot.name)
    return chains


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure
