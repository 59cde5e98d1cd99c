"""Memory that was freed goes back to the system, where the C library keeps it for later."""

from __future__ import annotations

import ctypes


def return_freed_memory() -> None:
    """Return freed memory to the system; nothing where the C library has no way to.

    Arrays of some megabytes that come and go, in threads besides, leave heaps of free pages that
    glibc keeps for as long as anything lies above them. After work whose arrays are not needed
    again, that is memory which the process has and nobody uses.
    """
    trim = getattr(ctypes.CDLL(None), 'malloc_trim', None)
    if trim is not None:
        trim(0)
