"""Simulated robots with known parameters: the golden problems of the estimators' tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import scipy.linalg

from support.closed_robots import four_bar
from support.robot_factory import random_urdf
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.estimation.regression.consistent.feasible_set import FeasibleSet
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.dataset import Dataset
from sysid_ros.robot.inertia import inertial_from_pseudo, pseudo_inertia, transform_inertial
from sysid_ros.robot.model import RobotModel
from sysid_ros.robot.rotors import GearedRotor

RATE = 100.0
_FRICTION = (ViscousFriction(), CoulombFriction(), TorqueOffset())


@dataclass(frozen=True, eq=False)
class Golden:
    """A robot, its true parameters and a motion that shows them.

    Attributes:
        model: Torque model, whose prior is wrong.
        truth: True values of its parameters, shape ``(p,)``; consistent and plausible.
        samples: Rows of the motion.
    """

    model: TorqueModel
    truth: np.ndarray
    samples: int = 600

    def dataset(
        self, noise: float | np.ndarray = 0.0, seed: int = 7, still: Sequence[int] = (),
        samples: int | None = None,
    ) -> Dataset:
        """Motion and torque, with white noise relative to each joint's torque."""
        rng = np.random.default_rng(seed)
        samples = samples or self.samples
        q, v, a = motion(self.model.robot, samples, seed, still)
        tau = self.model.torque(self.truth, q, v, a)
        size = np.sqrt(np.mean(tau**2, axis=0))
        tau = tau + noise * size * rng.normal(size=tau.shape)
        return Dataset(
            self.model.robot.joint_names, np.arange(samples) / RATE, q, v, a, tau,
            np.ones(tau.shape, dtype=bool), ((0, samples),), RATE, source='simulated',
        )

    def problem(self, noise: float | np.ndarray = 0.0, *, fixed: Sequence[str] = (),
                **options: object) -> RegressionProblem:
        """Rows of such a data set."""
        parameters = self.model.parameters.fixed(*fixed) if fixed else None
        return RegressionProblem.from_dataset(
            self.model, self.dataset(noise, **options), parameters=parameters
        )


