"""How often a wrong model is called committable: published robots, spoilt recordings.

Each fit takes the whole path: a settings file that names robot and recording alone, recordings as
files, what is left open chosen by the data, a fit, a verdict by a second recording that is spoilt
in the same way, or by the last part of the first (--holdout). *Wrong* is a model that may be
committed and predicts the true torque of a clean fresh motion worse than the prior, in all or, by
half, at a joint. Clean recordings tell how many good models are refused, and
how many good sensors accused. Counted are, too, summaries that do not say what no recording shows,
and terms of still robots beyond their bounds, which an export refuses.

Faults that leave no trace in the data are told apart. The robots are those of the package
example-robot-data, without which nothing runs, and a SCARA.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Container
from dataclasses import astuple, dataclass
from functools import cache, partial
from pathlib import Path

# One thread for each of the processes, before NumPy asks for it.
for _library in ('OMP', 'OPENBLAS', 'MKL'):
    os.environ[f'{_library}_NUM_THREADS'] = '1'

import numpy as np  # noqa: E402
import yaml  # noqa: E402
from _faults import (  # noqa: E402
    ANOTHER_ARM,
    CHEAP,
    DESCRIBED,
    FAULTS,
    PAIRS,
    STILL,
    TRACELESS,
    strongest,
)
from _plants import FOREIGN, ROBOTS, Plant, Recorded, published  # noqa: E402

from sysid_ros.errors import SysidError  # noqa: E402
from sysid_ros.estimation.fit_setup import FitSetup  # noqa: E402
from sysid_ros.estimation.identification import Identification  # noqa: E402
from sysid_ros.evaluation.study import Study  # noqa: E402
from sysid_ros.robot.parameters import ParameterSet  # noqa: E402

# A joint predicted so many times as badly as by the prior is wrong.
_JOINT = 1.5
TRACED, REFUSED, ACCUSED = 0.005, 0.03, 0.01
CRASH = 'crash: '
# The same with a recording of a load of known mass, which tells one scale of all efforts.
KNOWN = {f'{name}, known load': fault for name, fault in TRACELESS.items() if 'effort' in name}
# Without weight every torque of the bodies is in proportion to a squared frequency: a clock is one
# scale of all efforts, and that has no trace. The line above the figures has them as traced, too.
WEIGHTLESS = {'two joints': tuple(name for name in FAULTS if name.startswith('clock'))}
CLEAN = {'clean': lambda data, _: data, 'clean, known load': lambda data, _: data} | CHEAP
EVERY = CLEAN | FAULTS | PAIRS | STILL | TRACELESS | KNOWN | dict.fromkeys(
    DESCRIBED, CLEAN['clean'])
# Seeds of other arms are so far from those of robots.
_FAR = 10_000
# What every summary says of faults without a trace, with and without a known load or weight.
_UNSEEN = ('No recording shows a', 'No joint feels weight')


@dataclass(frozen=True)
class Outcome:
    """What became of one fit.

    Attributes:
        robot: Name of the robot.
        fault: Name of the fault.
        seed: Of the plant.
        committable: The verdict; False where the recording was refused.
        error: Its error on fresh motion in parts of the prior's, in all and at the worst joint.
        said: What speaks against it, or the refusal.
        warned: Whether the summary says what no recording shows; None where there is no summary.
        beyond: Joint terms above their bounds.
    """

    robot: str
    fault: str
    seed: int
    committable: bool
    error: tuple[float, float]
    said: tuple[str, ...]
    warned: bool | None = None
    beyond: int = 0

    @property
    def wrong(self) -> bool:
        """Committable and worse than the prior."""
        return self.committable and not (self.error[0] <= 1.0 and self.error[1] <= _JOINT)

    @property
    def crashed(self) -> bool:
        """Whether it ended with anything but a refusal for people."""
        return any(sentence.startswith(CRASH) for sentence in self.said)

    @property
    def accused(self) -> bool:
        """Whether a sensor is blamed."""
        return any('effort' in sentence and 'looks like' in sentence for sentence in self.said)

    @property
    def traced(self) -> bool:
        """Whether the fault is one that the data shows."""
        return self.fault in FAULTS and self.fault not in WEIGHTLESS.get(self.robot, ())


@cache
def plant(robot: str, seed: int) -> tuple[Plant, tuple[Recorded, Recorded]]:
    """A robot and its two clean recordings."""
    path = published(robot)
    assert path is not None
    made = Plant(path, seed)
    return made, (made.recording(2 * seed), made.recording(2 * seed + 1))


@cache
def another_arm(robot: str, seed: int) -> tuple[Recorded, Recorded]:
    """Clean recordings of an arm of the same type, whose masses and frictions are its own."""
    path = published(robot)
    assert path is not None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'other.urdf'
        file.write_text(Plant(path, _FAR + seed).prior)
        other = Plant(file, _FAR + seed)
    return other.recording(2 * seed), other.recording(2 * seed + 1)


@cache
def with_load(robot: str, seed: int) -> Recorded:
    """A clean recording of a robot with a load."""
    made, _ = plant(robot, seed)
    return made.recording(500 + seed, loaded=True)


def fitted(case: tuple[str, str, int], holdout: float | None = None) -> Outcome:
    """Fit a robot's spoilt recordings and judge the model.

    Args:
        case: Robot, fault and seed.
        holdout: Last part of the recording to judge by in place of a second one.
    """
    warnings.simplefilter('ignore')
    robot, fault, seed = case
    made, clean = plant(robot, seed)
    recordings = another_arm(robot, seed) if fault == ANOTHER_ARM else clean
    recorded = dict(zip(('training', 'validation'), recordings, strict=True))
    description = DESCRIBED[fault](
        made.prior, made.joints[strongest(clean[0])]) if fault in DESCRIBED else made.prior
    if 'known load' in fault:
        recorded['loaded'] = with_load(robot, seed)
    with tempfile.TemporaryDirectory() as folder:
        for name, data in recorded.items():
            spoilt = EVERY[fault](data, np.random.default_rng([seed, len(name)]))
            _write(Path(folder), name, made, spoilt, 'loaded' in recorded)
        (Path(folder) / 'robot.urdf').write_text(description)
        try:
            training, validation = (
                Identification.load(Path(folder) / f'{name}.yaml')
                for name in ('training', 'validation'))
            setup = FitSetup.of(training)
            prior = setup.model
            study = Study.load(
                setup, validation=None if holdout else validation, holdout=holdout)
            judged = study.fit('entropic')
        except SysidError as error:
            return Outcome(robot, fault, seed, False, (np.nan, np.nan), (str(error),))
        except Exception as error:  # noqa: BLE001 (counted, not raised: the others go on)
            return Outcome(robot, fault, seed, False, (np.nan, np.nan), (f'{CRASH}{error!r}',))
    q, v, a, tau, slides = made.fresh(1000 + seed)
    found = study.training.model.at(judged.estimate.parameters.values)
    errors = [
        np.sqrt(np.mean((predicted - tau) ** 2, 0, where=slides)) for predicted in (
            found.torque(judged.estimate.parameters.values, q, v, a),
            prior.torque(prior.parameters.prior, q, v, a))]
    size = np.sqrt(np.mean(tau**2, axis=0))
    # A joint that carries next to nothing is predicted by either.
    telling = np.maximum(errors[1], 0.02 * size + 1e-3 * size.max())
    return Outcome(
        robot, fault, seed, judged.verdict.committable,
        (float(np.linalg.norm(errors[0]) / np.linalg.norm(errors[1])),
         float(np.max(errors[0] / telling))), judged.verdict.reasons,
        any(words in remark for words in _UNSEEN for remark in judged.verdict.remarks),
        _beyond(judged.estimate.parameters))


def _beyond(parameters: ParameterSet) -> int:
    """Number of joint terms above their bounds."""
    terms = slice(10 * len(parameters.bodies), None)
    values, upper = parameters.values[terms], parameters.upper[terms]
    return int(np.sum(values > upper + 1e-6 * np.maximum(np.abs(upper), 1.0)))


def _write(folder: Path, name: str, made: Plant, data: Recorded, load: bool) -> None:
    """A recording and its settings as files."""
    np.savez(folder / f'{name}.npz', t=data.t, q=data.q, tau=data.tau)
    settings = {
        'robot': {'urdf': 'robot.urdf'},
        'recording': {
            'format': 'npz', 'file': f'{name}.npz', 'time': {'array': 't'},
            'position': {'array': 'q'}, 'effort': {'array': 'tau'},
            'joints': list(made.joints)},
    }
    if load:
        settings['known'] = {
            'payload': {'recording': 'loaded.yaml', 'mass': made.load, 'link': made.hand}}
    (folder / f'{name}.yaml').write_text(yaml.safe_dump(settings))


def tried(
    cases: list[tuple[str, str, int]], journal: Path | None, holdout: float | None
) -> list[Outcome]:
    """Outcomes of cases, in an order drawn by chance, so that any part of them is a sample."""
    random.Random(len(cases)).shuffle(cases)
    outcomes: dict[tuple[str, str, int], Outcome] = {}
    if journal is not None and journal.exists():
        for line in journal.read_text().splitlines():
            robot, fault, seed, committable, error, said, *more = json.loads(line)
            outcomes[robot, fault, seed] = Outcome(
                robot, fault, seed, committable, tuple(error), tuple(said), *more)
    missing = [case for case in cases if case not in outcomes]
    with multiprocessing.get_context('spawn').Pool(2) as pool:
        for one in pool.imap_unordered(partial(fitted, holdout=holdout), missing):
            outcomes[one.robot, one.fault, one.seed] = one
            if journal is not None:
                with journal.open('a') as file:
                    file.write(json.dumps(list(astuple(one))) + '\n')
    return [outcomes[case] for case in sorted(cases)]


def report(outcomes: list[Outcome]) -> list[dict[str, object]]:
    """Prints a table by fault; returns the figures."""
    by_fault: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_fault[outcome.fault].append(outcome)
    print(f'{"fault":64} {"fits":>5} {"committed":>10} {"wrong":>6}')
    for fault, those in by_fault.items():
        print(f'{fault:64} {len(those):5} {sum(one.committable for one in those):10} '
              f'{sum(one.wrong for one in those):6}')
    figures: list[dict[str, object]] = []
    unseen = [one for one in outcomes if one.fault in FAULTS and not one.traced]
    print(f'{sum(one.wrong for one in unseen)} of {len(unseen)} clocks of robots without weight '
          'are wrong, counted without a trace')
    for name, those, bar, count in (
        ('traced faults: wrong', [one for one in outcomes if one.traced], TRACED,
         lambda one: one.wrong),
        ('pairs of traced faults: wrong', _among(outcomes, PAIRS), TRACED, lambda one: one.wrong),
        ('wrong descriptions: wrong', _among(outcomes, DESCRIBED), TRACED,
         lambda one: one.wrong),
        ('still robots: committed', _among(outcomes, STILL), 0.0, lambda one: one.committable),
        ('clean: refused', _among(outcomes, CLEAN), REFUSED, lambda one: not one.committable),
        ('clean: accused', _among(outcomes, CLEAN), ACCUSED, lambda one: one.accused),
        ('without a trace: wrong', _among(outcomes, TRACELESS) + unseen, None,
         lambda one: one.wrong),
        ('without a trace, known load: wrong', _among(outcomes, KNOWN), 0.0,
         lambda one: one.wrong),
        ('still robots: with terms beyond their bounds', _among(outcomes, STILL), 0.0,
         lambda one: one.beyond > 0),
        ('summaries: silent on what no recording shows',
         [one for one in outcomes if one.warned is not None], 0.0, lambda one: not one.warned),
        ('of all: crashes', outcomes, 0.0, lambda one: one.crashed),
    ):
        if those:
            part = sum(map(count, those)) / len(those)
            figures.append({
                'name': f'verdicts, {len(those)} {name}', 'value': 100.0 * part, 'unit': '%',
                'bar': None if bar is None else f'<= {100.0 * bar:g} %',
                'ok': bar is None or part <= bar})
    return figures


def _among(outcomes: list[Outcome], faults: Container[str]) -> list[Outcome]:
    return [one for one in outcomes if one.fault in faults]


def main() -> None:
    """Runs a sample of all cases, or as many as are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--seeds', type=int, default=1, help='plants of each robot')
    parser.add_argument('--first', type=int, default=0, help='seed of the first')
    parser.add_argument('--robots', nargs='*', default=list(ROBOTS), help=(
        f'of {", ".join(ROBOTS | FOREIGN)}'))
    parser.add_argument('--foreign', action='store_true', help=(
        'robots that no rule was made with, in place of the usual ones'))
    parser.add_argument('--faults', nargs='*', default=list(EVERY))
    parser.add_argument('--holdout', type=float, help=(
        'judge by the last part of the recording in place of a second one'))
    parser.add_argument('--every', type=int, default=5, help='of all cases, one in so many')
    parser.add_argument('--journal', type=Path, help=(
        'file of outcomes, one a line: what is in it is not fitted again, so that a long run may '
        'be cut off and go on'))
    parser.add_argument('--list', action='store_true', help='print each wrong or refused one')
    asked = parser.parse_args()
    if published(next(iter(ROBOTS))) is None:
        print('verdicts: the package example-robot-data is not installed; nothing was tried',
              file=sys.stderr)
        print('[]')
        return
    cases = [
        (robot, fault, seed) for seed in range(asked.first, asked.first + asked.seeds)
        for robot in (FOREIGN if asked.foreign else asked.robots) for fault in asked.faults]
    outcomes = tried(cases[::asked.every], asked.journal, asked.holdout)
    if asked.list:
        for one in outcomes:
            if one.wrong or one.crashed or (one.fault in CLEAN and not one.committable):
                print(one.robot, '|', one.fault, '|', one.seed, '|', one.error, '|', one.said)
    figures = report(outcomes)
    print(json.dumps(figures))


if __name__ == '__main__':
    main()
