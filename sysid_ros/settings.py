"""Settings read from YAML: strict keys, finite numbers, errors that name the nearest known key."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from sysid_ros.errors import ConfigurationError, unreadable
from sysid_ros.settings_errors import KeyPath, dotted, validation_error, yaml_error

# A settings file is small; a larger one is a mistake or an attack on the parser.
MAX_YAML_BYTES = 1_000_000
MAX_YAML_VALUES = 100_000

MAX_YAML_DEPTH = 100

_MERGE_KEY = '<<'
_XML = re.compile(r'\s*<[?!a-zA-Z]')
_SHOWN = 60

# The one in C, which most builds of PyYAML have, is several times as fast.
_SafeLoader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)

Settings = TypeVar('Settings', bound='StrictSettings')


class StrictSettings(BaseModel):
    """Frozen settings that refuse unknown keys and non-finite numbers.

    Attributes:
        other_keys: Other names that a class takes for its fields, each with the field's own.
    """

    other_keys: ClassVar[Mapping[str, str]] = {}

    model_config = ConfigDict(
        extra='forbid', frozen=True, arbitrary_types_allowed=True, allow_inf_nan=False,
        protected_namespaces=(),  # older versions of pydantic keep names with 'model_' for theirs
    )

    @model_validator(mode='before')
    @classmethod
    def _refuse_non_finite(cls, data: Any) -> Any:
        _check_finite(data, cls.__name__)
        return data


def _check_finite(data: Any, where: str) -> None:
    for path, number in _floats(data, ()):
        if not math.isfinite(number):
            raise ConfigurationError(
                'a number is not finite', where=f'{where}: {dotted(path)}', found=number,
                allowed='finite numbers',
                fix='Write a number, or leave the key out for its default',
            )


def _floats(data: Any, path: KeyPath) -> Iterator[tuple[KeyPath, float]]:
    """Every float in nested mappings and lists, with the keys and indices that lead to it."""
    if isinstance(data, float):
        yield path, data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _floats(value, (*path, key))
    elif isinstance(data, (list, tuple)):
        for index, value in enumerate(data):
            yield from _floats(value, (*path, index))


@dataclass
class _Open:
    """A mapping or list whose end was not met.

    Attributes:
        is_mapping: Whether it is a mapping.
        anchor: Name that aliases call it by, if it has one.
        values: How many there are in it so far, aliases as what they stand for.
        keys: Keys of the mapping so far.
        key_next: Whether a key of the mapping comes next.
    """

    is_mapping: bool
    anchor: str | None = None
    values: int = 1
    keys: set[str] = field(default_factory=set)
    key_next: bool = True

    def begin(self, event: Any) -> None:
        """Let a value or a key begin.

        Raises:
            ComposerError: The key was there before.
        """
        mark = event.start_mark
        if self.is_mapping and self.key_next and isinstance(event, yaml.ScalarEvent) and not (
            event.value == _MERGE_KEY and event.implicit[0]
        ):
            if event.value in self.keys:
                raise yaml.composer.ComposerError(
                    None, None, f'the key {event.value!r} is given twice', mark)
            self.keys.add(event.value)
        self.key_next = not self.key_next


def _check_events(text: str, where: str) -> None:
    """Refuse a text before values are made of it, in time that grows with its length.

    The loader in C ends the process on deep nesting, and of a key that is given twice both loaders
    lose one. Aliases let a small text stand for a huge or endless one: values count as they unfold.
    """
    around, known = [_Open(False)], dict[str | None, int]()
    event: Any
    for event in yaml.parse(text, Loader=_SafeLoader):
        if isinstance(event, yaml.NodeEvent):
            around[-1].begin(event)
        if isinstance(event, yaml.CollectionStartEvent):
            around.append(_Open(isinstance(event, yaml.MappingStartEvent), event.anchor))
            if event.anchor is not None:
                known[event.anchor] = MAX_YAML_VALUES  # that is what it holds if it holds itself
        elif isinstance(event, yaml.CollectionEndEvent):
            ended = around.pop()
            around[-1].values += ended.values
            if ended.anchor is not None:
                known[ended.anchor] = ended.values
        elif isinstance(event, yaml.AliasEvent):
            around[-1].values += known.get(event.anchor, 1)
        elif isinstance(event, yaml.ScalarEvent):
            around[-1].values += 1
            if event.anchor is not None:
                known[event.anchor] = 1
        if around[-1].values > MAX_YAML_VALUES:
            raise ConfigurationError(
                'the file holds too many values', where=where,
                found=f'more than {MAX_YAML_VALUES}', allowed=MAX_YAML_VALUES,
                fix='Write out aliases (*name) that contain each other')
        if len(around) > MAX_YAML_DEPTH:
            raise yaml.composer.ComposerError(
                None, None, f'more than {MAX_YAML_DEPTH} levels of nesting', event.start_mark)


def load_yaml(path: str | Path, *, missing: str = 'Correct the path') -> dict[str, Any]:
    """Read one YAML mapping with the safe loader.

    Args:
        path: File to read, at most 1 MB.
        missing: What to do where there is no file of that name or a similar one.

    Returns:
        The mapping as plain Python values.

    Raises:
        ConfigurationError: The file is missing, too large, not YAML, asks for
            Python objects, gives a key twice, or is not a mapping.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        text = path.read_text(encoding='utf-8') if size <= MAX_YAML_BYTES else ''
    except (OSError, UnicodeDecodeError) as error:
        fix = missing if isinstance(error, FileNotFoundError) else None
        raise unreadable(ConfigurationError, path, error, fix) from error
    if size > MAX_YAML_BYTES:
        raise ConfigurationError(
            'the file is too large', where=str(path), found=f'{size} bytes',
            allowed=f'{MAX_YAML_BYTES} bytes',
            fix='Name the settings file, and not a recording',
        )
    return parse_yaml(text, str(path))


