"""Recordings of a leg with closed loops whose truth nothing of the package has a part in.

Pinocchio reads the MJCF, closes the loops by rigid constraints and finds accelerations
(Carpentier, Budhiraja and Mansard 2021); SciPy integrates them at 1e-10. Motors follow sums of
sines by proportional and derivative control, so that torques are smooth in time.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp

from support import closed_robots as robots
from sysid_ros.estimation.trajectory.graph.factors import Equality, Prior, Trapezoidal
from sysid_ros.estimation.trajectory.graph.free_parameters import free_parameters_of
from sysid_ros.estimation.trajectory.graph.graph import FactorGraph
from sysid_ros.estimation.trajectory.graph.mechanism_factors import Dynamics
from sysid_ros.estimation.trajectory.graph.robot_mechanism import RobotMechanism, RobotReading
from sysid_ros.estimation.trajectory.sensors import Encoder
from sysid_ros.mechanics.joint_terms.terms import Armature, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel

MOTORS = tuple(robots.LEG_MOTORS)
NAMES = (
    'thigh.mass', 'shin.mass', 'foot.mass', *(f'{name}.viscous_friction' for name in MOTORS))
# Noise of encoders in [rad], of torques as a part of their RMS.
ENCODER, TORQUE = 1e-3, 0.01
# Accelerations change by about that much from step to step in [rad/s²], for first guesses.
JOLT = 1.0
# Gains of the controllers per unit of armature, in [1/s²] and [1/s].
STIFFNESS, DAMPING = 1600.0, 80.0


class Leg:
    """The leg as Pinocchio reads and moves it: its motors, its closures, and its friction."""

    def __init__(self):
        with tempfile.NamedTemporaryFile('w', suffix='.xml') as file:
            file.write(robots.leg_mjcf(friction=False))
            file.flush()
            self.model = pin.buildModelFromMJCF(file.name)
        self.data = self.model.createData()
        self.joint_names = self._joint_names()
        self.motors = [self.joint_names.index(name) for name in MOTORS]
        self.friction = np.zeros(self.model.nv)
        self.friction[self.motors] = [robots.LEG_MOTORS[name][3] for name in MOTORS]
        self.start = pin.neutral(self.model)
        self.closures = pin.StdVec_RigidConstraintModel()
        self.closures.extend(self._closures())
        self.states = pin.StdVec_RigidConstraintData()
        self.states.extend([closure.createData() for closure in self.closures])
        # From version 4 on it is given the data, too.
        extra = (self.states,) if int(pin.__version__.split('.')[0]) >= 4 else ()
        pin.initConstraintDynamics(self.model, self.data, self.closures, *extra)
        # Nine equations that do not repeat each other: no regularisation.
        self.settings = pin.ProximalSettings(1e-14, 0.0, 1)

    def _joint_names(self):
        """Names of all joints, in Pinocchio's order."""
        names = [''] * self.model.nv
        for body, _, _, joints, *_ in robots._LEG:
            carrier = self.model.frames[self.model.getFrameId(body)].parentJoint
            first = self.model.joints[carrier].idx_v
            names[first:first + len(joints)] = [name for name, _ in joints]
        return names

    def _closures(self):
        """Points of two bodies that coincide where all joints are at zero, as MuJoCo means it."""
        pin.framesForwardKinematics(self.model, self.data, self.start)
        found = []
        for first, anchor, second in robots._LOOPS:
            frame = self.model.frames[self.model.getFrameId(first)]
            own = frame.placement * pin.SE3(np.eye(3), np.array(anchor, dtype=float))
            there = self.model.frames[self.model.getFrameId(second)].parentJoint
            other = self.data.oMi[there].actInv(self.data.oMi[frame.parentJoint] * own)
            found.append(pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, self.model, frame.parentJoint, own, there, other,
                pin.ReferenceFrame.LOCAL))
        return found

    def acceleration(self, q, v, torque):
        """Of all joints under torques of the motors, shape ``(15,)``."""
        effort = -self.friction * v
        effort[self.motors] += torque
        return pin.constraintDynamics(
            self.model, self.data, q, v, effort, self.closures, self.states, self.settings)

    def gap(self, q):
        """The largest distance of points that should coincide, in [m]."""
        pin.forwardKinematics(self.model, self.data, q)
        return max(
            np.abs((self.data.oMi[c.joint1_id] * c.joint1_placement).translation
                   - (self.data.oMi[c.joint2_id] * c.joint2_placement).translation).max()
            for c in self.closures)


