"""Errors of settings for people: texts that are no YAML, keys and values that do not fit."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import yaml
from pydantic import BaseModel, ValidationError

from sysid_ros.errors import ConfigurationError, did_you_mean, listed

KeyPath = tuple[int | str, ...]

# What pydantic calls a key that settings, and a dataclass inside them, do not have.
_UNKNOWN_KEY = ('extra_forbidden', 'unexpected_keyword_argument')
_LIMITS = {
    'greater_than': ('gt', 'above'), 'greater_than_equal': ('ge', 'at least'),
    'less_than': ('lt', 'below'), 'less_than_equal': ('le', 'at most'),
    'string_too_long': ('max_length', 'characters at most'),
    'string_too_short': ('min_length', 'characters at least'),
}
_UNITS = re.compile(r'\bin\s+\[([^\]]+)\](?:\s+or\s+\[([^\]]+)\])?')
_NUMBER_AND_MORE = re.compile(r'\s*([+-]?\d+(?:\.\d*)?)\s*[^\d\s.,].*')
_DECIMAL_COMMA = re.compile(r'\s*([+-]?\d+),(\d+)\s*')
_SHOWN = 80
# Options of sysid fit that people look for among the settings, with values.
_OPTIONS: Mapping[int | str, str] = {
    'holdout': '0.3', 'folds': '5', 'validate': 'second.yaml', 'output': 'runs/first'}


def yaml_error(error: Exception, text: str, where: str) -> ConfigurationError:
    """The error of a text that is no YAML, with the line and what to do about it.

    Args:
        error: What the parser raised.
        text: The text.
        where: Name of its source.
    """
    mark = getattr(error, 'problem_mark', None)
    if not isinstance(error, yaml.MarkedYAMLError) or mark is None:
        return ConfigurationError(
            f'is not plain YAML: {" ".join(str(error).split())}', where=where,
            fix='Use plain mappings, lists, numbers and strings')
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ''
    problem, fix = f'column {mark.column + 1}: {error.problem}', _yaml_fix(error)
    if '\t' in line[:mark.column + 1]:
        problem, fix = 'there is a tab where YAML takes spaces alone', 'Replace tabs by spaces'
    return ConfigurationError(
        f'is not plain YAML: line {mark.line + 1}, {problem}', where=where,
        found=repr(line.strip(' ')[:_SHOWN]) if line else 'the end of the text', fix=fix)


def _yaml_fix(error: yaml.MarkedYAMLError) -> str:
    problem, context = error.problem or '', error.context or ''
    if 'given twice' in problem:
        return 'Remove one of them'
    if 'flow' in context and error.context_mark is not None:
        return f'Close the bracket that line {error.context_mark.line + 1} opens, or add a comma'
    if 'mapping values' in problem or 'expected' in problem:
        return ('Write key: value with a space after the colon, and indent keys of one section '
                'alike; look at the line before, too')
    return 'Use plain mappings, lists, numbers and strings'


def validation_error(
    kind: type, data: Any, error: ValidationError, where: str
) -> ConfigurationError:
    """One error out of all: a misspelt key first, since it also makes its own key missing.

    Args:
        kind: Class of the settings.
        data: The mapping that was validated.
        error: What is wrong with it.
        where: Name of its source.
    """
    errors, data = error.errors(), _with_own_keys(kind, data)
    first = next((e for e in errors if e['type'] in _UNKNOWN_KEY), errors[0])
    path = _written_path(data, first['loc'])
    if first['type'] in _UNKNOWN_KEY:
        return _unknown_key(kind, path, where)
    if first['type'] == 'missing':
        absent = [e for e in errors if e['type'] == 'missing']
        return _missing(kind, first, absent, path, where)
    if first['type'] in ('too_short', 'too_long'):
        limit = 'min_length' if first['type'] == 'too_short' else 'max_length'
        return _wrong_length(where, path, first['ctx']['actual_length'], first['ctx'][limit])
    # Alternatives of one value each report why they do not fit.
    alike = [e for e in errors if _written_path(data, e['loc'])[:len(path)] == path]
    return _wrong_value(kind, path, alike, where)


def dotted(path: KeyPath) -> str:
    """A path of keys and indices as people write it."""
    return '.'.join(map(str, path))


def _wrong_value(
    kind: type, path: KeyPath, errors: Sequence[Mapping[str, Any]], where: str
) -> ConfigurationError:
    """The error of a value, with all that is allowed in its place."""
    value = errors[0]['input']
    expected = [_expected(kind, path, e) for e in errors]
    allowed = list(dict.fromkeys(text for _, text in expected if text))
    own = dict.fromkeys(problem for problem, text in expected if not text)
    usual = expected[0][0] if len(allowed) < 2 else 'the value cannot be used'
    problem = '; or: '.join(own) or usual
    return ConfigurationError(
        problem, where=f'{where}: {dotted(path)}', found=repr(value)[:_SHOWN],
        allowed=', or '.join(allowed) or None, fix=_value_fix(kind, path, errors, value))


def _expected(kind: type, path: KeyPath, error: Mapping[str, Any]) -> tuple[str, str]:
    """What is wrong, and what would be right; of messages of our own only the first."""
    name, context = error['type'], error.get('ctx') or {}
    if name in _LIMITS:
        key, words = _LIMITS[name]
        unit = '' if 'length' in key else _unit(kind, path)
        limit = f'{context[key]:g}'
        return 'the value is out of range', (
            f'{limit} {words}' if 'length' in key else f'{words} {limit}{unit}')
    family = name.split('_')[0]
    if name == 'literal_error':
        return 'there is no such choice', context['expected']
    if name in ('model_type', 'model_attributes_type', 'dataclass_type'):
        return 'is not a section', f'key: value lines, with {listed(_known_keys(kind, path))}'
    return {
        'float': ('is not a number', f'a number{_unit(kind, path)}, as {_example(kind, path)}'),
        'finite': ('is not finite', 'a finite number'),
        'int': ('is not a whole number', 'a whole number, as 4'),
        'bool': ('is neither true nor false', 'true or false'),
        'tuple': ('is not a list', 'a list, as [a, b]'),
        'list': ('is not a list', 'a list, as [a, b]'),
        'dict': ('is not a mapping', 'a mapping, as {a: b}'),
        'string': ('is not text', 'text, in quotes if it looks like a number'),
    }.get(family, (error['msg'].removeprefix('Value error, '), ''))


def _value_fix(
    kind: type, path: KeyPath, errors: Sequence[Mapping[str, Any]], value: Any
) -> str | None:
    """What to write in the place of a value, where that can be told from it."""
    name = errors[0]['type']
    if not isinstance(value, str):
        return _example_fix(kind, path, errors[0])
    if name == 'float_parsing':
        number, comma = _NUMBER_AND_MORE.fullmatch(value), _DECIMAL_COMMA.fullmatch(value)
        if comma:
            return f'Write a decimal point: {comma[1]}.{comma[2]}'
        unit = _unit(kind, path) or ' without a unit'
        return f'Write the number alone,{unit}' if number else _example_fix(kind, path, errors[0])
    if len(errors) == 1 and name == 'literal_error':
        return did_you_mean(value, re.findall(r"'([^']*)'", errors[0]['ctx']['expected']))
    is_list = len(errors) == 1 and name in ('tuple_type', 'list_type')
    return f'Write {path[-1]}: [{value}]' if is_list else None


def _example_fix(kind: type, path: KeyPath, error: Mapping[str, Any]) -> str | None:
    """A value of the right type and within its limits, where its type is one of few."""
    name, example = error['type'], _example(kind, path)
    if name in _LIMITS:
        key = _LIMITS[name][0]
        fits = 'length' not in key and getattr(operator, key)(float(example), error['ctx'][key])
    else:
        fits = name.startswith('float') or name == 'string_type'
        example = 'a name' if name == 'string_type' else example
    return f'Write {path[-1]}: {example}, for example' if fits and path else None


def _unit(kind: type, path: KeyPath) -> str:
    """Unit of a value, as the settings' documentation says it."""
    owner, name = _owner(kind, path)
    entry = re.search(
        rf'^\s+{re.escape(name)}: (.*?)(?=^\s+\w+: |\Z)', owner.__doc__ or '', re.M | re.S)
    units = _UNITS.search(entry[1]) if entry else None
    return ' in ' + ' or '.join(unit for unit in units.groups() if unit) if units else ''


