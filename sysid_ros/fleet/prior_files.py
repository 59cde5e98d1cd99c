"""The prior of a fleet as files: for the next robot a description and settings, and the rest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from sysid_ros.errors import EstimationError, ReleaseError, listed, unreadable
from sysid_ros.estimation.estimator import settings_of
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.regression.consistent.fleet_prior import FleetLeastSquares
from sysid_ros.fleet.anomalies import FALSE_ALARMS
from sysid_ros.fleet.prior import FleetCluster, FleetPrior, fleet_prior
from sysid_ros.fleet.record import FitRecord
from sysid_ros.fleet.runs import FleetRuns
from sysid_ros.fleet.sources import without_files
from sysid_ros.release.atomic import write_atomically
from sysid_ros.release.description_export import export_description
from sysid_ros.release.mechanism_export import identified_mechanism
from sysid_ros.runs.stored_robot import stored_robot

#: Names of the files: of each cluster its own description and settings.
FLEET, SETTINGS = 'fleet.json', 'settings.yaml'
_DESCRIPTION = {'urdf': 'robot.urdf', 'mjcf': 'robot.xml'}
_HEADER = """\
# Prior of {count} robots of one type, for the next one: sysid fit BAG --settings this file, or a
# row of sysid batch; for sysid fit of a CSV or NPZ file, add it as recording: file.
# The description has the mean of the fleet, {strength}.
"""
# Names of robots that are shown.
_MOST = 12


@dataclass(frozen=True, eq=False)
class WrittenPrior:
    """The prior of a fleet, and where it is.

    Attributes:
        prior: The prior.
        folders: Folder of each cluster, with the description and the settings for a new robot.
        skipped: Runs that did not count, each with the reason.
    """

    prior: FleetPrior
    folders: tuple[Path, ...]
    skipped: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        lines = []
        for cluster, folder in zip(self.prior.clusters, self.folders, strict=True):
            unlike = f', unlike the others in {cluster.part}' if cluster.part else ''
            lines.append(f'{folder.name}: {len(cluster.robots)} robots{unlike}: '
                         f'{listed(cluster.robots, _MOST)}')
            lines += self._foretold(cluster)
        for one in self.prior.outliers:
            lines.append(
                f'outlier: {one.robot} in {one.part}: {one.parameter} is {one.value:.3g}, '
                f'others {one.expected:.3g} ± {1.96 * one.deviation:.2g}')
        if not self.prior.outliers:
            lines.append(f'no outliers, at {100.0 * self.prior.false_alarms:g} % false alarms')
        lines += [f'not counted: {run}: {reason}' for run, reason in self.skipped[:_MOST]]
        return '\n'.join(lines)

    def _foretold(self, cluster: FleetCluster) -> list[str]:
        """How well the others foretell each robot, in a line."""
        own = [each for each in self.prior.left_out if each.robot in cluster.robots]
        if not own:
            return []
        after, before = (100.0 * float(np.median(errors)) for errors in zip(
            *((each.error, each.prior_error) for each in own), strict=True))
        return [f'  a robot that is left out: torque within {after:.3g} % by the mean of the '
                f'others, {before:.3g} % by the description (medians)']


def write_prior(
    records: Iterable[FitRecord], runs: Path, folder: Path, *, false_alarms: float = FALSE_ALARMS
) -> WrittenPrior:
    """Estimate the prior of a fleet from the runs of a batch, and write it.

    Args:
        records: Rows of the results.
        runs: Folder of the runs.
        folder: Folder to write: ``fleet.json`` with all of it, and for each cluster a folder
            ``prior_1``, ``prior_2`` and so on with a description and settings for a new robot.
        false_alarms: Rate at which an outlier or a cluster is named in a fleet that has none.

    Raises:
        EstimationError: There are too few committable runs of one type of robot.
        ReleaseError: A file cannot be written.
    """
    fleet = FleetRuns.of(records, runs)
    prior = fleet_prior(
        fleet.observations, fleet.coordinates, fleet.base.factor, fleet.base_names,
        false_alarms=false_alarms)
    folders = []
    for number, cluster in enumerate(prior.clusters, start=1):
        folders.append(folder / f'prior_{number}')
        _write_cluster(cluster, fleet.setup, folders[-1])
    _remove_after(len(folders), folder)
    text = json.dumps(prior.to_json(), indent=1, allow_nan=False)
    write_atomically(folder / FLEET, text.encode())
    return WrittenPrior(prior, tuple(folders), fleet.skipped)


def read_prior(path: str | Path) -> FleetPrior:
    """The prior of a fleet that was written.

    Args:
        path: Its ``fleet.json``.

    Raises:
        EstimationError: It cannot be read, or is no prior.
    """
    path = Path(path)
    try:
        return FleetPrior.from_json(json.loads(path.read_text(encoding='utf-8')))
    except (OSError, RecursionError, ValueError) as error:
        raise unreadable(EstimationError, path, error, 'Make it again: sysid batch --prior') from (
            error)


def _remove_after(count: int, folder: Path) -> None:
    """Take away the settings of clusters that an earlier call found, and that are no more."""
    number = count + 1
    while (file := folder / f'prior_{number}' / SETTINGS).is_file():
        file.unlink()
        number += 1


def _write_cluster(cluster: FleetCluster, setup: FitSetup, folder: Path) -> None:
    """Write description and settings for a robot that is expected to be one of a cluster."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReleaseError(
            f'cannot be written: {error.strerror}', where=str(folder),
            fix='Name a folder that can be written to') from error
    robot = setup.model.robot
    name = _DESCRIPTION[robot.description.format]
    section, files = stored_robot(setup, name)
    parameters = setup.model.parameters.with_values(cluster.distribution.theta)
    files[name] = export_description(robot, parameters).xml
    if robot.description.mechanism is not None:
        files[section['description']] = identified_mechanism(robot, parameters)[0].encode()
    for file, content in files.items():
        write_atomically(folder / file, content)
    settings = _settings(cluster, setup, section)
    strength = ('and fleet: how far its robots are from it' if 'fleet' in settings['fit'] else
                'and prior_strength is the inverse of its variance')
    # Rows of the covariance on a line each.
    text = _HEADER.format(count=len(cluster.robots), strength=strength) + yaml.safe_dump(
        settings, sort_keys=False, allow_unicode=True, default_flow_style=None, width=10_000)
    write_atomically(folder / SETTINGS, text.encode())


