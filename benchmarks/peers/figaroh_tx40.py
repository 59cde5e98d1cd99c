"""FIGAROH 1.0.2 beside us on the Stäubli TX40: first two thirds fitted, last third predicted.

FIGAROH needs packages that this project does not, so it runs in an environment of its own::

    python3 -m venv peer && peer/bin/pip install figaroh==1.0.2
    FIGAROH_PYTHON=peer/bin/python python benchmarks/peers/figaroh_tx40.py

Both get the same aligned motion, the same joint terms (viscous and Coulomb friction, offset,
drive inertia, and the wrist's coupled drive, whose three columns are added to FIGAROH's regressor
here, since its own has none), the same low-pass and the same rows. Each builds its own regressor
and base parameters. FIGAROH's public functions are called with their defaults: double QR with least
squares, ``weigthed_least_squares``, and ``solve_direct_effort_fit`` with joints weighed by their
residuals as in its own pipeline. Our times are of whole fits from the rows, intervals of all
parameters included, which FIGAROH's are without. Our chosen friction model is shown beside.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve()
PROJECT = HERE.parents[2]
HELD_OUT = 1.0 / 3.0
VERSION = '1.0.2'
CREATE = (
    f'python3 -m venv peer && peer/bin/pip install figaroh=={VERSION}, then '
    'FIGAROH_PYTHON=peer/bin/python python benchmarks/peers/figaroh_tx40.py'
)
REPEATS = 3


def timed(work):
    """Median time of a few runs in [ms], and the last result."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = work()
        times.append(1e3 * (time.perf_counter() - start))
    return sorted(times)[REPEATS // 2], result


# In the project's environment ---------------------------------------------------------------------


def main():
    """Compare, print a table and, last, the figures as JSON."""
    sys.path.insert(0, str(PROJECT / 'benchmarks'))
    import _one_core  # noqa: F401 (pins this process and those it starts, before NumPy)

    named = os.environ.get('SYSID_DATA')
    folder = (Path(named) if named else PROJECT.parent / 'shared' / 'data') / 'staubli_tx40'
    if not folder.is_dir():
        raise SystemExit('no recording; set SYSID_DATA to the folder of the measurements')
    python = os.environ.get('FIGAROH_PYTHON')
    if not python:
        raise SystemExit(f'FIGAROH_PYTHON names no Python that has FIGAROH. Create one: {CREATE}')
    ours, exchange = our_results(folder)
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / 'tx40.npz'
        exchange(file)
        theirs = peer_results(python, file)
    show(theirs['rows'] + ours)
    print(json.dumps(figures(ours, theirs['rows'])))


def our_results(folder):
    """Rows of our table, and a function that writes what the peer needs to a file."""
    from dataclasses import replace

    from sysid_ros.estimation.fit_setup import FitSetup
    from sysid_ros.estimation.friction_models import FrictionSelection
    from sysid_ros.estimation.identification import Identification
    from sysid_ros.estimation.measurement import Measurement
    from sysid_ros.evaluation.friction_selection import choose_friction
    from sysid_ros.evaluation.prediction import predict

    plain = Identification.load(PROJECT / 'test' / 'reproduction' / 'tx40.yaml', folder)
    fit = plain.settings.fit.model_copy(update={'friction_selection': FrictionSelection()})
    asked = Identification(plain.settings.model_copy(update={'fit': fit}), folder)
    start = time.perf_counter()
    choice = choose_friction(Measurement.read(FitSetup.of(asked)), 1.0 - HELD_OUT)
    chosen_in = time.perf_counter() - start
    rows, parts = [], {}
    for label, identification in (
        ('Coulomb', plain), (f'{choice.chosen}, chosen in {chosen_in:.0f} s',
                             plain.with_terms(choice.terms)),
    ):
        setup = FitSetup.of(identification)
        model, measured = setup.model, Measurement.read(setup)
        data = {'training': measured.motion(0.0, 1.0 - HELD_OUT),
                'test': measured.motion(1.0 - HELD_OUT, 1.0)}
        problems = {part: setup.problem(motion) for part, motion in data.items()}
        parts.setdefault('data', data)
        parts.setdefault('problems', problems)
        moving = data['training']
        regressor_ms, _ = timed(
            lambda model=model, moving=moving: model.regressor(moving.q, moving.v, moving.a))
        for name in ('ols', 'wls', 'lmi', 'entropic'):
            estimator = identification.settings.fit.build(name)
            milliseconds, estimate = timed(
                lambda estimator=estimator, training=problems['training']:
                estimator.fit(replace(training)))  # a copy, with nothing computed before
            if not estimate.status.ok:
                raise SystemExit(f'{name}: {estimate.status.value}')
            masses = [estimate.parameters[f'{body}.mass'] for body in estimate.margins]
            rows.append({
                'method': f'ours {name}', 'friction': label, 'key': (name, label == 'Coulomb'),
                'training': estimate.residuals.relative_error,
                'test': predict(estimate, problems['test']).candidate.relative_error,
                'regressor_ms': regressor_ms, 'ms': milliseconds,
                'bodies': 'consistent' if estimate.consistent else 'not consistent',
                'masses': [min(masses), max(masses)],
                'friction_least': least_friction(estimate.parameters),
            })
    return rows, lambda file: write_exchange(file, plain, parts)


def least_friction(parameters):
    """Smallest friction coefficient or drive inertia, none of which nature makes negative."""
    fields = ('viscous_friction', 'coulomb_friction', 'armature')
    return min(value for name, value in zip(parameters.names, parameters.values, strict=True)
               if name.rpartition('.')[2] in fields)


def write_exchange(file, identification, parts):
    """Motion at the full rate, the rows to keep, and the filter between them."""
    from xml.etree import ElementTree

    import numpy as np

    parallel = identification.settings.processing.parallel_filter
    tree = ElementTree.fromstring(identification.model().robot.description.xml)
    for link in tree.iter('link'):
        # Meshes, which are not among the measurements.
        for shape in (*link.findall('visual'), *link.findall('collision')):
            link.remove(shape)
    content = {
        'urdf': ElementTree.tostring(tree, encoding='unicode'),
        'cutoff': parallel.cutoff, 'order': parallel.order,
    }
    for part, data in parts['data'].items():
        problem = parts['problems'][part]
        kept, _ = parallel.retained_samples(data.rate, data.segments)
        content |= {
            f'{part}_q': data.q, f'{part}_v': data.v, f'{part}_a': data.a, f'{part}_kept': kept,
            f'{part}_torque': problem.torque, f'{part}_usable': problem.usable, 'rate': data.rate,
        }
    np.savez(file, **content)


def peer_results(python, file):
    """What FIGAROH finds, in its own process."""
    finished = subprocess.run(
        [python, str(HERE), '--peer', str(file)], stdout=subprocess.PIPE, text=True, check=False,
        env={name: value for name, value in os.environ.items() if name != 'PYTHONPATH'},
    )
    if finished.returncode:
        raise SystemExit(f'FIGAROH did not run in {python}. Create an environment: {CREATE}')
    return json.loads(finished.stdout.splitlines()[-1])


def show(rows):
    """Print the table."""
    print('TX40, relative torque errors over moving samples; times of one core, median of '
          f'{REPEATS}: regressor of the training motion, then fit from its rows')
    print(f'{"method":<26}{"training":>9}{"held out":>9}{"regressor":>11}{"fit":>11}  bodies; '
          'masses; least friction or drive inertia; friction model')
    for row in rows:
        if row.get('failure'):
            print(f'{row["method"]:<26}failed: {row["failure"]}')
            continue
        low, high = row['masses'] or ('-', '-')
        masses = f'{low:.3g} to {high:.3g} kg' if row['masses'] else 'masses not told'
        least = row['friction_least']
        print(f'{row["method"]:<26}{100 * row["training"]:>7.2f} %{100 * row["test"]:>7.2f} %'
              f'{row["regressor_ms"]:>8.0f} ms{row["ms"]:>8.1f} ms  {row["bodies"]}; {masses}; '
              f'{"-" if least is None else format(least, ".3g")}; {row["friction"]}')


def figures(ours, theirs):
    """Held-out error and time of each of our plain fits beside the peer's, for the table."""
    entries = []
    for name, peer in (('ols', 'OLS'), ('wls', 'WLS'), ('lmi', 'consistent')):
        mine = next(row for row in ours if row['key'] == (name, True))
        other = next(row for row in theirs if row['method'] == f'FIGAROH {peer}')
        failed = other.get('failure')
        reference = f'FIGAROH {VERSION}, {peer}: ' + (
            'failed' if failed else f'{100 * other["test"]:.2f} %, {other["ms"]:.0f} ms')
        entries.append({
            'name': f'TX40 held out, {name}, same friction', 'value': 100 * mine['test'],
            'unit': '%', 'reference': reference, 'bar': None, 'ok': True,
            'ratio': None if failed else other['test'] / mine['test'],
        })
        entries.append({
            'name': f'TX40 {name}, fit from the rows', 'value': mine['ms'], 'unit': 'ms',
            'reference': reference, 'bar': None, 'ok': True,
            'ratio': None if failed else other['ms'] / mine['ms'],
        })
    return entries


# In the peer's environment ------------------------------------------------------------------------


def peer(file):
    """Fit with FIGAROH and print rows of the table as JSON."""
    try:
        from importlib.metadata import version

        import figaroh  # noqa: F401
    except ImportError as error:
        sys.stderr.write(f'figaroh cannot be imported: {error}. Create an environment: {CREATE}\n')
        raise SystemExit(2) from error
    if version('figaroh') != VERSION:
        sys.stderr.write(f'figaroh {version("figaroh")} is installed, not {VERSION}: {CREATE}\n')
        raise SystemExit(2)
    import numpy as np
    from figaroh.identification.identification_tools import weigthed_least_squares
    from figaroh.tools.qrdecomposition import QRDecomposer

    with np.load(file) as content:
        data = {name: content[name] for name in content.files}
    robot, config, names, prior = peer_robot(str(data['urdf']))
    regressor_ms, _ = timed(lambda: peer_columns(robot, config, data, 'training'))
    stacks = {part: peer_rows(robot, config, data, part) for part in ('training', 'test')}
    rows, torque, usable = stacks['training']
    active = np.flatnonzero(np.linalg.norm(rows, axis=0) > 1e-6)
    labels = [names[k] for k in active]
    decomposer = QRDecomposer(tolerance=1e-6)

    def errors(columns, values):
        return [
            float(np.linalg.norm(t - y[:, columns] @ values) / np.linalg.norm(t))
            for y, t, _ in (stacks['training'], stacks['test'])
        ]

    def least_squares():
        return decomposer.double_decomposition(torque, rows[:, active], labels)

    ols_ms, (base_rows, _, _, phi) = timed(least_squares)
    base = active[decomposer.get_base_indices()]
    joints = len(usable)
    stops = len(torque) // joints * np.arange(1, joints + 1)

    def weighted():
        return weigthed_least_squares(
            robot, phi, base_rows, torque, base_rows @ phi, {'idx_tau_stop': stops})

    wls_ms, phi_wls = timed(weighted)
    # The values of base parameters belong to the rows of base_rows, which are the base columns.
    told = {'regressor_ms': regressor_ms, 'friction': 'Coulomb', 'masses': None,
            'friction_least': None, 'bodies': f'{len(phi)} base parameters only'}
    results = []
    for label, values, spent in (('OLS', phi, ols_ms), ('WLS', phi_wls, ols_ms + wls_ms)):
        training, test = errors(base, values)
        results.append({'method': f'FIGAROH {label}', 'training': training, 'test': test,
                        'ms': spent, **told})
    sigma = np.repeat([
        np.sqrt(np.mean(part**2))
        for part in np.split(torque - base_rows @ phi, joints)], len(torque) // joints)
    results.append(peer_consistent(robot, names, prior, stacks, sigma, told, wls_ms + ols_ms))
    print(json.dumps({'rows': results}))


def peer_robot(urdf):
    """FIGAROH's robot, its settings, and all parameters with their prior."""
    import numpy as np
    from figaroh.identification.parameter import (
        add_standard_additional_parameters,
        get_standard_parameters,
    )
    from figaroh.tools.robot import create_robot

    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / 'tx40.urdf'
        path.write_text(urdf, encoding='utf-8')
        robot = create_robot(str(path), package_dirs=scratch)
    joints = robot.model.nv
    config = {
        'has_friction': True, 'has_actuator_inertia': True, 'has_joint_offset': True,
        'is_joint_torques': True, 'is_external_wrench': False, 'force_torque': None,
        'act_idxv': list(range(joints)), 'fv': [0.0] * joints, 'fs': [0.0] * joints,
        'Ia': [0.0] * joints, 'off': [0.0] * joints,
    }
    standard = get_standard_parameters(robot.model, config)
    standard |= add_standard_additional_parameters(robot.model, config)
    # The drive of the last joint is the wrist's, as in our model and in the published one.
    del standard[f'Ia_{robot.model.names[joints]}']
    standard |= {'Iam6': 0.0, 'fvm6': 0.0, 'fsm6': 0.0}
    return robot, config, list(standard), np.array(list(standard.values()))


def peer_columns(robot, config, data, part):
    """FIGAROH's regressor of a motion at the full rate, stacked joint by joint."""
    from figaroh.tools.regressor import build_regressor_basic

    return build_regressor_basic(
        robot, data[f'{part}_q'], data[f'{part}_v'], data[f'{part}_a'], config)


def peer_rows(robot, config, data, part):
    """Filtered rows, joint by joint, with the coupled drive; those that do not count are zero."""
    import numpy as np
    from scipy.signal import butter, sosfiltfilt

    v, a = data[f'{part}_v'], data[f'{part}_a']
    samples, joints = v.shape
    columns = peer_columns(robot, config, data, part).reshape(joints, samples, -1)
    # Ten columns per body, viscous and Coulomb friction of all joints, drive inertia of all.
    columns = np.delete(columns, (10 + 3) * joints - 1, axis=2)
    coupled = np.zeros((joints, samples, 3))
    speed = v[:, 4] + v[:, 5]
    coupled[4:6] = np.stack([a[:, 4] + a[:, 5], speed, np.sign(speed)], axis=1)
    columns = np.concatenate([columns, coupled], axis=2)
    sections = butter(int(data['order']), float(data['cutoff']), fs=float(data['rate']),
                      output='sos')
    kept, usable = data[f'{part}_kept'], data[f'{part}_usable'].T
    rows = np.array([
        sosfiltfilt(sections, joint, axis=0, padlen=int(kept[0]))[kept] for joint in columns])
    rows *= usable[:, :, None]
    torque = data[f'{part}_torque'].T * usable
    return rows.reshape(joints * len(kept), -1), torque.ravel(), usable


def peer_consistent(robot, names, prior, stacks, sigma, told, before):
    """FIGAROH's regularised effort fit with matrix inequalities, by its own defaults."""
    import numpy as np
    from figaroh.identification import physical_fit
    from figaroh.identification.config import PHYSICAL_FIT_DEFAULTS

    rows, torque, _ = stacks['training']
    policy = physical_fit.PhysicalPolicy(
        mass_min=float(PHYSICAL_FIT_DEFAULTS['mass_min']),
        prior_weight=float(PHYSICAL_FIT_DEFAULTS['prior_weight']))
    solver = str(PHYSICAL_FIT_DEFAULTS['solver'])

    def solve(scale):
        problem = physical_fit.build_problem(
            rows, torque, names, list(robot.model.names[1:]), prior=prior, policy=policy,
            row_weight=scale / sigma)
        return physical_fit.solve_direct_effort_fit(problem, solver=solver)

    ways = {'': 1.0, ', rows over the torque': 1.0 / np.linalg.norm(torque / sigma)}
    failures = []
    for way, scale in ways.items():
        spent, record = timed(lambda scale=scale: solve(scale))
        if record.theta is None:
            failures.append(f'{solver}{way}: {record.solver_status}, {record.exception}')
            continue
        theta = record.theta
        training, test = (
            float(np.linalg.norm(t - y @ theta) / np.linalg.norm(t))
            for y, t, _ in (stacks['training'], stacks['test']))
        found = dict(zip(names, map(float, theta), strict=True))
        masses = [value for name, value in found.items() if name.startswith('m_')]
        friction = [
            value for name, value in found.items() if name.startswith(('fv', 'fs', 'Ia'))]
        accepted = 'consistent' if record.accepted else 'not accepted by itself'
        return {
            'method': 'FIGAROH consistent', 'training': training, 'test': test,
            'ms': before + spent, **told, 'bodies': f'{accepted}{way}',
            'masses': [min(masses), max(masses)], 'friction_least': min(friction),
        }
    return {'method': 'FIGAROH consistent', 'failure': '; '.join(failures)}


if __name__ == '__main__':
    if sys.argv[1:2] == ['--peer']:
        peer(sys.argv[2])
    else:
        main()
