"""The player of a page, run by Node.js on a canvas that notes what it is told."""

from pathlib import Path

import numpy as np
import pytest

from support.player_script import needs_node, played, view_of
from support.report_runs import (
    HOSTILE,
    changed_report,
    finished_run,
    forget_numbers,
    rename_everything,
    report,
)
from support.robot_factory import random_urdf
from sysid_ros.mechanics.tree.kinematics import body_poses
from sysid_ros.report import page
from sysid_ros.report.robot_motion import MotionPoses
from sysid_ros.report.sections.robot_view import BodyView, RobotViewSection
from sysid_ros.robot.model import RobotModel
from sysid_ros.runs.run_folder import RunFolder

SCRIPT = Path(page.__file__).with_name('player.js')
# What the player begins with: the view, and the size of the canvas of the test.
AZIMUTH, ELEVATION, WIDTH, HEIGHT = 0.8, 0.45, 900, 500


def content(shown):
    return view_of(shown).players()['motion']


@needs_node
def test_a_run_is_played_to_its_end_and_everything_can_be_touched(tmp_path):
    found = played(content(report()), tmp_path)
    assert found['shown'] == 'yes' and found['playing'] == 'Pause'
    end = content(report())['time'][-1]
    assert found['last'] == f'{end:.2f} s of {end:.2f} s'
    assert found['names'] == ['before the fit', 'identified']
    assert found['hidden']
    # Paper gets a picture of three pixels for one of the screen.
    assert found['printed'] == ['yes', f'data:image/png;{3 * WIDTH}x{3 * HEIGHT}']
    assert any('kg, identified' in text for text in found['texts'])


@needs_node
def test_ellipsoids_stand_where_the_section_has_them_at_first(tmp_path):
    shown = view_of(report())
    found = played(content(report()), tmp_path)['first']
    ca, sa = np.cos(AZIMUTH), np.sin(AZIMUTH)
    ce, se = np.cos(ELEVATION), np.sin(ELEVATION)
    view = np.array([[-sa, ca, 0.0], [-se * ca, -se * sa, ce]])
    solids = [solid for when in ('before', 'after') for _, solid in shown.solids(when)]
    centres = np.array([solid.centre for solid in solids]) @ view.T
    ellipses = found['ellipses'][-len(solids):]  # it is drawn again when its size is known
    drawn = np.array([each['given'][:2] for each in ellipses])
    # Up in the picture is down on a canvas; the scale is the same in both directions.
    seen = np.stack([drawn[:, 0] - WIDTH / 2, HEIGHT / 2 - drawn[:, 1]], axis=1)
    order, other = (np.lexsort(np.round(each, 6).T) for each in (centres, seen))
    apart, seen_apart = (
        np.linalg.norm(each - each.mean(axis=0), axis=1)
        for each in (centres[order], seen[other]))
    scale = seen_apart.sum() / apart.sum()
    np.testing.assert_allclose(seen_apart, scale * apart, atol=0.02 * seen_apart.max())
    # Semi-axes are those of the projected shape, in the same scale.
    shapes = [view @ np.array(solid.shape).reshape(3, 3) @ view.T for solid in solids]
    axes = np.sort([np.sqrt(np.linalg.eigvalsh(shape)[::-1]) for shape in shapes], axis=0)
    seen_axes = np.sort([each['given'][2:4] for each in ellipses], axis=0)
    np.testing.assert_allclose(seen_axes, scale * axes, rtol=0.03, atol=0.05)


@needs_node
@pytest.mark.parametrize('change', [forget_numbers, rename_everything(HOSTILE)])
def test_nothing_known_and_names_that_are_code_do_no_harm(change, tmp_path):
    found = played(content(changed_report(change)), tmp_path)
    assert found['shown'] == 'yes'
    assert found['markup'] == []


