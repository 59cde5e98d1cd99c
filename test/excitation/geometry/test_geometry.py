"""Clearance of collision shapes: capsules hold them, and what is skipped is never too near."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import coal
import numpy as np
import pytest

from sysid_ros.errors import ConfigurationError, ExcitationError, ModelError
from sysid_ros.excitation.design.basis import FourierBasis
from sysid_ros.excitation.design.constraints import MotionState
from sysid_ros.excitation.design.design import Designer, DesignSettings
from sysid_ros.excitation.design.information import Information
from sysid_ros.excitation.geometry.clearance import UNIT, Box
from sysid_ros.excitation.geometry.exact_shapes import GeometryClearance, ShapeClearance
from sysid_ros.excitation.geometry.meeting_pairs import (
    MeetingPairs,
    capsule_pairs,
    clear_pose,
    distances_to_keep,
    self_clearance,
    standing,
)
from sysid_ros.excitation.geometry.shapes import capsules_of
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.mechanics.joint_terms.terms import ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

_LINK = (
    '<link name="{0}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" '
    'ixz="0" iyz="0"/></inertial>{1}</link>'
)
_JOINT = (
    '<joint name="j_{1}" type="revolute"><parent link="{0}"/><child link="{1}"/>'
    '<origin xyz="0 0 {2}"/><axis xyz="{3}"/>'
    '<limit lower="-3" upper="3" velocity="2" effort="50"/></joint>'
)
_SHAPE = '<collision><origin xyz="0 0 0.15" rpy="0.1 0.2 0"/><geometry>{}</geometry></collision>'
SHAPES = (
    '<box size="0.05 0.08 0.3"/>', '<cylinder radius="0.04" length="0.3"/>',
    '<capsule radius="0.04" length="0.2"/>', '<sphere radius="0.1"/>',
)
CUBE = """solid cube
{}
endsolid cube
"""


def arm(shapes: tuple[str, ...] = SHAPES, folder: Path | None = None) -> RobotModel:
    parts = ['<link name="base"/>']
    previous = 'base'
    for k, shape in enumerate(shapes):
        name, axis = f'link{k}', '0 1 0' if k % 2 else '1 0 0'
        parts.append(_LINK.format(name, _SHAPE.format(shape)))
        parts.append(_JOINT.format(previous, name, 0.0 if k == 0 else 0.35, axis))
        previous = name
    text = f'<robot name="arm">{"".join(parts)}</robot>'
    if folder is None:
        return RobotModel.from_urdf(text)
    (folder / 'arm.urdf').write_text(text)
    return RobotModel.from_urdf(folder / 'arm.urdf')


def motion_of(robot: RobotModel, samples: int, seed: int = 0, rate: float = 0.0) -> MotionState:
    """Random poses, or with a rate a smooth motion."""
    random = np.random.default_rng(seed)
    values = np.zeros((5, samples, len(robot.joint_names)))
    values[0] = random.uniform(-2.5, 2.5, values[0].shape)
    if rate:
        phase = random.uniform(0.0, 2.0 * np.pi, len(robot.joint_names))
        values[0] = 2.0 * np.sin(rate * np.arange(samples)[:, None] + phase)
    return MotionState(robot, values)


def every_distance(clearance: GeometryClearance, motion: MotionState) -> np.ndarray:
    """Slacks with every distance asked for, one sample at a time."""
    return np.vstack([
        clearance.slack(MotionState(motion.robot, motion.values[:, t:t + 1]))
        for t in range(motion.values.shape[1])
    ])


def test_what_is_not_asked_for_is_never_judged_too_far() -> None:
    robot = arm()
    clearance = GeometryClearance.of(
        robot, np.zeros(4), boxes=(Box('wall', (0.4, -1, -1), (0.5, 1, 1)),))
    assert len(clearance.pairs) == 3 + 4
    motion = motion_of(robot, 400, rate=0.01)
    found, exact = clearance.slack(motion), every_distance(clearance, motion)
    assert (found <= exact + 1e-9).all()
    # The verdict is the same: where a distance is too small it was asked for.
    np.testing.assert_array_equal(found.min(axis=0) < 0.0, exact.min(axis=0) < 0.0)
    assert (found.min(axis=0) < 0.0).any() and (found.min(axis=0) > 0.0).any()


def test_capsules_hold_the_shapes_they_stand_for() -> None:
    robot = arm()
    motion, box = motion_of(robot, 60), Box('post', (0.3, 0.1, 0.3), (0.35, 0.2, 0.9))
    shapes = GeometryClearance.of(robot, np.zeros(4), boxes=(box,), self_collision=False)
    exact = UNIT * every_distance(shapes, motion) + shapes.distance
    post, pose = coal.Box(0.05, 0.1, 0.6), coal.Transform3s(np.eye(3), np.array([0.325, 0.15, 0.6]))
    for k, capsule in enumerate(capsules_of(robot)[-4:]):
        ends = np.array([capsule.start, capsule.end])
        points = motion.poses.points(np.array([k, k]), ends)
        for t in range(60):
            start, end = points[t]
            length, axis = np.linalg.norm(end - start), end - start
            rotation = _rotation(axis)
            where = coal.Transform3s(rotation, 0.5 * (start + end))
            distance = coal.distance(
                coal.Capsule(capsule.radius, length), where, post, pose,
                coal.DistanceRequest(), coal.DistanceResult())
            if exact[t, k] > 0.0:
                assert distance <= exact[t, k] + 1e-6


def _rotation(axis: np.ndarray) -> np.ndarray:
    """A frame whose z axis is the given one."""
    if not axis.any():
        return np.eye(3)
    z = axis / np.linalg.norm(axis)
    x = np.cross(z, [0.3, 0.5, 0.8])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def cube_stl(half: float) -> str:
    corners = half * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    faces = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
             (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]
    lines = []
    for face in faces:
        vertices = ''.join('vertex {} {} {}\n'.format(*corners[k]) for k in face)
        lines.append(f'facet normal 0 0 0\nouter loop\n{vertices}endloop\nendfacet')
    return CUBE.format('\n'.join(lines))


def test_a_mesh_is_as_far_away_as_the_box_it_draws(tmp_path: Path) -> None:
    (tmp_path / 'cube.stl').write_text(cube_stl(50.0))
    mesh = '<mesh filename="cube.stl" scale="0.001 0.001 0.001"/>'
    drawn = arm((SHAPES[0], SHAPES[1], mesh), tmp_path)
    simple = arm((SHAPES[0], SHAPES[1], '<box size="0.1 0.1 0.1"/>'))
    motion = motion_of(drawn, 80, seed=3)
    found, expected = (
        every_distance(GeometryClearance.of(robot, np.zeros(3)), motion)
        for robot in (drawn, simple)
    )
    apart = expected > 0.0
    assert apart.sum() > 40
    np.testing.assert_allclose(found[apart], expected[apart], atol=1e-5)
    np.testing.assert_array_equal(found < 0.0, expected < 0.0)


def test_what_is_inside_of_a_mesh_touches_it(tmp_path: Path) -> None:
    (tmp_path / 'cube.stl').write_text(cube_stl(0.5))
    robot = arm(('<mesh filename="cube.stl"/>',), tmp_path)
    inside = Box('stone', (-0.05, -0.05, 0.1), (0.05, 0.05, 0.2))
    clearance = GeometryClearance.of(robot, np.zeros(1), boxes=(inside,))
    assert (clearance.slack(motion_of(robot, 20)) < 0.0).all()


def test_a_mesh_that_is_missing_is_named_and_one_that_is_broken_refused(tmp_path: Path) -> None:
    robot = arm((*SHAPES[:2], '<mesh filename="missing.stl"/>'), tmp_path)
    assert GeometryClearance.of(robot, np.zeros(3)).missing == ('link2',)
    (tmp_path / 'broken.stl').write_text('nothing of the kind')
    robot = arm((*SHAPES[:2], '<mesh filename="broken.stl"/>'), tmp_path)
    with pytest.raises(ModelError, match='the mesh cannot be read'):
        GeometryClearance.of(robot, np.zeros(3))


@pytest.mark.parametrize('distance', [0.0, 0.02, 0.3, 2.0])
def test_a_larger_distance_drops_no_pair(distance: float) -> None:
    robot = arm()
    kept = GeometryClearance.of(robot, np.zeros(4), distance=distance)
    assert len(kept.pairs) == 3
    capsules = capsules_of(robot)
    own = self_clearance(robot, capsules, np.zeros(4), distance)
    assert len(own.pairs) == len(self_clearance(robot, capsules, np.zeros(4), 0.0).pairs)
    # Whatever is asked for, the pose that is said to be clear stays allowed.
    state = MotionState(robot, np.zeros((5, 1, 4)))
    assert (kept.slack(state) > 0.0).all() and (own.slack(state) > 0.0).all()


def test_pairs_that_overlap_by_construction_do_not_count_and_others_are_an_error() -> None:
    # At rest, and in another pose.
    room = np.array([[0.5, -0.1, 0.03, -0.1], [0.5, 0.3, 0.4, -0.1]])
    robot = arm()
    # Bodies next but one to each other may overlap, others must not.
    far = np.array([True, False, False, True])
    kept = distances_to_keep(robot, far, room, 0.02, list('abcd'))
    np.testing.assert_allclose(kept, [0.02, 0.0, 0.015, 0.0], atol=1e-8)
    with pytest.raises(ConfigurationError, match='touches itself.*found b'):
        distances_to_keep(robot, far[2:], room[:, [2, 1]], 0.02, ['a', 'b'])


def test_what_only_the_shapes_forbid_is_named(tmp_path: Path) -> None:
    # A long tool that capsules do not know, since its mesh was not found when they were made.
    robot = arm(('<sphere radius="0.03"/>', '<box size="0.02 0.02 0.6"/>'))
    model = TorqueModel(robot, [ViscousFriction()])
    limits = MotionLimits.of(robot)
    everywhere = Box('flood', (-9.0, -9.0, -9.0), (9.0, 9.0, 9.0))
    search = Designer(
        model, Information.of(model, limits), limits, FourierBasis(4.0, (1, 2, 3)),
        DesignSettings(starts=1, iterations=2), (),
        (GeometryClearance.of(robot, np.zeros(2), boxes=(everywhere,)),),
    )
    with pytest.raises(ExcitationError, match='no pose to begin from') as caught:
        search.design()
    assert 'flood' in str(caught.value)


def test_shapes_have_their_own_derivative() -> None:
    robot = arm(('<box size="0.05 0.08 0.3"/>', '<capsule radius="0.04" length="0.2"/>',
                 '<sphere radius="0.1"/>', '<capsule radius="0.05" length="0.1"/>'))
    constraint = ShapeClearance(GeometryClearance.of(robot, np.zeros(4)))
    motion, random = motion_of(robot, 60), np.random.default_rng(1)
    weights = random.normal(size=(60, len(constraint.labels())))
    direction, step = random.normal(size=motion.values.shape), 1e-5
    moved = [
        constraint.slack(MotionState(robot, motion.values + sign * step * direction))
        for sign in (1.0, -1.0)
    ]
    expected = np.sum(weights * (moved[0] - moved[1]) / (2.0 * step), axis=1)
    found = np.sum(constraint.gradient(motion, weights) * direction, axis=(0, 2))
    # Where the nearest feature of the box changes, the distance has a kink.
    smooth = np.abs(found - expected) <= 1e-4 * (1.0 + np.abs(expected))
    assert smooth.mean() > 0.9


def test_shapes_that_capsules_cannot_speak_for_are_followed_themselves() -> None:
    flat = ('<cylinder radius="0.15" length="0.02"/>',) * 3
    robot = arm(flat)
    geometry = GeometryClearance.of(robot, np.zeros(3))
    assert not geometry.hidden(robot, np.zeros(3)).pairs
    # A disc on a disc: flat sides that are near each other, where capsules are round.
    long = arm(('<cylinder radius="0.2" length="0.2"/>', '<sphere radius="0.02"/>',
                '<cylinder radius="0.2" length="0.5"/>'))
    geometry = GeometryClearance.of(long, np.zeros(3))
    assert [len(each.pairs) for each in (geometry, geometry.hidden(long, np.zeros(3)))] == [1, 1]


def folded(robot: RobotModel) -> MeetingPairs:
    return MeetingPairs(robot, GeometryClearance.all_pairs(robot))


# The middle of these ranges folds the arm onto itself.
FOLDED = np.array([0.0, -2.8, 2.8, -2.8])


def test_where_the_usual_pose_touches_a_clear_one_near_it_is_found() -> None:
    robot = arm(('<box size="0.05 0.05 0.3"/>',) * 4)
    lower, upper = FOLDED - 1.5, FOLDED + 1.5
    meeting = folded(robot)
    with pytest.raises(ConfigurationError, match='touches itself.*capsule_radius.*srdf'):
        meeting.keeping(FOLDED, 0.02)
    pose = clear_pose(FOLDED, lower, upper, (meeting,))
    assert (lower <= pose).all() and (pose <= upper).all()
    # By other means than those of the search.
    kept = GeometryClearance.of(robot, pose)
    assert (kept.nearest(standing(robot, pose))[0] > 0.0).all()
    assert {tuple(sorted(pair)) for pair in kept.bodies()} >= {(0, 2), (0, 3), (1, 3)}
    # No joint moves but those between links that touched.
    assert pose[0] == FOLDED[0]
    np.testing.assert_array_equal(pose, clear_pose(FOLDED, lower, upper, (folded(robot),)))


def test_a_usual_pose_that_is_clear_stays_and_one_that_cannot_be_mended_is_refused() -> None:
    robot = arm(('<box size="0.05 0.05 0.3"/>',) * 4)
    straight = np.zeros(4)
    assert clear_pose(straight, straight - 1.0, straight + 1.0, (folded(robot),)) is straight
    meeting = folded(robot)
    stuck = clear_pose(FOLDED, FOLDED - 1e-3, FOLDED + 1e-3, (meeting,))
    assert stuck is FOLDED
    with pytest.raises(ConfigurationError, match='touches itself'):
        meeting.keeping(stuck, 0.02)


def test_capsules_of_described_shapes_leave_it_to_these() -> None:
    # The first and the last of these plates pass each other more closely than their capsules can.
    robot = arm(('<box size="0.02 0.12 0.3"/>',) * 4)
    pose = np.array([0.0, -2.4, 2.4, -2.4])
    capsules = MeetingPairs(robot, capsule_pairs(robot, capsules_of(robot)))
    assert (capsules.at(pose) <= 0.0).sum() == 1
    assert len(capsules.keeping(pose, 0.02).pairs) == 2
    shapes = folded(robot).keeping(pose, 0.02)
    assert len(shapes.pairs) == 3 and (shapes.slack(standing(robot, pose)) > 0.0).all()
    # The search for a motion follows the shapes themselves where capsules cannot tell.
    assert len(shapes.hidden(robot, pose).pairs) == 1


@pytest.mark.parametrize('size', ['2.3e-41', '1e30'])
def test_a_mesh_that_rounding_makes_flat_or_endless_is_refused_and_ends_no_process(
    tmp_path: Path, size: str
) -> None:
    corners = f'0 0 0|0 1 0|1 0 0|{size} 0 0|0 0 {size}|0 {size} 0'
    (tmp_path / 'flat.obj').write_text('\n'.join(
        [*(f'v {corner}' for corner in corners.split('|')), 'f 1 2 3', 'f 4 5 6', 'f 1 5 6']))
    read = (
        'import sys\nfrom pathlib import Path\n'
        'from sysid_ros.excitation.geometry.meshes import load_hull\n'
        'try:\n    load_hull(Path(sys.argv[1]), (1.0, 1.0, 1.0))\n'
        'except Exception as error:\n    print(type(error).__name__)\n')
    done = subprocess.run(
        [sys.executable, '-c', read, str(tmp_path / 'flat.obj')], text=True, capture_output=True)
    assert (done.returncode, done.stdout) == (0, 'ModelError\n'), done.stderr
