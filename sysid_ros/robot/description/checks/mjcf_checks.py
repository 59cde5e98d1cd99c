"""The check of an MJCF as MuJoCo compiles it: what is no rigid robot is refused by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sysid_ros.robot.description.checks.finding import Finding, Severity, quoted
from sysid_ros.robot.description.checks.link_checks import check_moments, massless
from sysid_ros.robot.description.mjcf.actuators import actuator_limits
from sysid_ros.robot.description.mjcf.bodies import (
    BALL,
    WORLD,
    MjcfBody,
    MjcfJoint,
    read_bodies,
    robot_bodies,
)
from sysid_ros.robot.description.mjcf.equalities import TENDON, read_closures, read_couplings
from sysid_ros.robot.description.mjcf.source import CompiledMjcf
from sysid_ros.robot.inertia import central_inertia

if TYPE_CHECKING:
    from sysid_ros.robot.description.urdf import RobotDescription

_RESERVED = ('universe', 'world')
_FINITE = (
    'body_pos', 'body_quat', 'body_mass', 'body_ipos', 'body_inertia', 'jnt_pos', 'jnt_axis',
    'jnt_range', 'jnt_stiffness', 'dof_damping', 'dof_frictionloss', 'dof_armature', 'qpos0',
)
_EXCITED = 'it can be identified but not be excited'


def mjcf_findings(description: RobotDescription) -> Iterator[Finding]:
    """Findings of an MJCF: structure first; bodies only where the structure is sound.

    Args:
        description: The MJCF.

    Raises:
        ModelError: MuJoCo is not installed, or refuses the description.
    """
    source = description.compiled
    structure = list(_structure(source))
    yield from structure
    if any(finding.severity is Severity.FATAL for finding in structure):
        return
    everything = read_bodies(source)
    bodies = robot_bodies(everything)
    yield from _check_trees(everything, bodies)
    yield from _check_couplings(source, bodies)
    limits = actuator_limits(source)
    for body in bodies:
        for joint in body.joints:
            yield from _check_joint(joint, limits.get(joint.name, np.nan))
    moving = _moving(bodies)
    for body in bodies:
        if body.index in moving:
            yield from _check_inertia(body)


def _fatal(code: str, where: str, message: str) -> Finding:
    return Finding(Severity.FATAL, code, where, message)


def _warning(code: str, where: str, message: str) -> Finding:
    return Finding(Severity.WARNING, code, where, message)


def _structure(source: CompiledMjcf) -> Iterator[Finding]:
    model = source.model
    if model.nbody < 2:
        yield _fatal('no-links', 'mujoco', 'it has no <body> in a <worldbody>')
    if model.nflex:
        yield _fatal(
            'soft-object', f'flex {quoted(source.name("flex", 0))}',
            'soft objects are not rigid bodies; remove it')
    if any(model.body_plugin >= 0):
        yield _fatal('plugin', 'mujoco', 'plugins at bodies can add forces; remove them')
    for name in _FINITE:
        if not np.isfinite(getattr(model, name)).all():
            yield _fatal('unreadable-number', 'mujoco', f'a number is not finite (found in {name})')
    for name in ('density', 'viscosity'):
        if getattr(model.opt, name) > 0.0:
            yield _warning(
                'fluid', 'option',
                f'it has a medium ({name} {getattr(model.opt, name):g}), whose drag is not '
                'modelled')
    yield from _check_names(source)
    yield from _check_joint_types(source)
    yield from _check_tendons(source)
    yield from _check_actuators(source)


def _check_names(source: CompiledMjcf) -> Iterator[Finding]:
    for kind, count in (('body', source.model.nbody), ('joint', source.model.njnt)):
        for index in range(kind == 'body', count):
            name = source.name(kind, index)
            if name in _RESERVED:
                yield _fatal(
                    'reserved-name', f'{kind} {quoted(name)}', 'the name is that of the world')
    for name in source.nameless:
        yield _warning('empty-name', quoted(name), 'it has no name and is called so here')


def _check_joint_types(source: CompiledMjcf) -> Iterator[Finding]:
    model = source.model
    for index in range(model.njnt):
        where = f'joint {quoted(source.name("joint", index))}'
        if model.jnt_type[index] == BALL:
            yield _fatal(
                'ball-joint', where,
                'its type is not supported (found "ball"; allowed hinge, slide, free); describe it '
                'by three hinges')
        if model.jnt_stiffnesspoly[index].any():
            yield _polynomial(where, 'stiffness', model.jnt_stiffnesspoly[index])
    for degree in range(model.nv):
        if model.dof_dampingpoly[degree].any():
            where = f'joint {quoted(source.name("joint", model.dof_jntid[degree]))}'
            yield _polynomial(where, 'damping', model.dof_dampingpoly[degree])


def _polynomial(where: str, word: str, higher: np.ndarray) -> Finding:
    return _fatal(
        'nonlinear-term', where,
        f'its {word} is a polynomial (found {higher.tolist()} beyond the first number; allowed one '
        'number)')


def _check_tendons(source: CompiledMjcf) -> Iterator[Finding]:
    """Forces of tendons; one whose length an equality holds does no work."""
    model = source.model
    held = {
        int(model.eq_obj1id[k]) for k in range(model.neq)
        if model.eq_type[k] == TENDON and model.eq_active0[k] and model.eq_obj2id[k] < 0
    }
    for index in set(range(model.ntendon)) - held:
        for name in ('stiffness', 'damping', 'armature', 'frictionloss'):
            value = float(getattr(model, f'tendon_{name}')[index])
            if value != 0.0:
                yield _fatal(
                    'tendon-force', f'tendon {quoted(source.name("tendon", index))}',
                    f'its {name} acts on several joints, which is not supported (found {value:g})')


def _check_actuators(source: CompiledMjcf) -> Iterator[Finding]:
    model = source.model
    for index in range(model.nu):
        for name in ('armature', 'damping'):
            if np.any(getattr(model, f'actuator_{name}')[index]):
                yield _warning(
                    'actuator-term', f'actuator {quoted(source.name("actuator", index))}',
                    f'its {name} is not used as a prior; write it at the joint')
    for index in range(1, model.nbody):
        if model.body_gravcomp[index] != 0.0:
            yield _warning(
                'gravity-compensation', f'body {quoted(source.name("body", index))}',
                'its gravcomp is not modelled: torques are taken to hold its whole weight')


def _check_trees(
    everything: Sequence[MjcfBody], bodies: Sequence[MjcfBody]
) -> Iterator[Finding]:
    """What moves beside the robot: objects are left out, other robots refused."""
    kept = {body.index for body in bodies}
    others = [body for body in everything if body.index not in kept]
    trees = [body for body in others if body.free_joint is not None]
    jointed = [body for body in others if body.joints]
    if jointed:
        base = quoted(bodies[0].name) if bodies[0].name != WORLD else 'one that stands still'
        code = 'several-roots' if bodies[0].name == WORLD else 'several-bases'
        yield _fatal(
            code, f'body {quoted(jointed[0].name)}',
            f'it moves on a free base beside another robot (found {base}; allowed one robot); '
            'remove what is not the robot')
        return
    for body in trees:
        yield _warning(
            'free-object', f'body {quoted(body.name)}',
            'it moves freely and carries no joint: it is no part of the robot and left out')


def _check_couplings(source: CompiledMjcf, bodies: Sequence[MjcfBody]) -> Iterator[Finding]:
    for name, problem in read_couplings(source).refused.items():
        yield _fatal('unsupported-coupling', f'equality {quoted(name)}', problem)
    for name in read_closures(source, bodies)[1]:
        yield _warning(
            'held-outside', f'equality {quoted(name)}',
            'it holds the robot to something that is no part of it (a mocap body or a free '
            'object), and is left out')


def _moving(bodies: Sequence[MjcfBody]) -> set[int]:
    found: set[int] = set()
    for body in bodies:
        if body.joints or body.free_joint is not None or body.parent in found:
            found.add(body.index)
    return found


def _check_joint(joint: MjcfJoint, actuators: float) -> Iterator[Finding]:
    where, told = f'joint {quoted(joint.name)}', joint.described
    missing = ['velocity (an MJCF has none)']
    if not np.isfinite(np.fmin(told.effort, actuators)):
        missing.insert(0, 'effort')
    if told.kind == 'prismatic' and not np.isfinite(told.lower):
        missing.insert(0, 'range')
    yield _warning(
        'missing-limits', where,
        f'limits are missing (found no {", no ".join(missing)}); {_EXCITED}')
    if told.lower > told.upper:
        yield _warning(
            'limits-swapped', where,
            f'the lower limit is above the upper one (found {told.lower:g} and {told.upper:g}; '
            f'allowed lower < upper); {_EXCITED}')
    elif told.lower == told.upper:
        yield _warning(
            'zero-limits', where,
            f'limits leave no room to move (found no positive range of positions); {_EXCITED}')
    for word in ('damping', 'friction', 'armature', 'stiffness'):
        value: Any = getattr(told, word)
        if value < 0.0:
            yield _warning(
                'negative-friction', where,
                f'its {word} is negative (found {value:g}; allowed zero or more)')


def _check_inertia(body: MjcfBody) -> Iterator[Finding]:
    where, phi = f'body {quoted(body.name)}', body.inertial
    if not phi.any():
        if body.joints:
            yield massless(where, 'it moves but has no mass')
        return
    if phi[0] <= 0.0:
        yield Finding(
            Severity.PRIOR, 'mass-not-positive', where,
            f'its mass is not positive (found {phi[0]:g} kg; allowed more than 0)')
    if phi[0] != 0.0:
        moments = np.linalg.eigvalsh(central_inertia(phi)[2])
        yield from check_moments(moments, Severity.PRIOR, where, '')
