"""Base parameters in words."""

import numpy as np
import pytest

from support.report_runs import report
from sysid_ros.mechanics.base_parameters import combination_in_words
from sysid_ros.report.combination_words import combination_words, terms_of
from sysid_ros.robot.inertia import INERTIAL_FIELDS

BODIES = ('upper arm', 'a + b', 'x - y.z', '2·hand', '')
NAMES = (
    *(f'{body}.{field}' for body in BODIES for field in INERTIAL_FIELDS),
    *(f'{body}.coulomb_friction' for body in BODIES))


@pytest.mark.parametrize(('combination', 'words'), [
    ('upper arm.mass', 'mass of upper arm'),
    ('upper arm.first_moment_x + 0.3·2·hand.mass',
     'first moment of mass of upper arm along x, with parts of 2·hand'),
    ('a + b.inertia_xx - a + b.inertia_yy', 'moment of inertia of a + b about x less that about y'),
    ('a + b.inertia_xy', 'product of inertia of a + b, xy'),
    ('a + b.inertia_zz - 1e-07·x - y.z.mass + 2·hand.mass + upper arm.mass',
     'moment of inertia of a + b about z, with parts of x - y.z, 2·hand and 1 more'),
    ('x - y.z.coulomb_friction', 'coulomb friction of x - y.z'),
])
def test_a_combination_is_said_as_people_say_it(combination, words):
    assert combination_words(combination, NAMES) == words


def test_what_is_not_made_of_the_parameters_stays_as_it_is():
    for combination in ('nobody.mass', 'upper arm.mass + nobody.mass', '', ' + ', '3·'):
        assert combination_words(combination, NAMES) == combination


def test_every_term_of_any_combination_is_found():
    random = np.random.default_rng(3)
    for _ in range(300):
        chosen = random.choice(len(NAMES), size=random.integers(1, 12), replace=False)
        coefficients = np.zeros(len(NAMES))
        coefficients[chosen] = np.exp(random.normal(scale=8.0, size=len(chosen))) * random.choice(
            [-1.0, 1.0], size=len(chosen))
        first = int(chosen[0])
        coefficients[first] = 1.0
        kept = np.flatnonzero(np.abs(coefficients) > 1e-9)
        found = terms_of(combination_in_words(coefficients, NAMES, first), NAMES)
        assert found[0] == ('+', NAMES[first])
        assert set(found) == {('-' if coefficients[k] < 0.0 else '+', NAMES[k]) for k in kept}


def test_the_page_says_what_each_base_parameter_is():
    section = next(each for each in report().sections if each.section == 'base_parameters')
    assert any(row.words.startswith('moment of inertia of ') for row in section.parameters)
    assert all(row.words and '·' not in row.words for row in section.parameters)
