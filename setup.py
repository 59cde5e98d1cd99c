"""The pip build: metadata is in setup.cfg, interfaces come from the CMake build that colcon uses.

The build runs CMakeLists.txt into a staging prefix and takes from there what setuptools cannot
make: the generated packages ``msg``, ``srv`` and ``action``, their libraries, and ``share/``.
"""

import os
import platform
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from xml.etree import ElementTree

from setuptools import Command, setup
from setuptools.command.build import build
from setuptools.dist import Distribution

ROOT = Path(__file__).resolve().parent
PACKAGE = 'sysid_ros'
GENERATED = ('msg', 'srv', 'action')


def ros_distribution_prefixes():
    """Prefixes of a sourced ROS distribution and workspaces, best first; empty without one.

    The prefix of the running Python does not count: that is where the ROS wheels are.
    """
    named = [Path(entry) for entry in os.environ.get('AMENT_PREFIX_PATH', '').split(':') if entry]
    prefixes = [prefix for prefix in named if prefix.resolve() != Path(sys.prefix).resolve()]
    has_ros = any((prefix / 'share/rosidl_default_generators').is_dir() for prefix in prefixes)
    return prefixes if has_ros else []


def ros_wheel_prefix():
    """The prefix that the ROS wheels were unpacked into: a venv, or pip's isolated build."""
    import ament_package

    return Path(ament_package.__file__).resolve().parents[4]


def requirements():
    """``(install_requires, setup_requires)`` from setup.cfg for the ROS that is there."""
    config = ConfigParser()
    config.read(ROOT / 'setup.cfg', encoding='utf-8')

    def listed(section, option):
        return config.get(section, option).split('\n')[1:]

    install = listed('options', 'install_requires')
    if ros_distribution_prefixes():
        return install, []
    if platform.machine() != 'x86_64':
        sys.exit(
            f'{platform.machine()}: ROS 2 wheels exist for x86_64 Linux only; source a ROS '
            'distribution first and build in its workspace: colcon build '
            '(docs/how-to/install.md, Processors)')
    return install + listed('ros_wheels', 'runtime'), listed('ros_wheels', 'build')


def build_environment():
    """Prefixes to search for ROS, and an environment in which its Python generators run."""
    prefixes = ros_distribution_prefixes()
    # pip's isolation hides the distribution's Python packages from the generators.
    version = f'python{sys.version_info.major}.{sys.version_info.minor}'
    python_path = [
        str(prefix / folder)
        for prefix in prefixes
        for folder in (f'lib/{version}/site-packages', f'local/lib/{version}/dist-packages')
    ]
    prefixes = prefixes or [ros_wheel_prefix()]
    environment = dict(os.environ, AMENT_PREFIX_PATH=':'.join(map(str, prefixes)))
    for name, additions in (
        ('PYTHONPATH', python_path),
        ('PATH', [str(Path(sys.executable).parent), str(prefixes[0] / 'bin')]),
    ):
        present = [entry for entry in (os.environ.get(name),) if entry]
        environment[name] = ':'.join(additions + present)
    return prefixes, environment


def cmake_install(scratch):
    """Build and install the CMake project below ``scratch``; returns the install prefix."""
    shutil.rmtree(scratch, ignore_errors=True)
    build, stage = scratch / 'build', scratch / 'stage'
    prefixes, environment = build_environment()
    configure = [
        'cmake', '-S', ROOT, '-B', build,
        '-DBUILD_TESTING=OFF', '-DCMAKE_BUILD_TYPE=Release',
        f'-DCMAKE_INSTALL_PREFIX={stage}',
        f'-DCMAKE_PREFIX_PATH={";".join(map(str, prefixes))}',
        f'-DPython3_EXECUTABLE={sys.executable}',
        # The libraries lie beside the extension modules and find each other there.
        '-DCMAKE_INSTALL_RPATH=$ORIGIN', '-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON',
    ]  # fmt: skip
    if shutil.which('ninja', path=environment['PATH']):
        configure.append('-GNinja')
    for command in (
        configure,
        ['cmake', '--build', build, '--parallel', str(os.cpu_count() or 1)],
        ['cmake', '--install', build],
    ):
        subprocess.run([str(word) for word in command], env=environment, check=True)
    return stage


