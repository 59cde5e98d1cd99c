"""Recordings known again by what they hold, under whatever name and in whatever format.

A few short pieces of every joint's effort, rounded, are its fingerprint: noise makes them unlike
those of any other recording, of the same motion, too. Where efforts are too coarse for that, or
were not recorded, longer pieces of positions take their place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

import numpy as np

from sysid_ros.recording.recording import Recording

# Pieces of each joint, samples of a piece by quantity, and what values are rounded to, in parts of
# the power of ten below the largest, which is the same for most of a recording's parts.
_PIECES, _SAMPLES, _ROUNDED = 32, {'effort': 12, 'position': 50}, 1e-5
# Values that differ, of a signal fine enough to tell recordings apart, as a part of the samples
# that are looked at, so many at most.
_FINE, _LOOKED_AT = 0.2, 100_000
# Pieces found again, at least and as a part of all; rounding of another format spoils some.
_FOUND, _SHARE = 4, 0.03


def fingerprints(recording: Recording, joints: Sequence[str]) -> tuple[str, ...]:
    """Digests of some pieces of a recording.

    Args:
        recording: The recording.
        joints: Joints that it has.

    Returns:
        Up to 32 of each joint that moves or feels something; none of a constant.
    """
    found = []
    for joint in joints:
        pieces = _pieces(recording, joint)
        if len(pieces):
            found += _digests(pieces[np.unique(
                np.linspace(0, len(pieces) - 1, _PIECES).round().astype(int))])
    return tuple(dict.fromkeys(found))


def is_known(
    recording: Recording, joints: Sequence[str], known: Collection[str]
) -> bool:
    """Whether a recording holds samples of one whose fingerprints are known.

    Args:
        recording: The recording.
        joints: Joints that it has.
        known: What :func:`fingerprints` gave of the other.
    """
    wanted, found = set(known), set()
    for joint in joints:
        found |= wanted.intersection(_digests(_pieces(recording, joint)))
    return len(found) >= max(_FOUND, _SHARE * len(wanted))


def _digests(pieces: np.ndarray) -> list[str]:
    return [hashlib.blake2b(piece.tobytes(), digest_size=8).hexdigest() for piece in pieces]


def _pieces(recording: Recording, joint: str) -> np.ndarray:
    """All pieces of the signal of a joint that tells recordings apart, rounded; or none."""
    for quantity, samples in _SAMPLES.items():
        channel = recording.channel_of(quantity, joint)
        if channel is None:
            continue
        values = channel.column(joint)
        values = values[np.isfinite(values)]
        some = values[::len(values) // _LOOKED_AT + 1]
        if len(values) >= samples and len(np.unique(some)) > _FINE * len(some):
            step = _ROUNDED * 10.0 ** np.floor(np.log10(np.abs(values).max()))
            whole = np.rint(values / step).astype(np.int64)
            return np.lib.stride_tricks.sliding_window_view(whole, samples)
    return np.empty((0, 1), dtype=np.int64)
