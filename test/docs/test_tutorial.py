"""The ten minutes of the first tutorial as they are written, from the first command to the last."""

import re
import shlex
from pathlib import Path

import pytest

from sysid_ros.cli.main import main

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'tutorials' / 'ten-minutes.md'
# What a test environment has already.
_INSTALLED = ('pip', 'compile')


def steps():
    """Command lines of the page without those that install, and its Python."""
    text = PAGE.read_text(encoding='utf-8')
    shell = '\n'.join(re.findall(r'```sh\n(.*?)```', text, re.DOTALL))
    lines = [shlex.split(line, comments=True) for line in shell.splitlines()]
    commands = [words[1:] for words in lines if words and words[0] == 'sysid'
                and words[1] not in _INSTALLED]
    return commands, re.findall(r'```python\n(.*?)```', text, re.DOTALL)


def test_the_tutorial_ends_with_a_description_that_loads(tmp_path, monkeypatch, capsys):
    pytest.importorskip('mujoco')
    monkeypatch.chdir(tmp_path)
    commands, (program,) = steps()
    assert [words[0] for words in commands] == [
        'demo', 'init', 'init', 'check', 'fit', 'export', 'model']
    for words in commands:
        assert main(words) == 0, (words, capsys.readouterr())
    assert '4 joints, 4 moving bodies' in capsys.readouterr().out
    exec(compile(program, str(PAGE), 'exec'), names := {})
    assert names['fit'].verdict.committable
