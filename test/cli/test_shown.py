"""Verbs that print a result print it as JSON, or nothing, when asked to."""

import json
import shutil

import pytest

from support.report_runs import finished_run
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main, parser

pytest.importorskip('plotly', reason='the page is drawn by plotly')


@pytest.mark.parametrize('verb', [
    'fit', 'validate', 'excite', 'payload', 'compare', 'pack', 'report', 'demo'])
def test_every_verb_with_a_result_takes_quiet_and_json_but_not_both(verb, capsys):
    with pytest.raises(SystemExit):
        parser([verb]).parse_args([verb, '--help'])
    said = capsys.readouterr().out
    assert '--json' in said and '--quiet' in said and '[-q | --json]' in said.replace('-v | ', '')


@pytest.mark.parametrize(('words', 'keys'), [
    (('pack', 'run'), {'archive', 'bytes', 'files'}), (('report', 'run'), {'page'}),
    (('compare', 'run', 'run'), {'runs', 'parameters', 'drift_per', 'absent', 'untold'})])
def test_a_result_is_one_json_document_or_nothing(words, keys, tmp_path, monkeypatch, capsys):
    shutil.copytree(finished_run(), tmp_path / 'run')
    monkeypatch.chdir(tmp_path)
    assert main([*words, '--json']) == ExitCode.OK
    assert keys <= set(json.loads(capsys.readouterr().out))
    assert main([*words, '-q']) == ExitCode.OK
    said = capsys.readouterr()
    assert said.out == said.err == ''
