"""Positions, velocities, accelerations and efforts of a planned motion against their limits."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.report.planned_motion import PlannedMotion
from sysid_ros.report.plots import (
    COLOURS,
    IDENTIFIED,
    RESIDUAL,
    Figure,
    Trace,
    axis,
    figure,
    label,
    line,
)
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number, Series, bucket_starts, envelope, series

# Points of a line: two of each bucket. Fewer for robots of many joints, for the size of the page.
_BUCKETS, _ALL_BUCKETS = 500, 7000
# Frequencies whose amplitude no joint reaches, in parts of its peak, are left out.
_SEEN = 1e-2
_COLOURS = dict(zip(
    ('position', 'velocity', 'acceleration', 'effort'), COLOURS, strict=False))


class PlannedQuantity(ReportModel):
    """A quantity of a joint over time, and what the robot and the margins allow.

    Attributes:
        quantity: ``'position'``, ``'velocity'``, ``'acceleration'`` or ``'effort'``.
        unit: Of all that follows.
        values: At the times of the section.
        lower: Lowest allowed value; None where there is none.
        upper: Highest allowed value.
        used: Largest part of the limit that is used, margins included: 1 is the limit.
    """

    quantity: str
    unit: str
    values: Series
    lower: Number
    upper: Number
    used: Number


class PlannedJoint(ReportModel):
    """Planned motion of one joint."""

    joint: str
    quantities: list[PlannedQuantity]


class MotionLimitsSection(Section):
    """A motion against its limits.

    Attributes:
        time: In [s]; long motions are the smallest and largest values of short stretches.
        joints: What each joint does.
        frequency: In [Hz].
        spectra: Amplitudes of the accelerations of each joint, in parts of its largest.
    """

    section: Literal['motion_limits'] = 'motion_limits'
    title: ClassVar[str] = 'Against its limits'
    time: Series
    joints: list[PlannedJoint]
    frequency: Series
    spectra: list[Series]

    @classmethod
    def of_motion(cls, source: PlannedMotion) -> Self:
        """The section of a motion."""
        motion, names = source.motion, source.excitation.joint_names
        starts = bucket_starts(len(motion.t), min(_BUCKETS, _ALL_BUCKETS // max(len(names), 1)))
        shown = motion.t if starts is None else np.repeat(motion.t[starts], 2)
        frequency, spectra = _spectra(motion.t, motion.a)
        return cls(
            time=series(shown), frequency=series(frequency),
            spectra=[series(column) for column in spectra.T],
            joints=[PlannedJoint(joint=name, quantities=_quantities(source, k, starts))
                    for k, name in enumerate(names)])

    def figures(self) -> dict[str, Figure]:
        """Shares of the limits, the spectrum, and a figure of every joint."""
        return {
            'used': self._used(), 'spectrum': self._spectrum(),
            **{f'joint-{k}': self._joint(joint) for k, joint in enumerate(self.joints)}}

    def _used(self) -> Figure:
        names = [label(joint.joint) for joint in self.joints]
        by_quantity: dict[str, list[float | None]] = {}
        for joint in self.joints:
            for each in joint.quantities:
                share = None if each.used is None else round(100.0 * each.used, 2)
                by_quantity.setdefault(each.quantity, []).append(share)
        bars: list[Trace] = [
            {'type': 'bar', 'name': label(name), 'x': names, 'y': shares,
             'marker': {'color': _COLOURS.get(name, IDENTIFIED)},
             'hovertemplate': '%{x}: %{y:.0f} %<extra></extra>'}
            for name, shares in by_quantity.items()]
        return figure(
            bars, axis(type='category'), axis('used [% of the limit]', range=[0, 108]),
            height=320, barmode='group', bargap=0.3, shapes=[_level(100.0, 'y')])

    def _spectrum(self) -> Figure:
        return figure(
            [line(self.frequency, values, label(joint.joint), COLOURS[k % len(COLOURS)], width=1.2)
             for k, (joint, values) in enumerate(zip(self.joints, self.spectra, strict=True))],
            axis('frequency [Hz]', rangemode='tozero'),
            axis('acceleration [of its peak]', rangemode='tozero'), height=280)

    def _joint(self, joint: PlannedJoint) -> Figure:
        count = max(len(joint.quantities), 1)
        data, shapes, axes = [], [], {}
        for k, each in enumerate(joint.quantities):
            place = f'{k + 1}' if k else ''
            data.append(line(self.time, each.values, label(each.quantity), IDENTIFIED, width=1.2,
                             yaxis=f'y{place}'))
            shapes += [_level(bound, f'y{place}') for bound in (each.lower, each.upper)
                       if bound is not None]
            axes[f'yaxis{place}'] = axis(
                f'{label(each.quantity)}<br>[{label(each.unit)}]',
                domain=[1.0 - (k + 0.9) / count, 1.0 - k / count])
        last = f'{count}' if count > 1 else ''
        first = axes.pop('yaxis', axis())
        return figure(
            data, axis('time [s]', anchor=f'y{last}'), first, height=90 + 120 * count,
            showlegend=False, shapes=shapes, **axes)


def _quantities(
    source: PlannedMotion, k: int, starts: np.ndarray | None
) -> list[PlannedQuantity]:
    limits, used = source.designer.limits, source.verification.used
    sliding = source.designer.model.robot.joint_types[k] == 'prismatic'
    length, force = ('m', 'N') if sliding else ('rad', 'N·m')
    motion = source.motion
    return [
        PlannedQuantity(
            quantity=name, unit=unit, values=series(envelope(values[:, k], starts)),
            lower=lower[k], upper=upper[k],
            used=used[name][k] if name in used else None)
        for name, unit, values, lower, upper in (
            ('position', length, motion.q, limits.lower, limits.upper),
            ('velocity', f'{length}/s', motion.v, -limits.velocity, limits.velocity),
            ('acceleration', f'{length}/s²', motion.a, -limits.acceleration, limits.acceleration),
            ('effort', force, source.torque, -limits.effort, limits.effort))]


def _level(value: float, y: str) -> dict[str, object]:
    """A dashed line across a figure at a limit."""
    return {
        'type': 'line', 'xref': 'paper', 'x0': 0, 'x1': 1, 'yref': y, 'y0': value, 'y1': value,
        'line': {'color': RESIDUAL, 'dash': 'dot', 'width': 1.2}}


def _spectra(t: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Amplitudes of accelerations in parts of each joint's largest, as far as any is seen."""
    frequency = np.fft.rfftfreq(len(t), t[1] - t[0])
    amplitude = np.abs(np.fft.rfft(a, axis=0))
    size = amplitude.max(axis=0)
    amplitude = amplitude / np.where(size > 0.0, size, 1.0)
    seen = np.flatnonzero((amplitude > _SEEN).any(axis=1))
    stop = min(int(seen[-1]) + 5, len(frequency)) if len(seen) else 1
    return frequency[:stop], amplitude[:stop]