@needs_node
def test_a_box_is_drawn_by_its_twelve_edges_with_its_name(tmp_path):
    wall = {'label': HOSTILE, 'corners': [[0.9, -2.0, -2.0], [1.2, 2.0, None]]}
    found = [played(content(report()) | {'boxes': boxes}, tmp_path) for boxes in ([], [wall])]
    colours = [[line['colour'] for line in each['first']['lines']] for each in found]
    assert set(colours[1]) - set(colours[0]) == {'#cc79a7'}
    wall['corners'][1][2] = 2.0
    whole = played(content(report()) | {'boxes': [wall]}, tmp_path)
    edges = [line for line in whole['first']['lines'] if line['colour'] == '#cc79a7']
    # Drawn again when the size of the canvas is known.
    assert len(edges) == 24 and HOSTILE in whole['texts'] and whole['markup'] == []


def test_the_script_makes_no_markup_and_asks_for_nothing():
    script = SCRIPT.read_text()
    for word in ('innerHTML', 'outerHTML', 'insertAdjacentHTML', 'document.write', 'eval(',
                 'fetch(', 'XMLHttpRequest', 'import(', '</'):
        assert word not in script, word


@pytest.fixture(scope='module')
def robot():
    return RunFolder.open(finished_run()).setup().model.robot


def test_frames_are_the_poses_of_the_robot(robot):
    t = np.linspace(0.0, 5.0, 501)
    q = np.sin(np.outer(t, 1.0 + np.arange(len(robot.joint_names))))
    motion = MotionPoses.of(robot, t, q).played
    assert len(motion.time) == 101 and motion.duration == 5.0
    origin = np.array(motion.origin).reshape(101, -1, 3)
    rows = np.rint(np.array(motion.time) * 100).astype(int)
    np.testing.assert_allclose(origin, body_poses(robot, q[rows]).origin, atol=1e-4)


def test_the_longest_stretch_without_gaps_is_played_and_no_more_than_half_a_minute(robot):
    t = np.concatenate([np.arange(0.0, 10.0, 0.01), np.arange(50.0, 150.0, 0.01)])
    q = np.zeros((len(t), len(robot.joint_names)))
    motion = MotionPoses.of(robot, t, q, [(0, 1000), (1000, len(t))]).played
    assert motion.time[0] == 0.0 and motion.time[-1] == pytest.approx(30.0, abs=0.02)
    assert motion.duration == pytest.approx(150.0, abs=0.02)


def test_a_robot_of_very_many_bodies_is_played_in_few_frames():
    robot = RobotModel.from_description(random_urdf(0, 60, fixed_fraction=0.0))
    t = np.linspace(0.0, 60.0, 6001)
    q = np.tile(np.sin(t)[:, None], len(robot.joint_names))
    poses = MotionPoses.of(robot, t, q)
    view = RobotViewSection.of_bodies(poses, [
        BodyView(body=name, tree_index=int(poses.bodies[k]), before=None,
                 after=poses.solid(k, robot.inertial_prior[k]))
        for k, name in enumerate(robot.body_names)])
    assert 200 < len(view.motion.time) < 300
    assert len(view.model_dump_json()) < 3e6


def test_bodies_behind_massless_frames_move_with_their_own_joints():
    joints = ''.join(
        f'<joint name="j{k}" type="hinge" axis="{axis}"/>'
        for k, axis in enumerate(('0 0 1', '0 1 0')))
    robot = RobotModel.from_description(
        '<mujoco><worldbody><body name="first" pos="0 0 1">' + joints
        + '<geom size="0.1" mass="1"/><body name="second" pos="1 0 0">'
        '<joint name="last" type="hinge" axis="0 1 0"/><geom size="0.1" pos="0.5 0 0" mass="2"/>'
        '</body></body></worldbody></mujoco>')
    poses = MotionPoses.of(robot, np.array([0.0, 0.1]), np.zeros((2, 3)))
    first, second = (
        poses.solid(robot.body_names.index(name), phi)
        for name, phi in zip(robot.body_names, robot.inertial_prior, strict=True))
    np.testing.assert_allclose(first.centre, [0.0, 0.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(second.centre, [1.5, 0.0, 1.0], atol=1e-9)
