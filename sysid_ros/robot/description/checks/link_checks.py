"""Checks of single links: whether their inertias belong to real bodies, and mesh paths."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from lxml import etree

from sysid_ros.robot.description.checks.finding import Finding, Severity, quoted
from sysid_ros.robot.description.checks.joint_checks import (
    check_origin,
    several_elements,
    unreadable_numbers,
)
from sysid_ros.robot.description.numbers import read_numbers

# Printed inertias of thin plates and rods miss the boundary by their rounding.
_TRIANGLE_TOLERANCE = 1e-6

_INERTIA_NAMES = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
_NOT_USED = '; the link does not move, so this is not used'


def check_link(link: etree._Element, own_joint_moves: bool | None) -> Iterator[Finding]:
    """Findings of one link.

    Args:
        link: The ``<link>`` element.
        own_joint_moves: True for a link on a moving joint, False for one fixed to a moving
            link, None for one that does not move.
    """
    where = f'link {quoted(link.get("name"))}'
    moves = own_joint_moves is not None
    yield from several_elements(link, ('inertial',), where)
    yield from _check_meshes(link, where)
    inertial = link.find('inertial')
    if inertial is not None:
        yield from several_elements(inertial, ('mass', 'inertia', 'origin'), where)
        yield from _check_inertial(inertial, moves, where)
    elif own_joint_moves or (moves and _has_shape(link)):
        # A link without shape on a fixed joint only names a frame: it has no mass to miss.
        yield massless(where, 'it moves but has no <inertial>')


def _has_shape(link: etree._Element) -> bool:
    return link.find('visual') is not None or link.find('collision') is not None


def massless(where: str, problem: str) -> Finding:
    """A link that moves without mass.

    Args:
        where: The link, for messages.
        problem: What it lacks.
    """
    return Finding(
        Severity.WARNING, 'massless-link', where, f'{problem}; it is treated as massless'
    )


def _check_inertial(inertial: etree._Element, moves: bool, where: str) -> Iterator[Finding]:
    severity = Severity.PRIOR if moves else Severity.WARNING
    suffix = '' if moves else _NOT_USED
    incomplete = list(_incomplete_inertial(inertial, severity, where))
    yield from incomplete
    mass = _mass(inertial)
    matrix = _inertia(inertial)
    if mass == 0.0 and matrix is not None and not matrix.any():
        if moves and not incomplete:
            yield massless(where, 'it moves but its mass and inertia are zero')
        return
    if mass is not None and mass <= 0.0:
        yield Finding(
            severity, 'mass-not-positive', where,
            f'its mass is not positive (found {mass:g} kg; allowed more than 0){suffix}',
        )
    if matrix is not None:
        yield from check_moments(np.linalg.eigvalsh(matrix), severity, where, suffix)


def _incomplete_inertial(
    inertial: etree._Element, severity: Severity, where: str
) -> Iterator[Finding]:
    missing = [tag for tag in ('mass', 'inertia') if inertial.find(tag) is None]
    for tag, names in (('mass', ('value',)), ('inertia', _INERTIA_NAMES)):
        element = inertial.find(tag)
        if element is None:
            continue
        missing += [name for name in names if element.get(name) is None]
        yield from unreadable_numbers(element, [(name, 1) for name in names], where, severity)
    if missing:
        yield Finding(
            severity, 'incomplete-inertial', where,
            f'its <inertial> is incomplete (found no {", ".join(missing)}); it is treated as '
            'massless',
        )
    origin = inertial.find('origin')
    if origin is not None:
        yield from check_origin(origin, where, severity)


def _mass(inertial: etree._Element) -> float | None:
    element = inertial.find('mass')
    value = None if element is None else read_numbers(element.get('value'), 1)
    return None if value is None else value[0]


def _inertia(inertial: etree._Element) -> np.ndarray | None:
    """Inertia about the centre of mass in [kg·m²], shape ``(3, 3)``."""
    element = inertial.find('inertia')
    if element is None:
        return None
    entries = [read_numbers(element.get(name), 1) for name in _INERTIA_NAMES]
    if any(entry is None for entry in entries):
        return None
    xx, xy, xz, yy, yz, zz = (entry[0] for entry in entries if entry is not None)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def check_moments(
    moments: np.ndarray, severity: Severity, where: str, suffix: str
) -> Iterator[Finding]:
    """Principal moments, ascending: positive, and none larger than the sum of the others.

    Together with a positive mass that is exactly a positive semidefinite pseudo-inertia.

    Args:
        moments: Principal moments about the centre of mass in [kg·m²], shape ``(3,)``.
        severity: How much a violation matters.
        where: The link, for messages.
        suffix: What to add to a message.
    """
    listed = ', '.join(f'{moment:.4g}' for moment in moments)
    if moments[0] <= 0.0:
        yield Finding(
            severity, 'inertia-not-positive', where,
            f'its inertia is not positive definite (found principal moments {listed} kg·m²; '
            f'allowed more than 0){suffix}',
        )
        return
    margin = (moments[0] + moments[1] - moments[2]) / moments[2]
    if margin < -_TRIANGLE_TOLERANCE:
        yield Finding(
            severity, 'triangle-inequality', where,
            f'its inertia belongs to no real body: the largest principal moment exceeds the '
            f'sum of the others by {-100.0 * margin:.3g} % (found {listed} kg·m²){suffix}',
        )


def _check_meshes(link: etree._Element, where: str) -> Iterator[Finding]:
    for mesh in link.iter('mesh'):
        filename = mesh.get('filename', '')
        if '..' in filename.replace('\\', '/').split('/'):
            yield Finding(
                Severity.WARNING, 'mesh-path', where,
                f'a mesh path climbs out of its folder (found {quoted(filename[:200])}); '
                'meshes are not loaded',
            )
