"""A robot in three dimensions: shapes, ellipsoids of inertia, centres of mass, and its joints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from nicegui import ui

from sysid_ros.studio.page.parts import block, text
from sysid_ros.studio.placements import body_placements

# Okabe and Ito's colours: apart for colour-blind eyes.
_SHAPES, _BONES, _SOLIDS, _CENTRES, _IMPOSSIBLE, _BOXES = (
    '#8a9299', '#222222', '#0072b2', '#e69f00', '#d55e00', '#cc79a7')
# three.js has cylinders along y.
_UPRIGHT = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
# Radius of the ball of a centre of mass, in parts of the robot's size; and steps of a slider.
_BALL, _STEPS = 0.012, 200
_GROUPS = ('Shapes', 'Joints', 'Inertia ellipsoids', 'Centres of mass', 'Names')
# Directions that a robot is looked at from.
_VIEWS = {
    'Corner': (1.0, -1.0, 0.7), 'Front': (1.7, 0.0, 0.2), 'Side': (0.0, -1.7, 0.2),
    'Top': (0.01, 0.0, 1.9)}


class SceneView:
    """A robot that is turned with the pointer, and moved by sliders.

    Args:
        scene: As :func:`~sysid_ros.studio.robot_scene.robot_scene` has it.
        mesh: Address of a file of its meshes.
    """

    def __init__(self, scene: Mapping[str, Any], mesh: Callable[[str], str]) -> None:
        self._scene, self._mesh = scene, mesh
        self._positions = [joint['at'] for joint in scene['joints']]
        self._middle, self._size = _extent(scene, self._positions)
        self._groups: dict[str, list[Any]] = {name: [] for name in _GROUPS}
        self._bodies: list[Any] = []
        self._boxes: list[Any] = []
        self._draw()
        self._controls()

    def _draw(self) -> None:
        side = max(2, int(np.ceil(4.0 * self._size)))
        self._view = ui.scene(
            width=600, height=460, grid=(side, 10 * side), background_color='#eef0f0', fps=15,
            camera=ui.scene.perspective_camera(fov=45, near=0.01, far=200.0))
        self._view.classes('scene').props.update({
            'role': 'img', 'aria-label': 'The robot in three dimensions; its bodies and masses are '
            'in the table beside it.'})
        with self._view as view:
            self._add_bodies(view)
            for shape in self._scene['shapes']:
                self._inside(shape['body'], partial(self._add_shape, view, shape))
            for solid in self._scene['solids']:
                self._inside(solid['body'], partial(self._add_solid, view, solid))
        self._turn_to('Corner', 0.0)
        self._pose()
        self._show('Names', False)

    @property
    def element(self) -> Any:
        """The element that the robot is drawn in."""
        return self._view

    def show_boxes(self, boxes: Sequence[tuple[Sequence[float], Sequence[float]]]) -> None:
        """Draw boxes that stand still in place of those before.

        Args:
            boxes: Two corners of each in the base frame in [m]; what is no box is left out.
        """
        for made in self._boxes:
            made.delete()
        self._boxes = []
        with self._view as view:
            for lower, upper in boxes:
                size = np.subtract(upper, lower)
                if (size > 0.0).all():
                    box = view.box(*size.tolist()).material(_BOXES, 0.35)
                    self._boxes.append(box.move(*np.add(lower, 0.5 * size).tolist()))

    def _add_bodies(self, view: Any) -> None:
        """A group for each body, inside that of its parent."""
        for body in self._scene['bodies']:
            self._inside(body['parent'], lambda: self._bodies.append(view.group()))
            if body['revolute']:
                # Where it is carried does not change.
                self._inside(body['parent'], partial(self._add_bone, view, body))

    def _add_bone(self, view: Any, body: Mapping[str, Any]) -> None:
        """The line from a joint to one that it carries, and its end."""
        joint = view.sphere(0.7 * _BALL * self._size).material(_BONES)
        self._groups['Joints'].append(joint.move(*body['translation']))
        if any(body['translation']):
            line = view.line([0.0, 0.0, 0.0], list(body['translation'])).material(_BONES)
            self._groups['Joints'].append(line)

    def _inside(self, body: int, add: Callable[[], None]) -> None:
        """Add something to a body, or to the base."""
        if body < 0:
            add()
        else:
            with self._bodies[body]:
                add()

    def _add_shape(self, view: Any, shape: Mapping[str, Any]) -> None:
        for made, rotation, translation in self._parts(view, shape):
            # The far sides alone hide nothing of what is inside.
            made.material(_SHAPES, 0.6, 'back').rotate_R(rotation.tolist())
            made.move(*translation.tolist())
            self._groups['Shapes'].append(made)

    def _parts(
        self, view: Any, shape: Mapping[str, Any]
    ) -> list[tuple[Any, np.ndarray, np.ndarray]]:
        """Objects that a shape is made of, each with its placement in the body."""
        rotation, translation = np.array(shape['rotation']), np.array(shape['translation'])
        kind, size = shape['kind'], shape['size']
        if kind == 'box':
            return [(view.box(*(2.0 * half for half in size)), rotation, translation)]
        if kind == 'sphere':
            return [(view.sphere(size[0]), rotation, translation)]
        if kind == 'ellipsoid':
            return [(view.sphere(1.0).scale(*size), rotation, translation)]
        if kind == 'mesh':
            return [(view.stl(self._mesh(shape['file'])), rotation, translation)]
        radius, half = size
        parts = [(view.cylinder(radius, radius, 2.0 * half, 24), rotation @ _UPRIGHT, translation)]
        if kind == 'capsule':
            end = rotation @ np.array([0.0, 0.0, half])
            parts += [(view.sphere(radius), rotation, translation + end),
                      (view.sphere(radius), rotation, translation - end)]
        return parts

    def _add_solid(self, view: Any, solid: Mapping[str, Any]) -> None:
        colour = _SOLIDS if solid['possible'] else _IMPOSSIBLE
        # Of two things in one place the first is drawn first: the ball is seen in the ellipsoid.
        ball = view.sphere(_BALL * self._size).material(_CENTRES).move(*solid['translation'])
        self._groups['Centres of mass'].append(ball)
        ellipsoid = view.sphere(0.5).material(colour, 0.4)
        ellipsoid.scale(*solid['size']).rotate_R(solid['rotation']).move(*solid['translation'])
        self._groups['Inertia ellipsoids'].append(ellipsoid)
        label = view.text(f'{solid["name"]}: {solid["mass"]:.3g} kg', 'font: 12px system-ui; '
                          'background: rgba(255, 255, 255, 0.8); padding: 0 4px;')
        self._groups['Names'].append(label.move(*solid['translation']))

    def _controls(self) -> None:
        with block('div', 'beside'):
            for name, objects in self._groups.items():
                if objects:
                    ui.checkbox(name, value=name != 'Names', on_change=lambda event, name=name: (
                        self._show(name, event.value)))
            for name in _VIEWS:
                made = ui.button(
                    name, on_click=lambda name=name: self._turn_to(name), color='grey-8')
                made.props('no-caps flat dense').props['aria-label'] = f'{name}: look from there'
        movable = [k for k, joint in enumerate(self._scene['joints']) if joint['moves']]
        if movable:
            with block('details'):
                text('summary', 'Move the joints')
                for k in movable:
                    self._slider(k)

    def _slider(self, k: int) -> None:
        joint = self._scene['joints'][k]
        unit = 'm' if joint['kind'] == 'prismatic' else 'rad'
        with block('div', 'beside'):
            said = text('span', '', 'soft')
            said.style('min-width: 14em; overflow-wrap: anywhere')
            step = max((joint['upper'] - joint['lower']) / _STEPS, 1e-6)

            def move(position: float) -> None:
                said.set_text(f'{joint["name"]}: {position:.3g} {unit}')
                self._positions[k] = position
                self._pose()

            slider = ui.slider(
                min=joint['lower'], max=joint['upper'], step=step, value=joint['at'],
                on_change=lambda event: move(float(event.value)))
            slider.classes('grow').props['aria-label'] = f'{joint["name"]} in {unit}'
            said.set_text(f'{joint["name"]}: {joint["at"]:.3g} {unit}')

    def _pose(self) -> None:
        """Place all bodies for the positions of the joints."""
        placed = body_placements(self._scene['bodies'], self._positions)
        for group, (rotation, translation) in zip(self._bodies, placed, strict=True):
            group.rotate_R(rotation).move(*translation)

    def _show(self, group: str, shown: bool) -> None:
        for made in self._groups[group]:
            made.visible(shown)

    def _turn_to(self, name: str, seconds: float = 0.4) -> None:
        x, y, z = self._middle
        away = 1.25 * self._size
        right, front, up = (away * part for part in _VIEWS[name])
        self._view.move_camera(x + right, y + front, z + up, x, y, z, duration=seconds)


def _extent(
    scene: Mapping[str, Any], positions: Sequence[float]
) -> tuple[np.ndarray, float]:
    """Middle and size of a robot in [m]: of the origins of its bodies, and what sits on them."""
    origins, turns = [np.zeros(3)], list[np.ndarray]()
    placed = body_placements(scene['bodies'], positions)
    for body, (rotation, translation) in zip(scene['bodies'], placed, strict=True):
        turn, origin = np.eye(3), np.zeros(3)
        if body['parent'] >= 0:
            turn, origin = turns[body['parent']], origins[body['parent'] + 1]
        origins.append(origin + turn @ np.array(translation))
        turns.append(turn @ np.array(rotation))
    points = [*origins, *(
        origins[solid['body'] + 1] + turns[solid['body']] @ np.array(solid['translation'])
        for solid in scene['solids'])]
    low, high = np.min(points, axis=0), np.max(points, axis=0)
    return 0.5 * (low + high), max(float(np.linalg.norm(high - low)), 0.1)
