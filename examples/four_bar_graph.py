"""A four-bar linkage as a factor graph: simulated, then identified from a noisy encoder and motor.

python four_bar_graph.py picture.png
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from sysid_ros.estimation.trajectory.graph.drawing import draw
from sysid_ros.estimation.trajectory.graph.factors import Prior, Selection, Trapezoidal
from sysid_ros.estimation.trajectory.graph.free_parameters import free_parameters_of
from sysid_ros.estimation.trajectory.graph.graph import FactorGraph
from sysid_ros.estimation.trajectory.graph.identification import identify
from sysid_ros.estimation.trajectory.graph.mechanism_factors import (
    Dynamics,
    PositionConstraints,
    VelocityConstraints,
)
from sysid_ros.estimation.trajectory.graph.mechanism_file import read_mechanism
from sysid_ros.estimation.trajectory.graph.simulation import forward_dynamics
from sysid_ros.estimation.trajectory.graph.smoother import FixedLagSmoother

STEP, COUNT = 2e-3, 1501


def main() -> None:
    """Simulate, add noise, identify."""
    mechanism = read_mechanism(Path(__file__).parent / 'four_bar' / 'four_bar.yaml')
    t = STEP * np.arange(COUNT)
    torque = (45.0 + 40.0 * np.sin(1.7 * t) + 30.0 * np.sin(4.3 * t + 1.0))[:, None]

    simulation = forward_dynamics(
        mechanism, STEP, COUNT, coordinates='independent', torque=torque)
    motion = simulation.layout.split(FixedLagSmoother(simulation, window=3).run())

    noise = np.random.default_rng(0)
    angle = motion['z'] + 1e-3 * noise.normal(size=motion['z'].shape)
    measured = torque + 0.5 * noise.normal(size=torque.shape)
    free_parameters = free_parameters_of(
        mechanism, ['coupler.mass', 'rocker.mass', 'theta.viscous_friction'], shapes_held=True)
    free_parameters = free_parameters._replace(start=np.array([1.5, 5.0, 5.0]))
    graph = FactorGraph(mechanism, STEP, COUNT, [
        PositionConstraints(), VelocityConstraints(), Selection('q'), Selection('v'),
        Trapezoidal('z', 1e-6), Trapezoidal('dz', 1e-5),
        Dynamics(1e-2, torque=None, independent=True),
        Prior('q', angle, 1e-3, only=['theta'], title='encoder'),
        Prior('torque', measured, 0.5, title='motor'),
    ], free_parameters)
    print(graph)
    found = identify(graph)
    print(found.status.value, *found.notes)
    for name in found.names:
        low, high = found.interval(name)
        print(f'{name:24s} {low:.4f} to {high:.4f}, truly {mechanism.parameters[name]:.4f}')
    if len(sys.argv) > 1:
        figure = Figure(figsize=(9, 6))
        draw(graph, figure.subplots())
        figure.savefig(sys.argv[1])


if __name__ == '__main__':
    main()
