"""The example that bends a loop: what it finds, and the figures that it leaves."""

from __future__ import annotations

import re
import runpy

import numpy as np
import pytest
from matplotlib.image import imread

from sysid_ros.errors import ModelError
from sysid_ros.report.playback_figure import film_strip


@pytest.fixture(scope='module')
def loop_example(project, tmp_path_factory):
    """Folder and output of the example."""
    folder = tmp_path_factory.mktemp('loop_example')
    example = runpy.run_path(str(project / 'examples' / 'bend_a_loop.py'))
    lines = []
    example['main'].__globals__['print'] = lambda *words, **_: lines.append(' '.join(words))
    example['main'](folder)
    return folder, lines, example


@pytest.mark.slow
def test_the_example_finds_both_stiffnesses(loop_example):
    _, lines, _ = loop_example
    found = [re.search(r'([\d.]+) N·m/rad.*true ([\d.]+)', line) for line in lines[:2]]
    for match in found:
        assert float(match[1]) == pytest.approx(float(match[2]), rel=0.03)
    # Its feedback suits, so that there is no advice.
    assert not any(lines[2:])


def test_the_robot_with_its_loop_is_written(loop_example):
    from sysid_ros.robot.loops import LoopSettings
    from sysid_ros.robot.model import RobotModel

    folder, _, _ = loop_example
    robot = RobotModel.from_urdf(
        folder / 'arm_with_loop.urdf', loops=LoopSettings.load(folder / 'loop.yaml'))
    assert len(robot.passive_joints) == 16


@pytest.mark.parametrize('name', ['convergence', 'path', 'film'])
def test_figures_are_drawn(loop_example, name):
    image = imread(loop_example[0] / f'{name}.png')
    assert image.shape[0] > 300 and image.shape[1] > 600
    assert np.ptp(image[..., :3]) > 0.5


def test_a_film_of_nothing_is_refused(loop_example, tmp_path):
    robot = loop_example[2]['arm']()
    with pytest.raises(ModelError, match='no links to draw'):
        film_strip(tmp_path / 'film.png', robot, np.zeros((1, 3)), [0.0], [], np.zeros(3))
