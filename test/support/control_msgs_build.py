"""Builds the interfaces of ``test/interfaces/control_msgs`` where the real package is not there."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / 'interfaces' / 'control_msgs'


def ros_prefixes():
    """Prefixes that hold the generators: a sourced distribution, else the wheels' environment."""
    named = [Path(entry) for entry in os.environ.get('AMENT_PREFIX_PATH', '').split(':') if entry]
    return [
        prefix for prefix in dict.fromkeys([*named, Path(sys.prefix)])
        if (prefix / 'share/rosidl_default_generators').is_dir()
    ]


def provide_control_msgs(cache):
    """Environment for processes that import ``control_msgs``; this one can, afterwards.

    Args:
        cache: Folder that outlives the test run.
    """
    found = importlib.util.find_spec('control_msgs')
    if found is not None and Path(cache) not in Path(found.origin).parents:
        return {}
    prefixes = ros_prefixes()
    cmake = shutil.which('cmake')
    if not prefixes or cmake is None or not (shutil.which('c++') and shutil.which('cc')):
        pytest.skip('control_msgs is not installed, and nothing is here to build it with')
    sources = [path for path in sorted(SOURCE.rglob('*')) if path.is_file()]
    digest = hashlib.sha256(b''.join(map(Path.read_bytes, sources)) + sys.version.encode())
    stage = Path(cache) / digest.hexdigest()[:16]
    stage.parent.mkdir(parents=True, exist_ok=True)
    with stage.with_suffix('.lock').open('w') as lock:
        # Another worker may be building it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (stage / 'done').exists():
            build(cmake, prefixes, stage)
    packages = next(stage.glob('lib/python*/*-packages'), None) or next(
        stage.glob('**/*-packages'))
    for library in sorted((stage / 'lib').glob('lib*__rosidl_*.so')):
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    if found is None:
        sys.path.append(str(packages))
    return {'PYTHONPATH': str(packages), 'LD_LIBRARY_PATH': str(stage / 'lib')}


def build(cmake, prefixes, stage):
    """Configure, build and install below ``stage``."""
    scratch = stage.with_suffix('.build')
    shutil.rmtree(scratch, ignore_errors=True)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get('PATH', '')])
    environment = dict(
        os.environ, AMENT_PREFIX_PATH=os.pathsep.join(map(str, prefixes)), PATH=path)
    configure = [
        cmake, '-S', SOURCE, '-B', scratch, '-DCMAKE_BUILD_TYPE=Debug', '-DCMAKE_CXX_FLAGS=-O0',
        f'-DCMAKE_INSTALL_PREFIX={stage}', '-DCMAKE_PREFIX_PATH=' + ';'.join(map(str, prefixes)),
        f'-DPython3_EXECUTABLE={sys.executable}', '-DBUILD_TESTING=OFF',
        '-DCMAKE_INSTALL_RPATH=$ORIGIN', '-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON',
    ]
    if shutil.which('ninja', path=path):
        configure.append('-GNinja')
    for command in (
        configure, [cmake, '--build', scratch, '--parallel', str(os.cpu_count() or 1)],
        [cmake, '--install', scratch],
    ):
        done = subprocess.run(
            list(map(str, command)), env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    shutil.rmtree(scratch)
    (stage / 'done').touch()
