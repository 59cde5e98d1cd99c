"""Systematic faults of recordings, one function each, as drivers and people make them.

A fault is drawn once for a robot and then spoils its training and its validation alike. Those
in :data:`TRACELESS` leave nothing in the data by which anyone could tell, and :data:`DESCRIBED` are
faults of descriptions, whose recordings are clean.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.signal
from _plants import RATE, Recorded

Fault = Callable[[Recorded, np.random.Generator], Recorded]
# Of a URDF and the name of the joint with most torque.
DescriptionFault = Callable[[str, str], str]


def scaled(factor: float, every: bool) -> Fault:
    """Efforts in parts of the torque, of all joints or of the one with most torque."""
    def spoil(data: Recorded, _: np.random.Generator) -> Recorded:
        which = np.ones(data.tau.shape[1], dtype=bool) if every else _strongest(data)
        return replace(data, tau=np.where(which, factor * data.tau, data.tau))
    return spoil


def late(seconds: float) -> Fault:
    """Torques that arrive late."""
    def spoil(data: Recorded, _: np.random.Generator) -> Recorded:
        return replace(data, tau=_at(data.t, data.tau, data.t - seconds))
    return spoil


def clock(factor: float) -> Fault:
    """Stamps of a clock that runs wrong."""
    return lambda data, _: replace(data, t=factor * data.t)


def clipped(data: Recorded, random: np.random.Generator) -> Recorded:
    """Drives that saturate at half the largest torque, under the noise of their sensor."""
    most = 0.5 * np.abs(data.tau).max(axis=0)
    return replace(data, tau=np.clip(data.tau, -most, most) + _noise(data, random, 0.02))


def exactly_clipped(data: Recorded, _: np.random.Generator) -> Recorded:
    """Drives that saturate at half the largest torque, without noise."""
    most = 0.5 * np.abs(data.tau).max(axis=0)
    return replace(data, tau=np.clip(data.tau, -most, most))


def constant(value: float) -> Fault:
    """The effort of the strongest joint is a constant."""
    return lambda data, _: replace(data, tau=np.where(_strongest(data), value, data.tau))


def unrelated(data: Recorded, random: np.random.Generator) -> Recorded:
    """The effort of the strongest joint is smooth, and has nothing to do with the motion."""
    other = scipy.signal.sosfiltfilt(
        scipy.signal.butter(2, 1.0, fs=RATE, output='sos'), random.normal(size=len(data.t)))
    other *= np.std(data.tau) / np.std(other)
    return replace(data, tau=np.where(_strongest(data), other[:, None], data.tau))


def noisy(part: float) -> Fault:
    """White noise in parts of the torque."""
    return lambda data, random: replace(data, tau=data.tau + _noise(data, random, part))


def outliers(data: Recorded, random: np.random.Generator) -> Recorded:
    """One sample in twenty is off by twenty times the torque's size."""
    hit = random.random(data.tau.shape) < 0.05
    return replace(data, tau=data.tau + hit * _noise(data, random, 20.0))


def drifting(data: Recorded, _: np.random.Generator) -> Recorded:
    """Torques drift by their own size over the recording."""
    ramp = (data.t / data.t[-1] - 0.5)[:, None]
    return replace(data, tau=data.tau + ramp * np.std(data.tau, axis=0))


def biased(data: Recorded, random: np.random.Generator) -> Recorded:
    """A constant bias of each joint."""
    size = np.random.default_rng(len(data.t)).uniform(0.5, 1.5, data.tau.shape[1])
    return replace(data, tau=data.tau + size * np.std(data.tau, axis=0))


def rippled(data: Recorded, _: np.random.Generator) -> Recorded:
    """Gears that ripple with the angle."""
    return replace(data, tau=data.tau + 0.2 * np.std(data.tau, axis=0) * np.sin(40.0 * data.q))


