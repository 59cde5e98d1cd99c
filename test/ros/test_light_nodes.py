"""What a node has loaded before it is configured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lifecycle_msgs.srv import GetState

HEAVY = ('numba', 'llvmlite', 'pinocchio', 'coal', 'scipy', 'cvxpy', 'matplotlib')
LIGHT = ('monitor_node', 'model_server')


def mapped(process):
    """Packages, by their folders, whose libraries a process has mapped."""
    files = Path(f'/proc/{process.pid}/maps').read_text().split()
    folders = {folder for file in files if '/' in file for folder in Path(file).parts}
    return sorted(folders.intersection(HEAVY))


@pytest.mark.parametrize('node', LIGHT)
def test_a_node_that_is_imported_has_loaded_nothing_that_takes_long(node):
    finished = subprocess.run(
        [sys.executable, '-c', f'import sys, sysid_ros.nodes.{node}; print(*sys.modules)'],
        capture_output=True, text=True, check=True, timeout=120.0)
    modules = finished.stdout.split()
    assert f'sysid_ros.nodes.{node}' in modules
    assert not set(modules).intersection(HEAVY)


@pytest.mark.parametrize('node', LIGHT)
def test_a_node_that_waits_for_its_turn_loads_what_takes_long_when_it_is_configured(ros, node):
    process = ros.start(node, {'autostart': False})
    state = ros.call(GetState, f'{node}/get_state').current_state.label
    assert (state, mapped(process)) == ('unconfigured', [])


def test_what_a_process_has_mapped_is_seen():
    process = subprocess.Popen(
        [sys.executable, '-c', 'import scipy.linalg; print("there", flush=True); input()'],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == 'there\n'
        assert mapped(process) == ['scipy']
    finally:
        process.communicate('\n', timeout=30.0)
