"""The installed package: one version, its executables, its files and what it depends on."""

import ast
import importlib
import importlib.metadata
import os
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import sysid_ros

PROJECT = Path(__file__).resolve().parents[1]
MANIFEST = ElementTree.parse(PROJECT / 'package.xml')
CONFIG = ConfigParser()
CONFIG.read(PROJECT / 'setup.cfg', encoding='utf-8')
ENTRY_POINTS = ConfigParser()
ENTRY_POINTS.optionxform = str
ENTRY_POINTS.read(PROJECT / 'entry_points.txt', encoding='utf-8')
EXECUTABLES = dict(ENTRY_POINTS['console_scripts'])

# Import name -> (requirement in setup.cfg, rosdep key in package.xml). None: pip has no such
# package and it is imported where it is used; or it is in requirements-ros.txt, as apt has none.
PROVIDERS = {
    'ament_index_python': (None, 'ament_index_python'),
    'annotated_types': ('pydantic', 'python3-pydantic'),
    'argcomplete': ('argcomplete', 'python3-argcomplete'),
    'coal': ('pin', 'coal'),
    'control_msgs': (None, 'control_msgs'),
    'cvxpy': ('cvxpy', None),
    'fastapi': ('fastapi', None),
    'jinja2': ('jinja2', 'python3-jinja2'),
    'launch': (None, 'launch'),
    'launch_ros': (None, 'launch_ros'),
    'llvmlite': ('numba', 'python3-numba'),
    'lxml': ('lxml', 'python3-lxml'),
    'lz4': ('lz4', None),
    'markupsafe': ('jinja2', 'python3-jinja2'),
    'matplotlib': ('matplotlib', 'python3-matplotlib'),
    'mcap': ('mcap', None),
    'mujoco': ('mujoco', None),
    'nicegui': ('nicegui', None),
    'numba': ('numba', 'python3-numba'),
    'numpy': ('numpy', 'python3-numpy'),
    'pinocchio': ('pin', 'pinocchio'),
    'plotly': ('plotly', None),
    'pxr': ('usd-core', None),
    'pydantic': ('pydantic', 'python3-pydantic'),
    'ros2cli': (None, 'ros2cli'),
    'rosbag2_py': (None, 'rosbag2_py'),
    'rosbags': ('rosbags', None),
    'scipy': ('scipy', 'python3-scipy'),
    'threadpoolctl': ('threadpoolctl', None),
    'uvicorn': ('uvicorn', None),
    'xacro': ('xacro', 'xacro'),
    'yaml': ('pyyaml', 'python3-yaml'),
    'zstandard': ('zstandard', None),
}


def launched():
    """Packages of other programs that launch files start, each named as it is written there."""
    found = set()
    for path in (PROJECT / 'launch').glob('*.py'):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            for keyword in getattr(node, 'keywords', ()):
                if keyword.arg == 'package':
                    found.add(ast.literal_eval(keyword.value))
    return found - {'sysid_ros'}


# Not imported, but run: `ros2 launch`, what it starts, and what messages need to be sent.
RUN = {'ros2launch', 'rosidl_default_runtime', *launched()}
# Nobody needs them but who exports USD, or opens the page in a browser, and is told so then.
ASKED_FOR = {'usd-core', 'fastapi', 'nicegui', 'uvicorn'}
# The manifest leaves the choice of the middleware to the ROS distribution.
MIDDLEWARE = 'ros-rmw-fastrtps-cpp'


def requirements(section, option):
    """Requirements by canonical name of one list in setup.cfg."""
    parsed = (Requirement(line) for line in CONFIG[section][option].split('\n')[1:])
    return {canonicalize_name(requirement.name): requirement for requirement in parsed}


def dependencies(*tags):
    """Names that package.xml gives in these elements."""
    return {element.text for tag in tags for element in MANIFEST.iterfind(tag)}


def listed_for_ros():
    """Requirements by canonical name that a virtual environment puts over a distribution."""
    lines = (PROJECT / 'requirements-ros.txt').read_text(encoding='utf-8').splitlines()
    for line in lines:
        if not line.startswith('#'):
            requirement = Requirement(line)
            yield canonicalize_name(requirement.name), requirement


def modules_and_launch_files():
    """Python files whose imports have to be installed."""
    for path in (PROJECT / 'sysid_ros').rglob('*.py'):
        if path.relative_to(PROJECT / 'sysid_ros').parts[0] not in ('msg', 'srv', 'action'):
            yield path
    yield from (PROJECT / 'launch').glob('*.py')


def third_party_imports():
    """Top-level names that the package's modules and launch files import from elsewhere."""
    # compression came to the standard library in Python 3.14.
    own = {'sysid_ros', 'compression', *sys.stdlib_module_names}
    found = set()
    for path in modules_and_launch_files():
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            found |= {name.partition('.')[0] for name in names} - own
    return found


