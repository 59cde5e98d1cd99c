"""Named tuples by reference in compiled code.

Numba hands a named tuple over as all the numbers that it is made of, some nine for every array.
Of a workspace with forty arrays these are hundreds, which the compiler packs and unpacks at every
call of every function, and that takes it far longer than what is done with them. A reference is one
number, and a field is read where it is named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import typeof
from numba.core import cgutils, types
from numba.core.types.containers import BaseNamedTuple
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    unbox,
)


class Referred:
    """A named tuple of arrays, whole numbers and truth values, and of named tuples of them.

    Compiled functions take it by reference, and read its fields as those of the named tuple.

    Args:
        record: The named tuple, whose arrays are not copied.

    Raises:
        TypeError: It holds something else.
    """

    def __init__(self, record: NamedTuple) -> None:
        self.record = record
        self._memory = np.array(list(_words(record)), dtype=np.int64)
        #: Where compiled code finds it.
        self.address = self._memory.ctypes.data
        # The compiler takes longer to find the type than many calls take.
        seen = _seen(record)
        if seen not in _KINDS:
            _KINDS[seen] = Reference(typeof(record))
        self._numba_type_ = _KINDS[seen]


def referred(*records: NamedTuple) -> tuple[Referred, ...]:
    """Several named tuples by reference; see :class:`Referred`."""
    return tuple(map(Referred, records))


def _words(value: object) -> Iterator[int]:
    """What compiled code keeps of a value, eight bytes each."""
    if isinstance(value, tuple):
        for part in value:
            yield from _words(part)
    elif isinstance(value, np.ndarray):
        yield from (0, 0, value.size, value.itemsize, value.__array_interface__['data'][0])
        yield from value.shape
        yield from value.strides
    elif isinstance(value, (bool, int)):
        yield int(value)
    else:
        raise TypeError(f'a {type(value).__name__} cannot be handed over by reference')


class Reference(types.Type):
    """Type of a reference to a named tuple.

    Args:
        record: Type of the named tuple.
    """

    def __init__(self, record: BaseNamedTuple) -> None:
        self.record = record
        # A name of its own in few letters, since it becomes part of those of functions.
        digest = hashlib.sha256(_spelled(record).encode()).hexdigest()[:16]
        super().__init__(name=f'Reference({record.instance_class.__name__}, {digest})')


def _spelled(kind: types.Type) -> str:
    """Everything that tells a type from others."""
    if not isinstance(kind, BaseNamedTuple):
        return str(kind)
    fields = ', '.join(
        f'{name}: {_spelled(field)}'
        for name, field in zip(kind.fields, kind.types, strict=True))
    return f'{kind.instance_class.__module__}.{kind.instance_class.__qualname__}({fields})'


# Types of named tuples by what tells them apart.
_KINDS: dict[object, Reference] = {}


def _seen(value: object) -> object:
    """What tells a value from those of other types."""
    if isinstance(value, tuple):
        return (type(value), *map(_seen, value))
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num
    return type(value)


def _memory_of(manager: Any, kind: types.Type) -> ir.Type:
    """How a value of a type lies in memory; see :func:`_words`."""
    if isinstance(kind, BaseNamedTuple):
        return ir.LiteralStructType([_memory_of(manager, field) for field in kind.types])
    if isinstance(kind, types.Array):
        return manager.lookup(kind).get_value_type()
    return ir.IntType(64)


@register_model(Reference)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Reference) -> None:
        super().__init__(manager, kind, _memory_of(manager, kind.record).as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, kind: Reference, name: str) -> types.Type | None:
        """Type of a field; those that are named tuples come by reference, too."""
        if name not in kind.record.fields:
            return None
        field = kind.record.types[kind.record.fields.index(name)]
        return Reference(field) if isinstance(field, BaseNamedTuple) else field


@lower_getattr_generic(Reference)
def _read(context: Any, builder: ir.IRBuilder, kind: Reference, value: ir.Value, name: str) -> Any:
    number = kind.record.fields.index(name)
    field, place = kind.record.types[number], cgutils.gep_inbounds(builder, value, 0, number)
    if isinstance(field, BaseNamedTuple):
        return place
    word = builder.load(place)
    return cgutils.is_not_null(builder, word) if field == types.boolean else word


@unbox(Reference)
def _enter(kind: Reference, value: ir.Value, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(value, 'address')
    place = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(c.builder.bitcast(place, c.context.get_value_type(kind)))
