"""Every reader and store of the package, each with a small file of its own to be damaged."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np

from support.finished_fit import make_fit, write_provenance
from support.fuzzing import Target
from support.robot_factory import random_urdf
from support.simulated_arm import SimulatedArm
from sysid_ros.estimation.identification import Identification
from sysid_ros.excitation.configuration import ExcitationPlan
from sysid_ros.excitation.design.basis import FourierBasis
from sysid_ros.excitation.excitation import Excitation
from sysid_ros.excitation.files import (
    excitation_yaml,
    load_excitation,
    load_motion_csv,
    motion_csv,
)
from sysid_ros.recording.bag.long_bag import LongBag, is_long
from sysid_ros.recording.bag.messages import joint_state_messages, joint_state_topics
from sysid_ros.recording.bag.write import write_bag
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.load import load_recording
from sysid_ros.release.store import RevisionStore
from sysid_ros.robot.model import RobotModel
from sysid_ros.runs.commit import FinishedFit, initial_content
from sysid_ros.runs.judged import KEY, digests

#: Memory that the settings allow for a recording, in [MB].
MEMORY_LIMIT = 50.0
SECONDS, RATE = 4.0, 50.0
MJCF = """\
<mujoco model="arm"><compiler angle="radian"/><option gravity="0 0 -9.81"/>
 <default><joint damping="0.5" armature="0.01"/></default>
 <worldbody><body name="upper" pos="0 0 0.5"><joint name="a" axis="0 1 0" range="-2 2"/>
   <inertial pos="0 0 0.1" mass="2" diaginertia="0.02 0.02 0.01"/>
   <body name="lower" pos="0 0 0.3" quat="1 0 0 0"><joint name="b" axis="1 0 0" range="-1 1"/>
    <geom type="capsule" size="0.03" fromto="0 0 0 0 0 0.2" mass="0.7"/></body></body></worldbody>
</mujoco>
"""
XACRO = """\
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
 <xacro:property name="mass" value="${2.0 * 1.1}"/><xacro:macro name="body" params="name">
 <link name="${name}"><inertial><mass value="${mass}"/><origin xyz="0 0 0.1"/>
  <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
 </xacro:macro><link name="base"/><xacro:body name="arm"/>
 <joint name="a" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="5" velocity="2"/></joint></robot>
