"""Samples of one to three in a row that no motion and no torque has: glitches of a bus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sysid_ros.numerics.arrays import runs
from sysid_ros.recording.processing.track import Track

# A glitch jumps away and back within so many samples, by so many root mean squares of all steps.
_LONGEST, _JUMP = 3, 8.0
# Positions jump by so many of the largest steps that are not rare, which no joint does; efforts,
# which may jump with friction and kick, by so much of their whole range.
_STEPS, _RANGE, _USUAL = 10.0, 1.0, (0.5, 99.5)


def glitches(values: np.ndarray, quantity: str) -> list[tuple[int, int]]:
    """Samples that jump away from those around them and back, farther than the signal can.

    Args:
        values: Samples, shape ``(T,)``.
        quantity: ``position``, ``velocity``, ``acceleration`` or ``effort``.

    Returns:
        Half-open index ranges, in order, with samples before and after each.
    """
    steps = np.diff(values)
    far = np.flatnonzero(np.abs(steps) > _JUMP * np.sqrt(np.mean(steps**2)))
    if len(far) < 2:
        return []
    low, high = np.percentile(values, _USUAL)
    least = _RANGE * (high - low)
    if quantity == 'position':
        least = _STEPS * float(np.percentile(np.abs(steps), _USUAL[1]))
    found, after = [], 0
    for first, second in zip(far[:-1].tolist(), far[1:].tolist(), strict=True):
        away, back = steps[first], steps[second]
        if first < after or second - first > _LONGEST or away * back > 0.0:
            continue
        if min(abs(away), abs(back)) > least > 0.0:
            found.append((first + 1, second + 1))
            after = second + 1
    return found


def dropped_rows(positions: Sequence[Track]) -> list[tuple[int, int]]:
    """Rows in which all positions are zero, and are not before and after: a bus said nothing.

    Args:
        positions: One track per joint; of one joint a zero is as good as any other position.

    Returns:
        Half-open index ranges, none where the joints were not sampled together.
    """
    if len(positions) < 2 or not all(_together(positions[0], track) for track in positions):
        return []
    first, *others = positions
    zero = first.values == 0.0
    for track in others:
        if not zero.any():
            return []
        zero &= track.values == 0.0
    return [
        (start, stop) for start, stop in runs(zero)
        if start > 0 and stop < len(zero) and stop - start <= _LONGEST]


def without_glitches(
    positions: Sequence[Track], others: Sequence[Sequence[Track]], warnings: list[str]
) -> list[list[Track]]:
    """Tracks whose glitches are bridged by straight lines, and a sentence for each quantity.

    Args:
        positions: One track per joint.
        others: Tracks of other quantities.
        warnings: The sentences are added to it.

    Returns:
        The positions, and the others.
    """
    bridged = []
    dropped = dropped_rows(positions)
    for tracks in (positions, *others):
        runs = [
            sorted({*glitches(track.values, track.quantity), *(
                dropped if dropped and _together(positions[0], track) else ())})
            for track in tracks]
        odd = [(track, each) for track, each in zip(tracks, runs, strict=True) if each]
        if odd:
            first = min(float(track.t[each[0][0]]) for track, each in odd)
            count = sum(map(len, runs))
            times = f'{count} times, first' if count > 1 else 'once,'
            warnings.append(
                f'the {odd[0][0].quantity} of {", ".join(track.joint for track, _ in odd)} jumps '
                f'away and back {times} at {first:.3f} s, as no joint does: straight lines are in '
                'the place of one to three samples each')
        bridged.append([
            _bridged(track, each) if each else track
            for track, each in zip(tracks, runs, strict=True)])
    return bridged


def _together(first: Track, second: Track) -> bool:
    """Whether two tracks were sampled at the same stamps."""
    return first.t is second.t or np.array_equal(first.t, second.t)


def _bridged(track: Track, runs: Sequence[tuple[int, int]]) -> Track:
    inside = np.zeros(len(track.t), dtype=bool)
    for start, stop in runs:
        inside[start:stop] = True
    values = track.values.copy()
    values[inside] = np.interp(track.t[inside], track.t[~inside], track.values[~inside])
    return replace(track, values=values)