def _settings(
    cluster: FleetCluster, setup: FitSetup, robot: Mapping[str, Any]
) -> dict[str, Any]:
    """Settings of the runs, with the fleet's description and distribution.

    Estimators that cannot take the distribution have the strength of a prior instead; and so has
    the entropic one where a body is fixed in part.
    """
    settings = setup.settings.model_dump(
        mode='json', exclude_unset=True, exclude={'folder', 'known'})
    settings['robot'] |= robot
    settings['recording'] = without_files(settings['recording'])
    estimator, distribution = setup.settings.fit.estimator, cluster.distribution
    fit = _without_strength(settings.get('fit', {}))
    if estimator in fit:
        fit[estimator] = _without_strength(fit[estimator])
    if estimator == FleetLeastSquares.name and distribution.coordinates.whole_bodies:
        fleet = distribution.as_prior(len(cluster.robots))
        fit = fit | {'fleet': fleet.model_dump(mode='json', exclude_defaults=True)}
    elif 'prior_strength' in settings_of(estimator):
        fit = fit | {'prior_strength': float(f'{cluster.prior_strength:.3g}')}
    return settings | {'fit': fit}


def _without_strength(section: Mapping[str, Any]) -> dict[str, Any]:
    """A section without how strong the prior was, or how that was searched for."""
    return {key: value for key, value in section.items()
            if key not in ('prior_strength', 'strength_search')}
