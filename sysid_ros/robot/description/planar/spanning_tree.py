r"""Planar mechanisms as trees of joints whose loops are closed, as robots are described.

Bodies and the ground are the nodes of a graph, places where they meet its edges. A spanning tree
keeps the edges of driven angles first, then sliders, then other angles along which something acts;
what is left over closes the loops. A slider is a block without mass on a prismatic joint along the
line. The plane stands upright: its x axis is that of the world, its y axis the world's z.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from sysid_ros.errors import ModelError
from sysid_ros.robot.description.planar.mechanism_settings import AngleSettings, MechanismSettings
from sysid_ros.robot.description.planar.planar_geometry import Frame, Geometry, wrapped_angle
from sysid_ros.robot.description.planar.planar_tree import PlanarJoint, PlanarTree
from sysid_ros.robot.loops import LoopClosure

# Edges in the order in which the tree takes them.
_DRIVEN, _SLIDE, _ACTING, _OTHER = range(4)


def planar_tree(settings: MechanismSettings, where: str) -> PlanarTree:
    """Spanning tree of a planar mechanism, and what closes its loops.

    Args:
        settings: The mechanism.
        where: Its file, for messages.

    Raises:
        ModelError: A name is unknown or taken twice, points coincide, a slider's point is off its
            line, a body is held nowhere, an angle that matters is at no joint, or a body has less
            inertia than its centre of mass alone gives it.
    """
    return _Builder(Geometry(settings, where)).tree()


@dataclass(frozen=True)
class _Edge:
    """A place where two nodes meet: a point, or a slider's line where there is none."""

    first: str
    second: str
    point: str
    angle: str = ''
    rank: int = _OTHER
    slider: str = ''


