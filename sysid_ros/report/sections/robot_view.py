"""The robot in space: ellipsoids of inertia and centres of mass, and the motion."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np

from sysid_ros.errors import SysidError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.mechanics.tree.kinematics import BodyPoses, body_poses
from sysid_ros.report.plots import (
    BEFORE,
    GRID,
    IDENTIFIED,
    INK,
    Figure,
    Trace,
    axis,
    dots,
    figure,
    label,
    line,
)
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.sections.section import ReportModel, Section
from sysid_ros.report.series import Number, Series, series
from sysid_ros.robot.inertia import central_inertia
from sysid_ros.robot.model import RobotModel

# Poses of the path that is drawn, poses whose skeleton is drawn, and bodies with an ellipsoid.
_PATH, _GHOSTS, _MOST_BODIES = 400, 5, 40
# Points of an ellipsoid around and from pole to pole, and of an ellipse.
_AROUND, _BETWEEN, _ELLIPSE = 14, 8, 40


class Solid(ReportModel):
    """The ellipsoid of uniform density that has a body's mass and inertia, in the base frame.

    Attributes:
        mass: In [kg].
        centre: Centre of mass in [m].
        shape: The matrix C of the ellipsoid (x − c)ᵀ C⁻¹ (x − c) ≤ 1 in [m²], row by row.
        possible: Whether a mass distribution has this inertia.
    """

    mass: Number
    centre: Series
    shape: Series
    possible: bool


class BodyView(ReportModel):
    """A body before the fit and after; None where it has no mass."""

    body: str
    before: Solid | None
    after: Solid | None


class RobotViewSection(Section):
    """The robot in the middle of its motion.

    Attributes:
        bodies: Bodies with parameters.
        skeletons: Points of the skeletons of some poses, the first that of the ellipsoids; None
            lifts the pen. Three rows: x, y, z in [m].
        ends: Names of bodies that carry no other.
        paths: Paths of their origins in the motion, three rows each.
    """

    section: Literal['robot_view'] = 'robot_view'
    title: ClassVar[str] = 'The robot'
    bodies: list[BodyView]
    skeletons: list[list[Series]]
    ends: list[str]
    paths: list[list[Series]]

    @classmethod
    def of(cls, source: ReportSource) -> Self | None:
        """The robot of a run; None where its motion is not in memory or it cannot be placed."""
        if source.motion is None:
            return None
        robot, q = source.judged.model.robot, source.motion.q
        rows = np.unique(np.linspace(0, len(q) - 1, _PATH).round().astype(int))
        try:
            poses = body_poses(robot, q[rows])
        except SysidError:
            return None
        shown = np.linspace(0, len(rows) - 1, _GHOSTS + 2).round().astype(int)[1:-1]
        middle = int(shown[len(shown) // 2])
        order = [middle, *(int(k) for k in shown if k != middle)]
        tree = robot.tree
        ends = [k for k in range(len(tree.parent)) if k not in tree.parent and not (
            tree.massless[k])]
        names = robot.body_names
        return cls(
            bodies=list(_bodies(source.estimate, robot, poses, middle)),
            skeletons=[_skeleton(robot, poses, k) for k in order],
            ends=[names[k] if k < len(names) else '' for k in ends],
            paths=[[series(poses.origin[:, k, i]) for i in range(3)] for k in ends])

    def figures(self) -> dict[str, Figure]:
        """The robot in space, and seen from the side and from above."""
        return {
            'space': self._space(), 'side': self._view(0, 2, 'x [m]', 'z [m]'),
            'above': self._view(0, 1, 'x [m]', 'y [m]')}

    def _solids(self, when: str) -> list[tuple[str, Solid]]:
        return [(view.body, solid) for view in self.bodies[:_MOST_BODIES]
                if (solid := getattr(view, when)) is not None
                and None not in (*solid.centre, *solid.shape)]

    def _space(self) -> Figure:
        data: list[Trace] = [
            _in_space(points, 'pose' if not k else 'other poses', INK if not k else '#b0b0b0',
                      6 if not k else 2, k, 'pose' if not k else 'others')
            for k, points in enumerate(self.skeletons)]
        data += [
            _in_space(path, 'path of the end', '#009e73', 2, k, 'path')
            for k, path in enumerate(self.paths)]
        for when, name, colour, opacity in (
            ('before', 'before the fit', BEFORE, 0.28), ('after', 'identified', IDENTIFIED, 0.5)):
            solids = self._solids(when)
            data += [
                _mesh(solid, body, name, colour, opacity, first=not k)
                for k, (body, solid) in enumerate(solids)]
            centres = [solid.centre for _, solid in solids]
            data.append({
                'type': 'scatter3d', 'mode': 'markers', 'name': f'centres of mass, {name}',
                'legendgroup': name, 'showlegend': False,
                'x': [c[0] for c in centres], 'y': [c[1] for c in centres],
                'z': [c[2] for c in centres], 'text': [label(body) for body, _ in solids],
                'hoverinfo': 'text+name', 'marker': {'color': colour, 'size': 3.5}})
        plain = {'backgroundcolor': '#ffffff', 'gridcolor': GRID, 'zerolinecolor': GRID}
        made = figure(data, {'visible': False}, {'visible': False}, height=520)
        made['layout'] |= {
            'margin': {'l': 0, 'r': 0, 't': 60, 'b': 0},
            'scene': {'aspectmode': 'data', 'camera': {'eye': {'x': 1.4, 'y': 1.4, 'z': 0.7}}, **{
                f'{name}axis': plain | {'title': {'text': f'{name} [m]'}} for name in 'xyz'}}}
        return made

    def _view(self, i: int, j: int, across: str, up: str) -> Figure:
        data = [
            line(points[i], points[j], 'pose', INK if not k else '#cfcfcf',
                 width=3.0 if not k else 1.0, showlegend=False, hoverinfo='skip')
            for k, points in reversed(list(enumerate(self.skeletons)))]
        for when, name, colour in (
            ('before', 'before the fit', BEFORE), ('after', 'identified', IDENTIFIED)):
            solids = self._solids(when)
            outlines = [_outline(solid, i, j) for _, solid in solids]
            data.append(line(
                [x for outline in outlines for x in outline[0]],
                [y for outline in outlines for y in outline[1]], name, colour, hoverinfo='skip'))
            data.append(dots(
                [solid.centre[i] for _, solid in solids], [solid.centre[j] for _, solid in solids],
                name, colour, size=5, showlegend=False, text=[label(body) for body, _ in solids],
                hoverinfo='text'))
        return figure(
            data, axis(across), axis(up, scaleanchor='x', scaleratio=1), height=360)


def _bodies(
    estimate: Estimate, robot: RobotModel, poses: BodyPoses, row: int
) -> list[BodyView]:
    parameters = estimate.parameters
    views = []
    for k, body in enumerate(robot.body_names):
        if body not in parameters.bodies:
            continue
        place = poses.rotation[row, k], poses.origin[row, k]
        views.append(BodyView(
            body=body, before=_solid(parameters.prior[parameters.body_slice(body)], *place),
            after=_solid(parameters.inertial(body), *place)))
    return views


def _solid(phi: np.ndarray, rotation: np.ndarray, origin: np.ndarray) -> Solid | None:
    """The ellipsoid of a body; squared semi-axes are five times the second moments per mass."""
    if not phi[0] > 0.0:
        return None
    mass, centre, inertia = central_inertia(phi)
    second = (0.5 * np.trace(inertia) * np.eye(3) - inertia) / mass
    values, vectors = np.linalg.eigh(second)
    axes = rotation @ vectors
    shape = 5.0 * (axes * np.maximum(values, 0.0)) @ axes.T
    return Solid(
        mass=mass, centre=series(rotation @ centre + origin), shape=series(shape),
        possible=bool(values[0] >= 0.0))


def _skeleton(robot: RobotModel, poses: BodyPoses, row: int) -> list[Series]:
    """Lines from each joint to the ones that it carries, three rows of coordinates."""
    hole = np.full(3, np.nan)
    points = []
    for k, parent in enumerate(robot.tree.parent):
        start = np.zeros(3) if parent < 0 else poses.origin[row, parent]
        points += [start, poses.origin[row, k], hole]
    return [series(column) for column in np.array(points).reshape(-1, 3).T]


def _in_space(
    points: list[Series], name: str, colour: str, width: float, k: int, group: str
) -> Trace:
    return {
        'type': 'scatter3d', 'mode': 'lines', 'x': points[0], 'y': points[1], 'z': points[2],
        'name': name, 'legendgroup': group, 'showlegend': k in (0, 1) if group != 'path' else not k,
        'hoverinfo': 'skip', 'line': {'color': colour, 'width': width}}


def _root(solid: Solid) -> np.ndarray:
    """The matrix square root of an ellipsoid's shape, which maps the unit ball to it."""
    values, vectors = np.linalg.eigh(np.array(solid.shape, dtype=float).reshape(3, 3))
    root: np.ndarray = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root


