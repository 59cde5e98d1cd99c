"""Every reader and store of the package, each with a small file of its own to be damaged."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from support.command_bags import (
    Command,
    Message,
    array_message,
    trajectory,
    write_command_bag,
)
from support.fuzz_targets_of_runs import targets_of_runs
from support.fuzzing import Target, target_of
from support.planar_mechanisms import SLIDER_CRANK
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
from sysid_ros.excitation.geometry.meshes import load_hull
from sysid_ros.recording.bag.long_bag import LongBag, is_long
from sysid_ros.recording.bag.messages import joint_state_messages, joint_state_topics
from sysid_ros.recording.bag.write import write_bag
from sysid_ros.recording.description import RecordingSettings
from sysid_ros.recording.guess.table_head import read_head
from sysid_ros.recording.load import load_recording
from sysid_ros.robot.description.srdf import AllowedCollisions
from sysid_ros.robot.model import RobotModel
from sysid_ros.runs.initial_settings import initial_settings
from sysid_ros.runs.run_files import read_json
from sysid_ros.studio.choices import Choices
from sysid_ros.studio.folder import StudioFolder
from sysid_ros.studio.jobs import CheckJob
from sysid_ros.studio.notes import Notes
from sysid_ros.studio.studio import Studio
from sysid_ros.studio.tasks import Phase, Task

try:  # which no distribution of ROS brings
    import pyarrow
    import pyarrow.parquet
except ImportError:
    pyarrow = None

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
SRDF = """\
<robot name="arm"><group name="arm"><chain base_link="base" tip_link="lower"/></group>
 <disable_collisions link1="base" link2="upper" reason="Adjacent"/>
 <disable_default_collisions link="lower"/><enable_collisions link1="base" link2="lower"/></robot>
"""
MBDS = """\
%YAML 1.2
---
parameters: {L: 1.0, xb: 4.0*L, twice: 2*L}
points: [{x: 0, y: 0, fixed: true}, {x: L*cos(deg2rad(0)), y: 0}, {x: L, y: twice},
         {x: xb, y: 0, fixed: true}]
planar_bodies:
  - {points: [0, 1], length: L, mass: 1.0, I0: (1/3)*mass*length^2, cog: [0.5*length, 0.0]}
  - {points: [1, 2], length: auto, mass: 2.0, I0: (1/3)*mass*length^2, cog: [0.5*length, 0.0]}
  - {points: [2, 3], length: auto, mass: 4.0, I0: (1/3)*mass*length^2, cog: [0.5*length, 0.0]}
