import json
import math

import pytest

from support.report_runs import changed_report, finished_run, forget_numbers, report
from sysid_ros.errors import ConfigurationError
from sysid_ros.report.report import SCHEMA, Report, report_schema
from sysid_ros.report.sections.registry import RUN_SECTIONS


def document():
    return json.loads((finished_run() / 'report.json').read_text())


def section(name):
    return next(each for each in document()['sections'] if each['section'] == name)


def test_sections_come_in_the_order_of_the_registry_the_verdict_first():
    found = [each['section'] for each in document()['sections']]
    order = [each.model_fields['section'].default for each in RUN_SECTIONS]
    assert found[:3] == ['verdict', 'data_quality', 'joint_errors']
    assert found == [name for name in order if name in found]


def test_every_section_of_a_plain_run_is_there_but_those_of_other_estimators():
    found = {each['section'] for each in document()['sections']}
    assert {each.model_fields['section'].default for each in RUN_SECTIONS} - found <= {
        'prior_strength', 'choices', 'remarks', 'iterations', 'drives'}


def test_the_document_is_what_the_published_schema_allows():
    validator = pytest.importorskip('fastjsonschema')
    schema = json.loads(SCHEMA.read_text())
    # The validator knows drafts up to 7, whose keywords are all that is used.
    validate = validator.compile(schema | {'$schema': 'http://json-schema.org/draft-07/schema'})
    validate(document())
    wrong = document()
    wrong['sections'][0]['committable'] = 'perhaps'
    with pytest.raises(validator.JsonSchemaValueException):
        validate(wrong)


def entries(schema):
    return {
        name: (sorted(model['properties']), sorted(model.get('required', ())))
        for name, model in ({'Report': schema} | schema['$defs']).items()}


def test_the_published_schema_is_that_of_the_sections():
    published = json.loads(SCHEMA.read_text())
    assert entries(published) == entries(report_schema()), (
        'write json.dumps(report_schema(), indent=1) to sysid_ros/report/report.schema.json')


def test_the_verdict_of_the_document_is_that_of_the_run():
    verdict = json.loads((finished_run() / 'verdict.json').read_text())
    shown = section('verdict')
    assert shown['committable'] == verdict['committable']
    assert shown['next_step'] == verdict['next_step']
    assert len(shown['sentences']) == 3


def test_errors_are_those_of_the_evaluation():
    judged = json.loads((finished_run() / 'evaluation.json').read_text())['held_out']
    first = section('joint_errors')['errors'][0]
    assert first['rows'] == 'held-out'
    assert first['error'] == pytest.approx(judged['relative_error'])
    assert {row['joint']: row['error'] for row in first['joints']} == pytest.approx({
        name: joint['relative_error'] for name, joint in judged['joints'].items()})


def test_residuals_over_time_are_measured_minus_identified():
    for joint in section('torques')['groups'][0]['joints']:
        rows = list(zip(joint['measured'], joint['identified'], joint['residual'], strict=True))
        # Rows that do not count are left out.
        counted = [row for row in rows if row[0] is not None]
        assert 20 < len(counted) < len(rows)
        for measured, identified, residual in counted:
            assert residual == pytest.approx(measured - identified, abs=3e-3)
        assert all(row[2] is None for row in rows if row[0] is None)


def test_the_autocorrelation_of_residuals_begins_at_one():
    for joint in section('residuals')['joints']:
        assert joint['correlation'][0] == pytest.approx(1.0)
        assert all(abs(value) < 1.01 for value in joint['correlation'] if value is not None)


def test_masses_of_the_robot_are_those_of_the_estimate():
    estimate = json.loads((finished_run() / 'estimate.json').read_text())['parameters']
    values = dict(zip(estimate['names'], estimate['values'], strict=True))
    for body in section('robot_view')['bodies']:
        assert body['after']['mass'] == pytest.approx(values[f'{body["body"]}.mass'])
        assert body['after']['possible']


@pytest.mark.parametrize('change', [
    lambda robot: robot['skeletons'][0].pop(),
    lambda robot: robot['paths'][0].append([]),
    lambda robot: robot['bodies'][0]['after']['shape'].pop(),
    lambda robot: robot['bodies'][0]['after']['centre'].append(0.0),
])
def test_a_document_whose_points_have_not_three_coordinates_is_refused(change):
    changed = document()
    change(next(each for each in changed['sections'] if each['section'] == 'robot_view'))
    with pytest.raises(ConfigurationError):
        Report.from_json(json.dumps(changed).encode(), 'report.json')


def test_the_error_of_simulation_grows_with_the_horizon_to_two_seconds():
    shown = section('simulation')
    assert shown['horizon'][0] == pytest.approx(0.05, abs=0.011)
    assert shown['horizon'][-1] == pytest.approx(2.0, abs=0.02)
    for joint in shown['joints']:
        assert joint['identified'][0] < 0.1 * joint['identified'][-1]
        assert joint['identified'][0] < joint['prior'][0]
    (end,) = shown['ends']
    assert len(end['identified']) == len(end['coasting']) == len(shown['horizon'])
    # In millimetres: links of some decimetres whose joints are some hundredths of a rad off.
    assert 0.0 < end['identified'][-1] < end['prior'][-1] < 2e3


def test_provenance_names_versions_recordings_and_settings_but_no_folder_of_the_recording():
    shown = section('provenance')
    assert {'sysid_ros', 'Python', 'numpy', 'pin'} <= shown['versions'].keys()
    assert shown['recordings'][0]['source'] == 'recording.npz'
    assert len(shown['recordings'][0]['sha256']) == 64
    assert 'minimum_velocity' in shown['settings']
    assert shown['digests'].keys() >= {'estimate.json', 'settings.yaml'}


def test_numbers_that_nobody_knows_are_null_and_are_read_again():
    empty = changed_report(forget_numbers)
    assert 'NaN' not in empty.to_json()
    assert Report.model_validate_json(empty.to_json()) == empty
    for each in empty.sections:
        json.dumps(each.figures(), allow_nan=False)


def test_figures_hold_no_number_that_json_has_not():
    for each in report().sections:
        json.dumps(each.figures(), allow_nan=False)


def test_figures_are_what_plotly_allows():
    graph_objects = pytest.importorskip('plotly.graph_objects')
    drawn = 0
    for each in report().sections:
        for figure in each.figures().values():
            graph_objects.Figure(data=figure['data'], layout=figure['layout'])
            drawn += 1
    assert drawn > 20


@pytest.mark.parametrize(
    ('text', 'word'), [
        ('{', 'is no report'), ('{"format": "sysid_ros report 99"}', 'format'),
        (None, 'cannot be read')])
def test_what_is_no_report_is_refused(tmp_path, text, word):
    file = tmp_path / 'report.json'
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigurationError, match=word):
        Report.load(file)


def test_a_report_is_short_enough_to_be_mailed():
    assert (finished_run() / 'report.json').stat().st_size < 3e6
    assert math.isfinite(section('verdict')['gain'])
