"""Records of an unpacked MCAP chunk, found by compiled code."""

from __future__ import annotations

import numpy as np
from numba import njit

from sysid_ros.numerics.jit import ENTRY

# Opcode of a message, and lengths of what comes before a record and before a message's data.
_MESSAGE, _PREFIX, _HEAD = 5, 9, 22


@njit(**ENTRY | {'nogil': True})
def find_records(
    content: np.ndarray, kinds: np.ndarray, received: np.ndarray, starts: np.ndarray,
    lengths: np.ndarray,
) -> int:
    """Records of a chunk, in their order.

    Args:
        content: The chunk, bytes.
        kinds: Channels of messages; of other records the opcode, negative. Filled as far as
            there is room, like the others, which have as much.
        received: Times of reception of messages in [ns].
        starts: Where the data of messages, or all of another record, begins.
        lengths: Bytes of it.

    Returns:
        How many there are; -1 where one goes beyond the end.
    """
    size, position, count = len(content), 0, 0
    while position < size:
        if position + _PREFIX > size or content[position + 8] > 127:
            return -1
        length = np.int64(0)
        for k in range(8):
            length |= np.int64(content[position + 1 + k]) << (8 * k)
        body = position + _PREFIX
        if length > size - body:
            return -1
        opcode = np.int64(content[position])
        if opcode == _MESSAGE:
            if length < _HEAD or content[body + 13] > 127:
                return -1
            stamp = np.int64(0)
            for k in range(8):
                stamp |= np.int64(content[body + 6 + k]) << (8 * k)
            if count < len(kinds):
                kinds[count] = np.int64(content[body]) | np.int64(content[body + 1]) << 8
                received[count], starts[count] = stamp, body + _HEAD
                lengths[count] = length - _HEAD
        elif count < len(kinds):
            kinds[count], received[count] = -opcode, 0
            starts[count], lengths[count] = position, length + _PREFIX
        count += 1
        position = int(body + length)
    return count
