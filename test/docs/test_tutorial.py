"""The tutorials and the five lines of the front page, run as they are written."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from support.simulated_arm import SimulatedArm
from sysid_ros.cli.main import main
from sysid_ros.mechanics.regressor.regressor import inertial_regressor
from sysid_ros.robot.model import RobotModel

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / 'docs' / 'tutorials' / 'ten-minutes.md'
HOUR = PAGE.with_name('your-robot.md')
# What a test environment has already.
_INSTALLED = ('pip', 'compile')


def steps(page=PAGE):
    """Command lines of the page without those that install, and its Python."""
    text = page.read_text(encoding='utf-8')
    shell = '\n'.join(re.findall(r'```sh\n(.*?)```', text, re.DOTALL))
    lines = [shlex.split(line, comments=True) for line in shell.splitlines()]
    commands = [words[1:] for words in lines if words and words[0] == 'sysid'
                and words[1] not in _INSTALLED]
    return commands, re.findall(r'```python\n(.*?)```', text, re.DOTALL)


def test_the_tutorial_ends_with_a_description_that_loads(tmp_path, monkeypatch, capsys):
    pytest.importorskip('mujoco')
    monkeypatch.chdir(tmp_path)
    commands, (program,) = steps()
    assert [words[0] for words in commands] == [
        'demo', 'init', 'init', 'check', 'fit', 'export', 'model']
    for words in commands:
        assert main(words) == 0, (words, capsys.readouterr())
    assert '4 joints, 4 moving bodies' in capsys.readouterr().out
    exec(compile(program, str(PAGE), 'exec'), names := {})
    assert names['fit'].verdict.committable


def test_the_five_lines_of_the_front_page_end_with_a_better_description(
    tmp_path, monkeypatch, capsys
):
    readme = (PROJECT / 'README.md').read_text(encoding='utf-8')
    (program,) = re.findall(r'```python\n(.*?)```', readme, re.DOTALL)
    assert len([line for line in program.splitlines() if line.strip()]) <= 5
    arm = SimulatedArm(1)
    t = np.arange(1600) / 100.0
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'robot.urdf').write_text(arm.description, encoding='utf-8')
    exec(compile(program, 'README.md', 'exec'), {
        't': t, 'q': arm.motion(t)[0], 'tau': arm.torque(t)})
    assert capsys.readouterr().out.startswith('VERDICT: committable')
    # Weight of the arm where nothing else counts: what torques tell of the inertial parameters.
    q = arm.motion(t[::100])[0]
    truth = arm.gravity(t[::100])
    errors = [
        np.linalg.norm(inertial_regressor(robot, q, 0 * q, 0 * q)
                       @ robot.reference_inertials.ravel() - truth)
        for robot in (RobotModel.from_urdf((tmp_path / name).read_text())
                      for name in ('robot_identified.urdf', 'robot.urdf'))]
    assert errors[0] < 0.1 * errors[1]


def test_an_hour_with_a_description_and_a_simulated_robot_ends_close_to_its_truth(
    tmp_path, monkeypatch, capsys
):
    pytest.importorskip('mujoco')
    monkeypatch.chdir(tmp_path)
    # The tutorial's robot is anybody's; one of two joints takes seconds where six take minutes.
    pendulum = PROJECT / 'examples' / 'double_pendulum' / 'double_pendulum.urdf'
    limits = '<limit lower="-2.5" upper="2.5" velocity="8" effort="2"/></joint>'
    (tmp_path / 'robot.urdf').write_text(
        pendulum.read_text().replace('continuous', 'revolute').replace('</joint>', limits))
    commands, _ = steps(HOUR)
    assert [words[0] for words in commands] == [
        'model', 'init', 'excite', 'simulate', 'simulate', 'init', 'init', 'check', 'fit', 'fit',
        'compare', 'report', 'pack', 'simulate', 'export', 'model']
    said = {}
    for words in commands:
        assert main(words) == 0, (words, capsys.readouterr())
        said[words[-2]] = capsys.readouterr().out
    rows = [line.split() for line in said['--compare'].splitlines() if line.startswith('  ')][2:]
    assert len(rows) == 2
    for _, _, described, identified in rows:
        assert float(identified) < 0.2 * float(described)
