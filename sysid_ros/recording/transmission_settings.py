"""The key ``transmission:`` of the ``recording:`` section of a settings file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import model_validator

from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.transmission import Transmission
from sysid_ros.settings import StrictSettings


class TransmissionSettings(StrictSettings):
    """Motor turns per joint turn: a full matrix, or the ratios on its diagonal.

    Attributes:
        motor_per_joint: Rows by motor, columns by joint.
        ratios: One for each joint whose motor turns with it alone.
    """

    motor_per_joint: tuple[tuple[float, ...], ...] | None = None
    ratios: tuple[float, ...] | None = None

    @model_validator(mode='after')
    def _one_form(self) -> TransmissionSettings:
        if (self.motor_per_joint is None) == (self.ratios is None):
            raise ConfigurationError(
                'the transmission needs exactly one form', where='transmission',
                allowed='motor_per_joint or ratios',
                fix='Write ratios: [100.0, 100.0], or motor_per_joint where motors are coupled',
            )
        return self

    def build(self) -> Transmission:
        """The transmission these settings describe."""
        if self.ratios is not None:
            return Transmission(np.diag(self.ratios))
        return Transmission(np.array(self.motor_per_joint))

    def check(self, joints: int) -> None:
        """Refuse ratios or a matrix that do not belong to so many joints."""
        if self.ratios is not None:
            check_length(self.ratios, joints, 'transmission.ratios')
            return
        check_length(self.motor_per_joint or (), joints, 'transmission.motor_per_joint')
        for index, row in enumerate(self.motor_per_joint or ()):
            check_length(row, joints, f'transmission.motor_per_joint[{index}]')


def check_length(
    values: Sequence[object], joints: int, where: str, otherwise: str = ''
) -> None:
    """Refuse a list that has not one value for each of so many joints.

    Args:
        values: The list.
        joints: How many joints there are.
        where: What it is called.
        otherwise: What else to do, after the advice to give one for each.
    """
    if len(values) != joints:
        raise ConfigurationError(
            'a per-joint list has the wrong length', where=where, found=f'{len(values)} values',
            allowed=f'{joints} values, one for each of the joints',
            fix=f'Give one value per joint, in the order of recording.joints{otherwise}')
