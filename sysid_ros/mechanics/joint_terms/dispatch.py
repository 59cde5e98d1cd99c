"""Laws as compiled kernels call them: one function for all laws, by their number in arrays.

Laws of this package that are linear in their parameters are compiled into the kernels; those of
terms that other programs register are called by the address of what is compiled for each alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import cfunc, njit, types
from numba.extending import intrinsic

from sysid_ros.mechanics.joint_terms.law import (
    ACCELERATION,
    MOST_SHAPES,
    Law,
    LawColumns,
    proportional,
    unit_slope,
)
from sysid_ros.mechanics.joint_terms.shaped import NonlinearTerm
from sysid_ros.mechanics.joint_terms.term import JointTerm, LawTerm
from sysid_ros.mechanics.joint_terms.terms import joint_terms
from sysid_ros.numerics.jit import COMPILED, INSIDE
from sysid_ros.robot.model import RobotModel

# Pairs of value and slope, each once; those that are asked for most come first.
_COMPILED_IN = tuple(dict.fromkeys(
    (law.value, law.slope) for term in joint_terms() if not issubclass(term, NonlinearTerm)
    for law in term.laws))
#: The number of a law that is proportional to its motion variable.
PROPORTIONAL = _COMPILED_IN.index((proportional, unit_slope))
#: Files that are compiled into what calls :func:`law_value` and :func:`law_slope`.
SOURCES = tuple(dict.fromkeys(
    [sys.modules[__name__], sys.modules[Law.__module__]]
    + [sys.modules[function.__module__] for pair in _COMPILED_IN for function in pair]))


#: What the code of a law holds.
VARIABLE, NUMBER, VALUE_AT, SLOPE_AT, FIRST, END = range(6)
# The number of a law that is not compiled in.
_ELSEWHERE = -1


class LawArrays(NamedTuple):
    """The laws of t columns as arrays, few of them: each call of a kernel hands them on.

    Attributes:
        code: Of each the :data:`VARIABLE` and :data:`NUMBER`, the addresses :data:`VALUE_AT` and
            :data:`SLOPE_AT`, and of a joint term the :data:`FIRST` joint that it acts on and the
            one after the last, :data:`END`, shape ``(t, 6)``.
        shape: Constants, shape ``(t, 3)``.
    """

    code: np.ndarray
    shape: np.ndarray


class TermArrays(NamedTuple):
    """The t columns of joint terms as arrays.

    Attributes:
        laws: The laws.
        weights: Direction in joint space along which a column looks and acts, shape ``(t, n)``.
    """

    laws: LawArrays
    weights: np.ndarray


def law_arrays(columns: Sequence[tuple[Law, Sequence[float]]]) -> LawArrays:
    """Laws and their constants as arrays.

    Raises:
        TypeError: A law of accelerations is not proportional, so that there is no mass matrix.
    """
    numbers = {pair: number for number, pair in enumerate(_COMPILED_IN)}
    shape = np.zeros((len(columns), MOST_SHAPES))
    code = np.zeros((len(columns), 6), dtype=np.int64)
    for k, (law, constants) in enumerate(columns):
        if law.variable == ACCELERATION and law.value is not proportional:
            raise TypeError('a law of accelerations is not proportional to them')
        shape[k, :len(constants)] = constants
        number = numbers.get((law.value, law.slope), _ELSEWHERE)
        code[k, VARIABLE], code[k, NUMBER] = law.variable, number
        if number == _ELSEWHERE:
            code[k, VALUE_AT] = _value_at(law.value).address
            code[k, SLOPE_AT] = _slope_at(law.slope).address
    return LawArrays(code, shape)


def term_arrays(terms: Sequence[JointTerm], robot: RobotModel) -> TermArrays | None:
    """Joint terms as arrays.

    Args:
        terms: The terms.
        robot: The robot.

    Returns:
        None where the columns of a term are not by laws, or it is not linear in its parameters.
    """
    parts: list[tuple[int, LawColumns, int]] = []
    first = 0
    for term in terms:
        columns = columns_by_laws(term, robot)
        if columns is None:
            return None
        parts += [
            (first + int(place), part, row)
            for part in columns for row, place in enumerate(part.place)]
        first = len(parts)
    parts.sort(key=lambda part: part[0])
    weights = np.array([part.directions[row] for _, part, row in parts], dtype=float).reshape(
        -1, len(robot.joint_names))
    laws = law_arrays([(part.law, part.shape) for _, part, _ in parts])
    for code, row in zip(laws.code, weights, strict=True):
        joints = np.flatnonzero(row)
        # A column without a direction acts on no joint.
        if len(joints):
            code[FIRST], code[END] = joints[0], joints[-1] + 1
    return TermArrays(laws, weights)


def columns_by_laws(term: JointTerm, robot: RobotModel) -> list[LawColumns] | None:
    """Columns of a term, None where laws do not say all of them or it has shapes to identify."""
    if isinstance(term, NonlinearTerm) or not (isinstance(term, LawTerm) and term.says_all()):
        return None
    return term.law_columns(robot)


@njit(**INSIDE)
def law_value(laws: LawArrays, k: int, x: float) -> float:
    """Value of the law of column k where its motion variable is x."""
    shape = (laws.shape[k, 0], laws.shape[k, 1], laws.shape[k, 2])
    return _value(laws.code[k, NUMBER], laws.code[k, VALUE_AT], x, 0.0, shape)


@njit(**INSIDE)
def law_slope(laws: LawArrays, k: int, x: float, value: float) -> float:
    """Derivative of the law of column k by x, where its value is known."""
    shape = (laws.shape[k, 0], laws.shape[k, 1], laws.shape[k, 2])
    return _slope(laws.code[k, NUMBER], laws.code[k, SLOPE_AT], x, value, shape)


@intrinsic
def _call(context: Any, address: Any, x: Any, value: Any, a: Any, b: Any, c: Any) -> Any:
    """Call a function of a law by its address."""
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.DoubleType()
        function = ir.FunctionType(number, [number] * (2 + MOST_SHAPES))
        pointer = builder.inttoptr(arguments[0], function.as_pointer())
        # It writes nothing, so that what the caller knows of its arrays stays known.
        return builder.call(pointer, arguments[1:], attrs=('readnone', 'nounwind'))

    return types.float64(types.int64, *[types.float64] * (2 + MOST_SHAPES)), generate


@njit(**INSIDE)
def _called(
    number: int, address: int, x: float, value: float, shape: tuple[float, float, float]
) -> float:
    """What a function of a law at an address gives."""
    return _call(address, x, value, shape[0], shape[1], shape[2])


def _value_or(code: int, function: Callable[..., Any], other: Callable[..., Any]) -> Any:
    """The value of one law, or what others give."""
    @njit(**INSIDE)
    def choose(
        number: int, address: int, x: float, value: float, shape: tuple[float, float, float]
    ) -> float:
        if number == code:
            return function(x, shape)
        return other(number, address, x, value, shape)

    return choose


def _slope_or(code: int, function: Callable[..., Any], other: Callable[..., Any]) -> Any:
    """The slope of one law, or what others give."""
    @njit(**INSIDE)
    def choose(
        number: int, address: int, x: float, value: float, shape: tuple[float, float, float]
    ) -> float:
        if number == code:
            return function(x, value, shape)
        return other(number, address, x, value, shape)

    return choose


_value, _slope = _called, _called
for _code, (_first, _second) in reversed(list(enumerate(_COMPILED_IN))):
    _value, _slope = _value_or(_code, _first, _value), _slope_or(_code, _second, _slope)

_NUMBERS = types.float64(*[types.float64] * (2 + MOST_SHAPES))


@cache
def _value_at(function: Callable[..., Any]) -> Any:
    """A law's value compiled by itself, kept so that its address stays good."""
    return cfunc(_NUMBERS, **COMPILED)(lambda x, value, a, b, c: function(x, (a, b, c)))


@cache
def _slope_at(function: Callable[..., Any]) -> Any:
    """A law's slope, in the same way."""
    return cfunc(_NUMBERS, **COMPILED)(lambda x, value, a, b, c: function(x, value, (a, b, c)))
