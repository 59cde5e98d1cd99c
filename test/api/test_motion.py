"""``si.excite``: a motion by keywords, the same as that of a settings file."""

import numpy as np
import pytest
import yaml

import sysid_ros as si
from support.golden_problems import arm_urdf
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.excitation.files import load_excitation

SECTIONS = {
    'motion': {'duration': 4.0, 'harmonics': [1, 2, 3]},
    'clearance': {'boxes': [{'name': 'wall', 'lower': [0.9, -2, -2], 'upper': [1.2, 2, 2]}]},
    'design': {'starts': 1, 'iterations': 5, 'seed': 4}}


@pytest.fixture
def robot(tmp_path):
    (tmp_path / 'arm.urdf').write_text(arm_urdf())
    return tmp_path / 'arm.urdf'


def test_it_is_the_motion_of_the_command_line(robot, tmp_path, capsys):
    motion = si.excite(robot, file=tmp_path / 'motion.yaml', **SECTIONS)
    assert isinstance(motion, si.Excitation)
    again = load_excitation(tmp_path / 'motion.yaml')
    assert np.array_equal(again.coefficients, motion.coefficients)
    settings = tmp_path / 'arm.yaml'
    settings.write_text(yaml.safe_dump({'robot': {'urdf': 'arm.urdf'}} | SECTIONS))
    assert main(['excite', str(settings), '-o', str(tmp_path / 'motions')]) == ExitCode.OK
    written = load_excitation(tmp_path / 'motions' / 'excitation.yaml')
    assert np.array_equal(written.coefficients, motion.coefficients)
    assert main(['excite', str(settings), '--check', str(tmp_path / 'motion.yaml')]) == ExitCode.OK
    samples = motion.grid(50.0)
    assert np.abs(samples.v[[0, -1]]).max() < 1e-9 < np.abs(samples.v).max()


def test_a_model_and_its_limits_will_do(robot):
    model = si.RobotModel.from_description(robot)
    limits = {name: {'velocity': 0.5} for name in model.joint_names}
    motion = si.excite(model, limits=limits, **SECTIONS)
    assert np.abs(motion.grid(100.0).v).max() <= 0.5


def test_a_key_that_does_not_exist_is_refused_by_its_name(robot):
    with pytest.raises(si.ConfigurationError, match='durration'):
        si.excite(robot, motion={'durration': 4.0})
