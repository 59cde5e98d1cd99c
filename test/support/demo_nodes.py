"""The nodes of the demonstration as processes, where a robot takes trajectories itself."""

from __future__ import annotations

import contextlib

import yaml

from sysid_ros.demo.folder import prepare, share, verify
from sysid_ros.demo.node_processes import NodeProcesses

NODES = (
    'simulated_robot', 'monitor_node', 'model_server', 'identification_node', 'excitation_node')


@contextlib.contextmanager
def demo_nodes(folder, domain):
    """Run them in a folder that is made; gives the folder.

    Args:
        folder: Where it is made.
        domain: DDS domain of the nodes.
    """
    folder = prepare(folder)
    verify(folder)
    # A campaign searches for motions as long as it takes to see that it does.
    plan = folder / 'excitation.yaml'
    settings = yaml.safe_load(plan.read_text())
    settings['design'] |= {'starts': 1, 'iterations': 25}
    plan.write_text(yaml.safe_dump(settings))
    # No controller is watched.
    nodes = folder / 'nodes.yaml'
    parameters = yaml.safe_load(nodes.read_text())
    parameters['/**/excitation_node']['ros__parameters']['output'] = 'trajectory'
    parameters['/**/monitor_node']['ros__parameters'] |= {
        'watch': ['excitation_node'],
        # On a busy machine the simulated robot follows a stop late, which looks like a contact.
        'first_residual': 1.0}
    nodes.write_text(yaml.safe_dump(parameters))
    with NodeProcesses(folder, domain) as processes:
        for name in NODES:
            processes.start(
                name, name, [share() / 'config' / f'{name}.yaml', folder / 'nodes.yaml'])
        yield folder
