r"""What a kind of actuator is: the torque that a command makes at a moving joint.

.. math:: \tau = \operatorname{clip}(f(u, q, v; p),\, \tau_{\min}(v),\, \tau_{\max}(v))

with the command u, the joint's position q and velocity v, constants p, and what the drive has left
at a speed (:mod:`~sysid_ros.mechanics.actuators.envelope`). A kind is written once, as a plain
function of f and its derivatives; compiled rollouts call what the compiler makes of it, through
:mod:`~sysid_ros.mechanics.actuators.dispatch`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from sysid_ros.mechanics.joint_terms.law import law_function

#: Most constants p that a kind has.
MOST_CONSTANTS = 5

#: A function of a kind, which compiled kernels call, too.
actuator_function = law_function

#: Constants p, zero behind those that a kind has.
Constants = tuple[float, float, float, float, float]
#: Torque, its derivatives by u, q and v, and those by p.
TorqueAndSlopes = tuple[float, float, float, float, Constants]


class Constant(NamedTuple):
    """A constant of a kind of actuator.

    Attributes:
        name: What settings and parameters call it.
        rotational_unit: Its unit at a joint that turns.
        linear_unit: Its unit at a joint that slides.
        words: What it is, for people.
        default: Its value where settings say nothing; None for one that has to be given.
        same_as: Constant whose value it has where settings say nothing.
        positive: Whether it is never below zero; otherwise it may have any sign.
    """

    name: str
    rotational_unit: str
    linear_unit: str
    words: str
    default: float | None = None
    same_as: str | None = None
    positive: bool = True


class ActuatorKind:
    """A kind of actuator.

    Attributes:
        name: What settings call it.
        command: What it is commanded by, for people.
        units: SI units that its commands may have, the usual one first.
        constants: Its constants p.
        law: f and its derivatives, from u, q, v and p.
        damping: Name of the constant that acts as viscous friction does; empty for none.
        feedback: Whether it holds the joint to a position by itself.
        gains: Names of constants to which, all of them together, its torque is proportional.
        regulates: Whether its command is a position or a velocity that it controls by itself.
        slows_itself: Whether its torque falls with speed by its constants.
    """

    name: ClassVar[str]
    command: ClassVar[str]
    units: ClassVar[tuple[str, ...]]
    constants: ClassVar[tuple[Constant, ...]] = ()
    law: ClassVar[Callable[..., Any]]
    gains: ClassVar[tuple[str, ...]] = ()
    damping: ClassVar[str] = ''
    feedback: ClassVar[bool] = False
    regulates: ClassVar[bool] = False
    slows_itself: ClassVar[bool] = False
