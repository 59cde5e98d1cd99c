"""Commands of the how-to pages, run as they are written on recordings as robots make them."""

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

import sysid_ros as si
from support import closed_robots, drivers
from support.driver_recordings import COUNT, RECORDINGS, written
from support.drivers import driver, named, write_states, write_table
from support.finished_fit import make_fit
from support.simulated_arm import SimulatedArm
from sysid_ros.cli.main import main
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.bag.write import write_bag

# Inertial parameters of what a last link carries: 1 kg, 0.1 m out.
LOAD = np.array([1.0, 0.0, 0.03, 0.1, 0.013, 0.0, 0.012, 0.0, -0.003, 0.003])
# That of the servos on the page of them, in [N·m/rad], and the arm of `support.actuated_arm`.
STIFFNESS = 17.8
SERVO_ARM = """<robot name="arm"><link name="base"/>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<origin xyz="0 0 0.3"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="9" effort="18"/>
<dynamics damping="0.25" friction="0.2"/></joint>
<link name="upper"><inertial><origin xyz="0.02 0 0.12"/><mass value="1.5"/>
<inertia ixx="0.012" iyy="0.012" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/>
<origin xyz="0 0 0.25"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="9" effort="12"/>
<dynamics damping="0.25" friction="0.1"/></joint>
<link name="fore"><inertial><origin xyz="0 0.01 0.1"/><mass value="0.8"/>
<inertia ixx="0.006" iyy="0.006" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
PAGES = Path(__file__).resolve().parents[2] / 'docs' / 'how-to'
SHELL = re.compile(r'^ *```sh\n(.*?)^ *```', re.MULTILINE | re.DOTALL)
# Where commands are tried that need a cluster, running nodes, or a package to be installed.
ELSEWHERE = {
    'batch robots.csv --scheduler': 'test/fleet/test_batch.py',
    'batch robots.csv -o fleet/today': 'test/fleet/test_batch.py',
    'check my_bag --settings settings.yaml --live --topic': 'test/ros/test_live_check.py',
    'compile': 'test/runs/test_compile_ahead.py',
    'drift': 'test/fleet/test_drift.py',
    'init nodes': 'test/cli/test_init_nodes_verb.py',
    'run': 'test/ros/test_run_verb.py',
    'ship': 'test/fleet/test_shipping.py',
    'studio': 'test/studio/test_page_in_browser.py',
}


def of_drivers(robot, **recordings):
    """Writes recordings of one robot's driver, and its description, under the names of a page."""
    names = {file.replace('_csv', '.csv'): name for file, name in recordings.items()}
    own = RECORDINGS[next(iter(names.values()))][0]

    def prepare(folder):
        for file, name in names.items():
            (folder / 'made').mkdir()
            _, description, made, _ = written(name, folder / 'made', own)
            description.rename(folder / robot)
            made.rename(folder / file)
            shutil.rmtree(folder / 'made')
    return prepare


def of_columns(robot, file, own, columns, **said):
    """Writes a table of a driver by the columns that a function gives, and its description."""
    def prepare(folder):
        t, q, v, tau = own.measured()
        (folder / robot).write_text(own.urdf)
        write_table(folder / file, columns(own, t, q, v, tau), **said)
    return prepare


def headerless(own, t, q, v, tau):
    return [([''] * 22, np.column_stack([t, q, v, tau]))]


def servo_currents(own, t, q, v, tau):
    """Currents in counts, with positions in radians."""
    return [(['t'], t), (named('q_{}', 4), q),
            (named('present_current_{}', 4), tau / own.constants / COUNT)]


def servo_arm(folder):
    """A table of commands and positions of an arm with position servos, and its MJCF."""
    arm = pytest.importorskip('support.actuated_arm')
    t, command, q = arm.recording(10.0, 1.0, 0)
    (folder / 'quadruped.xml').write_text(arm.DESCRIBED)
    write_table(folder / 'log.csv', [
        (['t'], t), ([f'{name}_command' for name in arm.JOINTS], command),
        ([f'{name}_position' for name in arm.JOINTS], q)])


