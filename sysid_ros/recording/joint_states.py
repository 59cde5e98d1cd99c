"""JointState messages gathered by name into rows, whatever they hold and in whatever order."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sysid_ros.recording.bag.joint_state_cdr import Batch
from sysid_ros.recording.samples import Samples


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
        quantities: Fields to look at; the first must be there in every message.
        counts: Updated with the messages dropped.
        stored: Fields to keep; where there are none, only the messages with a finite first
            field are numbered.
    """

    def __init__(
        self, wanted: Sequence[str], rename: Mapping[str, str], quantities: Sequence[str],
        counts: Counter[str], stored: Sequence[str],
    ) -> None:
        self._wanted = tuple(wanted)
        self._rename = rename
        self._quantities = tuple(quantities)
        self._stored = tuple(stored)
        self._counts = counts
        self._layouts: dict[tuple[str, ...], _Layout | None] = {}
        self.seen: dict[str, None] = {}

    def accepts(self, batch: Batch) -> bool:
        """Whether messages will be stored; if not, they are counted.

        Args:
            batch: Joint states of one layout.
        """
        if batch.names not in self._layouts:
            self._layouts[batch.names] = self._layout(batch.names)
        layout = self._layouts[batch.names]
        if layout is None:
            self._counts['messages with a joint named twice rejected'] += len(batch.rows)
            return False
        lengths = [batch.values[name].shape[1] for name in self._quantities]
        if lengths[0] != len(batch.names) or not set(lengths) <= {0, len(batch.names)}:
            self._counts['messages whose lengths differ dropped'] += len(batch.rows)
            return False
        return bool(layout.columns)

    def store(self, batch: Batch, order: np.ndarray) -> None:
        """Store messages that were accepted.

        Args:
            batch: Joint states of one layout.
            order: Numbers of the messages, later used to find their stamps, shape ``(R,)``.
        """
        layout = self._layouts[batch.names]
        assert layout is not None  # it was accepted
        if not self._stored:
            # What is left are stamps, and a position that is not finite does not count.
            wanted = batch.values[self._quantities[0]][:, layout.columns]
            order = order[np.isfinite(wanted).all(axis=1)]
        layout.order.frombytes(order.astype(np.int64).tobytes())
        for name in self._stored:
            values = batch.values[name]
            rows = values[:, layout.columns] if values.shape[1] else np.full(
                (len(values), len(layout.columns)), np.nan)
            layout.values[name].frombytes(rows.tobytes())

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
            values={name: array('d') for name in self._stored},
        )

    def _merge(
        self, layouts: list[_Layout], joints: tuple[str, ...], stamps: np.ndarray
    ) -> Samples:
        order = np.concatenate([np.array(layout.order, dtype=np.int64) for layout in layouts])
        arrival = np.argsort(order, kind='stable')
        values = {}
        for name in self._stored:
            rows = [
                np.frombuffer(layout.values[name]).reshape(len(layout.order), -1)[
                    :, [layout.joints.index(joint) for joint in joints]]
                for layout in layouts
            ]
            values[name] = np.concatenate(rows)[arrival]
        return Samples(joints, stamps[order[arrival]], values)
