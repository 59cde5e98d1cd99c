"""The copy of an MJCF in a run folder finds the meshes that tell its masses."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.identification import Identification
from sysid_ros.runs.stored_robot import stored_robot

pytest.importorskip('mujoco')


def settings(folder, robot):
    path = folder / 'settings.yaml'
    path.write_text(yaml.safe_dump({
        'robot': robot, 'recording': {'format': 'rosbag', 'file': 'bag'}}))
    return Identification.load(path)


@pytest.mark.parametrize(('inertial', 'is_needed'), [
    ('', True), ('<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>', False)])
def test_meshes_stay_where_they_are_and_are_named_where_they_are_needed(
        tmp_path, inertial, is_needed):
    (tmp_path / 'part.obj').write_text(
        'v 0 0 0\nv 0.3 0 0\nv 0 0.2 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n')
    (tmp_path / 'body.xml').write_text(
        f'<mujocoinclude><body name="a"><joint name="j"/>{inertial}<geom type="mesh" mesh="part"/>'
        '</body></mujocoinclude>')
    (tmp_path / 'robot.xml').write_text(
        '<mujoco><asset><mesh name="part" file="part.obj"/></asset><worldbody>'
        '<include file="body.xml"/></worldbody></mujoco>')
    original = settings(tmp_path, {'description': 'robot.xml'})
    model = original.model()
    section, files = stored_robot(FitSetup(original, model), 'prior.xml')
    assert section['assets'] == (str(tmp_path) if is_needed else None)
    kept = tmp_path / 'run'
    kept.mkdir()
    for name, content in files.items():
        (kept / name).write_bytes(content)
    again = settings(kept, {key: value for key, value in section.items() if value}).model()
    assert again.robot.description.sha256 == model.robot.description.sha256
    np.testing.assert_array_equal(again.robot.inertial_prior, model.robot.inertial_prior)