def xacro_robot(folder):
    """A bag of joint states beside a description in xacro that takes arguments."""
    own = RECORDINGS['ur_joint_states'][0]
    write_states(folder / 'recording', own, *own.measured())
    (folder / 'ur.urdf.xacro').write_text(own.urdf.replace(
        '<robot name="arm">',
        '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:arg name="ur_type" default=""/><xacro:arg name="name" default=""/>'))


def robot_with_loops(folder):
    """A bag of what the motors of a linkage measured, and the file that closes its loop."""
    linkage, motors = closed_robots.five_bar_linkage(), closed_robots.five_bar().joint_names
    # Descriptions in URDF have gravity along z, across the plane of the linkage.
    robot = si.RobotModel.from_urdf(
        linkage.urdf, loops=linkage.loops(motors, closed_robots.FIVE_BAR_ASSEMBLY))
    t = np.arange(2000) / 100.0
    q, v, a = closed_robots.smooth_motion(robot, t, 1)
    model = TorqueModel(robot, ())
    write_bag(folder / 'recording', t, robot.joint_names, q, v,
              model.torque(model.parameters.values, q, v, a))
    (folder / 'robot.urdf').write_text(linkage.urdf)
    (folder / 'loops.yaml').write_text(yaml.safe_dump({
        'actuated': list(robot.joint_names), 'assembly': closed_robots.FIVE_BAR_ASSEMBLY,
        'closures': linkage.closures}))


def arm_recordings(folder, *names, load=(), motions=1):
    """Recordings of one arm with different motions, and their settings.

    Args:
        folder: Where to write them.
        names: What they are called.
        load: Those whose last link carries 1 kg more.
        motions: Number of the first motion.
    """
    arm = SimulatedArm(0)
    wrist = slice(10 * len(arm.model.robot.body_names) - 10, 10 * len(arm.model.robot.body_names))
    (folder / 'robot.urdf').write_text(arm.description.replace(
        '</robot>', '<link name="tool0"/><joint name="mount" type="fixed"><parent link="wrist"/>'
        '<child link="tool0"/></joint></robot>'))
    for number, name in enumerate(names, motions):
        truth = arm.truth
        truth[wrist] += LOAD if name in load else 0.0
        t = np.arange(1600) / 100.0
        q, v, a = SimulatedArm(number).motion(t)
        tau = arm.model.regressor(q, v, a) @ truth
        noise = np.random.default_rng(number).normal(size=tau.shape)
        tau += 0.01 * np.sqrt(np.mean(tau**2, axis=0)) * noise
        np.savez(folder / f'{name}.npz', t=t, q=q, tau=tau)
        (folder / f'{name}.yaml').write_text(yaml.safe_dump({
            'robot': {'urdf': 'robot.urdf'},
            'recording': {
                'format': 'npz', 'file': f'{name}.npz', 'joints': list(arm.joint_names),
                'time': {'array': 't'}, 'position': {'array': 'q'}, 'effort': {'array': 'tau'}}}))


def own_robot(folder):
    """A description, and a bag beside it."""
    arm, t = SimulatedArm(1), np.arange(1600) / 100.0
    (folder / 'my_robot.urdf').write_text(arm.description)
    write_bag(folder / 'recording', t, arm.joint_names, arm.motion(t)[0], None, arm.torque(t))


def in_its_folder(folder):
    """A description in the folder of its robot."""
    (folder / 'my_robot').mkdir()
    (folder / 'my_robot' / 'robot.urdf').write_text(SimulatedArm(1).description)


def with_a_load(folder):
    """Recordings with a load and without one, and a fit of the second."""
    arm_recordings(folder, 'loaded', 'empty', load=['loaded'], motions=3)
    assert main(['fit', 'empty.yaml', '--holdout', '0.3', '-o', 'runs/first', '-q']) == 0


def bag_to_check(folder):
    """A bag, and settings that name its robot."""
    own_robot(folder)
    (folder / 'recording').rename(folder / 'my_bag')
    (folder / 'settings.yaml').write_text(yaml.safe_dump({'robot': {'urdf': 'my_robot.urdf'}}))


