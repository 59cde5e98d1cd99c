"""Errors of settings: the line, what is allowed in which unit, and what to write."""

from dataclasses import dataclass
from typing import Literal

import pytest
from pydantic import Field

from sysid_ros.errors import ConfigurationError
from sysid_ros.settings import StrictSettings, parse_settings, parse_yaml


@dataclass(frozen=True)
class Weight:
    """A weight.

    Attributes:
        mass: How heavy it is,
            in [kg].
    """

    mass: float


class Filter(StrictSettings):
    """A filter.

    Attributes:
        cutoff: Cut-off frequency in [Hz].
        order: Number of poles.
        pass_band: Of something else, in [s].
    """

    cutoff: float
    order: int = 4
    pass_band: float = 0.25


class Whole(StrictSettings):
    """Settings with all kinds of values.

    Attributes:
        speed: In one number or many, in [rad/s] or [m/s].
    """

    filter: Filter | None = None
    weight: Weight | None = None
    speed: float | tuple[float, ...] = 0.0
    joints: tuple[str, ...] = ()
    rename: dict[str, str] = {}
    method: Literal['central', 'spline'] = 'central'
    salvage: bool = False
    positive: float = Field(default=1.0, gt=0)


def refusal(data):
    with pytest.raises(ConfigurationError) as refused:
        parse_settings(Whole, data, 's.yaml')
    return str(refused.value)


@pytest.mark.parametrize(('data', 'sentence'), [
    ({'filter': {'cutoff': 'fast'}},
     "filter.cutoff: is not a number (found 'fast'; allowed a number in Hz, as 20.0)"),
    ({'filter': {'cutoff': '20 Hz'}}, 'as 20.0). Write the number alone, in Hz.'),
    ({'filter': {'cutoff': '20,5'}}, 'Write a decimal point: 20.5.'),
    ({'filter': {'cutoff': 1.0, 'pass_band': 'x'}}, 'allowed a number in s, as 0.25)'),
    ({'filter': {'cutoff': 1.0, 'order': 'x'}},
     "filter.order: is not a whole number (found 'x'; allowed a whole number, as 4)"),
    ({'filter': {'cutoff': 1.0, 'order': 2.5}}, 'is not a whole number (found 2.5;'),
    ({'weight': {'mass': 'heavy'}}, "weight.mass: is not a number (found 'heavy'; allowed a number "
                                    'in kg, as 0.1)'),
    ({'filter': {}}, "the key 'filter.cutoff' is missing. Add cutoff: …"),
    ({'filter': 3}, 'filter: is not a section (found 3; allowed key: value lines, with cutoff, '
                    'order, pass_band)'),
    ({'speed': 'x'}, "speed: the value cannot be used (found 'x'; allowed a number in rad/s or "
                     'm/s, as 0.1, or a list, as [a, b])'),
    ({'joints': 'elbow'}, "found 'elbow'; allowed a list, as [a, b]). Write joints: [elbow]."),
    ({'joints': [1]}, 'joints.0: is not text (found 1; allowed text, in quotes'),
    ({'rename': ['a']}, "rename: is not a mapping (found ['a']; allowed a mapping, as {a: b})"),
    ({'method': 'splin'}, "allowed 'central' or 'spline'). Did you mean 'spline'."),
    ({'salvage': 'maybe'}, "salvage: is neither true nor false (found 'maybe'; allowed true or"),
    ({'positive': -1}, 'positive: the value is out of range (found -1; allowed above 0)'),
    ({'filtre': {}}, "Did you mean 'filter'."),
])
def test_a_value_of_the_wrong_kind_is_answered_with_the_right_one(data, sentence):
    assert sentence in refusal(data)
    assert refusal(data).startswith('s.yaml: ')


def test_a_long_value_is_cut():
    assert len(refusal({'joints': 'x' * 10_000, 'method': 'y' * 10_000})) < 20_300


@pytest.mark.parametrize(('text', 'sentence'), [
    ('robot:\n\turdf: a', 'line 2, there is a tab where YAML takes spaces alone (found '
                          r"'\turdf: a'). Replace tabs by spaces."),
    ('a: 1\nb: [1, 2\nc: 3\n', 'Close the bracket that line 2 opens'),
    ('a:b\nc: 1\n', 'line 2, column 2: mapping values are not allowed in this context (found '
                    "'c: 1'). Write key: value with a space after the colon"),
    ('a: 1\na: 2\n', "line 2, column 1: the key 'a' is given twice (found 'a: 2'). Remove one"),
    ('a: "x', 'is not plain YAML: line'),
    ('', 'is not a mapping (found nothing, or comments alone; allowed key: value lines)'),
    ('# none\n', 'is not a mapping (found nothing, or comments alone'),
    ('- a\n', "is not a mapping (found ['a']; allowed key: value lines)"),
    ('\n<?xml version="1.0"?>\n<robot/>', 'is XML, as robot descriptions are, and no YAML (found '),
    ('<robot name="r"/>', """found '<robot name="r"/>'; allowed key: value lines"""),
])
def test_a_text_that_is_no_mapping_is_answered_with_its_line(text, sentence):
    with pytest.raises(ConfigurationError) as refused:
        parse_yaml(text, 's.yaml')
    assert sentence in str(refused.value)


def test_a_merge_key_at_the_beginning_is_no_xml():
    assert parse_yaml('<<: {a: 1}\nb: 2\n', 's.yaml') == {'a': 1, 'b': 2}
