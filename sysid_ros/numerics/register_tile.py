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
_VECTOR, _FOUR = ir.VectorType(_DOUBLE, COLUMNS), ir.VectorType(_DOUBLE, ROWS)
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

    def four(self, row: ir.Value, column: ir.Value) -> ir.Value:
        """Pointer to four numbers in a row."""
        return self._builder.bitcast(self.at(row, column), _FOUR.as_pointer())


def _spread(builder: ir.IRBuilder, value: ir.Value, kind: ir.VectorType = _VECTOR) -> ir.Value:
    """A vector of equal numbers."""
    none = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(none, value, _INDEX(0))
    return builder.shuffle_vector(one, none, ir.Constant(ir.VectorType(_INDEX, kind.count), None))


def _generate_update(
    context: Any, builder: ir.IRBuilder, signature: Signature, arguments: Any
) -> ir.Value:
    """Write the instructions of :func:`update_tile`."""
    kinds, size = signature.args, arguments[1].type
    target, source = (_Matrix(context, builder, kinds[k], arguments[k]) for k in (0, 3))
    lines = context.make_array(kinds[4])(context, builder, arguments[4]).data
    shares, lower = (_Matrix(context, builder, kinds[k], arguments[k]) for k in (5, 7))
    first, column = arguments[1:3]
    places = [target.row(builder.add(first, size(m)), column) for m in range(ROWS)]
    # Sums of even and of odd turns: one alone would have to wait for itself each time.
    even, odd = ([cgutils.alloca_once(builder, _VECTOR) for _ in places] for _ in range(2))
    for place, total, other in zip(places, even, odd, strict=True):
        builder.store(builder.load(place, align=8), total)
        builder.store(ir.Constant(_VECTOR, None), other)

    def take(share: ir.Value, vector: ir.Value, total: ir.Value) -> None:
        product = builder.fmul(_spread(builder, builder.load(share)), vector, flags=_FLAGS)
        builder.store(builder.fsub(builder.load(total), product, flags=_FLAGS), total)

    def turn(index: ir.Value, sums: list[ir.Value]) -> None:
        line = builder.load(builder.gep(lines, [index]))
        vector = builder.load(source.row(line, column), align=8)
        for m, total in enumerate(sums):
            take(shares.at(index, size(m)), vector, total)

    count, one = arguments[6], size(1)
    with cgutils.for_range(builder, builder.lshr(count, one)) as loop:
        twice = builder.shl(loop.index, one)
        turn(twice, even)
        turn(builder.add(twice, one), odd)
    with cgutils.if_unlikely(builder, builder.trunc(count, ir.IntType(1))):
        turn(builder.sub(count, one), even)
    for total, other in zip(even, odd, strict=True):
        both = builder.fadd(builder.load(total), builder.load(other), flags=_FLAGS)
        builder.store(both, total)
    for m in range(ROWS):
        for k in range(m):
            take(lower.at(size(m), size(k)), builder.load(even[k]), even[m])
    for place, total in zip(places, even, strict=True):
        builder.store(builder.load(total), place, align=8)
    return context.get_dummy_value()


@intrinsic
def update_tile(
    typing: Any, target: Any, first: Any, column: Any, source: Any, lines: Any, shares: Any,
    count: Any, lower: Any,
) -> tuple[Signature, Callable[..., Any]]:
    """Rank-k update of a tile of four rows by eight columns, then forward substitution in it.

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
        target, types.intp, types.intp, source, lines, shares, types.intp, lower), _generate_update


def _generate_coupled_rows(
    context: Any, builder: ir.IRBuilder, signature: Signature, arguments: Any
) -> ir.Value:
    """Write the instructions of :func:`coupled_rows`."""
    kinds, size = signature.args, arguments[1].type
    matrix, shares = (_Matrix(context, builder, kinds[k], arguments[k]) for k in (0, 6))
    inverse, lines = (
        context.make_array(kinds[k])(context, builder, arguments[k]).data for k in (4, 5))
    used = cgutils.alloca_once_value(builder, size(0))
    zeros, bits = ir.Constant(_FOUR, None), ir.IntType(ROWS)
    with cgutils.for_range(builder, arguments[3], start=arguments[2]) as loop:
        four = builder.load(matrix.four(loop.index, arguments[1]), align=8)
        scale = builder.load(builder.gep(inverse, [loop.index]))
        place = builder.load(used)
        product = builder.fmul(four, _spread(builder, scale, _FOUR))
        builder.store(product, shares.four(place, size(0)), align=8)
        builder.store(loop.index, builder.gep(lines, [place]))
        coupled = builder.bitcast(builder.fcmp_unordered('!=', four, zeros), bits)
        some = builder.zext(builder.icmp_unsigned('!=', coupled, bits(0)), size)
        builder.store(builder.add(place, some), used)
    return builder.load(used)


@intrinsic
def coupled_rows(
    typing: Any, matrix: Any, column: Any, begin: Any, end: Any, inverse: Any, lines: Any,
    shares: Any,
) -> tuple[Signature, Callable[..., Any]]:
    """Rows of a factor that are coupled with four others, and their multiples; their number.

    Called from compiled functions, without the first argument.

    Args:
        typing: What the compiler knows of types.
        matrix: Holds the rows, shape ``(., w)``, in C order as all arrays.
        column: First of the four columns that belong to the four rows.
        begin: First row to look at.
        end: The one after the last.
        inverse: One over the pivots.
        lines: Gets those with a number other than zero there, shape ``(at least end - begin,)``.
        shares: Gets the four numbers over the pivot, shape ``(at least end - begin, 4)``.
    """
    return types.intp(
        matrix, types.intp, types.intp, types.intp, inverse, lines, shares), _generate_coupled_rows
