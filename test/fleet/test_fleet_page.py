"""The page of a fleet: what it says, what it links to, and that it asks nothing of the network."""

import dataclasses
import json
import re
import shutil

import pytest

from support.browser import BROWSER, opened
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.fleet.drift import Drift, DriftChange, DriftRow
from sysid_ros.fleet.page import FLEET_PAGE, drift_section, write_fleet_page
from sysid_ros.fleet.record import FitRecord, FitStatus
from sysid_ros.report.page import render_page
from sysid_ros.report.report import Report
from sysid_ros.report.sections.fleet_robots import FleetRobotsSection
from sysid_ros.runs.run_files import PROVENANCE

_ROBOTS = 4
#: A name that would end a script or a tag if it were not escaped.
_HOSTILE = 'arm_0</script><b>'


@pytest.fixture
def records(tmp_path, fits):
    """Fits of four arms, one of another friction, and one that failed."""
    found = []
    for k in range(_ROBOTS):
        folder = tmp_path / 'runs' / f'arm_{k}' / 'monday'
        shutil.copytree(fits.folder, folder)
        estimate = Estimate.load(folder / 'estimate.json')
        values = estimate.parameters.values.copy()
        values[estimate.parameters.index('base_yaw.viscous_friction')] *= (1.0, 1.02, 0.99, 3.0)[k]
        (folder / 'estimate.json').write_text(dataclasses.replace(
            estimate, parameters=estimate.parameters.with_values(values)).to_json())
        (folder / PROVENANCE).write_text(json.dumps({'recording_end': (1 + k) * 10**18}))
        found.append(FitRecord(
            run=f'arm_{k}/monday', robot=_HOSTILE if k == 0 else f'arm_{k}', source='monday.npz',
            status=FitStatus.COMMITTABLE, error=0.02 + 0.01 * k, prior_error=0.3, held_out=True,
            finished='2026-03-02T08:00:00+00:00'))
    (tmp_path / 'runs' / 'arm_3' / 'monday' / 'report.html').unlink(missing_ok=True)
    (tmp_path / 'runs' / 'arm_2' / 'monday' / 'report.html').write_text('<p>a report</p>')
    found.append(FitRecord(
        run='arm_9/monday', robot='arm_9', source='monday.npz', status=FitStatus.FAILED,
        reason='the file cannot be read'))
    return found


def drift_of(*changes):
    row = DriftRow(
        robot='arm_1', parameter='elbow.coulomb_friction', unit='N·m', relative=True,
        recorded=('2026-03-01T00:00:00+00:00', '2026-03-08T00:00:00+00:00'), values=(1.0, 1.1),
        intervals=(0.1, 0.1), scatter=0.05, per_degree=None, per_degree_interval=None,
        changes=changes, evidence=2.5, threshold=3.8, forecast=(1.4, 1.2, 1.6), between=None)
    return Drift((row,), 2, (), 1.0, 4.0)


def test_the_page_names_verdicts_reasons_and_links_only_to_reports_that_are_there(
    records, tmp_path
):
    assert write_fleet_page(records, tmp_path / 'runs', tmp_path) == ''
    page = (tmp_path / FLEET_PAGE).read_text()
    assert '5 fits of 5 robots' in page
    assert 'the file cannot be read' in page
    assert 'href="runs/arm_2/monday/report.html"' in page
    assert 'href="runs/arm_3/monday/report.html"' not in page
    assert _HOSTILE not in page
    assert "default-src 'none'" in page
    # Too few runs of a robot say when they were made.
    assert 'Changes over time' not in page


def test_a_robot_unlike_the_others_stands_first_with_the_parameter_in_which_it_shows(
    records, tmp_path
):
    values = {
        record.robot: {'joint.friction': friction, 'link.mass': 1.0 + 0.01 * k}
        for k, (record, friction) in enumerate(
            zip(records, (1.0, 1.02, 0.99, 3.0), strict=False))}
    section = FleetRobotsSection.of_values(values, {'joint.friction': 'N·m', 'link.mass': 'kg'})
    robot, distance, value, parameter = section.ranked[0]
    assert (robot, value, parameter.name) == ('arm_3', '3', 'joint.friction')
    assert distance > 10.0
    figure, = section.figures().values()
    assert figure['data'][1]['text'] == ['arm_3']
    assert FleetRobotsSection.of_values({'arm': {'link.mass': 1.0}}, {'link.mass': 'kg'}) is None


def test_changes_are_listed_with_their_size_and_drawn_with_their_forecast():
    change = DriftChange(
        'trend', '2026-03-01T00:00:00+00:00', '2026-03-08T00:00:00+00:00', 0.013, 0.004)
    section = drift_section(drift_of(change))
    page = render_page(Report.model_construct(
        kind='fleet', name='fleet', robot='1 robot', sections=[section])).decode()
    assert '1 of 1 parameter has changed' in page
    assert '+1.3 ± 0.4 % a week' in page
    figure, = section.figures().values()
    assert figure['data'][1]['x'] == ['2026-04-05T00:00:00'] * 2
    assert figure['layout']['shapes'][0]['x0'] == '2026-03-01T00:00:00'


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason='no Chromium: apt-get install chromium')
def test_a_browser_draws_every_figure_without_an_error_or_a_request(records, tmp_path):
    change = DriftChange(
        'step', '2026-03-01T00:00:00+00:00', '2026-03-08T00:00:00+00:00', 0.1, 0.04)
    write_fleet_page(records, tmp_path / 'runs', tmp_path, drift_of(change))
    document, errors = opened(tmp_path / FLEET_PAGE, tmp_path / 'profile')
    assert errors == []
    assert re.findall(r'data-drawn="(\w+)"', document) == ['yes'] * 3


def test_without_changes_the_page_says_so_and_draws_what_came_nearest_to_one():
    page = render_page(Report.model_construct(
        kind='fleet', name='fleet', robot='1 robot', sections=[drift_section(drift_of())])).decode()
    assert 'Nothing has changed beyond chance' in page
    assert '1 parameter over 2 runs, at 1 false alarm of a robot and year' in page
    assert '<td>2.5</td><td>3.8</td>' in page
    assert 'data-figure="fleet_drift-history_0"' in page
    assert 'dotted lines' not in page


def test_without_changes_the_terminal_names_what_came_nearest_to_one():
    printed = str(drift_of())
    assert printed.startswith('2 runs of 1 robot, 1 parameter over time')
    assert 'nearest is elbow.coulomb_friction of arm_1, with 2.5 of the 3.8' in printed
    assert 'at 1 false alarm of a robot and year' in printed
