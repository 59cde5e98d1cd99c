"""Error of forward simulation against its horizon, of every joint and of the ends of the robot."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np

from sysid_ros.errors import SysidError
from sysid_ros.evaluation.simulation import Simulation, SimulationErrors
from sysid_ros.mechanics.tree.kinematics import body_poses
from sysid_ros.report.player import Player, player, skeleton_layer
from sysid_ros.report.plots import BEFORE, COASTING, IDENTIFIED, Figure, axis, figure, line
from sysid_ros.report.report_model import ReportModel
from sysid_ros.report.report_source import ReportSource, file_names
from sysid_ros.report.sections.section import Section
from sysid_ros.report.series import Number, Series, logarithmic, some_rows
from sysid_ros.report.simulated_motion import SimulatedMotion
from sysid_ros.robot.links import LinkPlacement
from sysid_ros.robot.model import RobotModel

# Horizons begin here, in [s]: shorter ones show the noise of the encoders.
_SHORTEST = 0.05
_POINTS = 60
# Most ends of a robot.
_MOST_ENDS = 8


class JointDrift(ReportModel):
    """Root mean square error of position in [rad] or [m] at each horizon."""

    joint: str
    unit: str
    identified: Series
    prior: Series
    coasting: Series


class EndDrift(ReportModel):
    """Root mean square distance of a link's origin from where it was in [mm] at each horizon."""

    link: str
    identified: Series
    prior: Series
    coasting: Series


class SimulationSection(Section):
    """Errors of motion simulated open loop under what was measured or commanded.

    Attributes:
        horizon: Horizons in [s].
        stretches: Number of stretches.
        source: Recording that they are of.
        joints: Errors of the joints that move.
        ends: Errors of the links that are farthest out.
        still: Joints that do not.
        problems: What prevents a simulation, in words, with ``identified`` or ``prior``.
        relative: Error over that of coasting at the longest horizon, all moving joints.
        prior_relative: The same of the description.
        under: What drove the simulation, in words.
        motion: Some of the stretches to play; None in older reports, and where the robot cannot be
            placed as simulated.
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
    ends: list[EndDrift] = []
    under: str = 'the measured torque'
    motion: SimulatedMotion | None = None

    @classmethod
    def of(cls, source: ReportSource) -> Self | None:
        """Simulated stretches of a run; None where it has none."""
        run, robot = source.simulation, source.judged.model.robot
        if run is None:
            return None
        # Without the position of a joint the robot cannot be placed as measured.
        is_placed = run.joint_names == robot.joint_names
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
                    identified=logarithmic(identified[:, k]), prior=logarithmic(prior[:, k]),
                    coasting=logarithmic(coasting[:, k]))
                for k in np.flatnonzero(run.moving)],
            ends=_ends(robot, run, rows) if is_placed else [],
            still=[run.joint_names[k] for k in np.flatnonzero(~run.moving)],
            problems=[
                f'{word}: {text}' for word, errors in (
                    ('identified', run.candidate), ('before the fit', run.prior))
                if (text := errors.problem()) is not None],
            relative=run.relative(run.candidate), prior_relative=run.relative(run.prior),
            under=run.under, motion=SimulatedMotion.of(robot, run) if is_placed else None)

    def figures(self) -> dict[str, Figure]:
        """A figure of every moving joint, and of every end."""
        return {
            **{f'drift-{k}': self._figure(joint, joint.unit)
               for k, joint in enumerate(self.joints)},
            **{f'end-{k}': self._figure(end, 'mm') for k, end in enumerate(self.ends)}}

    def players(self) -> dict[str, Player]:
        """The robot as measured, and as each model moves it."""
        if self.motion is None:
            return {}
        return {'motion': player(self.motion.measured, [
            skeleton_layer('before the fit', BEFORE, self.motion.prior),
            skeleton_layer('identified', IDENTIFIED, self.motion.identified)], ())}

    def _figure(self, errors: JointDrift | EndDrift, unit: str) -> Figure:
        traces = [
            line(self.horizon, values, name, colour, width=1.6)
            for name, values, colour in (
                ('identified', errors.identified, IDENTIFIED),
                ('before the fit', errors.prior, BEFORE),
                ('coasting', errors.coasting, COASTING))]
        return figure(
            traces, axis('horizon [s]', rangemode='tozero'),
            axis(f'RMS error [{unit}]', type='log', exponentformat='power', dtick=1),
            height=250)


def end_links(robot: RobotModel) -> list[LinkPlacement]:
    """Of each body that carries no other, the link whose origin is farthest from its joint.

    Args:
        robot: The robot.
    """
    parents = set(robot.tree.parent.tolist())
    farthest: dict[str, LinkPlacement] = {}
    for link in robot.links:
        before = farthest.get(link.body)
        if robot.place_of(link.name)[0] not in parents and (
            before is None or _reach(link) > _reach(before)
        ):
            farthest[link.body] = link
    return list(farthest.values())


def _reach(link: LinkPlacement) -> float:
    return float(np.linalg.norm(link.pose[:3, 3]))


def _ends(robot: RobotModel, run: Simulation, rows: np.ndarray) -> list[EndDrift]:
    """Errors of the ends of a robot; none where it cannot be placed as simulated."""
    links = end_links(robot)[:_MOST_ENDS]
    try:
        measured, *paths = (
            _places(robot, links, path[:, rows]) for path in (
                run.measured, run.candidate.path, run.prior.path, run.coasting.path))
    except SysidError:
        return []
    away = [1e3 * _root_mean_square(np.sum((path - measured) ** 2, axis=3)) for path in paths]
    return [
        EndDrift(link=link.name, **{
            name: logarithmic(distance[:, k]) for name, distance in zip(
                ('identified', 'prior', 'coasting'), away, strict=True)})
        for k, link in enumerate(links)]


def _places(robot: RobotModel, links: list[LinkPlacement], path: np.ndarray) -> np.ndarray:
    """Origins of links along paths ``(S, k, n)`` in [m], ``(S, k, links, 3)``; NaN after a hole."""
    q = path.reshape(-1, path.shape[2])
    there = np.isfinite(q).all(axis=1)
    places = np.full((len(q), len(links), 3), np.nan)
    if there.any():
        bodies = np.array([robot.place_of(link.name)[0] for link in links])
        points = np.array([link.pose[:3, 3] for link in links])
        places[there] = body_poses(robot, q[there]).points(bodies, points)
    return places.reshape(*path.shape[:2], len(links), 3)


def _drift(run: Simulation, errors: SimulationErrors) -> np.ndarray:
    """Root mean square over the stretches, shape ``(k, n)``; NaN where one has diverged."""
    with np.errstate(over='ignore'):
        return _root_mean_square((errors.path - run.measured) ** 2)


def _root_mean_square(squares: np.ndarray) -> np.ndarray:
    """Root of the mean over the stretches, the first axis."""
    with np.errstate(invalid='ignore', over='ignore'):
        counted = np.isfinite(squares)
        total = np.where(counted, squares, 0.0).sum(axis=0)
        # A stretch that has diverged is no small error: nothing is drawn where one has.
        return np.where(counted.all(axis=0), np.sqrt(total / len(squares)), np.nan)
