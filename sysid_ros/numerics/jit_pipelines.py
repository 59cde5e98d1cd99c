"""Pipelines of the compiler that compile once what is called from many functions.

Numba optimises every function together with all that it calls, and loads the machine code of
each. What is called through eight levels is so compiled eight times, and run from one of them.
Here it is linked into what Python calls, and optimised there alone.

This leans on private parts of Numba: :mod:`sysid_ros.numerics.jit` uses it only with versions that
the tests were run with, or where it is seen to work.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags

# Defined in many modules, kept once.
_SHARED = 'linkonce_odr'
# Address of a function of Python's own that takes nothing and fails.
_REFUSAL = ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value or 0


class _Quick(Compiler):
    def __init__(self, *args: Any) -> None:
        *before, flags, names = args
        super().__init__(*before, _Flags(flags), names)


class Entry(_Quick):
    """Pipeline of a function that Python calls; ``njit`` takes it.

    The compiler makes objects by the hundred thousand, so that the collector of garbage looks
    through everything again and again. While it compiles, that is no more than its own.
    """

    def compile_extra(self, function: Any) -> Any:
        """The usual, while the collector passes over what was there before."""
        if gc.get_freeze_count():
            return super().compile_extra(function)
        gc.freeze()
        try:
            return super().compile_extra(function)
        finally:
            gc.unfreeze()


class Part(_Quick):
    """Pipeline of a function that only compiled ones call; ``njit`` takes it."""

    def define_pipelines(self) -> Any:
        """The usual ones, with a library that is not loaded."""
        state = self.state
        state.library = _Unloaded(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


class _Flags(Flags):
    """Flags as what has been set.

    They are part of what types of operations are remembered by, together with those of the
    operands, so they are compared tens of thousands of times. As they come they list all that
    could have been set each time.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and (
            self._values == other._values or self.values() == other.values())


class _Unloaded(JITCodeLibrary):
    """Code as it was written, for those who link it."""

    _shared_module: Any

    @property
    def codegen(self) -> Any:
        """What generates code, without a place for environments."""
        return _WithoutEnvironments(self._codegen)

    def add_llvm_module(self, module: Any) -> None:
        """Take a function's code, and leave it as it is."""
        module.data_layout = self._codegen._data_layout
        self._final_module.link_in(module)

    def finalize(self) -> None:
        """End it, without optimising or loading anything."""
        self._raise_if_finalized()
        for library in self._linking_libraries:
            # What is to be set up anew when code comes from a cache; older versions know of none.
            getattr(self, '_reload_init', set()).update(getattr(library, '_reload_init', ()))
        for function in self._final_module.functions:
            if not function.is_declaration:
                function.linkage = _SHARED
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """What Python calls instead: it raises a ``TypeError`` whatever its arguments."""
        self._ensure_finalized()
        return _REFUSAL

    def _get_module_for_linking(self) -> Any:
        """This code with all that it calls, through whatever levels, once each."""
        if self._shared_module is None:
            called: dict[Any, None] = {}
            self._collect(called)
            self._shared_module = self._final_module.clone()
            for library in called:
                module = (
                    library._final_module if isinstance(library, _Unloaded)
                    else library._get_module_for_linking())
                self._shared_module.link_in(module, preserve=True)
        return self._shared_module

    def _collect(self, called: dict[Any, None]) -> None:
        for library in self._linking_libraries:
            if library not in called:
                called[library] = None
                if isinstance(library, _Unloaded):
                    library._collect(called)


class _WithoutEnvironments:
    """A code generator for what is not loaded, and so has no place for environments."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Nowhere to set it: compiled functions only need it where they call Python."""