@dataclass
class Recording:
    """A motion of the leg: so many steps of so many seconds.

    Motors follow sines of 1.6 to 11 rad/s within half of their range, begun at rest.
    """

    step: float = 2e-3
    count: int = 4001
    tolerance: float = 1e-10

    def reference(self, time):
        """Where the motors are to be, and its rate, shape ``(6,)`` each."""
        random = np.random.default_rng(0)
        reach = np.array([robots.LEG_MOTORS[name][0] for name in MOTORS])
        omega = 1.6 * random.uniform(1.0, 7.0, (6, 3))
        phase = random.uniform(0.0, 6.3, (6, 3))
        size = 0.5 * reach[:, None] * random.dirichlet(np.ones(3), 6)
        # Nothing jumps where it begins.
        fade = 1.0 - np.exp(-4.0 * time**2)
        wave, rate = (size * np.sin(omega * time + phase)).sum(1), (
            size * omega * np.cos(omega * time + phase)).sum(1)
        return fade * wave, fade * rate + 8.0 * time * (1.0 - fade) * wave

    def torque(self, time, q, v):
        """What the controllers make of positions and velocities of the motors."""
        armature = np.array([robots.LEG_MOTORS[name][2] for name in MOTORS])
        wanted, rate = self.reference(time)
        return armature * (STIFFNESS * (wanted - q) + DAMPING * (rate - v))

    @cached_property
    def truth(self):
        """Positions, velocities and torques of the motors ``(N, 6)``, and how far loops open."""
        leg, size = Leg(), 15

        def slope(time, state):
            q, v = state[:size], state[size:]
            torque = self.torque(time, q[leg.motors], v[leg.motors])
            return np.concatenate([v, leg.acceleration(q, v, torque)])

        t = self.step * np.arange(self.count)
        found = solve_ivp(
            slope, (0.0, t[-1]), np.concatenate([leg.start, np.zeros(size)]), method='DOP853',
            t_eval=t, rtol=self.tolerance, atol=self.tolerance)
        q, v = found.y[:size].T, found.y[size:].T
        torque = np.array([
            self.torque(time, *pair) for time, *pair in zip(
                t, q[:, leg.motors], v[:, leg.motors], strict=True)])
        return (
            q[:, leg.motors], v[:, leg.motors], torque, max(leg.gap(every) for every in q))

    @property
    def gap(self):
        """How far the loops of the truth are open at most, in [m]."""
        return self.truth[3]

    @property
    def values(self):
        """The parameters that are sought, as they are, shape ``(9,)``."""
        parameters = mechanism().parameters
        return np.array([parameters[name] for name in NAMES])

    def graph(self, seed):
        """The graph of readings with noise, its parameters begun up to a fifth off."""
        rng = np.random.default_rng(seed)
        q, _, torque, _ = self.truth
        spread = TORQUE * np.sqrt(np.mean(torque**2, axis=0))
        noise = rng.normal(size=(2, *torque.shape))
        leg = mechanism()
        free_parameters = free_parameters_of(leg, NAMES, shapes_held=True)
        free_parameters = free_parameters._replace(start=self.values
            * rng.uniform(0.8, 1.2, len(NAMES)))
        return FactorGraph(leg, self.step, self.count, [
            Trapezoidal('q', 1e-6), Trapezoidal('v', 1e-5), Dynamics(1e-2, torque=None),
            Prior('torque', torque + spread * noise[0], spread, title='torque'),
            RobotReading(Encoder.of(MOTORS), q + ENCODER * noise[1], ENCODER)], free_parameters)


def mechanism():
    """The leg as the package reads it."""
    return RobotMechanism(TorqueModel(
        robots.RobotModel.from_mjcf(robots.leg_mjcf(friction=False)),
        (ViscousFriction(), Armature())))


def first_motion(graph):
    """A motion to begin with: what the encoders say of a motion without forces, and torques."""
    trapezoids, (torque, reading) = graph.factors[:2], graph.factors[3:]
    free = FactorGraph(
        graph.mechanism, graph.step, graph.count, [*trapezoids, Equality('a', JOLT), reading])
    motion = free.solve({'q': reading.value}).variables
    return {**motion, 'torque': torque.value}
