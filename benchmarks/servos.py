"""Published robots under position servos whose description is wrong: what default settings find.

MuJoCo simulates the published description with servos at 2 kHz; friction, armature and gains are
drawn at random, the commands are late, come at 50 Hz and hold, encoders have 12 bits. A user has
the gains and a description whose masses and centres of mass are up to 20 % off and that knows no
friction, and says nothing else. The last third of the recording is kept to judge by. What friction
is found is compared with what the plant has: masses that are held at a wrong description show.
Drives may filter what they are told, which the user does not say either, and the user may know no
gain: then one stiffness is guessed for all drives, the geometric mean of the true ones, and gains
are sought.

``python benchmarks/servos.py [--seconds S] [--seed SEED] [--filter T] [--unknown] [ROBOT ...]``
fits robots by their names in ``_plants.py``, by default SO-101, UR5 and Solo 12, the first two with
filters, and again without a gain that is known.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import _one_core  # noqa: F401
import mujoco
import numpy as np
import pinocchio as pin
import yaml
from _plants import Plant, published

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.evaluation.evaluation import Evaluation
from sysid_ros.evaluation.study import Study
from sysid_ros.mechanics.actuators.actuators import FILTER

RATE, COMMANDS, STEP, BITS = 200.0, 50.0, 5e-4, 12
HOLDOUT = 1.0 / 3.0
# Error of unseen motion in parts of the motion; of viscous and dry friction in parts of the truth,
# where 95 % intervals do not hold it.
BAR_MOTION, BAR_FRICTION = 0.005, 0.2
# Time constants of filters are found to this part.
BAR_FILTER = 0.05
# Gains that are sought are found to this part, all of them by a factor that they have in common:
# the described links, which are 20 % off, are the only scale.
BAR_GAINS = 0.3
# What people guess a damping by, in parts of the stiffness, in [s].
DAMPING = 0.04
#: Robots, the time constants of their drives' filters in [s], 0 without one, and whether the gains
#: are not known.
ROBOTS = (
    ('SO-101', 0.0, False), ('UR5', 0.0, False), ('Solo 12', 0.0, False), ('SO-101', 0.05, False),
    ('UR5', 0.2, False), ('SO-101', 0.0, True), ('UR5', 0.0, True))


@dataclass(frozen=True, eq=False)
class Servos:
    """What drives and joints of a plant are.

    Attributes:
        joints: Their names.
        kp: Gains of positions in [N·m/rad].
        kd: Gains of velocities.
        truth: Viscous friction, dry friction and armature of all joints, by field.
        delay: Of the commands in [s].
    """

    joints: tuple[str, ...]
    kp: np.ndarray
    kd: np.ndarray
    truth: dict[str, np.ndarray]
    delay: float


class ServoPlant:
    """A published robot that follows commands.

    Args:
        name: Its name in ``_plants.py``.
        seed: Of all that is drawn.
        time_constant: That of a filter of first order before the commands in [s], 0 for none.
    """

    def __init__(self, name: str, seed: int, time_constant: float = 0.0) -> None:
        self._time_constant = time_constant
        path = published(name)
        assert path is not None, f'{name}: install example-robot-data'
        plant, rng = Plant(path, seed), np.random.default_rng(seed)
        self.prior, self._rng = _bare(plant.prior), rng
        self._model = _simulated(_bare(plant.description))
        joints = tuple(
            mujoco.mj_id2name(self._model, mujoco.mjtObj.mjOBJ_JOINT, k)
            for k in range(self._model.njnt))
        assert joints == plant.joints, name
        self._centre, self._reach = self._range()
        self.servos = self._drawn(plant.model, joints)

    def _range(self) -> tuple[np.ndarray, np.ndarray]:
        limits = np.where(
            self._model.jnt_limited[:, None].astype(bool), self._model.jnt_range, [-np.pi, np.pi])
        lower, size = limits[:, 0], np.ptp(limits, axis=1)
        return np.clip(0.0, lower + 0.2 * size, lower + 0.8 * size), np.minimum(0.6, 0.15 * size)

    def _drawn(self, model: pin.Model, joints: tuple[str, ...]) -> Servos:
        rng, n, data = self._rng, len(joints), model.createData()
        inertia = np.diag(pin.crba(model, data, pin.neutral(model))).copy()
        weight = np.max(np.abs([
            pin.computeGeneralizedGravity(
                model, data, self._centre + self._reach * rng.uniform(-1.0, 1.0, n)).copy()
            for _ in range(20)]), axis=0)
        armature = inertia * rng.uniform(0.3, 1.0, n) + 1e-4
        moved = inertia + armature
        kp = _rounded(moved * (2.0 * np.pi * rng.uniform(3.0, 6.0, n))**2 + 3.0 * weight)
        kd = _rounded(1.4 * np.sqrt(kp * moved) * rng.uniform(0.5, 1.0, n))
        return Servos(joints, kp, kd, {
            'viscous_friction': 0.03 * kd,
            'coulomb_friction': 0.05 * (weight + 0.1 * kp * self._reach) + 1e-4,
            'armature': armature}, rng.uniform(0.003, 0.02))

    def recorded(self, seconds: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times, commands and encoder readings at the rate of the recording."""
        servos, model = self.servos, self._model
        model.dof_armature[:] = servos.truth['armature']
        model.dof_frictionloss[:] = servos.truth['coulomb_friction']
        model.dof_damping[:] = servos.truth['viscous_friction']
        commands, data = self._commands(seconds), mujoco.MjData(model)
        data.qpos[:] = commands[0]
        every, settle = round(1.0 / (RATE * STEP)), round(1.0 / STEP)
        left = np.exp(-STEP / self._time_constant) if self._time_constant else 0.0
        read, followed = [], commands[0]
        for k in range(-settle, round(seconds / STEP)):
            if k >= 0 and k % every == 0:
                read.append(data.qpos.copy())
            told = commands[max(int((k * STEP - servos.delay) * COMMANDS + 1e-9), 0)]
            followed = told + left * (followed - told)
            data.qfrc_applied[:] = servos.kp * (followed - data.qpos) - servos.kd * data.qvel
            mujoco.mj_step(model, data)
        t, count = np.arange(len(read)) / RATE, 2.0 * np.pi / 2**BITS
        return t, commands[(t * COMMANDS + 1e-9).astype(int)], np.round(
            np.array(read) / count) * count

    def _commands(self, seconds: float) -> np.ndarray:
        """Sums of slow sines and steps, from rest, as a person would try servos."""
        rng, n = self._rng, len(self._centre)
        t = np.arange(0.0, seconds, 1.0 / COMMANDS)[:, None]
        pace, phase = rng.uniform(0.1, 0.9, (n, 3)), rng.uniform(0.0, 2.0 * np.pi, (n, 3))
        waves = np.sin(2.0 * np.pi * pace * t[:, :, None] + phase).sum(axis=2)
        steps = np.sign(np.sin(2.0 * np.pi * rng.uniform(0.1, 0.25, n) * t + phase[:, 0]))
        return self._centre + 0.25 * np.clip(t / 2.0, 0.0, 1.0) * self._reach * (waves + steps)