def lagging(data: Recorded, _: np.random.Generator) -> Recorded:
    """A slow filter in the torque sensor."""
    first = scipy.signal.butter(1, 3.0, fs=RATE, output='sos')
    state = scipy.signal.sosfilt_zi(first)[:, :, None] * data.tau[0]
    return replace(data, tau=scipy.signal.sosfilt(first, data.tau, axis=0, zi=state)[0])


def wrong_sign(data: Recorded, _: np.random.Generator) -> Recorded:
    """One effort with the wrong sign."""
    return replace(data, tau=np.where(_strongest(data), -data.tau, data.tau))


def exchanged(data: Recorded, _: np.random.Generator) -> Recorded:
    """Effort columns in another order."""
    return replace(data, tau=data.tau[:, ::-1])


def exchanged_positions(data: Recorded, _: np.random.Generator) -> Recorded:
    """Position columns in another order."""
    return replace(data, q=data.q[:, ::-1])


def in_degrees(data: Recorded, _: np.random.Generator) -> Recorded:
    """Positions in degrees."""
    return replace(data, q=np.rad2deg(data.q))


def offset_zero(data: Recorded, _: np.random.Generator) -> Recorded:
    """The zero of the second joint is off by 0.5 rad."""
    return replace(data, q=data.q + 0.5 * (np.arange(data.q.shape[1]) == 1))


def reversed_position(data: Recorded, _: np.random.Generator) -> Recorded:
    """The strongest joint's position has the wrong sign."""
    return replace(data, q=np.where(_strongest(data), -data.q, data.q))


def coarse(bits: int) -> Fault:
    """Encoders of so many bits."""
    step = 2.0 * np.pi / 2**bits
    return lambda data, _: replace(data, q=np.round(data.q / step) * step)


def noisy_encoders(size: float) -> Fault:
    """White noise of encoders, its standard deviation in [rad] or [m]."""
    return lambda data, random: replace(data, q=data.q + size * random.normal(size=data.q.shape))


def jittering(data: Recorded, random: np.random.Generator) -> Recorded:
    """Stamps of the computer, half a millisecond off."""
    return replace(data, t=np.sort(data.t + 5e-4 * random.normal(size=len(data.t))))


def shuffled(data: Recorded, random: np.random.Generator) -> Recorded:
    """Torques of other instants."""
    return replace(data, tau=data.tau[random.permutation(len(data.t))])


def turned_around(data: Recorded, _: np.random.Generator) -> Recorded:
    """Torques of another motion: the recording backwards."""
    return replace(data, tau=data.tau[::-1])


def without_gravity(data: Recorded, _: np.random.Generator) -> Recorded:
    """Controllers report what they add to gravity compensation: the slow part is missing."""
    slow = scipy.signal.butter(2, 0.15, fs=RATE, output='sos')
    return replace(data, tau=data.tau - scipy.signal.sosfiltfilt(slow, data.tau, axis=0))


def stuck(data: Recorded, _: np.random.Generator) -> Recorded:
    """A sensor repeats its last value half of the time, for half a second."""
    held = (data.t % 1.0) < 0.5
    index = np.where(held, np.arange(len(data.t)) - np.rint(data.t % 1.0 * RATE).astype(int),
                     np.arange(len(data.t)))
    return replace(data, tau=data.tau[np.maximum(index, 0)])


def touched(data: Recorded, _: np.random.Generator) -> Recorded:
    """Contact during a third of the motion."""
    part = ((data.t > 6.0) & (data.t < 12.0))[:, None]
    return replace(data, tau=data.tau + part * 0.7 * np.std(data.tau, axis=0))


def coarse_effort(data: Recorded, _: np.random.Generator) -> Recorded:
    """Efforts in eight steps."""
    step = np.ptp(data.tau, axis=0) / 8.0
    return replace(data, tau=np.round(data.tau / step) * step)


