"""How many base parameters a robot has by counting joints, without any regressor or motion."""

from __future__ import annotations

from sysid_ros.robot.tree import KinematicTree


def base_parameter_count(tree: KinematicTree) -> int:
    """Number of base inertial parameters of a tree whose axes are in general position.

    What remains of a body's ten parameters by the grouping rules of Gautier and Khalil 1990
    (Khalil and Dombre 2002, chapter 9), applied along the chain that carries it.
    No two axes may be parallel or at right angles, nor an axis and gravity.
    """
    count = 0
    for body, revolute in enumerate(tree.revolute):
        turning = sum(bool(tree.revolute[k]) for k in ancestors(tree, body))
        if revolute:
            # All but the three that join the parent's; the first turns about one line only.
            count += 7 if turning else 3
        else:
            # Its mass; first moments when it is turned, one of them lost on a fixed line.
            count += (1, 3, 4)[min(turning, 2)]
    return count


def told_armatures(tree: KinematicTree) -> int:
    """How many inertias of drives can be told from the bodies': those of moved axes.

    A body that only slides shows its moment of inertia about its axis, or on the base its
    mass, to its own joint alone, where the drive's inertia does the same.
    """
    count = 0
    for body, revolute in enumerate(tree.revolute):
        carriers = list(ancestors(tree, body))
        count += any(tree.revolute[k] for k in carriers) or (bool(carriers) and not revolute)
    return count


def ancestors(tree: KinematicTree, body: int):
    """The bodies that carry one, nearest first."""
    while (body := int(tree.parent[body])) >= 0:
        yield body
