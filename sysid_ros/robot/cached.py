"""Values computed from an object that never changes, kept as long as the object itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Self = TypeVar('_Self', bound='CachesValues')
_Value = TypeVar('_Value')


class CachesValues:
    """An object that never changes, with the values of functions of it.

    It serves layers above: they compute from a robot or a model what it need not know of.
    """

    def cached(self: _Self, compute: Callable[[_Self], _Value]) -> _Value:
        """The value of a function of this object, computed when first asked for.

        Threads may ask at the same time: each may compute the value, and all get the one that
        was stored first. A changed copy, as of :func:`dataclasses.replace`, begins without
        values.

        Args:
            compute: The function, which is the key as well: one that lasts, no lambda. What it
                raises is passed on, and nothing is stored then.

        Returns:
            Its value, the same object at every call.
        """
        # Storing where nothing is stored yet is one step, which no other thread can interrupt.
        values: dict[Callable[[_Self], _Value], _Value] = vars(self).setdefault('_values', {})
        if compute not in values:
            values.setdefault(compute, compute(self))
        return values[compute]

    def share(self: _Self, compute: Callable[[_Self], object], other: _Self) -> None:
        """Take the value of a function from another object, for which it is the same.

        Args:
            compute: The function.
            other: The object.
        """
        values: dict[Callable[[_Self], object], object] = vars(self).setdefault('_values', {})
        values[compute] = other.cached(compute)

    def seeded(self: _Self, **known: Any) -> _Self:
        """This object, with values of cached properties that are known already.

        Args:
            known: The values by the names of their properties.
        """
        # Where cached_property looks first.
        vars(self).update(known)
        return self

    def at_hand(self, *names: str) -> dict[str, Any]:
        """Those of some cached properties that were computed, by their names."""
        return {name: vars(self)[name] for name in names if name in vars(self)}
