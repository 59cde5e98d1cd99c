"""Expansion of xacro files, inside this process and inside known folders."""

from __future__ import annotations

import difflib
import os
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.parsers.expat import ExpatError

import xacro

from sysid_ros.errors import ModelError
from sysid_ros.robot.safe_xml import MAX_BYTES, check_xml

# xacro keeps its state in module globals.
_XACRO_LOCK = threading.Lock()

_ARGUMENT_NAMES = re.compile(r'<xacro:arg\b[^>]*?\bname\s*=\s*["\']([^"\']+)["\']|\$\(arg\s+(\w+)')
_PACKAGE_NAMES = re.compile(r'\$\(find\s+([\w-]+)\s*\)')


def expand_xacro(path: Path, arguments: Mapping[str, str]) -> bytes:
    """Expand one xacro file to URDF.

    xacro evaluates expressions of the file: expand files you trust. Other files may be
    included from the package the file lies in (its own folder if it lies in none) and from
    the ROS packages of the sourced workspaces, not from anywhere else.

    Args:
        path: The xacro file.
        arguments: Values for its ``<xacro:arg>`` elements, by name.

    Returns:
        The URDF, UTF-8.

    Raises:
        ModelError: A file is missing, harmful or outside the allowed folders, an argument
            is unknown, a package is not found, or xacro reports an error.
    """
    check_xml(path.read_bytes(), str(path))
    with _XACRO_LOCK:
        del xacro.all_includes[:]
        try:
            # Not process_file: it writes the path into the document, so that the same robot
            # would have another digest in another folder.
            xacro.init_stacks(str(path))
            document = xacro.parse(None, str(path))
            mappings = {name: str(value) for name, value in arguments.items()}
            xacro.process_doc(document, mappings=mappings, verbosity=0)
        except (Exception, RecursionError) as error:
            raise _readable(error, path) from error
        included = [Path(name) for name in xacro.all_includes]
    _check_included(path, included)
    _check_arguments(path, included, arguments)
    return document.toprettyxml(indent='  ', encoding='utf-8')


def _readable(error: BaseException, path: Path) -> ModelError:
    """One sentence for whatever xacro raised; its own message may be only the cause's."""
    processed = [str(name) for name in xacro.filestack or [] if name]
    where = processed[-1] if processed else str(path)
    cause = getattr(error, 'exc', None) or error
    if isinstance(cause, RecursionError):
        return ModelError(
            'xacro recurses without end', where=where, fix='Look for an include cycle'
        )
    if isinstance(cause, ExpatError):
        return ModelError(f'is not well-formed XML: {cause}', where=where)
    missing = _missing_packages(Path(where))
    if missing and _is_package_lookup(cause):
        return ModelError(
            f'a ROS package is not found: {", ".join(missing)}', where=where,
            fix='Source the workspace that has it, or give xacro arguments that do not need it',
        )
    message = ' '.join(str(error).split()) or type(error).__name__
    return ModelError(f'xacro cannot expand the file: {message}', where=where)


def _is_package_lookup(cause: BaseException) -> bool:
    words = f'{type(cause).__name__} {cause}'
    return any(word in words for word in ('PackageNotFound', 'AMENT_PREFIX_PATH', 'ament_index'))


def _missing_packages(path: Path) -> list[str]:
    names = dict.fromkeys(_PACKAGE_NAMES.findall(_text(path)))
    prefixes = _prefixes()
    return [
        name for name in names
        if not any((prefix / 'share' / name).is_dir() for prefix in prefixes)
    ]


def _prefixes() -> list[Path]:
    return [Path(p) for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]


def _check_included(path: Path, included: Iterable[Path]) -> None:
    """Refuse the expansion if it holds anything from outside the allowed folders.

    Where an include leads is known only once its expressions are evaluated; nothing that
    was read is handed out before this check.
    """
    allowed = [_package_folder(path.resolve()), *(p.resolve() for p in _prefixes())]
    for file in included:
        if not any(file.resolve().is_relative_to(folder) for folder in allowed):
            raise ModelError(
                'an included file lies outside the allowed folders', where=str(path),
                found=str(file), allowed=', '.join(str(folder) for folder in allowed),
                fix='Move it into the package, or expand the file with xacro yourself',
            )
        if file.is_file() and file.suffix not in ('.yaml', '.yml'):
            check_xml(file.read_bytes(), str(file))


def _package_folder(path: Path) -> Path:
    for folder in path.parents:
        if (folder / 'package.xml').is_file():
            return folder
    return path.parent


def _check_arguments(path: Path, included: Iterable[Path], given: Mapping[str, str]) -> None:
    known: set[str] = set()
    for file in (path, *included):
        for declared, used in _ARGUMENT_NAMES.findall(_text(file)):
            known.add(declared or used)
    if any('$' in name for name in known):
        return
    for name in given:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            raise ModelError(
                'the file has no such xacro argument', where=str(path), found=repr(name),
                allowed=', '.join(sorted(known)) or 'none',
                fix=f'Did you mean {nearest[0]!r}' if nearest else 'Remove it',
            )


def _text(path: Path) -> str:
    try:
        return path.read_bytes()[:MAX_BYTES].decode('utf-8', errors='replace')
    except OSError:
        return ''
