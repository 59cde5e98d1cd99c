"""Mutants: copies of a module with one place changed for the worse, by its syntax tree."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_NEGATED = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
_BOUND = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_EXCHANGED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
_NAMES = {
    'min': 'max', 'max': 'min', 'minimum': 'maximum', 'maximum': 'minimum', 'fmin': 'fmax',
    'fmax': 'fmin', 'any': 'all', 'all': 'any', 'argmin': 'argmax', 'argmax': 'argmin'}


@dataclass(frozen=True)
class Mutant:
    """One change of one module.

    Attributes:
        module: File of the module, from the root.
        place: Number of the node in the order of :func:`ast.walk`.
        kind: What is done to it.
        line: Its line.
        words: What stands there after the change, cut to a line.
    """

    module: str
    place: int
    kind: str
    line: int
    words: str


def _negated_comparison(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return ast.Compare(node.left, [_NEGATED[type(node.ops[0])]()], node.comparators)
    return None


def _other_bound(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Compare) and any(type(op) in _BOUND for op in node.ops):
        return ast.Compare(
            node.left, [_BOUND.get(type(op), type(op))() for op in node.ops], node.comparators)
    return None


def _negated_condition(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.If | ast.IfExp | ast.While) and not isinstance(node.test, ast.Compare):
        changed = copy.copy(node)
        changed.test = ast.UnaryOp(ast.Not(), node.test)
        return changed
    return None


def _dropped(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Raise):
        return ast.Pass()
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.Pass()
    if isinstance(node, ast.Return) and ast.unparse(node) not in ('return', 'return None'):
        return ast.Return(ast.Constant(None))
    return None


def _other_constant(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.Constant):
        return None
    value = node.value
    if isinstance(value, bool):
        return ast.Constant(not value)
    if isinstance(value, int):
        return ast.Constant(value + 1)
    if isinstance(value, float):
        return ast.Constant(2.0 * value if value else 1.0)
    return None


def _exchanged(node: ast.AST) -> ast.AST | None:
    changed = copy.copy(node)
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _EXCHANGED:
        changed.op = _EXCHANGED[type(node.op)]()
        return changed
    if isinstance(node, ast.BoolOp):
        changed.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        return changed
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return node.operand
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return ast.Name(_NAMES[node.id], node.ctx)
    if isinstance(node, ast.Attribute) and node.attr in _NAMES:
        return ast.Attribute(node.value, _NAMES[node.attr], node.ctx)
    return None


KINDS: dict[str, Callable[[ast.AST], ast.AST | None]] = {
    'comparison negated': _negated_comparison, 'bound moved': _other_bound,
    'condition negated': _negated_condition, 'statement dropped': _dropped,
    'constant changed': _other_constant, 'operator exchanged': _exchanged}


def _words_alone(tree: ast.AST) -> set[int]:
    """Numbers of nodes that are annotations or words for people: nothing that a test is about."""
    alone: set[int] = set()
    for node in ast.walk(tree):
        parts = [getattr(node, 'annotation', None), getattr(node, 'returns', None)]
        if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
            parts.append(node)
        # Formats of numbers in messages.
        if isinstance(node, ast.FormattedValue):
            parts.append(node.format_spec)
        for part in filter(None, parts):
            alone |= {id(each) for each in ast.walk(part)}
    return alone


def mutants(module: str, source: str) -> Iterator[Mutant]:
    """All mutants of a module."""
    tree = ast.parse(source)
    alone = _words_alone(tree)
    for place, node in enumerate(ast.walk(tree)):
        if id(node) in alone:
            continue
        for kind, change in KINDS.items():
            changed = change(node)
            if changed is not None:
                line = getattr(node, 'lineno', 0)
                words = ast.unparse(ast.fix_missing_locations(changed)).splitlines()[0]
                yield Mutant(module, place, kind, line, words[:80])


def mutated(source: str, mutant: Mutant) -> str:
    """The source of a module with a mutant's change."""
    tree = ast.parse(source)
    node = list(ast.walk(tree))[mutant.place]
    changed = KINDS[mutant.kind](node)
    assert changed is not None

    class Replace(ast.NodeTransformer):
        def visit(self, each: ast.AST) -> ast.AST:
            return changed if each is node else super().visit(each)

    return ast.unparse(ast.fix_missing_locations(Replace().visit(tree))) + '\n'
