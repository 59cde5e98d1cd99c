"""Pages of motions, demonstrations and robots followed: drawn, escaped, small, and read again."""

import json
import re

import numpy as np
import pytest
from pydantic import ValidationError

from support.followed_robot import described, followed, history
from support.report_runs import HOSTILE, forget_numbers, planned_motion, rename_everything
from sysid_ros.demo.report import (
    TORQUE_BAR,
    TRACKING_BAR,
    DemonstrationResults,
    _checks,
    _errors,
)
from sysid_ros.estimation.online.online_history import OnlineHistory
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.files import load_excitation
from sysid_ros.report import page
from sysid_ros.report.report import Report
from sysid_ros.report.report_source import Origin
from sysid_ros.report.sections.demonstration import DemonstrationSection, Neighbour
from sysid_ros.settings import parse_settings

pytest.importorskip('plotly', reason='the page is drawn by plotly')

RESULTS = parse_settings(DemonstrationResults, {
    'estimate': 'estimate-1', 'committable': True, 'rollback': {'revision': '3-4f58'}, 'commit': {
        'candidate_error': 0.04, 'current_error': 0.31, 'revision': '2-4f58'},
    'revisions': [{'current': True, 'revision': '3-4f58', 'restored': '1-3fbb'}],
    'tracking': {model: {'rms': error, 'typical': error} for model, error in (
        ('prior', 0.012), ('revision', 0.0004), ('truth', 0.00038))}}, 'results')
FIGURES = {
    'torque_error': {'prior': 0.4, 'identified': 0.05, 'noise_floor': 0.045},
    'tracking_error': {'prior': 0.012, 'revision': 0.0004, 'truth': 0.00038},
    'typical_tracking_error': {'prior': 0.011, 'revision': 0.0003, 'truth': 0.0003},
    'consistent_links': 6, 'links': 6, 'torque_ratio': 1.11, 'tracking_ratio': 1.05,
    'typical_tracking_ratio': 1.0}


def motion_report():
    return Report.load(planned_motion() / 'report.json')


def demonstration(links=()):
    return Report.model_construct(
        kind='demonstration', name='demo', robot='arm',
        sections=[DemonstrationSection(
            met=True, errors=_errors(FIGURES), checks=_checks(RESULTS, FIGURES),
            links=list(links))])


def followed_robot(kept=None):
    return Report.of_history('followed-1', 'arm', kept or history(), Origin())


def changed(shown, change):
    data = json.loads(shown.to_json())
    change(data)
    return Report.model_validate(data)


def section(shown, name):
    return next(each for each in shown.sections if each.section == name)


@pytest.mark.parametrize('made', [motion_report, demonstration, followed_robot])
def test_every_figure_and_player_has_a_place_and_is_what_plotly_allows(made):
    graph_objects = pytest.importorskip('plotly.graph_objects')
    shown = made()
    text = page.render_page(shown).decode()
    figures, players = {}, set()
    for each in shown.sections:
        figures |= {f'{each.section}-{name}': one for name, one in each.figures().items()}
        players |= {f'{each.section}-{name}' for name in each.players()}
    assert sorted(re.findall(r'data-figure="([^"]*)"', text)) == sorted(figures)
    assert set(re.findall(r'data-player="([^"]*)"', text)) == players
    for figure in figures.values():
        graph_objects.Figure(data=figure['data'], layout=figure['layout'])
    assert len(text) < 5e6


@pytest.mark.parametrize('made', [motion_report, demonstration, followed_robot])
def test_a_report_is_read_as_it_was_written(made):
    assert Report.model_validate_json(made().to_json()).to_json() == made().to_json()


def test_a_motion_of_names_that_are_code_is_text_and_one_without_numbers_is_a_page():
    hostile = page.render_page(changed(motion_report(), rename_everything(HOSTILE))).decode()
    assert '<img' not in hostile and hostile.count('<script') == 3
    empty = page.render_page(changed(motion_report(), forget_numbers)).decode()
    assert 'None' not in re.sub(r'<script.*?</script>', '', empty, flags=re.DOTALL)


def test_a_motion_is_the_one_of_its_file_and_within_the_limits_that_are_shown():
    designer = ExcitationPlan.load(planned_motion().parent / 'arm.yaml').designer()
    excitation = load_excitation(planned_motion() / 'excitation.yaml')
    shown = section(motion_report(), 'motion_limits')
    position = shown.joints[1].quantities[0]
    motion = excitation.sample(np.array(shown.time))
    np.testing.assert_allclose(position.values, motion.q[:, 1], atol=1e-3)
    assert (position.lower, position.upper) == (designer.limits.lower[1], designer.limits.upper[1])
    for joint in shown.joints:
        for each in joint.quantities:
            assert 0.0 < each.used <= 1.0 + 1e-9
            for value in each.values:
                assert each.lower <= value <= each.upper


