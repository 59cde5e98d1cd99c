"""The robot in space: its motion, ellipsoids of inertia and centres of mass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.errors import SysidError
from sysid_ros.report.link_shapes import LinkShape, link_shapes
from sysid_ros.report.player import Player, layer, player, shape_layer
from sysid_ros.report.plots import (
    BEFORE,
    IDENTIFIED,
    INK,
    LINK,
    Figure,
    axis,
    dots,
    figure,
    label,
    line,
)
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.robot_motion import MotionPoses, PlayedMotion, Solid
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Line, Point, Series, series

# Bodies with an ellipsoid, and points of an ellipse.
_MOST_BODIES, _ELLIPSE = 40, 40


class BodyView(ReportModel):
    """A body before the fit and after; None where it has no mass.

    Attributes:
        tree_index: Which body of the played motion it moves with; None in older reports.
    """

    body: str
    before: Solid | None
    after: Solid | None
    tree_index: int | None = None


class StandingBox(ReportModel):
    """A box that stands still, by two corners in the base frame in [m]."""

    name: str
    lower: Point
    upper: Point


class RobotViewSection(Section):
    """The robot in the middle of its motion, and the motion.

    Attributes:
        bodies: Bodies with parameters.
        skeletons: Points of the skeletons of some poses, the first that of the ellipsoids; None
            lifts the pen. Three rows: x, y, z in [m].
        ends: Names of bodies that carry no other.
        paths: Paths of their origins in the motion, three rows each.
        motion: The motion to play; None in older reports.
        before_name: What the ellipsoids are called that stand under ``before``.
        after_name: The same of those under ``after``.
        boxes: What stands around the robot.
        shapes: Shapes of its links; none where its description has none that can be read.
    """

    section: Literal['robot_view'] = 'robot_view'
    title: ClassVar[str] = 'The robot'
    bodies: list[BodyView]
    skeletons: list[Line]
    ends: list[str]
    paths: list[Line]
    motion: PlayedMotion | None = None
    before_name: str = 'before the fit'
    after_name: str = 'identified'
    boxes: list[StandingBox] = []
    shapes: list[LinkShape] = []

    @classmethod
    def of(cls, source: ReportSource) -> Self | None:
        """The robot of a run; None where its motion is not in memory or it cannot be placed."""
        data = source.motion
        if data is None:
            return None
        robot, parameters = source.judged.model.robot, source.estimate.parameters
        try:
            poses = MotionPoses.of(robot, data.t, data.q, data.segments)
        except SysidError:
            return None
        return cls.of_bodies(poses, [
            BodyView(
                body=body, tree_index=int(poses.bodies[k]),
                before=poses.solid(k, parameters.prior[parameters.body_slice(body)]),
                after=poses.solid(k, parameters.inertial(body)))
            for k, body in enumerate(robot.body_names) if body in parameters.bodies])

    @classmethod
    def of_bodies(
        cls, poses: MotionPoses, bodies: list[BodyView], *,
        before_name: str = 'before the fit', after_name: str = 'identified',
        boxes: Sequence[StandingBox] = (),
    ) -> Self:
        """The section of a motion.

        Args:
            poses: Poses of the motion.
            bodies: What has ellipsoids.
            before_name: What those under ``before`` are called.
            after_name: The same of those under ``after``.
            boxes: What stands around the robot.
        """
        return cls(
            bodies=bodies, skeletons=poses.skeletons(), ends=poses.end_names(),
            paths=poses.paths(), motion=poses.played, before_name=before_name,
            after_name=after_name, boxes=list(boxes), shapes=link_shapes(poses.robot))

    @property
    def layers(self) -> list[tuple[str, str, str]]:
        """Field of :class:`BodyView`, name and colour of the ellipsoids that there are."""
        every = (('before', self.before_name, BEFORE), ('after', self.after_name, IDENTIFIED))
        return [each for each in every if any(getattr(view, each[0]) for view in self.bodies)]

    def solids(self, when: str) -> list[tuple[BodyView, Solid]]:
        """Bodies with the ellipsoids that can be drawn.

        Args:
            when: ``'before'`` or ``'after'``.
        """
        return [(view, solid) for view in self.bodies[:_MOST_BODIES]
                if (solid := getattr(view, when)) is not None
                and None not in (*solid.centre, *solid.shape)]

    def figures(self) -> dict[str, Figure]:
        """The robot from the side and from above."""
        return {
            'side': self._view(0, 2, 'x [m]', 'z [m]'),
            'above': self._view(0, 1, 'x [m]', 'y [m]')}

    def players(self) -> dict[str, Player]:
        """The robot in motion, where the report has a motion."""
        if self.motion is None:
            return {}
        layers = [
            layer(name, colour, [
                (view.tree_index, view.body, solid) for view, solid in self.solids(when)
                if view.tree_index is not None])
            for when, name, colour in self.layers]
        if self.shapes:
            layers.append(shape_layer('links', LINK, self.shapes))
        return {'motion': player(
            self.motion, layers, self.paths,
            [(box.name, box.lower, box.upper) for box in self.boxes])}

    def _view(self, i: int, j: int, across: str, up: str) -> Figure:
        data = [
            line(points[i], points[j], 'pose', INK if not k else '#cfcfcf',
                 width=3.0 if not k else 1.0, showlegend=False, hoverinfo='skip')
            for k, points in reversed(list(enumerate(self.skeletons)))]
        for when, name, colour in self.layers:
            solids = self.solids(when)
            outlines = [_outline(solid, i, j) for _, solid in solids]
            data.append(line(
                [x for outline in outlines for x in outline[0]],
                [y for outline in outlines for y in outline[1]], label(name), colour,
                hoverinfo='skip'))
            data.append(dots(
                [solid.centre[i] for _, solid in solids], [solid.centre[j] for _, solid in solids],
                label(name), colour, size=5, showlegend=False,
                text=[label(view.body) for view, _ in solids], hoverinfo='text'))
        return figure(
            data, axis(across), axis(up, scaleanchor='x', scaleratio=1), height=360)


def _outline(solid: Solid, i: int, j: int) -> tuple[Series, Series]:
    """The ellipsoid seen along the third axis, closed, with a hole after it."""
    shape = np.array(solid.shape, dtype=float).reshape(3, 3)[np.ix_([i, j], [i, j])]
    values, vectors = np.linalg.eigh(shape)
    angle = np.linspace(0.0, 2.0 * np.pi, _ELLIPSE)
    ring = (vectors * np.sqrt(np.maximum(values, 0.0))) @ np.array([np.cos(angle), np.sin(angle)])
    centre = solid.centre
    return tuple(  # type: ignore[return-value]
        [*series(ring[n] + (centre[k] or 0.0)), None] for n, k in enumerate((i, j)))