def _mesh(
    solid: Solid, body: str, name: str, colour: str, opacity: float, *, first: bool
) -> Trace:
    turn = np.arange(_AROUND) * 2.0 * np.pi / _AROUND
    rise = (np.arange(_BETWEEN) + 1.0) * np.pi / (_BETWEEN + 1.0)
    ring = np.array([
        [np.sin(b) * np.cos(a), np.sin(b) * np.sin(a), np.cos(b)] for b in rise for a in turn])
    ball = np.vstack([ring, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])
    points = ball @ _root(solid) + np.array(solid.centre, dtype=float)
    faces = np.array(_ball_faces()).T
    entry: dict[str, Any] = {
        'type': 'mesh3d', 'name': f'bodies, {name}', 'legendgroup': name, 'showlegend': first,
        'color': colour, 'opacity': opacity, 'flatshading': False, 'hoverinfo': 'text',
        'text': f'{label(body)}, {name}: {solid.mass:.4g} kg'}
    return entry | {
        axis_name: series(column) for axis_name, column in zip('xyz', points.T, strict=True)
    } | {corner: row.tolist() for corner, row in zip('ijk', faces, strict=True)}


def _ball_faces() -> list[tuple[int, int, int]]:
    top, bottom, last = _AROUND * _BETWEEN, _AROUND * _BETWEEN + 1, _AROUND * (_BETWEEN - 1)
    faces = []
    for a in range(_AROUND):
        b = (a + 1) % _AROUND
        faces += [(top, a, b), (bottom, last + b, last + a)]
        for k in range(0, last, _AROUND):
            faces += [(k + a, k + _AROUND + a, k + b), (k + b, k + _AROUND + a, k + _AROUND + b)]
    return faces


def _outline(solid: Solid, i: int, j: int) -> tuple[Series, Series]:
    """The ellipsoid seen along the third axis, closed, with a hole after it."""
    shape = np.array(solid.shape, dtype=float).reshape(3, 3)[np.ix_([i, j], [i, j])]
    values, vectors = np.linalg.eigh(shape)
    angle = np.linspace(0.0, 2.0 * np.pi, _ELLIPSE)
    ring = (vectors * np.sqrt(np.maximum(values, 0.0))) @ np.array([np.cos(angle), np.sin(angle)])
    centre = solid.centre
    return tuple(  # type: ignore[return-value]
        [*series(ring[n] + (centre[k] or 0.0)), None] for n, k in enumerate((i, j)))
