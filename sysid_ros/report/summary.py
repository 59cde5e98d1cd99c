"""The result in words and small tables, the verdict first."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sysid_ros.estimation.estimate import BetweenRecordings, Estimate, Knowledge
from sysid_ros.estimation.estimator import shown_name
from sysid_ros.estimation.regression.consistent.prior_strength import SEARCH_KEY, StrengthChoice
from sysid_ros.evaluation.comparison import Comparison
from sysid_ros.evaluation.evaluation import FITTED_RANGE, JUDGED_RANGE, KNOWN, Evaluation
from sysid_ros.evaluation.faster_motion import FASTER_MOTION, FasterMotion
from sysid_ros.evaluation.model_choice import ModelChoice
from sysid_ros.evaluation.prediction import TorquePrediction
from sysid_ros.evaluation.simulation import Simulation
from sysid_ros.evaluation.verdict import Verdict
from sysid_ros.recording.checks.quality import DataQuality
from sysid_ros.report.evidence import (
    choices_section,
    comparison_section,
    folds_section,
    friction_section,
    simulation_section,
    strengths_section,
)
from sysid_ros.report.tables import percent, table
from sysid_ros.robot.parameters import ParameterSet

_WIDTH = 96
# Fewer recordings say little of how much others would disagree.
_FEW = 4
# An RMS of torque below this, in [N·m] or [N], is what rounding leaves of none.
_ROUNDING = 1e-12


def summary(
    evaluation: Evaluation, qualities: Sequence[DataQuality],
    comparison: Comparison | None = None,
    choice: ModelChoice | None = None,
) -> str:
    """The whole summary.

    Args:
        evaluation: The estimate with its evidence and verdict.
        qualities: What can be said of each recording; warnings are among the remarks.
        comparison: How it does beside other estimators, if they were compared.
        choice: What the settings left open, and how it was chosen.

    Returns:
        Text for a terminal, at most about a hundred columns wide.
    """
    estimate, held_out = evaluation.estimate, evaluation.held_out
    predictions = {'training': evaluation.training} | ({'held-out': held_out} if held_out else {})
    parts = [
        _verdict(evaluation.verdict),
        comparison_section(comparison) if comparison else '',
        _fit(estimate),
        strengths(estimate),
        errors_table(predictions),
        choices_section(choice.choices, choice.left) if choice and (
            choice.choices or choice.left) else '',
        friction_section(choice.friction) if choice and choice.friction else '',
        folds_section(evaluation.folds) if evaluation.folds else '',
        simulation_section(evaluation.simulation) if evaluation.simulation else '',
        _bodies(estimate),
        _joint_terms(estimate),
        _known(estimate),
        *_data(qualities),
        _ranges(estimate),
        _remarks(evaluation.verdict),
    ]
    return '\n\n'.join(part for part in parts if part) + '\n'


def prediction_summary(
    verdict: Verdict, prediction: TorquePrediction, simulation: Simulation | None = None
) -> str:
    """Verdict and errors of one predicted recording."""
    label = 'held-out' if prediction.held_out else 'training'
    parts = [
        _verdict(verdict),
        errors_table({label: prediction}),
        simulation_section(simulation) if simulation else '',
        _remarks(verdict),
    ]
    return '\n\n'.join(part for part in parts if part) + '\n'


def errors_table(predictions: Mapping[str, TorquePrediction]) -> str:
    """Errors per joint and in all, with the prior beside, as text under their heading.

    Args:
        predictions: Predictions of the same joints, by what they are called.
    """
    shown = tuple(predictions.items())
    joints = shown[0][1].joint_names
    header = ['joint']
    for label, _ in shown:
        header += [f'{label} %', 'prior %', 'RMS']
    rows = []
    for joint, name in enumerate(joints):
        row = [name]
        for _, prediction in shown:
            row += [
                percent(prediction.candidate.relative_per_joint[joint]),
                percent(prediction.prior.relative_per_joint[joint]),
                _rms(prediction.candidate.rms_per_joint[joint]),
            ]
        rows.append(row)
    total = ['all']
    for _, prediction in shown:
        total += [
            percent(prediction.candidate.relative_error),
            percent(prediction.prior.relative_error), '',
        ]
    return f'{shown[0][1].heading}\n{table(header, [*rows, total])}'


def _rms(value: float) -> str:
    """An RMS with four digits; rounding errors, as of a joint without torque, are zero."""
    return '0' if value < _ROUNDING else f'{value:.4g}'


def _verdict(verdict: Verdict) -> str:
    lines = [f'VERDICT: {"committable" if verdict.committable else "NOT committable"}']
    if verdict.committable:
        return '\n'.join([*lines, f'  Next: {verdict.next_step}'])
    told: set[str] = set()
    for reason, step in zip(verdict.reasons, verdict.next_steps, strict=True):
        lines.append(f'  {reason}')
        # Several reasons may have one cure.
        if step not in told:
            lines.append(f'    Next: {step}')
        told.add(step)
    return '\n'.join(lines)


def _fit(estimate: Estimate) -> str:
    margin = min(estimate.margins.values(), default=float('nan'))
    consistent = 'every body' if estimate.consistent else 'NOT every body'
    rows = int(np.sum(estimate.residuals.rows))
    independent = float(np.sum(estimate.residuals.effective_rows))
    return '\n'.join([
        f'Fit with {shown_name(estimate.estimator)}: {estimate.status.value}',
        f'  {rows} rows, worth about {independent:.0f} independent ones; '
        f'{estimate.iterations} iterations',
        *_base_parameters(estimate),
        f'  physically consistent: {consistent} (smallest margin {margin:.2g}; prior 1, limit 0)',
    ])


def _base_parameters(estimate: Estimate) -> list[str]:
    """How many base parameters are known, and how well."""
    if not estimate.status.ok:
        return []
    well, barely = (estimate.base_parameters_known(part) for part in KNOWN)
    return [
        f'  of {len(estimate.base_names)} base parameters {well} are known to '
        f'{100.0 * KNOWN[0]:.0f} %, {barely} to {100.0 * KNOWN[1]:.0f} % (standard deviation by '
        'value)']


def strengths(estimate: Estimate) -> str:
    """How the strength of the prior was chosen; empty where it was given."""
    search = estimate.settings.get(SEARCH_KEY)
    return '' if search is None else strengths_section(StrengthChoice.from_json(search))


def _data(qualities: Sequence[DataQuality]) -> list[str]:
    texts = [replace(quality, warnings=()).text() for quality in qualities]
    if len(texts) == 1:
        return texts
    return [
        f'Recording {number} of {len(texts)}: {quality.source}\n{text}'
        for number, (quality, text) in enumerate(zip(qualities, texts, strict=True), start=1)]


def _remarks(verdict: Verdict) -> str:
    if not verdict.remarks:
        return ''
    return 'Remarks\n' + '\n'.join(f'  - {remark}' for remark in verdict.remarks)


def _bodies(estimate: Estimate) -> str:
    parameters = estimate.parameters
    rows = []
    for body in parameters.bodies:
        phi = parameters.inertial(body)
        prior = parameters.prior[parameters.body_slice(body)]
        rows.append([
            body, f'{phi[0]:.4g}', f'{prior[0]:.4g}', _centre(phi), _centre(prior),
            f'{estimate.margins[body]:.2g}',
        ])
    header = ['body', 'mass kg', 'prior', 'centre of mass m', 'prior', 'margin']
    return 'Bodies\n' + table(header, rows)


def _joint_terms(estimate: Estimate) -> str:
    parameters = estimate.parameters
    inertial = {
        k for body in parameters.bodies
        for k in range(*parameters.body_slice(body).indices(len(parameters)))
    }
    rows = [
        [
            parameters.names[k], f'{parameters.values[k]:.4g}',
            _interval(estimate.standard_deviation[k]), *_between(estimate, k),
            f'{parameters.prior[k]:.4g}', parameters.units[k],
        ]
        for k in range(len(parameters)) if k not in inertial
    ]
    if not rows:
        return ''
    between = estimate.between
    heading = ['parameter', 'value', '±', *(['± between'] if between else []), 'prior', 'unit']
    return '\n'.join(
        ['Joint terms, with 95 % intervals', table(heading, rows), *_between_explained(between)])


def _between(estimate: Estimate, k: int) -> list[str]:
    """The interval of a parameter between recordings, where there are several."""
    between = estimate.between
    if between is None:
        return []
    return [_interval(between.standard_deviation[k], between.quantile)]


def _between_explained(between: BetweenRecordings | None) -> list[str]:
    """What the intervals are, and how far to believe them with so few recordings."""
    if between is None:
        return []
    lines = [
        '  ±: by the noise of the rows, if the model is right; ± between: by how much the '
        f'{between.recordings} recordings', '  disagree, errors of the model included']
    if between.recordings < _FEW:
        lines.append(f'  ({between.recordings} recordings tell that roughly: the intervals are as '
                     'wide as that calls for)')
    return lines


def _ranges(estimate: Estimate) -> str:
    """How far the motions go that the estimate was fitted to and judged by."""
    fitted = estimate.provenance.get(FITTED_RANGE)
    if not fitted:
        return ''
    judged = estimate.provenance.get(JUDGED_RANGE, {})
    rows = []
    for joint, own in fitted.items():
        other = judged.get(joint)
        row = [joint, *(f'{bound:.2f}' for bound in own['position'])]
        for key in ('speed', 'acceleration', 'torque'):
            row += [f'{own[key]:.3g}', f'{other[key]:.3g}' if other else '-']
        rows.append(row)
    header = ['joint', 'from', 'to']
    for quantity in ('speed', 'acceleration', 'torque'):
        header += [quantity, 'judged']
    faster = FasterMotion.from_json(estimate.provenance.get(FASTER_MOTION))
    lines = [] if faster is None else textwrap.wrap(
        faster.sentence, _WIDTH, initial_indent='  ', subsequent_indent='  ')
    return '\n'.join([
        'Fitted, and judged, up to: beyond that the model is not known to hold',
        table(header, rows), *lines])


def _known(estimate: Estimate) -> str:
    parameters: ParameterSet = estimate.parameters
    lines = ['Where the values come from']
    for knowledge in Knowledge:
        names = [
            name for name, entry in zip(parameters.names, estimate.knowledge, strict=True)
            if entry is knowledge
        ]
        if names:
            lines.append(f'  {len(names)} {knowledge.value}')
    if estimate.unidentified:
        lines.append('  not determined by this data:')
        lines += [f'    {_shortened(equation)}' for equation in estimate.unidentified]
    return '\n'.join(lines)


def _centre(phi: np.ndarray) -> str:
    if phi[0] <= 0.0:
        return '-'
    return ' '.join(f'{value:+.3f}' for value in phi[1:4] / phi[0])


def _interval(deviation: float, quantile: float = 1.96) -> str:
    return f'{quantile * deviation:.2g}' if np.isfinite(deviation) else 'unknown'


def _shortened(text: str) -> str:
    return text if len(text) <= _WIDTH else f'{text[:_WIDTH - 1]}…'
