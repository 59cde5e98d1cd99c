import hashlib
import json
import re
import shutil
import zipfile

import pytest
import yaml

from support.report_runs import finished_run
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.errors import ConfigurationError
from sysid_ros.runs.judged import KEY, changed_since
from sysid_ros.runs.pack import CHECKSUMS, pack_run


def unpacked(archive, folder):
    with zipfile.ZipFile(archive) as packed:
        assert packed.testzip() is None
        packed.extractall(folder)
    return folder / 'fit'


def test_an_archive_holds_the_run_with_checksums_and_no_path_of_this_machine(tmp_path):
    run, archive = finished_run(), tmp_path / 'fit.zip'
    names = pack_run(run, archive)
    there = unpacked(archive, tmp_path / 'there')
    assert {path.name for path in run.iterdir()} | {CHECKSUMS} == set(names)
    for line in (there / CHECKSUMS).read_text().splitlines():
        digest, name = line.split('  ')
        assert hashlib.sha256((there / name).read_bytes()).hexdigest() == digest
    for file in there.iterdir():
        if file.suffix in ('.json', '.yaml', '.txt', '.html'):
            assert str(run.parent).encode() not in file.read_bytes(), file.name


def test_the_same_run_makes_the_same_archive(tmp_path):
    for name in ('one.zip', 'two.zip'):
        pack_run(finished_run(), tmp_path / name)
    assert (tmp_path / 'one.zip').read_bytes() == (tmp_path / 'two.zip').read_bytes()


def test_the_verdict_in_an_archive_belongs_to_the_files_in_it(tmp_path):
    pack_run(finished_run(), tmp_path / 'fit.zip')
    there = unpacked(tmp_path / 'fit.zip', tmp_path)
    assert changed_since(there, json.loads((there / 'verdict.json').read_text())) == ()


def test_a_run_that_is_packed_with_its_recordings_is_fitted_again_elsewhere(tmp_path):
    pack_run(finished_run(), tmp_path / 'fit.zip', recordings=True)
    there = unpacked(tmp_path / 'fit.zip', tmp_path)
    assert yaml.safe_load((there / 'settings.yaml').read_text())['folder'] == 'recordings'
    again = tmp_path / 'again'
    code = main(['fit', str(there / 'settings.yaml'), '--holdout', '0.25', '-o', str(again)])
    assert code == ExitCode.OK
    first, second = (
        json.loads((folder / 'evaluation.json').read_text())['held_out']['relative_error']
        for folder in (there, again))
    assert second == pytest.approx(first, rel=1e-9)


def test_a_recording_that_is_gone_is_said(tmp_path):
    run = tmp_path / 'run'
    run.mkdir()
    for file in finished_run().iterdir():
        (run / file.name).write_bytes(file.read_bytes())
    settings = yaml.safe_load((run / 'settings.yaml').read_text())
    (run / 'settings.yaml').write_text(yaml.safe_dump(settings | {'folder': str(tmp_path)}))
    with pytest.raises(ConfigurationError, match=re.escape('pack without --recordings')):
        pack_run(run, tmp_path / 'run.zip', recordings=True)
    assert not (tmp_path / 'run.zip').exists()


def test_the_verb_packs_beside_the_run(tmp_path, capsys):
    archive = tmp_path / 'mailed.zip'
    assert main(['pack', str(finished_run()), '-o', str(archive)]) == ExitCode.OK
    assert re.search(r'\d+ files, \d+\.\d MB', capsys.readouterr().out)
    assert main(['pack', str(tmp_path)]) == ExitCode.BAD_INPUT


@pytest.fixture
def run(tmp_path):
    return shutil.copytree(finished_run(), tmp_path / 'fit')


@pytest.mark.parametrize(('name', 'content', 'message'), [
    ('verdict.json', '{"committable": tr', 'verdict.json: cannot be read'),
    ('verdict.json', '[' * 100_000, 'verdict.json: cannot be read'),
    ('verdict.json', '[]', 'verdict.json: is not what a fit writes'),
    ('verdict.json', '{"figure": 1e999}', '1e999 is no finite number'),
    ('settings.yaml', 'recording: [', 'settings.yaml'),
    ('settings.yaml', 'recording: {}', 'settings.yaml: folder: is not what a fit writes'),
    ('settings.yaml', 'folder: a\nrecording: 3', 'settings.yaml: recording: file: is not what'),
    ('settings.yaml', 'folder: a\nrecording: {file: [b]}', 'recording: file: is not what'),
    ('settings.yaml', 'a: &a [1]\nb: ' + '[*a, ' * 200 + ']' * 200, 'levels of nesting'),
    ('report.json', '{}', 'report.json: is no report of this version'),
    ('report.json', '{"kind": "run", "name": "a", "robot": "b", "sections": [{"section": '
     '"recordings", "at": 1e999}]}', 'report.json: is no report'),
])
def test_a_damaged_run_is_refused_by_one_clear_error(run, tmp_path, capsys, name, content, message):
    (run / name).write_text(content)
    assert main(['pack', str(run), '-o', str(tmp_path / 'fit.zip')]) == ExitCode.BAD_INPUT
    said = capsys.readouterr().err
    assert message in said
    assert 'Traceback' not in said
    assert not (tmp_path / 'fit.zip').exists()


@pytest.mark.parametrize('verb', ['pack', 'report'])
def test_a_report_whose_parts_do_not_fit_each_other_is_refused(run, tmp_path, capsys, verb):
    document = json.loads((run / 'report.json').read_text())
    parameters = next(each for each in document['sections'] if each['section'] == 'parameters')
    parameters['kinds'].append('widths')
    (run / 'report.json').write_text(json.dumps(document))
    assert main([verb, str(run), '-o', str(tmp_path / 'written')]) == ExitCode.BAD_INPUT
    said = capsys.readouterr().err
    assert 'sysid report' in said
    assert 'Traceback' not in said


@pytest.mark.parametrize('file', ['..', 'a\0b', 'a' * 5000])
def test_no_file_gets_into_an_archive_that_cannot_be_a_recording(run, tmp_path, file):
    settings = yaml.safe_load((run / 'settings.yaml').read_text())
    settings['recording']['file'] = file
    (run / 'settings.yaml').write_text(yaml.safe_dump(settings))
    with pytest.raises(ConfigurationError, match='the recording is not there any more'):
        pack_run(run, tmp_path / 'fit.zip', recordings=True)


def test_a_verdict_without_digests_is_packed(run, tmp_path):
    verdict = json.loads((run / 'verdict.json').read_text())
    (run / 'verdict.json').write_text(json.dumps(verdict | {KEY: 'none'}))
    pack_run(run, tmp_path / 'fit.zip')
    there = unpacked(tmp_path / 'fit.zip', tmp_path / 'there')
    assert json.loads((there / 'verdict.json').read_text()) == verdict | {KEY: {}}
