"""Settings classes as tables in Markdown: keys, what they take, defaults, and what they are."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import types
import typing
from collections.abc import Iterator
from typing import Any, NamedTuple

import annotated_types
import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

_WORDS = {float: 'number', int: 'whole number', bool: 'true or false', str: 'text'}
_REFERENCE = re.compile(r':\w+:`~?([\w.]+)`')
_ELSEWHERE = re.compile(r'As in :class:`~?([\w.]+)`')
_LIMITS = (
    ('gt', 'above {}'), ('ge', 'at least {}'), ('lt', 'below {}'), ('le', 'at most {}'),
    ('min_length', 'at least {} long'), ('max_length', 'at most {} long'))


class Key(NamedTuple):
    """One key of a section.

    Attributes:
        name: The key.
        annotation: Type of its value.
        limits: Metadata that bounds it.
        default: Its default; ``PydanticUndefined`` where it has to be given.
        text: What it is; empty where the code does not say.
    """

    name: str
    annotation: Any
    limits: tuple[Any, ...]
    default: Any
    text: str


def class_of(name: str) -> type:
    """A class by its full name."""
    module, _, kind = name.rpartition('.')
    found: type = getattr(importlib.import_module(module), kind)
    return found


def sections(
    kind: type, written: set[tuple[str, type]], path: str = '', within: tuple[type, ...] = ()
) -> Iterator[str]:
    """Headings and tables of a class of settings and of all that it holds.

    Args:
        kind: The class.
        written: Sections of a page that are there already, and are not written again; updated.
        path: Keys that lead to it, with dots between.
        within: Classes that hold it.
    """
    if path:
        written.add((path, kind))
        yield f'### {path}'
        yield markdown(first_sentence(kind))
    yield table(kind, path)
    for key in keys(kind):
        own = f'{path}.{key.name}' if path else key.name
        for inner in _held(key.annotation):
            if inner not in within and (own, inner) not in written:
                yield from sections(inner, written, own, (*within, kind))


def table(kind: type, path: str) -> str:
    """The table of one class.

    Args:
        kind: The class.
        path: Keys that lead to it; those of inner sections are linked to.
    """
    rows = [
        f'| `{key.name}` | {cell(_value(key, path))} | {cell(_default(key))} | '
        f'{cell(markdown(key.text))} |' for key in keys(kind)]
    return '\n'.join(['| key | value | default | what it is |', '|---|---|---|---|', *rows])


def keys(kind: type) -> list[Key]:
    """Keys of a class of settings, a model of pydantic or a dataclass."""
    if issubclass(kind, BaseModel):
        return [
            Key(name, field.annotation, tuple(field.metadata), field.get_default(
                call_default_factory=True), _described(kind, name, field.description or ''))
            for name, field in kind.model_fields.items()]
    hints = typing.get_type_hints(kind, include_extras=True)
    found = []
    for one in dataclasses.fields(kind):
        default = PydanticUndefined if one.default is dataclasses.MISSING else one.default
        annotation, limits = _bare(hints[one.name])
        found.append(Key(one.name, annotation, limits, default, _described(kind, one.name, '')))
    return found


def first_sentence(kind: type) -> str:
    """First paragraph of a class's docstring."""
    return ' '.join((inspect.getdoc(kind) or '').split('\n\n')[0].split())


def markdown(text: str) -> str:
    """Text of a docstring as Markdown."""
    plain = _REFERENCE.sub(lambda found: f'`{found[1].rpartition(".")[2]}`', text)
    return plain.replace('``', '`')


def cell(text: str) -> str:
    """Text of a cell of a table."""
    return text.replace('|', '\\|').replace('\n', ' ')


def _described(kind: type, name: str, description: str) -> str:
    """What a key is, by its own description or by the docstrings of its classes."""
    if description:
        return description
    for base in kind.__mro__:
        text = _attributes(base).get(name)
        if text is None:
            continue
        elsewhere = _ELSEWHERE.match(text)
        return text if elsewhere is None else _described(class_of(elsewhere[1]), name, '')
    return ''


def _attributes(kind: type) -> dict[str, str]:
    """Entries of the section Attributes (or Args) of a class's own docstring."""
    found: dict[str, str] = {}
    inside, name = False, ''
    for line in inspect.cleandoc(kind.__doc__ or '').splitlines():
        if not line.startswith(' '):
            inside = line in ('Attributes:', 'Args:') or (inside and not line)
            continue
        entry = re.match(r' {4}(\w+): (.*)', line)
        if inside and entry:
            name = entry[1]
            found[name] = entry[2]
        elif inside and name:
            found[name] += ' ' + line.strip()
    return found


def _bare(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without what is annotated to it, and that."""
    if typing.get_origin(annotation) is typing.Annotated:
        inner, *limits = typing.get_args(annotation)
        return inner, tuple(
            bound for limit in limits
            for bound in (limit.metadata if isinstance(limit, FieldInfo) else [limit]))
    return annotation, ()


def _held(annotation: Any) -> Iterator[type]:
    """Classes of settings in a type."""
    annotation, _ = _bare(annotation)
    if isinstance(annotation, type) and not typing.get_args(annotation):
        if issubclass(annotation, BaseModel) or dataclasses.is_dataclass(annotation):
            yield annotation
        return
    for inner in typing.get_args(annotation):
        yield from _held(inner)


def _value(key: Key, path: str) -> str:
    text = _type(key.annotation, f'{path}.{key.name}' if path else key.name)
    return ', '.join([text, *_bounds(key.limits)])


def _bounds(limits: tuple[Any, ...]) -> Iterator[str]:
    for limit in limits:
        if isinstance(limit, annotated_types.Interval):
            continue
        for name, words in _LIMITS:
            if getattr(limit, name, None) is not None:
                yield words.format(getattr(limit, name))


def _type(annotation: Any, path: str) -> str:
    """A type in words."""
    annotation, limits = _bare(annotation)
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in _WORDS:
        text = _WORDS[annotation]
    elif origin is typing.Literal:
        text = ', '.join(f'`{value}`' for value in inner)
    elif origin in (typing.Union, types.UnionType):
        text = ' or '.join(_type(one, path) for one in inner if one is not types.NoneType)
    elif origin is tuple:
        count = '' if inner[-1] is Ellipsis else f' {len(inner)}:'
        text = f'list of{count} {_type(inner[0], path)}'
    elif origin is dict:
        text = f'{_type(inner[1], path)}, by name'
    else:
        text = f'[section](#{path.replace(".", "").lower()})'
    return ', '.join([text, *_bounds(limits)])


def _default(key: Key) -> str:
    if key.default is PydanticUndefined:
        return '**needed**'
    if key.default is None or isinstance(key.default, BaseModel):
        return '–'
    if dataclasses.is_dataclass(key.default):
        return '–'
    value = list(key.default) if isinstance(key.default, tuple) else key.default
    written = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=1000)
    return f"`{written.removesuffix('...' + chr(10)).strip()}`"
