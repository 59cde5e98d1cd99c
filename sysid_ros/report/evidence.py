"""The evidence in words and small tables: folds, simulation, estimators side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import yaml

from sysid_ros.estimation.regression.consistent.prior_strength import StrengthChoice
from sysid_ros.evaluation.comparison import Comparison, Contender
from sysid_ros.evaluation.cross_validation import CrossValidation
from sysid_ros.evaluation.friction_selection import FrictionChoice
from sysid_ros.evaluation.simulation import Simulation, SimulationErrors
from sysid_ros.recording.processing.choice import Choice
from sysid_ros.report.tables import number, percent, table

_WIDTH = 98


def folds_section(folds: CrossValidation) -> str:
    """Errors of the folds, and how their parameters differ."""
    count = len(folds.folds)
    errors = folds.joint_errors
    rows = [
        [name, percent(column.mean()), percent(column.std(ddof=1)), percent(column.max())]
        for name, column in zip(folds.joint_names, errors.T, strict=True)
    ]
    rows.append([
        'all', percent(folds.error), percent(folds.spread), percent(folds.errors.max()),
    ])
    lines = [
        f'Folds: {count} stretches of the recording, each predicted by a fit to the others; '
        f'prior {percent(folds.prior_errors.mean())} %',
        table(['joint', 'error %', '± %', 'worst %'], rows),
    ]
    ratio, outliers = folds.overall_sigma_ratio, folds.outliers
    if np.isfinite(ratio):
        lines.append(
            f'  base parameters scatter between folds {ratio:.2f} times as much as their σ say '
            f'(honest: about 1), {len(outliers)} of {len(folds.base_names)} beyond chance'
        )
    return '\n'.join(lines)


def simulation_section(simulation: Simulation) -> str:
    """Errors of simulated stretches, beside the prior and a constant velocity."""
    shown = (simulation.candidate, simulation.prior, simulation.coasting)
    rows = []
    for joint, (name, unit) in enumerate(
        zip(simulation.joint_names, simulation.units, strict=True)
    ):
        row = [name, unit]
        row += [number(errors.position[joint]) for errors in shown]
        row += [number(errors.velocity[joint]) for errors in shown]
        rows.append(row)
    rows.append([
        'all', '', *(number(simulation.relative(errors)) for errors in shown), '', '', '',
    ])
    lines = [
        f'Simulation: {len(simulation.starts)} held-out stretches of {simulation.horizon:.2g} s, '
        f'open loop under {simulation.under}; RMS errors',
        table(
            ['joint', 'unit', 'position', 'prior', 'coasting', 'velocity', 'prior', 'coasting'],
            rows,
        ),
        '  coasting: constant velocity; all: position errors over those of coasting',
    ]
    for label, errors in (('identified', simulation.candidate), ('prior', simulation.prior)):
        lines += _trouble(label, errors)
    return '\n'.join(lines)


def strengths_section(choice: StrengthChoice) -> str:
    """Errors of cross-validation by strength of the prior, and the strength that was taken."""
    relative = choice.relative_errors.mean(axis=0)
    rows = []
    for k, strength in enumerate(choice.strengths):
        marks = {choice.chosen: 'taken', choice.least: 'least'}
        if choice.chosen == choice.least:
            marks = {choice.chosen: 'taken, least'}
        rows.append([
            f'{strength:.3g}', number(choice.errors[:, k].mean()), number(choice.excess[k]),
            number(choice.standard_error[k], 2), percent(relative[k]), marks.get(k, ''),
        ])
    rule = {
        'minimum': 'the least error is taken',
        'one_standard_error': 'the strongest within one SE of the least is taken',
    }[choice.rule]
    return '\n'.join([
        f'Strength of the prior: {len(choice.errors)} stretches of the training data, each '
        'predicted by a fit to the others',
        table(['strength', 'error σ', 'excess', '± SE', 'error %', ''], rows),
        f'  σ: standard deviations of the torque noise; {rule}',
    ])


def _trouble(label: str, errors: SimulationErrors) -> list[str]:
    problem = errors.problem()
    return [] if problem is None else [f'  {label}: {problem}']


def comparison_section(comparison: Comparison) -> str:
    """All estimators in one table, and the one to take."""
    header = [
        'estimator', 'folds %', 'unseen %', 'training %', 'worst joint/prior', 'consistent',
        'margin', 'simulation', 'known', 'ms', 'committable',
    ]
    lines = ['Estimators', table(header, [_row(each) for each in comparison.contenders])]
    lines += [f'  {name} failed: {why}' for name, why in comparison.failures.items()]
    lines += [
        f'  {each.name}: {each.evaluation.estimate.status.value}'
        for each in comparison.contenders if not each.evaluation.estimate.status.ok
    ]
    lines.append(f'  Recommended: {comparison.reason}')
    return '\n'.join(lines)


def choices_section(choices: Sequence[Choice], left: Sequence[str] = ()) -> str:
    """What the settings left open and the data decided: lines for a settings file, and why.

    Args:
        choices: What was chosen.
        left: What could not be chosen, and why, in words.
    """
    lines = ['Chosen by the data, as the settings leave it open; settings.yaml in the run folder '
             'has it all']
    for choice in choices:
        value = yaml.safe_dump(
            _plain(choice.value), default_flow_style=True, width=10_000, sort_keys=False,
        ).removesuffix('...\n').strip()
        lines += textwrap.wrap(
            f'{choice.key}: {value}', _WIDTH, initial_indent='  ', subsequent_indent='      ')
        lines += textwrap.wrap(
            choice.reason, _WIDTH, initial_indent='    ', subsequent_indent='    ')
    for reason in left:
        lines += textwrap.wrap(
            f'not chosen, as written: {reason}', _WIDTH, initial_indent='  ',
            subsequent_indent='    ')
    return '\n'.join(lines)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def friction_section(choice: FrictionChoice) -> str:
    """Errors of all friction models on what they were not fitted to, and why one was chosen."""
    rows = []
    for each, (mean, error) in zip(choice.candidates, choice.excess, strict=True):
        factor = np.exp(mean)
        rows.append([
            each.name, str(each.parameters), _mean(each.stretches), _mean(each.faster),
            f'{factor:.3f} ± {factor * error:.3f}' if np.isfinite(mean) else '-',
            f'{each.seconds:.1f}',
        ])
    header = ['friction', 'parameters', 'stretches %', 'faster %', 'over best', 's']
    return '\n'.join([
        'Friction model by errors on rows that were not fitted: mean and standard error',
        table(header, rows),
        '  stretches: other stretches of time; faster: the fast half of their rows from the slow '
        'half\n  of the others; over best: error over that of the best model, mean over folds; as '
        'good: within\n  its standard error of 1, or 1 %; the simplest is the one with the fewest '
        'parameters',
        *(f'  {each.name}: {choice.reason(each.name)}' for each in choice.candidates),
    ])


def _mean(errors: np.ndarray) -> str:
    """Mean of the folds and its standard error, in percent."""
    if not np.isfinite(errors).all():
        return 'failed'
    return f'{percent(errors.mean())} ± {percent(errors.std(ddof=1) / np.sqrt(len(errors)))}'


def _row(contender: Contender) -> list[str]:
    evaluation = contender.evaluation
    joint, ratio = contender.worst_joint
    return [
        contender.name, percent(contender.fold_error), percent(contender.unseen_error),
        percent(evaluation.estimate.residuals.relative_error), f'{joint} {number(ratio)}',
        'yes' if evaluation.estimate.consistent else 'no', number(contender.smallest_margin, 2),
        number(contender.simulation_error), str(contender.known),
        f'{1e3 * contender.seconds:.1f}', 'yes' if evaluation.verdict.committable else 'no',
    ]