def _rounded(values: np.ndarray) -> np.ndarray:
    """Gains as people write them, three digits."""
    return np.array([float(f'{value:.3g}') for value in values])


def _bare(description: str) -> str:
    """A URDF that says nothing of friction."""
    root = ET.fromstring(description)
    for joint in root.iter('joint'):
        for key in ('dynamics', 'safety_controller'):
            for element in joint.findall(key):
                joint.remove(element)
    return ET.tostring(root, encoding='unicode')


def _simulated(description: str) -> mujoco.MjModel:
    root = ET.fromstring(description)
    ET.SubElement(ET.SubElement(root, 'mujoco'), 'compiler', {
        'fusestatic': 'true', 'discardvisual': 'true', 'balanceinertia': 'true'})
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding='unicode'))
    spec.option.timestep = STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= (
        mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT)
    return spec.compile()


def actuators(servos: Servos, unknown: bool) -> dict[str, dict[str, object]]:
    """What a user says of the drives, by joint."""
    kp, kd = servos.kp, servos.kd
    if unknown:
        kp = _rounded(np.full(len(kp), np.exp(np.mean(np.log(kp)))))
        kd = _rounded(DAMPING * kp)
    return {
        joint: {'kind': 'position_servo', 'kp': p, 'kd': d} | (
            {'sought': ['kp', 'kd']} if unknown else {})
        for joint, p, d in zip(servos.joints, kp.tolist(), kd.tolist(), strict=True)}


def evaluated(plant: ServoPlant, seconds: float, unknown: bool) -> tuple[Evaluation, float]:
    """What a fit with default settings says, and its time of the processor in [s]."""
    joints = list(plant.servos.joints)
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        (folder / 'robot.urdf').write_text(plant.prior)
        header = ['t', *(f'{kind}_{joint}' for kind in ('u', 'q') for joint in joints)]
        np.savetxt(folder / 'log.csv', np.column_stack(plant.recorded(seconds)), delimiter=',',
                   header=','.join(header), comments='', fmt='%.6f')
        (folder / 'settings.yaml').write_text(yaml.safe_dump({
            'robot': {
                'description': 'robot.urdf', 'actuators': actuators(plant.servos, unknown)},
            'recording': {
                'format': 'csv', 'file': 'log.csv', 'time': {'column': 't'}, 'joints': joints,
                'position': {'prefix': 'q_'}, 'command': {'prefix': 'u_'}}}))
        start = time.process_time()
        setup = FitSetup.load(folder / 'settings.yaml')
        study = Study.load(setup, holdout=HOLDOUT, estimator=setup.settings.fit.estimator)
        evaluation = study.fit(setup.settings.fit.estimator)
        return evaluation, time.process_time() - start


