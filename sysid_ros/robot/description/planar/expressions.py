"""Arithmetic in description files: numbers, names, ``+ - * / ^`` and a few functions."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

from sysid_ros.errors import ModelError, did_you_mean

_BINARY: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Pow: math.pow}
_UNARY: Mapping[type[ast.unaryop], Callable[[float], float]] = {
    ast.UAdd: operator.pos, ast.USub: operator.neg}
_FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    'abs': abs, 'acos': math.acos, 'asin': math.asin, 'atan': math.atan, 'cos': math.cos,
    'deg2rad': math.radians, 'exp': math.exp, 'rad2deg': math.degrees, 'sin': math.sin,
    'sqrt': math.sqrt, 'tan': math.tan}
_CONSTANTS = {'M_PI': math.pi, 'pi': math.pi}
# No length or inertia needs a longer one, and parsers recurse.
_LONGEST = 500


def evaluate(text: object, names: Mapping[str, float], where: str) -> float:
    """Value of an arithmetic expression.

    Nothing but arithmetic is evaluated: no attributes, no calls but those of :data:`_FUNCTIONS`.

    Args:
        text: A number, or an expression as text; ``^`` is the power.
        names: Values of the names that it may use.
        where: Where it stands, for messages.

    Raises:
        ModelError: It is no arithmetic, uses an unknown name, or has no finite value.
    """
    source = str(text).strip()
    try:
        if len(source) > _LONGEST:
            raise ValueError(f'more than {_LONGEST} characters')
        tree = ast.parse(source.replace('^', '**'), mode='eval').body
        value = _value(tree, {**_CONSTANTS, **names}, where)
    except (ArithmeticError, SyntaxError, ValueError, RecursionError) as error:
        raise ModelError(
            f'cannot be computed: {getattr(error, "msg", None) or error}', where=where,
            found=repr(source[:80]), allowed='numbers, names, + - * / ^ and parentheses',
            fix='Write a number, or an expression as (1/3)*mass*length^2') from error
    if not math.isfinite(value):
        raise ModelError(
            'is not finite', where=where, found=f'{source[:80]} = {value}',
            allowed='a finite number', fix='Write a smaller number')
    return value


def _value(node: ast.expr, names: Mapping[str, float], where: str) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ModelError(
                'there is no such name', where=where, found=repr(node.id),
                allowed=', '.join(sorted(names)),
                fix=did_you_mean(node.id, names) or 'Define it among the parameters')
        return names[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](
            _value(node.left, names, where), _value(node.right, names, where))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _UNARY[type(node.op)](_value(node.operand, names, where))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and (
            node.func.id in _FUNCTIONS and len(node.args) == 1 and not node.keywords):
        return _FUNCTIONS[node.func.id](_value(node.args[0], names, where))
    raise ValueError(f'{ast.unparse(node)!r} is no arithmetic')