def _example(kind: type, path: KeyPath) -> str:
    owner, name = _owner(kind, path)
    usual = owner.model_fields[name].default if (
        issubclass(owner, BaseModel) and name in owner.model_fields) else None
    if isinstance(usual, float) and usual and math.isfinite(usual):
        return f'{usual}'
    return '20.0' if _unit(kind, path) == ' in Hz' else '0.1'


def _owner(kind: type, path: KeyPath) -> tuple[type, str]:
    """Class whose field a path ends at, and the field's name."""
    name = ''
    for part in path:
        if not isinstance(part, str):
            continue
        inner = _settings_class(_annotations(kind).get(name)) if name else None
        kind, name = inner or kind, part
    return kind, name


def _with_own_keys(kind: type, data: Any) -> Any:
    """What was written by the names of the fields, where keys have other names, too."""
    if not isinstance(data, dict):
        return data
    others: Mapping[Any, Any] = getattr(kind, 'other_keys', {})
    annotations = _annotations(kind)
    named = {others.get(key, key): value for key, value in data.items()}
    inner = {key: _settings_class(annotations.get(key)) for key in named}
    return {
        key: _with_own_keys(section, value) if (section := inner[key]) else value
        for key, value in named.items()}


def _written_path(data: Any, location: KeyPath) -> KeyPath:
    """A location without the names of alternatives, which are not in what was written."""
    path: list[int | str] = []
    for part in location:
        is_key = isinstance(data, dict) and part in data
        is_index = isinstance(data, (list, tuple)) and part in range(len(data))
        if is_key or is_index:
            data = data[part]
            path.append(part)
    return tuple(path)


