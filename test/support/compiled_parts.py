"""Functions that only compiled ones call, for tests that call them from Python."""

from __future__ import annotations

from functools import cache

from numba import njit

from sysid_ros.numerics.jit import COMPILED, MAKES_ARRAYS


class PartsOf:
    """The compiled functions of a module, each compiled by itself when it is asked for."""

    def __init__(self, module):
        self._module = module

    @cache  # noqa: B019 (as many as there are modules)
    def __getattr__(self, name):
        return njit(**COMPILED | MAKES_ARRAYS)(getattr(self._module, name).py_func)