"""


def all_targets(folder: Path) -> list[Target]:
    """A target for each reader and store.

    Args:
        folder: Empty folder for their files.
    """
    arm = SimulatedArm(0)
    return [
        *_bags(folder, arm), *_tables(folder, arm), *_descriptions(folder), *_settings(folder, arm),
        *_motions(folder), *_stores(folder), *_runs(folder, arm),
    ]


def _target(
    name: str, path: Path, read: Callable[[], object], text: bool = False,
    mend: Callable[[random.Random], None] | None = None,
) -> Target:
    return Target(name, path, path.read_bytes(), read, text, mend)


def _columns(arm: SimulatedArm) -> tuple[np.ndarray, ...]:
    t = np.arange(0.0, SECONDS, 1.0 / RATE)
    q, v, _ = arm.motion(t)
    return t, q, v, arm.torque(t)


def _bags(folder: Path, arm: SimulatedArm) -> list[Target]:
    t, q, v, tau = _columns(arm)
    targets = []
    for storage, suffix in (('mcap', 'mcap'), ('sqlite3', 'db3')):
        bag = folder / storage
        write_bag(bag, t, arm.joint_names, q, v, tau, start=1.7e9, storage=storage)
        file = next(bag.glob(f'*.{suffix}'))
        for salvage in (False, True):
            settings = _recording(
                arm, format='rosbag', file=str(bag), salvage=salvage)
            name = f'{storage} bag' + (' to salvage' if salvage else '')
            targets.append(_target(name, file, _reads_bag(settings, folder)))
        settings = _recording(arm, format='rosbag', file=str(bag))
        targets.append(_target(
            f'metadata of a {storage} bag', bag / 'metadata.yaml', _reads_bag(settings, folder),
            text=True))
    bag = folder / 'mcap'
    file = next(bag.glob('*.mcap'))
    targets.append(_target('mcap bag to replay', file, lambda: [
        list(joint_state_messages(bag, joint_state_topics(bag)))]))
    return targets


def _reads_bag(settings: RecordingSettings, folder: Path) -> Callable[[], object]:
    def read() -> object:
        is_long(settings, folder)
        if not settings.salvage:
            LongBag.survey(settings, folder)
        return load_recording(settings, folder)
    return read


def _recording(arm: SimulatedArm, **changes: object) -> RecordingSettings:
    if changes['format'] == 'rosbag':
        changes['memory_limit'] = MEMORY_LIMIT
    return RecordingSettings(joints=arm.joint_names, **changes)  # type: ignore[arg-type]


def _tables(folder: Path, arm: SimulatedArm) -> list[Target]:
    t, q, _, tau = _columns(arm)
    arrays = {'time': {'array': 't'}, 'position': {'array': 'q'}, 'effort': {'array': 'tau'}}
    targets = []
    for name, save in (('npz', np.savez), ('npz compressed', np.savez_compressed)):
        path = folder / f'{name}.npz'
        save(path, t=t, q=q, tau=tau)
        settings = _recording(arm, format='npz', file=path.name, **arrays)
        targets.append(_target(
            name, path, lambda settings=settings: load_recording(settings, folder)))
    path = folder / 'table.csv'
    header = ['t', *(f'{kind}{k}' for kind in ('q', 'tau') for k in range(q.shape[1]))]
    rows = np.column_stack([t, q, tau]).tolist()
    path.write_text('\n'.join(','.join(map(str, row)) for row in [header, *rows]))
    settings = _recording(
        arm, format='csv', file=path.name, time={'column': 't'},
        position={'columns': [name for name in header if name[0] == 'q']},
        effort={'columns': [name for name in header if name[:3] == 'tau']})
    targets.append(_target(
        'csv', path, lambda: load_recording(settings, folder), text=True))
    return targets


def _descriptions(folder: Path) -> list[Target]:
    targets = []
    for name, text in (
        ('arm.urdf', random_urdf(0, 3)), ('arm.xml', MJCF),
        ('arm.urdf.xacro', XACRO),
    ):
        path = folder / name
        path.write_text(text)
        targets.append(_target(
            f'description {name}', path,
            lambda path=path: RobotModel.from_description(path), text=True))
    return targets


def _settings(folder: Path, arm: SimulatedArm) -> list[Target]:
    own = folder / 'settings'
    own.mkdir()
    shutil.copy(folder / 'arm.urdf', own / 'arm.urdf')
    shown = Path(__file__).parents[2] / 'config'
    fitting, exciting = own / 'identification.yaml', own / 'excitation.yaml'
    fitting.write_bytes((shown / 'identification.yaml').read_bytes())
    exciting.write_bytes((shown / 'excitation.yaml').read_bytes())
    return [
        _target('settings of a fit', fitting, lambda: Identification.load(fitting), text=True),
        _target('settings of motions', exciting, lambda: ExcitationPlan.load(exciting), text=True),
    ]


def _motions(folder: Path) -> list[Target]:
    basis = FourierBasis(4.0, (1, 2, 3, 4))
    excitation = Excitation(
        ('a', 'b'), basis, np.random.default_rng(0).normal(size=(len(basis.pose), 2)), 0.9,
        {'seed': 3, 'criterion': 'determinant'})
    written, table = folder / 'motion.yaml', folder / 'motion.csv'
    written.write_text(excitation_yaml(excitation))
    motion = excitation.grid(50.0)
    table.write_text(motion_csv(('a', 'b'), motion, np.zeros_like(motion.q)))
    return [
        _target('motion', written, lambda: load_excitation(written).grid(100.0), text=True),
        _target('table of a motion', table, lambda: load_motion_csv(table, ('a', 'b')), text=True),
    ]


def _stores(folder: Path) -> list[Target]:
    path = folder / 'revisions.sqlite'
    model = SimulatedArm(0).model
    content = initial_content(model)
    with RevisionStore(path) as store:
        store.begin(content)
        store.acknowledge('/controller', store.current_id())
        store.rollback(store.current_id(), 'again')
    with sqlite3.connect(path) as connection:
        connection.execute('PRAGMA journal_mode = DELETE')

    def read() -> object:
        with RevisionStore(path, patience=0.1) as store:
            damage = store.verify()
            if damage:
                return damage
            store.begin(content)
            return [store.newest(), store.acknowledgements(), store.rollback()]

    return [_target('store', path, read, mend=lambda source: _remove_logs(path))]


def _remove_logs(path: Path) -> None:
    for suffix in ('-wal', '-shm', '-journal'):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _runs(folder: Path, arm: SimulatedArm) -> list[Target]:
    own = folder / 'run'
    own.mkdir()
    make_fit(own, arm)
    run = own / 'fit'
    write_provenance(run)
    robot = Identification.load(own / 'settings.yaml').model().robot

    def read() -> object:
        return FinishedFit.open('fit', run).content(robot)

    def judge_again(source: random.Random) -> None:
        """Let the verdict belong to the files as they are, or the damage would end there."""
        file = run / 'verdict.json'
        try:
            verdict = json.loads(file.read_text(encoding='utf-8'))
        except (ValueError, RecursionError):
            return
        if isinstance(verdict, dict):
            file.write_text(json.dumps(verdict | {KEY: digests(run)}))

    names = ('estimate.json', 'settings.yaml', 'prior.urdf', 'verdict.json', 'provenance.json')
    # Numbers of one line each are more often hit.
    return [_target(f'run: {name}', run / name, read, True, judge_again) for name in names]
