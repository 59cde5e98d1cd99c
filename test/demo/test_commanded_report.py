"""The demo of a robot without torque sensors, from its recordings to the report."""

import json

import pytest

pytest.importorskip('mujoco')

from support.leg_demo import finished_demo  # noqa: E402
from sysid_ros.demo.commanded_report import ARMATURE_BAR, DELAY_BAR, MOTION_BAR, report  # noqa: E402
from sysid_ros.report.report import Report  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return finished_demo(tmp_path_factory.mktemp('leg') / 'demo')


def test_the_identified_leg_moves_in_mujoco_as_it_was_measured(folder):
    text, met = report(folder)
    assert met, text
    numbers = json.loads((folder / 'report' / 'report.json').read_text())
    assert numbers['motion_ratio'] < MOTION_BAR and numbers['armature_error'] < ARMATURE_BAR
    # Nothing is late here but the commands.
    assert abs(numbers['delay'] - numbers['true_delay']) < 0.2 * DELAY_BAR
    # By its true parameters the simulated leg is the one that was recorded, up to its encoders.
    assert numbers['motion_error']['truth'] < 0.1 * numbers['motion_error']['prior']


def test_it_leaves_a_page_that_links_to_what_is_beside_it(folder):
    pytest.importorskip('plotly', reason='the page is drawn by plotly')
    report(folder)
    there = folder / 'report'
    shown = Report.load(there / 'report_demo.json').sections[0]
    assert shown.met and shown.errors[0].unit == 'mrad'
    assert 'without torque sensors' in shown.course
    assert 'without torque sensors' in (there / 'report_demo.html').read_text()
    linked = {link.file for link in shown.links}
    assert {'report.html', 'identified.xml', 'motion_held_out.png'} <= linked
    assert all((there / file).is_file() for file in linked)


def test_a_verdict_that_was_against_it_is_shown(folder):
    path = folder / 'results.json'
    results = json.loads(path.read_text())
    path.write_text(json.dumps(results | {'committable': False}))
    try:
        text, met = report(folder)
    finally:
        path.write_text(json.dumps(results))
    assert not met and 'NO   the verdict allowed the commit' in text
