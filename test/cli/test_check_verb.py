"""``sysid check`` judges a recording by itself, before any fit."""

import json
import re

import numpy as np
import pytest
import yaml
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from support.simulated_arm import DESCRIPTION, SimulatedArm
from sysid_ros.cli.main import main
from sysid_ros.recording.bag.joint_state_cdr import encode
from sysid_ros.recording.bag.recorder import BagRecorder
from sysid_ros.recording.bag.write import write_bag


@pytest.fixture(scope='module')
def arm():
    return SimulatedArm(6)


@pytest.fixture
def written(arm, tmp_path):
    """Writes a recording and its settings; their path."""
    (tmp_path / 'robot.urdf').write_text(DESCRIPTION)

    def write(q, tau, t):
        np.savez(tmp_path / 'a.npz', t=t, q=q, tau=tau)
        (tmp_path / 'a.yaml').write_text(yaml.safe_dump({
            'robot': {'urdf': 'robot.urdf'},
            'recording': {
                'format': 'npz', 'file': 'a.npz', 'joints': list(arm.joint_names),
                'time': {'array': 't'}, 'position': {'array': 'q'}, 'effort': {'array': 'tau'}}}))
        return str(tmp_path / 'a.yaml')

    return write


@pytest.fixture(scope='module')
def moved(arm):
    t = np.arange(3000) / 200.0
    noise = np.random.default_rng(0).normal(size=(len(t), 4))
    return arm.motion(t)[0], arm.torque(t) + 0.01 * noise, t


def test_a_good_recording_may_be_fitted(written, moved, capsys):
    assert main(['check', written(*moved)]) == 0
    said = capsys.readouterr().out
    assert 'a.npz: good enough to fit' in said.splitlines()[0]
    assert 'they belong to the motion' in said
    assert max(map(len, said.splitlines())) <= 100


def test_a_joint_that_does_not_move_is_a_reason_against(written, moved, arm, capsys):
    q, tau, t = moved
    q = q.copy()
    q[:, 2] = 0.3
    assert main(['check', written(q, tau, t)]) == 1
    said = capsys.readouterr().out
    assert 'do not fit this before it is mended' in said.splitlines()[0]
    assert f'BAD   Motion    at rest most of the time: {arm.joint_names[2]}' in said
    assert 'locked_joints: rest' in said


def test_programs_read_plain_values(written, moved, capsys):
    q, tau, t = moved
    assert main(['check', written(q, np.where(t[:, None] > -1.0, 1.0, tau), t), '--json']) == 1
    said = json.loads(capsys.readouterr().out)
    lights = {one['name']: one['light'] for one in said['lights']}
    assert lights['Efforts'] == 'bad'
    assert len(said['quality']['joints']) == 4


def test_an_effort_of_the_wrong_sign_is_bad_input(written, moved, capsys):
    q, tau, t = moved
    assert main(['check', written(q, -tau, t)]) == 2
    assert 'recording: {effort: {sign: -1}}' in capsys.readouterr().err


def test_rows_that_are_missing_are_no_jitter(written, moved, capsys):
    q, tau, t = moved
    kept = (t < 7.0) | (t > 7.5)
    assert main(['check', written(q[kept], tau[kept], t[kept])]) == 0
    said = ' '.join(capsys.readouterr().out.split())
    assert '1 gap up to 0.5' in said
    assert 'parts before and after a gap are fitted together' in said
    assert 'stamps: uniform' not in said


@pytest.mark.parametrize('bits, poor', [(14, False), (12, True)])
def test_encoders_of_14_bits_are_not_said_to_have_fewer(bits, poor, written, moved, capsys):
    q, tau, t = moved
    step = 2.0 * np.pi / 2**bits
    main(['check', written(np.round(np.round(q / step) * step, 6), tau, t)])
    assert ('fewer than 14' in capsys.readouterr().out) == poor


def test_two_seconds_of_motion_are_not_good_enough(written, moved, capsys):
    q, tau, t = moved
    assert main(['check', written(*moved), '--json']) == 0
    whole = json.loads(capsys.readouterr().out)
    assert {one['name']: one['light'] for one in whole['lights']}['Content'] == 'good'
    for duration, code, verdict in (
        (2.0, 0, 'hardly enough to fit; worth a look: content'),
        (1.0, 1, 'do not fit this before it is mended: content'),
    ):
        short = t < duration
        assert main(['check', written(q[short], tau[short], t[short])]) == code
        said = ' '.join(capsys.readouterr().out.split())
        assert verdict in said
        combinations = whole['content']['combinations']
        assert f'different loads for {combinations} combinations of parameters' in said
        assert duration < int(re.search(r'(\d+) s of motion like this', said)[1]) <= 15


