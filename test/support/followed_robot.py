"""A robot that was followed for hours, as its history, without a robot."""

import numpy as np

from support.golden_problems import arm_urdf
from sysid_ros.estimation.online.change import Change
from sysid_ros.estimation.online.online import Committed, OnlineEstimate
from sysid_ros.estimation.online.online_history import OnlineHistory
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel

START = 1.7e9


def described():
    """Parameters of an arm's bodies, as described."""
    return TorqueModel(RobotModel.from_description(arm_urdf()), []).parameters


def followed(time, parameters, *, change=None, error=0.05, deviation=0.1):
    """An estimate at a time in [s] since 1970."""
    return OnlineEstimate(
        time, round(10 * (time - START)), parameters,
        np.full(len(parameters), deviation), dict.fromkeys(parameters.bodies, 0.5), error, change)


def change(where='hand', kind='payload'):
    """A load that was picked up."""
    return Change(kind, where, 900, 800, 40.0, 20.0, (f'{where}.mass',), np.array([0.5]),
                  np.array([0.02]))


def history(hours=2.0):
    """What was found in some hours: a body grew heavier, which was noticed after half of them."""
    made, parameters = OnlineHistory(), described()
    committed = Committed('1-first', parameters)
    for part in np.arange(0.0, 1.0, 1.0 / 300.0):
        values = parameters.values.copy()
        values[0] *= 1.0 + part
        made.add(followed(
            START + 3600.0 * hours * part, parameters.with_values(values),
            deviation=0.3 - 0.2 * part, change=change() if part > 0.5 else None), committed)
    return made
