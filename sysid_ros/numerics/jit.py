"""How functions are compiled: those that Python calls, and those that only these call.

Where :mod:`sysid_ros.numerics.jit_pipelines` can be used, functions that others call are not
compiled by themselves, which makes a first use several times as fast; otherwise Numba does what it
always does, and results are the same.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from numba import njit

#: Versions of Numba, from the first on and before the last, that the tests were run with.
TESTED = ((0, 58), (0, 69))

#: Liberties of the compiler that are taken: sums may be reordered, products fused, divisions by the
#: same number made multiplications.
REORDERING = {'reassoc', 'contract', 'arcp', 'nsz'}
# What another order of a sum changes, in parts.
_LAST_BITS = 1e-12
#: Options of compiled functions. Sums may be reordered, but a value that is not a number must stay
#: one; what is divided by zero is found by what comes of it. Arrays come in and none is made:
#: counting references to them would take longer than the mathematics.
COMPILED: dict[str, Any] = {
    '_nrt': False, 'error_model': 'numpy', 'fastmath': REORDERING}
#: The same, kept in the compiler's cache.
CACHED = COMPILED | {'cache': True}
#: Options of functions whose sums keep their order, since a sign or a pivot hangs on a last bit.
IN_ORDER: dict[str, Any] = {'error_model': 'numpy'}


def _options() -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of functions that Python calls, and of those that only these call."""
    from sysid_ros.numerics.jit_pipelines import Entry, Part  # noqa: PLC0415

    return (
        CACHED | {'no_cfunc_wrapper': True, 'pipeline_class': Entry},
        # They do without what would let Python and C in, which takes longer to compile than they
        # do.
        COMPILED | {
            'no_cpython_wrapper': True, 'no_cfunc_wrapper': True, 'pipeline_class': Part},
    )


def _is_tested() -> bool:
    version = tuple(int(part) for part in numba.__version__.split('.')[:2])
    return TESTED[0] <= version < TESTED[1]


def _work(entry: dict[str, Any], inside: dict[str, Any]) -> bool:
    """Whether functions compiled with options give what they give compiled as usual."""
    def square(x: float) -> float:
        return x * x + 1.0

    def called_from_two(x: float) -> float:
        return squared(x) - 0.5 * squared(2.0 * x)

    def outermost(x: float) -> float:
        return squared(x) * twice(x) / 3.0

    found = []
    for outer, inner in ((entry, inside), ({}, {})):
        squared = njit(**inner)(square)
        twice = njit(**inner)(called_from_two)
        called = njit(**{key: value for key, value in outer.items() if key != 'cache'})(outermost)
        found.append([called(x) for x in (0.25, -3.0)])
    # Sums in another order differ in their last bits, on processors that fuse no products.
    return all(math.isclose(one, other, rel_tol=_LAST_BITS) for one, other in zip(
        *found, strict=True))


def _chosen() -> tuple[dict[str, Any], dict[str, Any]]:
    """Options that work with this version of Numba.

    To compare takes a third of a second at every import, so versions that the tests were run with,
    which compare the same, are trusted.

    Raises:
        ImportError: Another version lacks what has no substitute.
    """
    tested = _is_tested()
    if not tested:
        from sysid_ros.numerics.compiler_parts import require_parts  # noqa: PLC0415

        require_parts(*TESTED)
    try:
        options = _options()
        if tested or _work(*options):
            return options
    except Exception:  # noqa: S110  # private parts that have changed fail in any way
        pass
    return CACHED, COMPILED


#: Options of functions that Python calls, and of those that only compiled ones call.
ENTRY, INSIDE = _chosen()
#: Besides these, for functions that make arrays.
MAKES_ARRAYS = {'_nrt': True}


def digest(*modules: ModuleType) -> str:
    """Digest of modules' files, for compiled entries to close over.

    The compiler's cache looks at what a function closes over, but not at functions of other
    files: an entry that closes over their digest is compiled anew when one of them changes.
    """
    return hashlib.sha256(
        b''.join(Path(str(module.__file__)).read_bytes() for module in modules)).hexdigest()