@dataclass
class _Builder:
    """A tree on its way."""

    geometry: Geometry
    taken: list[_Edge] = field(default_factory=list)
    pins: list[_Edge] = field(default_factory=list)

    def tree(self) -> PlanarTree:
        """The tree; see :func:`planar_tree`."""
        settings, geometry = self.geometry.settings, self.geometry
        for edge in sorted(self._edges(), key=lambda edge: edge.rank):
            if edge.second not in _reached(self.taken, edge.first):
                self.taken.append(edge)
            elif edge.angle:
                self._add_pin(edge)
        frames, joints = self._joints()
        closures = tuple(self._closures(frames))
        names = {joint.name for joint in joints}
        driven = tuple(dict.fromkeys(
            name for name in (*settings.torques, *settings.independent) if name in names))
        driven = driven or tuple(name for name in settings.angles if name in names)
        if closures and not driven:
            raise ModelError(
                'no angle says where the mechanism is', where=geometry.where,
                found='no angles at joints', allowed='one for each motor or encoder',
                fix='Add one, as angles: {theta: {of: [A, B]}}, and torques: [theta]')
        return PlanarTree(
            settings.name, settings.gravity, geometry.ground,
            tuple(geometry.link(name, frames[name]) for name in frames if name != geometry.ground),
            tuple(joints), closures, driven if closures else (),
            {name: angle for name, angle in settings.angles.items() if name in names})

    def _edges(self) -> list[_Edge]:
        """Places where nodes meet; an angle that matters has one of them, each at most one.

        Raises:
            ModelError: A body meets nothing that leads to the ground, or an angle is at no place.
        """
        geometry, edges = self.geometry, []
        for name, node in geometry.nodes.items():
            if node.slider:
                edges.append(_Edge(node.line_body, name, '', rank=_SLIDE, slider=node.slider))
        for point in geometry.settings.points:
            meeting = geometry.nodes_at(point)
            edges += [
                _Edge(first, second, point)
                for k, first in enumerate(meeting) for second in meeting[k + 1:]]
        geometry.require_held(_reached(edges, geometry.ground))
        for name, angle in geometry.settings.angles.items():
            rank = self._rank(name, angle)
            turned = geometry.bodies_of_angle(name, angle)
            found = [
                k for k, edge in enumerate(edges) if edge.point and not edge.angle
                and {geometry.turning(edge.first), geometry.turning(edge.second)} == set(turned)]
            if found:
                old = edges[found[0]]
                edges[found[0]] = _Edge(old.first, old.second, old.point, name, rank)
            elif rank != _OTHER:
                geometry.refuse_angle(name, turned)
        return edges

    def _rank(self, name: str, angle: AngleSettings) -> int:
        settings = self.geometry.settings
        if name in settings.torques or name in settings.independent:
            return _DRIVEN
        return _ACTING if angle.forces else _OTHER

    def _add_pin(self, edge: _Edge) -> None:
        """A joint within a loop that is cut: it turns a pin, which the second node holds."""
        if edge.rank == _OTHER:
            return
        pin = self.geometry.add_pin(edge.angle, edge.second, edge.point)
        self.taken.append(_Edge(edge.first, pin, edge.point, edge.angle, edge.rank))
        self.pins.append(_Edge(pin, edge.second, edge.point))

    def _joints(self) -> tuple[dict[str, Frame], list[PlanarJoint]]:
        """Frames of the links that hang on the ground, and their joints, from the ground on."""
        geometry = self.geometry
        frames, joints = {geometry.ground: geometry.nodes[geometry.ground].frame}, []
        reached = [geometry.ground]
        for parent in reached:
            for edge in self.taken:
                for near, far in ((edge.first, edge.second), (edge.second, edge.first)):
                    if near == parent and far not in frames:
                        joint, frames[far] = self._joint(edge, parent, far, frames[parent])
                        joints.append(joint)
                        reached.append(far)
        return frames, joints

    def _joint(
        self, edge: _Edge, parent: str, child: str, at: Frame
    ) -> tuple[PlanarJoint, Frame]:
        """A joint, and the frame of its child as the mechanism is assembled."""
        geometry = self.geometry
        node = geometry.nodes[child]
        if edge.slider:
            return geometry.slide(edge.slider, parent, child, at)
        frame = Frame(geometry.at[edge.point], node.frame.angle)
        sign, position = 1.0, 0.0
        if edge.angle:
            sign, position = geometry.position(edge.angle, child)
        turn = wrapped_angle(frame.angle - at.angle - sign * position)
        x, y = at.local(frame.origin)
        name = edge.angle or geometry.joint_name(child)
        return PlanarJoint(
            name, 'continuous', parent, child, (x, y, turn), (0.0, 0.0, sign), position), frame

    def _closures(self, frames: Mapping[str, Frame]) -> list[LoopClosure]:
        """Closures of the points at which the tree does not hold all nodes together."""
        closures = []
        for pin in self.pins:
            closures.append(LoopClosure(
                pin.first, 'frame', (pin.first, pin.second), np.array([
                    frames[node].pose_of(self.geometry.at[pin.point], frames[pin.first].angle)
                    for node in (pin.first, pin.second)])))
        for point in self.geometry.settings.points:
            meeting = self.geometry.nodes_at(point)
            here = [edge for edge in (*self.taken, *self.pins) if edge.point == point]
            # Each node that the tree does not hold to one before it is held by a closure.
            loose = [
                node for k, node in enumerate(meeting)
                if k and _reached(here, node).isdisjoint(meeting[:k])]
            for node in loose:
                number = f' {len(closures)}' if len(loose) > 1 else ''
                closures.append(LoopClosure(
                    f'{point}{number}', 'point', (meeting[0], node), np.array([
                        frames[one].pose_of(self.geometry.at[point], frames[one].angle)
                        for one in (meeting[0], node)])))
        return closures


def _reached(edges: Iterable[_Edge], start: str) -> set[str]:
    """Nodes that edges lead to from one, which is among them."""
    reached, size = {start}, 0
    while size < len(reached):
        size = len(reached)
        for edge in edges:
            if (edge.first in reached) != (edge.second in reached):
                reached |= {edge.first, edge.second}
    return reached
