"""Joints that follow other joints: mimic joints as rows of a constant coupling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from lxml import etree


@dataclass(frozen=True)
class Mimic:
    """A joint that moves as ``multiplier · source + offset``."""

    source: str
    multiplier: float
    offset: float


def read_mimics(root: etree._Element) -> dict[str, Mimic]:
    """Mimic joints of a checked URDF, each resolved to the joint at the end of its chain.

    Args:
        root: The ``<robot>`` element of a description without mimic cycles.

    Returns:
        Per mimic joint, the independent joint it follows.
    """
    direct = {}
    for joint in root.findall('joint'):
        mimic = joint.find('mimic')
        if mimic is not None:
            direct[joint.get('name')] = Mimic(
                mimic.get('joint'), float(mimic.get('multiplier', 1.0)),
                float(mimic.get('offset', 0.0)),
            )
    return {name: _resolved(mimic, direct) for name, mimic in direct.items()}


def _resolved(mimic: Mimic, direct: Mapping[str, Mimic]) -> Mimic:
    while mimic.source in direct:
        inner = direct[mimic.source]
        mimic = Mimic(
            inner.source, mimic.multiplier * inner.multiplier,
            mimic.multiplier * inner.offset + mimic.offset,
        )
    return mimic


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
