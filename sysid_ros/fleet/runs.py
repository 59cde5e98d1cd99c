"""Runs of a batch as observations of a fleet: robots of one type, and why others are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sysid_ros.errors import EstimationError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.regression.consistent.fleet_coordinates import FleetCoordinates
from sysid_ros.fleet.observations import FleetObservations
from sysid_ros.fleet.record import FitRecord, FitStatus
from sysid_ros.fleet.results import estimates_of
from sysid_ros.mechanics.base_parameters import BaseParameters, base_parameters
from sysid_ros.robot.inertia import consistent_neighbour
from sysid_ros.robot.parameters import ParameterSet
from sysid_ros.runs.run_folder import RunFolder

# The median absolute deviation as a standard deviation.
_NORMAL_MAD = 1.4826


@dataclass(frozen=True, eq=False)
class FleetRuns:
    """Estimates of robots of one type.

    Attributes:
        estimates: Estimates by robot.
        setup: Robot and settings of the first run.
        base: Base parameters of all of them.
        skipped: Runs that do not count, each with the reason.
    """

    estimates: dict[str, list[Estimate]]
    setup: FitSetup
    base: BaseParameters
    skipped: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, records: Iterable[FitRecord], runs: Path) -> FleetRuns:
        """Runs that may be committed, of the type of robot that most of them are of.

        Args:
            records: Rows of the results of a batch.
            runs: Folder of its runs.

        Raises:
            EstimationError: No run can be used.
            SysidError: The settings of a run cannot be read.
        """
        records = tuple(records)
        skipped = [(each.run, each.status.value) for each in records
                   if each.status is not FitStatus.COMMITTABLE]
        found = [(record, estimate) for record, estimate in estimates_of(records, runs)
                 if record.status is FitStatus.COMMITTABLE]
        if not found:
            raise EstimationError(
                'no run is committable, and no other goes into a prior', where=str(runs),
                found=', '.join(dict.fromkeys(reason for _, reason in skipped)) or 'no run',
                fix='Look at the reasons in the table of results')
        kind, _ = Counter(_kind(estimate) for _, estimate in found).most_common(1)[0]
        estimates: dict[str, list[Estimate]] = {}
        for record, estimate in found:
            if _kind(estimate) == kind:
                estimates.setdefault(record.robot, []).append(estimate)
            else:
                skipped.append((record.run, _difference(_kind(estimate)[0], kind[0])))
        first = next(record for record, estimate in found if _kind(estimate) == kind)
        setup = RunFolder.open(runs / first.run).setup()
        return cls(estimates, setup, _base_of(setup, estimates[first.robot][0]), tuple(skipped))

    @property
    def coordinates(self) -> FleetCoordinates:
        """Coordinates around the description, and around the medians of frictions and offsets."""
        return coordinates_of([each for own in self.estimates.values() for each in own])

    @property
    def observations(self) -> FleetObservations:
        """What the runs know of each robot."""
        return FleetObservations.of(self.estimates, self.base.matrix)

    @property
    def base_names(self) -> tuple[str, ...]:
        """Base parameters by the names of their own parameters."""
        return tuple(self.base.names[k] for k in self.base.independent)


def coordinates_of(estimates: Sequence[Estimate]) -> FleetCoordinates:
    """Coordinates of the parameters that estimates have.

    Args:
        estimates: Estimates of the same parameters.
    """
    parameters = estimates[0].parameters
    values, steps = parameters.prior.copy(), np.zeros(len(parameters))
    values[~parameters.free] = parameters.values[~parameters.free]
    for body in parameters.bodies:
        block = parameters.body_slice(body)
        values[block] = consistent_neighbour(values[block])
    found = np.array([each.parameters.values for each in estimates])
    deviations = np.array([each.standard_deviation for each in estimates])
    for k, name in enumerate(parameters.names):
        if not parameters.free[k] or parameters.is_inertial(name):
            continue
        values[k] = np.median(found[:, k])
        if parameters.lower[k] != 0.0 or values[k] <= 0.0:
            steps[k] = _step(found[:, k], deviations[:, k])
    return FleetCoordinates(parameters.with_values(values), steps)


def _step(values: np.ndarray, deviations: np.ndarray) -> float:
    """A step of a parameter that has no logarithm: its spread, or how well it is known."""
    spread = _NORMAL_MAD * float(np.median(np.abs(values - np.median(values))))
    known = deviations[np.isfinite(deviations)]
    noise = float(np.median(known)) if known.size else 0.0
    return max(spread, noise) or 1.0


def _kind(estimate: Estimate) -> tuple[tuple[str, ...], tuple[str, ...], tuple[bool, ...]]:
    """Parameters, base parameters, and which of them are free: the same for robots of one type."""
    parameters: ParameterSet = estimate.parameters
    return parameters.names, estimate.base_names, tuple(map(bool, parameters.free))


def _difference(names: Sequence[str], others: Sequence[str]) -> str:
    strange = sorted({*names} ^ {*others})
    if not strange:
        return 'its links are placed otherwise than those of most robots, or others are fixed'
    shown = ', '.join(strange[:4]) + (' and more' if len(strange) > 4 else '')
    return (f'has other parameters than most robots: {shown}; say the joint terms in the settings, '
            'as robot: {terms: {viscous_friction: all, coulomb_friction: all}}')


def _base_of(setup: FitSetup, estimate: Estimate) -> BaseParameters:
    """Base parameters of an estimate.

    Raises:
        EstimationError: They are not those that its file says.
    """
    seed = int(estimate.provenance.get('base_seed', 0))
    base = base_parameters(setup.model, free=estimate.parameters.free, seed=seed)
    if base.equations != estimate.base_names:
        raise EstimationError(
            'the base parameters of a run are not those of its robot',
            where=setup.model.robot.name, fix='Fit again with this version: sysid batch')
    return base
