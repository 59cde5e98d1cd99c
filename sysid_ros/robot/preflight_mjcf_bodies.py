"""Checks of MJCF bodies and joints once their numbers can be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from lxml import etree

from sysid_ros.robot.finding import Finding, Severity, quoted
from sysid_ros.robot.inertia import central_inertia
from sysid_ros.robot.mjcf_tree import MjcfBody, MjcfJoint, actuator_limits, read_bodies
from sysid_ros.robot.mjcf_values import Compiler
from sysid_ros.robot.preflight_links import check_moments, massless


def check_bodies(root: etree._Element) -> Iterator[Finding]:
    """Findings of bodies and joints of an MJCF whose structure is sound."""
    bodies = read_bodies(root)
    compiler, limits = Compiler.of(root), actuator_limits(root)
    moving = _moving(bodies)
    yield from _check_free(bodies)
    for body in bodies:
        for joint in body.joints:
            yield from _check_joint(joint, limits.get(joint.name, np.nan))
    for body in bodies:
        if body.index in moving:
            yield from _check_inertia(body, compiler)


def _moving(bodies: Sequence[MjcfBody]) -> set[int]:
    found: set[int] = set()
    for body in bodies:
        if body.joints or body.free_joint is not None or body.parent in found:
            found.add(body.index)
    return found


def _check_free(bodies: Sequence[MjcfBody]) -> Iterator[Finding]:
    free = [body for body in bodies if body.free_joint is not None]
    if not free:
        return
    base = free[0]
    where = f'body {quoted(base.name)}'
    if len(free) > 1 or base.parent != 0 or base.joints:
        names = ', '.join(quoted(body.name) for body in free)
        yield Finding(
            Severity.FATAL, 'several-bases', where,
            f'one body on the world may be free, without other joints (found {names}); remove '
            'objects that are not the robot',
        )
    roots = {body.index: body.index for body in bodies if body.parent == 0}
    for body in bodies:
        if body.parent > 0:
            roots[body.index] = roots[body.parent]
    others = [b for b in bodies if b.joints and roots.get(b.index) != base.index]
    if others:
        yield Finding(
            Severity.FATAL, 'several-roots', where,
            f'it floats beside another tree that moves (found body {quoted(others[0].name)}); '
            'remove what is not the robot',
        )


def _check_joint(joint: MjcfJoint, actuators: float) -> Iterator[Finding]:
    where, told = f'joint {quoted(joint.name)}', joint.described
    consequence = 'it can be identified but not be excited'
    missing = ['velocity (an MJCF has none)']
    if not np.isfinite(np.fmin(told.effort, actuators)):
        missing.insert(0, 'effort')
    if told.kind == 'prismatic' and not np.isfinite(told.lower):
        missing.insert(0, 'range')
    yield Finding(
        Severity.WARNING, 'missing-limits', where,
        f'limits are missing (found no {", no ".join(missing)}); {consequence}',
    )
    if told.lower > told.upper:
        yield Finding(
            Severity.WARNING, 'limits-swapped', where,
            f'the lower limit is above the upper one (found {told.lower:g} and {told.upper:g}; '
            f'allowed lower < upper); {consequence}',
        )
    elif told.lower == told.upper:
        yield Finding(
            Severity.WARNING, 'zero-limits', where,
            f'limits leave no room to move (found no positive range of positions); {consequence}',
        )
    for word in ('damping', 'friction', 'armature', 'stiffness'):
        value = getattr(told, word)
        if value < 0.0:
            yield Finding(
                Severity.WARNING, 'negative-friction', where,
                f'its {word} is negative (found {value:g}; allowed zero or more)',
            )


def _check_inertia(body: MjcfBody, compiler: Compiler) -> Iterator[Finding]:
    where = f'body {quoted(body.name)}'
    if body.unknown:
        listed = ', '.join(map(quoted, body.unknown))
        yield Finding(
            Severity.FATAL, 'mesh-inertia', where,
            f'its mass comes from geoms whose shape is not read (found {listed}; allowed solid '
            'spheres, capsules, cylinders, ellipsoids, boxes); write an <inertial>, which '
            'MuJoCo does when it saves the model with <compiler saveinertial="true"/>',
        )
        return
    phi = body.inertial
    if not phi.any():
        if compiler.bound_mass > 0.0 or compiler.bound_inertia > 0.0:
            yield Finding(
                Severity.FATAL, 'bound-mass', where,
                'it has no mass, and boundmass or boundinertia would give it one; write an '
                '<inertial>',
            )
        elif body.joints:
            yield massless(where, 'it moves but has no mass')
        return
    if phi[0] <= 0.0:
        yield Finding(
            Severity.PRIOR, 'mass-not-positive', where,
            f'its mass is not positive (found {phi[0]:g} kg; allowed more than 0)',
        )
    if phi[0] != 0.0:
        moments = np.linalg.eigvalsh(central_inertia(phi)[2])
        yield from check_moments(moments, Severity.PRIOR, where, '')
