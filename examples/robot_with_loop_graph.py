"""A robot with a closed loop as a factor graph, sample by sample: what moves it is estimated.

A motor turns the crank of a linkage that is described as a URDF; its torque is not measured. The
encoder and a model tell it, with a lag of a few samples.

    python robot_with_loop_graph.py
"""

import numpy as np

from sysid_ros.estimation.trajectory.graph.factors import Equality, Prior, Trapezoidal
from sysid_ros.estimation.trajectory.graph.graph import FactorGraph
from sysid_ros.estimation.trajectory.graph.mechanism_factors import Dynamics
from sysid_ros.estimation.trajectory.graph.robot_mechanism import RobotMechanism
from sysid_ros.estimation.trajectory.graph.simulation import forward_dynamics
from sysid_ros.estimation.trajectory.graph.smoother import FixedLagSmoother
from sysid_ros.mechanics.joint_terms.terms import ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.robot.loops import LoopSettings
from sysid_ros.robot.model import RobotModel

STEP, COUNT, WINDOW = 2e-3, 300, 8


def rod(name: str, parent: str, place: float, length: float, mass: float) -> str:
    """A uniform rod on a joint about z as a part of a URDF."""
    inertia = mass * length**2 / 12.0
    return (
        f'<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="{mass}"/>'
        f'<inertia ixx="{0.1 * inertia}" iyy="{inertia}" izz="{inertia}" '
        f'ixy="0" ixz="0" iyz="0"/></inertial></link>'
        f'<joint name="{name}_joint" type="continuous"><parent link="{parent}"/>'
        f'<child link="{name}"/><origin xyz="{place} 0 0"/><axis xyz="0 0 1"/>'
        f'<dynamics damping="0.5"/></joint>')


def robot() -> RobotModel:
    """A crank of 1 m, a coupler of 2 m and a rocker of the root of 13 m."""
    length = float(np.sqrt(13.0))
    urdf = (
        '<robot name="four_bar"><link name="world"/>' + rod('crank', 'world', 0.0, 1.0, 1.0)
        + rod('coupler', 'crank', 1.0, 2.0, 2.0) + rod('rocker', 'world', 4.0, length, 4.0)
        + '</robot>')
    tip = {
        'name': 'tip', 'kind': 'point', 'first': {'link': 'coupler', 'origin': (2.0, 0.0, 0.0)},
        'second': {'link': 'rocker', 'origin': (length, 0.0, 0.0)}}
    loops = LoopSettings.model_validate({
        'actuated': ('crank_joint',), 'closures': [tip],
        'assembly': {'crank_joint': 0.0, 'coupler_joint': 1.5, 'rocker_joint': 2.5}})
    return RobotModel.from_urdf(urdf, gravity=(0.0, -9.80665, 0.0), loops=loops)


def main() -> None:
    """Simulate a motion, then estimate its torque online."""
    mechanism = RobotMechanism(TorqueModel(robot(), (ViscousFriction(),)))
    t = STEP * np.arange(COUNT)
    torque = (70.0 + 20.0 * np.sin(6.0 * t))[:, None]
    simulation = forward_dynamics(mechanism, STEP, COUNT, torque=torque)
    q = simulation.layout.split(FixedLagSmoother(simulation, 3).run())['q']
    readings = q + 1e-4 * np.random.default_rng(0).normal(size=q.shape)

    graph = FactorGraph(mechanism, STEP, COUNT, [
        Trapezoidal('q', 1e-6), Trapezoidal('v', 1e-5), Dynamics(1e-2, torque=None),
        Equality('torque', 2.0), Prior('torque', 70.0, 30.0, at=0), Prior('v', 0.0, 1e-3, at=0),
        Prior('q', np.where(np.arange(COUNT)[:, None] == 0, readings, np.nan), 1e-4,
              title='encoder'),
    ])
    print(graph)
    smoother = FixedLagSmoother(graph, WINDOW, start={'q': q[0]})
    for k in range(1, COUNT):
        state = smoother.advance({'encoder': readings[k]})
        if k % 50 == 0:
            estimate = state[graph.layout.places['torque']][0]
            print(f'{t[k]:.2f} s: {estimate:6.1f} N·m, truly {torque[k, 0]:6.1f}')


if __name__ == '__main__':
    main()
