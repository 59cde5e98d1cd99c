"""The loops of a robot as the plain arrays that kernels walk."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_ros.errors import ModelError
from sysid_ros.robot.loops import Loops
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.tree import KinematicTree

POINT, FRAME, ROD = range(3)
_KINDS = {'point': POINT, 'frame': FRAME, 'rod': ROD}
_ROWS = {'point': 3, 'frame': 6, 'rod': 1}


class LoopArrays(NamedTuple):
    """Loops as plain arrays, for b bodies, c closures, u passive and d driven columns.

    ``parent`` is -1 for a body on the common ancestor. Body k is ``body[k]`` of the tree and moves
    by ``ratio[k] * q[source[k]] + offset[k]``. ``coordinate`` are the u + d joints of the columns,
    and ``column`` the column of each body. Closure c holds ``point[c, 0]`` of body ``ends[c, 0]``
    to ``point[c, 1]`` of ``ends[c, 1]``, has its first row at ``row[c]``, and depends on the
    bodies ``path[first[c]:first[c + 1]]`` with the sign of the end they carry. ``held[c]`` are the
    bodies of its ends in the tree, -1 for the world.
    """

    parent: np.ndarray
    rotation: np.ndarray
    translation: np.ndarray
    axis: np.ndarray
    revolute: np.ndarray
    source: np.ndarray
    ratio: np.ndarray
    offset: np.ndarray
    column: np.ndarray
    coordinate: np.ndarray
    kind: np.ndarray
    ends: np.ndarray
    point: np.ndarray
    turn: np.ndarray
    length: np.ndarray
    row: np.ndarray
    first: np.ndarray
    path: np.ndarray
    sign: np.ndarray
    body: np.ndarray
    held: np.ndarray


def loop_arrays(robot: RobotModel, loops: Loops) -> LoopArrays:
    """Read the loops of a robot into arrays.

    Args:
        robot: The robot.
        loops: Its loops.

    Raises:
        ModelError: A closure holds two places of one body, or a body follows several joints.
    """
    tree = robot.tree
    ends, poses = _places(robot, loops)
    paths = [_path(tree, *map(int, pair)) for pair in ends]
    for closure, path in zip(loops.closures, paths, strict=True):
        if not path:
            raise ModelError(
                'the closure holds two places of one body', where=f'closure {closure.name!r}',
                found=' and '.join(closure.links), fix='Name links with joints between them',
            )
    bodies = np.array(sorted({body for path in paths for body, _ in path}))
    place_of = {-1: -1, **{int(body): k for k, body in enumerate(bodies)}}
    source, ratio = _sources(tree, bodies)
    passive = loops.passive
    driven = np.intersect1d(loops.actuated, source)
    coordinate = np.concatenate([passive, driven])
    return LoopArrays(
        parent=np.array([place_of.get(int(p), -1) for p in tree.parent[bodies]]),
        rotation=tree.rotation[bodies], translation=tree.translation[bodies],
        axis=tree.axis[bodies], revolute=tree.revolute[bodies],
        source=source, ratio=ratio, offset=tree.coupling_offset[bodies],
        column=np.array([int(np.flatnonzero(coordinate == s)[0]) for s in source]),
        coordinate=coordinate,
        kind=np.array([_KINDS[closure.kind] for closure in loops.closures]),
        ends=np.array([[place_of.get(int(body), -1) for body in pair] for pair in ends]),
        point=np.ascontiguousarray(poses[:, :, :3, 3]),
        turn=np.ascontiguousarray(poses[:, :, :3, :3]),
        length=np.array([
            closure.length if closure.kind == 'rod' else _reach(tree, bodies)
            for closure in loops.closures
        ]),
        row=np.cumsum([0, *(_ROWS[closure.kind] for closure in loops.closures)]),
        first=np.cumsum([0, *map(len, paths)]),
        path=np.array([place_of[body] for path in paths for body, _ in path]),
        sign=np.array([sign for path in paths for _, sign in path]),
        body=bodies, held=ends,
    )


def _places(robot: RobotModel, loops: Loops) -> tuple[np.ndarray, np.ndarray]:
    """Bodies ``(c, 2)`` of the closures' places, and the places' poses in them."""
    ends, poses = [], []
    for closure in loops.closures:
        placed = [robot.place_of(link) for link in closure.links]
        ends.append([body for body, _ in placed])
        poses.append([
            pose @ own for (_, pose), own in zip(placed, closure.poses, strict=True)])
    return np.array(ends), np.array(poses)


def _path(tree: KinematicTree, first: int, second: int) -> list[tuple[int, float]]:
    """Bodies between two others, with the sign of the end they carry, without common ones."""
    chains = []
    for end in (first, second):
        chain, body = [], end
        while body >= 0:
            chain.append(body)
            body = int(tree.parent[body])
        chains.append(chain)
    common = set(chains[0]) & set(chains[1])
    return [
        (body, sign) for chain, sign in zip(chains, (-1.0, 1.0), strict=True)
        for body in chain if body not in common
    ]


def _sources(tree: KinematicTree, bodies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The joint that each body follows, and its ratio."""
    rows = tree.coupling[bodies]
    if (np.count_nonzero(rows, axis=1) > 1).any():
        raise ModelError(
            'a body in a closed loop follows several joints', where='closures',
            fix='Close the loop at links that follow one joint each',
        )
    source = np.argmax(np.abs(rows), axis=1)
    return source, rows[np.arange(len(rows)), source]


def _reach(tree: KinematicTree, bodies: np.ndarray) -> float:
    """A length typical of the loops in [m], by which angles are compared with distances."""
    sizes = np.linalg.norm(tree.translation[bodies], axis=1)
    return float(sizes[sizes > 0.0].mean()) if sizes.any() else 1.0


def no_loops() -> LoopArrays:
    """The loops of a tree: none."""
    one, none, flags = np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
    vectors, frames, pairs = np.zeros((0, 3)), np.zeros((0, 3, 3)), np.zeros((0, 2), dtype=np.int64)
    start = np.zeros(1, dtype=np.int64)
    return LoopArrays(
        parent=none, rotation=frames, translation=vectors, axis=vectors, revolute=flags,
        source=none, ratio=one, offset=one, column=none, coordinate=none, kind=none, ends=pairs,
        point=np.zeros((0, 2, 3)), turn=np.zeros((0, 2, 3, 3)), length=one, row=start,
        first=start, path=none, sign=one, body=none, held=pairs)