def test_what_a_motion_will_tell_is_what_its_information_says():
    designer = ExcitationPlan.load(planned_motion().parent / 'arm.yaml').designer()
    shown = motion_report()
    knowledge, first = section(shown, 'expected_knowledge'), section(shown, 'planned_motion')
    after = designer.after(load_excitation(planned_motion() / 'excitation.yaml')).information
    covariance = np.linalg.inv(after.known)
    usual = np.sqrt(np.sum(after.steps**2, axis=1))
    expected = np.sort(np.sqrt(np.diag(covariance)) / usual)[::-1]
    found = [each.deviation for each in knowledge.parameters]
    # On another grid of samples.
    np.testing.assert_allclose(found, expected, rtol=0.1)
    assert first.well_known == sum(value < 0.1 for value in found)
    motion = load_excitation(planned_motion() / 'excitation.yaml').grid(100.0)
    rows = designer.model.regressor(motion.q, motion.v, motion.a) / after.noise[:, None]
    rows = rows[:, :, after.base.independent].reshape(-1, after.base.rank)
    singular = np.linalg.svd(rows / np.linalg.norm(rows, axis=0), compute_uv=False)
    assert first.condition == pytest.approx(singular[0] / singular[-1], rel=1e-3)
    np.testing.assert_allclose(knowledge.singular_values, singular, rtol=1e-3)
    assert knowledge.least[0] > knowledge.least[-1]
    assert first.clearance == pytest.approx(
        section(shown, 'clearances').clearances[0].room, abs=1e-12)
    # What the verification knows are lower bounds between the distances that it asks for.
    verified = designer.verify(designer.dense(load_excitation(
        planned_motion() / 'excitation.yaml'))).clearance
    assert verified <= first.clearance + 1e-4
    assert len({each.what for each in section(shown, 'clearances').clearances}) == len(
        section(shown, 'clearances').clearances)


def test_what_is_in_the_way_is_shown():
    player = section(motion_report(), 'robot_view').players()['motion']
    assert [box['label'] for box in player['boxes']] == ['wall']
    assert player['boxes'][0]['corners'] == [[0.9, -2, -2], [1.2, 2, 2]]


def test_a_demonstration_links_to_files_beside_it_and_nowhere_else():
    text = page.render_page(demonstration([
        Neighbour(file='report.html', text='The report of the identification')])).decode()
    assert '<a href="report.html">The report of the identification</a>' in text
    for file in ('http://example.org', '../secret', 'javascript:alert(1)', '/etc/passwd', ''):
        with pytest.raises(ValidationError):
            Neighbour(file=file, text='elsewhere')


def test_a_demonstration_shows_what_is_asked_of_it():
    shown = demonstration().sections[0]
    assert [each.at_most for each in shown.errors] == [TORQUE_BAR, TRACKING_BAR, None]
    assert shown.errors[0].identified == pytest.approx(5.0)
    assert len(shown.checks) == 6 and all(check.met for check in shown.checks)


def test_a_robot_that_was_followed_is_said_to_have_changed_and_since_when():
    shown = section(followed_robot(), 'followed_robot')
    assert shown.change == 'The load on hand changed: hand.mass +0.5 ± 0.02.'
    assert [each.against for each in shown.changes] == ['1-first']
    assert (shown.since, shown.changes[0].found) == (
        '2023-11-14 22:13:20 UTC', '2023-11-14 23:13:44 UTC')
    moved = shown.parameters[0]
    assert moved.name == described().names[0] and moved.committed == described().values[0]
    assert len(moved.values) == len(shown.minutes) == 300
    text = page.render_page(followed_robot()).decode()
    assert 'The load on hand changed' in text and 'committed to nothing' in text


def test_a_robot_that_was_compared_with_nothing_is_followed_all_the_same():
    kept = OnlineHistory()
    kept.add(followed(1.7e9, described(), error=float('nan')), None)
    shown = section(followed_robot(kept), 'followed_robot')
    assert (shown.against, shown.change, shown.error, shown.parameters) == ('', '', None, [])
    assert 'compared with nothing' in page.render_page(followed_robot(kept)).decode()


def test_names_of_a_followed_robot_are_text():
    hostile = page.render_page(changed(followed_robot(), rename_everything(HOSTILE))).decode()
    assert '<img' not in hostile
    assert page.render_page(changed(followed_robot(), forget_numbers))
