"""ROS parameters declared from settings: described, ranged, and checked by the same rules.

One settings class says what a node's parameters are. Every value goes through it, whether it
comes from a YAML file, the command line or ``ros2 param set``, so that a range check which lets
NaN through, or a misspelt key that ROS would ignore, cannot slip by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import annotated_types
from pydantic.fields import FieldInfo
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from sysid_ros.errors import ConfigurationError, SysidError, did_you_mean
from sysid_ros.settings import StrictSettings, parse_settings

Settings = TypeVar('Settings', bound=StrictSettings)

# Ends of a range that is open on one side.
_LARGEST_FLOAT, _LARGEST_INTEGER = 1e300, 2**62


class NodeParameters(Generic[Settings]):
    """The parameters of one node.

    Args:
        node: The node; parameters are declared at once.
        kind: Settings class whose fields are the parameters; their descriptions are those of
            the fields.
        locked: Says why a parameter must not change now, given its name; empty when it may.
        changed: Called when parameters have changed.

    Raises:
        ConfigurationError: A value is not allowed, or a key is not known.
    """

    def __init__(
        self, node: Node, kind: type[Settings], locked: Callable[[str], str],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._node, self._kind, self._locked, self._changed = node, kind, locked, changed
        # Declared by rclpy itself, not part of the settings.
        foreign = set(node._parameters)
        given = {name: value.value for name, value in node._parameter_overrides.items()}
        # An empty list has no type in ROS, and so comes without a value.
        mine = {
            name: () if value is None else value for name, value in given.items()
            if name not in foreign and not name.startswith('qos_overrides.')
        }
        _refuse_unknown(mine, kind, node.get_fully_qualified_name())
        self._settings = parse_settings(kind, mine, node.get_fully_qualified_name())
        for name, field in kind.model_fields.items():
            value = _plain(getattr(self._settings, name))
            node.declare_parameter(name, value, _descriptor(name, field), ignore_override=True)
        node.add_on_set_parameters_callback(self._check)

    @property
    def settings(self) -> Settings:
        """The values that hold now."""
        return self._settings

    def _check(self, parameters: Sequence[Parameter[Any]]) -> SetParametersResult:
        changed = {
            parameter.name: parameter.value for parameter in parameters
            if parameter.name in self._kind.model_fields
        }
        if not changed:
            return SetParametersResult(successful=True)
        for name in changed:
            reason = self._locked(name)
            if reason:
                return SetParametersResult(successful=False, reason=f'{name}: {reason}')
        values = self._settings.model_dump() | changed
        try:
            self._settings = parse_settings(self._kind, values, self._node.get_name())
        except SysidError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._changed()
        return SetParametersResult(successful=True)


def _refuse_unknown(given: dict[str, Any], kind: type[StrictSettings], where: str) -> None:
    for name in given:
        if name not in kind.model_fields:
            raise ConfigurationError(
                f'there is no parameter {name!r}', where=where,
                allowed=', '.join(sorted(kind.model_fields)),
                fix=did_you_mean(name, kind.model_fields) or 'Remove it',
            )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _descriptor(name: str, field: FieldInfo) -> ParameterDescriptor:
    """Description and range of one field. Types are left to the settings.

    ROS cannot tell an empty list's type, nor take 5 for 5.0; the settings can.
    """
    # A parameter's type in ROS is that of its value.
    described = ParameterDescriptor(
        name=name, description=field.description or '', dynamic_typing=True)
    low, high = None, None
    for limit in field.metadata:
        if isinstance(limit, (annotated_types.Ge, annotated_types.Gt)):
            low = limit.ge if isinstance(limit, annotated_types.Ge) else limit.gt
        if isinstance(limit, (annotated_types.Le, annotated_types.Lt)):
            high = limit.le if isinstance(limit, annotated_types.Le) else limit.lt
    if low is None and high is None:
        return described
    if field.annotation is int:
        described.integer_range = [IntegerRange(
            from_value=-_LARGEST_INTEGER if low is None else int(str(low)),
            to_value=_LARGEST_INTEGER if high is None else int(str(high)),
        )]
    elif field.annotation is float:
        described.floating_point_range = [FloatingPointRange(
            from_value=-_LARGEST_FLOAT if low is None else float(str(low)),
            to_value=_LARGEST_FLOAT if high is None else float(str(high)),
        )]
    return described