def motion(
    robot: RobotModel, samples: int, seed: int, still: Sequence[int] = ()
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of three sines per joint; the joints in ``still`` stand at a constant angle."""
    rng = np.random.default_rng(seed)
    joints = len(robot.joint_names)
    t = np.arange(samples)[:, None, None] / RATE
    omega = 2.0 * np.pi * rng.uniform(0.2, 1.2, (joints, 3))
    phase = rng.uniform(0.0, 2.0 * np.pi, (joints, 3))
    amplitude = rng.uniform(0.2, 0.5, (joints, 3))
    amplitude[list(still)] = 0.0
    offset = rng.uniform(-0.5, 0.5, joints)
    angle = omega * t + phase
    return (
        offset + (amplitude * np.sin(angle)).sum(axis=2),
        (amplitude * omega * np.cos(angle)).sum(axis=2),
        -(amplitude * omega**2 * np.sin(angle)).sum(axis=2),
    )


def true_parameters(model: TorqueModel, seed: int = 3) -> np.ndarray:
    """Bodies some 10 % off their prior yet consistent, friction and armature above zero."""
    rng = np.random.default_rng(seed)
    parameters = model.parameters
    truth = parameters.prior.copy()
    for body in parameters.bodies:
        block = parameters.body_slice(body)
        pseudo = pseudo_inertia(parameters.prior[block])
        factor = np.linalg.cholesky(pseudo)
        bent = np.eye(4) + 0.1 * rng.uniform(-1.0, 1.0, (4, 4))
        truth[block] = inertial_from_pseudo(factor @ bent @ bent.T @ factor.T)
    for k, name in enumerate(parameters.names):
        field = name.rsplit('.', 1)[-1]
        if field in ('viscous_friction', 'coulomb_friction', 'armature', 'stiffness'):
            truth[k] += rng.uniform(0.2, 0.6)
        elif field == 'torque_offset':
            truth[k] = rng.uniform(-0.5, 0.5)
    return truth


def link(name: str, mass: float, com: Sequence[float], size: Sequence[float]) -> str:
    """A link that is a box."""
    x, y, z = (float(edge) ** 2 for edge in size)
    return (
        f'<link name="{name}"><inertial><origin xyz="{com[0]} {com[1]} {com[2]}"/>'
        f'<mass value="{mass}"/><inertia ixx="{mass / 12 * (y + z)}" ixy="0" ixz="0" '
        f'iyy="{mass / 12 * (x + z)}" iyz="0" izz="{mass / 12 * (x + y)}"/></inertial></link>'
    )


def joint(name: str, parent: str, child: str, axis: str, xyz: str, extra: str = '') -> str:
    """A revolute joint."""
    return (
        f'<joint name="{name}" type="revolute"><origin xyz="{xyz}"/><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="{axis}"/>'
        f'<limit lower="-3" upper="3" effort="100" velocity="5"/>{extra}</joint>'
    )


def arm_urdf(mass_scale: float = 1.0, mimic: bool = False) -> str:
    """Three joints, z y y; with a mimic finger at the tip when asked for."""
    finger = (
        link('finger', 0.8 * mass_scale, (0.1, 0.02, 0.0), (0.2, 0.1, 0.1))
        + joint('knuckle', 'hand', 'finger', '0 1 0', '0.3 0 0',
                '<mimic joint="wrist" multiplier="-1.5" offset="0.2"/>')
    ) if mimic else ''
    return (
        '<robot name="arm"><link name="base"/>'
        + link('shoulder', 4.0 * mass_scale, (0.02, 0.03, 0.1), (0.2, 0.2, 0.3))
        + link('upper', 3.0 * mass_scale, (0.2, 0.01, 0.02), (0.4, 0.12, 0.15))
        + link('hand', 1.5 * mass_scale, (0.15, 0.02, 0.01), (0.3, 0.1, 0.12))
        + joint('waist', 'base', 'shoulder', '0 0 1', '0 0 0.2')
        + joint('elbow', 'shoulder', 'upper', '0 1 0', '0 0.1 0.2')
        + joint('wrist', 'upper', 'hand', '0 1 0', '0.4 0 0')
        + finger + '</robot>'
    )


def broken_arm_urdf() -> str:
    """The arm, whose hand has a moment of inertia that breaks the triangle inequality."""
    hand = link('hand', 1.5, (0.15, 0.02, 0.01), (0.3, 0.1, 0.12))
    start, stop = hand.index('izz="') + len('izz="'), hand.rindex('"/></inertial>')
    return arm_urdf().replace(hand, f'{hand[:start]}0.5{hand[stop:]}')


def pendulum_urdf() -> str:
    """One joint."""
    return (
        '<robot name="pendulum"><link name="base"/>'
        + link('rod', 1.0, (0.3, 0.0, 0.0), (0.6, 0.1, 0.1))
        + joint('pivot', 'base', 'rod', '0 1 0', '0 0 1') + '</robot>'
    )


def tree_urdf(seed: int = 4, joints: int = 5) -> str:
    """A branched random tree of revolute, continuous and prismatic joints."""
    return random_urdf(seed, joints, fixed_fraction=0.0)


def golden_of(urdf: str, *, rotors: Sequence[GearedRotor] = (), armature: bool = True,
              **options: object) -> Golden:
    """A golden problem of a description."""
    robot = RobotModel.from_urdf(urdf, **options).with_rotors(rotors)
    model = TorqueModel(robot, (*_FRICTION, Armature()) if armature else _FRICTION)
    return Golden(model, true_parameters(model))


ROTOR = GearedRotor(
    'motor', joint='elbow', ratio=20.0, link='shoulder', origin=(0.0, -0.1, 0.2),
    axis=(0.0, 1.0, 0.0), inertial=(0.3, 0.0, 0.0, 0.0, 2e-4, 0.0, 3e-4, 0.0, 0.0, 2e-4),
)


def closed_chain_golden() -> Golden:
    """A four-bar linkage, whose crank may turn all the way, with friction in a passive joint."""
    model = TorqueModel(
        four_bar(), (*_FRICTION, Armature(), ViscousFriction(('rocker_joint',))))
    return Golden(model, true_parameters(model))


_MAKERS = {
    'arm': lambda: golden_of(arm_urdf()),
    'branched and prismatic': lambda: golden_of(tree_urdf()),
    'single joint': lambda: golden_of(pendulum_urdf()),
    'mimic joint': lambda: golden_of(arm_urdf(mimic=True)),
    'geared rotor': lambda: golden_of(arm_urdf(), rotors=(ROTOR,), armature=False),
    'closed chain': closed_chain_golden,
}
NAMES = tuple(_MAKERS)


@cache
def golden(name: str) -> Golden:
    """A golden problem by name."""
    return _MAKERS[name]()


def with_torque(problem: RegressionProblem, torque: np.ndarray) -> RegressionProblem:
    """The same rows with another torque, without grouping the base parameters again."""
    changed = replace(problem, torque=torque)
    changed.__dict__['base'] = problem.base
    return changed


def turned_frames(
    problem: RegressionProblem, seed: int
) -> tuple[RegressionProblem, np.ndarray]:
    """The same rows with every body's parameters written in a frame that is turned and moved.

    Returns:
        The problem, and the matrix from the old parameters to the new ones, ``(p, p)``.
    """
    rng = np.random.default_rng(seed)
    change, poses = np.eye(len(problem.parameters)), {}
    for body in problem.parameters.bodies:
        pose = np.eye(4)
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        pose[:3, :3] = turn * np.linalg.det(turn)
        pose[:3, 3] = rng.uniform(-0.2, 0.2, 3)
        block = problem.parameters.body_slice(body)
        change[block, block] = np.array(
            [transform_inertial(unit, pose) for unit in np.eye(10)]
        ).T
        poses[body] = pose
    parameters = problem.parameters
    prior = change @ parameters.prior
    back = np.linalg.inv(change)
    turned = replace(
        problem, model=replace(problem.model, robot=_turned_robot(problem.model.robot, poses)),
        regressor=problem.regressor @ back,
        parameters=replace(parameters, prior=prior, values=prior),
    )
    base = problem.base
    matrix = base.matrix @ back
    pivots = _independent_columns(matrix)
    own = matrix[:, pivots]
    turned.__dict__['base'] = replace(
        base, independent=pivots, matrix=np.linalg.solve(own, matrix), factor=base.factor @ own)
    return turned, change


def _turned_robot(robot: RobotModel, poses: dict[str, np.ndarray]) -> RobotModel:
    """The robot with what lies in the frames of its bodies seen from others."""
    links = tuple(replace(link, pose=poses[link.body] @ link.pose) for link in robot.links)
    translation = robot.tree.translation.copy()
    for child, parent in enumerate(robot.tree.parent):
        if parent >= 0:
            translation[child] = (
                poses[robot.body_names[parent]] @ np.append(translation[child], 1.0))[:3]
    return replace(robot, links=links, tree=replace(robot.tree, translation=translation))


def _independent_columns(matrix: np.ndarray) -> np.ndarray:
    _, _, order = scipy.linalg.qr(matrix / np.abs(matrix).max(axis=1, keepdims=True),
                                  mode='economic', pivoting=True)
    return np.sort(order[:len(matrix)])


class Divergence:
    r"""The objective of the log-det fit, written out plainly.

    Args:
        matrix: Weighted rows in the steps of the prior, shape ``(k, f)``.
        target: Weighted torque less that of the prior, shape ``(k,)``.
        allowed: What physics allows.
    """

    def __init__(self, matrix: np.ndarray, target: np.ndarray, allowed: FeasibleSet) -> None:
        self.matrix, self.target, self.allowed = matrix, target, allowed
        self.start = allowed.interior()
        held = np.abs(allowed.slopes).sum(axis=(0, 2, 3)) + np.abs(allowed.matrix).sum(axis=0)
        self.flat = (held == 0.0).astype(float)

    def misfit(self, z: np.ndarray) -> float:
        """Half the squared weighted residual."""
        return 0.5 * float(np.sum((self.matrix @ z - self.target) ** 2))

    def value(self, z: np.ndarray, strength: float) -> float:
        """Objective at a weight of the prior, infinite outside of what physics allows."""
        first, here = self.allowed.pseudo_inertias(self.start), self.allowed.pseudo_inertias(z)
        left = self.allowed.slack(z) / self.allowed.slack(self.start)
        ratios = np.linalg.eigvals(np.linalg.solve(first, here)).real.ravel()
        if (left <= 0.0).any() or (ratios <= 0.0).any():
            return np.inf
        divergence = np.sum(ratios - np.log(ratios) - 1.0) + np.sum(left - np.log(left) - 1.0)
        divergence += 0.5 * np.sum(self.flat * (z - self.start) ** 2)
        return self.misfit(z) + strength * float(divergence)

    def rounding(self, z: np.ndarray, strength: float) -> float:
        """How far the last digits of z put the value off; infinite where it has none."""
        allowed, eps = self.allowed, np.finfo(float).eps
        sizes = np.abs(allowed.constant) + np.einsum(
            'cfab,f->cab', np.abs(allowed.slopes), np.abs(z))
        smallest = np.linalg.eigvalsh(allowed.pseudo_inertias(z))[:, 0]
        reach = np.abs(allowed.bound) + np.abs(allowed.matrix) @ np.abs(z)
        if (smallest <= 0.0).any() or (allowed.slack(z) <= 0.0).any():
            return np.inf
        return strength * eps * float(
            np.sum(sizes.sum(axis=2).max(axis=1) / smallest) + np.sum(reach / allowed.slack(z)))

    def divergence_gradient(self, z: np.ndarray) -> np.ndarray:
        """Gradient of what the weight of the prior multiplies."""
        return self._gradient(z) - self._gradient(self.start) + self.flat * (z - self.start)

    def hessian_root(self, z: np.ndarray) -> np.ndarray:
        """A matrix whose transposed square is the Hessian of the same."""
        roots = np.linalg.inv(np.linalg.cholesky(self.allowed.pseudo_inertias(z)))
        whitened = np.einsum(
            'cia,cfab,cjb->cijf', roots, self.allowed.slopes, roots, optimize=True)
        return np.vstack([
            whitened.reshape(-1, len(z)), self.allowed.matrix / self.allowed.slack(z)[:, None],
            np.diag(self.flat),
        ])

    def _gradient(self, z: np.ndarray) -> np.ndarray:
        inverse = np.linalg.inv(self.allowed.pseudo_inertias(z))
        return (self.allowed.matrix.T @ (1.0 / self.allowed.slack(z))
                - np.einsum('cij,cfji->f', inverse, self.allowed.slopes))
