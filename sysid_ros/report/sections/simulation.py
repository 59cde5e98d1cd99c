"""Error of forward simulation against its horizon."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.evaluation.simulation import Simulation, SimulationErrors
from sysid_ros.report.plots import BEFORE, COASTING, IDENTIFIED, Figure, axis, figure, line
from sysid_ros.report.report_source import ReportSource, file_names
from sysid_ros.report.sections.section import ReportModel, Section
from sysid_ros.report.series import Number, Series, some_rows

# Horizons begin here, in [s]: shorter ones show the noise of the encoders.
_SHORTEST = 0.05
_POINTS = 60


class JointDrift(ReportModel):
    """Root mean square error of position in [rad] or [m] at each horizon."""

    joint: str
    unit: str
    identified: Series
    prior: Series
    coasting: Series


class SimulationSection(Section):
    """Errors of motion simulated open loop under the measured torque.

    Attributes:
        horizon: Horizons in [s].
        stretches: Number of stretches.
        source: Recording that they are of.
        joints: Errors of the joints that move.
        still: Joints that do not.
        problems: What prevents a simulation, in words, with ``identified`` or ``prior``.
        relative: Error over that of coasting at the longest horizon, all moving joints.
        prior_relative: The same of the description.
    """

    section: Literal['simulation'] = 'simulation'
    title: ClassVar[str] = 'Forward simulation'
    horizon: Series
    stretches: int
    source: str
    joints: list[JointDrift]
    still: list[str]
    problems: list[str]
    relative: Number
    prior_relative: Number

    @classmethod
    def of(cls, source: ReportSource) -> Self | None:
        """Simulated stretches of a run; None where it has none."""
        run = source.simulation
        if run is None:
            return None
        rows = some_rows(np.flatnonzero(run.t >= _SHORTEST - 1e-9), _POINTS)
        if not len(rows):
            rows = np.array([len(run.t) - 1])
        identified, prior, coasting = (
            _drift(run, errors)[rows] for errors in (run.candidate, run.prior, run.coasting))
        return cls(
            horizon=[round(float(t), 4) for t in run.t[rows]], stretches=len(run.starts),
            source=file_names(run.source),
            joints=[
                JointDrift(
                    joint=run.joint_names[k], unit=run.units[k],
                    identified=_plain(identified[:, k]), prior=_plain(prior[:, k]),
                    coasting=_plain(coasting[:, k]))
                for k in np.flatnonzero(run.moving)],
            still=[run.joint_names[k] for k in np.flatnonzero(~run.moving)],
            problems=[
                f'{word}: {text}' for word, errors in (
                    ('identified', run.candidate), ('before the fit', run.prior))
                if (text := errors.problem()) is not None],
            relative=run.relative(run.candidate), prior_relative=run.relative(run.prior))

    def figures(self) -> dict[str, Figure]:
        """A figure of every moving joint."""
        return {f'drift-{k}': self._figure(joint) for k, joint in enumerate(self.joints)}

    def _figure(self, joint: JointDrift) -> Figure:
        traces = [
            line(self.horizon, values, name, colour, width=1.6)
            for name, values, colour in (
                ('identified', joint.identified, IDENTIFIED),
                ('before the fit', joint.prior, BEFORE),
                ('coasting', joint.coasting, COASTING))]
        return figure(
            traces, axis('horizon [s]', rangemode='tozero'),
            axis(f'RMS error [{joint.unit}]', type='log', exponentformat='power', dtick=1),
            height=250)


def _drift(run: Simulation, errors: SimulationErrors) -> np.ndarray:
    """Root mean square over the stretches that go on, shape ``(k, n)``."""
    squares = (errors.path - run.measured) ** 2
    with np.errstate(invalid='ignore', over='ignore'):
        counted = np.isfinite(squares)
        total = np.where(counted, squares, 0.0).sum(axis=0)
        # A stretch that has diverged is no small error: nothing is drawn where one has.
        return np.where(counted.all(axis=0), np.sqrt(total / len(squares)), np.nan)


def _plain(values: np.ndarray) -> Series:
    """Values of a logarithmic axis, four digits each."""
    return [float(f'{value:.4g}') if np.isfinite(value) and value > 0.0 else None
            for value in values]
