"""Where the bodies of a planar mechanism are when it is assembled, and where they meet."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from sysid_ros.errors import ModelError, did_you_mean
from sysid_ros.robot.description.planar.mechanism_settings import (
    AngleSettings,
    BodySettings,
    MechanismSettings,
    SliderSettings,
)
from sysid_ros.robot.description.planar.planar_tree import PlanarJoint, PlanarLink
from sysid_ros.robot.loops import WORLD

_Vector = tuple[float, float]
# Names that loaders keep for what stands still.
_RESERVED = ('universe', WORLD)
_GROUND = 'ground'
# A slider's point may be off its line by this part of the size of the mechanism, as rounding is.
_ON_LINE = 1e-6
# A centre of mass may take this part more than all of the moment of inertia, as rounding does.
_ROUNDED = 1e-9


def wrapped_angle(angle: float) -> float:
    """An angle within half a turn of zero in [rad]."""
    return math.remainder(angle, 2.0 * math.pi)


@dataclass(frozen=True)
class Frame:
    """A frame in the plane.

    Attributes:
        origin: In [m].
        angle: Of its x axis in [rad].
    """

    origin: _Vector
    angle: float

    def local(self, point: _Vector) -> _Vector:
        """A point of the plane in this frame in [m]."""
        c, s = math.cos(self.angle), math.sin(self.angle)
        x, y = point[0] - self.origin[0], point[1] - self.origin[1]
        return c * x + s * y, c * y - s * x

    def pose_of(self, point: _Vector, angle: float) -> np.ndarray:
        """Pose in this frame of a frame at a point and angle of the plane, shape ``(4, 4)``."""
        turn, pose = angle - self.angle, np.eye(4)
        c, s = math.cos(turn), math.sin(turn)
        pose[:2, :2] = (c, -s), (s, c)
        pose[:2, 3] = self.local(point)
        return pose


@dataclass(frozen=True)
class Node:
    """A body, the ground, a slider's block, or a pin in a joint of a loop.

    Attributes:
        frame: Its axes as the mechanism is assembled.
        points: Points that it holds.
        body: What the file says of it; None where it has no mass.
        slider: The slider whose block it is; empty for others.
        line_body: The node whose line the block slides along.
    """

    frame: Frame
    points: tuple[str, ...]
    body: BodySettings | None = None
    slider: str = ''
    line_body: str = ''


@dataclass
class Geometry:
    """A mechanism as it is assembled.

    Attributes:
        settings: The mechanism.
        where: Its file, for messages.
        at: Where its points are in [m].
        ground: Name of the node that stands still.
        nodes: All nodes by name, the ground first.

    Raises:
        ModelError: A name is unknown or taken twice, points coincide, or a slider's point is off
            its line.
    """

    settings: MechanismSettings
    where: str
    at: dict[str, _Vector] = field(init=False)
    ground: str = field(init=False)
    nodes: dict[str, Node] = field(init=False)

    def __post_init__(self) -> None:
        settings = self.settings
        self.at = {name: point.at for name, point in settings.points.items()}
        self.ground = _free_name(_GROUND, settings.bodies)
        fixed = tuple(name for name, point in settings.points.items() if point.fixed)
        self.nodes = {self.ground: Node(Frame((0.0, 0.0), 0.0), fixed)}
        for name, body in settings.bodies.items():
            if name in _RESERVED:
                raise ModelError(
                    'the name is kept for what stands still', where=f'{self.where}: bodies',
                    found=repr(name), fix='Call the body by another name')
            self._require_points(body.points, f'bodies: {name}')
            frame = Frame(self.at[body.points[0]], self.direction(body.points[:2], name))
            self.nodes[name] = Node(frame, body.points, body)
        for name, slider in settings.sliders.items():
            self.nodes[_free_name(f'{name}_block', self.nodes)] = self._block(name, slider)
        for name in (*settings.torques, *settings.independent):
            self._require_angle(name)
        for name in settings.angles.keys() & settings.sliders.keys():
            raise ModelError(
                'an angle and a slider have the same name', where=self.where, found=repr(name),
                fix='Call one of them by another name')

    def direction(self, points: Iterable[str], of: str) -> float:
        """Angle of the way from one point to another in [rad].

        Raises:
            ModelError: The points are at one place.
        """
        (x1, y1), (x2, y2) = (self.at[point] for point in points)
        if (x1, y1) == (x2, y2):
            raise ModelError(
                'two points are at the same place', where=f'{self.where}: {of}', found=(x1, y1),
                fix='Give them different positions')
        return math.atan2(y2 - y1, x2 - x1)

    def nodes_at(self, point: str) -> list[str]:
        """Nodes that hold a point: the ground, bodies and blocks, in the order of the file."""
        return [name for name, node in self.nodes.items() if point in node.points]

    def turning(self, node: str) -> str:
        """The node that a node turns with: a block with the body whose line it slides along."""
        return self.nodes[node].line_body or node

    def bodies_of_angle(self, name: str, angle: AngleSettings) -> tuple[str, str]:
        """Nodes that an angle is of, and measured against.

        Raises:
            ModelError: A point is unknown, or no body holds two points.
        """
        return self._holder(angle.of, f'angles: {name}: of'), (
            self.ground if angle.against is None
            else self._holder(angle.against, f'angles: {name}: against'))

    def position(self, angle: str, child: str) -> tuple[float, float]:
        """Sense in which an angle turns the child of its joint, and its value in [rad]."""
        given = self.settings.angles[angle]
        turned, _ = self.bodies_of_angle(angle, given)
        zero = 0.0 if given.against is None else self.direction(given.against, angle)
        value = wrapped_angle(self.direction(given.of, angle) - zero)
        return 1.0 if self.turning(child) == turned else -1.0, value

    def refuse_angle(self, name: str, turned: tuple[str, str]) -> NoReturn:
        """Say that an angle that matters is at no joint."""
        raise ModelError(
            'nothing turns there: the bodies of the angle do not meet, or another angle is of the '
            'same joint', where=f'{self.where}: angles: {name}', found=' and '.join(turned),
            allowed='an angle of two bodies that share a point, or of one at a fixed point',
            fix='Measure it against a body that it meets, or take away what acts along it')

    def require_held(self, held: Iterable[str]) -> None:
        """Refuse bodies that hang on nothing.

        Raises:
            ModelError: There are some.
        """
        loose = [name for name in self.nodes if name not in set(held)]
        if loose or len(self.nodes) == 1:
            raise ModelError(
                'bodies hang on nothing' if loose else 'the mechanism has nothing that moves',
                where=self.where, found=', '.join(loose) or 'no bodies',
                allowed='bodies that fixed points and other bodies hold',
                fix='Give a point of theirs fixed: true, or let them share one')

    def link(self, name: str, frame: Frame) -> PlanarLink:
        """A node as a link whose frame is where its joint is.

        Raises:
            ModelError: Its centre of mass takes more than all of its moment of inertia, or it has
                such a moment and no mass.
        """
        node = self.nodes[name]
        shift = node.frame.local(frame.origin)
        if node.body is None or not (node.body.mass or node.body.inertia):
            return PlanarLink(name, shift)
        if not node.body.mass:
            raise ModelError(
                'a body without mass has a moment of inertia',
                where=f'{self.where}: bodies: {name}', found=f'{node.body.inertia:g} kg·m²',
                allowed='none', fix='Give the body a mass, or leave inertia out')
        first, second = node.body.points[:2]
        length = math.dist(self.at[first], self.at[second])
        mass, (x, y) = node.body.mass, node.body.center_at(length)
        about_first, steiner = node.body.inertia_at(length), mass * (x * x + y * y)
        if about_first < (1.0 - _ROUNDED) * steiner:
            raise ModelError(
                'the moment of inertia about the first point is less than mass and centre alone '
                'make it', where=f'{self.where}: bodies: {name}', found=f'{about_first:g} kg·m²',
                allowed=f'{steiner:g} kg·m² or more',
                fix='Give inertia about the first point, and not about the centre of mass')
        return PlanarLink(
            name, shift, mass, (x - shift[0], y - shift[1]), max(about_first - steiner, 0.0))

    def joint_name(self, child: str) -> str:
        """Name of a joint that no angle names."""
        return _free_name(f'{child}_joint', (*self.settings.angles, *self.settings.sliders))

    def add_pin(self, angle: str, holder: str, point: str) -> str:
        """A node without mass between two bodies, at the joint of an angle; its name."""
        name = _free_name(f'{angle}_pin', self.nodes)
        node = self.nodes[holder]
        self.nodes[name] = Node(
            Frame(self.at[point], node.frame.angle), (), line_body=self.turning(holder))
        return name

    def slide(
        self, slider: str, parent: str, child: str, at: Frame
    ) -> tuple[PlanarJoint, Frame]:
        """The joint of a slider, whose position is the way of its point along the line in [m].

        Args:
            slider: Its name.
            parent: The node next to the ground.
            child: The other one.
            at: Frame of the parent.
        """
        given, node = self.settings.sliders[slider], self.nodes[child]
        line = Frame(self.at[given.line[0]], self.direction(given.line, slider))
        position = line.local(self.at[given.point])[0]
        to_block = bool(node.slider)
        frame = Frame(self.at[given.point] if to_block else node.frame.origin, node.frame.angle)
        # The axis in the joint frame: along the line for a block, back along it for its line.
        turn = line.angle - frame.angle
        sign = 1.0 if to_block else -1.0
        axis = sign * math.cos(turn), sign * math.sin(turn), 0.0
        away = position * math.cos(line.angle), position * math.sin(line.angle)
        zero = frame.origin[0] - sign * away[0], frame.origin[1] - sign * away[1]
        x, y = at.local(zero)
        return PlanarJoint(
            slider, 'prismatic', parent, child, (x, y, wrapped_angle(frame.angle - at.angle)),
            axis, position), frame

    def _block(self, name: str, slider: SliderSettings) -> Node:
        """Block of a slider.

        Raises:
            ModelError: A point is unknown, no body holds the line, or the point is off it.
        """
        place = f'sliders: {name}'
        self._require_points((slider.point, *slider.line), place)
        holder = self._holder(slider.line, f'{place}: line')
        line = Frame(self.at[slider.line[0]], self.direction(slider.line, place))
        off = line.local(self.at[slider.point])[1]
        size = max(math.dist(self.at[slider.line[0]], point) for point in self.at.values())
        if abs(off) > _ON_LINE * size:
            raise ModelError(
                'the point is not on its line as the mechanism is assembled',
                where=f'{self.where}: {place}', found=f'{abs(off):g} m beside it',
                allowed=f'less than {_ON_LINE * size:.2g} m',
                fix=f'Move {slider.point}, or a point of the line')
        frame = Frame(self.at[slider.point], line.angle)
        return Node(frame, (slider.point,), slider=name, line_body=holder)

    def _holder(self, points: tuple[str, str], place: str) -> str:
        """The node that holds two points.

        Raises:
            ModelError: A point is unknown, or there is none.
        """
        self._require_points(points, place)
        for name, node in self.nodes.items():
            if not node.slider and set(points) <= set(node.points):
                return name
        raise ModelError(
            'no body holds both points', where=f'{self.where}: {place}', found=', '.join(points),
            allowed='two points of one body, or two fixed ones',
            fix='Name points of one body')

    def _require_points(self, points: Iterable[str], place: str) -> None:
        for point in points:
            if point not in self.at:
                raise ModelError(
                    'there is no such point', where=f'{self.where}: {place}', found=repr(point),
                    allowed=', '.join(self.at), fix=did_you_mean(point, self.at))

    def _require_angle(self, name: str) -> None:
        """Refuse a driven or independent coordinate that does not exist."""
        moving = [
            f'{point}.{axis}' for point, given in self.settings.points.items() if not given.fixed
            for axis in 'xy']
        known = (*self.settings.angles, *moving)
        if name not in known:
            raise ModelError(
                'there is no such coordinate', where=f'{self.where}: torques and independent',
                found=repr(name), allowed=', '.join(known), fix=did_you_mean(name, known))


def _free_name(wanted: str, taken: Iterable[str]) -> str:
    names = set(taken)
    while wanted in names:
        wanted += '_'
    return wanted
