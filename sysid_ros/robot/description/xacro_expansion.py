"""Expansion of xacro files: by xacro itself, in a process with limits."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from sysid_ros.errors import ModelError, did_you_mean
from sysid_ros.robot.description.safe_xml import MAX_BYTES, check_xml

#: Processor time in [s] that an expansion may take; whole humanoids take two.
SECONDS = 20
#: Memory in bytes that it may take.
MEMORY = 1_000_000_000
# All that xacro is told of the environment: where Python and ROS packages are.
_ENVIRONMENT = (
    'PATH', 'PYTHONPATH', 'PYTHONHOME', 'LD_LIBRARY_PATH', 'LANG', 'LC_ALL', 'AMENT_PREFIX_PATH',
    'ROS_PACKAGE_PATH', 'ROS_DISTRO', 'ROS_VERSION',
)
# Waiting for a busy processor and starting Python do not count.
_WALL = 3
_PROGRAM = Path(__file__).with_name('xacro_child.py')
_ARGUMENT_NAMES = re.compile(r'<xacro:arg\b[^>]*?\bname\s*=\s*["\']([^"\']+)["\']|\$\(arg\s+(\w+)')
_PACKAGE_NAMES = re.compile(r'\$\(find\s+([\w-]+)\s*\)')


def expand_xacro(path: Path, arguments: Mapping[str, str]) -> bytes:
    """Expand one xacro file to URDF.

    xacro evaluates expressions of the file. It does so in a process that ends after
    :data:`SECONDS` or beyond :data:`MEMORY`, and that sees nothing of the environment but where
    Python and ROS packages are.

    Args:
        path: The xacro file; relative includes start from its folder.
        arguments: Values for its ``<xacro:arg>`` elements, by name.

    Returns:
        The URDF, UTF-8; the same bytes wherever the folder lies.

    Raises:
        ModelError: A file is missing or harmful, an argument is unknown, a package is not found,
            xacro reports an error, or the expansion takes too long or too much memory.
    """
    check_xml(path.read_bytes(), str(path))
    outcome, xml = _run(path, {name: str(value) for name, value in arguments.items()})
    if 'error' in outcome:
        raise _readable(outcome['error'], path)
    included = [Path(name) for name in outcome['files']]
    for file in included:
        if file.is_file() and file.suffix not in ('.yaml', '.yml'):
            check_xml(file.read_bytes(), str(file))
    _check_arguments(path, included, arguments)
    return xml


def _run(path: Path, arguments: Mapping[str, str]) -> tuple[dict, bytes]:
    """What the process says, and the URDF."""
    command = [
        # -P: files beside the program must not stand in for modules of Python.
        sys.executable, '-P', str(_PROGRAM), path.name, str(SECONDS), str(MEMORY),
        json.dumps(arguments),
    ]
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    try:
        done = subprocess.run(
            command, cwd=path.parent, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=_WALL * SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise _too_much(path) from None
    first, _, xml = done.stdout.partition(b'\n')
    if not first.startswith(b'{'):
        # Killed, or out of memory beyond what Python can still report.
        raise _too_much(path)
    return json.loads(first), xml


def _too_much(path: Path) -> ModelError:
    return ModelError(
        'the expansion by xacro does not end', where=str(path),
        found=f'more than {SECONDS} s of processor time or {MEMORY / 1e6:.0f} MB',
        allowed=f'{SECONDS} s and {MEMORY / 1e6:.0f} MB',
        fix='Look for a macro that calls itself, or expand the file with xacro yourself',
    )


def _readable(error: Mapping[str, str], path: Path) -> ModelError:
    """One sentence for whatever xacro raised."""
    where = path.parent / error['file'] if error['file'] else path
    if error['kind'] == 'RecursionError':
        return ModelError(
            'xacro recurses without end', where=str(where), fix='Look for an include cycle')
    if error['kind'] == 'MemoryError':
        return _too_much(where)
    if error['kind'] == 'ExpatError':
        return ModelError(
            f'is not well-formed XML: {error["cause"]}', where=str(where),
            fix='Correct the file at that line')
    missing = _missing_packages(where)
    if missing and _is_package_lookup(error):
        return ModelError(
            f'a ROS package is not found: {", ".join(missing)}', where=str(where),
            fix='Source the workspace that has it, or give xacro arguments that do not need it',
        )
    if 'environment variable' in error['message']:
        return ModelError(
            f'xacro cannot expand the file: {error["message"]}', where=str(where),
            allowed=', '.join(_ENVIRONMENT), fix='Make it a <xacro:arg>, and give it by name',
        )
    return ModelError(
        f'xacro cannot expand the file: {error["message"]}', where=str(where),
        fix='Try it alone, xacro FILE, or name a URDF that was expanded')


def _is_package_lookup(error: Mapping[str, str]) -> bool:
    words = f'{error["kind"]} {error["cause"]}'
    return any(word in words for word in ('PackageNotFound', 'AMENT_PREFIX_PATH', 'ament_index'))


def _missing_packages(path: Path) -> list[str]:
    names = dict.fromkeys(_PACKAGE_NAMES.findall(_text(path)))
    prefixes = [Path(p) for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    return [
        name for name in names
        if not any((prefix / 'share' / name).is_dir() for prefix in prefixes)
    ]


def _check_arguments(path: Path, included: Iterable[Path], given: Mapping[str, str]) -> None:
    known: set[str] = set()
    for file in (path, *included):
        for declared, used in _ARGUMENT_NAMES.findall(_text(file)):
            known.add(declared or used)
    if any('$' in name for name in known):
        return
    for name in given:
        if name not in known:
            raise ModelError(
                'the file has no such xacro argument', where=str(path), found=repr(name),
                allowed=', '.join(sorted(known)) or 'none',
                fix=did_you_mean(name, known) or 'Remove it',
            )


def _text(path: Path) -> str:
    try:
        return path.read_bytes()[:MAX_BYTES].decode('utf-8', errors='replace')
    except OSError:
        return ''
