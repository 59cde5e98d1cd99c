"""Arguments of the form NAME=VALUE."""

from __future__ import annotations

from sysid_ros.errors import ConfigurationError


def pairs_of(texts: list[str], option: str) -> list[tuple[str, str]]:
    """Names and values of an option that may be repeated; NAME:=VALUE will do, too.

    Args:
        texts: What was given.
        option: The option, for messages.

    Raises:
        ConfigurationError: A text is no pair.
    """
    pairs = []
    for text in texts:
        name, equals, value = text.replace(':=', '=').partition('=')
        if not (name and equals):
            raise ConfigurationError(
                'is not a pair', where=option, found=repr(text), allowed='NAME=VALUE',
                fix=f'Write name and value, as {option} {name or "name"}=0'
            )
        pairs.append((name, value))
    return pairs


def positions_of(texts: list[str], option: str) -> dict[str, float]:
    """Positions of joints by name, of an option that may be repeated.

    Args:
        texts: What was given.
        option: The option, for messages.

    Raises:
        ConfigurationError: A text is no pair, or no position.
    """
    positions = {}
    for name, text in pairs_of(texts, option):
        try:
            positions[name] = float(text)
        except ValueError:
            raise ConfigurationError(
                'is not a position', where=option, found=repr(text),
                allowed='a number in rad or m',
                fix=f'Write the number alone, as {option} joint_1=0.5') from None
    return positions
