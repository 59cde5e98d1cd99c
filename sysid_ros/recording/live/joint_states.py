"""Joint states as they come in, by name, with their faults counted as those of bags are.

Messages are handed over as bytes, many at a time, and decoded together; what a robot's joints
do just now is then a matter of looking at arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from sysid_ros.recording.bag.joint_state_cdr import FIELDS, Batch, JointStateDecoder
from sysid_ros.recording.joints_together import joints_together
from sysid_ros.recording.live.history import LiveHistory
from sysid_ros.recording.live.lost_efforts import LostEfforts
from sysid_ros.recording.live.stamps import NEVER, StampGate
from sysid_ros.recording.live.stillness import Stillness
from sysid_ros.settings import StrictSettings

# What a stranger's messages may leave in memory: orders of joints, and names of other joints.
_MAX_LAYOUTS, _MAX_UNKNOWN = 64, 100

# Time over which the rate is measured, in [s].
_RATE_OVER = 1.0

# Positions of joints with limits that jump by a turn, give or take the motion between two
# samples in [rad].
_WRAP_TOLERANCE = 0.5


class LiveSettings(StrictSettings):
    """How joint states are taken in, with the defaults that recordings have.

    Attributes:
        rename: Joint names in the messages to names in the model.
        stamps: Stamps from the messages' headers, or of their reception.
        clock_warning: Distance of stamps from reception that is counted, in [s].
        clock_limit: Distance of stamps from reception that identification refuses, in [s].
        reset_tolerance: Stamps that jump back further may be a reset clock, in [s].
        frozen_after: Positions equal to the bit for longer may be a stuck sensor's, in [s].
        max_gap: Longest step that is no gap, in periods.
        history: How far back samples are kept, in [s].
    """

    rename: dict[str, str] = Field(default_factory=dict)
    stamps: Literal['header', 'receive'] = 'header'
    clock_warning: float = Field(default=1.0, gt=0)
    clock_limit: float = Field(default=10.0, gt=0)
    reset_tolerance: float = Field(default=0.5, gt=0)
    frozen_after: float = Field(default=0.25, gt=0)
    max_gap: float = Field(default=5.0, ge=1.5)
    history: float = Field(default=5.0, gt=0)


@dataclass(frozen=True, eq=False)
class JointSample:
    """Latest state of every joint; arrays are in the order of the joints.

    Attributes:
        t: Stamp in [s] of the joint that was measured longest ago.
        stamp: The same in [ns], exactly.
        q: Positions in [rad] or [m], shape ``(n,)``.
        v: Velocities in [rad/s] or [m/s], shape ``(n,)``; NaN where none were given.
        tau: Efforts in [N·m] or [N], shape ``(n,)``; NaN where none were given.
        received: When that joint was heard of, on the steady clock, in [s].
    """

    t: float
    stamp: int
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    received: float


class LiveJointStates:
    """Joint states of the last seconds, merged by name, and what was wrong with them.

    Args:
        joints: The n joints wanted, by their name in the model.
        continuous: Joints without limits, whose encoders may wrap at one turn.
        settings: How they are taken in.
        quantities: Fields that the messages hold; the first must be there and finite.

    Attributes:
        joints: The joints.
        counts: How often each fault was met.
        dropped: Messages that were dropped, for whatever reason.
        clock_distance: Distance of the last stamps from the time of reception in [s].
        first_stamp: Stamp of the very first usable sample in [ns]; None before.
        zero_stamps: Whether the last messages had none.
    """

    def __init__(
        self, joints: Sequence[str], *, continuous: Collection[str] = frozenset(),
        settings: LiveSettings | None = None, quantities: Sequence[str] = FIELDS,
    ) -> None:
        self.joints = tuple(joints)
        self.settings = settings or LiveSettings()
        self.counts: Counter[str] = Counter()
        self.dropped = 0
        self.clock_distance = 0.0
        self.first_stamp: int | None = None
        self.zero_stamps = False
        n = len(self.joints)
        self._quantities = tuple(quantities)
        self._continuous = np.array([name in continuous for name in self.joints], dtype=bool)
        self._decoder = JointStateDecoder()
        self._layouts: dict[tuple[str, ...], tuple[np.ndarray, np.ndarray] | None] = {}
        self._unknown: dict[str, None] = {}
        self._gate = StampGate(n, self.settings.reset_tolerance, self.counts)
        self._stillness = Stillness(n, self.settings.frozen_after)
        self._lost_efforts = LostEfforts(n)
        self._now = {name: np.full(n, np.nan) for name in FIELDS}
        self._heard = np.full(n, -np.inf)
        self._bad = np.zeros(n, dtype=int)
        self._usable = np.zeros(n, dtype=int)
        self._period = np.nan
        self._history = LiveHistory(n, self.settings.history)

    def receive(
        self, payloads: Sequence[bytes], stamps_ns: Sequence[int], steady: Sequence[float]
    ) -> None:
        """Decode serialized messages and append their samples.

        Args:
            payloads: Serialized messages, in the order of arrival.
            stamps_ns: When each was received, on the clock that stamps are compared with.
            steady: When each was received, on the steady clock in [s].
        """
        if not payloads:
            return
        received = np.array(stamps_ns, dtype=np.int64)
        arrival = np.array(steady, dtype=float)
        batches = [
            (batch, layout) for batch in self._decoded(payloads, 0)
            if (layout := self._accepted(batch)) is not None
        ]
        for columns, rows, stamps, values in joints_together(batches, self._quantities):
            own = received[rows] if self.settings.stamps == 'receive' else stamps
            self._take(columns, own, values, received[rows], arrival[rows])

    @property
    def latest(self) -> JointSample | None:
        """The last sample of every joint; None until every one was heard, or since a reset."""
        if not self.joints or (self._gate.last == NEVER).any():
            return None
        stamp = int(self._gate.last.min())
        q, v, tau = (self._now[name].copy() for name in FIELDS)
        return JointSample(stamp * 1e-9, stamp, q, v, tau, float(self._heard.min()))

    @property
    def missing(self) -> tuple[str, ...]:
        """Joints that were never heard of."""
        return self._named(np.isneginf(self._heard))

    @property
    def unknown(self) -> tuple[str, ...]:
        """Other joints that the messages name."""
        return tuple(self._unknown)

    @property
    def without_effort(self) -> tuple[str, ...]:
        """Joints whose last effort was not given."""
        return self._named(~np.isfinite(self._now['effort']))

    @property
    def lost_efforts(self) -> dict[str, int]:
        """Joints that gave an effort and do not now, with their samples since the last one."""
        return {
            name: count for name, count in zip(
                self.joints, self._lost_efforts.in_a_row.tolist(), strict=True) if count}

    @property
    def stuck(self) -> tuple[str, ...]:
        """Joints whose position stopped dead in mid-motion, and has been the same since."""
        return self._named(self._stillness.stuck)

    @property
    def samples(self) -> int:
        """Usable samples so far, of the joint that has the fewest."""
        return int(self._usable.min(initial=np.iinfo(int).max)) if self.joints else 0

    @property
    def bad_in_a_row(self) -> int:
        """Samples without a finite position since the last good one."""
        return int(self._bad.max(initial=0))

    @property
    def clock_resets(self) -> int:
        """How often the clock of the stamps jumped back and stayed there."""
        return self._gate.resets

    @property
    def rate(self) -> float:
        """Samples per second of the slowest joint, in [Hz]; NaN before there are enough."""
        if not self.joints:
            return float('nan')
        slowest = int(np.argmin(self._usable))
        (stamps,) = self._history.of_joint(slowest, (), _RATE_OVER)
        if len(stamps) < 2:
            return float('nan')
        return float((len(stamps) - 1) * 1e9 / (stamps[-1] - stamps[0]))

    def age(self, now: float) -> float:
        """Time since the joint was heard that was heard longest ago, in [s].

        Args:
            now: Time on the steady clock in [s].
        """
        return now - float(self._heard.min(initial=np.inf))

    def velocities(self, over: float = 0.05) -> np.ndarray:
        """Velocities just now, shape ``(n,)``: those given, or the slope of the positions.

        Args:
            over: Time over which positions are looked at where no velocity is given, in [s].
        """
        v = self._now['velocity'].copy()
        for joint in np.flatnonzero(~np.isfinite(v)).tolist():
            stamps, q = self._history.of_joint(joint, ('position',), over)
            if len(stamps) > 1:
                v[joint] = np.polyfit((stamps - stamps[-1]) * 1e-9, q, 1)[0]
        return v

    def window(self, seconds: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Samples of the last seconds, merged.

        Joints that come in messages of their own are taken as they were last known.

        Args:
            seconds: How far back; no further than the settings' ``history``.

        Returns:
            Time in [s] before the last sample, from negative to zero, shape ``(T,)``;
            positions, velocities and efforts, shape ``(T, n)`` each, NaN where not given.
        """
        stamps, q, v, tau = self._history.window(seconds)
        return (stamps - stamps[-1:]) * 1e-9, q, v, tau

    def _decoded(self, payloads: Sequence[bytes], first: int) -> list[Batch]:
        try:
            batches = self._decoder.decode(payloads)
        except Exception:  # noqa: BLE001 (rosbags raises errors of many kinds)
            if len(payloads) <= 1:
                self._drop('messages that cannot be decoded dropped', len(payloads))
                return []
            half = len(payloads) // 2
            early = self._decoded(payloads[:half], first)
            return early + self._decoded(payloads[half:], first + half)
        return batches if not first else [
            Batch(batch.rows + first, batch.names, batch.stamps, batch.values)
            for batch in batches]

    def _accepted(self, batch: Batch) -> tuple[np.ndarray, np.ndarray] | None:
        """Joints of a batch and their places in its messages; None when it is of no use."""
        if batch.names not in self._layouts:
            if len(self._layouts) >= _MAX_LAYOUTS:
                self._layouts.clear()
            self._layouts[batch.names] = self._layout(batch.names)
        layout = self._layouts[batch.names]
        if layout is None:
            self._drop('messages with a joint named twice rejected', len(batch.rows))
            return None
        lengths = [batch.values[name].shape[1] for name in self._quantities]
        if lengths[0] != len(batch.names) or not set(lengths) <= {0, len(batch.names)}:
            self._drop('messages whose lengths differ dropped', len(batch.rows))
            return None
        return layout if len(layout[0]) else None

    def _layout(self, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray] | None:
        own = [self.settings.rename.get(name, name) for name in names]
        if len(set(own)) != len(own):
            return None
        for name in own:
            if name not in self.joints and len(self._unknown) < _MAX_UNKNOWN:
                self._unknown[name] = None
        columns = [index for index, name in enumerate(self.joints) if name in own]
        places = [own.index(self.joints[index]) for index in columns]
        return np.array(columns, dtype=int), np.array(places, dtype=int)

    def _take(
        self, columns: np.ndarray, stamps: np.ndarray, values: dict[str, np.ndarray],
        received: np.ndarray, arrival: np.ndarray,
    ) -> None:
        """Take samples of joints that came together, in the order of arrival."""
        finite = np.isfinite(values[self._quantities[0]]).all(axis=1)
        good = np.flatnonzero(finite)
        if len(good) < len(finite):
            self._drop('samples with a NaN position dropped', len(finite) - len(good))
        last_good = int(good[-1]) if len(good) else -1
        bad = len(finite) - 1 - last_good
        self._bad[columns] = bad if len(good) else self._bad[columns] + bad
        stamped = good[stamps[good] != 0]
        self.zero_stamps = bool(stamps[-1] == 0)
        if len(stamped) < len(good):
            self._drop('messages with a zero stamp dropped', len(good) - len(stamped))
        if not len(stamped):
            return
        distance = np.abs(stamps[stamped] - received[stamped]) * 1e-9
        self.clock_distance = float(distance[-1])
        far = int(np.count_nonzero(distance > self.settings.clock_warning))
        if far:
            self.counts['stamps far from the time of reception'] += far
        steady = np.rint(arrival[stamped] * 1e9).astype(np.int64)
        before = self._gate.last[columns].max()
        passed = 0
        for rows, fresh in self._gate.split(columns, stamps[stamped], steady):
            if fresh:
                self._forget()
                before = NEVER
            passed += len(rows)
            kept = stamped[rows]
            self._count_gaps(stamps[kept], int(before))
            self._store(columns, stamps[kept], {name: own[kept] for name, own in values.items()})
            self._heard[columns] = arrival[kept[-1]]
            before = stamps[kept[-1]]
        self.dropped += len(stamped) - passed

    def _store(
        self, columns: np.ndarray, stamps: np.ndarray, values: dict[str, np.ndarray]
    ) -> None:
        if 'position' in self._quantities:
            values['position'] = self._unwrapped(columns, values['position'])
        if self.first_stamp is None:
            self.first_stamp = int(stamps[0])
        self._history.add(columns, stamps, values)
        self._usable[columns] += len(stamps)
        for name, own in values.items():
            self._now[name][columns] = own[-1]
        if 'effort' in values:
            lost = self._lost_efforts.update(columns, values['effort'])
            if lost:
                self.counts['samples without an effort that was given before'] += lost
        if 'position' in self._quantities:
            found = self._stillness.update(columns, stamps, values['position'], self._positions)
            if found:
                self.counts['stuck sensors'] += found

    def _positions(self, joint: int) -> tuple[np.ndarray, ...]:
        return self._history.of_joint(joint, ('position',), self.settings.history)

    def _unwrapped(self, columns: np.ndarray, q: np.ndarray) -> np.ndarray:
        before = np.where(np.isfinite(self._now['position'][columns]),
                          self._now['position'][columns], q[0])
        steps = q - before if len(q) == 1 else np.diff(q, axis=0, prepend=before[None])
        if np.abs(steps).max(initial=0.0) < np.pi:
            return q
        turns = self._continuous[columns]
        q = q.copy()
        q[:, turns] = np.unwrap(np.concatenate([before[None], q])[:, turns], axis=0)[1:]
        jumps = np.abs(np.abs(steps[:, ~turns]) - 2 * np.pi) < _WRAP_TOLERANCE
        if jumps.any():
            self.counts['jumps by a turn of joints with limits'] += int(np.count_nonzero(jumps))
        return q

    def _count_gaps(self, stamps: np.ndarray, before: int) -> None:
        # One message at a time is what a controller takes, and a median takes long for it.
        single = len(stamps) == 1
        if single and before == NEVER:
            return
        steps = stamps - before if single else (
            np.diff(stamps, prepend=before) if before != NEVER else np.diff(stamps))
        gaps = int(np.count_nonzero(steps > self.settings.max_gap * self._period))
        if gaps:
            self.counts['gaps'] += gaps
        typical = float(steps[0]) if single else float(np.median(steps))
        self._period = typical if np.isnan(self._period) else 0.9 * self._period + 0.1 * typical

    def _forget(self) -> None:
        """Close the segment."""
        self._history.clear()
        self._stillness.forget()
        self._period = np.nan

    def _named(self, which: np.ndarray) -> tuple[str, ...]:
        return tuple(name for name, own in zip(self.joints, which.tolist(), strict=True) if own)

    def _drop(self, reason: str, messages: int) -> None:
        self.counts[reason] += messages
        self.dropped += messages
