"""Settings read from YAML: strict keys, finite numbers, errors that name the nearest known key."""

from __future__ import annotations

import difflib
import math
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from sysid_ros.errors import ConfigurationError

# A settings file is small; a larger one is a mistake or an attack on the parser.
MAX_YAML_BYTES = 1_000_000

Settings = TypeVar('Settings', bound='StrictSettings')


class StrictSettings(BaseModel):
    """Frozen settings that refuse unknown keys and non-finite numbers."""

    model_config = ConfigDict(extra='forbid', frozen=True, arbitrary_types_allowed=True)

    @model_validator(mode='before')
    @classmethod
    def _refuse_non_finite(cls, data: Any) -> Any:
        _check_finite(data, cls.__name__)
        return data


def _check_finite(data: Any, where: str) -> None:
    if isinstance(data, float) and not math.isfinite(data):
        raise ConfigurationError(
            'a number is not finite', where=where, found=data, allowed='finite numbers'
        )
    if isinstance(data, dict):
        for key, value in data.items():
            _check_finite(value, f'{where}.{key}')
    elif isinstance(data, (list, tuple)):
        for index, value in enumerate(data):
            _check_finite(value, f'{where}[{index}]')


def load_yaml(path: str | Path) -> dict[str, Any]:
    """Read one YAML mapping with the safe loader.

    Args:
        path: File to read, at most 1 MB.

    Returns:
        The mapping as plain Python values.

    Raises:
        ConfigurationError: The file is missing, too large, not YAML, asks for
            Python objects, or is not a mapping.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        text = path.read_text(encoding='utf-8') if size <= MAX_YAML_BYTES else ''
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f'cannot be read: {error}', where=str(path)) from error
    if size > MAX_YAML_BYTES:
        raise ConfigurationError(
            'the file is too large', where=str(path), found=f'{size} bytes',
            allowed=f'{MAX_YAML_BYTES} bytes',
        )
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigurationError(
            f'is not plain YAML: {" ".join(str(error).split())}', where=str(path),
            fix='Use plain mappings, lists, numbers and strings',
        ) from error
    if not isinstance(data, dict):
        raise ConfigurationError(
            'is not a mapping', where=str(path), found=type(data).__name__,
            allowed='key: value lines',
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
    try:
        return kind.model_validate(data)
    except ConfigurationError as error:
        raise ConfigurationError(
            error.problem, where=f'{where}: {error.where}', found=error.found,
            allowed=error.allowed, fix=error.fix,
        ) from error
    except ValidationError as error:
        raise _first_error(kind, error, where) from error


def _first_error(
    kind: type[StrictSettings], error: ValidationError, where: str
) -> ConfigurationError:
    first = error.errors()[0]
    location = '.'.join(str(part) for part in first['loc'])
    if first['type'] == 'extra_forbidden':
        return _unknown_key(kind, first['loc'], where)
    if first['type'] == 'missing':
        return ConfigurationError(f'the key {location!r} is missing', where=where, fix='Add it')
    return ConfigurationError(
        first['msg'].removeprefix('Value error, '), where=f'{where}: {location}',
        found=repr(first.get('input')),
    )


def _unknown_key(
    kind: type[StrictSettings], location: tuple[int | str, ...], where: str
) -> ConfigurationError:
    known = _known_keys(kind, location[:-1])
    key = str(location[-1])
    nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return ConfigurationError(
        f'unknown key {".".join(map(str, location))!r}', where=where,
        allowed=', '.join(sorted(known)) or None,
        fix=f'Did you mean {nearest[0]!r}' if nearest else 'Remove it',
    )


def _known_keys(kind: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """Keys accepted at ``path`` inside ``kind``; empty where the schema branches."""
    for part in path:
        if not isinstance(part, str) or part not in kind.model_fields:
            continue
        inner = _settings_class(kind.model_fields[part].annotation)
        if inner is None:
            return []
        kind = inner
    return list(kind.model_fields)


def _settings_class(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, '__args__', ()):
        found = _settings_class(inner)
        if found is not None:
            return found
    return None
