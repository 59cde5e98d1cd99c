"""What a user gets who gives robot, recording, units and gears, and nothing else.

`sysid fit` as a process of its own, on one core, with all that the settings leave open chosen by
the data: a TX40 whose last third is held out, and one run of a KUKA LWR4+ that predicts another.
Then how long it takes to choose among the friction models alone, compiled.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401 (pins before NumPy is loaded)

# isort: on
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.friction_models import FrictionSelection
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.measurement import Measurement
from sysid_ros.evaluation.friction_selection import choose_friction

PROJECT = Path(__file__).resolve().parents[1]
REPRODUCTION = PROJECT / 'test' / 'reproduction'
# Largest errors on what was not fitted in parts, and times in [s].
TX40_BAR, KUKA_BAR, PROCESS_BAR, CHOICE_BAR = 0.055, 0.0245, 20.0, 10.0
HELD_OUT = 1.0 / 3.0


def bare(name: str, urdf: str) -> dict[str, Any]:
    """Settings of a real recording without what an expert added."""
    given = yaml.safe_load((REPRODUCTION / f'{name}.yaml').read_text())
    recording = given['recording']
    # The KUKA's derivatives are the recorder's; a user has positions and efforts.
    return {'robot': {'urdf': urdf}, 'recording': {
        key: value for key, value in recording.items() if key not in ('velocity', 'acceleration')}}


def fitted(data: Path, training: str, urdf: str, *arguments: str) -> tuple[dict[str, Any], float]:
    """Verdict and evidence of a fit, and how long the process took in [s]."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / 'first.yaml'
        settings.write_text(yaml.safe_dump(bare(training, urdf)))
        run = Path(folder) / 'run'
        begin = time.perf_counter()
        done = subprocess.run(
            [sys.executable, '-m', 'sysid_ros.cli.main', 'fit', str(settings), '--base', str(data),
             '-o', str(run), *arguments], check=False, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - begin
        if done.returncode not in (0, 1):
            raise SystemExit(f'{training}: sysid fit ended with {done.returncode}')
        return json.loads((run / 'evaluation.json').read_text()), seconds


def figures(
    name: str, judged: dict[str, Any], seconds: float, bar: float
) -> list[dict[str, Any]]:
    """Error, verdict and time for the table of all benchmarks."""
    error = judged['held_out']['relative_error']
    print(f'{name}: {100.0 * error:.2f} % on what was not fitted, '
          f'{"committable" if judged["committable"] else judged["reasons"]}, {seconds:.1f} s')
    return [
        {'name': f'{name}, default settings, held out', 'value': round(100.0 * error, 3),
         'unit': '%', 'bar': f'<= {100.0 * bar:g} %, committable',
         'ok': bool(error <= bar and judged['committable'])},
        {'name': f'{name}, default settings, whole process', 'value': round(seconds, 1),
         'unit': 's', 'bar': f'<= {PROCESS_BAR:g} s', 'ok': seconds <= PROCESS_BAR},
    ]


def choice(name: str, identification: Identification, stop: float) -> dict[str, Any]:
    """Time to choose among the friction models, compiled."""
    asked = identification.with_fit(friction_selection=FrictionSelection())
    measured = Measurement.read(FitSetup.of(asked))
    choose_friction(measured, stop)
    begin = time.perf_counter()
    found = choose_friction(measured, stop)
    seconds = time.perf_counter() - begin
    print(f'{name}: {found.chosen} among {len(found.candidates)} friction models, {seconds:.1f} s')
    return {'name': f'{name}, choosing among {len(found.candidates)} friction models',
            'value': round(seconds, 2), 'unit': 's', 'bar': f'<= {CHOICE_BAR:g} s',
            'ok': seconds <= CHOICE_BAR}


def main() -> None:
    """Runs both robots, where their recordings are."""
    named = os.environ.get('SYSID_DATA')
    data = Path(named) if named else PROJECT.parent / 'shared' / 'data'
    if not data.is_dir():
        print('defaults: no recordings; set SYSID_DATA to their folder', file=sys.stderr)
        print('[]')
        return
    tx40, kuka = data / 'staubli_tx40', data / 'kuka_lwr4'
    found = figures('TX40', *fitted(
        tx40, 'tx40', 'tx40_mdh_modified.urdf', '--holdout', str(HELD_OUT)), TX40_BAR)
    with tempfile.TemporaryDirectory() as folder:
        second = Path(folder) / 'second.yaml'
        second.write_text(yaml.safe_dump(bare('kuka_run2', 'kuka_lwr4.urdf')))
        found += figures('KUKA', *fitted(
            kuka, 'kuka_run1', 'kuka_lwr4.urdf', '--validate', str(second)), KUKA_BAR)
    for name, folder_of, stop in (('tx40', tx40, 1.0 - HELD_OUT), ('kuka_run1', kuka, 1.0)):
        found.append(choice(
            name, Identification.load(REPRODUCTION / f'{name}.yaml', folder_of), stop))
    print(json.dumps(found))


if __name__ == '__main__':
    main()
