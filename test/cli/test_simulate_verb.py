"""``sysid simulate``: a bag that can be fitted, of a robot that is not as described."""

import numpy as np
import pytest

from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.cli.main import main
from sysid_ros.excitation.excitation import Motion
from sysid_ros.excitation.files import motion_csv
from sysid_ros.robot.model import RobotModel

pytest.importorskip('mujoco')


@pytest.fixture
def arm(project):
    return str(project / 'sysid_ros' / 'demo' / 'demo_arm.urdf')


def written(path, arm, *, scale=1.0, seconds=12.0, joints=None):
    """A table of a motion of some joints, from rest to rest."""
    names = joints or RobotModel.from_urdf(arm).joint_names
    t = np.arange(round(seconds * 100.0) + 1) / 100.0
    size = scale * np.array([1.2, 0.9, 1.1, 1.3])[:len(names)]
    pace = 2.0 * np.pi * np.array([2, 3, 4, 5])[:len(names)] / seconds
    fade = np.clip(np.minimum(t, seconds - t) / 1.5, 0.0, 1.0)[:, None]
    angle = t[:, None] * pace
    q = size * fade**4 * (35 - 84 * fade + 70 * fade**2 - 20 * fade**3) * (
        np.sin(angle) + 0.4 * np.sin(3.0 * angle))
    v = np.gradient(q, t, axis=0)
    a = np.gradient(v, t, axis=0)
    path.write_text(motion_csv(tuple(names), Motion(t, q, v, a, 0.0 * a), 0.0 * q))
    return path


@pytest.mark.slow
def test_a_fit_of_its_bags_comes_close_to_the_truth(arm, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, scale in (('slow', 0.8), ('fast', 1.0)):
        written(tmp_path / f'{name}.csv', arm, scale=scale)
        assert main(['simulate', arm, '--motion', f'{name}.csv', '--seed', '5']) == ExitCode.OK
        assert 'masses up to 20%' in capsys.readouterr().out
        assert main(['init', arm, name, '-o', f'{name}.yaml']) == ExitCode.OK
    assert main(['fit', 'slow.yaml', '--validate', 'fast.yaml', '-o', 'run']) == ExitCode.OK
    capsys.readouterr()
    errors, within = {}, {}
    for seed in ('5', '6'):
        assert main(['simulate', arm, '--compare', 'run', '--seed', seed]) == ExitCode.OK
        said = capsys.readouterr().out
        rows = [line.split() for line in said.splitlines() if line.startswith('  ')][2:]
        errors[seed] = np.array([row[2:] for row in rows], dtype=float)
        count, _, of, *_ = said.split('\n\n')[-1].split()
        within[seed] = int(count), int(of)
    described, identified = errors['5'].T
    assert len(described) == 4 and (identified < 0.15 * described).all()
    # Chance leaves fewer than 21 of 24 inside intervals of 95 % in 3 cases of 100.
    assert within['5'][0] >= within['5'][1] - 3
    # The truth of another seed is another one.
    assert (errors['6'][:, 1] > 3.0 * identified).any()


def test_joints_that_the_motion_does_not_have_are_held(arm, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / 'two.csv', arm, joints=('elbow_pitch', 'shoulder_pitch'), seconds=6.0)
    line = ['simulate', arm, '--motion', 'two.csv', '--repeat', '1', '--lock', 'wrist_roll=0.4']
    assert main(line) == ExitCode.OK
    assert 'for 7 s. Written to two' in capsys.readouterr().out
    assert main(['init', arm, 'two', '-o', 'two.yaml']) == ExitCode.OK
    assert '2 of 4 joints of the robot' in capsys.readouterr().out
    # What is there is not written over.
    assert main(line) == ExitCode.BAD_INPUT
    assert 'Name another one with -o' in capsys.readouterr().err


@pytest.mark.parametrize(('words', 'said'), [
    (['--motion', 'm.csv', '--rate', '300'], 'Say --rate 250'),
    (['--motion', 'm.csv', '--repeat', '0'], '--repeat 1'),
    (['--motion', 'm.csv', '--seed', '-1'], '0 or more'),
    (['--motion', 'foreign.csv'], '(found tail'),
    (['--motion', 'empty.csv'], 'sysid excite'),
    (['--motion', 'fierce.csv'], 'does not follow the motion'),
    (['--motion', 'm.csv', '--servos', 'kp=1,kd=0'], '--servos kp=2,kd=0'),
    (['--motion', 'm.csv', '--servos', 'kd=1'], '--servos kp=40,kd=1.5'),
    (['--motion', 'm.csv', '--servos', 'kp=40,ki=1'], '--servos kp=40,kd=1.5'),
    (['--motion', 'm.csv', '--servos', 'stiff'], 'is not a pair'),
    (['--compare', 'nothing'], 'sysid fit'),
    ([], '--motion'),
])
def test_what_cannot_be_simulated_is_said_with_what_to_do(
    words, said, arm, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / 'm.csv', arm, seconds=2.0)
    written(tmp_path / 'foreign.csv', arm, seconds=2.0, joints=('tail',))
    written(tmp_path / 'fierce.csv', arm, seconds=0.6, scale=3.0)
    (tmp_path / 'empty.csv').write_text('a,b\n1,2\n')
    assert main(['simulate', arm, *words]) == ExitCode.BAD_INPUT
    assert said in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {
        'm.csv', 'foreign.csv', 'fierce.csv', 'empty.csv'}
