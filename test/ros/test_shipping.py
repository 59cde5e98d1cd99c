"""The node of identification copies what is finished into a store while the robot is idle."""

import subprocess
import sys

import pytest

from support.identification_bench import Setup
from sysid_ros.nodes import shipping
from sysid_ros.nodes.shipping import Shipping


class PaperNode:
    """Keeps what a node would call from time to time."""

    def every(self, period, callback):
        self.look = callback


@pytest.fixture
def sleeping(monkeypatch):
    """Processes that were begun in place of copies; each sleeps until it is ended."""
    begun, popen = [], subprocess.Popen

    def begin(command, **options):
        begun.append(popen([sys.executable, '-c', 'import time; time.sleep(60)'], **options))
        return begun[-1]

    monkeypatch.setattr(shipping.subprocess, 'Popen', begin)
    yield begun
    for process in begun:
        process.kill()
        process.wait()


def test_a_copy_ends_when_there_is_other_work_and_begins_again_afterwards(sleeping, tmp_path):
    node, idle = PaperNode(), [True]
    copies = Shipping(node, tmp_path, 'file:///x', 0.0, lambda: idle[0])
    node.look()
    assert copies.busy and sleeping[0].poll() is None
    idle[0] = False
    node.look()
    assert not copies.busy and sleeping[0].poll() is not None
    node.look()
    assert len(sleeping) == 1
    idle[0] = True
    node.look()
    assert len(sleeping) == 2
    copies.close()
    assert sleeping[1].poll() is not None and not copies.problem


def test_why_a_copy_failed_is_said(monkeypatch, tmp_path):
    popen = subprocess.Popen
    monkeypatch.setattr(shipping.subprocess, 'Popen', lambda command, **options: popen(
        [sys.executable, '-c', 'import sys; sys.exit("no such bucket")'], **options))
    node = PaperNode()
    copies = Shipping(node, tmp_path, 's3://nowhere', 1000.0, lambda: True)
    copies._due = 0.0
    node.look()
    copies._process.wait()
    node.look()
    assert copies.problem == 'not copied into the store: no such bucket'


def test_a_recording_is_copied_once_the_robot_stands(ros):
    pytest.importorskip('fsspec', reason='stores are reached through fsspec')
    store = ros.folder / 'store'
    setup = Setup(ros)
    setup.recorder(ship_to=f'file://{store}', ship_period=1.0).active().robot()
    setup.record(1.0, 'monday')
    assert not store.exists()
    ros.stop('robot')
    ros.wait((store / 'recordings' / 'monday' / 'metadata.yaml').is_file)
    assert list((store / 'recordings' / 'monday').glob('*.mcap'))
