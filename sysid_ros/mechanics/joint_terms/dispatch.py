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
    Shape,
    proportional,
    unit_slope,
)
from sysid_ros.mechanics.joint_terms.shaped import ColumnsOfConstants, NonlinearTerm
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
VARIABLE, NUMBER, VALUE_AT, SLOPE_AT, FIRST, END, BY_LOAD = range(7)
# The number of a law that is not compiled in.
_ELSEWHERE = -1


class LawArrays(NamedTuple):
    """The laws of t columns as arrays, few of them: each call of a kernel hands them on.

    Attributes:
        code: Of each the :data:`VARIABLE` and :data:`NUMBER`, the addresses :data:`VALUE_AT` and
            :data:`SLOPE_AT`, and of a joint term the :data:`FIRST` joint that it acts on and the
            one after the last, :data:`END`, and :data:`BY_LOAD`, 1 where its torque is per unit of
            the size of the joint's load, else 0, shape ``(t, 7)``.
        shape: Constants, shape ``(t, 4)``.
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


class IdentifiedConstants(NamedTuple):
    """Which parameters of joint terms the constants of their t columns are.

    Attributes:
        source: Index of the parameter, -1 of a constant that is given, shape ``(t, 4)``.
        derivative: Whether a column is a derivative by a constant, and no torque, shape ``(t,)``.
        smoothing: Place of the constant over which the sign of dry friction is smoothed, -1 of
            what is no dry friction, shape ``(t,)``.
    """

    source: np.ndarray
    derivative: np.ndarray
    smoothing: np.ndarray

    def at(self, terms: TermArrays, parameters: np.ndarray) -> tuple[TermArrays, np.ndarray]:
        """Columns and their amplitudes where parameters ``(t,)`` of the joint terms stand."""
        shape = np.where(self.source >= 0, parameters[self.source], terms.laws.shape)
        amplitudes = np.where(self.derivative, 0.0, parameters)
        return terms._replace(laws=terms.laws._replace(shape=shape)), amplitudes

    def smoothing_velocities(self, terms: TermArrays) -> np.ndarray:
        """Velocities over which signs are smoothed, -1 of what is no dry friction, ``(t,)``."""
        own = terms.laws.shape[np.arange(len(self.smoothing)), self.smoothing]
        return np.where(self.smoothing >= 0, own, -1.0)


class _Column(NamedTuple):
    """One column of a joint term: by which law, along which direction, with which parameters."""

    law: Law
    shape: Shape
    direction: np.ndarray
    constants: tuple[str, ...]
    derivative: bool
    by_load: bool


def law_arrays(columns: Sequence[tuple[Law, Sequence[float]]]) -> LawArrays:
    """Laws and their constants as arrays.

    Raises:
        TypeError: A law of accelerations is not proportional, so that there is no mass matrix.
    """
    numbers = {pair: number for number, pair in enumerate(_COMPILED_IN)}
    shape = np.zeros((len(columns), MOST_SHAPES))
    code = np.zeros((len(columns), BY_LOAD + 1), dtype=np.int64)
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
    if any(isinstance(term, NonlinearTerm) for term in terms):
        return None
    found = term_arrays_with_constants(terms, robot)
    return None if found is None else found[0]


def term_arrays_with_constants(
    terms: Sequence[JointTerm], robot: RobotModel
) -> tuple[TermArrays, IdentifiedConstants] | None:
    """Joint terms as arrays, whose laws may have constants that are identified.

    Each of these has a column, too: the derivative of the torque by it.

    Args:
        terms: The terms.
        robot: The robot.

    Returns:
        None where the columns of a term are not by laws, or a constant is one of two terms.
    """
    columns: list[_Column] = []
    for term in terms:
        own = _columns(term, robot)
        if own is None:
            return None
        columns += own
    weights = np.array([column.direction for column in columns], dtype=float).reshape(
        -1, len(robot.joint_names))
    laws = law_arrays([(column.law, column.shape) for column in columns])
    laws.code[:, BY_LOAD] = [column.by_load for column in columns]
    for code, row in zip(laws.code, weights, strict=True):
        joints = np.flatnonzero(row)
        # A column without a direction acts on no joint.
        if len(joints):
            code[FIRST], code[END] = joints[0], joints[-1] + 1
    return TermArrays(laws, weights), _identified_constants(columns, terms, robot)


def _identified_constants(
    columns: Sequence[_Column], terms: Sequence[JointTerm], robot: RobotModel
) -> IdentifiedConstants:
    names = [each.name for term in terms for each in term.parameters(robot)]
    source = np.full((len(columns), MOST_SHAPES), -1)
    for row, column in zip(source, columns, strict=True):
        for k, name in enumerate(column.constants):
            row[k] = names.index(name) if name else -1
    return IdentifiedConstants(
        source, np.array([column.derivative for column in columns], dtype=bool),
        np.array([-1 if column.law.smoothing is None else column.law.smoothing
                  for column in columns], dtype=int))


def _columns(term: JointTerm, robot: RobotModel) -> list[_Column] | None:
    """Columns of a term in the order of its parameters; None where laws do not say them."""
    if isinstance(term, NonlinearTerm):
        parts = term.constant_columns(robot)
    else:
        by_laws = columns_by_laws(term, robot)
        parts = None if by_laws is None else [ColumnsOfConstants(part) for part in by_laws]
    if parts is None:
        return None
    found = [
        (int(place), _Column(
            part.law, part.shape, part.directions[row], constants, derivative, by_load))
        for part, constants, derivative, by_load in parts
        for row, place in enumerate(part.place)]
    return [column for _, column in sorted(found, key=lambda one: one[0])]


def columns_by_laws(term: JointTerm, robot: RobotModel) -> list[LawColumns] | None:
    """Columns of a term, None where laws do not say all of them or it has shapes to identify."""
    if isinstance(term, NonlinearTerm) or not (isinstance(term, LawTerm) and term.says_all()):
        return None
    return term.law_columns(robot)


@njit(**INSIDE)
def law_value(laws: LawArrays, k: int, x: float) -> float:
    """Value of the law of column k where its motion variable is x."""
    shape = (laws.shape[k, 0], laws.shape[k, 1], laws.shape[k, 2], laws.shape[k, 3])
    return _value(laws.code[k, NUMBER], laws.code[k, VALUE_AT], x, 0.0, shape)


@njit(**INSIDE)
def law_slope(laws: LawArrays, k: int, x: float, value: float) -> float:
    """Derivative of the law of column k by x, where its value is known."""
    shape = (laws.shape[k, 0], laws.shape[k, 1], laws.shape[k, 2], laws.shape[k, 3])
    return _slope(laws.code[k, NUMBER], laws.code[k, SLOPE_AT], x, value, shape)


@intrinsic
def _call(
    context: Any, address: Any, x: Any, value: Any, a: Any, b: Any, c: Any, d: Any
) -> Any:
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
    number: int, address: int, x: float, value: float, shape: tuple[float, float, float, float]
) -> float:
    """What a function of a law at an address gives."""
    return _call(address, x, value, shape[0], shape[1], shape[2], shape[3])


def _value_or(code: int, function: Callable[..., Any], other: Callable[..., Any]) -> Any:
    """The value of one law, or what others give."""
    @njit(**INSIDE)
    def choose(
        number: int, address: int, x: float, value: float, shape: tuple[float, float, float, float]
    ) -> float:
        if number == code:
            return function(x, shape)
        return other(number, address, x, value, shape)

    return choose


def _slope_or(code: int, function: Callable[..., Any], other: Callable[..., Any]) -> Any:
    """The slope of one law, or what others give."""
    @njit(**INSIDE)
    def choose(
        number: int, address: int, x: float, value: float, shape: tuple[float, float, float, float]
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
    return cfunc(_NUMBERS, **COMPILED)(lambda x, value, a, b, c, d: function(x, (a, b, c, d)))


@cache
def _slope_at(function: Callable[..., Any]) -> Any:
    """A law's slope compiled by itself, kept so that its address stays good."""
    return cfunc(_NUMBERS, **COMPILED)(
        lambda x, value, a, b, c, d: function(x, value, (a, b, c, d)))
