"""Public descriptions load, or are refused with a reason."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

import pytest

from sysid_ros.errors import ModelError
from sysid_ros.robot.model import RobotModel

REFUSED = {
    'alex_psyonic_hands.urdf': 'mimics a joint that does not exist',
    'quadrotor_base.urdf': 'no joint is left to move',
    'iris_simple.urdf': 'no joint is left to move',
    'ur3.urdf': 'it has no <link>',
}


def test_every_urdf_of_example_robot_data_loads_or_says_why_not():
    try:
        data = distribution('example-robot-data')
    except PackageNotFoundError:
        pytest.skip("example-robot-data is not installed: pip install '.[test]'")
    files = sorted(
        Path(str(data.locate_file(file))) for file in data.files or () if file.suffix == '.urdf')
    assert len(files) > 60
    refused = {}
    for path in files:
        try:
            assert RobotModel.from_urdf(path).joint_names
        except ModelError as error:
            refused[path.name] = str(error)
    assert refused.keys() == REFUSED.keys() & {path.name for path in files}
    for name, words in refused.items():
        assert REFUSED[name] in words


@pytest.mark.parametrize(('package', 'file', 'joints', 'free'), [
    ('robosuite', 'models/assets/robots/panda/robot.xml', 7, ''),
    ('robosuite', 'models/assets/grippers/robotiq_gripper_140.xml', 2, ''),
    ('gymnasium', 'envs/mujoco/assets/ant.xml', 8, 'root'),
    ('gymnasium_robotics', 'envs/assets/fetch/push.xml', 15, ''),
    ('gymnasium_robotics', 'envs/assets/hand/manipulate_block.xml', 24, ''),
    ('dm_control', 'suite/humanoid_CMU.xml', 56, 'root'),
])
def test_mjcfs_with_includes_meshes_objects_and_free_bases_load(package, file, joints, free):
    pytest.importorskip('mujoco')
    spec = find_spec(package)
    if spec is None:
        pytest.skip(f'{package} is not installed; see benchmarks/robots.txt')
    robot = RobotModel.from_mjcf(Path(next(iter(spec.submodule_search_locations))) / file)
    assert (len(robot.joint_names), robot.free_joint) == (joints, free)
