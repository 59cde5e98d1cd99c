"""Access policies of SROS 2, for the namespace of a robot and the parameters of its nodes.

They come from the example of ``config/sros2``, which names what nodes have with their default
parameters: names that parameters change are changed there, too, outputs that are not used are left
out, and so is what only the demonstration has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lxml import etree

from sysid_ros.errors import ConfigurationError

#: Nodes of a robot, each with a file of default parameters.
NODES = (
    'excitation_node', 'identification_node', 'model_server', 'monitor_node', 'campaign_node',
    'panel_node')
#: Nodes that may share a process, which then has one enclave.
COMPOSED = ('identification_node', 'model_server', 'excitation_node')
#: Name of that process.
PROCESS = 'sysid_nodes'
_OPERATOR = 'operator'
# Nodes that only the demonstration has.
_DEMONSTRATION = ('computed_torque_controller', 'simulated_robot')
_NAMESPACE = re.compile(r'(/[A-Za-z_][A-Za-z0-9_]*)+')
_NAME = re.compile(r'[~/]?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')


class _Use(NamedTuple):
    """What is done with names of a kind: the list of a profile that they are in."""

    kind: str
    how: str


_HEARD, _SENT = _Use('topics', 'subscribe'), _Use('topics', 'publish')
_CALLED = _Use('actions', 'call')
# Output of excitation_node: what it is, and its usual name.
_OUTPUT_NAMES = {
    'reference': (_SENT, 'reference'), 'position': (_SENT, 'position_commands'),
    'effort': (_SENT, 'effort_commands'), 'trajectory': (_SENT, 'joint_trajectory'),
    'follow_joint_trajectory': (_CALLED, 'follow_joint_trajectory'),
}
# Parameters that name topics and actions: node, what it does with them, the name that they have in
# the example, and the parameters.
_NAMED: tuple[tuple[str, _Use, str, tuple[str, ...]], ...] = (
    ('excitation_node', _HEARD, 'joint_states', ('joint_states',)),
    ('identification_node', _HEARD, 'joint_states', (
        'topic', 'effort_topic', 'command_topic', 'wrench_topics', 'imu_topics')),
    ('model_server', _HEARD, 'joint_states', ('topic', 'effort_topic')),
    ('monitor_node', _HEARD, 'joint_states', ('joint_states',)),
    ('panel_node', _HEARD, 'joint_states', ('joint_states',)),
    ('monitor_node', _HEARD, 'excitation_node/status', ('status',)),
    ('monitor_node', _HEARD, 'model_server/identified_parameters', ('parameters',)),
    ('monitor_node', _SENT, 'joint_trajectory', ('trajectory_topics',)),
)


@dataclass(frozen=True)
class AccessPolicy:
    """What a policy is made of.

    Attributes:
        example: The example of ``config/sros2``.
        parameters: Parameters of each node by its name, with those that have their default.
        namespace: Namespace of the nodes, as ``/left``; empty for none.
        composed: Whether the nodes that may share a process do.
        heard: Further topics that identification_node hears, as the commands that its settings
            name.
    """

    example: bytes
    parameters: Mapping[str, Mapping[str, Any]]
    namespace: str = ''
    composed: bool = False
    heard: Sequence[str] = field(default=())

    def __post_init__(self) -> None:
        if self.namespace and not _NAMESPACE.fullmatch(self.namespace):
            raise ConfigurationError(
                'is no namespace', where='--namespace', found=self.namespace,
                allowed='words with a slash before each, as /left',
                fix=f'Say --namespace /{self.namespace.strip("/") or "left"}')

    @property
    def enclaves(self) -> tuple[str, ...]:
        """Paths of the enclaves."""
        return tuple(str(enclave.get('path')) for enclave in self._tree().iter('enclave'))

    def text(self) -> bytes:
        """The policy, as ``ros2 security create_permission`` reads it.

        Raises:
            ConfigurationError: A parameter names no topic, action or output.
        """
        root = self._tree()
        root.insert(0, etree.Comment(
            ' Who may do what, written by sysid init policy. Only the operator may start a '
            'recording, a fit or a motion, commit, roll back, and change parameters or states of '
            'nodes. '))
        etree.indent(root, '  ')
        return bytes(etree.tostring(root, encoding='UTF-8', xml_declaration=True)) + b'\n'

    def _tree(self) -> Any:
        """The policy as a tree."""
        parser = etree.XMLParser(
            resolve_entities=False, remove_comments=True, remove_blank_text=True)
        root = etree.fromstring(self.example, parser)
        profiles = {}
        for profile in list(root.iter('profile')):
            node = str(profile.get('node'))
            enclave = profile.getparent().getparent()
            if node not in (_OPERATOR, *NODES):
                enclave.getparent().remove(enclave)
                continue
            profiles[node] = profile
            profile.set('ns', self.namespace or '/')
            enclave.set('path', f'{self.namespace}{enclave.get("path")}')
            _keep(profile, lambda name: name.partition('/')[0] not in _DEMONSTRATION)
        self._name(profiles)
        if self.composed:
            self._compose(profiles)
        return root

    def _name(self, profiles: Mapping[str, Any]) -> None:
        """Put names that parameters give in place of those of the example."""
        command = self._output(profiles)
        for node, use, usual, keys in _NAMED:
            _replace(profiles[node], use, usual, self._names(node, keys))
        _extend(profiles['identification_node'], _HEARD, map(_checked('--hear'), self.heard))
        _replace(profiles[_OPERATOR], _HEARD, 'joint_states', self._names(
            'identification_node', ('topic',)))
        # A stop takes back the goals of the action that moves the robot.
        _replace(profiles['monitor_node'], _CALLED, 'follow_joint_trajectory', [
            *command, *self._names('monitor_node', ('cancel_actions',))])
        if not self.parameters['model_server'].get('publish_description'):
            _replace(profiles['model_server'], _SENT, '/robot_description', ())

    def _output(self, profiles: Mapping[str, Any]) -> list[str]:
        """Leave the output of the motions that is used; the action that it calls, where it does."""
        own = self.parameters['excitation_node']
        chosen = own.get('output')
        if chosen not in _OUTPUT_NAMES:
            raise ConfigurationError(
                'there is no such output', where='excitation_node: output', found=chosen,
                allowed=', '.join(_OUTPUT_NAMES), fix='Correct the file of parameters')
        command = self._names('excitation_node', ('command',)) or [_OUTPUT_NAMES[chosen][1]]
        for output, (use, usual) in _OUTPUT_NAMES.items():
            _replace(profiles['excitation_node'], use, usual, command if output == chosen else ())
        _replace(profiles[_OPERATOR], _HEARD, 'reference', command if chosen == 'reference' else ())
        return command if chosen == 'follow_joint_trajectory' else []

    def _names(self, node: str, keys: Iterable[str]) -> list[str]:
        """Names that parameters of a node give; empty ones are none."""
        own = self.parameters[node]
        found = []
        for key in keys:
            value = own.get(key) or ()
            found += list(map(
                _checked(f'{node}: {key}'), [value] if isinstance(value, str) else value))
        return found

    def _compose(self, profiles: Mapping[str, Any]) -> None:
        """One enclave for the nodes that share a process: it is the process that has it."""
        first, *others = (profiles[node] for node in COMPOSED)
        together = first.getparent()
        together.getparent().set('path', f'{self.namespace}/sysid/{PROCESS}')
        for profile in others:
            enclave = profile.getparent().getparent()
            together.append(profile)
            enclave.getparent().remove(enclave)


def parameters_of(node: str, namespace: str, *files: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that files give a node; those of a later file, and of a later key, hold.

    Args:
        node: Its name.
        namespace: Its namespace, as ``/left``; empty for none.
        files: Files of parameters as mappings, see :func:`named_parameters`.
    """
    found: dict[str, Any] = {}
    for file in files:
        for name, own in named_parameters(file):
            # Of names * is any word, and ** any words.
            pattern = re.escape(name).replace(r'/\*\*', '(/[^/]+)*').replace(r'\*', '[^/]+')
            if re.fullmatch(pattern, f'{namespace}/{node}'):
                found |= own
    return found


