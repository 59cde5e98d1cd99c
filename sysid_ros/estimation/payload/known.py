"""What is known from elsewhere: weighed links, their total, and a load of known mass.

No recording shows a scale that all of its efforts have in common. A load of known mass does: what
it adds to the torques is as many times too large as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from sysid_ros.errors import ConfigurationError, did_you_mean
from sysid_ros.estimation.payload.payload import identify_payload
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.shape_search import held
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet
from sysid_ros.settings import StrictSettings

# A mass that was weighed stays within so many standard deviations of its scales.
_SIGMAS = 3.0
# A scale is off from this factor on where it is so many standard deviations away: who weighed a
# load wants to hear a doubt. One is told if it deviates by less than this.
_FACTOR, _DOUBTED, _TOLD = 1.05, 2.0, 0.1

_Mass = Annotated[float, Field(gt=0.0)]


class KnownLoad(StrictSettings):
    """A load of known mass that the robot carried in a recording of its own.

    Attributes:
        recording: Settings file of that recording, relative to the file that names it.
        mass: Mass in [kg].
        link: Link that carries it; by default the end of the chain.
    """

    recording: str
    mass: _Mass
    link: str | None = None


class Known(StrictSettings):
    """The ``known:`` section of a settings file.

    Attributes:
        masses: Weighed masses by link in [kg], each of all that moves as one with the link.
        total_mass: Mass of all that moves, in [kg]; consistent estimators keep it.
        accuracy: Standard deviation of all these masses, in parts.
        payload: A load of known mass.
    """

    masses: dict[str, _Mass] = {}
    total_mass: _Mass | None = None
    accuracy: Annotated[float, Field(gt=0.0, lt=0.3)] = 0.01
    payload: KnownLoad | None = None

    @property
    def plausibility(self) -> dict[str, float]:
        """Plausibility limits that follow from the weighed masses."""
        return {} if self.total_mass is None else {'weighed_mass': _SIGMAS * self.accuracy}

    def parameters(self, model: TorqueModel) -> ParameterSet:
        """The model's parameters with priors and bounds by what was weighed.

        The whole body is scaled: its density is what was wrong, so far as anyone knows. What was
        not weighed shares what is left of the total in the proportions of the description.

        Args:
            model: The torque model.

        Raises:
            ConfigurationError: There is no such link, a body is weighed twice, or the total is
                less than its parts.
        """
        parameters = model.parameters
        if not self.masses and self.total_mass is None:
            return parameters
        weighed = self._weighed(model.robot)
        masses = {
            body: parameters.prior[parameters.index(f'{body}.mass')]
            for body in parameters.bodies}
        if self.total_mass is not None:
            rest = self.total_mass - sum(weighed.values())
            others = sum(mass for body, mass in masses.items() if body not in weighed)
            if rest <= 0.0 < others or rest > 0.0 >= others:
                raise ConfigurationError(
                    'is not what the weighed links and the others make together',
                    where='known.total_mass', found=self.total_mass,
                    fix='Give the mass of all that moves, without the base')
            share = rest / others if others > 0.0 else 1.0
            masses = {body: share * mass for body, mass in masses.items()}
        return self._bounded(parameters, masses | weighed, weighed)

    def mass_of(self, robot: RobotModel, bodies: np.ndarray) -> float | None:
        """What is known of the mass of some bodies together, in [kg]; None where nothing is.

        Args:
            robot: The robot.
            bodies: Mask of the bodies, ``(b,)``, in its order.

        Raises:
            ConfigurationError: There is no such link, or a body is weighed twice.
        """
        weighed = self._weighed(robot)
        these = {name for name, own in zip(robot.body_names, bodies, strict=True) if own}
        others = set(robot.body_names) - these
        if these <= set(weighed):
            return sum(weighed[name] for name in these)
        if self.total_mass is None or not others <= set(weighed):
            return None
        return self.total_mass - sum(weighed[name] for name in others)

    def _weighed(self, robot: RobotModel) -> dict[str, float]:
        """Weighed masses by body."""
        bodies = {link.name: link.body for link in robot.links}
        weighed: dict[str, float] = {}
        for link, mass in self.masses.items():
            if link not in bodies:
                raise ConfigurationError(
                    'there is no such moving link', where='known.masses', found=repr(link),
                    allowed=', '.join(bodies), fix=did_you_mean(link, tuple(bodies)))
            if bodies[link] in weighed:
                raise ConfigurationError(
                    'moves as one with another weighed link', where='known.masses', found=link,
                    fix='Give the mass of both together, under one name')
            weighed[bodies[link]] = mass
        return weighed

    def _bounded(
        self, parameters: ParameterSet, masses: dict[str, float], weighed: dict[str, float]
    ) -> ParameterSet:
        prior, values = parameters.prior.copy(), parameters.values.copy()
        lower, upper = parameters.lower.copy(), parameters.upper.copy()
        for body, mass in masses.items():
            block = parameters.body_slice(body)
            before = prior[block][0]
            if before > 0.0:
                prior[block] *= mass / before
                values[block] = prior[block]
            if body in weighed:
                lower[block.start] = mass * (1.0 - _SIGMAS * self.accuracy)
                upper[block.start] = mass * (1.0 + _SIGMAS * self.accuracy)
        return ParameterSet(
            parameters.names, parameters.units, values, prior, lower, upper, parameters.free)


@dataclass(frozen=True)
class LoadFinding:
    """A load of known mass, as the torques tell it.

    Attributes:
        mass: What it weighs, in [kg].
        found: What the torques make of it, in [kg].
        deviation: Standard deviation of their ratio, that of the scales included; infinite where
            the recordings do not tell it.
    """

    mass: float
    found: float
    deviation: float

    @property
    def scale(self) -> float:
        """Recorded effort per torque."""
        return self.found / self.mass

    @property
    def determined(self) -> bool:
        """Whether the recordings determine the scale at all."""
        return self.deviation < _TOLD * max(self.scale, 1.0)

    @property
    def off(self) -> bool:
        """Whether efforts and known mass contradict each other beyond chance."""
        error = abs(self.scale - 1.0)
        return self.determined and error > max(_FACTOR - 1.0, _DOUBTED * self.deviation)


def find_load(
    known: KnownLoad, accuracy: float, loaded: RegressionProblem, empty: RegressionProblem,
    values: np.ndarray,
) -> LoadFinding:
    """Compare a load of known mass with what the torques make of it.

    Args:
        known: The load.
        accuracy: Standard deviation of its mass, in parts.
        loaded: Rows of the recording with the load.
        empty: Rows without it.
        values: Parameters found without it, shape ``(p,)``, at which what is not linear is held.

    Raises:
        ConfigurationError: The link does not exist, or the end of the robot is not clear.
        EstimationError: There are too few rows, or they tell nothing of the load.
    """
    shapes = empty.model.shapes
    estimate = identify_payload(
        held(loaded, values, shapes) if shapes else loaded,
        held(empty, values, shapes) if shapes else empty, link=known.link)
    # Without the constraints of a real body: what a wrong scale makes of one need not be one.
    found = float(estimate.unconstrained[0])
    deviation = float(estimate.standard_deviation[0]) / known.mass
    return LoadFinding(known.mass, found, float(np.hypot(deviation, accuracy * found / known.mass)))