def install_prefix():
    """Where share/ and lib/ of the tested build are: a colcon prefix, else the environment."""
    named = [entry for entry in os.environ.get('AMENT_PREFIX_PATH', '').split(':') if entry]
    for prefix in map(Path, [*named, sys.prefix]):
        if (prefix / 'share/sysid_ros/package.xml').exists():
            return prefix
    return pytest.fail('sysid_ros is not installed: run `make test`, or `pip install .` first')


def test_the_version_of_the_manifest_is_the_version_everywhere():
    version = MANIFEST.findtext('version')
    assert sysid_ros.__version__ == version
    assert importlib.metadata.version('sysid-ros') == version


def test_there_is_an_executable_named_sysid():
    assert 'sysid' in EXECUTABLES


@pytest.mark.parametrize('name', EXECUTABLES)
def test_an_executable_names_a_function_that_exists(name):
    module, _, function = EXECUTABLES[name].partition(':')
    assert callable(getattr(importlib.import_module(module), function))


@pytest.mark.parametrize('name', EXECUTABLES)
def test_ros2_run_finds_the_executable(name):
    path = install_prefix() / 'lib/sysid_ros' / name
    assert os.access(path, os.X_OK)


@pytest.mark.parametrize('path', [
    *(f'lib/sysid_ros/{name}' for name in EXECUTABLES), 'bin/sysid'])
def test_an_executable_does_nothing_in_the_processes_of_a_pool(path):
    # They import it by another name. What calls its function there, too, breaks the pool.
    executable = ast.parse((install_prefix() / path).read_text(encoding='utf-8'))
    *imports, guarded = executable.body
    assert all(isinstance(one, (ast.Import, ast.ImportFrom)) for one in imports)
    assert isinstance(guarded, ast.If)
    assert ast.unparse(guarded.test) == "__name__ == '__main__'"


def test_the_terminal_finds_the_executable_sysid():
    assert os.access(install_prefix() / 'bin/sysid', os.X_OK)


def test_extensions_of_other_tools_are_in_the_installed_metadata():
    version = f'python{sys.version_info.major}.{sys.version_info.minor}'
    packages = install_prefix() / 'lib' / version / 'site-packages'
    installed = {
        point.name: point.value
        for distribution in importlib.metadata.distributions(path=[str(packages)])
        for point in distribution.entry_points
        if point.group == 'ros2cli.command' and distribution.name in ('sysid-ros', 'sysid_ros')
    }
    assert installed == dict(ENTRY_POINTS['ros2cli.command'])


def test_the_manifest_and_the_interface_definitions_are_installed():
    share = install_prefix() / 'share/sysid_ros'
    for source in (PROJECT / 'package.xml', *PROJECT.glob('msg/*.msg')):
        installed = share / source.relative_to(PROJECT)
        assert installed.read_bytes() == source.read_bytes()
    assert (share.parent / 'ament_index/resource_index/packages/sysid_ros').exists()


@pytest.mark.parametrize('folder', ['launch', 'config'])
def test_every_file_of_launch_and_config_is_installed(folder):
    share = install_prefix() / 'share/sysid_ros'
    for source in (PROJECT / folder).rglob('*'):
        if source.is_file() and source.parent.name != '__pycache__':
            assert (share / source.relative_to(PROJECT)).read_bytes() == source.read_bytes()


def test_every_import_is_a_declared_dependency():
    pip = {
        **requirements('options', 'install_requires'),
        **requirements('options.extras_require', 'demo'),
        **requirements('options.extras_require', 'completion'),
        **requirements('options.extras_require', 'usd'),
        **requirements('options.extras_require', 'studio'),
    }
    wheels = requirements('ros_wheels', 'runtime')
    rosdep = dependencies('depend', 'exec_depend')
    for_ros = dict(listed_for_ros())
    for name in third_party_imports():
        if canonicalize_name(f'ros-{name}') in wheels:
            assert name in rosdep, f'{name} is missing in package.xml'
            continue
        assert name in PROVIDERS, f'{name}: add it to setup.cfg, package.xml and PROVIDERS'
        requirement, key = PROVIDERS[name]
        assert requirement is None or requirement in pip, f'{requirement} is missing in setup.cfg'
        if key is None:
            there = requirement in {*for_ros, *ASKED_FOR}
            assert there, f'{requirement} is missing in requirements-ros.txt'
        else:
            assert key in rosdep, f'{key} is missing in package.xml'


