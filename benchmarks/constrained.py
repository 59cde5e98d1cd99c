"""Closed chains: how fast the loops are solved, and a leg identified from what its motors measure.

The leg has six motors and nine passive joints in three loops. MuJoCo moves it, with its own
equality constraints; encoders have 14 bits, torques noise of 1 % of their range. The prior has
masses up to 20 % off and half of the friction and drive inertia. The fit of ten seconds is timed,
that of a minute is judged. The weight of the prior is what 20 % means in its units.

Offsets need more: whether a hip's centre of mass lies aside or its torque is off shows in the
cosine of its roll only, which half a radian changes by an eighth, under noise of 0.8 N·m. A
minute tells the two apart to 0.3 N·m. So the hip rolls as far as that of a walking robot does,
in a designed motion, for ten minutes.
"""

from __future__ import annotations

# isort: off
from _one_core import median_times

# isort: on
import json
from dataclasses import replace
from typing import Any

import _support  # noqa: F401
import mujoco
import numpy as np

from support import closed_robots as robots
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.excitation.design.basis import FourierBasis
from sysid_ros.excitation.design.design import Designer, DesignSettings
from sysid_ros.excitation.design.information import Information
from sysid_ros.excitation.safety.limits import MotionLimits
from sysid_ros.mechanics.closures.closed_chain import closed_chain
from sysid_ros.mechanics.joint_terms.terms import (
    Armature,
    CoulombFriction,
    TorqueOffset,
    ViscousFriction,
)
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.signals import ParallelFilter
from sysid_ros.recording.recording import Channel, Recording
from sysid_ros.robot.parameters import ParameterSet

MOTORS = robots.LEG_MOTORS
TIMED, SECONDS, RATE, SUBSTEPS, NOISE, BITS = 10.0, 60.0, 1000.0, 4, 0.01, 14
STEP = 2 * np.pi / 2**BITS
HARMONICS, FASTEST = 5, 10.0
# The designed motion: ranges in [rad], speed in [rad/s], a period in [s], and how fast it is
# played, each time at another speed: where motion repeats, so does what encoders round.
REACH, FAST, PERIOD, SPEEDS = {'hip_roll': 1.0}, 6.0, 10.0, np.linspace(0.8, 1.0, 55)
STRENGTH = 1.0 / 0.2**2
SEEDS, UNSEEN = (3, 4, 5), 9
GAMMA_BAR, FIT_BAR, FRICTION_BAR, OFFSET_BAR, RESIDUAL_BAR = 0.2, 2.0, 3.0, 0.02, 1.2
PROCESSING = Processing(position_filter=LowPass(cutoff=40.0), differentiation='central4')
# Speed in [rad/s] below which encoders do not tell the direction that dry friction has.
SLOWEST = 0.05
FILTER = ParallelFilter(cutoff=6.0, decimate_to=15.0)


def model_of(reach: dict[str, float] | None = None) -> TorqueModel:
    """The leg with friction, offset and drive inertia at its motors, with its ranges or others."""
    terms = (ViscousFriction(), CoulombFriction(), TorqueOffset(), Armature())
    return TorqueModel(robots.leg(reach), terms)


def truth_and_prior(model: TorqueModel, seed: int) -> tuple[np.ndarray, ParameterSet]:
    """True parameters, which are the description's, and a prior that is wrong about them."""
    random = np.random.default_rng(seed)
    truth, prior = model.parameters.prior.copy(), model.parameters.prior.copy()
    for body in model.parameters.bodies:
        prior[model.parameters.body_slice(body)] *= random.uniform(0.8, 1.2)
    for k, name in enumerate(model.parameters.names):
        if name.endswith(('friction', 'armature')):
            prior[k] *= 0.5
    return truth, replace(model.parameters, prior=prior, values=prior)


