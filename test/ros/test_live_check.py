"""Topics are recorded while they are judged: with a fake node, and with processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from support.two_joint_robot import JOINTS, URDF, motion
from sysid_ros.demo.node_processes import node_environment
from sysid_ros.errors import RecordingError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.nodes import bag_recording
from sysid_ros.nodes.bag_recording import TopicRecorder, record
from sysid_ros.recording.bag.joint_state_cdr import encode
from sysid_ros.runs.recording_check import check_recording
from sysid_ros.runs.sources import load_source, load_without_recording

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture
def settings(tmp_path):
    """A settings file beside the description of its robot."""
    (tmp_path / 'robot.urdf').write_text(URDF)
    path = tmp_path / 'settings.yaml'
    path.write_text(yaml.safe_dump({'robot': {'urdf': 'robot.urdf'}}))
    return path


class FakeNode:
    """A node whose subscriptions are handed messages as it is spun, 50 ms of them at once."""

    def __init__(self, *fields, urdf):
        q, v, tau = motion(urdf, 200.0, 0.0)
        values = {'position': q, 'velocity': v, 'effort': tau}
        self.callbacks, self.sent, self.spun = [], 0, 0
        self.tables = [
            encode(np.zeros(len(q), dtype=np.int64), JOINTS, {
                name: values[name] if name in own else None for name in values}) for own in fields]
        self.begin = time.time_ns()

    def create_subscription(self, kind, topic, callback, qos, *, raw):
        assert raw
        self.callbacks.append(callback)
        return SimpleNamespace(topic_name=f'/{topic}')

    def spin(self, seconds):
        self.spun += 1
        time.sleep(0.2 * seconds)
        for _ in range(10):
            stamp = np.array(divmod(self.begin + self.sent * 5_000_000, 10**9), dtype='<u4')
            for callback, table in zip(self.callbacks, self.tables, strict=True):
                row = table[self.sent % len(table)].copy()
                row[4:12] = stamp.view(np.uint8)
                callback(row.tobytes())
            self.sent += 1


@pytest.mark.parametrize(('topics', 'fields'), [
    (['joint_states'], [('position', 'velocity', 'effort')]),
    (['joint_states', 'efforts'], [('position', 'velocity'), ('effort',)]),
])
def test_topics_are_recorded_until_a_signal_comes(topics, fields, settings, tmp_path):
    setup = FitSetup.of(load_without_recording(settings))
    node = FakeNode(*fields, urdf=tmp_path / 'robot.urdf')
    folder = tmp_path / 'recordings' / 'first'
    record(TopicRecorder(node, setup, topics), folder, node.spin, lambda: node.spun > 160)
    checked = check_recording(FitSetup.of(load_source(folder)))
    assert checked.lights.duration == pytest.approx(8.0, abs=0.5)
    assert checked.lights.rate == pytest.approx(200.0, rel=0.01)


def test_what_could_not_be_fitted_is_refused_after_a_while(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(bag_recording, '_PATIENCE', 0.2)
    setup = FitSetup.of(load_without_recording(settings))
    node = FakeNode(('position', 'velocity'), urdf=tmp_path / 'robot.urdf')
    with pytest.raises(RecordingError, match='no effort is given'):
        record(TopicRecorder(node, setup, ['joint_states']), tmp_path / 'a', node.spin,
               lambda: False)
    assert not (tmp_path / 'a').exists()


def test_a_topic_is_judged_while_it_is_recorded_and_a_signal_ends_it(ros, settings, tmp_path):
    with (ros.folder / 'robot.log').open('ab') as output:
        ros.processes['robot'] = subprocess.Popen(
            ['timeout', '-k', '5', '300', sys.executable, '-m', 'support.robot_publisher',
             str(tmp_path / 'robot.urdf')], stdout=output, stderr=output,
            env=node_environment(ros.domain), cwd=TESTS, start_new_session=True)
    said = tmp_path / 'said.txt'
    with said.open('wb') as output:
        command = subprocess.Popen(
            ['timeout', '--foreground', '-k', '60', '280', sys.executable, '-m',
             'sysid_ros.cli.main', 'check', str(tmp_path / 'bag'), '--settings', str(settings),
             '--live', '--topic', 'joint_states'],
            env=node_environment(ros.domain), stdout=output, stderr=output, start_new_session=True)
    try:
        ros.wait(lambda: command.poll() is not None or 'enough to fit' in said.read_text())
        # It hands the signal on to the command alone, which then ends the process that records, and
        # gives it the time of -k from then on.
        command.send_signal(signal.SIGINT)
        ros.wait(lambda: command.poll() is not None)
    finally:
        command.poll() is None and os.killpg(command.pid, signal.SIGKILL)
    assert command.returncode in (0, 1), said.read_text()
    assert 'bag: ' in said.read_text()
    checked = check_recording(FitSetup.of(load_source(tmp_path / 'bag')))
    assert checked.usable == (command.returncode == 0)