class BuildInterfaces(Command):
    """The step of ``build`` that adds everything the CMake build generates.

    A step of its own, not a part of ``build_py``: setuptools ignores errors of a customised
    ``build_py`` in editable installs.
    """

    editable_mode = False

    def initialize_options(self):
        self.build_lib = None
        self.build_temp = None

    def finalize_options(self):
        for option in ('build_lib', 'build_temp'):
            self.set_undefined_options('build', (option, option))

    def run(self):
        stage = cmake_install(Path(self.build_temp).resolve() / 'interfaces')
        package = (ROOT if self.editable_mode else Path(self.build_lib)) / PACKAGE
        take_interfaces(stage, package)
        self.distribution.data_files = data_files(stage)
        if self.editable_mode:
            # setuptools installs data files of real wheels only.
            self.run_command('install_data')

    def get_source_files(self):
        folders = ('cmake', 'config', f'include/{PACKAGE}', 'launch', *GENERATED)
        files = [path for folder in folders for path in (ROOT / folder).glob('*') if path.is_file()]
        return [os.path.relpath(path) for path in files]

    def get_outputs(self):
        return []

    def get_output_mapping(self):
        return {}


class Build(build):
    """``build`` from an empty folder, then the interfaces."""

    sub_commands = [*build.sub_commands, ('build_interfaces', None)]  # noqa: RUF012

    def run(self):
        # Modules deleted from the source since the last build must not be shipped.
        shutil.rmtree(Path(self.build_lib) / PACKAGE, ignore_errors=True)
        super().run()


def take_interfaces(stage, package):
    """Copy the generated packages and all libraries into the Python package."""
    generated = next(stage.glob(f'**/*-packages/{PACKAGE}'))
    preload = (ROOT / 'cmake/preload_libraries.py').read_text(encoding='utf-8')
    for stale in package.glob('*.so'):
        stale.unlink()
    for kind in GENERATED:
        shutil.rmtree(package / kind, ignore_errors=True)
        if not (generated / kind).is_dir():
            continue
        ignored = shutil.ignore_patterns('__pycache__', '*.c')
        shutil.copytree(generated / kind, package / kind, ignore=ignored)
        init = package / kind / '__init__.py'
        init.write_text(preload + init.read_text(encoding='utf-8'), encoding='utf-8')
    for library in (*generated.glob('*.so'), *(stage / 'lib').glob('*.so')):
        shutil.copy2(library, package)


def data_files(stage):
    """``(folder, files)`` of what goes to the environment's own include/, share/ and lib/.

    What serves to build against the package or to source its prefix stays out: it names headers,
    libraries and folders that a wheel does not have. So do headers of the messages, which need
    others and libraries; those that are written by hand need none.
    """
    left_out = {'cmake', 'environment', 'parent_prefix_path', 'package.dsv'}
    files = {}
    for top in (stage / 'share', stage / 'lib' / PACKAGE):
        for path in sorted(top.rglob('*')):
            relative = path.relative_to(stage)
            if path.is_dir() or left_out & set(relative.parts) or path.stem == 'local_setup':
                continue
            files.setdefault(str(relative.parent), []).append(os.path.relpath(path))
    headers = [os.path.relpath(path) for path in sorted((ROOT / 'include' / PACKAGE).glob('*.hpp'))]
    return [*files.items(), (f'include/{PACKAGE}/{PACKAGE}', headers)]


class BinaryDistribution(Distribution):
    """A distribution with compiled libraries, so that the wheel is tagged for its platform."""

    def has_ext_modules(self):
        return True


install_requires, setup_requires = requirements()
setup(
    version=ElementTree.parse(ROOT / 'package.xml').findtext('version'),
    install_requires=install_requires,
    setup_requires=setup_requires,
    # setuptools skips install_data when this is empty; build_interfaces replaces it.
    data_files=[(f'share/{PACKAGE}', ['package.xml'])],
    cmdclass={'build': Build, 'build_interfaces': BuildInterfaces},
    distclass=BinaryDistribution,
)
