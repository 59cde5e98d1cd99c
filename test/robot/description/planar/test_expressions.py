"""Arithmetic of description files, against Python's own."""

from __future__ import annotations

import math

import pytest

from sysid_ros.errors import ModelError
from sysid_ros.robot.description.planar.expressions import evaluate


@pytest.mark.parametrize(('text', 'value'), [
    ('2', 2.0), (3, 3.0), ('1e-3', 1e-3), ('-2^2', -4.0), ('2^3^2', 512.0), ('(1/3)*m*l^2', 4.0),
    ('2.0*cos(deg2rad(35.0))', 2.0 * math.cos(math.radians(35.0))), ('pi - M_PI', 0.0),
    ('+sqrt(l)/-m', -0.5 * math.sqrt(2.0) / 1.5),
])
def test_the_value_of_an_expression(text, value):
    assert evaluate(text, {'m': 3.0, 'l': 2.0}, 'here') == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize('text', [
    '', '1 +', 'm.real', 'open("/etc/passwd")', '__import__("os")', '[1][0]', '1 if m else 2',
    '"a"', 'True', '2 // 1', 'sin(1, 2)', 'lambda: 1', '9^9^9^9', '1/0', 'sqrt(-1)', '(' * 400,
    '1' + '+1' * 300, '1e999',
])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ModelError, match='^here: (cannot be computed|is not finite)'):
        evaluate(text, {'m': 3.0}, 'here')
