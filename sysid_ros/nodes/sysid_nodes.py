"""Nodes of one robot in one process: one Python, one set of libraries, one participant of DDS.

    ros2 run sysid_ros sysid_nodes \
        identification_node --params-file nodes.yaml -p settings:=identification.yaml \
        model_server -p robot:=identification.yaml --ros-args -r __ns:=/arm

After the name of each node come its own parameters and remappings, and after ``--ros-args`` those
of all. The monitor is not among them: it has to outlive whatever happens to the others.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sysid_ros.errors import ConfigurationError, SysidError, did_you_mean
from sysid_ros.nodes.fit_standby import begin_early
from sysid_ros.nodes.node import SysidNode
from sysid_ros.nodes.process import run

#: Nodes that may share a process, by the modules they are in, and their classes.
KINDS = {
    'identification_node': 'IdentificationNode', 'model_server': 'ModelServer',
    'excitation_node': 'ExcitationNode',
}
# The one that needs a process for fits.
_FITS = 'identification_node'
_ALL = '--ros-args'
# Beginnings of options of ROS that no value follows.
_SWITCHES = ('--enable-', '--disable-')
_EXAMPLE = (
    'Write the name of each node before its parameters: sysid_nodes identification_node '
    '-p settings:=identification.yaml model_server -p robot:=identification.yaml')


def arguments_of_nodes(words: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Arguments of each node by its name, and those of all nodes, from a command line.

    Args:
        words: The command line without the program.

    Raises:
        ConfigurationError: No node is named, one that is not known, or one twice.
    """
    common = list(words[words.index(_ALL):]) if _ALL in words else []
    own: dict[str, list[str]] = {}
    for word, is_value in _with_values(words[:len(words) - len(common)]):
        if is_value or word.startswith('-'):
            if not own:
                raise _misuse('no node is named', f'{word} first')
            own[next(reversed(own))].append(word)
        elif word not in KINDS or word in own:
            raise _refused(word, own)
        else:
            own[word] = []
    if not own:
        raise _misuse('no node is named', 'nothing')
    return own, common


def _with_values(words: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Words, and whether each is the value of the option before it."""
    before = ''
    for word in words:
        is_value = before.startswith('-') and not before.startswith(_SWITCHES)
        yield word, is_value
        before = '' if is_value else word


def _refused(word: str, own: dict[str, list[str]]) -> ConfigurationError:
    if word in own:
        return _misuse('a node is named twice', word)
    if word == 'monitor_node':
        return ConfigurationError(
            'the monitor shares no process', found=word, allowed=', '.join(KINDS),
            fix='Start it by itself, so that it outlives the others: '
            'ros2 run sysid_ros monitor_node')
    nearest = did_you_mean(word, KINDS)
    return _misuse('there is no such node', word) if nearest is None else ConfigurationError(
        'there is no such node', found=word, allowed=', '.join(KINDS), fix=nearest)


def _misuse(problem: str, found: str) -> ConfigurationError:
    return ConfigurationError(problem, found=found, allowed=', '.join(KINDS), fix=_EXAMPLE)


def node_makers(own: dict[str, list[str]]) -> Iterator[Callable[[], SysidNode[Any]]]:
    """What makes each node of a process; its module is loaded here.

    Args:
        own: Arguments of each node by its name.
    """
    for name, arguments in own.items():
        module = importlib.import_module(f'sysid_ros.nodes.{name}')
        yield functools.partial(getattr(module, KINDS[name]), arguments)


def main() -> int:
    """Run the nodes that the command line names."""
    try:
        own, common = arguments_of_nodes(sys.argv[1:])
    except SysidError as error:
        print(error, file=sys.stderr)
        return 1
    if _FITS in own:
        begin_early()
    return run(*node_makers(own), arguments=[sys.argv[0], *common])


if __name__ == '__main__':
    sys.exit(main())
