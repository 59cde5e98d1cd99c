"""An arm bends a flexible loop, and finds out how stiff it is from its own sensors.

    python bend_a_loop.py folder

Writes the arm with the loop (URDF and closures) and three figures into the folder. Here the
recording is simulated; with a real one, only ``record`` would be replaced.
"""

import sys
from pathlib import Path

import numpy as np
import yaml

from sysid_ros.estimation.trajectory.playback.costs import JointAngles
from sysid_ros.estimation.trajectory.playback.end_effector import (
    EndEffectorPosition,
    link_places,
)
from sysid_ros.estimation.trajectory.playback.gains import gain_advice
from sysid_ros.estimation.trajectory.playback.identified import identified
from sysid_ros.estimation.trajectory.playback.problem import (
    FreeParameter,
    Playback,
    playback_problem,
)
from sysid_ros.estimation.trajectory.playback.search import gauss_newton, steepest_descent
from sysid_ros.mechanics.integrators.variational.driven_trajectory import DrivenTrajectory, Hold
from sysid_ros.mechanics.integrators.variational.integrator import VariationalIntegrator
from sysid_ros.mechanics.joint_terms.terms import Stiffness, ViscousFriction
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.processing.signals import LowPass
from sysid_ros.report.playback_figure import convergence_figure, film_strip, path_figure
from sysid_ros.robot.flexible import FlexibleLoop, attach
from sysid_ros.robot.model import RobotModel

STEP, SECONDS = 0.01, 10.0  # s
NOISE_Q, NOISE_TAU = 3e-3, 0.1  # rad, N·m
STIFFNESS = (3.0, 1.2)  # N·m/rad, in the plane of the loop and out of it


def arm() -> RobotModel:
    """Three joints: shoulder about z, elbow and wrist about y."""
    parts, parent, height = ['<link name="base"/>'], 'base', 0.3
    for name, axis, length, mass in (
            ('shoulder', '0 0 1', 0.1, 4.0), ('elbow', '0 1 0', 0.4, 3.0),
            ('wrist', '0 1 0', 0.3, 1.5)):
        moment = mass * length**2 / 12
        parts.append(
            f'<link name="{name}_link"><inertial><origin xyz="0 0 {length / 2}"/>'
            f'<mass value="{mass}"/><inertia ixx="{moment}" iyy="{moment}" izz="{0.01 * mass}" '
            f'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="{name}" type="revolute">'
            f'<parent link="{parent}"/><child link="{name}_link"/><origin xyz="0 0 {height}"/>'
            f'<axis xyz="{axis}"/><dynamics damping="0.5"/>'
            '<limit lower="-3" upper="3" velocity="3" effort="100"/></joint>')
        parent, height = f'{name}_link', length
    return RobotModel.from_urdf(f'<robot name="arm">{"".join(parts)}</robot>')


