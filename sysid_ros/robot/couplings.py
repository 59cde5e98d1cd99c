"""Joints that follow other joints: mimic joints as rows of a constant coupling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from lxml import etree

from sysid_ros.errors import ModelError
from sysid_ros.robot.description.numbers import number_of
from sysid_ros.robot.description.safe_xml import attribute

# In [rad] or [m]: locked positions of joints that follow each other may be rounded.
_POSITION_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Mimic:
    """A joint that moves as ``multiplier · source + offset``."""

    source: str
    multiplier: float
    offset: float

    def position(self, source: float) -> float:
        """Position in [rad] or [m] where the source is at ``source``."""
        return self.multiplier * source + self.offset


def read_mimics(root: etree._Element) -> tuple[dict[str, Mimic], dict[str, float]]:
    """Mimic joints of a checked URDF, each resolved to the joint at the end of its chain.

    Args:
        root: The ``<robot>`` element of a description without mimic cycles. What a fixed joint
            mimics means nothing.

    Returns:
        Per mimic joint, the independent joint it follows; and positions in [rad] or [m] of
        joints that follow a fixed one, and so do not move.
    """
    direct, fixed = {}, set()
    for joint in root.findall('joint'):
        name, mimic = attribute(joint, 'name'), joint.find('mimic')
        if joint.get('type') == 'fixed':
            fixed.add(name)
        elif mimic is not None:
            direct[name] = Mimic(
                attribute(mimic, 'joint'), number_of(mimic, 'multiplier', 1.0),
                number_of(mimic, 'offset', 0.0),
            )
    resolved = resolve_mimics(direct)
    held = {name: mimic.offset for name, mimic in resolved.items() if mimic.source in fixed}
    return {name: mimic for name, mimic in resolved.items() if name not in held}, held


def resolve_mimics(direct: Mapping[str, Mimic]) -> dict[str, Mimic]:
    """Mimic joints, each resolved to the independent joint at the end of its chain.

    Args:
        direct: Per mimic joint, the joint it names; without cycles.
    """
    return {name: _resolved(mimic, direct) for name, mimic in direct.items()}


def _resolved(mimic: Mimic, direct: Mapping[str, Mimic]) -> Mimic:
    while mimic.source in direct:
        inner = direct[mimic.source]
        mimic = Mimic(
            inner.source, mimic.multiplier * inner.multiplier,
            mimic.multiplier * inner.offset + mimic.offset,
        )
    return mimic


def held_positions(
    mimics: Mapping[str, Mimic], locked: Mapping[str, float]
) -> dict[str, float]:
    """Positions of the locked joints, and of the joints that follow them.

    Args:
        mimics: Resolved mimic joints.
        locked: Positions of the joints to lock, by name.

    Raises:
        ModelError: A joint is to be locked away from where the joint it follows puts it.
    """
    held = {
        name: mimic.position(locked[mimic.source])
        for name, mimic in mimics.items() if mimic.source in locked
    }
    for name in mimics.keys() & locked.keys():
        if name not in held:
            raise ModelError(
                'a joint that follows another one cannot be locked by itself',
                where=f'locked_joints.{name}', found=f'mimic of {mimics[name].source!r}',
                fix=f'Lock {mimics[name].source!r}',
            )
        if abs(held[name] - locked[name]) > _POSITION_TOLERANCE:
            raise ModelError(
                'the joint follows another locked joint, which puts it elsewhere',
                where=f'locked_joints.{name}', found=locked[name], allowed=f'{held[name]:.9g}',
                fix=f'Leave {name!r} out',
            )
    return {**locked, **held}


def couple(
    names: tuple[str, ...], mimics: Mapping[str, Mimic], locked: Mapping[str, float]
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Independent joints among ``names`` and how all of them follow.

    Args:
        names: The moving joints, in the order of the tree.
        mimics: Resolved mimic joints.
        locked: Joints held fixed; a joint that mimics one of them does not move either.

    Returns:
        Names of the n independent joints, G of shape ``(len(names), n)``, offset g of
        shape ``(len(names),)``.
    """
    moving = {name: mimic for name, mimic in mimics.items() if mimic.source not in locked}
    independent = tuple(name for name in names if name not in moving)
    coupling = np.zeros((len(names), len(independent)))
    offset = np.zeros(len(names))
    for row, name in enumerate(names):
        mimic = moving.get(name, Mimic(name, 1.0, 0.0))
        coupling[row, independent.index(mimic.source)] = mimic.multiplier
        offset[row] = mimic.offset
    return independent, coupling, offset
