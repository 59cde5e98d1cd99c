"""Topics that the nodes publish, read from the code that makes them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parents[2]
_NODES = 'sysid_ros.nodes'
# An executable that runs nodes of others, and is none.
_COMPOSED = 'sysid_nodes'
# Calls that make a publisher of a type and a name, and those that are of one type.
_ADVERTISE = ('advertise', 'create_publisher')
_OF_ONE_TYPE = {'MarkerTopic': 'visualization_msgs/MarkerArray'}


class Topic(NamedTuple):
    """A topic that a node publishes; relative names are relative to its namespace."""

    name: str
    kind: str
    node: str
    latched: bool


def topics() -> Iterator[Topic]:
    """Topics by node, those that parameters name left out."""
    parsed = {path.stem: ast.parse(path.read_text(encoding='utf-8'))
              for path in (PROJECT / 'sysid_ros' / 'nodes').glob('*.py')}
    constants = {}
    for tree in parsed.values():
        constants |= _constants(tree)
    for node, module in _executables():
        found = {topic for part in _parts(module, parsed)
                 for topic in _published(parsed[part], node, constants)}
        yield from sorted(found)


def table() -> str:
    """The topics as a table of Markdown."""
    rows = [
        f'| `{topic.name}` | `{topic.kind}` | {topic.node} | {"yes" if topic.latched else "no"} |'
        for topic in topics()]
    return '\n'.join(['| topic | type | node | latched |', '|---|---|---|---|', *rows])


def _executables() -> Iterator[tuple[str, str]]:
    """Executables that are nodes, with their modules."""
    points = ConfigParser()
    points.read(PROJECT / 'entry_points.txt', encoding='utf-8')
    for name, target in points['console_scripts'].items():
        module = target.partition(':')[0]
        if module.startswith(f'{_NODES}.') and name != _COMPOSED:
            yield name, module.rpartition('.')[2]


def _parts(module: str, parsed: dict[str, ast.Module]) -> set[str]:
    """The module of a node, and what it imports of the nodes, and so on."""
    found, pending = set[str](), [module]
    while pending:
        part = pending.pop()
        if part not in found:
            found.add(part)
            pending += [
                each.module.rpartition('.')[2] for each in ast.walk(parsed[part])
                if isinstance(each, ast.ImportFrom) and (each.module or '').startswith(
                    f'{_NODES}.')]
    return found


def _published(tree: ast.Module, node: str, constants: dict[str, str]) -> Iterator[Topic]:
    """What a module publishes under a name that it says."""
    packages = {
        alias.asname or alias.name: each.module.partition('.')[0] for each in ast.walk(tree)
        if isinstance(each, ast.ImportFrom) and (each.module or '').endswith('.msg')
        for alias in each.names}
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or len(call.args) < 2:
            continue
        called = getattr(call.func, 'attr', getattr(call.func, 'id', ''))
        name = _text(call.args[1], constants)
        if not name or called not in (*_ADVERTISE, *_OF_ONE_TYPE):
            continue
        name = name.replace('~', node, 1) if name.startswith('~') else name
        kind = getattr(call.args[0], 'id', '')
        latched = called in _OF_ONE_TYPE or any(
            getattr(each, 'id', '') == 'LATCHED' for each in call.args[2:])
        yield Topic(
            name, _OF_ONE_TYPE.get(called, f'{packages.get(kind, "")}/{kind}'), node, latched)


def _constants(tree: ast.Module) -> dict[str, str]:
    """Texts of a module that have a name in capitals."""
    return {
        target.id: each.value.value for each in tree.body
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant)
        and isinstance(each.value.value, str)
        for target in each.targets if isinstance(target, ast.Name) and target.id.isupper()}


def _text(node: ast.expr, constants: dict[str, str]) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    return constants.get(getattr(node, 'id', ''), '')
