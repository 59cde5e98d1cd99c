"""What the compiler's caches look at: entries close over a digest of the files they call."""

from __future__ import annotations

import hashlib
import inspect
import sys
from pathlib import Path

from numba.core.dispatcher import Dispatcher


def assert_cache_looks_at_its_sources(module, entry):
    """Check the compiled entry of a module, made by ``_compiled(digest)`` from ``SOURCES``."""
    first, second = module._compiled('one digest'), module._compiled('another')
    key = inspect.getattr_static(type(first._cache), '_index_key')
    codegen = first.targetctx.codegen()
    assert key(first._cache, (), codegen) != key(second._cache, (), codegen)
    digest = hashlib.sha256(b''.join(
        Path(source.__file__).read_bytes() for source in module.SOURCES)).hexdigest()
    same = module._compiled(digest)
    assert key(same._cache, (), codegen) == key(entry._cache, (), codegen)
    assert functions_elsewhere(module) == []


def functions_elsewhere(module):
    """Compiled functions that a module and its sources call, but that lie in no source."""
    known, missing = {module.__name__, *(source.__name__ for source in module.SOURCES)}, []
    for source in (module, *module.SOURCES):
        text = Path(source.__file__).read_text(encoding='utf-8')
        for name, value in vars(sys.modules[source.__name__]).items():
            if isinstance(value, Dispatcher) and value.py_func.__module__ not in known and (
                    f'{name}(' in text):
                missing.append(f'{source.__name__}: {name}')
    return missing
