"""The script of a page, run by Node.js on a document that has what it asks for."""

import json
import subprocess

import pytest

from support.player_script import NODE, SUPPORT, needs_node
from support.report_runs import finished_run, planned_motion

pytest.importorskip('plotly', reason='the page is drawn by plotly')


@needs_node
@pytest.mark.parametrize(('made', 'players'), [(finished_run, 2), (planned_motion, 1)])
def test_a_page_unpacks_its_data_plays_the_robot_and_draws_every_figure(made, players):
    page = made() / 'report.html'
    done = subprocess.run(
        [NODE, str(SUPPORT / 'page.js'), str(page)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found['ready'] == 'yes' and not found.get('problem')
    assert found['players'] == players * ['yes']
    assert set(found['figures']) == {'yes'}
    assert len(found['drawn']) == len(found['figures']) > 5
    assert all(traces > 0 for _, traces, _ in found['drawn'])
    # The library comes from the page, with the nonce that its policy asks for.
    assert found['nonces'] == ['own'] and found['library'][0] > 1e6
