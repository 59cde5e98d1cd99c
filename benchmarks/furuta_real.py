"""A real Furuta pendulum by discrete dynamics: friction models, and what each recording says.

The rod is fitted to its free swing, the arm to driven recordings with the rod held. Costs are
mean squared errors a node in [rad²], missing impulses included. Cross-validation estimates the
states of a recording that was not fitted, with the parameters as they are; the forecast simulates
it in pieces of a second from these states. The author's parameters get the drive gain that suits
the recordings fitted to, since the data sheet's is seven times too small.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401 (pins before NumPy is loaded)

# isort: on
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import _support  # noqa: F401
import numpy as np

from support import furuta_fits as fits

PROJECT = Path(__file__).resolve().parents[1]
FRICTION = ('viscous', 'dry', 'Stribeck')
HORIZON = 1.0
# What is known of m g l / J without any estimator, and how far off a fit may be.
STIFFNESS, NEAR = 86.5, 0.02


def figure(name: str, value: float, unit: str, reference: object, bar: str, ok: bool) -> dict:
    """A figure for the table of all benchmarks."""
    return {
        'name': name, 'value': value, 'unit': unit, 'reference': reference, 'ratio': None,
        'bar': bar, 'ok': bool(ok)}


def short(value: float, deviation: float) -> str:
    """A value with its deviation in its last digit, as 0.00421(3); in full where it is zero."""
    if not (np.isfinite(deviation) and deviation > 0.0):
        return f'{value:.4g}(?)'
    if value == 0.0 or deviation >= abs(value):
        return f'{value:.1g}({deviation:.0e})'
    digits = max(-math.floor(math.log10(deviation)), 0)
    return f'{value:.{digits}f}({round(deviation * 10**digits)})'


def table(columns: Mapping[str, Any], extra: Mapping[str, Sequence[str]]) -> None:
    """Rows of parameters, columns of recordings."""
    names = list(dict.fromkeys(
        name for estimate in columns.values()
        for name, free in zip(
            estimate.parameters.names, estimate.parameters.free, strict=True) if free))
    print(f'{"":28s}' + ''.join(f'{name[9:]:>22s}' for name in columns))
    for label, cells in extra.items():
        print(f'{label:28s}' + ''.join(f'{cell:>22s}' for cell in cells))
    for name in names:
        cells = []
        for estimate in columns.values():
            parameters = estimate.parameters
            known = name in parameters and parameters.free[parameters.index(name)]
            cells.append(short(
                parameters[name], estimate.standard_deviation[parameters.index(name)],
            ) if known else '-')
        print(f'{name:28s}' + ''.join(f'{cell:>22s}' for cell in cells))


def attempt(work: Any, *given: Any) -> float:
    """What work says, infinite where states could not be estimated."""
    try:
        return float(work(*given))
    except RuntimeError as error:
        print(f'  not estimated: {error}')
        return math.inf


def single(fitter: Any, friction: str) -> tuple[Any, float]:
    """One column a recording; the rod's estimate, and m g l / J."""
    rod = fitter.fit(fitter.rod(friction))
    known = fits.values_of(rod)
    trials = {name: fitter.arm((name,), friction, known) for name in fits.DRIVEN}
    columns = {name: fitter.fit(trial) for name, trial in trials.items()}
    costs, crossed = [], []
    for name, estimate in columns.items():
        values = fits.values_of(estimate)
        found = {other: attempt(fitter.cost, trial, values) for other, trial in trials.items()}
        costs.append(found.pop(name))
        crossed.append(float(np.mean(list(found.values()))))
    own = attempt(fitter.cost, fitter.rod(friction), known)
    print(f'\n{friction}: one recording each')
    table({fits.FREE: rod} | columns, {
        'Status': [e.status.name for e in (rod, *columns.values())],
        'Cost': [f'{cost:.2e}' for cost in (own, *costs)],
        'CV': ['-', *(f'{cost:.2e}' for cost in crossed)]})
    return rod, fits.stiffness(fitter.machine, known)


def left_out(fitter: Any, friction: str, rod: Any) -> dict[str, np.ndarray]:
    """Each driven recording foretold from the other three; cost and errors, ours and author's."""
    known = fits.values_of(rod)
    rows: dict[str, np.ndarray] = {}
    columns = {}
    for name in fits.DRIVEN:
        others = tuple(other for other in fits.DRIVEN if other != name)
        trial, unseen = fitter.arm(others, friction, known), fitter.arm((name,), friction, known)
        columns[name] = fitter.fit(trial)
        found = []
        for values in (fits.values_of(columns[name]), fitter.author_with_gain(trial)):
            cost = attempt(fitter.cost, unseen, values)
            errors = fitter.forecast(unseen, values, (HORIZON,))[0] if np.isfinite(
                cost) else np.full(2, np.inf)
            found.append([cost, *errors])
        rows[name] = np.array(found)
    print(f'\n{friction}: fitted to the other three')
    table(columns, {
        'Status': [estimate.status.name for estimate in columns.values()],
        'CV': [f'{row[0, 0]:.2e}' for row in rows.values()],
        'CV author': [f'{row[1, 0]:.2e}' for row in rows.values()],
        'arm, rod in 1 s [rad]': [f'{row[0, 1]:.3f} {row[0, 2]:.3f}' for row in rows.values()],
        'author': [f'{row[1, 1]:.3f} {row[1, 2]:.3f}' for row in rows.values()]})
    return rows


def main() -> None:
    named = os.environ.get('SYSID_DATA')
    shared = Path(named) if named else PROJECT.parent / 'shared' / 'data'
    folder = fits.recordings.folder_of(shared)
    if not folder.is_dir():
        print('no recordings; set SYSID_DATA to the folder of the measurements')
        print('[]')
        return
    machine = fits.robots.recorded_machine(fits.recordings.author_parameters(folder))
    fitter = fits.Fitter(machine, {
        name: fits.recordings.load(folder, name) for name in (fits.FREE, *fits.DRIVEN)})
    figures = []
    for friction in FRICTION:
        rod, stiffness = single(fitter, friction)
        rows = np.array(list(left_out(fitter, friction, rod).values()))
        if friction != 'viscous':
            figures.append(figure(
                f'{friction}, arm foretold over 1 s, mean of recordings left out',
                float(rows[:, 0, 1].mean()), 'rad', f'author {rows[:, 1, 1].mean():.3f}',
                'below the author', rows[:, 0, 1].mean() < rows[:, 1, 1].mean()))
        figures.append(figure(
            f'{friction}, m g l / J of the free swing', stiffness, '1/s²',
            f'{STIFFNESS} said, 87.56 ± 0.18 of periods', f'within {NEAR:.0%} of {STIFFNESS}',
            abs(stiffness / STIFFNESS - 1.0) <= NEAR))
        figures.append(figure(
            f'{friction}, cross-validation', float(rows[:, 0, 0].mean()), 'rad²',
            f'author {rows[:, 1, 0].mean():.2e}', 'below the author',
            rows[:, 0, 0].mean() < rows[:, 1, 0].mean()))
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
