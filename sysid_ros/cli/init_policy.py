"""Write the policy of SROS 2 for a robot: who may do what, by its namespace and its parameters.

Only the operator's enclave may start, commit and roll back. Names of topics and actions come from
the file of parameters that the nodes are started with, as `sysid init nodes` writes it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sysid_ros.cli.asked import add_output_arguments, output_file
from sysid_ros.cli.exit_codes import ExitCode
from sysid_ros.demo.folder import share
from sysid_ros.errors import ConfigurationError
from sysid_ros.release.atomic import write_atomically
from sysid_ros.runs.access_policy import NODES, AccessPolicy, named_parameters, parameters_of
from sysid_ros.settings import load_yaml


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sysid init policy``."""
    parser.add_argument(
        'robot', type=Path, nargs='?', help='file of parameters of the nodes; by default none')
    add_output_arguments(parser, 'policy.xml')
    parser.add_argument(
        '--namespace', default='', metavar='/NAME', help='namespace of the nodes')
    parser.add_argument(
        '--composed', action='store_true',
        help='all nodes but the monitor share one process, as with composed:=true')
    parser.add_argument(
        '--hear', action='append', default=[], metavar='TOPIC',
        help='further topic that identification_node records, as the commands that its settings '
        'name; may be repeated')


def run(options: argparse.Namespace) -> ExitCode:
    """Read, write, and say what comes next."""
    config = share() / 'config'
    output = output_file(options, Path('policy.xml'))
    given = [_read(options.robot)] if options.robot else []
    policy = AccessPolicy(
        (config / 'sros2' / 'policy.xml').read_bytes(),
        {node: parameters_of(
            node, options.namespace, load_yaml(config / f'{node}.yaml'), *given) for node in NODES},
        options.namespace, options.composed, options.hear)
    write_atomically(output, policy.text())
    print(f'{output}: {len(policy.enclaves)} enclaves')
    print('Next: ros2 security create_keystore keystore, then for each enclave')
    for path in policy.enclaves:
        print(f'  ros2 security create_enclave keystore {path}')
        print(f'  ros2 security create_permission keystore {path} {output}')
    print('Then: export ROS_SECURITY_KEYSTORE=$PWD/keystore ROS_SECURITY_ENABLE=true '
          'ROS_SECURITY_STRATEGY=Enforce, and\n'
          '  ros2 launch sysid_ros identify.launch.py '
          f'enclaves:={options.namespace}/sysid …')
    return ExitCode.OK


def _read(path: Path) -> dict[str, Any]:
    """A file of parameters.

    Raises:
        ConfigurationError: It cannot be read, or is none.
    """
    file = load_yaml(path)
    if not any(named_parameters(file)):
        raise ConfigurationError(
            'is no file of parameters of nodes', where=str(path),
            found=', '.join(map(str, file)) or 'nothing',
            allowed='names of nodes, and ros__parameters under each',
            fix='Name the file that the nodes are started with, as sysid init nodes writes it')
    return file
