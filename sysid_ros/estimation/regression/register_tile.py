"""Compiled: the innermost part of an elimination, in vector instructions.

The compiler makes these of a loop over single numbers only with room for what it cannot know: that
rows might overlap, and how long they are. For rows as short as those of a robot's parameters that
takes longer than the work itself. Here four rows by eight columns are named as what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import Signature
from numba.extending import intrinsic

#: Rows and columns of a tile.
ROWS, COLUMNS = 4, 8

_DOUBLE, _INDEX = ir.DoubleType(), ir.IntType(32)
_VECTOR = ir.VectorType(_DOUBLE, COLUMNS)
# One rounding for a product and its difference, where the processor can.
_FLAGS = ('contract', 'nsz')


class _Matrix:
    """Loads and stores of an array in C order."""

    def __init__(self, context: Any, builder: ir.IRBuilder, kind: Any, value: Any) -> None:
        self._builder = builder
        array = context.make_array(kind)(context, builder, value)
        self._data = array.data
        self._width = cgutils.unpack_tuple(builder, array.shape)[-1]

    def at(self, row: ir.Value, column: ir.Value) -> ir.Value:
        """Pointer to an entry."""
        place = self._builder.add(self._builder.mul(row, self._width), column)
        return self._builder.gep(self._data, [place])

    def row(self, row: ir.Value, column: ir.Value) -> ir.Value:
        """Pointer to a vector in a row."""
        return self._builder.bitcast(self.at(row, column), _VECTOR.as_pointer())


def _spread(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """A vector of equal numbers."""
    none = ir.Constant(_VECTOR, ir.Undefined)
    one = builder.insert_element(none, value, _INDEX(0))
    return builder.shuffle_vector(one, none, ir.Constant(ir.VectorType(_INDEX, COLUMNS), None))


def _generate(context: Any, builder: ir.IRBuilder, signature: Signature, arguments: Any) -> Any:
    """Write the tile's instructions."""
    kinds, size = signature.args, arguments[1].type
    target, source = (_Matrix(context, builder, kinds[k], arguments[k]) for k in (0, 3))
    lines = context.make_array(kinds[4])(context, builder, arguments[4]).data
    shares, lower = (_Matrix(context, builder, kinds[k], arguments[k]) for k in (5, 7))
    first, column = arguments[1:3]
    places = [target.row(builder.add(first, size(m)), column) for m in range(ROWS)]
    sums = [cgutils.alloca_once(builder, _VECTOR) for _ in range(ROWS)]
    for place, total in zip(places, sums, strict=True):
        builder.store(builder.load(place, align=8), total)

    def take(share: ir.Value, vector: ir.Value, m: int) -> None:
        product = builder.fmul(_spread(builder, builder.load(share)), vector, flags=_FLAGS)
        builder.store(builder.fsub(builder.load(sums[m]), product, flags=_FLAGS), sums[m])

    with cgutils.for_range(builder, arguments[6]) as loop:
        line = builder.load(builder.gep(lines, [loop.index]))
        vector = builder.load(source.row(line, column), align=8)
        for m in range(ROWS):
            take(shares.at(loop.index, size(m)), vector, m)
    for m in range(ROWS):
        for k in range(m):
            take(lower.at(size(m), size(k)), builder.load(sums[k]), m)
    for place, total in zip(places, sums, strict=True):
        builder.store(builder.load(total), place, align=8)
    return context.get_dummy_value()


@intrinsic
def take_off_tile(
    typing: Any, target: Any, first: Any, column: Any, source: Any, lines: Any, shares: Any,
    count: Any, lower: Any,
) -> tuple[Signature, Callable[..., Any]]:
    """Take multiples of rows off four rows by eight columns, then of each of these off the next.

    Called from compiled functions, without the first argument.

    Args:
        typing: What the compiler knows of types.
        target: Where, shape ``(., w)``, in C order as all arrays.
        first: First of the four rows.
        column: First of the eight columns.
        source: Rows to take off, of the same width.
        lines: Which of them, shape ``(at least count,)``.
        shares: How often each comes off each of the four rows, shape ``(at least count, 4)``.
        count: How many.
        lower: How often the k-th of the four rows comes off the m-th afterwards, for k < m.
    """
    return types.void(
        target, types.intp, types.intp, source, lines, shares, types.intp, lower), _generate
