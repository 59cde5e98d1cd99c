"""JointState messages gathered by name into rows, whatever they hold and in whatever order."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sysid_ros.recording.samples import Samples

_FIELDS = ('position', 'velocity', 'effort')


class JointState(Protocol):
    """What is used of a sensor_msgs/JointState; the arrays have one entry per name or none."""

    name: Sequence[str]
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


@dataclass
class _Layout:
    """Rows of the messages that name the same joints in the same order."""

    joints: tuple[str, ...]
    columns: list[int]
    order: array[int] = field(default_factory=lambda: array('q'))
    values: dict[str, array[float]] = field(default_factory=dict)


class JointStateTable:
    """Growing table of joint states, mapped by name for every single message.

    Messages that repeat a name, or whose arrays do not have one entry per name,
    are dropped and counted. Joints that are not wanted are not stored.

    Args:
        wanted: Joints to keep, by their name in the model; all where empty.
        rename: Names in the messages to names in the model.
        quantities: Fields to keep; the first must be there in every message.
        counts: Updated with the messages dropped.
    """

    def __init__(
        self, wanted: Sequence[str], rename: Mapping[str, str], quantities: Sequence[str],
        counts: Counter[str],
    ) -> None:
        self._wanted = tuple(wanted)
        self._rename = rename
        self._quantities = tuple(quantities)
        self._counts = counts
        self._layouts: dict[tuple[str, ...], _Layout | None] = {}
        self.seen: dict[str, None] = {}

    def add(self, message: JointState, order: int) -> bool:
        """Store one message.

        Args:
            message: Joint states.
            order: Number of the message, later used to find its stamp.

        Returns:
            True when a row was stored.
        """
        names = tuple(message.name)
        if names not in self._layouts:
            self._layouts[names] = self._layout(names)
        layout = self._layouts[names]
        if layout is None:
            self._counts['messages with a joint named twice rejected'] += 1
            return False
        fields = {name: getattr(message, name) for name in self._quantities}
        lengths = {name: len(values) for name, values in fields.items()}
        first = self._quantities[0]
        if lengths[first] != len(names) or not set(lengths.values()) <= {0, len(names)}:
            self._counts['messages whose lengths differ dropped'] += 1
            return False
        if not layout.columns:
            return False
        layout.order.append(order)
        for name, values in fields.items():
            row = (
                np.asarray(values, dtype=float)[layout.columns] if lengths[name]
                else np.full(len(layout.columns), np.nan)
            )
            layout.values[name].frombytes(row.tobytes())
        return True

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that are kept, the wanted ones or all that were seen."""
        return self._wanted or tuple(self.seen)

    def groups(self, stamps: np.ndarray) -> list[Samples]:
        """Rows by groups of joints that always came together.

        Args:
            stamps: Time of every numbered message in [s], shape ``(messages,)``.

        Returns:
            One table for each group, in the order of arrival.
        """
        layouts = [layout for layout in self._layouts.values() if layout and layout.order]
        members: dict[tuple[int, ...], list[str]] = {}
        for joint in self.joints:
            key = tuple(
                index for index, layout in enumerate(layouts) if joint in layout.joints
            )
            if key:
                members.setdefault(key, []).append(joint)
        return [
            self._merge([layouts[index] for index in key], tuple(joints), stamps)
            for key, joints in members.items()
        ]

    def _layout(self, names: tuple[str, ...]) -> _Layout | None:
        model_names = [self._rename.get(name, name) for name in names]
        self.seen.update(dict.fromkeys(model_names))
        if len(set(model_names)) != len(model_names):
            return None
        columns = [
            index for index, name in enumerate(model_names)
            if not self._wanted or name in self._wanted
        ]
        return _Layout(
            tuple(model_names[index] for index in columns), columns,
            values={name: array('d') for name in self._quantities},
        )

    def _merge(
        self, layouts: list[_Layout], joints: tuple[str, ...], stamps: np.ndarray
    ) -> Samples:
        order = np.concatenate([np.array(layout.order, dtype=np.int64) for layout in layouts])
        arrival = np.argsort(order, kind='stable')
        values = {}
        for name in self._quantities:
            rows = [
                np.frombuffer(layout.values[name]).reshape(len(layout.order), -1)[
                    :, [layout.joints.index(joint) for joint in joints]]
                for layout in layouts
            ]
            values[name] = np.concatenate(rows)[arrival]
        return Samples(joints, stamps[order[arrival]], values)
