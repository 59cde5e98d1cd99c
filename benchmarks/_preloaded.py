"""Modules of a tree of sources, loaded once, of which a change makes only some be loaded anew."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path


def dependents(tree: Path) -> dict[str, set[str]]:
    """Which loaded modules hold something of which others, however far away.

    Args:
        tree: Root of the sources; other modules do not count.

    Returns:
        Names of all that import a module, and its own name, by the resolved path of its file.
    """
    files = {
        name: Path(module.__file__).resolve() for name, module in list(sys.modules.items())
        if getattr(module, '__file__', None)}
    files = {name: file for name, file in files.items() if file.is_relative_to(tree.resolve())}
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for name, file in files.items():
        for imported in _imported(ast.parse(file.read_text(encoding='utf-8')), name, file):
            importers[imported].add(name)
    return {str(file): _reached(name, importers) for name, file in files.items()}


def forget(names: set[str]) -> None:
    """Have modules loaded anew when they are imported the next time."""
    for name in names:
        module = sys.modules.pop(name, None)
        package, _, last = name.rpartition('.')
        # ``from package import module`` looks at the package first.
        if module is not None and getattr(sys.modules.get(package), last, None) is module:
            delattr(sys.modules[package], last)


def _imported(tree: ast.Module, name: str, file: Path) -> set[str]:
    """Names of modules that a module may import, in functions too."""
    package = name if file.name == '__init__.py' else name.rpartition('.')[0]
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split('.')[:len(package.split('.')) - node.level + 1]
            base = '.'.join([*(above if node.level else []), *filter(None, [node.module])])
            found |= {base, *(f'{base}.{alias.name}' for alias in node.names)}
    return found


def _reached(name: str, importers: dict[str, set[str]]) -> set[str]:
    reached, left = {name}, [name]
    while left:
        new = importers.get(left.pop(), set()) - reached
        reached |= new
        left += new
    return reached
