"""Friction models chosen on training data alone, judged by what neither fit nor choice has seen.

On the Stäubli TX40 the first two thirds of the recording are fitted and the last third is
predicted; a simulated arm with Stribeck and load-dependent friction is fitted at half speed and
predicted at full speed, on another motion. Candidates, folds and rule are the defaults.
"""

from __future__ import annotations

# isort: off
import _one_core  # noqa: F401 (pins before NumPy is loaded)

# isort: on
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import _support  # noqa: F401
import numpy as np

from support.simulated_arm import SimulatedArm
from sysid_ros.estimation.estimator import make_estimator
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.friction_models import FrictionSelection, friction_candidate
from sysid_ros.estimation.identification import Identification
from sysid_ros.estimation.motion import Motion
from sysid_ros.estimation.outer_iteration import OuterIteration
from sysid_ros.estimation.problem import RegressionProblem
from sysid_ros.evaluation.friction_selection import select_friction
from sysid_ros.evaluation.prediction import predict
from sysid_ros.evaluation.study import Study
from sysid_ros.mechanics.configuration import TermSettings
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.dataset import Dataset
from sysid_ros.recording.processing.align import align
from sysid_ros.recording.processing.low_pass import LowPass
from sysid_ros.recording.processing.settings import Processing
from sysid_ros.recording.processing.signals import ParallelFilter
from sysid_ros.recording.recording import Channel, Recording
from sysid_ros.report.evidence import friction_section

PROJECT = Path(__file__).resolve().parents[1]
CONSISTENT = 'entropic'
HELD_OUT = 1.0 / 3.0
TX40_BAR, SIMULATED_BAR = 7.0, 2.0
SEEDS, SECONDS, RATE, NOISE, BITS = 3, 40.0, 500.0, 0.01, 18
PROCESSING = Processing(position_filter=LowPass(cutoff=30.0))
FILTER = ParallelFilter(cutoff=10.0, decimate_to=25.0)
STANDSTILL = 0.02


def figure(name: str, value: float, unit: str, bar: str, ok: bool, **more: Any) -> dict[str, Any]:
    """A figure for the table of all benchmarks."""
    return {'name': name, 'value': round(value, 3), 'unit': unit, 'reference': None,
            'ratio': None, 'bar': bar, 'ok': bool(ok)} | more


def tx40() -> list[dict[str, Any]]:
    """The real robot; nothing without its recording."""
    named = os.environ.get('SYSID_DATA')
    folder = (Path(named) if named else PROJECT.parent / 'shared' / 'data') / 'staubli_tx40'
    if not folder.is_dir():
        print('TX40: no recording; set SYSID_DATA to the folder of the measurements')
        return []
    plain = Identification.load(PROJECT / 'test' / 'reproduction' / 'tx40.yaml', folder)
    plain = replace(plain, settings=plain.settings.model_copy(update={'automatic': False}))
    fit = plain.settings.fit.model_copy(update={'friction_selection': FrictionSelection()})
    asked = replace(plain, settings=plain.settings.model_copy(update={'fit': fit}))
    start = time.perf_counter()
    study = Study.load(FitSetup.of(asked), holdout=HELD_OUT, estimator=CONSISTENT)
    seconds = time.perf_counter() - start
    choice = study.friction
    assert choice is not None
    print(f'TX40, friction chosen with {CONSISTENT} in {seconds:.0f} s\n{friction_section(choice)}')
    robot = asked.robot()
    smooth = plain.with_terms(friction_candidate(robot.terms, 'smooth_coulomb'))
    errors = {'chosen, ' + name: unseen(study, name) for name in (CONSISTENT, 'lmi', 'ols')}
    for label, settings in (('Coulomb', plain), ('smooth Coulomb', smooth)):
        other = Study.load(FitSetup.of(settings), holdout=HELD_OUT)
        errors |= {f'{label}, {name}': unseen(other, name) for name in (CONSISTENT, 'ols')}
    print('  on the last third, moving samples: ' + '; '.join(
        f'{name} {error:.2f} %' for name, error in errors.items()))
    error, beside = errors[f'chosen, {CONSISTENT}'], errors['Coulomb, ols']
    return [figure(
        f'TX40 held out, {CONSISTENT} with {choice.chosen}', error, '%', f'<= {TX40_BAR:g} %',
        error <= TX40_BAR, reference=f'ols with Coulomb friction {beside:.2f} %',
        ratio=round(beside / error, 2),
    )]


