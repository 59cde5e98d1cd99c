"""Numbers and tables of reports as people read them."""

from __future__ import annotations

import pytest

from sysid_ros.report.tables import WIDTH, number, shortened, table


@pytest.mark.parametrize(('value', 'digits', 'said'), [
    (208.4, 2, '210'), (1418.2, 3, '1420'), (-1418.2, 2, '-1400'), (0.01234, 2, '0.012'),
    (12.345, 3, '12.3'), (2.5e6, 2, '2.5e+06'), (3e-7, 2, '3e-07'), (999.9, 3, '1000'),
    (float('inf'), 3, '-'), (float('nan'), 3, '-')])
def test_a_number_up_to_a_million_has_no_exponent(value, digits, said):
    assert number(value, digits) == said


def lines(text):
    return text.split('\n')


def test_a_table_that_fits_is_as_it_was():
    assert lines(table(['joint', 'error %'], [['elbow', '1.25'], ['all', '3.5']])) == [
        '  joint  error %', '  --------------', '  elbow     1.25', '  all        3.5']


def test_long_names_lose_their_middle_and_stay_apart():
    names = [f'left_arm_{"of_the_robot_" * 9}joint_{k}' for k in range(3)]
    text = table(['joint', *['error %'] * 5], [[name, *['12.34'] * 5] for name in names])
    assert max(map(len, lines(text))) <= WIDTH
    assert len(set(lines(text))) == 5
    assert all('…' in line and line.split()[0].endswith(f'joint_{k}')
               for k, line in enumerate(lines(text)[2:]))


def test_columns_that_do_not_fit_stand_below_with_the_names_again():
    header = ['estimator', *(f'column {k:02}' for k in range(12))]
    rows = [[name, *(f'{name} {k:02}' for k in range(12))] for name in ('lmi', 'log_det')]
    text = table(header, rows)
    assert max(map(len, lines(text))) <= WIDTH
    upper, lower = text.split('\n\n')
    for block in (upper, lower):
        assert [line.split()[0] for line in lines(block)] == [
            'estimator', lines(block)[1].strip(), 'lmi', 'log_det']
    assert all(text.count(cell) == 1 for row in (header, *rows) for cell in row[1:])


def test_a_cell_as_long_as_a_line_is_shortened():
    text = table(['estimator', 'worst joint'], [['lmi', f'{"j" * 300} 0.123']])
    assert max(map(len, lines(text))) <= WIDTH
    assert text.endswith(' 0.123')


@pytest.mark.parametrize('most', [3, 4, 9, 10])
def test_what_is_shortened_has_as_many_characters_as_there_may_be(most):
    short = shortened('abcdefghijkl', most)
    assert len(short) == most and short[0] == 'a' and short[-1] == 'l'
    assert shortened('abc', most) == 'abc'
