"""Files of the folder that browsers get: pages of runs and motions, meshes, and exports."""

from __future__ import annotations

import re
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, PlainTextResponse, Response

from sysid_ros.errors import ConfigurationError
from sysid_ros.runs.report_files import PAGE
from sysid_ros.studio.exports import EXPORTS
from sysid_ros.studio.folder import NOTES
from sysid_ros.studio.jobs import ComparisonJob
from sysid_ros.studio.studio import Studio

# A page of a file may be anybody's: it runs in a place of its own, and reaches nothing.
_SANDBOX = {'Content-Security-Policy': (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; frame-ancestors 'self'")}
_MESH = re.compile(r'[0-9a-f]{32}\.stl', re.ASCII)


def add_files(app: FastAPI, studio: Studio) -> None:
    """Let an application answer for files.

    Args:
        app: The application.
        studio: Whose files.
    """
    root = studio.folder.root

    @app.get('/files/reports/{run:path}')
    def report(run: str) -> Response:
        """The page of a run."""
        return sandboxed_page(root / run / PAGE) if run in studio.contents.runs else missing_file()

    @app.get('/files/motions/{motion:path}')
    def planned(motion: str) -> Response:
        """The page of a motion."""
        listed = motion in studio.contents.motions
        return sandboxed_page(root / motion / PAGE) if listed else missing_file()

    @app.get('/files/comparison')
    def comparison() -> Response:
        """The page of the last comparison."""
        return sandboxed_page(root / ComparisonJob.model_fields['output'].default)

    @app.get('/files/meshes/{name}')
    def mesh(name: str) -> Response:
        """The hull of a mesh."""
        path = root / NOTES / 'meshes' / name
        if not _MESH.fullmatch(name) or not path.is_file():
            return missing_file()
        return FileResponse(path, media_type='model/stl')

    @app.get('/files/exports/{name:path}')
    def exported(name: str) -> Response:
        """A file that was exported."""
        try:
            path = studio.folder.path(name)
        except ConfigurationError:
            return missing_file()
        if (root / EXPORTS) not in path.parents or not path.is_file():
            return missing_file()
        return FileResponse(path, filename=path.name, media_type='application/octet-stream')


def sandboxed_page(path: Path) -> Response:
    """A page of a file, which runs in a place of its own, and reaches nothing.

    Args:
        path: The file.
    """
    if path.is_symlink() or not path.is_file():
        return missing_file()
    return FileResponse(path, media_type='text/html; charset=utf-8', headers=_SANDBOX)


def missing_file() -> Response:
    """The answer where there is no such file."""
    return PlainTextResponse('There is no such file.', status_code=404)
