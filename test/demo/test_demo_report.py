"""What a demonstration leaves to look at, from a folder as the operator leaves it."""

import json
import shutil

import pytest
import yaml

from support.report_runs import finished_run
from sysid_ros.demo.report import report
from sysid_ros.report.report import Report

RESULTS = {
    'estimate': 'fit', 'committable': True, 'rollback': {'revision': '3-4f58'},
    'commit': {'candidate_error': 0.04, 'current_error': 0.31, 'revision': '2-4f58'},
    'revisions': [{'current': True, 'revision': '3-4f58', 'restored': '1-3fbb'}],
    'tracking': {name: {'rms': size, 'typical': size} for name, size in (
        ('prior', 0.012), ('revision', 0.0004), ('truth', 0.00038))}}


@pytest.fixture
def folder(tmp_path):
    """A demonstration whose truth is the description, so that the fit beats it by far."""
    made, there = finished_run().parent, tmp_path / 'demo'
    shutil.copytree(finished_run(), there / 'data' / 'estimates' / 'fit')
    recording = there / 'data' / 'recordings' / 'held_out'
    recording.mkdir(parents=True)
    settings = yaml.safe_load((made / 'settings.yaml').read_text())
    del settings['robot']
    (recording / 'settings.yaml').write_text(yaml.safe_dump(settings))
    shutil.copyfile(made / 'recording.npz', recording / 'recording.npz')
    shutil.copyfile(made / 'arm.urdf', there / 'truth.xml')
    (there / 'results.json').write_text(json.dumps(RESULTS))
    return there


def test_a_demonstration_leaves_a_page_that_links_to_what_is_beside_it(folder):
    pytest.importorskip('plotly', reason='the page is drawn by plotly')
    text, met = report(folder)
    assert met and 'report_demo.html' in text
    there = folder / 'report'
    shown = Report.load(there / 'report_demo.json').sections[0]
    numbers = json.loads((there / 'report.json').read_text())
    assert shown.met == numbers['all_met']
    assert shown.errors[0].identified == pytest.approx(
        100.0 * numbers['torque_error']['identified'])
    assert shown.errors[1].truth == pytest.approx(0.38)
    linked = {link.file for link in shown.links}
    assert {'report.html', 'summary.txt', 'torque_held_out.png'} <= linked
    page = (there / 'report_demo.html').read_text()
    for file in linked:
        assert (there / file).is_file() and f'href="{file}"' in page