def record(
    integrator: VariationalIntegrator, values: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Joint positions and torques at 100 Hz, with noise, of a controller that waves the arm."""
    fine = STEP / 10.0
    t = fine * np.arange(round(SECONDS / fine) + 1)
    begin = np.clip(t / 2.0, 0.0, 1.0) ** 2 * (3.0 - 2.0 * np.clip(t / 2.0, 0.0, 1.0))
    wave = 0.12 * begin[:, None] * np.sin(np.outer(t, [1.7, 1.1, 2.3]) + [0.0, 1.0, 2.0])
    wanted, gains = start[:3] + wave, (np.diag([300.0, 300.0, 150.0]), np.diag([40.0, 40.0, 20.0]))
    trajectory = DrivenTrajectory(
        np.array([start, 0.0 * start]), np.zeros((len(t), len(start))), fine,
        Hold(np.arange(3), wanted, *gains))
    motion = integrator.run(values, [trajectory], derivatives=False)[0]
    positions = motion.positions[:, :3]
    speeds = integrator.read(values, motion).velocities[:, :3]
    fast = np.gradient(wanted, fine, axis=0)
    torque = (wanted - positions) @ gains[0] + (fast - speeds) @ gains[1]
    rng = np.random.default_rng(0)
    positions, torque = positions[::10], torque[::10]
    return (positions + NOISE_Q * rng.normal(size=positions.shape),
            torque + NOISE_TAU * rng.normal(size=torque.shape))


def main(folder: Path) -> None:
    """Build, record, identify, draw."""
    folder.mkdir(parents=True, exist_ok=True)
    robot = arm()
    at = {'elbow': 0.9, 'wrist': 1.2}
    down = np.eye(4)
    turn = np.pi - sum(at.values())
    down[:3, :3] = [
        [np.cos(turn), 0.0, np.sin(turn)], [0.0, 1.0, 0.0], [-np.sin(turn), 0.0, np.cos(turn)]]
    down[2, 3] = 0.3
    loop = FlexibleLoop(
        'loop', 8, 0.2, 0.03, STIFFNESS, (0.02, 0.02), radius=0.2)
    held = attach(robot, 'wrist_link', loop, pose=down, at=at)
    settings = held.settings(robot.joint_names, at)
    (folder / 'arm_with_loop.urdf').write_text(held.urdf)
    (folder / 'loop.yaml').write_text(yaml.safe_dump(settings.model_dump(mode='json')))

    both = RobotModel.from_urdf(held.urdf, loops=settings)
    tree, closures, start = both.opened, both.loops.closures, both.loops.assembly
    springs = tuple(name for group in held.joints for name in group)
    model = TorqueModel(tree, (ViscousFriction(tree.joint_names), Stiffness(springs)))
    integrator = VariationalIntegrator(model, closures, start)
    truth = model.parameters.with_values(
        {f'{name}.stiffness': value for name, value in held.stiffness.items()}).values
    measured, torque = record(integrator, truth, start)

    reference = LowPass(cutoff=4.0).apply(measured, 1.0 / STEP)
    padded = np.zeros((len(measured), len(start)))
    padded[:, :3] = torque
    trajectory = DrivenTrajectory(
        np.array([start, 0.0 * start]), padded, STEP,
        Hold(np.arange(3), reference, np.diag([120.0, 120.0, 60.0]), np.diag([30.0, 30.0, 15.0])))
    playback = Playback(trajectory, (JointAngles(np.arange(3), measured, np.full(3, NOISE_Q)),))
    free_parameters = tuple(
        FreeParameter(name, tuple(f'{joint}.stiffness' for joint in joints), 5.0)
        for name, joints in zip(('in the plane', 'out of it'), held.joints, strict=True))
    problem = playback_problem(integrator, {}, free_parameters, (playback,))
    found, slow = gauss_newton(problem), steepest_descent(problem)
    result = identified(found)
    for name, value, (low, high), true in zip(
            result.names, result.values, result.intervals(), STIFFNESS, strict=True):
        print(f'{name}: {value:.3f} N·m/rad, 95 % interval {low:.3f} to {high:.3f}; true {true}')
    print(*gain_advice(result), sep='\n', end='')

    convergence_figure(folder / 'convergence.png', {'Gauss-Newton': found, 'steepest': slow})
    seen = np.tile(start, (len(measured), 1))
    seen[:, :3] = measured
    hand = 'wrist_link', np.array([0.0, 0.0, 0.3])
    path_figure(folder / 'path.png', EndEffectorPosition(
        tree, *hand, link_places(tree, *hand, seen).position, np.ones(3)), slow)
    motion = found.point.motions[0].positions
    frames = np.linspace(0, len(motion) - 1, 6).astype(int)
    links = [f'loop_{side}_{k}' for side in ('left', 'right') for k in range(1, 5)]
    film_strip(
        folder / 'film.png', tree, motion[frames], STEP * frames, links,
        np.array([0.0, 0.0, loop.link_length]))


if __name__ == '__main__':
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path('bent_loop'))