def plant(model: TorqueModel) -> mujoco.MjModel:
    """The leg in MuJoCo, with the ranges of a model."""
    reach = dict(zip(model.robot.joint_names, model.robot.limits.upper, strict=True))
    return mujoco.MjModel.from_xml_string(robots.leg_mjcf(
        options=f'timestep="{1 / (RATE * SUBSTEPS)}" integrator="implicitfast" '
        'iterations="200" tolerance="1e-12"', reach=reach))


def motion(
    model: TorqueModel, truth: np.ndarray, t: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random sums of sines, as fast as 80 % of the motors' torques allow, ``(T, n)`` each."""
    random = np.random.default_rng(seed)
    limits = model.robot.limits
    shape = (len(limits.lower), HARMONICS)
    omega = random.uniform(1.0, FASTEST, shape)
    phase = random.uniform(0.0, 2 * np.pi, shape)
    size = 0.4 * (limits.upper - limits.lower)[:, None]
    size = size * random.dirichlet(np.full(HARMONICS, 3.0), len(omega))
    while True:
        angle = t[:, None, None] * omega + phase
        moved = (
            0.5 * (limits.lower + limits.upper) + (size * np.sin(angle)).sum(2),
            (size * omega * np.cos(angle)).sum(2), -(size * omega**2 * np.sin(angle)).sum(2),
        )
        if (np.abs(model.torque(truth, *(x[::10] for x in moved))) < 0.8 * limits.effort).all():
            return moved
        omega = 0.95 * omega


def designed(model: TorqueModel) -> tuple[np.ndarray, ...]:
    """A motion that tells most, over and over, some ten minutes, ``(T, n)`` each.

    What it tells does not depend on parameters; whether motors can follow it is judged by the
    description's, and they have a fifth of their torque to spare.
    """
    limits = MotionLimits.of(
        model.robot, {name: {'velocity': FAST} for name in model.robot.joint_names})
    excitation = Designer(
        model, Information.of(model, limits), limits, FourierBasis(PERIOD),
        DesignSettings(starts=1, iterations=60)).design()
    played = [
        each.sample(np.arange(int(each.duration * RATE)) / RATE)
        for each in map(excitation.at_speed, SPEEDS)]
    return tuple(np.vstack([getattr(part, name) for part in played]) for name in 'qva')


def followed(
    model: TorqueModel, reference: tuple[np.ndarray, ...], forward: np.ndarray, *,
    encoders: bool = False, limited: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """The leg in MuJoCo under control, from the beginning of a motion on.

    Args:
        model: Its torque model.
        reference: Positions, velocities and accelerations of its motors, ``(T, n)`` each.
        forward: Torques that the controller expects to be needed, shape ``(T, n)``.
        encoders: Whether it sees positions in steps of the encoders.
        limited: Whether motors have torque limits.

    Returns:
        Positions and torques of the motors, shape ``(T, n)`` each.
    """
    simulated = plant(model)
    simulated.actuator_forcelimited[:] = limited
    data = mujoco.MjData(simulated)
    robot, chain = model.robot, closed_chain(model.robot)
    names = [simulated.joint(k).name for k in range(simulated.njnt)]
    order = [names.index(name) for name in chain.joint_names]
    driven = [names.index(name) for name in robot.joint_names]
    q, v, a = reference
    start = chain.motion(q[:1], v[:1], a[:1])
    data.qpos[order], data.qvel[order] = start.q[0], start.v[0]
    positions, torque = np.empty((2, *q.shape))
    for k in range(len(q)):
        positions[k] = data.qpos[driven]
        seen = np.round(positions[k] / STEP) * STEP if encoders else positions[k]
        away, slow = q[k] - seen, v[k] - data.qvel[driven]
        torque[k] = forward[k] + robot.limits.effort * (20.0 * away + 0.5 * slow)
        data.ctrl[:] = torque[k]
        for _ in range(SUBSTEPS):
            mujoco.mj_step(simulated, data)
    return positions, torque


def recorded(
    model: TorqueModel, truth: np.ndarray, seconds: float, seed: int
) -> Recording:
    """Encoders and torques of the leg in MuJoCo, under control of computed torques."""
    t = np.arange(round(seconds * RATE) + 1) / RATE
    reference = motion(model, truth, t, seed)
    return measured(model, *followed(model, reference, model.torque(truth, *reference)), seed)


def measured(
    model: TorqueModel, positions: np.ndarray, torque: np.ndarray, seed: int
) -> Recording:
    """What encoders and torque sensors say of a motion, ``(T, n)`` each."""
    effort, names, torque = model.robot.limits.effort, model.robot.joint_names, torque.copy()
    # A torque is held until the next sample: it belongs to the middle between the two.
    torque[1:] = 0.5 * (torque[1:] + torque[:-1])
    random, t = np.random.default_rng(seed), np.arange(len(torque)) / RATE
    torque += NOISE * effort * random.normal(size=torque.shape)
    channels = (
        Channel('position', names, 'rad', t, np.round(positions / STEP) * STEP),
        Channel('effort', names, 'N·m', t, torque),
    )
    return Recording(channels, 'simulated', '')


def rows(model: TorqueModel, prior: ParameterSet, recording: Recording) -> RegressionProblem:
    """What recorded motors say."""
    dataset = align(recording, model.robot.joint_names, PROCESSING)
    return RegressionProblem.from_dataset(
        model, dataset, parallel_filter=FILTER, minimum_velocity=SLOWEST, parameters=prior)


def identified(
    model: TorqueModel, prior: ParameterSet, recording: Recording, strength: float = STRENGTH
) -> tuple[RegressionProblem, Estimate]:
    """From recorded motors to consistent parameters."""
    problem = rows(model, prior, recording)
    return problem, make_estimator('entropic', prior_strength=strength).fit(problem)


def figure(name: str, value: float, unit: str, bar: float, **more: Any) -> dict[str, Any]:
    """A figure that is good if it is small."""
    return {'name': name, 'value': round(value, 4), 'unit': unit, 'reference': None, 'ratio': None,
            'bar': f'<= {bar:g} {unit}', 'ok': bool(value <= bar)} | more


def gamma() -> list[dict[str, Any]]:
    """Time to solve the loops of the leg along a motion."""
    robot = robots.leg()
    chain = closed_chain(robot)
    q, v, a = robots.smooth_motion(robot, np.arange(10_000) / RATE)
    random = np.random.default_rng(0).uniform(robot.limits.lower, robot.limits.upper, q.shape)
    times = median_times(
        lambda: chain.positions(q), lambda: chain.motion(q, v, a), lambda: chain.positions(random))
    open_by = max(float(np.abs(chain.gaps(chain.positions(x))).max()) for x in (q, random))
    print(f'10 000 samples: loops {times[0]:.3f} s, with velocities, accelerations and G '
          f'{times[1]:.3f} s, at random positions {times[2]:.3f} s; open by {open_by:.1e} m')
    return [figure('loops of the leg, 10 000 samples', times[0], 's', GAMMA_BAR,
                   ok=bool(times[0] <= GAMMA_BAR and open_by < 1e-9))]


def errors(truth: np.ndarray, estimate: Estimate) -> tuple[float, float]:
    """Largest error of armature and friction in [%] and of offsets in [N·m]; all are printed."""
    friction, offset, found = 0.0, 0.0, estimate.parameters
    for motor in MOTORS:
        words = ''
        for field in ('armature', 'viscous_friction', 'coulomb_friction'):
            k = found.index(f'{motor}.{field}')
            error = 100 * (found.values[k] / truth[k] - 1)
            friction = max(friction, abs(error))
            words += f'{field} {error:+.2f} %, '
        k = found.index(f'{motor}.torque_offset')
        away = found.values[k] - truth[k]
        offset = max(offset, abs(away))
        print(f'{motor}: {words}offset {away:+.4f} N·m, said to be known to '
              f'{estimate.standard_deviation[k]:.4f}')
    return friction, offset


def judged(problem: RegressionProblem, estimate: Estimate) -> float:
    """Largest residual over the noise that passes the filter; bodies have to be consistent."""
    effort = problem.model.robot.limits.effort
    floor = NOISE * effort * np.sqrt(2 * FILTER.cutoff / RATE)
    squares = np.sum(problem.residuals(estimate.parameters.values) ** 2, axis=0)
    left = np.sqrt(squares / problem.usable.sum(axis=0)) / floor
    margin = min(estimate.margins.values())
    print(f'{estimate.status.value}; smallest margin of a body {margin:.3f}; residuals over the '
          f'noise that passes the filter {np.round(left, 2)}')
    return float(left.max()) if margin > 0.0 else np.inf


def leg() -> list[dict[str, Any]]:
    """The leg, identified from its motors."""
    model = model_of()
    truth, prior = truth_and_prior(model, 1)
    short = recorded(model, truth, TIMED, 2)
    seconds, = median_times(lambda: identified(model, prior, short))
    long = recorded(model, truth, SECONDS, 3)
    problem, estimate = identified(model, prior, long)
    friction, offset = errors(truth, estimate)
    left = judged(problem, estimate)
    # The inertias of the maker, and only motors and friction identified, as in the paper.
    names = prior.names
    values = np.where([name.rpartition('.')[0] in MOTORS for name in names], prior.prior, truth)
    known = replace(prior, prior=values, values=values).fixed(
        *(f'{body}.*' for body in prior.bodies))
    print('with known inertias:')
    part = errors(truth, identified(model, known, long, 1.0)[1])
    return [
        figure('leg, 10 s of motors to consistent parameters', seconds, 's', FIT_BAR),
        figure('leg, a minute: residuals over the noise', left, '', RESIDUAL_BAR),
        figure('leg, a minute: armature and friction, worst of all motors', friction, '%',
               FRICTION_BAR),
        figure('leg with known inertias, armature and friction', part[0], '%', FRICTION_BAR),
        figure('leg with known inertias, torque offset', part[1], 'N·m', OFFSET_BAR),
        {'name': 'leg, a minute: torque offset, worst motor', 'value': round(offset, 4),
         'unit': 'N·m', 'reference': 'what a minute of random motion tells', 'ratio': None,
         'bar': None, 'ok': True},
    ]


def far() -> list[dict[str, Any]]:
    """The leg whose hip rolls far, in ten minutes of a designed motion."""
    model = model_of(REACH)
    truth, prior = truth_and_prior(model, 1)
    reference = designed(model)
    moved = followed(model, reference, model.torque(truth, *reference))
    unseen = rows(model, prior, recorded(model, truth, SECONDS, UNSEEN))
    friction, offset, left, elsewhere = 0.0, 0.0, 0.0, 0.0
    for seed in SEEDS:
        problem, estimate = identified(model, prior, measured(model, *moved, seed))
        print(f'ten minutes of a designed motion, noise {seed}:')
        worst = errors(truth, estimate)
        friction, offset = max(friction, worst[0]), max(offset, worst[1])
        left = max(left, judged(problem, estimate))
        elsewhere = max(elsewhere, judged(unseen, estimate))
    name = f'leg, ten minutes of a designed motion, {len(SEEDS)} seeds'
    return [
        figure(f'{name}: residuals over the noise', left, '', RESIDUAL_BAR),
        figure(f'{name}: likewise of a random motion that was not fitted', elsewhere, '',
               RESIDUAL_BAR),
        figure(f'{name}: armature and friction, worst of all motors', friction, '%', FRICTION_BAR),
        figure(f'{name}: torque offset, worst motor', offset, 'N·m', OFFSET_BAR),
    ]


def main() -> None:
    """Print all figures."""
    print(json.dumps([*gamma(), *leg(), *far()], ensure_ascii=False))


if __name__ == '__main__':
    main()
