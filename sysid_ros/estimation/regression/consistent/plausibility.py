"""Ranges that a plausible robot lies in, and the parameters that they are ranges of."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.base_parameters import BaseParameters
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.parameters import ParameterSet
from sysid_ros.settings import StrictSettings

# Tool of a robot whose description has none, in parts of the mass from the base to it.
_TOOL = 0.3


class Plausibility(StrictSettings):
    """How far bodies may stray from the prior, and how large joint terms may be.

    Attributes:
        margin: Smallest consistency margin of a body, between 0 and 1.
        mass_factor: A mass stays between prior / factor and prior · factor; above 1.
        tool_mass: A body at an end may weigh so much more, in parts of all from the base to it: a
            tool that the description lacks. None for 0.3, or 0 where mass_factor is given.
        total_mass: The moving mass that torques feel stays within this fraction of the prior's.
        weighed_mass: All of it does so within this one, for a prior that was weighed; None where
            it was not.
        term_factor: A friction, spring or drive inertia takes no more than so many times the torque
            of its joint, at the recorded motion or, where the joint hardly moves, at slow motion;
            or so many times its prior.
        effort_limits: Whether frictions, drive inertias and constant torques stay within what the
            effort limits of the description overcome, where recorded efforts do.
        shape_margin: A body's mass lies within the least ellipsoid around its shapes, so many times
            as large; 1 or more, None for anywhere.
        size_factor: That of a body without shapes, or whose prior is not inside of them, lies
            within so many radii of gyration about the prior's centre of mass, or as far as
            whatever is known of the body; above 1.
    """

    margin: float = 1e-3
    mass_factor: float = 3.0
    tool_mass: float | None = None
    total_mass: float = 0.3
    weighed_mass: float | None = None
    term_factor: float = 5.0
    effort_limits: bool = True
    shape_margin: float | None = 1.2
    size_factor: float = 10.0

    @property
    def tool_share(self) -> float:
        """The tool's mass in parts of all from the base to it, said or not."""
        if self.tool_mass is not None:
            return self.tool_mass
        return 0.0 if 'mass_factor' in self.model_fields_set else _TOOL

    def model_post_init(self, _: object) -> None:
        """Refuse limits that contradict the prior itself."""
        allowed = {
            'margin': 0.0 < self.margin < 1.0,
            'mass_factor': self.mass_factor > 1.0,
            'tool_mass': self.tool_mass is None or self.tool_mass >= 0.0,
            'total_mass': self.total_mass > 0.0,
            'weighed_mass': self.weighed_mass is None or self.weighed_mass > 0.0,
            'term_factor': self.term_factor >= 1.0,
            'shape_margin': self.shape_margin is None or self.shape_margin >= 1.0,
            'size_factor': self.size_factor > 1.0,
        }
        for name, fits in allowed.items():
            if not fits:
                raise ConfigurationError(
                    'the plausible range does not contain the prior', where=name,
                    found=getattr(self, name),
                    allowed='margin in (0, 1), mass_factor > 1, tool_mass >= 0, total_mass and '
                    'weighed_mass > 0, term_factor >= 1, shape_margin >= 1 or null, '
                    'size_factor > 1',
                    fix='Leave it out for its default',
                )


class SteppedParameters(Protocol):
    """What constraints are made of: parameters whose changes are written in the prior's steps."""

    @property
    def model(self) -> TorqueModel:
        """Torque model of the robot."""

    @property
    def parameters(self) -> ParameterSet:
        """Priors, bounds and names, p of them."""

    @property
    def free(self) -> np.ndarray:
        """Mask of the f parameters that may change, shape ``(p,)``."""

    @property
    def reference(self) -> np.ndarray:
        """Values at z = 0, shape ``(p,)``."""

    @property
    def scale(self) -> np.ndarray:
        """The prior's steps, shape ``(p, f)``."""

    @property
    def base(self) -> BaseParameters:
        """Base parameters of the free parameters."""
