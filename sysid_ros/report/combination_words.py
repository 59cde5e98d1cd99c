"""Base parameters in words: what the parameter that stands first is, and whose go with it."""

from __future__ import annotations

import re
from collections.abc import Collection

from sysid_ros.robot.inertia import INERTIAL_FIELDS

# What stands before a parameter: its sign, and its coefficient.
_SIGN, _SIZE = re.compile(r' ?([+-]) '), re.compile(r'\d[\d.e+-]*·')
# What stands between two terms.
_END = re.compile(r' [+-] ')
# Bodies that are named before the others are only counted.
_NAMED = 2


def terms_of(combination: str, names: Collection[str]) -> list[tuple[str, str]]:
    """Sign and parameter of each term of a combination; none where it is not one of the names.

    Args:
        combination: As :func:`~sysid_ros.mechanics.base_parameters.combination_in_words` writes it.
        names: Names of parameters, which may hold anything.
    """
    known, found, rest = frozenset(names), [], combination
    while rest:
        sign = _SIGN.match(rest)
        rest = rest[sign.end():] if sign else rest
        # A name may begin as a coefficient does.
        own = _beginning(rest, known)
        if own is None and (size := _SIZE.match(rest)):
            rest = rest[size.end():]
            own = _beginning(rest, known)
        if own is None:
            return []
        found.append((sign[1] if sign else '+', own))
        rest = rest[len(own):]
    return found


def _beginning(text: str, names: frozenset[str]) -> str | None:
    """The name that a text begins with, where a term can end behind it."""
    ends = (*(match.start() for match in _END.finditer(text)), len(text))
    return next((text[:end] for end in ends if text[:end] in names), None)


def combination_words(combination: str, names: Collection[str]) -> str:
    """What a base parameter is, as people say it.

    Args:
        combination: Its parameters with their coefficients, its own first.
        names: Names of all parameters.

    Returns:
        For example ``moment of inertia of forearm about z, with parts of hand``; the combination
        itself where its parameters are not among the names.
    """
    terms = terms_of(combination, names)
    if not terms:
        return combination
    owner, _, field = terms[0][1].rpartition('.')
    others = [other for _, name in terms[1:] if (other := name.rpartition('.')[0]) != owner]
    return _own_words(owner, field, terms) + _others_words(list(dict.fromkeys(others)))


def _own_words(owner: str, field: str, terms: list[tuple[str, str]]) -> str:
    if field not in INERTIAL_FIELDS:
        return f'{field.replace("_", " ")} of {owner}'
    if field == 'mass':
        return f'mass of {owner}'
    kind, _, axes = field.rpartition('_')
    if kind == 'first_moment':
        return f'first moment of mass of {owner} along {axes}'
    if axes[0] != axes[1]:
        return f'product of inertia of {owner}, {axes}'
    if ('-', f'{owner}.inertia_yy') in terms and axes == 'xx':
        return f'moment of inertia of {owner} about x less that about y'
    return f'moment of inertia of {owner} about {axes[0]}'


def _others_words(bodies: list[str]) -> str:
    if not bodies:
        return ''
    if len(bodies) <= _NAMED:
        return f', with parts of {" and ".join(bodies)}'
    return f', with parts of {", ".join(bodies[:_NAMED])} and {len(bodies) - _NAMED} more'
