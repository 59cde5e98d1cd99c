"""Joints that came in the same messages, out of messages of several layouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sysid_ros.recording.bag.joint_state_cdr import Batch


def joints_together(
    batches: Sequence[tuple[Batch, tuple[np.ndarray, np.ndarray]]], quantities: Sequence[str]
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]]:
    """Joints that came together, whatever the order in which messages name them.

    Args:
        batches: Messages of one layout each, with the numbers of the joints wanted that are in
            them, increasing, and these joints' places in the messages.
        quantities: Fields wanted.

    Yields:
        Numbers of the joints, shape ``(k,)``; in the order of arrival the numbers of their
        messages and the stamps in [ns], shape ``(R,)``, and samples by quantity, ``(R, k)``.
    """
    if len(batches) == 1:
        # One layout: its messages are in the order of arrival, and hold the same joints.
        (batch, (columns, places)), = batches
        yield columns, batch.rows, batch.stamps, {
            name: _picked(batch, name, places) for name in quantities}
        return
    members: dict[tuple[int, ...], list[int]] = {}
    holders: dict[int, list[int]] = {}
    for number, (_, (columns, _)) in enumerate(batches):
        for column in columns.tolist():
            holders.setdefault(column, []).append(number)
    for column, numbers in sorted(holders.items()):
        members.setdefault(tuple(numbers), []).append(column)
    for together, own in members.items():
        columns = np.array(own, dtype=int)
        rows = np.concatenate([batches[number][0].rows for number in together])
        order = np.argsort(rows, kind='stable')
        stamps = np.concatenate([batches[number][0].stamps for number in together])
        values = {
            name: np.concatenate([
                _picked(batch, name, places[np.searchsorted(held, columns)])
                for batch, (held, places) in (batches[number] for number in together)
            ])[order] for name in quantities
        }
        yield columns, rows[order], stamps[order], values


def _picked(batch: Batch, quantity: str, places: np.ndarray) -> np.ndarray:
    values = batch.values[quantity]
    if not values.shape[1]:
        return np.full((len(values), len(places)), np.nan)
    return values[:, places]