def test_a_bag_that_has_ended_is_judged_live_as_without(arm, moved, tmp_path, capsys):
    q, tau, t = moved
    (tmp_path / 'robot.urdf').write_text(DESCRIPTION)
    settings = tmp_path / 'settings.yaml'
    settings.write_text(yaml.safe_dump({'robot': {'urdf': 'robot.urdf'}}))
    stamps = 1_700_000_000_000_000_000 + np.round(1e9 * t).astype(np.int64)
    recorder = BagRecorder(tmp_path / 'bag', ['/joint_states'])
    rows = encode(stamps, list(arm.joint_names), {'position': q, 'velocity': None, 'effort': tau})
    recorder.add(0, [row.tobytes() for row in rows], stamps.tolist())
    recorder.finish()
    assert recorder.wait(10.0)
    words = ['check', str(tmp_path / 'bag'), '--settings', str(settings)]
    assert main(words) == 0
    plain = capsys.readouterr().out
    assert main([*words, '--live']) == 0
    assert capsys.readouterr().out == plain


@pytest.mark.parametrize(('words', 'error'), [
    (['--topic', 'joint_states'], 'Add --live'),
    (['--live', '--topic', 'joint_states'], 'Add --settings FILE'),
    (['--live'], 'only a bag can be judged while it grows'),
])
def test_options_of_a_live_judgement_that_do_not_fit_are_refused(
    written, moved, words, error, capsys
):
    assert main(['check', written(*moved), *words]) == 2
    assert error in capsys.readouterr().err


def bag_of(path, arm, moved, description=''):
    """A bag of joint states; with the description as a latched topic beside them."""
    q, tau, t = moved
    write_bag(path, t, arm.joint_names, q, None, tau, storage='sqlite3')
    if description:
        store = get_typestore(Stores.ROS2_HUMBLE)
        text = store.types['std_msgs/msg/String'](data=description)
        with_text = path.with_name(f'{path.name}_described')
        with Reader(path) as reader, Writer(
                with_text, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
            kind = 'std_msgs/msg/String'
            own = writer.add_connection('/robot_description', kind, typestore=store)
            writer.write(own, 1, store.serialize_cdr(text, kind))
            states = writer.add_connection(
                '/joint_states', 'sensor_msgs/msg/JointState', typestore=store)
            for _, stamp, data in reader.messages():
                writer.write(states, stamp, data)
        return str(with_text)
    return str(path)


def test_a_bag_needs_no_settings_where_its_robot_is_named(moved, arm, tmp_path, capsys):
    (tmp_path / 'robot.urdf').write_text(DESCRIPTION)
    bag = bag_of(tmp_path / 'bag', arm, moved)
    before = sorted(tmp_path.rglob('*'))
    assert main(['check', bag, '--robot', str(tmp_path / 'robot.urdf')]) == 0
    said = capsys.readouterr().out
    assert said.startswith('topic     /joint_states') and 'bag: good enough to fit' in said
    assert sorted(tmp_path.rglob('*')) == before


def test_a_bag_that_has_its_description_needs_nothing(moved, arm, tmp_path, capsys):
    bag = bag_of(tmp_path / 'bag', arm, moved, DESCRIPTION)
    assert main(['check', bag]) == 0
    assert 'good enough to fit' in capsys.readouterr().out
    assert main(['check', bag, '--json']) == 0
    assert json.loads(capsys.readouterr().out)['lights']


def test_a_recording_of_nobody_knows_what_is_refused_with_what_to_say(
    moved, arm, tmp_path, capsys
):
    assert main(['check', bag_of(tmp_path / 'bag', arm, moved)]) == 2
    assert '--robot robot.urdf' in capsys.readouterr().err
    (tmp_path / 'robot.urdf').write_text(DESCRIPTION)
    np.savez(tmp_path / 'a.npz', q=moved[0], tau=moved[1])
    assert main(['check', str(tmp_path / 'a.npz'), '--robot', str(tmp_path / 'robot.urdf')]) == 2
    said = capsys.readouterr().err
    assert 'sysid init' in said and '--rate' in said
