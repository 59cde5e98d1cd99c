"""A report's page as PDF, printed by a headless Chromium, which draws its figures."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from sysid_ros.errors import ConfigurationError
from sysid_ros.release.atomic import write_atomically

#: Executables that print, the first that is found.
BROWSERS = (
    'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'microsoft-edge')
# Time that scripts of the page may take by their own clock in [ms], and the browser at all in [s].
_BUDGET, _PATIENCE = 200_000, 600
_FORMAT = b'%PDF-'


def write_pdf(page: Path, file: Path) -> None:
    """Print a page as PDF.

    Args:
        page: The page, with its figures.
        file: File to write.

    Raises:
        ConfigurationError: There is no Chromium, it does not print, or the file cannot be written.
    """
    file = file.absolute()
    browser = _browser(file)
    try:
        # Beside the file: a browser that is packaged as a snap sees no other place for all.
        with tempfile.TemporaryDirectory(prefix='sysid_print_', dir=file.parent) as scratch:
            printed = _printed(browser, page, Path(scratch))
            write_atomically(file, printed)
    except OSError as error:
        raise ConfigurationError(
            f'cannot be written: {error.strerror or error}', where=str(file),
            fix='Name a file in a folder that exists') from error


def _browser(file: Path) -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise ConfigurationError(
            'a PDF is printed by Chromium or Chrome, and neither was found', where=str(file),
            found='none of ' + ', '.join(BROWSERS),
            fix='Install one, as by apt install chromium, or print the page from a browser')
    return found


def _printed(browser: str, page: Path, scratch: Path) -> bytes:
    """The PDF that a browser prints, as bytes."""
    output = scratch / 'page.pdf'
    options = [
        '--headless=new', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
        '--disable-background-networking', '--disable-component-update',
        f'--user-data-dir={scratch / "profile"}', f'--virtual-time-budget={_BUDGET}',
        # Figures are drawn for a window and scaled to paper, their text with them.
        '--window-size=900,1200', '--no-pdf-header-footer', f'--print-to-pdf={output}']
    if os.geteuid() == 0:
        # Chromium has no sandbox for root, as in containers. The page asks nobody for anything.
        options.append('--no-sandbox')
    try:
        done = subprocess.run(
            [browser, *options, page.resolve().as_uri()], capture_output=True, text=True,
            errors='replace', timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired as error:
        raise _failed(browser, page, f'no end within {_PATIENCE} s') from error
    said = (done.stderr.strip().splitlines() or ['nothing'])[-1]
    if done.returncode != 0 or not output.is_file():
        raise _failed(browser, page, f'exit code {done.returncode}; it said: {said}')
    printed = output.read_bytes()
    if not printed.startswith(_FORMAT):
        raise _failed(browser, page, f'no PDF; it said: {said}')
    return printed


def _failed(browser: str, page: Path, found: str) -> ConfigurationError:
    return ConfigurationError(
        f'{browser} did not print the page', where=str(page), found=found,
        fix='Open the page in a browser and print it from there')
