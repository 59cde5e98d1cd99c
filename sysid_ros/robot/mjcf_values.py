"""Values as MJCF writes them: numbers, classes of defaults, orientations in five notations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from lxml import etree

from sysid_ros.robot.numbers import read_numbers

#: Ways to write an orientation; at most one of them counts.
ORIENTATIONS = ('quat', 'axisangle', 'xyaxes', 'zaxis', 'euler')
#: Elements that drive a joint; they share one class of defaults.
ACTUATORS = (
    'general', 'motor', 'position', 'velocity', 'intvelocity', 'pid', 'damper', 'cylinder',
    'muscle', 'dcmotor', 'plugin',
)

_AXES = {'x': 0, 'y': 1, 'z': 2}


def read_values(text: str | None, most: int, least: int | None = None) -> tuple[float, ...] | None:
    """Finite numbers of an attribute, or None where they are not what is expected.

    Args:
        text: Value of the attribute; None when it is absent.
        most: How many there may be, separated by white space.
        least: How many there must be; by default as many.
    """
    if text is None:
        return None
    words = text.split()
    if not (most if least is None else least) <= len(words) <= most:
        return None
    values = [read_numbers(word, 1) for word in words]
    found = tuple(value[0] for value in values if value is not None)
    return found if len(found) == len(words) else None


def values_of(
    attributes: Mapping[str, str], name: str, default: tuple[float, ...]
) -> tuple[float, ...]:
    """Numbers of a checked attribute; missing ones come from the default."""
    found = read_values(attributes.get(name), len(default), 1) or ()
    return (*found, *default[len(found):])


def value_of(attributes: Mapping[str, str], name: str, default: float) -> float:
    """One number of a checked attribute."""
    return values_of(attributes, name, (default,))[0]


@dataclass(frozen=True)
class Compiler:
    """What ``<compiler>`` says about the meaning of the rest.

    Attributes:
        angle: Size of an angular unit in [rad].
        euler: Axes of Euler angles, capital ones fixed in space.
        autolimits: Whether a range alone makes a limit.
        inertia_from_geoms: ``'true'``, ``'false'`` or ``'auto'``: where there is no other.
        groups: First and last group of geoms that carry mass.
        bound_mass: Smallest mass of a body in [kg].
        bound_inertia: Smallest principal moment of a body in [kg·m²].
        balance: Whether inertias of no real body are replaced by their mean.
    """

    angle: float = np.pi / 180.0
    euler: str = 'xyz'
    autolimits: bool = True
    inertia_from_geoms: str = 'auto'
    groups: tuple[float, ...] = (0.0, 5.0)
    bound_mass: float = 0.0
    bound_inertia: float = 0.0
    balance: bool = False

    @classmethod
    def of(cls, root: etree._Element) -> Compiler:
        """Read all ``<compiler>`` elements, later ones over earlier ones."""
        compiler = cls()
        for element in root.findall('compiler'):
            given = plain_attributes(element)
            angle = {'degree': np.pi / 180.0, 'radian': 1.0}
            compiler = replace(
                compiler,
                angle=angle.get(given.get('angle', ''), compiler.angle),
                euler=given.get('eulerseq', compiler.euler),
                autolimits=given.get('autolimits', str(compiler.autolimits).lower()) == 'true',
                inertia_from_geoms=given.get('inertiafromgeom', compiler.inertia_from_geoms),
                groups=values_of(given, 'inertiagrouprange', compiler.groups),
                bound_mass=value_of(given, 'boundmass', compiler.bound_mass),
                bound_inertia=value_of(given, 'boundinertia', compiler.bound_inertia),
                balance=given.get('balanceinertia', str(compiler.balance).lower()) == 'true',
            )
        return compiler

    def pose(self, attributes: Mapping[str, str]) -> np.ndarray:
        """Pose of an element in its parent, shape ``(4, 4)``."""
        pose = np.eye(4)
        pose[:3, :3] = self.rotation(attributes)
        pose[:3, 3] = values_of(attributes, 'pos', (0.0, 0.0, 0.0))
        return pose

    def rotation(self, attributes: Mapping[str, str]) -> np.ndarray:
        """Orientation of an element in its parent, shape ``(3, 3)``."""
        notation = next((name for name in ORIENTATIONS if name in attributes), None)
        if notation is None:
            return np.eye(3)
        if notation == 'xyaxes':
            return _from_axes(np.array(values_of(attributes, notation, (0.0,) * 6)))
        if notation == 'zaxis':
            return _turned_z(np.array(values_of(attributes, notation, (0.0, 0.0, 1.0))))
        if notation == 'euler':
            return self._from_euler(values_of(attributes, notation, (0.0, 0.0, 0.0)))
        values = np.array(values_of(attributes, notation, (0.0,) * 4))
        if notation == 'axisangle':
            return pin.exp3(_unit(values[:3]) * values[3] * self.angle)
        w, x, y, z = _unit(values)
        return pin.Quaternion(w, x, y, z).toRotationMatrix()

    def _from_euler(self, angles: tuple[float, ...]) -> np.ndarray:
        rotation = np.eye(3)
        for axis, angle in zip(self.euler, angles, strict=True):
            vector = np.zeros(3)
            vector[_AXES[axis.lower()]] = angle * self.angle
            turn = pin.exp3(vector)
            rotation = rotation @ turn if axis.islower() else turn @ rotation
        return rotation


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def _from_axes(axes: np.ndarray) -> np.ndarray:
    x = _unit(axes[:3])
    y = _unit(axes[3:] - (x @ axes[3:]) * x)
    return np.column_stack([x, y, np.cross(x, y)])


def _turned_z(axis: np.ndarray) -> np.ndarray:
    """The shortest rotation of the z axis onto another one."""
    axis = _unit(axis)
    across = np.cross([0.0, 0.0, 1.0], axis)
    sine = np.linalg.norm(across)
    if sine < 1e-10:
        return np.eye(3) if axis[2] > 0.0 else np.diag([1.0, -1.0, -1.0])
    return pin.exp3(across / sine * np.arctan2(sine, axis[2]))


def plain_attributes(element: etree._Element) -> dict[str, str]:
    """Attributes as a plain mapping."""
    return {str(name): str(value) for name, value in element.attrib.items()}


class Classes:
    """Default values by class.

    Args:
        root: The ``<mujoco>`` element.
    """

    def __init__(self, root: etree._Element) -> None:
        self._values: dict[str, dict[str, dict[str, str]]] = {'main': {}}
        for element in root.findall('default'):
            self._read(element, 'main', self._values['main'])

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def _read(
        self, element: etree._Element, name: str, values: dict[str, dict[str, str]]
    ) -> None:
        for child in element.iterchildren(etree.Element):
            tag = _family(str(child.tag))
            if tag != 'default':
                values[tag] = merged(values.get(tag, {}), plain_attributes(child))
        self._values[name] = values
        for child in element.findall('default'):
            inner = child.get('class', '')
            self._read(child, inner, {tag: dict(given) for tag, given in values.items()})

    def attributes(self, element: etree._Element, inherited: str = 'main') -> dict[str, str]:
        """Attributes of an element, with the defaults of its class.

        Args:
            element: The element.
            inherited: Class of elements that name none.
        """
        return merged(
            self.default(_family(str(element.tag)), element, inherited), plain_attributes(element)
        )

    def default(
        self, kind: str, element: etree._Element, inherited: str = 'main'
    ) -> dict[str, str]:
        """Defaults of a kind of element in the class of one element.

        Args:
            kind: Tag in ``<default>``.
            element: The element.
            inherited: Class of elements that name none.
        """
        name = element.get('class', inherited)
        return self._values.get(name, {}).get(kind, {})


def _family(tag: str) -> str:
    return 'general' if tag in ACTUATORS else tag


def merged(defaults: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Defaults with what is given over them; the one orientation that is given replaces others."""
    turned = any(name in given for name in ORIENTATIONS)
    kept = {
        name: value for name, value in defaults.items()
        if not (turned and name in ORIENTATIONS)
    }
    if 'size' in kept and 'size' in given:
        # Fewer sizes than the shape has: the others stay.
        sizes = given['size'].split()
        return {**kept, **given, 'size': ' '.join([*sizes, *kept['size'].split()[len(sizes):]])}
    return {**kept, **given}


def model_elements(root: etree._Element) -> Iterator[etree._Element]:
    """All elements below the ``<worldbody>`` elements, in the order of the document."""
    for world in root.findall('worldbody'):
        for element in world.iter(etree.Element):
            if element is not world:
                yield element