def dead_band(data: Recorded, _: np.random.Generator) -> Recorded:
    """Efforts below a third of the largest are reported as zero."""
    return replace(data, tau=np.where(
        np.abs(data.tau) < 0.3 * np.abs(data.tau).max(axis=0), 0.0, data.tau))


def squared(data: Recorded, _: np.random.Generator) -> Recorded:
    """A sensor whose gain grows with the load."""
    most = np.abs(data.tau).max(axis=0)
    return replace(data, tau=data.tau * (0.5 + np.abs(data.tau) / most))


def without_direction(data: Recorded, _: np.random.Generator) -> Recorded:
    """Efforts without their sign."""
    return replace(data, tau=np.abs(data.tau))


def at_rest(data: Recorded, random: np.random.Generator) -> Recorded:
    """The robot holds still; encoders flicker."""
    flicker = 1e-4 * np.round(random.uniform(-0.6, 0.6, data.q.shape))
    tau = np.mean(data.tau, axis=0) + _noise(data, random, 0.02)
    return replace(data, q=np.zeros_like(data.q) + data.q[0] + flicker, tau=tau)


def one_moves(data: Recorded, random: np.random.Generator) -> Recorded:
    """Only the last joint moves; the others' torques are what holds them."""
    q, tau = at_rest(data, random).q, at_rest(data, random).tau
    q[:, -1], tau[:, -1] = data.q[:, -1], data.tau[:, -1]
    return replace(data, q=q, tau=tau)


def tiny(data: Recorded, random: np.random.Generator) -> Recorded:
    """A motion of a few milliradians."""
    still = at_rest(data, random)
    return replace(data, q=still.q + 0.005 * (data.q - data.q[0]), tau=still.tau)


def short(data: Recorded, _: np.random.Generator) -> Recorded:
    """A second and a half of motion."""
    return Recorded(data.t[400:700], data.q[400:700], data.tau[400:700])


def thinned(data: Recorded, random: np.random.Generator) -> Recorded:
    """Half of the messages are lost."""
    kept = random.random(len(data.t)) < 0.5
    return Recorded(data.t[kept], data.q[kept], data.tau[kept])


def tilted(text: str, _: str) -> str:
    """The base leans by 0.5 rad, of which the robot knows nothing."""
    root = ET.fromstring(text)
    children = {str(child.get('link')) for child in root.iter('child')}
    base = next(str(link.get('name')) for link in root.findall('link')
                if link.get('name') not in children)
    ET.SubElement(root, 'link', name='leaning_ground')
    joint = ET.SubElement(root, 'joint', name='leaning', type='fixed')
    ET.SubElement(joint, 'parent', link='leaning_ground')
    ET.SubElement(joint, 'child', link=base)
    ET.SubElement(joint, 'origin', rpy='0.5 0 0', xyz='0 0 0')
    return ET.tostring(root, encoding='unicode')


def axis_reversed(text: str, strongest: str) -> str:
    """The axis of the joint with most torque points the other way."""
    root = ET.fromstring(text)
    joint = next(one for one in root.findall('joint') if one.get('name') == strongest)
    axis = joint.find('axis')
    if axis is None:
        axis = ET.SubElement(joint, 'axis', xyz='1 0 0')
    numbers = np.array(str(axis.get('xyz')).split(), dtype=float)
    axis.set('xyz', ' '.join(map(repr, (-numbers).tolist())))
    limit = joint.find('limit')
    if limit is not None and limit.get('lower') is not None and limit.get('upper') is not None:
        lower, upper = float(str(limit.get('lower'))), float(str(limit.get('upper')))
        limit.set('lower', repr(-upper))
        limit.set('upper', repr(-lower))
    return ET.tostring(root, encoding='unicode')


def of_a_longer_arm(text: str, _: str) -> str:
    """The description of another size of arm, with the same joints."""
    root = ET.fromstring(text)
    for origin in (one for part in ('joint', 'link/inertial')
                   for owner in root.findall(part) for one in owner.findall('origin')):
        place = 1.3 * np.array(origin.get('xyz', '0 0 0').split(), dtype=float)
        origin.set('xyz', ' '.join(map(repr, place.tolist())))
    return ET.tostring(root, encoding='unicode')


