"""Simulated motion beside the measured one: what is played, and what the canvas is told."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.player_script import NODE, SUPPORT, needs_node
from support.report_runs import finished_run, report
from sysid_ros.evaluation.simulation import SimulationErrors, simulation_of
from sysid_ros.mechanics.tree.kinematics import body_poses
from sysid_ros.report import page
from sysid_ros.report.plots import BEFORE, IDENTIFIED, INK
from sysid_ros.report.robot_motion import MotionPoses
from sysid_ros.report.simulated_motion import SimulatedMotion
from sysid_ros.runs.run_folder import RunFolder

T, STARTS = np.linspace(0.0, 2.0, 201), np.arange(0.0, 40.0, 2.0)


@pytest.fixture(scope='module')
def model():
    return RunFolder.open(finished_run()).setup().model


@pytest.fixture(scope='module')
def run(model):
    """Twenty stretches of two seconds, the prior ten times as far off, and once astray."""
    joints = np.arange(1.0, 1.0 + len(model.robot.joint_names))
    at = (STARTS[:, None] + T)[..., None]
    q, v = np.sin(0.3 * joints * at), 0.3 * joints * np.cos(0.3 * joints * at)
    off = 0.01 * T[:, None] * np.ones(len(joints))
    prior = q + 10.0 * off
    prior[-1, 100:] = np.nan
    return simulation_of(
        model, T, STARTS, q, v, SimulationErrors.of(q + off, v, q, v),
        SimulationErrors.of(prior, v, q, v), source='made')


def frames(origin, motion):
    return np.array(origin, dtype=float).reshape(len(motion.measured.time), -1, 3)


def test_each_stretch_begins_where_it_was_measured_and_its_end_is_held(model, run):
    motion = SimulatedMotion.of(model.robot, run)
    assert motion.stretches == 6
    each = len(motion.measured.time) // 6
    time = np.array(motion.measured.time).reshape(6, each)
    assert (np.diff(time.reshape(-1)) > 0.0).all()
    np.testing.assert_allclose(time[:, -2] - time[:, 0], 2.0, atol=2e-3)
    np.testing.assert_allclose(time[:, -1] - time[:, -2], 0.4, atol=2e-3)
    measured, identified, prior = (
        frames(origin, motion).reshape(6, each, -1, 3)
        for origin in (motion.measured.origin, motion.identified, motion.prior))
    for path in (identified, prior):
        np.testing.assert_allclose(path[:, 0], measured[:, 0], atol=1e-4)
    last = [0, 4, 8, 11, 15, 19]
    for path, simulated in ((measured, run.measured), (identified, run.candidate.path)):
        for row in (-1, -2):
            np.testing.assert_allclose(
                path[:, row], body_poses(model.robot, simulated[last, -1]).origin, atol=1e-4)
    assert np.isnan(prior[-1, -1]).all() and not np.isnan(prior[:-1]).any()


def test_a_robot_that_cannot_be_placed_is_not_played(model, run, monkeypatch):
    from sysid_ros.errors import ModelError
    from sysid_ros.report import simulated_motion

    def refuse(*_):
        raise ModelError('loops cannot close')

    monkeypatch.setattr(simulated_motion, 'body_poses', refuse)
    assert SimulatedMotion.of(model.robot, run) is None


def played(motion, folder):
    """What the canvas is told of a section with this motion."""
    section = next(each for each in report().sections if each.section == 'simulation')
    content = section.model_copy(update={'motion': motion}).players()['motion']
    file = folder / 'content.json'
    file.write_text(json.dumps(content, allow_nan=False))
    done = subprocess.run(
        [NODE, str(SUPPORT / 'canvas.js'), str(Path(page.__file__).with_name('player.js')),
         str(file)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_node
def test_three_skeletons_are_drawn_with_how_far_they_are_apart(model, run, tmp_path):
    motion = SimulatedMotion.of(model.robot, run)
    found = played(motion, tmp_path)
    colours = {line['colour'] for line in found['first']['lines']}
    assert {INK, BEFORE, IDENTIFIED} <= colours
    assert found['names'] == ['before the fit', 'identified']
    # It begins as far ahead as the verdict looks.
    shown, bodies = motion.measured.shown, frames(motion.measured.origin, motion)
    assert motion.measured.time[shown] == pytest.approx(0.5, abs=0.03)
    for name, origin in (('before the fit', motion.prior), ('identified', motion.identified)):
        away = 1e3 * np.linalg.norm(frames(origin, motion)[shown] - bodies[shown], axis=1).max()
        said = [text for text in found['first']['texts'] if text.startswith(f'{name}: ')][-1]
        assert float(said.split()[-3]) == pytest.approx(away, rel=0.05)
    # The last stretch of the description goes astray.
    assert 'before the fit: gone astray' in found['texts']


@needs_node
def test_the_report_of_a_run_has_it(tmp_path):
    section = next(each for each in report().sections if each.section == 'simulation')
    found = played(section.motion, tmp_path)
    assert any(text.endswith('mm off') for text in found['texts'])
    assert section.motion.measured.parent == MotionPoses.of(
        RunFolder.open(finished_run()).setup().model.robot, T, np.zeros(
            (len(T), len(section.joints) + len(section.still)))).played.parent


def test_one_short_stretch_is_played_too(model, run):
    few = replace(
        run, t=run.t[:2], starts=run.starts[:1], measured=run.measured[:1, :2],
        candidate=replace(run.candidate, path=run.candidate.path[:1, :2]),
        prior=replace(run.prior, path=run.prior.path[:1, :2]))
    motion = SimulatedMotion.of(model.robot, few)
    assert motion.stretches == 1 and len(motion.measured.time) == 3