relative_coordinates: [{type: RelativeAngleAbsoluteDOF, points: [0, 1]}]
"""


def all_targets(folder: Path) -> list[Target]:
    """A target for each reader and store.

    Args:
        folder: Empty folder for their files.
    """
    arm = SimulatedArm(0)
    return [
        *_bags(folder, arm), *_commands(folder), *_tables(folder, arm), *_descriptions(folder),
        *_mechanisms(folder), *_meshes(folder), *_settings(folder, arm), *_motions(folder),
        *_guesses(folder, arm), *_sensors(folder), *_notes(folder),
        *targets_of_runs(folder / 'runs', arm),
    ]


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
            targets.append(target_of(name, file, _reads_bag(settings, folder)))
        settings = _recording(arm, format='rosbag', file=str(bag))
        targets.append(target_of(
            f'metadata of a {storage} bag', bag / 'metadata.yaml', _reads_bag(settings, folder),
            text=True))
    bag = folder / 'mcap'
    file = next(bag.glob('*.mcap'))
    targets.append(target_of('mcap bag to replay', file, lambda: [
        list(joint_state_messages(bag, joint_state_topics(bag)))]))
    return targets


def _commands(folder: Path) -> list[Target]:
    """Bags with commands beside the joint states: numbers, and trajectories to be played."""
    t, joints = np.arange(0.0, SECONDS, 1.0 / RATE), ('a', 'b')
    points = [(0.0, [0.0, 1.0], [0.1, 0.0]), (0.4, [0.8, 1.0], [0.0, 0.2]), (1.0, [0.2, 1.0])]
    told = {
        'numbers': [Command(0.1 * k, array_message([k, -k])) for k in range(20)],
        'trajectories': [
            Command(0.5 * k, trajectory(joints, points, stamp=0.5 * k)) for k in range(5)]}
    targets = []
    for name, commands in told.items():
        bag = folder / name
        write_command_bag(bag, t, joints, np.zeros((len(t), 2)), commands)
        settings = RecordingSettings(
            format='rosbag', file=str(bag), joints=joints, memory_limit=MEMORY_LIMIT,
            command={'joints': joints} if name == 'numbers' else {})
        file = next(bag.glob('*.mcap'))
        targets.append(target_of(
            f'bag of {name}', file, lambda settings=settings: load_recording(settings, folder)))
        # Checksums of a bag end with what was damaged on its way, not with what was sent.
        sent = folder / f'{name}.cdr'
        sent.write_bytes(commands[1].message.data)
        kind = commands[1].message.kind

        def read(
            bag: Path = bag, sent: Path = sent, kind: str = kind,
            settings: RecordingSettings = settings,
        ) -> object:
            shutil.rmtree(bag)
            told = [Command(0.5, Message(kind, sent.read_bytes()))]
            write_command_bag(bag, t, joints, np.zeros((len(t), 2)), told)
            return load_recording(settings, folder)

        targets.append(target_of(f'message of {name}', sent, read))
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
        targets.append(target_of(
            name, path, lambda settings=settings: load_recording(settings, folder)))
    array, archive = folder / 'array.npy', folder / 'array.npz'
    np.save(array, np.ascontiguousarray(q))
    packed = _recording(arm, format='npz', file=archive.name, memory_limit=MEMORY_LIMIT, **(
        arrays | {'time': {'rate': RATE}, 'position': {'array': 'array'}, 'effort': None}))

    def read_array() -> object:
        # As below a checksum that is right.
        with zipfile.ZipFile(archive, 'w', zipfile.ZIP_DEFLATED) as written:
            written.write(array, array.name)
        return read_head(archive, 'npz').values, load_recording(packed, folder)

    targets.append(target_of('array of an npz', array, read_array))
    if pyarrow is not None:
        path = folder / 'table.parquet'
        pyarrow.parquet.write_table(pyarrow.table(
            {'t': t, 'q': q.tolist(), 'tau': tau.tolist()}), path)
        columns = _recording(arm, format='parquet', file=path.name, **arrays)
        targets.append(target_of('parquet', path, lambda: (
            read_head(folder / 'table.parquet', 'parquet').values,
            load_recording(columns, folder))))
    path = folder / 'table.csv'
    header = ['t', *(f'{kind}{k}' for kind in ('q', 'tau') for k in range(q.shape[1]))]
    rows = np.column_stack([t, q, tau]).tolist()
    path.write_text('\n'.join(','.join(map(str, row)) for row in [header, *rows]))
    settings = _recording(
        arm, format='csv', file=path.name, time={'column': 't'},
        position={'columns': [name for name in header if name[0] == 'q']},
        effort={'columns': [name for name in header if name[:3] == 'tau']})
    targets.append(target_of(
        'csv', path, lambda: load_recording(settings, folder), text=True))
    return targets


def _guesses(folder: Path, arm: SimulatedArm) -> list[Target]:
    """What ``sysid init`` looks at before there are settings."""
    own = folder / 'guesses'
    own.mkdir()
    (own / 'arm.urdf').write_text(arm.description)
    for name in ('npz.npz', 'npz compressed.npz', 'table.csv'):
        shutil.copy(folder / name, own / name)
    shutil.copytree(folder / 'mcap', own / 'mcap')
    targets = [
        target_of(
            f'head of {path.name}', path,
            lambda path=path: read_head(path, path.suffix[1:]).values, text=path.suffix == '.csv')
        for path in (own / 'npz.npz', own / 'npz compressed.npz', own / 'table.csv')]
    for file in (own / 'npz.npz', own / 'table.csv', next((own / 'mcap').glob('*.mcap'))):
        recording = file.parent if file.suffix == '.mcap' else file
        targets.append(target_of(
            f'init of {file.suffix}', file,
            lambda recording=recording: initial_settings(
                own / 'arm.urdf', recording, own), text=file.suffix == '.csv'))
    return targets


def _descriptions(folder: Path) -> list[Target]:
    targets = []
    for name, text in (
        ('arm.urdf', random_urdf(0, 3)), ('arm.xml', MJCF),
        ('arm.urdf.xacro', XACRO),
    ):
        path = folder / name
        path.write_text(text)
        targets.append(target_of(
            f'description {name}', path,
            lambda path=path: RobotModel.from_description(path), text=True))
    outer, inner, srdf = (folder / name for name in ('outer.xml', 'inner.xml', 'arm.srdf'))
    begin, end = MJCF.index(' <worldbody>'), MJCF.index('</mujoco>')
    outer.write_text(f'{MJCF[:begin]}<include file="inner.xml"/>{MJCF[end:]}')
    inner.write_text(f'<mujocoinclude>{MJCF[begin:end]}</mujocoinclude>')
    targets += [
        target_of(
            f'description {path.name} of two files', path,
            lambda: RobotModel.from_description(outer), text=True) for path in (outer, inner)]
    srdf.write_text(SRDF)
    return [*targets, target_of(
        'SRDF', srdf, lambda: AllowedCollisions.load(srdf, ('base', 'upper', 'lower')), text=True)]


def _mechanisms(folder: Path) -> list[Target]:
    """Planar mechanisms in both of their formats."""
    targets = []
    for name, text in (('linkage.yaml', SLIDER_CRANK), ('mbds.yaml', MBDS)):
        path = folder / name
        path.write_text(text)
        targets.append(target_of(
            f'mechanism {name}', path, lambda path=path: RobotModel.from_description(path),
            text=True))
    return targets


def _sensors(folder: Path) -> list[Target]:
    """A table of an IMU beside that of the joints."""
    t, path = np.arange(0.0, SECONDS, 1.0 / RATE), folder / 'imu.csv'
    for file, names in ((path, 'wx,wy,wz'), (folder / 'joints.csv', 'q')):
        columns = np.sin(np.outer(t, 1.0 + np.arange(names.count(',') + 1)))
        np.savetxt(file, np.column_stack([t, columns]), delimiter=',', comments='',
                   header=f't,{names}')
    settings = RecordingSettings(
        format='csv', file='joints.csv', joints=('a',), time={'column': 't'},
        position={'columns': ['q']}, sensors={'imu': {
            'kind': 'gyroscope', 'link': 'tip', 'file': path.name, 'time': {'column': 't'},
            'columns': ['wx', 'wy', 'wz']}})
    return [target_of(
        'table of an IMU', path, lambda: load_recording(settings, folder), text=True)]


def _notes(folder: Path) -> list[Target]:
    """What the page in a browser has noted in its folder."""
    own = folder / 'studio'
    own.mkdir()
    opened = StudioFolder.open(own)
    notes, job = Notes(opened.notes), CheckJob(recording='a.yaml')
    notes.write('choices', Choices(fitted=('a.yaml',), folds=7).model_dump(mode='json'))
    done = replace(Task(job, 'sysid check a.yaml', 'digest'), phase=Phase.DONE, result={'a': 1})
    notes.write('tasks', done.note(), 'check')
    noted, = opened.notes.glob('tasks/*.json')
    # The page forgets what it cannot read, and goes on.
    return [
        target_of(f'note of {name}', path, lambda path=path: (
            Studio(opened).choices, read_json(path)), text=True)
        for name, path in (('choices', opened.notes / 'choices.json'), ('a job', noted))]


def _meshes(folder: Path) -> list[Target]:
    """A tetrahedron in formats that descriptions name."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    stl, obj = folder / 'mesh.stl', folder / 'mesh.obj'
    rows = np.zeros(4, dtype=[('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('kind', '<u2')])
    rows['corners'] = corners[faces]
    stl.write_bytes(bytes(80) + np.uint32(4).tobytes() + rows.tobytes())
    obj.write_text('\n'.join([
        *(f'v {x} {y} {z}' for x, y, z in corners), *(f'f {a} {b} {c}' for a, b, c in faces + 1)]))
    read = load_hull.__wrapped__  # what is read once is kept
    return [
        target_of(f'mesh {path.name}', path, lambda path=path: read(path, (1.0, 1.0, 1.0)),
                  text=path is obj) for path in (stl, obj)]


def _settings(folder: Path, arm: SimulatedArm) -> list[Target]:
    own = folder / 'settings'
    own.mkdir()
    shutil.copy(folder / 'arm.urdf', own / 'arm.urdf')
    shown = Path(__file__).parents[2] / 'config'
    fitting, exciting = own / 'identification.yaml', own / 'excitation.yaml'
    fitting.write_bytes((shown / 'identification.yaml').read_bytes())
    exciting.write_bytes((shown / 'excitation.yaml').read_bytes())
    return [
        target_of(
            'settings of a fit', fitting, lambda: Identification.load(fitting), text=True),
        target_of(
            'settings of motions', exciting, lambda: ExcitationPlan.load(exciting), text=True),
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
        target_of('motion', written, lambda: load_excitation(written).grid(100.0), text=True),
        target_of(
            'table of a motion', table, lambda: load_motion_csv(table, ('a', 'b')), text=True),
    ]
