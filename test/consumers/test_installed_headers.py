"""A package that depends on this one finds the headers by CMake, as after colcon build."""

import os
import shutil
import subprocess
import sys

import pytest

from support.control_msgs_build import ros_prefixes
from support.cpp_programs import PROJECT, compiler

# The build of this package without its interfaces, which take a minute.
PROVIDER = f"""\
cmake_minimum_required(VERSION 3.20)
project(sysid_ros LANGUAGES CXX)
find_package(ament_cmake REQUIRED)
include({PROJECT}/cmake/headers.cmake)
sysid_install_headers()
ament_package()
"""
CONSUMER = """\
cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES CXX)
find_package(sysid_ros REQUIRED)
add_executable(consumer consumer.cpp)
target_link_libraries(consumer PRIVATE sysid_ros::identified_model)
"""
PROGRAM = """\
#include <sysid_ros/identified_parameters.hpp>
#include <sysid_ros/joint_terms.hpp>

int main()
{
  sysid_ros::JointDynamics joint;
  joint.viscous_friction = 2.0;
  return sysid_ros::joint_terms(joint).torque(0.0, 1.5, 0.0) == 3.0 ? 0 : 1;
}
"""


def run(*command, environment):
    done = subprocess.run(
        [str(word) for word in command], env=environment, capture_output=True, text=True,
        check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def build(source, scratch, environment, *options):
    """Configure, build and install a CMake project."""
    run('cmake', '-S', source, '-B', scratch, *options, environment=environment)
    run('cmake', '--build', scratch, environment=environment)
    run('cmake', '--install', scratch, environment=environment)


def test_a_depending_package_compiles_with_the_installed_headers(tmp_path):
    compiler()
    prefixes = [
        prefix for prefix in ros_prefixes() if (prefix / 'share/ament_cmake').is_dir()]
    if shutil.which('cmake') is None or not prefixes:
        pytest.skip('cmake or ament_cmake is not here')
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get('PATH', '')])
    environment = dict(
        os.environ, PATH=path, AMENT_PREFIX_PATH=os.pathsep.join(map(str, prefixes)))
    provider, consumer, installed = (tmp_path / name for name in ('one', 'other', 'installed'))
    provider.mkdir()
    consumer.mkdir()
    (provider / 'CMakeLists.txt').write_text(PROVIDER)
    shutil.copy(PROJECT / 'package.xml', provider)
    shutil.copytree(PROJECT / 'include', provider / 'include')
    (consumer / 'CMakeLists.txt').write_text(CONSUMER)
    (consumer / 'consumer.cpp').write_text(PROGRAM)
    python = f'-DPython3_EXECUTABLE={sys.executable}'
    build(provider, tmp_path / 'b1', environment, python, f'-DCMAKE_INSTALL_PREFIX={installed}',
          '-DCMAKE_PREFIX_PATH=' + ';'.join(map(str, prefixes)))
    scratch = tmp_path / 'b2'
    build(consumer, scratch, environment, python, f'-DCMAKE_INSTALL_PREFIX={tmp_path / "none"}',
          '-DCMAKE_PREFIX_PATH=' + ';'.join(map(str, [installed, *prefixes])))
    run(scratch / 'consumer', environment=environment)
    assert (installed / 'include/sysid_ros/sysid_ros/identified_model.hpp').is_file()