def gain_figures(name: str, servos: Servos, estimate: Estimate) -> Iterator[dict[str, object]]:
    """The figure of stiffnesses that were sought; damping has the viscous friction as well."""
    index = [estimate.parameters.index(f'{joint}.kp') for joint in servos.joints]
    ratio = estimate.parameters.values[index] / servos.kp
    wide = 1.96 * estimate.standard_deviation[index] / servos.kp
    wrong = (np.abs(ratio - 1.0) > np.maximum(wide, BAR_GAINS)).sum()
    print(f'{name}: kp found over true: {np.array2string(ratio, precision=2)}')
    yield {
        'name': f'{name}: joints whose kp is neither within {100.0 * BAR_GAINS:g} % nor in its '
        'interval', 'value': int(wrong), 'unit': '', 'bar': '0', 'ok': not wrong}


def friction_figures(
    name: str, servos: Servos, estimate: Estimate
) -> Iterator[dict[str, object]]:
    """The figures of viscous and dry friction."""
    for field in ('viscous_friction', 'coulomb_friction'):
        index = [estimate.parameters.index(f'{joint}.{field}') for joint in servos.joints]
        ratio = estimate.parameters.values[index] / servos.truth[field]
        wide = 1.96 * estimate.standard_deviation[index] / servos.truth[field]
        wrong = (np.abs(ratio - 1.0) > np.maximum(wide, BAR_FRICTION)).sum()
        print(f'{name}: {field} found over true: {np.array2string(ratio, precision=2)}')
        yield {
            'name': f'{name}: joints whose {field} is neither within {100.0 * BAR_FRICTION:g} % '
            'nor in its interval', 'value': int(wrong), 'unit': '', 'bar': '0',
            'ok': not wrong}


def figures(
    robot: str, seed: int, seconds: float, time_constant: float, unknown: bool
) -> list[dict[str, object]]:
    """What a fit with default settings finds of a robot."""
    plant = ServoPlant(robot, seed, time_constant)
    servos = plant.servos
    name = robot + ' with a filter' * bool(time_constant) + ' without a gain' * unknown
    evaluation, took = evaluated(plant, seconds, unknown)
    estimate, unseen = evaluation.estimate, evaluation.held_out
    rows = list((gain_figures if unknown else friction_figures)(name, servos, estimate))
    filters = FILTER in estimate.parameters
    found = estimate.parameters[FILTER] if filters else 0.0
    rows.append({
        'name': f'{name}: time constant of the filter', 'value': found, 'unit': 's',
        'reference': f'{time_constant:g} s', 'bar': f'within {100.0 * BAR_FILTER:g} %',
        'ok': abs(found - time_constant) <= BAR_FILTER * time_constant})
    error = unseen.candidate.relative_error
    print(f'{name}: {estimate.status.name}, {took:.0f} s; unseen motion {100.0 * error:.2f} % off, '
          f'the description {100.0 * unseen.prior.relative_error:.2g} %; delay '
          f'{1e3 * estimate.parameters["command.delay"]:.2f} ms of {1e3 * servos.delay:.2f} ms; '
          f'{"committable" if evaluation.verdict.committable else "NOT committable"}')
    return [
        {'name': f'{name}: error of unseen motion', 'value': error, 'unit': '',
         'reference': f'the description, {unseen.prior.relative_error:.3g}',
         'bar': f'<= {BAR_MOTION:g}', 'ok': bool(estimate.status.ok and error <= BAR_MOTION)},
        *rows, {'name': f'{name}: time of the fit', 'value': took, 'unit': 's', 'ok': True}]


def main() -> None:
    """Fit the robots that are asked for, all by default, and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('robots', nargs='*')
    parser.add_argument('--seconds', type=float, default=30.0)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--filter', type=float, default=0.0, metavar='T', help='time constant of '
                        'a filter of commands in s, with ROBOT')
    parser.add_argument('--unknown', action='store_true', help='gains are sought, with ROBOT')
    given = parser.parse_args()
    robots = [(robot, given.filter, given.unknown) for robot in given.robots] or ROBOTS
    print(json.dumps([
        row for robot, time_constant, unknown in robots
        for row in figures(robot, given.seed, given.seconds, time_constant, unknown)]))


if __name__ == '__main__':
    main()
