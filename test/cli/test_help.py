"""``sysid --help`` names every verb and imports none; a verb's help has its arguments."""

import os
import re
import subprocess
import sys

import pytest

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import VERBS, main

LIBRARIES = ('numpy', 'pydantic', 'scipy', 'numba', 'pinocchio', 'matplotlib')


def named(text):
    """What stands at the beginning of the lines of a list of verbs."""
    return set(re.findall(r'^    (\w+(?: \w+)?)(?:  |$)', text, re.MULTILINE))


def test_the_help_names_every_verb_and_loads_no_library():
    program = (
        'import sys\n'
        'from sysid_ros.cli.main import main\n'
        'try:\n'
        '    main(["--help"])\n'
        'finally:\n'
        f'    print("loaded", [name for name in {LIBRARIES} if name in sys.modules])\n')
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith('loaded []\n')
    assert named(done.stdout) >= set(VERBS)


@pytest.mark.parametrize('verb', VERBS)
def test_the_help_of_a_verb_has_its_arguments(verb, capsys):
    with pytest.raises(SystemExit) as end:
        main([*verb.split(), '--help'])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith(f'usage: sysid {verb}') and '--help' in said


def test_an_option_before_the_verb_is_refused_by_its_name(capsys):
    assert main(['--holdout', 'fit', 'first.yaml']) == 2
    assert 'Put it behind the verb: sysid fit … --holdout' in capsys.readouterr().err


def test_who_asks_for_help_before_a_verb_is_told_of_all(capsys):
    with pytest.raises(SystemExit):
        main(['--help', 'fit'])
    said = capsys.readouterr().out
    assert named(said) >= set(VERBS)


def test_a_look_at_a_recording_loads_no_statistics():
    program = (
        'import sys\n'
        'import sysid_ros.cli.check\n'
        'import sysid_ros.recording.processing.bandwidth\n'
        'print([name for name in ("scipy.signal", "scipy.stats", "cvxpy", "plotly", '
        '"matplotlib") if name in sys.modules])\n')
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.stdout == '[]\n', done.stderr


@pytest.mark.parametrize(('line', 'expected'), [
    ('sysid compa', {'compare'}),
    ('sysid fit --hold', {'--holdout'}),
    ('sysid fit fir', {'first.yaml'}),
    ('sysid init --rat', {'--rate'}),
    ('sysid init excite --lim', {'--limits'}),
])
def test_a_shell_is_told_how_a_command_line_may_go_on(tmp_path, line, expected):
    pytest.importorskip('argcomplete')
    (tmp_path / 'first.yaml').touch()
    answer = tmp_path / 'answer'
    subprocess.run(
        [sys.executable, '-m', 'sysid_ros.cli.main'], cwd=tmp_path, capture_output=True, env={
            **os.environ, '_ARGCOMPLETE': '1', 'COMP_LINE': line, 'COMP_POINT': str(len(line)),
            '_ARGCOMPLETE_STDOUT_FILENAME': str(answer), '_ARGCOMPLETE_SUPPRESS_SPACE': '1',
            'IFS': '\v', '_ARGCOMPLETE_IFS': '\v',
            'PYTHONPATH': os.pathsep.join(filter(None, sys.path))})
    assert set(map(str.strip, answer.read_text().split('\v'))) == expected


def raised_by_compiled_code(cause):
    """What compiled code that calls Python makes of an error of the call."""
    error = SystemError('returned a result with an exception set')
    error.__cause__ = SystemError('returned a result with an exception set')
    error.__cause__.__cause__ = cause
    return error


@pytest.mark.parametrize(
    'error', [KeyboardInterrupt(), raised_by_compiled_code(KeyboardInterrupt())],
    ids=['interrupt', 'by compiled code'])
def test_control_c_is_one_line(monkeypatch, capsys, error):
    def stopped(_):
        raise error

    monkeypatch.setattr('sysid_ros.cli.main.parser', stopped)
    assert main(['model', 'robot.urdf']) == ExitCode.INTERRUPTED
    assert capsys.readouterr().err == 'sysid: stopped\n'
    monkeypatch.undo()
    monkeypatch.setattr('sysid_ros.cli.model.run', stopped)
    assert main(['model', 'robot.urdf']) == ExitCode.INTERRUPTED
    assert capsys.readouterr().err.startswith('sysid model: stopped')


def test_another_error_of_compiled_code_is_not_taken_for_control_c(monkeypatch):
    def failed(_):
        raise raised_by_compiled_code(MemoryError())

    monkeypatch.setattr('sysid_ros.cli.model.run', failed)
    with pytest.raises(SystemError):
        main(['model', 'robot.urdf'])
