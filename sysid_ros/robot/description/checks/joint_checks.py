"""Checks of single joints, and of joints that follow others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from lxml import etree

from sysid_ros.robot.description.checks.finding import Finding, Severity, quoted
from sysid_ros.robot.description.numbers import read_numbers
from sysid_ros.robot.description.safe_xml import attribute

_MOVING_TYPES = ('revolute', 'continuous', 'prismatic')
_REFUSED_TYPES = ('floating', 'planar')

# URDF asks for unit axes; loaders normalise, so only what looks like a mistake is reported.
_AXIS_TOLERANCE = 1e-3

_SINGLE_PARTS = ('parent', 'child', 'origin', 'axis', 'limit', 'dynamics', 'mimic')
_NUMBERS = {
    'axis': (('xyz', 3),),
    'limit': (('lower', 1), ('upper', 1), ('effort', 1), ('velocity', 1)),
    'dynamics': (('damping', 1), ('friction', 1)),
    'mimic': (('multiplier', 1), ('offset', 1)),
}


def check_joint(joint: etree._Element) -> Iterator[Finding]:
    """Findings of one joint: type, numbers, axis, limits, friction."""
    where = f'joint {quoted(joint.get("name"))}'
    kind = joint.get('type')
    yield from several_elements(joint, _SINGLE_PARTS, where)
    yield from _check_type(kind, where)
    origin = joint.find('origin')
    if origin is not None:
        yield from check_origin(origin, where, Severity.FATAL)
    if kind not in _MOVING_TYPES:
        return
    for tag, attributes in _NUMBERS.items():
        element = joint.find(tag)
        if element is not None:
            yield from unreadable_numbers(element, attributes, where, Severity.FATAL)
    yield from _check_axis(joint.find('axis'), where)
    yield from _check_limits(joint.find('limit'), kind == 'continuous', where)
    yield from _check_friction(joint.find('dynamics'), where)


def several_elements(
    parent: etree._Element, tags: Iterable[str], where: str
) -> Iterator[Finding]:
    """A warning for each element that is given more than once: loaders take the first."""
    for tag in tags:
        count = len(parent.findall(tag))
        if count > 1:
            yield Finding(
                Severity.WARNING, 'several-elements', where,
                f'it has {count} <{tag}> elements (allowed one); only the first is used',
            )


def check_origin(origin: etree._Element, where: str, severity: Severity) -> Iterator[Finding]:
    """Findings of an ``<origin>``: its numbers, and orientations older loaders ignore."""
    yield from unreadable_numbers(origin, (('xyz', 3), ('rpy', 3)), where, severity)
    if origin.get('quat_xyzw') is not None:
        yield Finding(
            severity, 'quaternion', where,
            'its origin gives quat_xyzw, which many loaders silently ignore (allowed rpy)',
        )


def unreadable_numbers(
    element: etree._Element, attributes: Iterable[tuple[str, int]], where: str,
    severity: Severity,
) -> Iterator[Finding]:
    """A finding for each attribute that is given and is not the finite numbers it should be."""
    for name, count in attributes:
        text = element.get(name)
        if text is not None and read_numbers(text, count) is None:
            allowed = 'a finite number' if count == 1 else f'{count} finite numbers'
            yield Finding(
                severity, 'unreadable-number', where,
                f'{name} of its <{element.tag}> cannot be read (found {quoted(text[:80])}; '
                f'allowed {allowed})',
            )


def _check_type(kind: str | None, where: str) -> Iterator[Finding]:
    if kind in _REFUSED_TYPES:
        yield Finding(
            Severity.FATAL, 'unsupported-type', where,
            f'{kind} joints are not supported; describe the motion by revolute and prismatic '
            'joints, or make the joint fixed to identify the rest',
        )
    elif kind not in (*_MOVING_TYPES, 'fixed'):
        yield Finding(
            Severity.FATAL, 'unknown-type', where,
            f'its type is unknown (found {quoted(kind)}; allowed revolute, continuous, '
            'prismatic, fixed)',
        )


def _check_axis(axis: etree._Element | None, where: str) -> Iterator[Finding]:
    if axis is None:
        return
    if axis.get('xyz') is None:
        yield Finding(
            Severity.FATAL, 'zero-axis', where,
            'its <axis> has no xyz, which loaders read as zero (allowed a unit vector)',
        )
        return
    xyz = read_numbers(axis.get('xyz'), 3)
    if xyz is None:
        return
    length = math.hypot(*xyz)
    if length < _AXIS_TOLERANCE:
        yield Finding(
            Severity.FATAL, 'zero-axis', where,
            f'its axis is zero (found {quoted(axis.get("xyz"))}; allowed a unit vector)',
        )
    elif abs(length - 1.0) > _AXIS_TOLERANCE:
        yield Finding(
            Severity.WARNING, 'axis-not-unit', where,
            f'its axis has length {length:.6g} (allowed 1); it is normalised',
        )


def _check_limits(
    limit: etree._Element | None, continuous: bool, where: str
) -> Iterator[Finding]:
    """Limits matter for moving the robot only: a fit works without."""
    consequence = 'it can be identified but not be excited'
    given = {
        name: attribute(limit, name) for name in ('lower', 'upper', 'effort', 'velocity')
        if limit is not None and limit.get(name) is not None
    }
    missing = [name for name in ('effort', 'velocity') if name not in given]
    if limit is None and not continuous:
        missing = ['lower', 'upper', *missing]
    if missing:
        yield Finding(
            Severity.WARNING, 'missing-limits', where,
            f'limits are missing (found no {", ".join(missing)}); {consequence}',
        )
    numbers = {
        name: read_numbers(given.get(name, '0'), 1)
        for name in ('lower', 'upper', 'effort', 'velocity')
    }
    values = {name: value[0] for name, value in numbers.items() if value is not None}
    zero = [
        str(name) for name in ('effort', 'velocity')
        if name in given and values.get(name, 1.0) <= 0.0
    ]
    if limit is not None and not continuous and {'lower', 'upper'} <= values.keys():
        lower, upper = values['lower'], values['upper']
        if lower > upper:
            yield Finding(
                Severity.WARNING, 'limits-swapped', where,
                f'the lower limit is above the upper one (found {lower:g} and {upper:g}; '
                f'allowed lower < upper); {consequence}',
            )
        elif lower == upper:
            zero.append('range of positions')
    if zero:
        yield Finding(
            Severity.WARNING, 'zero-limits', where,
            f'limits leave no room to move (found no positive {", ".join(zero)}); {consequence}',
        )


def _check_friction(dynamics: etree._Element | None, where: str) -> Iterator[Finding]:
    if dynamics is None:
        return
    for name in ('damping', 'friction'):
        value = read_numbers(dynamics.get(name), 1)
        if value is not None and value[0] < 0.0:
            yield Finding(
                Severity.WARNING, 'negative-friction', where,
                f'its {name} is negative (found {value[0]:g}; allowed zero or more)',
            )


def check_mimics(joints: list[etree._Element]) -> Iterator[Finding]:
    """Findings of joints that follow others: the followed one is missing, fixed, or a loop."""
    types = {attribute(joint, 'name'): attribute(joint, 'type') for joint in joints}
    named = {
        attribute(joint, 'name'): attribute(joint.find('mimic'), 'joint')
        for joint in joints if joint.find('mimic') is not None
    }
    follows = {name: source for name, source in named.items() if types[name] != 'fixed'}
    for name in named.keys() - follows.keys():
        yield Finding(
            Severity.WARNING, 'mimic-fixed', f'joint {quoted(name)}',
            f'it is fixed, so that its <mimic> means nothing (found {quoted(named[name])}); the '
            'joint stays fixed',
        )
    for name, source in follows.items():
        where = f'joint {quoted(name)}'
        if source not in types:
            yield Finding(
                Severity.FATAL, 'mimic-unknown', where,
                f'it mimics a joint that does not exist (found {quoted(source)})',
            )
        elif types[source] == 'fixed':
            yield Finding(
                Severity.WARNING, 'mimic-fixed', where,
                f'it mimics a joint that is fixed (found {quoted(source)}), so that it is held at '
                'the offset',
            )
        elif _ends_in_loop(name, follows):
            yield Finding(
                Severity.FATAL, 'mimic-loop', where,
                f'following the joints it mimics never ends (found {quoted(source)} next)',
            )


def _ends_in_loop(name: str, follows: dict[str, str]) -> bool:
    seen = set()
    while name in follows:
        if name in seen:
            return True
        seen.add(name)
        name = follows[name]
    return False
