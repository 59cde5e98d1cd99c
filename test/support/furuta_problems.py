"""A Furuta pendulum to be identified: true motions, and problems that begin where a paper does.

The truth is the machine's equations in two angles, integrated to rounding (Table G.5 of the paper
on discrete multibody dynamics); encoders have noise of 1 mrad.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from support import furuta_robot, furuta_truth
from sysid_ros.estimation.trajectory.problem import TrajectoryProblem

SIGMA, GAIN, SHAFT = 1e-3, 7.28, 1e-4
ARM, ROD = (0.238, 0.128), (0.428, 0.092)
# Moments about centres of mass: the names of the description, and the paper's values.
MOMENTS = {
    'arm.inertia_xx': 1e-4, 'arm.inertia_yy': 0.003, 'arm.inertia_zz': 0.003 + SHAFT,
    'rod.inertia_xx': 0.004, 'rod.inertia_yy': 0.004, 'rod.inertia_zz': 1e-4}
FRICTION = {'shoulder.viscous_friction': 1e-3, 'elbow.viscous_friction': 1e-4}
FOUR = ('arm.inertia_zz', 'rod.inertia_xx', *FRICTION)
THIRTEEN = (
    *list(MOMENTS)[:5], *FRICTION, 'shoulder.bearing_friction', 'elbow.bearing_friction',
    'shoulder.drive_gain', 'gravity.tilt_x', 'gravity.tilt_y', 'gravity.tilt_z')
# Where the paper begins (Table 1).
BEGIN = {name: 0.01 for name in list(MOMENTS)[:5]} | dict.fromkeys(FRICTION, 1e-4) | {
    'shoulder.bearing_friction': 1e-4, 'elbow.bearing_friction': 1e-4}
TILT = (0.01, 0.0, 0.02)


def parallel_axis_term(name: str) -> float:
    """What a moment about a joint has more than that about the centre of mass."""
    mass, length = ARM if name.startswith('arm') else ROD
    along = name in ('arm.inertia_xx', 'rod.inertia_zz')
    return mass * length**2 if 'inertia' in name and not along else 0.0


def described_furuta() -> Any:
    """The paper's machine, described."""
    arm, rod = np.split(np.array(list(MOMENTS.values())), 2)
    return furuta_robot.Furuta(
        arm_mass=ARM[0], arm_com=ARM[1], arm_length=0.248, arm_inertia=tuple(arm),
        rod_mass=ROD[0], rod_com=ROD[1], rod_inertia=tuple(rod),
        viscous=tuple(FRICTION.values()), torque_per_unit=GAIN, gravity=furuta_truth.GRAVITY)


@cache
def motion(scenario: str, seconds: float, tilted: bool = False) -> Any:
    """A true motion."""
    plant = furuta_truth.Furuta(gain=GAIN, tilt=TILT if tilted else (0.0, 0.0, 0.0))
    return getattr(furuta_truth, scenario)(plant, seconds)


def problem_of(
    recorded: Any, step: float, free: tuple[str, ...], seed: int = 0, friction: str = 'viscous',
) -> TrajectoryProblem:
    """A recording to fit, begun where the paper begins."""
    described = described_furuta()
    model = described.model(friction)
    parameters = described.parameters(model, friction)
    names, prior = parameters.names, parameters.prior
    values = np.array([
        BEGIN[name] + parallel_axis_term(name) if name in BEGIN and name in free else value
        for name, value in zip(names, prior, strict=True)])
    # Moments about centres of mass stay above zero.
    lower = np.array([
        parallel_axis_term(name) + 1e-5 if name in MOMENTS else bound
        for name, bound in zip(names, parameters.lower, strict=True)])
    segment = described.segment(
        recorded.t, recorded.measured(SIGMA, seed), recorded.u, step, SIGMA)
    # What lies between nodes tells no more than they do, and takes time.
    segment = replace(segment, observations=tuple(
        replace(seen, t=seen.t[::every], values=seen.values[::every])
        for seen in segment.observations for every in [max(round(step / 1e-3), 1)]))
    return TrajectoryProblem(model, replace(
        parameters, values=values, prior=prior, lower=lower,
        free=np.isin(names, free)), (segment,))


def error(problem: TrajectoryProblem, values: np.ndarray, name: str) -> float:
    """Relative error of a parameter, of moments about the centre of mass."""
    true = (MOMENTS | FRICTION).get(name, 1.0)
    return float((values[problem.parameters.index(name)] - parallel_axis_term(name)) / true - 1.0)