def parse_yaml(text: str, where: str) -> dict[str, Any]:
    """Read one YAML mapping from a text of at most 1 MB, with the safe loader.

    Args:
        text: The text.
        where: Name of the source for messages.

    Returns:
        The mapping as plain Python values.

    Raises:
        ConfigurationError: The text is too long, not YAML, asks for Python objects, gives a key
            twice, or is not a mapping.
    """
    if len(text) > MAX_YAML_BYTES:
        raise ConfigurationError(
            'the text is too long', where=where, found=f'{len(text)} characters',
            allowed=f'{MAX_YAML_BYTES}',
            fix='Hand over settings, and not a recording',
        )
    if _XML.match(text):
        raise ConfigurationError(
            'is XML, as robot descriptions are, and no YAML', where=where,
            found=repr(text.strip().splitlines()[0][:_SHOWN]), allowed='key: value lines',
            fix='Name the settings file, whose robot: {urdf: …} names the description')
    try:
        # A safe loader: it makes plain values only, never objects.
        _check_events(text, where)
        data = yaml.load(text, Loader=_SafeLoader)  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise yaml_error(error, text, where) from error
    if not isinstance(data, dict):
        raise ConfigurationError(
            'is not a mapping', where=where, allowed='key: value lines',
            found='nothing, or comments alone' if data is None else repr(data)[:_SHOWN],
        )
    return data


def parse_settings(kind: type[Settings], data: dict[str, Any], where: str) -> Settings:
    """Validate a mapping into settings, with errors for people.

    Args:
        kind: Settings class.
        data: Plain mapping, usually from :func:`load_yaml`.
        where: Name of the source for messages.

    Returns:
        The validated, frozen settings.

    Raises:
        ConfigurationError: An unknown key (the nearest known one is named), a
            missing key, a non-finite number, or a value of the wrong type.
    """
    _check_finite(data, where)
    try:
        return kind.model_validate(data)
    except ConfigurationError as error:
        raise ConfigurationError(
            error.problem, where=f'{where}: {error.where}', found=error.found,
            allowed=error.allowed, fix=error.fix,
        ) from error
    except ValidationError as error:
        raise validation_error(kind, data, error, where) from error
