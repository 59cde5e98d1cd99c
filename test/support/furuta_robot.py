"""Furuta pendulums described: the paper's machine, and the real one that was recorded.

z is up. The arm turns about z by the first hinge, and lies along x at zero. The rod turns about
the arm's direction by the second one, and hangs at zero. Inertias are about centres of mass, in
axes along the arm, across it and up, at rest hanging.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sysid_ros.estimation.trajectory.discrete.robot_mechanism import (
    bearing_parameters,
    tilt_parameters,
    with_parameters,
)
from sysid_ros.estimation.trajectory.problem import Observation, Segment
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.estimation.trajectory.torques import at_nodes
from sysid_ros.mechanics.joint_terms.drive_gain import DriveGain
from sysid_ros.mechanics.joint_terms.terms import CoulombFriction, StribeckFriction, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.parameters import ParameterSet

HINGES = ('shoulder', 'elbow')
# What joints have beside viscous friction. That of the bearings grows with what they carry.
FRICTION = ('viscous', 'dry', 'bearings', 'Stribeck')
# What shows of inertia. The mass and first moment of the rod are known, or the scale would be
# open, and what else there is moves with these.
BODIES = ('arm.inertia_zz', 'rod.inertia_xx', 'rod.inertia_yy')
# The third turns with the arm.
TILT = ('gravity.tilt_x', 'gravity.tilt_y')
# Moments of inertia about a hinge are above those of a point at the centre of mass.
_LEAST = 1.01


@dataclass(frozen=True)
class Furuta:
    """What is known of a machine.

    Attributes:
        arm_mass: In [kg].
        arm_com: Of the arm's centre of mass from the first hinge in [m].
        arm_length: Of the second hinge from the first in [m].
        arm_inertia: About the centre of mass in [kg·m²], along the arm, across and up.
        rod_mass: In [kg].
        rod_com: Of the rod's centre of mass below the second hinge in [m].
        rod_inertia: About its centre of mass in [kg·m²], along the arm, across and up.
        viscous: Friction of both hinges in [N·m·s/rad].
        torque_per_unit: Of the command, in [N·m] per unit.
        gravity: In [m/s²].
    """

    arm_mass: float
    arm_com: float
    arm_length: float
    arm_inertia: tuple[float, float, float]
    rod_mass: float
    rod_com: float
    rod_inertia: tuple[float, float, float]
    viscous: tuple[float, float]
    torque_per_unit: float
    gravity: float = 9.81

    @property
    def urdf(self) -> str:
        """Its description."""
        return (
            '<robot name="furuta"><link name="stand"/>'
            f'{_link("arm", (self.arm_com, 0.0, 0.0), self.arm_mass, self.arm_inertia)}'
            f'{_link("rod", (0.0, 0.0, -self.rod_com), self.rod_mass, self.rod_inertia)}'
            f'{_hinge("shoulder", "stand", "arm", 0.0, "0 0 1", self.viscous[0])}'
            f'{_hinge("elbow", "arm", "rod", self.arm_length, "1 0 0", self.viscous[1])}'
            '</robot>')

    def model(self, friction: str = 'viscous') -> TorqueModel:
        """The machine with one of ``FRICTION``; dry friction jumps."""
        terms: list[Any] = [ViscousFriction()]
        if friction in ('dry', 'Stribeck'):
            terms.append(CoulombFriction())
        if friction == 'Stribeck':
            terms.append(StribeckFriction())
        robot = RobotModel.from_description(self.urdf, gravity=(0.0, 0.0, -self.gravity))
        return TorqueModel(robot, [*terms, DriveGain(('shoulder',))])

    def parameters(
        self, model: TorqueModel, friction: str = 'viscous', held: Sequence[str] = TILT,
    ) -> ParameterSet:
        """What is sought: moments of inertia, friction, drive gain, and tilt where not held.

        Args:
            model: As :meth:`model` makes it.
            friction: One of ``FRICTION``.
            held: What is held.
        """
        more = [*bearing_parameters(HINGES)] if friction == 'bearings' else []
        parameters = with_parameters(model.parameters, [*more, *tilt_parameters()])
        lower, upper = parameters.lower.copy(), parameters.upper.copy()
        # The data sheet may be off by more than the default allows.
        upper[parameters.index('shoulder.drive_gain')] = 20.0
        for mass, com, names in (
                (self.arm_mass, self.arm_com, BODIES[:1]),
                (self.rod_mass, self.rod_com, BODIES[1:])):
            for name in names:
                lower[parameters.index(name)] = _LEAST * mass * com**2
        free = [
            (name in (*BODIES, *TILT) or name.startswith(HINGES)) and name not in held
            for name in parameters.names]
        return replace(parameters, lower=lower, upper=upper, free=np.array(free))

    def segment(
        self, t: np.ndarray, angles: np.ndarray, u: np.ndarray, step: float, sigma: float,
    ) -> Segment:
        """A recording as a segment of a trajectory problem.

        Args:
            t: Stamps in [s], shape ``(T,)``.
            angles: Of both hinges in [rad], shape ``(T, 2)``.
            u: Command, held from one stamp to the next, shape ``(T,)``.
            step: Time from node to node in [s].
            sigma: Noise of angles in [rad].
        """
        nodes = t[0] + step * np.arange(int((t[-1] - t[0]) / step) + 1)
        seen = t <= nodes[-1]
        driven = self.torque_per_unit * at_nodes(nodes, t, u, held=True)
        torque = np.column_stack([driven, np.zeros_like(driven)])
        return Segment(nodes, torque, (
            Observation(Encoder.of(HINGES), t[seen], angles[seen], np.full(2, sigma)),))


def recorded_machine(author: Mapping[str, float]) -> Furuta:
    """The machine of the recordings, from the values that came with them.

    Args:
        author: Values by the names of their file; the two given moments of inertia are those
            about the vertical and about the second hinge, and the rest is as of thin rods.
    """
    thin = 1e-2
    drive = author['Kt'] / author['R']
    return Furuta(
        author['m1'], author['l1'], author['L1'], (thin * author['J1'], *2 * (author['J1'],)),
        author['m2'], author['l2'], (*2 * (author['J2'],), thin * author['J2']),
        (author['b1'] + drive * author['Kemf'], author['b2']), drive)


def _link(
    name: str, centre: Sequence[float], mass: float, inertia: Sequence[float]
) -> str:
    x, y, z = inertia
    return (
        f'<link name="{name}"><inertial><origin xyz="{" ".join(map(str, centre))}"/>'
        f'<mass value="{mass}"/><inertia ixx="{x}" ixy="0" ixz="0" iyy="{y}" iyz="0" '
        f'izz="{z}"/></inertial></link>')


def _hinge(name: str, parent: str, child: str, along: float, axis: str, damping: float) -> str:
    return (
        f'<joint name="{name}" type="continuous"><origin xyz="{along} 0 0"/>'
        f'<parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>'
        f'<dynamics damping="{damping}"/></joint>')
