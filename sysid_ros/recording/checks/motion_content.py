"""How much a motion shows: different loads against the base parameters that are sought."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_ros.mechanics.base_parameters import base_parameters
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.numerics.noise import effective_rows
from sysid_ros.recording.dataset import Dataset


@dataclass(frozen=True)
class MotionContent:
    """Different loads of a motion, and the base parameters they are to tell apart.

    Attributes:
        loads: Independent rows that the torques of the joints in this motion are worth, all joints
            together.
        combinations: Number of base parameters that are sought.
        duration: Time covered by the data in [s].
    """

    loads: float
    combinations: int
    duration: float

    @classmethod
    def of(cls, dataset: Dataset, model: TorqueModel, free: np.ndarray) -> MotionContent:
        """Content of a motion: rows over the correlation time of the torques it takes.

        Torques of the prior's bodies are taken, not those that were measured: noise would look like
        load. A motion that is cut short, or slow, has few: its torques change little.

        Args:
            dataset: The motion.
            model: The torque model.
            free: Mask of the parameters that are sought, shape ``(p,)``.

        Raises:
            EstimationError: No free parameter acts on any torque.
        """
        bodies = TorqueModel(model.robot)
        torque = bodies.torque(bodies.parameters.prior, dataset.q, dataset.v, dataset.a)
        varying = torque - torque.mean(axis=0)
        rows = effective_rows(varying, np.ones(varying.shape, dtype=bool))
        return cls(
            float(rows.sum()), base_parameters(model, free=free).rank, dataset.duration)

    @property
    def per_combination(self) -> float:
        """Different loads for each base parameter."""
        return self.loads / self.combinations
