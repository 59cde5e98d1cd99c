"""The truth behind a simulated robot: its description with known deviations.

Identification that is tried on a simulation must not know what it looks for. The deviations
are drawn from a seed, or given, and only the simulated robot has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sysid_ros.errors import ConfigurationError
from sysid_ros.mechanics.joint_terms.term import described_dynamics
from sysid_ros.robot.inertia import central_inertia, inertial_parameters
from sysid_ros.robot.model import RobotModel
from sysid_ros.settings import StrictSettings, load_yaml, parse_settings

# What the deviations of a seed are: part of each mass, distance of each centre of mass in [m],
# part of each friction.
_MASS, _SHIFT, _FRICTION = 0.2, 0.02, 0.5


class BodyDeviation(StrictSettings):
    """How one body differs from its description.

    Attributes:
        mass: Factor of its mass and of its inertia.
        shift: What is added to its centre of mass, in its own frame in [m].
    """

    mass: float = 1.0
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0)


class JointDeviation(StrictSettings):
    """How the drive of one joint differs from its description.

    Attributes:
        viscous: Factor of its viscous friction.
        coulomb: Factor of its dry friction.
        armature: Its drive inertia in [kg·m²] or [kg]; as described where left out.
        drag: Friction per square of its velocity in [N·m·s²/rad²] or [N·s²/m²], which
            descriptions have no place for.
    """

    viscous: float = 1.0
    coulomb: float = 1.0
    armature: float | None = None
    drag: float = 0.0


class Deviations(StrictSettings):
    """What is different in truth; bodies and joints that are not named are as described.

    Attributes:
        bodies: By the name of the body.
        joints: By the name of the joint.
    """

    bodies: dict[str, BodyDeviation] = {}
    joints: dict[str, JointDeviation] = {}

    @classmethod
    def load(cls, path: str | Path) -> Deviations:
        """Read a YAML file.

        Raises:
            ConfigurationError: The file cannot be read, or a key or value is not right.
        """
        return parse_settings(cls, load_yaml(path), str(path))

    @classmethod
    def drawn(
        cls, robot: RobotModel, rng: np.random.Generator, armature: np.ndarray | None = None
    ) -> Deviations:
        """Masses up to 20 % off, centres of mass 2 cm off, friction off by half.

        Args:
            robot: The robot as described.
            rng: Source of the random numbers.
            armature: Drive inertias in [kg·m²] or [kg], shape ``(n,)``; as described by default.
        """
        bodies = {}
        for body in robot.body_names:
            factor = rng.uniform(1.0 - _MASS, 1.0 + _MASS)
            shift = rng.uniform(-1.0, 1.0, 3)
            shift *= _SHIFT / np.linalg.norm(shift)
            bodies[body] = BodyDeviation(mass=factor, shift=tuple(shift))
        names = robot.joint_names
        viscous, coulomb = (
            rng.choice([1.0 - _FRICTION, 1.0 + _FRICTION], len(names)) for _ in range(2))
        drives = [None] * len(names) if armature is None else [float(x) for x in armature]
        joints = {
            name: JointDeviation(viscous=viscous[k], coulomb=coulomb[k], armature=drives[k])
            for k, name in enumerate(names)
        }
        return cls(bodies=bodies, joints=joints)

    def of(self, robot: RobotModel) -> Truth:
        """The true parameters.

        Raises:
            ConfigurationError: There is no such body or joint, or a value cannot be.
        """
        tree = robot.opened
        _require_known('bodies', self.bodies, robot.body_names)
        _require_known('joints', self.joints, tree.joint_names)
        inertials = np.array(robot.reference_inertials)
        for body, off in self.bodies.items():
            if off.mass <= 0.0:
                raise ConfigurationError(
                    'the factor of a mass cannot be', where=f'bodies: {body}', found=off.mass,
                    allowed='above 0',
                    fix='Say 1.2 for 20 % more')
            mass, com, inertia = central_inertia(inertials[robot.body_names.index(body)])
            inertials[robot.body_names.index(body)] = inertial_parameters(
                off.mass * mass, com + np.array(off.shift), off.mass * inertia)
        drives = {
            name: described_dynamics(tree, name).copy()
            for name in ('damping', 'friction', 'armature')
        } | {'drag': np.zeros(len(tree.joint_names))}
        for joint, drive in self.joints.items():
            k = tree.joint_index(joint)
            drives['damping'][k] *= drive.viscous
            drives['friction'][k] *= drive.coulomb
            drives['drag'][k] = drive.drag
            if drive.armature is not None:
                drives['armature'][k] = drive.armature
        for name, values in drives.items():
            if (values < 0.0).any():
                raise ConfigurationError(
                    f'the true {name} of a joint is negative', where='joints', found=values.min(),
                    fix='Give factors of zero or more')
        return Truth(
            inertials, drives['damping'], drives['friction'], drives['armature'], drives['drag'])


@dataclass(frozen=True, eq=False)
class Truth:
    """True parameters of a simulated robot with b bodies and n joints, passive ones included.

    Attributes:
        inertials: Inertial parameters of the bodies, shape ``(b, 10)``.
        viscous: Viscous friction in [N·m·s/rad] or [N·s/m], shape ``(n,)``.
        coulomb: Dry friction in [N·m] or [N], shape ``(n,)``.
        armature: Drive inertia in [kg·m²] or [kg], shape ``(n,)``.
        drag: Friction per square of the velocity in [N·m·s²/rad²] or [N·s²/m²], shape ``(n,)``.
    """

    inertials: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray
    armature: np.ndarray
    drag: np.ndarray

    def without_coulomb(self) -> Truth:
        """All but the dry friction, which is zero."""
        return replace(self, coulomb=np.zeros_like(self.coulomb))


def _require_known(where: str, named: Iterable[str], known: tuple[str, ...]) -> None:
    for name in named:
        if name not in known:
            raise ConfigurationError(
                'the robot has no such part', where=where, found=repr(name),
                allowed=', '.join(known),
                fix='Name one of the robot')
