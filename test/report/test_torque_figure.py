"""The figure of torques: whose they are, how far off, and what is left over on its own scale."""

import json

import pytest

from support.report_runs import finished_run
from sysid_ros.report import joint_axes
from sysid_ros.report.figures import torque_strips
from sysid_ros.report.joint_strips import JointStrips
from sysid_ros.runs.judgement import reopened_study
from sysid_ros.runs.run_folder import RunFolder


@pytest.fixture(scope='module')
def strips():
    study = reopened_study(finished_run())
    return torque_strips(
        study.held_out.problem, RunFolder.open(finished_run()).estimate(), title='torques')


def test_the_title_says_the_robot_and_by_how_much_it_is_off(strips):
    evaluation = json.loads((finished_run() / 'evaluation.json').read_text())['held_out']
    robot = RunFolder.open(finished_run()).setup().model.robot.name
    assert strips.title.startswith(f'{robot}: torques, ')
    off = 100.0 * evaluation['relative_error']
    assert float(strips.title.split(', ')[1].split(' %')[0]) == pytest.approx(off, abs=0.51)


def test_residuals_have_a_strip_and_a_scale_of_their_own_with_two_sigma_shaded(strips):
    sigma = RunFolder.open(finished_run()).estimate().residuals.rms_per_joint
    torques, left = strips.strips[::2], strips.strips[1::2]
    assert len(left) == len(sigma)
    for strip, one in zip(left, sigma, strict=True):
        assert strip.band == pytest.approx(2.0 * one)
        assert [curve.label for curve in strip.curves] == ['measured − identified, ±2 σ']
    for strip in torques:
        assert [curve.label for curve in strip.curves] == ['prior', 'measured', 'identified']
    figure = joint_axes.drawn(strips)
    above, below = (axis.get_position().height for axis in figure.axes[:2])
    assert below == pytest.approx(0.5 * above, rel=0.02)
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 4


def test_strips_are_read_as_they_were_written(strips, tmp_path):
    strips.write(tmp_path / 'strips')
    again = JointStrips.read(tmp_path / 'strips')
    assert [one.height for one in again.strips] == [one.height for one in strips.strips]
    assert again.title == strips.title


def test_names_that_are_formulas_are_drawn_as_they_are(strips, tmp_path):
    shown = JointStrips('$x^ $', strips.along, strips.strips)
    joint_axes.draw(tmp_path / 'figure.png', shown)
    assert (tmp_path / 'figure.png').stat().st_size > 10_000