def test_every_declared_dependency_is_imported():
    imported = third_party_imports()
    providers = [PROVIDERS[name] for name in imported & PROVIDERS.keys()]
    pip = {requirement for requirement, _ in providers}
    keys = {key for _, key in providers} | imported | RUN
    declared = {*requirements('options', 'install_requires')}
    for extra in ('mjcf', 'demo', 'usd', 'studio', 'completion'):
        declared |= requirements('options.extras_require', extra).keys()
    assert declared <= pip
    assert {name for name, _ in listed_for_ros()} <= pip
    assert dependencies('depend', 'exec_depend') <= keys
    assert PROVIDERS.keys() <= imported


def test_programs_that_launch_files_start_are_dependencies_at_run_time():
    assert {'rviz2', 'robot_state_publisher'} <= launched() <= dependencies('depend', 'exec_depend')


def test_rosdep_is_asked_for_nothing_that_pip_would_install():
    assert not [key for key in dependencies('depend', 'exec_depend') if key.endswith('-pip')]


@pytest.mark.parametrize(('name', 'requirement'), list(listed_for_ros()), ids=str)
def test_an_environment_over_a_distribution_is_within_the_bounds_of_the_package(name, requirement):
    allowed = {
        **requirements('options', 'install_requires'),
        **requirements('options.extras_require', 'demo'),
    }[name].specifier
    for bound in requirement.specifier:
        # An upper bound excludes the version that it names.
        assert bound.operator == '<' or allowed.contains(bound.version), requirement


def test_both_builds_depend_on_the_same_ros_packages():
    keys = {key for _, key in PROVIDERS.values()} | RUN - {'rosidl_default_runtime'}
    ros = {
        canonicalize_name(f'ros-{name}')
        for name in dependencies('depend', 'exec_depend') - keys
        if not name.startswith('python3-')
    }
    assert ros == requirements('ros_wheels', 'runtime').keys() - {MIDDLEWARE}


def test_the_pinned_versions_are_allowed_by_the_package():
    lines = (PROJECT / 'constraints.txt').read_text(encoding='utf-8').splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith('#')]
    pinned = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in pins}
    lists = [('options', 'install_requires')]
    lists += [(section, key) for section in ('options.extras_require', 'ros_wheels')
              for key in CONFIG[section]]  # fmt: skip
    for section, option in lists:
        for name, requirement in requirements(section, option).items():
            assert name in pinned, f'{name} is not pinned'
            assert requirement.specifier.contains(pinned[name]), f'{requirement}: {pinned[name]}'


@pytest.mark.parametrize(
    ('machine', 'refused'), [('Linux aarch64', True), ('Linux x86_64', False)])
def test_a_machine_without_ros_2_wheels_is_refused_before_anything_is_installed(
    tmp_path, machine, refused
):
    named = tmp_path / 'uname'
    named.write_text(f'#!/bin/sh\necho {machine}\n')
    named.chmod(0o755)
    done = subprocess.run(
        ['sh', str(PROJECT / '.ci' / 'check_machine.sh'), sys.executable], text=True,
        capture_output=True, env={**os.environ, 'PATH': f'{tmp_path}:{os.environ["PATH"]}'})
    assert (done.returncode == 2) == refused
    assert ('aarch64 is not supported by make' in done.stderr) == refused
    assert ('colcon' in done.stderr) == refused


def test_kinds_of_processors_are_tried_in_turn_and_what_fails_is_named():
    script = 'test "$OPENBLAS_CORETYPE" = Prescott'
    done = subprocess.run(
        ['sh', str(PROJECT / '.ci' / 'test_processors.sh'), 'generic', 'Prescott', '--', 'sh', '-c',
         script], text=True, capture_output=True, env={'PATH': os.environ['PATH']})
    assert done.stdout.splitlines() == ['=== generic', '=== Prescott']
    assert done.returncode == 1
    assert done.stderr == 'failed for: generic\n'
    done = subprocess.run(
        ['sh', str(PROJECT / '.ci' / 'test_processors.sh'), 'Pentium', '--', 'true'], text=True,
        capture_output=True)
    assert done.returncode == 2
    assert 'SkylakeX' in done.stderr


def test_the_pydantic_of_ubuntu_is_refused_with_what_to_do(tmp_path):
    metadata = tmp_path / 'pydantic-1.10.14.dist-info' / 'METADATA'
    metadata.parent.mkdir()
    metadata.write_text('Metadata-Version: 2.1\nName: pydantic\nVersion: 1.10.14\n')
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get('PYTHONPATH')]))
    done = subprocess.run(
        [sys.executable, '-c', 'import sysid_ros'], text=True, capture_output=True,
        env={**os.environ, 'PYTHONPATH': path})
    last = done.stderr.splitlines()[-1]
    assert last.startswith('ImportError: pydantic 1.10.14 was found, but 2.6 or later is needed.')
    assert 'export PYTHONPATH=' in last
