"""A compiled function that a forked process compiles while this one does other work.

The largest function of a fit takes as long to compile as all else that the first fit does. The
fork leaves it in Numba's cache, where this process finds it. Where there is one processor, or this
process must not be forked, it is compiled when it is called, as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba import typeof

from sysid_ros.numerics.forked import Arrays, Forked


class CompiledBeside:
    """A function that Python calls, compiled with a cache.

    Args:
        function: The function, as ``njit`` gives it.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._other: Forked | None = None

    def __call__(self, *arguments: Any) -> Any:
        """What the function gives; it waits for the other process, if one compiles it."""
        if self._other is not None:
            other, self._other = self._other, None
            other.result()
        return self._function(*arguments)

    @contextmanager
    def compiling(self, example: Callable[[], tuple[Any, ...]]) -> Iterator[None]:
        """Compile it in another process while the body of ``with`` runs, if it is in no cache.

        Args:
            example: Gives arguments of the types that the function will be called with.
        """
        types = tuple(map(typeof, example()))
        if self._is_compiled(types):
            yield
            return

        def compile_and_keep() -> Arrays:
            self._function.compile(types)
            return ()

        with Forked(compile_and_keep) as other:
            self._other = other if other.running else None
            try:
                yield
            finally:
                self._other = None

    def _is_compiled(self, types: tuple[Any, ...]) -> bool:
        """Whether it was compiled for some types by this process, or for any by one before.

        Numba's cache answers which types only by loading them, which takes longer than to look
        for files of the function's name that are newer than its source.
        """
        if types in self._function.signatures:
            return True
        code = self._function.py_func.__code__
        kept = Path(self._function.stats.cache_path or '.').glob(f'*{code.co_name}-*.nbc')
        try:
            written = Path(code.co_filename).stat().st_mtime
            return any(file.stat().st_mtime > written for file in kept)
        except OSError:
            return False
