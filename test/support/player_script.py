"""Node.js, where it is installed, to run the scripts of pages."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from sysid_ros.report import page

SUPPORT = Path(__file__).parent
NODE = shutil.which('node') or shutil.which('nodejs')
needs_node = pytest.mark.skipif(NODE is None, reason='no Node.js: apt-get install nodejs')

_PLAYER = Path(page.__file__).with_name('player.js')


def played(content, folder):
    """What a canvas is told by the player of a page, and what is touched there, as plain values.

    Args:
        content: What is played.
        folder: Folder for a file of it.
    """
    file = folder / 'content.json'
    file.write_text(json.dumps(content, allow_nan=False))
    done = subprocess.run(
        [NODE, str(SUPPORT / 'canvas.js'), str(_PLAYER), str(file)], capture_output=True, text=True,
        timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def view_of(shown):
    """The section of a report that shows the robot."""
    return next(each for each in shown.sections if each.section == 'robot_view')
