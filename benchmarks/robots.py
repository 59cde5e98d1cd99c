"""Public robots through everything: every URDF and MJCF of five packages.

Description, model, a simulated recording, fit, export, and the export loaded again in Pinocchio and
in MuJoCo. The plant is Pinocchio for URDF and MuJoCo for MJCF, each with its own loader. The table
is written to ``docs/robots.md``.

    python benchmarks/robots.py [PATTERN ...]   # only files whose names match; no table then
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import mujoco  # noqa: E402
from _robot_sweep import Outcome, sweep  # noqa: E402

DOCUMENT = Path(__file__).resolve().parents[1] / 'docs' / 'robots.md'
INSTALL = 'pip install --no-deps -r benchmarks/robots.txt'
PROCESSES = 2
URDF_BAR, MJCF_BAR = 65, 70
PACKAGES = ('robosuite', 'gymnasium', 'gymnasium_robotics', 'dm_control')
# Robots of each package; its other MJCFs are objects, parts of scenes and files of its tests.
ROBOTS = (
    'robosuite/models/assets/robots/*', 'robosuite/models/assets/grippers/*',
    'gymnasium/envs/mujoco/assets/*', 'gymnasium_robotics/envs/assets/*',
    'gymnasium_robotics/envs/multiagent_mujoco/*', 'dm_control/suite/*',
    'dm_control/third_party/*',
)


def urdfs() -> list[tuple[Path, str]]:
    """URDFs of example-robot-data, and what the table calls them."""
    prefix = Path(str(find_spec('pinocchio').origin)).parents[4]
    folder = prefix / 'share' / 'example-robot-data' / 'robots'
    return [(path, str(path.relative_to(folder))) for path in sorted(folder.rglob('*.urdf'))]


def mjcfs() -> list[tuple[Path, str]]:
    """MJCFs of the packages that MuJoCo loads and that have a joint, each once."""
    found, seen = [], set()
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise SystemExit(f'{package} is not installed: {INSTALL}')
        folder = Path(next(iter(spec.submodule_search_locations)))
        for path in sorted(folder.rglob('*.xml')):
            text = path.read_bytes()
            place = str(path.parent).encode() if b'<include' in text else b''
            digest = hashlib.sha256(text + place).digest()
            if b'<mujoco' in text and digest not in seen and _moves(path):
                seen.add(digest)
                found.append((path, str(path.relative_to(folder.parent))))
    return found


def _moves(path: Path) -> bool:
    try:
        return mujoco.MjModel.from_xml_path(str(path)).njnt > 0
    except ValueError:
        return False


def is_robot(name: str) -> bool:
    """Whether an MJCF is one of the robots that count for the bar."""
    return any(fnmatch.fnmatch(name, pattern) for pattern in ROBOTS)


def row(outcome: Outcome) -> str:
    """One line of the table."""
    name = f'`{outcome.name}`'
    if not outcome.ok:
        what = 'refused' if outcome.refused else 'failed'
        reason = ' '.join(outcome.reason.split()).replace('|', '\\|')
        return f'| {name} | {what} | {reason[:400]} | | | | |'
    described = f'{outcome.prior:.0%}' if outcome.prior < 10.0 else '> 1000%'
    joints = str(outcome.joints)
    joints += f' of {outcome.joints + outcome.locked}' if outcome.locked else ''
    joints += ' + base' if outcome.floats else ''
    return (
        f'| {name} | ok | {joints} | {described} | {outcome.fitted:.2%} | '
        f'{outcome.pinocchio:.0e} | {outcome.mujoco:.0e} |')


def document(groups: dict[str, list[Outcome]]) -> str:
    """Text of ``docs/robots.md``."""
    packages = ('example-robot-data', 'robosuite', 'gymnasium', 'gymnasium-robotics', 'dm-control')
    parts = [
        '# Public robots through everything', '',
        'Made by `python benchmarks/robots.py`; not written by hand. Versions: '
        + ', '.join(f'{name} {version(name)}' for name in (*packages, 'pin', 'mujoco')) + '.', '',
        'Every description is loaded and moved in simulation, by Pinocchio for URDF and by MuJoCo '
        'for MJCF, each with its own loader: bodies differ from the description by some percent in '
        'mass, place and shape, joints have friction, torques have 1 % of noise. What is recorded '
        'in ten seconds is fitted (`entropic`) and exported, and the export is loaded again.', '',
        'Of robots with more than 50 joints, 30 move and the rest is locked.', '',
        '*described* and *fitted*: error of the torques of another motion, in parts of the torque. '
        '*Pinocchio*, *MuJoCo*: largest difference of the torques after reloading, in parts of the '
        'largest torque. A URDF is reloaded by Pinocchio itself, an MJCF by this package. '
        'Shapes are taken out of URDFs for MuJoCo, which reads few kinds of meshes.',
    ]
    for title, outcomes in groups.items():
        good = sum(outcome.ok for outcome in outcomes)
        parts += [
            '', f'## {title}: {good} of {len(outcomes)}', '',
            '| file | | joints | described | fitted | Pinocchio | MuJoCo |',
            '| --- | --- | --- | --- | --- | --- | --- |',
            *(row(outcome) for outcome in outcomes)]
    return '\n'.join(parts) + '\n'


def main() -> int:
    """Sweep all, write the table and print the figures."""
    warnings.simplefilter('ignore')
    patterns = sys.argv[1:]
    files = [
        (path, name) for path, name in (*urdfs(), *mjcfs())
        if not patterns or any(fnmatch.fnmatch(name, f'*{p}*') for p in patterns)]
    with ProcessPoolExecutor(PROCESSES) as pool:
        outcomes = []
        for outcome in pool.map(sweep, *zip(*files, strict=True)):
            outcomes.append(outcome)
            print(
                f'{outcome.name}: {"ok" if outcome.ok else outcome.reason[:160]} '
                f'({outcome.fitted:.2%}, {outcome.seconds:.1f} s)', flush=True)
    groups: dict[str, list[Outcome]] = {
        'URDFs of example-robot-data': [o for o in outcomes if o.name.endswith('.urdf')],
        'MJCFs of robots': [o for o in outcomes if is_robot(o.name)],
        'Other MJCFs: objects, scenes, tests': [
            o for o in outcomes if o.name.endswith('.xml') and not is_robot(o.name)],
    }
    if not patterns:
        DOCUMENT.parent.mkdir(exist_ok=True)
        DOCUMENT.write_text(document(groups), encoding='utf-8')
    print(json.dumps(figures(groups)))
    return 0


def figures(groups: dict[str, list[Outcome]]) -> list[dict[str, object]]:
    """Figures with their bars."""
    urdf, mjcf, others = groups.values()
    crashed = sum(not o.ok and not o.refused for o in (*urdf, *mjcf, *others))
    found: list[dict[str, object]] = []
    for name, outcomes, bar in (('URDFs', urdf, URDF_BAR), ('MJCFs', mjcf, MJCF_BAR)):
        good = sum(o.ok for o in outcomes)
        found.append({
            'name': f'{name} through everything', 'value': good, 'unit': f'of {len(outcomes)}',
            'bar': f'>= {bar}', 'ok': good >= bar})
    found.append({
        'name': 'other MJCFs through everything', 'value': sum(o.ok for o in others),
        'unit': f'of {len(others)}', 'ok': True})
    found.append({
        'name': 'neither through nor refused with a reason', 'value': crashed, 'unit': 'robots',
        'bar': '<= 0', 'ok': crashed == 0})
    return found


if __name__ == '__main__':
    sys.exit(main())