def _missing(
    kind: type, first: Mapping[str, Any], missing: Sequence[Mapping[str, Any]], path: KeyPath,
    where: str,
) -> ConfigurationError:
    if isinstance(first['loc'][-1], int):
        found = len(first['input'])
        absent = [e for e in missing if e['loc'][:-1] == first['loc'][:-1]]
        return _wrong_length(where, path, found, found + len(absent))
    path = (*path, first['loc'][-1])
    owner, name = _owner(kind, path)
    annotation = _annotations(owner).get(name)
    choices = get_args(annotation) if get_origin(annotation) is Literal else ()
    section = _settings_class(annotation)
    keys = listed(_annotations(section)) if section else ''
    return ConfigurationError(
        f'the key {dotted(path)!r} is missing', where=where, allowed=listed(choices) or None,
        fix=f'Add {name}: {{…}}, with {keys}' if section else f'Add {name}: …')


def _wrong_length(
    where: str, path: KeyPath, found: int, expected: int
) -> ConfigurationError:
    return ConfigurationError(
        'the list has the wrong length', where=f'{where}: {dotted(path)}',
        found=f'{found} entries', allowed=expected,
    )


def _unknown_key(kind: type, path: KeyPath, where: str) -> ConfigurationError:
    known = _known_keys(kind, path[:-1])
    if path[-1] in _OPTIONS:
        return ConfigurationError(
            f'unknown key {dotted(path)!r}', where=where,
            fix=f'It is an option of the command: sysid fit … --{path[-1]} {_OPTIONS[path[-1]]}')
    return ConfigurationError(
        f'unknown key {dotted(path)!r}', where=where, allowed=', '.join(sorted(known)) or None,
        fix=did_you_mean(str(path[-1]), known) or 'Remove it',
    )


def _known_keys(kind: type, path: KeyPath) -> list[str]:
    """Keys accepted at ``path`` inside ``kind``; empty where the schema branches."""
    for part in path:
        annotations = _annotations(kind)
        if not isinstance(part, str) or part not in annotations:
            continue
        inner = _settings_class(annotations[part])
        if inner is None:
            return []
        kind = inner
    return list(_annotations(kind))


def _annotations(kind: type) -> dict[str, Any]:
    """Types of the keys of settings, or of a dataclass inside them."""
    if issubclass(kind, BaseModel):
        return {name: field.annotation for name, field in kind.model_fields.items()}
    return {name: hint for name, hint in get_type_hints(kind).items() if not name.startswith('_')}


def _settings_class(annotation: Any) -> type | None:
    if isinstance(annotation, type) and (
        issubclass(annotation, BaseModel) or is_dataclass(annotation)
    ):
        return annotation
    for inner in getattr(annotation, '__args__', ()):
        found = _settings_class(inner)
        if found is not None:
            return found
    return None
