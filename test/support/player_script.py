"""Node.js, where it is installed, to run the scripts of pages."""

import shutil
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parent
NODE = shutil.which('node') or shutil.which('nodejs')
needs_node = pytest.mark.skipif(NODE is None, reason='no Node.js: apt-get install nodejs')
