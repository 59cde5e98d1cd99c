import hashlib
import itertools
import json
import shutil

import pytest

from support.report_runs import HOSTILE, finished_run
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.report.report import Report

pytest.importorskip('plotly', reason='the page is drawn by plotly')


@pytest.fixture
def run(tmp_path):
    return shutil.copytree(finished_run(), tmp_path / 'run')


@pytest.mark.slow
def test_the_page_of_a_run_is_made_anew_from_its_document(run, capsys):
    (run / 'report.html').unlink()
    document = json.loads((run / 'report.json').read_text())
    document['name'] = 'another name'
    (run / 'report.json').write_text(json.dumps(document))
    assert main(['report', str(run)]) == ExitCode.OK
    assert 'report.html' in capsys.readouterr().out
    assert '<h1>another name</h1>' in (run / 'report.html').read_text()


def test_a_run_without_a_document_is_read_again(run, tmp_path):
    before = json.loads((run / 'report.json').read_text())
    (run / 'report.json').unlink()
    page = tmp_path / 'page.html'
    assert main(['report', str(run), '-o', str(page)]) == ExitCode.OK
    after = json.loads((run / 'report.json').read_text())
    assert page.stat().st_size > 1e6
    assert [each['section'] for each in after['sections']] == [
        each['section'] for each in before['sections'] if each['section'] != 'choices']
    assert after['sections'][0]['error'] == pytest.approx(before['sections'][0]['error'])


def test_a_damaged_document_is_refused(run, capsys):
    (run / 'report.json').write_text('{"format": "sysid_ros report 1"}')
    assert main(['report', str(run)]) == ExitCode.BAD_INPUT
    assert 'is no report of this version' in capsys.readouterr().err


def test_runs_are_compared_in_a_table_and_on_a_page(run, tmp_path, capsys):
    other = tmp_path / HOSTILE.replace('/', '')[:60]
    shutil.copytree(run, other)
    estimate = json.loads((other / 'estimate.json').read_text())
    k = estimate['parameters']['names'].index('elbow_pitch.viscous_friction')
    estimate['parameters']['values'][k] *= 3.0
    (other / 'estimate.json').write_text(json.dumps(estimate))
    page = tmp_path / 'page.html'
    assert main(['compare', str(run), str(other), '-o', str(page)]) == ExitCode.OK
    text = capsys.readouterr().out
    assert text.startswith('1 of ')
    assert 'elbow_pitch.viscous_friction' in text
    assert max(map(len, text.splitlines()[:-1])) <= 100
    assert '<img' not in page.read_text()
    document = json.loads(page.with_suffix('.json').read_text())
    runs = document['sections'][0]['runs']
    # Whose estimates these are, and what they were when they were compared.
    provenance = document['sections'][-1]
    assert provenance['section'] == 'provenance' and provenance['created']
    written = hashlib.sha256((other / 'estimate.json').read_bytes()).hexdigest()
    assert written in provenance['digests'].values()
    assert [each['estimator'] for each in runs] == [estimate['estimator']] * 2
    assert runs[0]['robot'] == json.loads((run / 'report.json').read_text())['robot']
    assert Report.load(page.with_suffix('.json')).kind == 'comparison'


def test_a_drift_is_over_the_dates_of_the_recordings_and_what_is_left_out_is_named(
    run, tmp_path, capsys
):
    name, lost = 'elbow_pitch.viscous_friction', 'elbow_pitch.coulomb_friction'
    folders = []
    for number, week in enumerate((0, 1, 26)):
        folder = shutil.copytree(run, tmp_path / f'run_{number}')
        estimate = json.loads((folder / 'estimate.json').read_text())
        parameters = estimate['parameters']
        k = parameters['names'].index(name)
        # A steady change of a hundredth a week, whatever lies between the recordings.
        parameters['values'][k] += 0.01 * week
        if number == 1:
            parameters['names'][parameters['names'].index(lost)] = 'elbow_pitch.unknown_term'
        (folder / 'estimate.json').write_text(json.dumps(estimate))
        (folder / 'provenance.json').write_text(json.dumps(
            {'recording_end': (1_767_225_600 + week * 7 * 86_400) * 10**9}))
        folders.append(str(folder))
    page = tmp_path / 'page.html'
    assert main(['compare', *folders, '-o', str(page)]) == ExitCode.OK
    text = capsys.readouterr().out
    section = json.loads(page.with_suffix('.json').read_text())['sections'][0]
    row = next(each for each in section['parameters'] if each['name'] == name)
    assert section['drift_per'] == 'week' and row['drifts']
    assert row['drift'] == pytest.approx(0.01)
    assert [each['recorded'][:10] for each in section['runs']] == [
        '2026-01-01', '2026-01-08', '2026-07-02']
    assert section['absent'] == [lost, 'elbow_pitch.unknown_term']
    assert f'Not compared, as not in every run: {lost}, elbow_pitch.unknown_term' in text
    assert f'{name}: 0.01' in text and 'per week' in text and '2026-07-02' in text


@pytest.mark.parametrize(('name', 'content'), [
    *itertools.product(
        ['evaluation.json', 'verdict.json', 'estimate.json'], ['', '[]', '[' * 100_000]),
    ('evaluation.json', '{"held_out": {}}'), ('evaluation.json', '{"held_out": [1]}')])
def test_a_damaged_run_is_not_compared(run, tmp_path, capsys, name, content):
    other = shutil.copytree(run, tmp_path / 'other')
    (other / name).write_text(content)
    assert main(['compare', str(run), str(other)]) == ExitCode.BAD_INPUT
    said = capsys.readouterr().err
    assert name in said
    assert 'Traceback' not in said


def test_one_run_is_nothing_to_compare(run, capsys):
    assert main(['compare', str(run)]) == ExitCode.BAD_INPUT
    assert 'two or more' in capsys.readouterr().err


@pytest.fixture(scope='module')
def settings():
    return str(finished_run().parent / 'settings.yaml')


@pytest.mark.slow
def test_a_quiet_fit_says_nothing_and_its_exit_code_tells(settings, tmp_path, capsys):
    code = main(['fit', settings, '--holdout', '0.25', '-o', str(tmp_path / 'run'), '-q'])
    assert code == ExitCode.OK
    assert capsys.readouterr() == ('', '')


@pytest.mark.slow
def test_a_verdict_is_printed_as_json_alone(settings, run, tmp_path, capsys):
    main(['fit', settings, '--holdout', '0.25', '-o', str(tmp_path / 'again'), '--json'])
    assert json.loads(capsys.readouterr().out)['committable'] is True
    main(['validate', str(run), settings, '--json'])
    assert json.loads(capsys.readouterr().out)['committable'] is False


@pytest.mark.slow
def test_no_line_is_longer_than_a_hundred_characters_and_v_says_more(settings, tmp_path, capsys):
    lengths = []
    for more in ([], ['-v']):
        main(['fit', settings, '--holdout', '0.25', '-o', str(tmp_path / 'run'), *more])
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines[:-1])) <= 100
        lengths.append(len(lines))
    assert lengths[1] > 1.5 * lengths[0]