def motion_to_plan(folder):
    """A robot whose motion is planned, a fit of one recording, and a table of someone's motion."""
    arm_recordings(folder, 'first')
    assert main(['fit', 'first.yaml', '--holdout', '0.3', '-o', 'runs/first', '-q']) == 0
    terms = si.Run.open('runs/first').settings.sections['robot']['terms']
    (folder / 'robot.yaml').write_text(yaml.safe_dump({
        'robot': {'urdf': 'robot.urdf', 'terms': terms}, 'motion': {'harmonics': [1, 2, 3]},
        'design': {'starts': 1, 'iterations': 2}}))
    t = np.linspace(0.0, 4.0, 401)
    rate = 2.0 * np.pi / 4.0
    lean, turn = 1.0 - np.cos(rate * t), np.sin(rate * t)
    way = 0.1 * np.column_stack([
        lean**2, 2.0 * rate * lean * turn, 2.0 * rate**2 * (turn**2 + lean * (1.0 - lean))])
    write_table(folder / 'planned_by_something_else.csv', [(['time'], t), *(
        ([f'{quantity}.{name}' for name in SimulatedArm(0).joint_names],
         np.column_stack([values] * 4))
        for quantity, values in zip(
            ('position', 'velocity', 'acceleration'), way.T, strict=True))])


def finished(name):
    """Writes a finished fit as the run that a page names."""
    def prepare(folder):
        (folder / 'made').mkdir()
        make_fit(folder / 'made', SimulatedArm(1))
        shutil.copytree(folder / 'made', folder / 'runs' / 'made')
        (folder / 'runs' / 'made' / 'fit').rename(folder / 'runs' / name)
    return prepare


def episode(folder):
    """An episode of LeRobot of servos, whose stiffness is the page's."""
    arrow, parquet = (pytest.importorskip(name) for name in ('pyarrow', 'pyarrow.parquet'))
    arm = pytest.importorskip('support.actuated_arm')
    plant = arm.plant()
    plant.actuator_gainprm[:, 0], plant.actuator_biasprm[:, 1] = STIFFNESS, -STIFFNESS
    t = np.arange(2000) / arm.RATE
    command = arm.commanded(t, 1.0)
    q = arm.simulated(plant, command, command[0])
    (folder / 'so101.urdf').write_text(SERVO_ARM)
    file = folder / 'data' / 'chunk-000' / 'episode_000000.parquet'
    file.parent.mkdir(parents=True)
    parquet.write_table(arrow.table({
        'action': np.degrees(command).tolist(), 'observation.state': np.degrees(q).tolist(),
        'timestamp': t}), file)
    (folder / 'meta').mkdir()
    names = {'names': [f'{name}.pos' for name in arm.JOINTS]}
    (folder / 'meta' / 'info.json').write_text(json.dumps({'features': {
        'action': names, 'observation.state': names, 'timestamp': {'names': None}}}))


def fleet(folder):
    """The table of the page, and settings and bags of its robots and of the next one."""
    (table,) = re.findall(r'```\n(robot,settings,.*?)```', (PAGES / 'fleets.md').read_text(), re.S)
    (folder / 'robots.csv').write_text(table)
    # With terms that are said all robots have the same.
    terms = {'viscous_friction': 'all', 'coulomb_friction': 'all', 'armature': [], 'stiffness': []}
    robot = {'robot': {'urdf': 'robot.urdf', 'terms': terms}}
    bags = ('arm_01/monday', 'arm_02/monday', 'arm_02/friday', 'arm_02/check', 'arm_03/monday',
            'arm_04/first')
    for place in ('arms', *sorted({bag.partition('/')[0] for bag in bags})):
        (folder / place).mkdir()
        (folder / place / 'robot.urdf').write_text(SimulatedArm(0).description)
        (folder / place / 'settings.yaml').write_text(yaml.safe_dump(
            robot | {'recording': {'format': 'rosbag', 'file': 'monday.mcap'}}))
    (folder / 'arms' / 'ur10e.yaml').write_text(yaml.safe_dump(robot))
    for motion, bag in enumerate(bags, 11):
        arm, t = SimulatedArm(int(bag[4:6])), np.arange(1600) / 100.0
        q, v, a = SimulatedArm(motion).motion(t)
        noise = 0.01 * np.random.default_rng(motion).normal(size=q.shape)
        write_bag(folder / 'bag', t, arm.joint_names, q, None,
                  arm.model.regressor(q, v, a) @ arm.truth + noise)
        (made,) = (folder / 'bag').glob('*.mcap')
        made.rename(folder / f'{bag}.mcap')
        shutil.rmtree(folder / 'bag')


