"""Robots and links as simulators want them: joints that each move a body, bodies that can be."""

from __future__ import annotations

import numpy as np

from sysid_ros.errors import ReleaseError
from sysid_ros.robot.description.numbers import written_numbers
from sysid_ros.robot.inertia import central_inertia, is_consistent
from sysid_ros.robot.model import RobotModel


def require_plain_tree(robot: RobotModel, format_name: str, converted: str) -> None:
    """Refuse a robot whose joints do not each move a body of their own.

    Args:
        robot: The robot.
        format_name: What is written, in words.
        converted: What makes it from a description, in words.

    Raises:
        ReleaseError: Joints close loops, move the base, follow others or come several on a body.
    """
    found = next((words for words, there in (
        ('joints that close loops', robot.loops is not None),
        ('joints that move the base', bool(robot.base_joints)),
        ('joints that follow others', robot.tree.is_coupled),
        ('several joints on one body', bool(robot.tree.massless.any()))) if there), None)
    if found is not None:
        raise ReleaseError(
            f'{format_name} is written of robots whose joints each move a body of their own',
            where=robot.name, found=found,
            fix=f'Export the description: sysid export RUN -o FILE; {converted}')


def link_inertia(name: str, phi: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass in [kg], centre in [m] and inertia about it in [kg·m²] of a link.

    Args:
        name: Its name.
        phi: Its inertial parameters, shape ``(10,)``.

    Raises:
        ReleaseError: No real mass distribution has them.
    """
    if not is_consistent(phi):
        raise ReleaseError(
            'no real mass distribution has the inertia of a link, which simulators refuse',
            where=f'link "{name}"', found=written_numbers(phi),
            fix="Fit with an estimator that allows only real bodies, 'entropic' or 'lmi'")
    return central_inertia(phi)


def carrier_of(robot: RobotModel, body: int) -> str:
    """Name of the link that a body's joint is fixed to.

    Args:
        robot: The robot.
        body: Number of the body.
    """
    parent = robot.tree.parent[body]
    return robot.base_name if parent < 0 else robot.body_names[parent]
