"""Numbers and tables of reports as people read them."""

from __future__ import annotations

import pytest

from sysid_ros.report.tables import number


@pytest.mark.parametrize(('value', 'digits', 'said'), [
    (208.4, 2, '210'), (1418.2, 3, '1420'), (-1418.2, 2, '-1400'), (0.01234, 2, '0.012'),
    (12.345, 3, '12.3'), (2.5e6, 2, '2.5e+06'), (3e-7, 2, '3e-07'), (999.9, 3, '1000'),
    (float('inf'), 3, '-'), (float('nan'), 3, '-')])
def test_a_number_up_to_a_million_has_no_exponent(value, digits, said):
    assert number(value, digits) == said
