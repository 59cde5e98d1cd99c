"""Settings of the recursion: how steps are done, and what their prior is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from sysid_ros.errors import ConfigurationError
from sysid_ros.estimation.regression.consistent.plausibility import Plausibility
from sysid_ros.estimation.regression.recursive.recursive_prior import Regulariser
from sysid_ros.estimation.regression.weighting import require_prior


@dataclass(frozen=True)
class RecursionSettings:
    """Settings of the recursion.

    Args:
        prior_strength: The weight alpha of the divergence in squared standard deviations of the
            torque noise; with ``balanced`` strength its share of the information.
        strength: ``constant``, or ``balanced``: alpha follows the information, which costs
            several times a step.
        regulariser: ``plausible``: log-determinants of all bodies, and of the distances to all
            bounds of masses and friction. ``log_det``: log-determinants of the bodies, and half
            the squared distance of all else. ``l2``: half the squared distance of everything.
        plausibility: Margins and ranges of masses, for ``plausible``.
        rest_weight: Weight of squared distances, for the other two.
        forgetting: ``none``; ``exponential``, of all there is; or ``directional``, of what a
            sample tells anew, which costs half a step.
        memory: Part that a sample leaves of what is forgotten for it, above 0 and at most 1.
        max_iterations: Newton iterations of a step at most.
        tolerance: Squared Newton decrement, in units of alpha, below which one is enough.
    """

    prior_strength: float = 0.1
    strength: Literal['constant', 'balanced'] = 'constant'
    regulariser: Regulariser = 'plausible'
    plausibility: Plausibility = field(default_factory=Plausibility)
    rest_weight: float = 1e-3
    forgetting: Literal['none', 'exponential', 'directional'] = 'none'
    memory: float = 1.0
    max_iterations: int = 2
    tolerance: float = 1e-6

    name: ClassVar[str] = 'recursive'

    def __post_init__(self) -> None:
        require_prior(self.prior_strength)
        allowed = {
            'strength': self.strength in ('constant', 'balanced'),
            'regulariser': self.regulariser in ('plausible', 'log_det', 'l2'),
            'forgetting': self.forgetting in ('none', 'exponential', 'directional'),
            'memory': 0.0 < self.memory <= 1.0,
            'max_iterations': self.max_iterations >= 1,
            'tolerance': self.tolerance > 0.0,
            'rest_weight': self.rest_weight > 0.0,
        }
        for name, fits in allowed.items():
            if not fits:
                raise ConfigurationError(
                    'the recursion cannot run with this', where=name, found=getattr(self, name),
                    allowed='what RecursionSettings says of it',
                    fix='Leave it out for its default',
                )

    def describe(self) -> dict[str, Any]:
        """Settings as plain values."""
        return {**vars(self), 'plausibility': self.plausibility.model_dump()}
