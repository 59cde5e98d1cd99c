"""The section of a report with the searches of a fit."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from sysid_ros.numerics.least_squares.damped import Iteration
from sysid_ros.report.page import render_page
from sysid_ros.report.report import Report
from sysid_ros.report.sections.iterations import IterationsSection


def step(cost, stage, accepted=True):
    return Iteration(cost, 1.0, 0.9, 1e-3, 0.5, 1e-2, accepted, 0.25, stage)


LOG = (
    step(40.0, 'pieces of 0.3 s'), step(40.0, 'pieces of 0.3 s', accepted=False),
    step(1.234567e-7, 'pieces of 0.3 s'), step(7.0, 'pieces of 1 s'),
    step(np.inf, 'pieces of 1 s', accepted=False))


def test_stages_are_counted_and_small_costs_keep_their_digits():
    section = IterationsSection.of(SimpleNamespace(iterations=LOG))
    first, second = section.stages
    assert (first.name, first.first, first.accepted) == ('pieces of 0.3 s', 1, 2)
    assert (second.name, second.first, second.accepted) == ('pieces of 1 s', 4, 1)
    assert first.cost == [40.0, 40.0, pytest.approx(1.234567e-7, rel=1e-4)]
    assert second.cost == [7.0, None]
    assert (first.seconds, second.seconds) == (0.75, 0.5)


def test_a_run_without_searches_has_no_such_section():
    assert IterationsSection.of(SimpleNamespace(iterations=())) is None


def test_the_figure_goes_through_every_step_once():
    section = IterationsSection.of(SimpleNamespace(iterations=LOG))
    drawn = section.figures()['cost']
    assert [trace['x'] for trace in drawn['data']] == [[1, 2, 3], [4, 5]]
    assert drawn['layout']['yaxis']['type'] == 'log'
    json.dumps(drawn, allow_nan=False)


def test_the_page_shows_it():
    section = IterationsSection.of(SimpleNamespace(iterations=LOG))
    page = render_page(Report.model_construct(name='run', robot='arm', sections=[section])).decode()
    assert '5 steps in 2 searches' in page and 'pieces of 0.3 s' in page
