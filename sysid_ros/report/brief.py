"""What a terminal shows of a run: the verdict, what was gained, where it is worst, what to do."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.evaluation.comparison import Comparison
from sysid_ros.evaluation.evaluation import Evaluation
from sysid_ros.evaluation.prediction import TorquePrediction
from sysid_ros.evaluation.simulation import Simulation
from sysid_ros.evaluation.verdict import Verdict
from sysid_ros.report.evidence import comparison_section, folds_section, simulation_section
from sysid_ros.report.headline import headline
from sysid_ros.report.remark_groups import grouped_remarks
from sysid_ros.report.report_source import HELD_OUT, TRAINING
from sysid_ros.report.summary import errors_table, strengths
from sysid_ros.report.tables import WIDTH


def brief_summary(evaluation: Evaluation, comparison: Comparison | None = None) -> str:
    """The result of a fit for a terminal; details are left to the summary and the page.

    Args:
        evaluation: The estimate with its evidence and verdict.
        comparison: How it does beside other estimators, if they were compared.
    """
    held_out, estimate = evaluation.held_out, evaluation.estimate
    predictions = {} if held_out is None else {HELD_OUT: held_out}
    predictions[TRAINING] = evaluation.training
    parts = [
        verdict_text(evaluation.verdict, predictions, estimate),
        comparison_section(comparison) if comparison else '',
        errors_table(dict(reversed(predictions.items()))),
        folds_section(evaluation.folds) if evaluation.folds else '',
        simulation_section(evaluation.simulation) if evaluation.simulation else '',
        strengths(estimate),
        remarks_text(evaluation.verdict, evaluation.training.joint_names),
    ]
    return wrapped('\n\n'.join(part for part in parts if part) + '\n')


def prediction_brief(
    verdict: Verdict, predictions: Mapping[str, TorquePrediction], estimate: Estimate,
    simulation: Simulation | None,
) -> str:
    """The result of one predicted recording for a terminal.

    Args:
        verdict: The verdict by that recording.
        predictions: Its errors, by what the rows are called.
        estimate: The estimate.
        simulation: Simulated stretches of it.
    """
    joints = next(iter(predictions.values())).joint_names
    parts = [
        verdict_text(verdict, predictions, estimate), errors_table(predictions),
        simulation_section(simulation) if simulation else '', remarks_text(verdict, joints)]
    return wrapped('\n\n'.join(part for part in parts if part) + '\n')


def verdict_text(
    verdict: Verdict, predictions: Mapping[str, TorquePrediction], estimate: Estimate
) -> str:
    """Verdict, gain, worst joint and next step in the first lines; then what speaks against it.

    Args:
        verdict: The verdict.
        predictions: Errors by what the rows are called; those to judge by come first.
        estimate: The estimate.
    """
    word = 'committable' if verdict.committable else 'NOT committable'
    gained, worst, _ = headline(predictions, estimate)
    lines = [f'VERDICT: {word}', gained, worst, f'Next: {verdict.next_step}']
    if not verdict.committable:
        lines += ['', 'What speaks against it']
        said = {verdict.next_step}
        for reason, step in zip(verdict.reasons, verdict.next_steps, strict=True):
            lines.append(f'  - {reason}')
            # Several reasons may have one cure.
            if step not in said:
                lines.append(f'      Next: {step}')
            said.add(step)
    return '\n'.join(lines)


def remarks_text(verdict: Verdict, joint_names: Sequence[str]) -> str:
    """Remarks that are no reasons, those that say the same of several joints once.

    Args:
        verdict: The verdict.
        joint_names: The joints.
    """
    lines = []
    remarks = [text for text in verdict.remarks if text not in verdict.reasons]
    for first, *alike in grouped_remarks(remarks, joint_names):
        joints = [name for text in alike for name in joint_names
                  if re.search(rf'(?<!\w){re.escape(name)}(?!\w)', text)]
        others = ', '.join(dict.fromkeys(joints)) or f'{len(alike)} more'
        end = '' if first.endswith(('.', '?', '!')) else '.'
        lines.append(f'  - {first}' + (f'{end} The same of {others}.' if alike else ''))
    return '\n'.join(['Remarks', *lines]) if lines else ''


def wrapped(text: str) -> str:
    """Text whose lines are broken at a hundred characters, which those of tables do not reach.

    Args:
        text: Lines; what follows a break is indented by two more.
    """
    lines = []
    for line in text.split('\n'):
        indent = ' ' * (len(line) - len(line.lstrip()) + 2)
        if len(line) <= WIDTH:
            lines.append(line)
        else:
            lines += textwrap.wrap(
                line, WIDTH, initial_indent='', subsequent_indent=indent,
                break_on_hyphens=False)
    return '\n'.join(lines)