FAULTS: dict[str, Fault] = {
    'effort × 2, one joint': scaled(2.0, False), 'effort × 1.5, one joint': scaled(1.5, False),
    'effort × 0.5, one joint': scaled(0.5, False), 'effort × 0.1, all': scaled(0.1, True),
    'torque 50 ms late': late(0.05), 'torque 20 ms late': late(0.02),
    'torque 50 ms early': late(-0.05), 'clock × 0.8': clock(0.8), 'clock × 1.25': clock(1.25),
    'clock × 2': clock(2.0), 'clipped, then noise': clipped, 'clipped': exactly_clipped,
    'effort of one joint zero': constant(0.0), 'effort of one joint constant': constant(3.0),
    'effort of one joint unrelated': unrelated, 'noise 100 %': noisy(1.0),
    'noise 300 %': noisy(3.0), 'outliers': outliers, 'drift': drifting, 'ripple': rippled,
    'slow sensor': lagging, 'wrong sign, one joint': wrong_sign, 'effort columns': exchanged,
    'position columns': exchanged_positions, 'degrees': in_degrees, 'wrong zero': offset_zero,
    'position reversed': reversed_position, 'encoders of 8 bits': coarse(8), 'jitter': jittering,
    'shuffled': shuffled, 'another motion': turned_around, 'gravity left out': without_gravity,
    'stuck half the time': stuck, 'contact': touched, 'efforts of 3 bits': coarse_effort,
    'dead band': dead_band, 'gain grows': squared, 'no sign': without_direction,
    'short': short, 'half lost': thinned, 'tiny motion': tiny,
}
# Each fault once with another one far down the list, so that all kinds meet.
_FAR_DOWN = 17


def _both(first: Fault, second: Fault) -> Fault:
    return lambda data, random: second(first(data, random), random)


PAIRS: dict[str, Fault] = {
    f'{one}; {other}': _both(FAULTS[one], FAULTS[other]) for one, other in zip(
        FAULTS, [*list(FAULTS)[_FAR_DOWN:], *list(FAULTS)[:_FAR_DOWN]], strict=True)
}
# Recordings of cheap drives, in which nothing is wrong.
CHEAP: dict[str, Fault] = {
    'clean, encoders of 12 bits': coarse(12), 'clean, encoders with noise': noisy_encoders(0.002)}
STILL: dict[str, Fault] = {'at rest': at_rest, 'one joint moves': one_moves}
DESCRIBED: dict[str, DescriptionFault] = {
    'base tilted': tilted, 'axis reversed': axis_reversed, 'a longer arm': of_a_longer_arm}
# Recorded from another arm of the same type, with masses of its own.
ANOTHER_ARM = 'another arm'
TRACELESS: dict[str, Fault] = {
    'effort × 2, all': scaled(2.0, True), 'effort × 0.5, all': scaled(0.5, True),
    'effort × 1.3, all': scaled(1.3, True), 'bias': biased, 'clock × 0.9': clock(0.9),
    ANOTHER_ARM: lambda data, _: data,
}


def strongest(data: Recorded) -> int:
    """The joint with most torque."""
    return int(np.argmax(np.mean(data.tau**2, axis=0)))


def _strongest(data: Recorded) -> np.ndarray:
    """Mask of the joint with most torque, shape ``(n,)``."""
    return np.arange(data.tau.shape[1]) == strongest(data)


def _noise(data: Recorded, random: np.random.Generator, part: float) -> np.ndarray:
    return part * np.sqrt(np.mean(data.tau**2, axis=0)) * random.normal(size=data.tau.shape)


def _at(t: np.ndarray, values: np.ndarray, when: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(when, t, column) for column in values.T], axis=1)
