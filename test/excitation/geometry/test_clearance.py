"""Clearances against an independent geometry library, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.excitation.design.constraints import MotionState
from sysid_ros.excitation.geometry.clearance import (
    Box,
    BoxClearance,
    Capsule,
    KeepIn,
    SelfClearance,
)
from sysid_ros.excitation.geometry.segments import nearest_points
from sysid_ros.mechanics.torque_model import TorqueModel

coal = pytest.importorskip('coal')

CAPSULES = (
    Capsule('base', -1, (0.0, 0.0, -0.1), (0.0, 0.0, 0.1), 0.05),
    Capsule('upper', 1, (0.0, 0.0, 0.0), (0.4, 0.0, 0.0), 0.04),
    Capsule('hand', 2, (0.0, 0.0, 0.0), (0.3, 0.05, 0.0), 0.03),
)
PAIRS = np.array([[0, 1], [0, 2], [1, 2]])
BOX = Box('table', (-0.5, -0.6, -0.4), (0.2, 0.1, 0.15))


def constraints(model: TorqueModel) -> list:
    return [
        SelfClearance(CAPSULES, PAIRS), BoxClearance(CAPSULES, (BOX,)),
        KeepIn(2, (0.3, 0.0, 0.0), BOX),
    ]


def motion_of(model: TorqueModel, seed: int, samples: int = 30) -> MotionState:
    values = np.random.default_rng(seed).uniform(-2.0, 2.0, (5, samples, 3))
    return MotionState(model.robot, values)


@pytest.mark.parametrize('kind', range(3))
def test_each_constraint_has_its_own_derivative(model: TorqueModel, kind: int) -> None:
    constraint, motion = constraints(model)[kind], motion_of(model, kind)
    rng = np.random.default_rng(9)
    weights = rng.normal(size=constraint.slack(motion).shape)
    direction, step = rng.normal(size=motion.values.shape), 1e-6
    gradient = constraint.gradient(motion, weights)
    moved = [
        constraint.slack(MotionState(model.robot, motion.values + sign * step * direction))
        for sign in (1.0, -1.0)
    ]
    rate = (moved[0] - moved[1]) / (2.0 * step)
    # Where the nearest feature changes, or a segment is inside a box, the distance has a kink.
    slack = constraint.slack(motion)
    smooth = (np.abs(moved[0] + moved[1] - 2.0 * slack) < 1e-9).all(axis=1)
    if kind == 1:
        smooth &= (slack > -0.4).all(axis=1)
    assert smooth.mean() > 0.6
    found = np.sum(gradient * direction, axis=(0, 2))
    np.testing.assert_allclose(
        found[smooth], np.sum(weights * rate, axis=1)[smooth], rtol=1e-5, atol=1e-5
    )


def test_segments_are_as_far_apart_as_coal_says() -> None:
    rng = np.random.default_rng(0)
    ends = rng.normal(size=(4, 300, 3))
    ends[1, :20] = ends[0, :20]  # points
    ends[3, 10:30] = ends[2, 10:30]
    ends[3, 30:60] = ends[2, 30:60] + ends[1, 30:60] - ends[0, 30:60]  # parallel
    first, second = (found[0] for found in nearest_points(*ends[:, None]))
    for k in range(ends.shape[1]):
        expected = coal_distance(ends[0, k], ends[1, k], coal_capsule(ends[2, k], ends[3, k]))
        assert np.linalg.norm(first[k] - second[k]) == pytest.approx(expected, abs=1e-6)


def test_boxes_are_as_far_away_as_coal_says(model: TorqueModel) -> None:
    constraint, motion = constraints(model)[1], motion_of(model, 5, 100)
    slack = constraint.slack(motion)
    poses = motion.poses
    lower, upper = np.array(BOX.lower), np.array(BOX.upper)
    box = (coal.Box(*(upper - lower)), coal.Transform3s(np.eye(3), 0.5 * (lower + upper)))
    for k, capsule in enumerate(c for c in CAPSULES if c.body >= 0):
        bodies = np.array([capsule.body] * 2)
        ends = poses.points(bodies, np.array([capsule.start, capsule.end]))
        for t in range(len(ends)):
            expected = coal_distance(*ends[t], box) - capsule.radius - constraint.distance
            if slack[t, k] > 0.0:
                assert slack[t, k] * 0.1 == pytest.approx(expected, abs=1e-5)
            else:
                assert expected <= 1e-5


def coal_capsule(start: np.ndarray, end: np.ndarray) -> tuple:
    """A very thin capsule of the other library, with its pose."""
    axis = end - start
    length = np.linalg.norm(axis)
    frame = np.eye(3)
    if length > 0.0:
        frame = np.linalg.qr(np.column_stack([axis, np.eye(3)[np.argsort(np.abs(axis))[:2]].T]))[0]
        frame = np.column_stack([frame[:, 1], frame[:, 2], np.cross(frame[:, 1], frame[:, 2])])
    return coal.Capsule(1e-9, length), coal.Transform3s(frame, 0.5 * (start + end))


def coal_distance(start: np.ndarray, end: np.ndarray, other: tuple) -> float:
    """Distance of a segment from a shape by the other library."""
    result = coal.DistanceResult()
    return coal.distance(*coal_capsule(start, end), *other, coal.DistanceRequest(), result)


def test_the_pairs_and_sides_have_names(model: TorqueModel) -> None:
    labels = [label for constraint in constraints(model) for label in constraint.labels()]
    assert 'clearance of base and hand' in labels
    assert 'clearance of upper and table' in labels
    assert 'upper z of table' in labels
    assert len(labels) == sum(c.slack(motion_of(model, 0)).shape[1] for c in constraints(model))