def named_parameters(
    file: Mapping[str, Any], before: str = ''
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What stands under ``ros__parameters``, by the full name of the node.

    Args:
        file: File of parameters as a mapping: names of nodes, or of namespaces with nodes within.
        before: Namespace that it stands in.
    """
    for key, section in file.items():
        if not isinstance(section, Mapping):
            continue
        name = f'{before}/{str(key).strip("/")}'
        own = section.get('ros__parameters')
        if isinstance(own, Mapping):
            yield name, own
        else:
            yield from named_parameters(section, name)


def _checked(where: str) -> Callable[[Any], str]:
    """A function that refuses what is no name of a topic or action."""

    def checked(name: Any) -> str:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigurationError(
                'is no name of a topic or action', where=where, found=repr(name),
                allowed='letters, digits and _, with / between words',
                fix='Correct the file of parameters, or write the name as ros2 topic list does')
        return name

    return checked


def _lists(profile: Any, use: _Use) -> Any:
    """The list of a profile; None where it has none."""
    return next(
        (group for group in profile.iterchildren(use.kind) if use.how in group.attrib), None)


def _replace(profile: Any, use: _Use, usual: str, names: Iterable[str]) -> None:
    """Put names in the place of one; a list that becomes empty goes."""
    group = _lists(profile, use)
    if group is not None:
        for entry in [entry for entry in group if entry.text == usual]:
            group.remove(entry)
    _extend(profile, use, names)
    if group is not None and not len(group):
        profile.remove(group)


def _extend(profile: Any, use: _Use, names: Iterable[str]) -> None:
    """Add names to a list, each once."""
    names = list(names)
    group = _lists(profile, use)
    if group is None and names:
        group = etree.SubElement(profile, use.kind, {use.how: 'ALLOW'})
    for name in names:
        if name not in {entry.text for entry in group}:
            etree.SubElement(group, use.kind[:-1]).text = name


def _keep(profile: Any, is_kept: Callable[[str], bool]) -> None:
    """Remove entries of a profile, and the lists that become empty."""
    for group in list(profile):
        for entry in [entry for entry in group if not is_kept(str(entry.text))]:
            group.remove(entry)
        if not len(group):
            profile.remove(group)