# What the commands of each block need: its files, or those of each command.
BLOCKS = {
    'current-instead-of-torque': [of_drivers('robot.urdf', recording_csv='ur_rtde_table')],
    'describe-a-recording': [
        of_drivers('robot.urdf', recording_csv='matlab_table'),
        of_columns('robot.urdf', 'log.csv', driver(drivers.PANDA), headerless, header=False),
        servo_arm,
        [xacro_robot, robot_with_loops],
    ],
    'dynamixel': [
        2 * [of_columns('arm.urdf', 'log.csv', driver(drivers.SERVOS), servo_currents)],
        of_drivers('arm.urdf', log_csv='dynamixel_counts'),
        episode,
    ],
    'excite': [arm_recordings],
    'fleets': [fleet, fleet],
    'franka': [of_drivers(
        'fr3.urdf', rosbag2_2026_01_01='franka_joint_states', libfranka_log_csv='libfranka_log')],
    'kinova': [of_drivers('gen3.urdf', feedback_csv='kinova_feedback_table')],
    'kuka': [of_drivers(
        'iiwa14.urdf', rosbag2_2026_01_01='kuka_bag_with_another_prefix',
        fri_log_csv='kuka_fri_log')],
    'on-the-robot': [in_its_folder],
    'own-robot': [own_robot],
    'payload': [with_a_load],
    'poor-motion': [
        bag_to_check, motion_to_plan,
        lambda folder: arm_recordings(folder, 'slow', 'fast', 'other_pose', 'last')],
    'universal-robots': [of_drivers(
        'ur10e.urdf', rosbag2_2026_01_01='ur_joint_states', robot_data_csv='ur_rtde_table')],
    'use-the-model': [finished('arm')],
    'xarm': [of_drivers('xarm7.urdf', rosbag2_2026_01_01='xarm_joint_states')],
}


def blocks_of(page):
    """Arguments of ``sysid`` in each block of a page, less what is tried elsewhere."""
    found = []
    for text in SHELL.findall(page.read_text(encoding='utf-8')):
        lines = [shlex.split(line, comments=True)
                 for line in text.replace('\\\n', ' ').splitlines()]
        commands = [words[1:] for words in lines if words[:1] == ['sysid']]
        commands = [words for words in commands
                    if not ' '.join(words).startswith(tuple(ELSEWHERE))]
        if commands:
            found.append(commands)
    return found


COMMANDS = {page.stem: found for page in sorted(PAGES.glob('*.md')) if (found := blocks_of(page))}


def test_commands_of_every_page_are_tried():
    assert {name: len(found) for name, found in COMMANDS.items()} == {
        name: len(blocks) for name, blocks in BLOCKS.items()}
    for command, file in ELSEWHERE.items():
        assert command.split()[0] in (PAGES.parents[1] / file).read_text(encoding='utf-8')


@pytest.mark.slow
@pytest.mark.parametrize(('name', 'number'), [
    pytest.param(name, number, id=f'{name} {number + 1}')
    for name, found in COMMANDS.items() for number in range(len(found))])
def test_commands_do_what_the_page_says(name, number, tmp_path, monkeypatch, capsys):
    prepare, commands = BLOCKS[name][number], COMMANDS[name][number]
    ways = [(prepare, commands)]
    if isinstance(prepare, list):
        ways = [(one, [words]) for one, words in zip(prepare, commands, strict=True)]
    for way, (prepare, tried) in enumerate(ways):
        folder = tmp_path / str(way)
        folder.mkdir()
        monkeypatch.chdir(folder)
        prepare(folder)
        for words in tried:
            capsys.readouterr()
            assert main(words) == 0, (words, *capsys.readouterr())
