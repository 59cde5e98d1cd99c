"""Notebooks of the examples: every cell runs, and what it shows can be shown."""

import ast
import json
import shlex
from pathlib import Path

import pytest

from sysid_ros.cli.main import main

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / 'examples').glob('*.ipynb'))


def cells_of(notebook):
    """Source of every cell of code."""
    cells = json.loads(notebook.read_text(encoding='utf-8'))['cells']
    return [''.join(cell['source']) for cell in cells if cell['cell_type'] == 'code']


def run(source, names):
    """Run a cell; the value of its last line, where that is an expression, as notebooks show it."""
    body = ast.parse(source).body
    shown = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), '<cell>', 'exec'), names)
    value = None if shown is None else eval(compile(shown, '<cell>', 'eval'), names)
    return value._repr_html_() if hasattr(value, '_repr_html_') else repr(value)


@pytest.mark.slow
@pytest.mark.parametrize('notebook', NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(notebook, tmp_path, monkeypatch, capsys):
    pytest.importorskip('mujoco')
    monkeypatch.chdir(tmp_path)
    names, shown = {}, {}
    for source in cells_of(notebook):
        if source.startswith('!sysid '):
            assert main(shlex.split(source)[1:]) == 0, capsys.readouterr()
        else:
            shown[source] = run(source, names)
    assert names['fit'].verdict.committable
    (fitted,) = (text for source, text in shown.items() if source.endswith('\nfit'))
    assert fitted.startswith('<pre>VERDICT: committable') and '<table>' in fitted
    assert names['errors']['chosen'] < names['errors']['plain']
    assert (tmp_path / 'first_look' / 'identified.urdf').is_file()