def unseen(study: Study, name: str) -> float:
    """Relative torque error of the held-out rows in percent."""
    evaluation = study.fit(name)
    if not evaluation.estimate.status.ok or evaluation.held_out is None:
        raise SystemExit(f'{name}: {evaluation.estimate.status.value}')
    return 100.0 * evaluation.held_out.candidate.relative_error


def recorded(arm: Any, path: Any, speed: float, seed: int) -> Dataset:
    """The arm along a path at a part of its speed, from encoders and torque sensors.

    Friction is written out here, not taken from the package: Coulomb friction, that beyond it at
    low speed (Stribeck), and a part of the load, all against the motion; and viscous friction.
    """
    random = np.random.default_rng(seed)
    joints = len(arm.joint_names)
    t = np.arange(round(SECONDS * RATE)) / RATE
    q, v, a = path.motion(speed * t)
    v, a = speed * v, speed**2 * a
    load = arm.rigid(q, v, a)
    dry, viscous, peak, width, part = friction(arm.seed, joints, np.abs(load).mean(axis=0))
    level = dry + peak * np.exp(-(v / width) ** 2) + part * np.abs(load)
    tau = load + level * np.sign(v) + viscous * v
    tau += NOISE * np.sqrt(np.mean(tau**2, axis=0)) * random.normal(size=tau.shape)
    step = 2.0 * np.pi / 2**BITS
    recording = Recording((
        Channel('position', arm.joint_names, 'rad', t, np.round(q / step) * step),
        Channel('effort', arm.joint_names, 'N·m', t, tau),
    ), 'simulated', '')
    return align(recording, arm.joint_names, PROCESSING)


def friction(seed: int, joints: int, load: np.ndarray) -> tuple[np.ndarray, ...]:
    """Coulomb, viscous and Stribeck friction, its velocity, and the part of the load."""
    random = np.random.default_rng(seed + 50)
    size = SIZES[seed] if seed in SIZES else SIZES.setdefault(seed, load.copy())
    return (
        size * random.uniform(0.05, 0.15, joints), size * random.uniform(0.03, 0.1, joints),
        size * random.uniform(0.1, 0.3, joints), random.uniform(0.2, 0.5, joints),
        random.uniform(0.05, 0.15, joints),
    )


# Mean load of each arm in the motion it is fitted to, which its friction is drawn in parts of.
SIZES: dict[int, np.ndarray] = {}


def simulated(seed: int) -> dict[str, Any]:
    """One arm: chosen consistent model against ordinary least squares."""
    arm, other = SimulatedArm(seed), SimulatedArm(seed + 100)
    robot = arm.model.robot
    training, test = (
        recorded(arm, path, speed, seed + number)
        for number, (path, speed) in enumerate(((arm, 0.5), (other, 1.0)))
    )

    def rows(model: TorqueModel, data: Dataset = training) -> RegressionProblem:
        return RegressionProblem.from_dataset(
            model, data, parallel_filter=FILTER, minimum_velocity=STANDSTILL)

    terms = TermSettings()
    begin = time.perf_counter()
    choice = select_friction(
        robot, terms, rows, Motion(training, FILTER).speeds(),
        OuterIteration(make_estimator(CONSISTENT)), FrictionSelection(),
    )
    seconds = time.perf_counter() - begin
    print(f'Arm {seed}, at half speed, friction chosen in {seconds:.0f} s\n'
          f'{friction_section(choice)}')

    def error(friction_terms: TermSettings, name: str) -> float:
        model = TorqueModel(robot, friction_terms.build(robot))
        estimate = OuterIteration(make_estimator(name)).fit(rows(model))
        if not estimate.status.ok:
            raise SystemExit(f'{name}: {estimate.status.value}')
        return 100.0 * predict(estimate, rows(model, test)).candidate.relative_error

    ours, plain = error(choice.terms, CONSISTENT), error(terms, 'ols')
    print(f'  at full speed: chosen, {CONSISTENT} {ours:.2f} %; Coulomb, {CONSISTENT} '
          f'{error(terms, CONSISTENT):.2f} %; Coulomb, ols {plain:.2f} %')
    return figure(
        f'simulated arm {seed}, half to full speed, {CONSISTENT} with {choice.chosen}', ours, '%',
        f'{SIMULATED_BAR:g} times better than ols', plain >= SIMULATED_BAR * ours,
        reference=f'ols with Coulomb friction {plain:.2f} %', ratio=round(plain / ours, 2),
    )


def main() -> None:
    """Print tables and figures."""
    figures = [simulated(seed) for seed in range(SEEDS)] + tx40()
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
