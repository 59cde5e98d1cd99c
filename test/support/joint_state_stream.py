"""Joint states of two joints as they come in, healthy or as a test spoils them."""

import numpy as np
from rosbags.typesys import Stores, get_typestore

from sysid_ros.recording.bag.joint_state_cdr import FIELDS, encode
from sysid_ros.recording.live.joint_states import LiveJointStates

START = 1_700_000_000_000_000_000
STEP = 10_000_000  # 100 Hz
JOINTS = ('a', 'b')
STORE = get_typestore(Stores.ROS2_HUMBLE)


class Robot:
    """Says joint states one by one, and hands them over a few at a time."""

    def __init__(self, live=None, together=7):
        self.live = live or LiveJointStates(JOINTS)
        self.together = together
        self.waiting = []

    def say(self, k, position, velocity=None, effort=(1.0, 2.0), *, names=JOINTS, stamp=None,
            received=None, steady=None):
        stamp = START + k * STEP if stamp is None else stamp
        arrays = [None if values is None else np.array([values], dtype=float)
                  for values in (position, velocity, effort)]
        payload = message(stamp, names, arrays)
        self.waiting.append((payload, START + k * STEP + 1000 if received is None else received,
                             0.01 * k if steady is None else steady))
        if len(self.waiting) >= self.together:
            self.deliver()
        return self

    def deliver(self):
        if self.waiting:
            self.live.receive(*zip(*self.waiting, strict=True))
            self.waiting = []
        return self.live

    def move(self, first=0, last=200, **changes):
        for k in range(first, last):
            self.say(k, pose(k), **changes)
        return self


def pose(k):
    return [np.sin(0.01 * k), np.cos(0.01 * k)]


def message(stamp, names, arrays):
    """One message; arrays need not be as long as the names."""
    lengths = {len(names)} | {array.shape[1] for array in arrays if array is not None}
    if lengths == {len(names)}:
        return encode(np.array([stamp]), names, dict(zip(FIELDS, arrays, strict=True))).tobytes()
    types = STORE.types
    header = types['std_msgs/msg/Header'](
        types['builtin_interfaces/msg/Time'](*divmod(stamp, 10 ** 9)), '')
    fields = [np.zeros(0) if array is None else array[0] for array in arrays]
    made = types['sensor_msgs/msg/JointState'](header, list(names), *fields)
    return bytes(STORE.serialize_cdr(made, 'sensor_msgs/msg/JointState'))


def messages(count, first=0):
    """Serialised messages at 1 kHz from one number on, and when each was received in [ns]."""
    k = np.arange(first, first + count)
    stamps = START + k * 1_000_000
    q = np.stack([np.sin(0.01 * k), np.cos(0.01 * k)], axis=1)
    rows = encode(stamps, JOINTS, {'position': q, 'velocity': None, 'effort': 2 * q})
    return [row.tobytes() for row in rows], (stamps + 500).tolist()
