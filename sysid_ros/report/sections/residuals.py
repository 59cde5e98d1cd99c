"""Residuals of every joint: spread, repetition in time, and what they follow."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.report.headline import worst_joint
from sysid_ros.report.plots import (
    BEFORE,
    IDENTIFIED,
    INK,
    RECORDED,
    RESIDUAL,
    Figure,
    axis,
    band,
    dots,
    figure,
    line,
)
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource
from sysid_ros.report.residual_analysis import (
    amplitude_spectrum,
    autocorrelation,
    friction_laws,
    motion_of_rows,
)
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number, Series, logarithmic, series, some_rows

_BINS, _DOTS = 41, 400
# Joints that are drawn: a page stays small whatever robot it is of.
_MOST_JOINTS = 24
_HEIGHT = 250


class FrictionCurve(ReportModel):
    """Friction over velocity: measured is the law plus the residual; in [N·m] or [N]."""

    velocity: Series
    measured: Series
    identified: Series
    prior: Series


class JointResiduals(ReportModel):
    """Residuals of one joint, sampled where there are many; of joints not drawn the RMS alone."""

    joint: str
    unit: str
    position_unit: str
    rms: Number
    edges: Series = []
    counts: list[int] = []
    lags: Series = []
    correlation: Series = []
    frequency: Series = []
    spectrum: Series = []
    torque_spectrum: Series = []
    velocity: Series = []
    position: Series = []
    residual: Series = []
    friction: FrictionCurve | None = None


class ResidualsSection(Section):
    """Residuals of the rows to judge by.

    Attributes:
        rows: What the rows are called.
        worst: Index of the joint with the largest relative error.
        significance: Correlations beyond it, on either side of zero, are not chance: 1.96/√T.
        joints: Residuals of each joint.
    """

    section: Literal['residuals'] = 'residuals'
    title: ClassVar[str] = 'What is left over'
    rows: str
    worst: int
    significance: Number
    joints: list[JointResiduals]

    @classmethod
    def of(cls, source: ReportSource) -> Self:
        """Residuals of a run."""
        problem = source.judged
        theta = source.values_for(problem)
        residual, motion = problem.residuals(theta), motion_of_rows(problem)
        worst = worst_joint(source.prediction) or 0
        drawn = {worst, *worst_first(source.prediction.candidate.relative_per_joint)}
        joints = []
        for k, name in enumerate(source.joint_names):
            names = {'joint': name, 'unit': source.torque_units[k],
                     'position_unit': source.position_units[k]}
            joints.append(
                _joint(problem, residual, k, **names,
                       **_following(problem, residual, k, theta, motion)) if k in drawn
                else JointResiduals.model_validate(
                    {**names, 'rms': _rms(residual[problem.usable[:, k], k])}))
        return cls(
            rows=next(iter(source.rows)), worst=worst,
            significance=1.96 / np.sqrt(max(len(residual), 1)), joints=joints)

    def figures(self) -> dict[str, Figure]:
        """Up to six small figures of every joint."""
        return {
            f'{name}-{k}': plot for k, joint in enumerate(self.joints)
            if joint.edges for name, plot in self._figures(joint).items()}

    def _figures(self, joint: JointResiduals) -> dict[str, Figure]:
        residual = f'residual [{joint.unit}]'
        found = {
            'histogram': figure(
                [{'type': 'bar', 'x': _middles(joint.edges), 'y': joint.counts, 'name': 'rows',
                  'marker': {'color': RESIDUAL}}],
                axis(residual), axis('rows'), height=_HEIGHT, bargap=0.03, showlegend=False),
            'correlation': figure(
                [line(joint.lags, joint.correlation, 'autocorrelation', RESIDUAL)],
                axis('lag [s]'), axis('correlation', range=[-1.05, 1.05]), height=_HEIGHT,
                showlegend=False,
                shapes=[band(-(self.significance or 0.0), self.significance or 0.0)])}
        if joint.frequency:
            found['spectrum'] = figure(
                [line(joint.frequency, joint.torque_spectrum, 'torque', RECORDED),
                 line(joint.frequency, joint.spectrum, 'residual', RESIDUAL)],
                axis('frequency [Hz]'),
                axis(f'[{joint.unit}/√Hz]', type='log', exponentformat='power', dtick=1),
                height=_HEIGHT)
        if joint.velocity:
            found['velocity'] = _over(joint.velocity, joint, _rate(joint.position_unit), residual)
            found['position'] = _over(
                joint.position, joint, f'position [{joint.position_unit}]', residual)
        if joint.friction is not None:
            found['friction'] = _friction_figure(joint, joint.friction)
        return found


def worst_first(errors: np.ndarray) -> list[int]:
    """Indices of the joints that are drawn: those with the largest errors.

    Args:
        errors: Relative errors, shape ``(n,)``; NaN where a joint has none.
    """
    known = np.where(np.isnan(errors), -1.0, errors)
    return [int(k) for k in np.argsort(-known, kind='stable')[:_MOST_JOINTS]]


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2))) if len(values) else 0.0


def _joint(
    problem: RegressionProblem, residuals: np.ndarray, k: int, **more: object
) -> JointResiduals:
    """Residuals of joint k; ``more`` has its names and what its residuals follow."""
    usable, own = problem.usable[:, k], residuals[:, k]
    counted = own[usable]
    rms = _rms(counted)
    reach = max(4.0 * rms, 1e-12)
    counts, edges = np.histogram(np.clip(counted, -reach, reach), _BINS, (-reach, reach))
    lags, correlation = autocorrelation(own, usable, problem.segments, problem.rate)
    frequency, spectrum = amplitude_spectrum(own, problem.segments, problem.rate)
    _, torque = amplitude_spectrum(problem.torque[:, k], problem.segments, problem.rate)
    fields = {
        'rms': rms, 'edges': series(edges), 'counts': counts.tolist(), 'lags': series(lags),
        'correlation': series(correlation), 'frequency': series(frequency),
        'spectrum': logarithmic(spectrum), 'torque_spectrum': logarithmic(torque), **more}
    return JointResiduals.model_validate(fields)


def _following(
    problem: RegressionProblem, residual: np.ndarray, k: int, theta: np.ndarray,
    motion: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
) -> dict[str, object]:
    """Residuals of joint k beside its velocity and position, and its friction."""
    rows = some_rows(np.flatnonzero(problem.usable[:, k]), _DOTS)
    if motion is None or not len(rows):
        return {'velocity': [], 'position': [], 'residual': [], 'friction': None}
    rows = rows[np.argsort(motion[1][rows, k], kind='stable')]
    velocity, left = series(motion[1][rows, k]), residual[rows, k]
    laws = [friction_laws(problem, values, motion, rows)
            for values in (theta, problem.parameters.prior)]
    friction = None
    if laws[0] is not None and laws[1] is not None:
        identified, prior = laws[0][:, k], laws[1][:, k]
        if identified.any() or prior.any():
            friction = FrictionCurve(
                velocity=velocity, measured=series(identified + left),
                identified=series(identified), prior=series(prior))
    return {
        'velocity': velocity, 'position': series(motion[0][rows, k]), 'residual': series(left),
        'friction': friction}


def _over(x: Series, joint: JointResiduals, title: str, residual: str) -> Figure:
    return figure(
        [dots(x, joint.residual, 'residual', RESIDUAL)], axis(title), axis(residual),
        height=_HEIGHT, showlegend=False)


def _friction_figure(joint: JointResiduals, friction: FrictionCurve) -> Figure:
    return figure(
        [dots(friction.velocity, friction.measured, 'measured', INK, size=3.5,
              marker={'opacity': 0.35}),
         line(friction.velocity, friction.prior, 'before', BEFORE, width=2.0),
         line(friction.velocity, friction.identified, 'law', IDENTIFIED, width=2.0)],
        axis(_rate(joint.position_unit)), axis(f'friction [{joint.unit}]'), height=_HEIGHT)


def _rate(unit: str) -> str:
    return f'velocity [{unit}/s]'


def _middles(edges: Series) -> list[float]:
    return [0.5 * ((low or 0.0) + (high or 0.0))
            for low, high in zip(edges[:-1], edges[1:], strict=True)]
