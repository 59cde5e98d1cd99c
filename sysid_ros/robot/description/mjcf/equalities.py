"""What the equalities of a compiled MJCF hold: closed loops, and joints that move together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sysid_ros.robot.couplings import Mimic, resolve_mimics
from sysid_ros.robot.description.mjcf.bodies import WORLD, MjcfBody, pose_of
from sysid_ros.robot.description.mjcf.source import CompiledMjcf
from sysid_ros.robot.loops import ClosureKind, LoopClosure

# MuJoCo's numbers: of equalities, of sites as what they hold, and of tendons along joints.
CONNECT, WELD, JOINT, TENDON = range(4)
_SITE, _ALONG_JOINT = 6, 1
# A ratio of joints below this part of the other is rounding.
_ZERO = 1e-12


@dataclass
class Couplings:
    """Joints that move together.

    Attributes:
        mimics: Joints that follow others, each resolved to an independent one.
        held: Joints that are held at positions in [rad] or [m].
        refused: What was found that cannot be followed, by the name of the equality.
    """

    mimics: dict[str, Mimic] = field(default_factory=dict)
    held: dict[str, float] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def equality_name(source: CompiledMjcf, index: int) -> str:
    """Name of an equality in messages."""
    kind = ('connect', 'weld', 'joint', 'tendon')[source.model.eq_type[index]]
    return source.name('equality', index) or f'{kind} {index + 1}'


def _active(source: CompiledMjcf, *kinds: int) -> Iterator[int]:
    model = source.model
    for index in range(model.neq):
        if model.eq_active0[index] and model.eq_type[index] in kinds:
            yield index


def read_closures(
    source: CompiledMjcf, robot: Sequence[MjcfBody]
) -> tuple[tuple[LoopClosure, ...], tuple[str, ...]]:
    """Loops that active ``connect`` and ``weld`` equalities close.

    Args:
        source: The MJCF.
        robot: The bodies of the robot.

    Returns:
        The closures, and names of equalities that hold the robot to what is no part of it: a free
        object, or a mocap body, which is moved from outside.
    """
    names, found, outside = {body.name for body in robot} | {WORLD}, [], []
    for index in _active(source, CONNECT, WELD):
        ends = [_place(source, index, end) for end in (0, 1)]
        links = tuple(source.name('body', body) for body, _ in ends)
        mocap = any(source.model.body_mocapid[body] >= 0 for body, _ in ends)
        if mocap or not names.issuperset(links):
            outside.append(equality_name(source, index))
            continue
        kind: ClosureKind = 'point' if source.model.eq_type[index] == CONNECT else 'frame'
        poses = np.array([pose for _, pose in ends])
        found.append(LoopClosure(equality_name(source, index), kind, (links[0], links[1]), poses))
    return tuple(found), tuple(outside)


def _place(source: CompiledMjcf, index: int, end: int) -> tuple[int, np.ndarray]:
    """Body of one end of an equality, and where it holds that body."""
    model = source.model
    held = int((model.eq_obj1id, model.eq_obj2id)[end][index])
    if model.eq_objtype[index] == _SITE:
        return int(model.site_bodyid[held]), pose_of(model.site_pos[held], model.site_quat[held])
    data, straight = model.eq_data[index], np.array([1.0, 0.0, 0.0, 0.0])
    if model.eq_type[index] == CONNECT:
        return held, pose_of(data[3 * end:3 * end + 3], straight)
    # The pose of a weld stands behind the anchor, which lies in the second body.
    return held, pose_of(data[0:3], straight) if end else pose_of(data[3:6], data[6:10])


def read_couplings(source: CompiledMjcf) -> Couplings:
    """Joints that active equalities of joints and of tendons along joints couple.

    Args:
        source: The MJCF.
    """
    found, direct = Couplings(), dict[str, Mimic]()
    for index in _active(source, JOINT, TENDON):
        problem = _couple(source, index, direct, found.held)
        if problem:
            found.refused[equality_name(source, index)] = problem
    if not found.refused:
        resolved = resolve_mimics(direct)
        for name, mimic in resolved.items():
            if mimic.source in found.held:
                found.held[name] = mimic.position(found.held[mimic.source])
            else:
                found.mimics[name] = mimic
    return found


def _couple(
    source: CompiledMjcf, index: int, direct: dict[str, Mimic], held: dict[str, float]
) -> str:
    """Enter one equality; what prevents it, empty where nothing does."""
    model = source.model
    shift, ratio, *higher = model.eq_data[index, :5]
    first, second = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
    ways = [_joints_of(source, index, one) for one in (first, second) if one >= 0]
    if any(way is None for way in ways):
        return 'it couples tendons that run through space'
    if len(ways) > 1 and any(higher):
        return f'the coupling is not linear (found {np.array([shift, ratio, *higher]).tolist()})'
    weights = dict(ways[0] or {})
    if len(ways) > 1:
        for joint, weight in (ways[1] or {}).items():
            weights[joint] = weights.get(joint, 0.0) - ratio * weight
    largest = max(map(abs, weights.values()), default=0.0)
    weights = {joint: weight for joint, weight in weights.items() if abs(weight) > _ZERO * largest}
    if len(weights) > 2:
        names = ', '.join(source.name('joint', joint) for joint in weights)
        return f'it couples more than two joints (found {names}), which none can follow alone'
    return _enter(source, weights, float(shift), direct, held)


def _joints_of(source: CompiledMjcf, index: int, held: int) -> dict[int, float] | None:
    """Weight of each joint in what an equality holds; None for tendons through space."""
    model = source.model
    if model.eq_type[index] == JOINT:
        return {held: 1.0}
    weights: dict[int, float] = {}
    for k in range(model.tendon_adr[held], model.tendon_adr[held] + model.tendon_num[held]):
        if model.wrap_type[k] != _ALONG_JOINT:
            return None
        joint = int(model.wrap_objid[k])
        weights[joint] = weights.get(joint, 0.0) + float(model.wrap_prm[k])
    return weights


def _enter(
    source: CompiledMjcf, weights: dict[int, float], shift: float, direct: dict[str, Mimic],
    held: dict[str, float],
) -> str:
    """Solve ``Σ w (q - q_reference) = shift`` for a joint that follows nothing yet."""
    model = source.model
    rest = {joint: float(model.qpos0[model.jnt_qposadr[joint]]) for joint in weights}
    names = {joint: source.name('joint', joint) for joint in weights}
    if len(weights) == 1 and not direct.keys() & names.values():
        (joint, weight), = weights.items()
        held[names[joint]] = rest[joint] + shift / weight
        return ''
    pairs = [tuple(weights), tuple(weights)[::-1]] if len(weights) == 2 else []
    for follower, leader in pairs:
        taken = names[follower] in direct or names[follower] in held
        if taken or _ends(names[leader], direct) == names[follower]:
            continue
        ratio = -weights[leader] / weights[follower]
        offset = rest[follower] + shift / weights[follower] - ratio * rest[leader]
        direct[names[follower]] = Mimic(names[leader], ratio, offset)
        return ''
    return f'its joints follow others already (found {", ".join(names.values())})'


def _ends(name: str, direct: dict[str, Mimic]) -> str:
    """The independent joint that a joint follows in the end."""
    while name in direct:
        name = direct[name].source
    return name
