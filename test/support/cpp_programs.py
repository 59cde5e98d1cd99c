"""Programs in C++ that tests compile against the package's headers."""

import os
import shutil
import subprocess
from pathlib import Path

import pinocchio
import pytest

PROJECT = Path(__file__).resolve().parents[2]
# What Pinocchio's CMake target asks of those who compile against it, and that the algorithms
# are in its library: to instantiate them again would take two minutes.
DEFINITIONS = (
    'BOOST_MPL_LIMIT_LIST_SIZE=30', 'BOOST_MPL_LIMIT_VECTOR_SIZE=30',
    'BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS', 'BOOST_FUSION_INVOKE_MAX_ARITY=12',
    'PINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION',
)


def compiler():
    """The C++ compiler; the test is skipped where there is none."""
    found = shutil.which('g++') or shutil.which('c++')
    return found or pytest.skip('there is no C++ compiler (g++)')


def compile_program(source, program, *options):
    """Compile a source file with the package's headers; every warning is an error."""
    command = [
        compiler(), '-std=c++17', '-O0', '-Wall', '-Wextra', '-Werror',
        '-I', PROJECT / 'include', source, '-o', program, *options]
    finished = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr[-4000:]
    return program


def pinocchio_options():
    """Options that find Pinocchio, Boost and Eigen; the test is skipped where one is missing."""
    prefix = next((
        folder for folder in Path(pinocchio.__file__).parents
        if (folder / 'include/pinocchio/algorithm/rnea.hpp').is_file()), None)
    if prefix is None:
        pytest.skip('the headers of Pinocchio are not beside its Python module')
    libraries = prefix / 'lib'
    if not list(libraries.glob('**/libpinocchio_default.so')):
        pytest.skip(f'there is no libpinocchio_default in {libraries}')
    folders = [prefix / 'include', prefix / 'include/pinocchio/deprecated', eigen(prefix)]
    options = [f'-D{definition}' for definition in DEFINITIONS]
    # As system headers: their warnings are none of ours.
    options += [word for folder in folders for word in ('-isystem', folder)]
    for folder in {path.parent for path in libraries.glob('**/libpinocchio_default.so')}:
        options += [f'-L{folder}', f'-Wl,-rpath,{folder}']
    return [*options, '-lpinocchio_default', '-lboost_serialization']


def eigen(prefix):
    """Folder of Eigen's headers, which Pinocchio's wheel needs and does not bring."""
    folders = [
        os.environ.get('EIGEN3_INCLUDE_DIR', ''), prefix / 'include/eigen3',
        '/usr/include/eigen3', '/usr/local/include/eigen3']
    for folder in filter(None, folders):
        if (Path(folder) / 'Eigen/Core').is_file():
            return Path(folder)
    return pytest.skip(
        'the headers of Eigen are not here: install libeigen3-dev, or name their folder in '
        'EIGEN3_INCLUDE_DIR')
