"""A load with what it was found in: the recording, and the link that carries it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.estimation.payload.payload_estimate import PayloadEstimate
from sysid_ros.estimation.problem import RegressionProblem


@dataclass(frozen=True, eq=False)
class FoundLoad:
    """A load that was identified.

    Attributes:
        link: The link that carries it; where the fit failed, its body.
        estimate: The load in the frame of the link.
        in_body: The load in the frame of the body's joint.
        rows: The recording with the load.
    """

    link: str
    estimate: PayloadEstimate
    in_body: PayloadEstimate
    rows: RegressionProblem

    @property
    def without_load(self) -> np.ndarray:
        """Parameters that the arm's torques follow without the load, shape ``(p,)``."""
        return self.in_body.arm

    @property
    def with_load(self) -> np.ndarray:
        """Parameters that the arm's torques follow with the load, shape ``(p,)``."""
        theta = self.in_body.arm.copy()
        theta[self.rows.parameters.body_slice(self.in_body.body)] += self.in_body.inertial
        return theta
