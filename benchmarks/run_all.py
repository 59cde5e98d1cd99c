"""Runs every benchmark of this folder and prints all figures in one table.

A benchmark is a script whose last line of output is a JSON list of figures::

    [{"name": "regressor, 30 000 samples", "value": 20.5, "unit": "ms",
      "reference": "Pinocchio loop, 100 ms", "ratio": 4.9, "bar": "<= 25 ms", "ok": true}]

``reference``, ``ratio`` and ``bar`` may be absent or null. The exit code is 1 when a figure is not
ok or a benchmark fails, so that a claim which no longer holds cannot go unnoticed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

COLUMNS = ('name', 'value', 'unit', 'reference', 'ratio', 'bar')
Figure = dict[str, Any]


def run(script: Path) -> list[Figure]:
    """Figures of one benchmark; a single failed figure when there are none to read."""
    finished = subprocess.run(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, check=False
    )
    lines = finished.stdout.splitlines()
    sys.stdout.write(''.join(f'{line}\n' for line in lines[:-1]))
    if finished.returncode:
        return [{'name': f'{script.name} ended with exit code {finished.returncode}', 'ok': False}]
    try:
        figures = json.loads(lines[-1])
        return [{**figure, 'ok': bool(figure['ok']), 'name': figure['name']} for figure in figures]
    except (IndexError, KeyError, TypeError, ValueError) as error:
        return [{'name': f'{script.name}: last line is no list of figures ({error})', 'ok': False}]


def cell(entry: object) -> str:
    """Text of one table cell."""
    if entry is None:
        return ''
    return f'{entry:.4g}' if isinstance(entry, float) else str(entry)


def main() -> int:
    """Run all benchmarks; returns the process exit code."""
    console = Console()
    scripts = sorted(Path(__file__).parent.glob('[!_]*.py'))
    scripts.remove(Path(__file__))
    if not scripts:
        console.print('There are no benchmarks in benchmarks/.')
        return 0
    table = Table('benchmark', *COLUMNS, 'ok')
    all_ok = True
    for script in scripts:
        console.print(f'running {script.name}')
        for figure in run(script):
            all_ok &= figure['ok']
            values = (cell(figure.get(column)) for column in COLUMNS)
            table.add_row(script.stem, *values, 'yes' if figure['ok'] else 'NO')
    console.print(table)
    return 0 if all_ok else 1


if __name__ == '__main__':
    sys.exit(main())
