"""Motors' rotors that are bodies of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import ConfigDict, Field

from sysid_ros.errors import ModelError


@dataclass(frozen=True)
class GearedRotor:
    """A motor's rotor as a body of its own, turning with a joint at a gear ratio.

    It is also what an entry of ``rotors:`` in a settings file says.

    Attributes:
        name: Name of the new body.
        joint: Independent joint that drives it.
        ratio: Rotor angle per joint angle, without unit.
        link: Link the stator is fixed to.
        origin: Position of the rotor frame in that link in [m].
        rpy: Orientation of the rotor frame in that link as roll, pitch, yaw in [rad].
        axis: Rotation axis in the rotor frame.
        inertial: Prior inertial parameters in the rotor frame, ten numbers.

    Raises:
        ModelError: A list has the wrong length, a number is not finite, or there is no axis.
    """

    name: str
    joint: str
    ratio: float
    link: str
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    inertial: Annotated[tuple[float, ...], Field(min_length=10, max_length=10)] = (0.0,) * 10

    # Read by the validation of settings files.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra='forbid')

    def __post_init__(self) -> None:
        for field, length in (('origin', 3), ('rpy', 3), ('axis', 3), ('inertial', 10)):
            values = np.array(getattr(self, field), dtype=float)
            if values.shape != (length,) or not np.isfinite(values).all():
                raise ModelError(
                    'the numbers do not fit', where=f'rotor {self.name!r}: {field}',
                    found=getattr(self, field), allowed=f'{length} finite numbers',
                    fix=f'Write {field}: {[0.0] * length}, with its numbers',
                )
            object.__setattr__(self, field, tuple(values.tolist()))
        if not np.isfinite(self.ratio):
            raise ModelError(
                'the gear ratio is not finite', where=f'rotor {self.name!r}', found=self.ratio,
                fix='Write the turns of the rotor per turn of the joint, as ratio: 100.0',
            )
        if not any(self.axis):
            raise ModelError(
                'the rotor has no axis', where=f'rotor {self.name!r}', found=self.axis,
                fix='Write its direction in the frame of the link, as axis: [0, 0, 1]')
