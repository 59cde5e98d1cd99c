"""A run as one file to mail: what it left, its page, and what its files hash to.

The archive is a ZIP file that every system opens. Paths in it are relative, those of this machine
are taken out of the settings, and the same run makes the same bytes. With the recordings in it, the
run can be fitted and judged again wherever it is unpacked.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from sysid_ros.errors import ConfigurationError
from sysid_ros.recording.file_kind import is_there
from sysid_ros.release.atomic import write_atomically
from sysid_ros.runs.judged import KEY
from sysid_ros.runs.report_files import DOCUMENT, PAGE
from sysid_ros.runs.run_files import VERDICT, json_object
from sysid_ros.runs.run_folder import RunFolder
from sysid_ros.settings import load_yaml

#: Checksums in the archive, as ``sha256sum --check`` reads them.
CHECKSUMS = 'SHA256SUMS'
# Folder of the recordings in the archive, and the oldest date of a ZIP file.
_RECORDINGS, _DATE = 'recordings', (1980, 1, 1, 0, 0, 0)
# Files in which paths are text.
_TEXT = {'.json', '.txt', '.yaml'}


def pack_run(folder: Path, archive: Path, *, recordings: bool = False) -> tuple[str, ...]:
    """Write a run into one archive.

    Args:
        folder: Run folder.
        archive: ZIP file to write.
        recordings: Whether its recordings go into it, too.

    Returns:
        Names of the files in the archive.

    Raises:
        ConfigurationError: There is no run, a file of it is damaged, or a recording is gone.
    """
    run = RunFolder.open(folder).path
    files = {path.name: path.read_bytes() for path in sorted(run.iterdir())
             if path.is_file() and path.resolve() != archive.resolve()
             and not path.name.startswith('.')}
    added: dict[str, bytes] = {}
    folders = {str(run.resolve().parent): '.'}
    for name in [name for name in files if _is_settings(name)]:
        settings = _settings(run / name)
        folders[settings['folder']] = _RECORDINGS
        if recordings:
            added |= dict(_recording_files(run, settings, name))
        settings['folder'] = _RECORDINGS
        files[name] = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True).encode()
    files = _with_relative_paths(files, folders)
    if VERDICT in files:
        files[VERDICT] = _with_digests(json_object(files[VERDICT], run / VERDICT), files)
    if DOCUMENT in files:
        files |= _page(files[DOCUMENT], run / DOCUMENT)
    files |= added
    sums = ''.join(f'{_digest(content)}  {name}\n' for name, content in sorted(files.items()))
    content = _zipped(PurePosixPath(run.resolve().name), files | {CHECKSUMS: sums.encode()})
    write_atomically(archive, content)
    return (*sorted(files), CHECKSUMS)


def _is_settings(name: str) -> bool:
    return name == 'validation.yaml' or (name.startswith('settings') and name.endswith('.yaml'))


def _settings(path: Path) -> dict[str, Any]:
    """Settings of a recording, whose folder and file are text.

    Raises:
        ConfigurationError: They cannot be read, or are not what a fit writes.
    """
    settings = load_yaml(path)
    recording = settings.get('recording')
    file = recording.get('file') or '' if isinstance(recording, dict) else recording
    for key, value in (('folder', settings.get('folder')), ('recording: file', file)):
        if not isinstance(value, str):
            raise ConfigurationError(
                'is not what a fit writes', where=f'{path}: {key}', found=repr(value)[:80],
                allowed='a path', fix='Fit again')
    return settings


def _recording_files(
    run: Path, settings: dict[str, Any], name: str
) -> Iterator[tuple[str, bytes]]:
    """The file of a recording, or the files of a bag's folder, by their names in the archive."""
    recording = settings['recording'].get('file')
    if not recording:
        return
    path, own = run / settings['folder'] / recording, PurePosixPath(recording).name
    inside = PurePosixPath(_RECORDINGS) / own
    if own in ('', '..') or not is_there(path):
        raise ConfigurationError(
            'the recording is not there any more', where=f'{name}: {path}',
            fix='Put it back, or pack without --recordings')
    for file in sorted(path.rglob('*')) if path.is_dir() else [path]:
        if file.is_file():
            yield str(inside / file.relative_to(path)), file.read_bytes()
    settings['recording']['file'] = inside.name


def _with_relative_paths(files: dict[str, bytes], folders: dict[str, str]) -> dict[str, bytes]:
    """The files, with folders of this machine named as they are in the archive.

    Args:
        files: Contents by name.
        folders: What stands for each folder; the longest path is replaced first.
    """
    changed = dict(files)
    longest_first = sorted(folders.items(), key=lambda item: -len(item[0]))
    for name in [name for name in files if PurePosixPath(name).suffix in _TEXT]:
        for folder, instead in longest_first:
            if len(PurePosixPath(folder).parts) > 1:
                changed[name] = changed[name].replace(folder.encode(), instead.encode())
    return changed


def _with_digests(verdict: dict[str, Any], files: Mapping[str, bytes]) -> bytes:
    """The file of a verdict, with digests that are those of the files in the archive."""
    judged = verdict.get(KEY)
    names = judged if isinstance(judged, Mapping) else ()
    digests = {name: _digest(files[name]) for name in names if name in files}
    return json.dumps(verdict | {KEY: digests}, indent=1, allow_nan=False).encode()


def _page(report: bytes, path: Path) -> dict[str, bytes]:
    """The page of a packed report; none where it cannot be drawn."""
    from sysid_ros.report.page import render_document
    from sysid_ros.report.plotly_script import plotly_script
    from sysid_ros.report.report import Report

    document = Report.from_json(report, str(path))
    try:
        plotly_script()
    except ConfigurationError:
        return {}
    return {PAGE: render_document(document, path)}


def _zipped(top: PurePosixPath, files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(str(top / name), _DATE)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
