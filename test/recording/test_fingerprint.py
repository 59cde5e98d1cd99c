"""A recording is known again by its samples, and others of the same motion are not it."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_ros.recording.fingerprint import fingerprints, is_known
from sysid_ros.recording.recording import Channel, Recording

JOINTS = ('a', 'b')


def recorded(seed=0, count=3000, effort=True, coarse=None):
    """Two joints on the same motion, whatever the seed of the noise."""
    t = np.arange(count) / 500.0
    q = np.stack([np.sin(t), np.cos(1.3 * t)], axis=1)
    random = np.random.default_rng(seed)
    tau = 3.0 * q + 0.03 * random.normal(size=q.shape)
    q = q + 1e-4 * random.normal(size=q.shape)
    if coarse:
        tau = np.round(tau / coarse) * coarse
    channels = [Channel('position', JOINTS, 'rad', t, q)]
    if effort:
        channels.append(Channel('effort', JOINTS, 'N·m', t, tau))
    return Recording(tuple(channels), 'simulated', '')


def converted(recording, change, first=0):
    return Recording(tuple(
        Channel(c.quantity, c.names, c.unit, c.t[first:], change(c.values[first:]))
        for c in recording.channels), 'converted', '')


KINDS = [{}, {'effort': False}, {'coarse': 0.5}]


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('change', [
    lambda x: x, lambda x: x.astype(np.float32).astype(float), lambda x: np.round(x, 7)])
def test_a_copy_in_another_format_is_known(kind, change):
    first = recorded(**kind)
    known = fingerprints(first, JOINTS)
    assert 0 < len(known) <= 64
    assert is_known(converted(first, change), JOINTS, known)


def test_a_part_of_it_is_known_too():
    first = recorded()
    assert is_known(converted(first, lambda x: x, first=1500), JOINTS, fingerprints(first, JOINTS))


@pytest.mark.parametrize('kind', KINDS)
def test_the_same_motion_recorded_again_is_another_recording(kind):
    known = fingerprints(recorded(**kind), JOINTS)
    assert not is_known(recorded(seed=1, **kind), JOINTS, known)


def test_constants_tell_nothing():
    still = converted(recorded(), np.zeros_like)
    assert fingerprints(still, JOINTS) == ()
    assert not is_known(still, JOINTS, ())
    assert not is_known(recorded(count=5), JOINTS, fingerprints(recorded(), JOINTS))
