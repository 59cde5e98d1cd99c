"""How nodes hear each other: by UDP alone, and none of another computer where that is asked for.

Fast DDS lets processes of one computer share memory, and locks in it. One that is killed while it
holds such a lock stops whoever talks to it, for 20 s or for ever, and a monitor must not hang
because what it watches died. Nodes are found in half the time without it, too.
"""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

_RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
# How Fast DDS carries messages, and files that may say it, too: the second is that of Jazzy.
_TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
_PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
# Of rclpy, from which on the first is looked for, and the second warned of.
_KILTED = 9
_LOOPBACK = str(Path(__file__).with_name('loopback.xml'))


def loopback_variables() -> dict[str, str]:
    """Environment variables by which nodes hear those of this computer, and none of another.

    ``LOCALHOST`` has rmw_fastrtps share memory, whatever else is said. It is what is left for other
    middleware, where a user has a file of profiles, and beside static peers.
    """
    middleware = os.environ.get('RMW_IMPLEMENTATION') or 'rmw_fastrtps_cpp'
    if (
        not middleware.startswith('rmw_fastrtps') or _has_profiles()
        or os.environ.get('ROS_STATIC_PEERS')
    ):
        return {_RANGE: 'LOCALHOST'}
    return {_RANGE: 'SUBNET', _PROFILES[_rclpy() < _KILTED]: _LOOPBACK}


def talk_by_udp() -> None:
    """Have nodes that this process makes talk by UDP, unless the user has said how they are to."""
    if os.environ.get(_RANGE) == 'LOCALHOST':
        os.environ |= loopback_variables()
    elif not _has_profiles():
        os.environ.setdefault(_TRANSPORTS, 'UDPv4')


def _rclpy() -> int:
    """Number of the version of rclpy; that of Kilted where nothing says it."""
    try:
        return int(metadata.version('rclpy').split('.')[0])
    except metadata.PackageNotFoundError:
        return _KILTED


def _has_profiles() -> bool:
    """Whether a user names a file of profiles."""
    return any(os.environ.get(name) not in (None, '', _LOOPBACK) for name in _PROFILES)
