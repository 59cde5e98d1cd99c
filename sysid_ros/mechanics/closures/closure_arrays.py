"""The closures of a robot as the plain arrays that kernels walk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sysid_ros.errors import ModelError
from sysid_ros.robot.loops import LoopClosure
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.tree import KinematicTree

#: What a closure holds together: two points, two frames, or two points at a distance.
POINT, FRAME, ROD = range(3)
_KINDS = {'point': POINT, 'frame': FRAME, 'rod': ROD}
_ROWS = {'point': 3, 'frame': 6, 'rod': 1}


class Closures(NamedTuple):
    """Holonomic constraints: c closures of r rows that are kept, and the e joints they depend on.

    Attributes:
        kind: Of each closure, shape ``(c,)``.
        ends: Bodies it holds together, -1 for the world, shape ``(c, 2)``.
        point: Its places in them in [m], shape ``(c, 2, 3)``.
        turn: Orientation of these, shape ``(c, 2, 3, 3)``.
        length: Of a rod in [m]; of a frame the length by which angles are multiplied, ``(c,)``.
        row: First of its rows, before any is left out, shape ``(c + 1,)``.
        place: Place of each of these rows among the kept ones, -1 for one that the others
            imply, shape ``(row[-1],)``.
        first: Where the joints of a closure begin in the next four, shape ``(c + 1,)``.
        body: Body of the joint, shape ``(e,)``; those that carry the first end come before those
            of the second, and each before what carries it.
        end: The end that it carries, 0 or 1, shape ``(e,)``.
        column: Column of the Jacobian that it belongs to, shape ``(e,)``.
        weight: What the closure's rows grow by per motion of that end and unit of that column,
            shape ``(e,)``: the ratio of the joint to it, negative for the first end.
    """

    kind: np.ndarray
    ends: np.ndarray
    point: np.ndarray
    turn: np.ndarray
    length: np.ndarray
    row: np.ndarray
    place: np.ndarray
    first: np.ndarray
    body: np.ndarray
    end: np.ndarray
    column: np.ndarray
    weight: np.ndarray


def closures_of_bodies(robot: RobotModel, closures: Sequence[LoopClosure]) -> Closures:
    r"""Closures of a tree with a column for each body, and angles in [rad].

    Joints that carry both ends of a closure are left out: they move them alike. The derivative of
    :math:`J^\top\lambda` by them is a change of :math:`\lambda`, whose rows stay in world axes.

    Args:
        robot: The tree.
        closures: What closes its loops.

    Raises:
        ModelError: A closure holds two places of one body, or names a link that is not there.
    """
    ends, poses = np.zeros((len(closures), 2), dtype=np.int64), np.zeros((len(closures), 2, 4, 4))
    for c, closure in enumerate(closures):
        for end, (link, own) in enumerate(zip(closure.links, closure.poses, strict=True)):
            body, pose = robot.place_of(link)
            ends[c, end], poses[c, end] = body, pose @ own
        if ends[c, 0] == ends[c, 1]:
            raise ModelError(
                'the closure holds two places of one body', where=f'closure {closure.name!r}',
                found=' and '.join(closure.links), fix='Name links with joints between them')
    paths = [_path(robot.tree, pair) for pair in ends]
    entries = np.array([entry for path in paths for entry in path], dtype=np.int64)
    joint, side = entries.reshape(-1, 2).T.copy()
    row = np.cumsum([0, *(_ROWS[closure.kind] for closure in closures)])
    return Closures(
        kind=np.array([_KINDS[closure.kind] for closure in closures], dtype=np.int64), ends=ends,
        point=np.ascontiguousarray(poses[:, :, :3, 3]),
        turn=np.ascontiguousarray(poses[:, :, :3, :3]),
        length=np.array([
            closure.length if closure.kind == 'rod' else 1.0 for closure in closures]),
        row=row, place=np.arange(row[-1]), first=np.cumsum([0, *map(len, paths)]), body=joint,
        end=side, column=joint, weight=2.0 * side - 1.0)


def closures_of_joints(robot: RobotModel, closures: Sequence[LoopClosure]) -> Closures:
    """Closures of a tree with a column for each independent joint, and angles in [m].

    Angles are multiplied by a length typical of the loops, so that rows can be compared.

    Args:
        robot: The tree.
        closures: What closes its loops.

    Raises:
        ModelError: As for :func:`closures_of_bodies`; or a body follows several joints.
    """
    found = closures_of_bodies(robot, closures)
    rows = robot.tree.coupling[found.body]
    if (np.count_nonzero(rows, axis=1) > 1).any():
        raise ModelError(
            'a body in a closed loop follows several joints', where='closures',
            fix='Close the loop at links that follow one joint each')
    column = np.argmax(np.abs(rows), axis=1)
    reach = _reach(robot.tree, np.unique(found.body))
    return found._replace(
        length=np.where(found.kind == ROD, found.length, reach), column=column,
        weight=found.weight * rows[np.arange(len(rows)), column])


def _path(tree: KinematicTree, ends: np.ndarray) -> list[tuple[int, int]]:
    """Bodies that carry one end of a closure alone, each before its parent, with the end."""
    chains: list[list[int]] = []
    for end in ends:
        chain, body = [], int(end)
        while body >= 0:
            chain.append(body)
            body = int(tree.parent[body])
        chains.append(chain)
    both = set(chains[0]) & set(chains[1])
    return [
        (body, end) for end, chain in enumerate(chains) for body in chain if body not in both]


def _reach(tree: KinematicTree, bodies: np.ndarray) -> float:
    """A length typical of the loops in [m], by which angles are compared with distances."""
    sizes = np.linalg.norm(tree.translation[bodies], axis=1)
    return float(sizes[sizes > 0.0].mean()) if sizes.any() else 1.0
