"""Settings of quantities that are said by the names of joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sysid_ros.errors import ConfigurationError, did_you_mean

# Keys of quantities that may be said by joint, and what joints have that are not named.
_BY_JOINT: Mapping[str, Any] = {
    'scale': 1.0, 'sign': 1.0, 'offset': 0.0, 'wrapped': False, 'unit': None, 'columns': None}


def listed_by_joint(quantity: str, section: Any, joints: Sequence[str]) -> Any:
    """A quantity's keys that are said by the names of joints, as lists in their order.

    Args:
        quantity: What it is called.
        section: Its settings, as a file has them.
        joints: Names of the joints in their order.

    Raises:
        ConfigurationError: The joints are not known, a name is none of theirs, or a unit is
            missing.
    """
    if not isinstance(section, Mapping):
        return section
    listed = dict(section)
    for key, default in _BY_JOINT.items():
        value = section.get(key)
        if not isinstance(value, Mapping):
            continue
        where = f'{quantity}.{key}'
        if not joints:
            raise ConfigurationError(
                'what is said by joint needs the joints in their order', where=where,
                fix=f'Add joints: [{", ".join(map(str, value))}], all that were recorded')
        for name in value:
            if name not in joints:
                raise ConfigurationError(
                    'no joint of the recording has this name', where=where, found=repr(name),
                    allowed=', '.join(joints), fix=did_you_mean(str(name), joints))
        missing = [name for name in joints if name not in value]
        if key == 'unit' and missing:
            raise ConfigurationError(
                'a unit is missing', where=where, found=f'none of {", ".join(missing)}',
                fix='Name the unit of each joint, or one unit for all')
        if key == 'columns' and missing and (quantity == 'position' or not value):
            raise ConfigurationError(
                f'a column of the {quantity} is missing', where=where,
                found=f'none of {", ".join(missing)}',
                fix='Name the column of each joint, or take the joint out of recording.joints'
                if value else f'Name the column of a joint, or leave {quantity} out')
        listed[key] = [value.get(name, default) for name in joints]
    return listed
