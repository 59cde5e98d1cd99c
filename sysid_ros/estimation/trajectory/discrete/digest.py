"""What compiled entries close over, so that the compiler's cache sees the files that they call."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import ModuleType


def digest(*modules: ModuleType) -> str:
    """Digest of modules' files.

    The compiler's cache looks at what a function closes over, but not at functions of other
    files: an entry that closes over their digest is compiled anew when one of them changes.
    """
    return hashlib.sha256(
        b''.join(Path(str(module.__file__)).read_bytes() for module in modules)).hexdigest()
