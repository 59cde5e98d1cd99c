"""Nodes listen to nobody but DDS: no port of TCP, and those of UDP that DDS takes."""

import subprocess
import sys
from pathlib import Path

import pytest

from sysid_ros.demo.folder import prepare
from sysid_ros.msg import Heartbeat
from sysid_ros.settings import load_yaml

# Sockets of TCP that wait for connections, as Linux numbers them.
LISTENING = '0A'
# Of RTPS 2.5, 9.6.2.3: ports of a domain begin at 7400 + 250 · domain, and there are 250.
FIRST, OF_A_DOMAIN = 7400, 250
# Fast DDS takes one from 7000 on for each participant; a node of rclpy alone has it, too.
OF_PARTICIPANTS = range(7000, 7400)
NODES = ('excitation_node', 'identification_node', 'model_server', 'monitor_node')

if not Path('/proc/net/tcp').exists():
    pytest.skip('sockets are listed elsewhere', allow_module_level=True)


def family(process):
    """Numbers of a process and all that it started."""
    children = Path(f'/proc/{process}/task/{process}/children').read_text(encoding='ascii').split()
    return [process, *(each for child in children for each in family(int(child)))]


def ports(process, protocol):
    """Local ports and states of the sockets of one process."""
    own = set()
    for entry in Path(f'/proc/{process}/fd').iterdir():
        try:
            own.add(str(entry.readlink()))
        except OSError:
            continue  # closed meanwhile
    found = []
    for version in ('', '6'):
        listed = Path(f'/proc/{process}/net/{protocol}{version}')
        for line in listed.read_text(encoding='ascii').splitlines()[1:] if listed.exists() else ():
            fields = line.split()
            if f'socket:[{fields[9]}]' in own:
                found.append((int(fields[1].rpartition(':')[2], 16), fields[3]))
    return found


def strangers(process, domain):
    """Ports at which a process or its children wait for somebody who does not speak DDS."""
    low, high = map(int, Path('/proc/sys/net/ipv4/ip_local_port_range').read_text().split())
    first = FIRST + OF_A_DOMAIN * domain
    allowed = {*range(first, first + OF_A_DOMAIN), *OF_PARTICIPANTS, *range(low, high + 1)}
    found = []
    for each in family(process):
        found += [f'tcp {port}' for port, state in ports(each, 'tcp') if state == LISTENING]
        # DDS sends from ports that the system chose.
        found += [f'udp {port}' for port, _ in ports(each, 'udp') if port not in allowed]
    return found


@pytest.mark.parametrize(('kind', 'port', 'words'), [
    ('SOCK_STREAM', 0, 'tcp'), ('SOCK_DGRAM', 5353, 'udp 5353')])
def test_a_listener_would_be_found_in_a_child_as_well(kind, port, words):
    child = f"""
import socket, sys
made = socket.socket(socket.AF_INET, socket.{kind})
made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
made.bind(('127.0.0.1', {port}))
if {kind == 'SOCK_STREAM'}:
    made.listen()
print('bound', flush=True)
sys.stdin.read()
"""
    parent = 'import subprocess, sys; subprocess.run([sys.executable, "-c", sys.argv[1]])'
    with subprocess.Popen([sys.executable, '-c', parent, child], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b'bound\n'
        found = strangers(process.pid, 0)
        process.stdin.close()
    assert len(found) == 1
    assert found[0].startswith(words)


def test_nodes_listen_to_nobody_but_dds(ros, tmp_path, monkeypatch):
    pytest.importorskip('mujoco')
    monkeypatch.setattr(ros, 'folder', prepare(tmp_path / 'demo'))
    given = load_yaml(ros.folder / 'nodes.yaml')
    beats = ros.hear(Heartbeat, 'sysid/heartbeat', 100)
    processes = {}
    for name in NODES:
        section = given.get(f'/**/{name}', {'ros__parameters': {}})
        processes[name] = ros.start(name, section['ros__parameters'])

    ros.wait(lambda: {beat.node for beat in beats} >= {f'/{name}' for name in NODES})
    for name, process in processes.items():
        assert ports(process.pid, 'udp'), name
        assert strangers(process.pid, ros.domain) == [], name
