"""Actuators of an MJCF with identified constants, written where the described ones are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from sysid_ros.mechanics.actuators.actuators import DELAY, FILTER, Actuators, JointActuator
from sysid_ros.mechanics.actuators.current import CurrentDrive
from sysid_ros.mechanics.actuators.dc_motor import DcMotor
from sysid_ros.mechanics.actuators.position_servo import PositionServo
from sysid_ros.mechanics.actuators.torque import TorqueDrive
from sysid_ros.mechanics.actuators.velocity_servo import VelocityServo
from sysid_ros.release.document import start_tag
from sysid_ros.release.xml_splice import Splice, locate
from sysid_ros.robot.parameters import ParameterSet

# Root, section, actuator.
_DEPTH = 3
_Tag = tuple[str, dict[str, str]]


def actuator_splices(
    xml: bytes, actuators: Actuators, parameters: ParameterSet
) -> Iterator[Splice]:
    """Edits of an MJCF that give joints the actuators that were identified.

    An actuator of such a joint is replaced, under its name; for others a section is added. What
    defaults would change is said at each actuator.

    Args:
        xml: The document.
        actuators: The actuators.
        parameters: Their constants, among others.
    """
    root = locate(xml, _DEPTH)
    described = {
        element.attributes['joint']: element
        for section in root.find_all('actuator') for element in section.children
        if 'joint' in element.attributes}
    added = []
    for each in actuators.joints:
        element = described.get(each.joint)
        name = each.joint if element is None else element.attributes.get('name', each.joint)
        tag = actuator_tag(each, parameters, name)
        if element is None:
            added.append(tag)
        else:
            yield Splice(element.start, element.end, tag.encode())
    if added:
        at = xml.rfind(b'</', 0, root.end)
        lines = '\n'.join(f'    {tag}' for tag in added)
        yield Splice(at, at, f'  <actuator>\n{lines}\n  </actuator>\n'.encode())


def actuators_left_out(actuators: Actuators, parameters: ParameterSet) -> Iterator[str]:
    """Sentences on what these elements do not tell: torque that falls with speed, and the delay.

    How many samples a delay takes depends on the step of the simulation, and a MuJoCo before 3.5
    refuses a file with its attributes; so they are not written.

    Args:
        actuators: The actuators.
        parameters: Their constants and limits, among others.
    """
    falling = [
        f'"{each.joint}" (from {stall:.6g} at rest to none at {speed:.6g})'
        for each in actuators.joints for _, stall, speed in [each.limits_of(parameters)]
        if np.isfinite(stall)]
    if falling:
        yield (
            'The forcerange of <position>, <velocity>, <motor> and <general> is the same at all '
            f'speeds: torque that falls with speed is left out, of {", ".join(falling)}; it holds '
            'the torque at rest')
    delay = parameters[DELAY]
    if delay > 0.0:
        yield (
            f'The delay of the commands, {delay:.6g} s, is left out: MuJoCo from 3.5 on takes '
            f'delay="{delay:.6g}" nsample="N" at each actuator, N steps of the simulation that are '
            'at least as long')


def actuator_tag(each: JointActuator, parameters: ParameterSet, name: str = '') -> str:
    """The element of an actuator.

    Args:
        each: The actuator.
        parameters: Its constants and limits, among others.
        name: Its name; that of the joint by default.
    """
    names = (constant.name for constant in each.kind.constants)
    p = dict(zip(names, each.constants_of(parameters), strict=True))
    kind, values = _TAGS[each.kind.name](p)
    if FILTER in parameters:
        kind, values = _filtered(kind, values, parameters[FILTER])
    # Of what falls with speed the largest part, that at rest.
    largest = float(min(each.limits_of(parameters)[:2]))
    limited = bool(np.isfinite(largest))
    limit = {'forcerange': f'{-largest!r} {largest!r}'} if limited else {}
    return start_tag(kind, {
        'name': name or each.joint, 'joint': each.joint, **values, 'gear': '1',
        'ctrllimited': 'false', 'forcelimited': str(limited).lower(), **limit})


def _filtered(kind: str, values: Mapping[str, str], time_constant: float) -> _Tag:
    """The element of an actuator whose command passes a filter of first order."""
    if kind == 'position':
        return kind, {**values, 'timeconst': repr(time_constant)}
    if kind == 'velocity':
        values = {
            'gainprm': values['kv'], 'biastype': 'affine', 'biasprm': f'0 0 -{values["kv"]}'}
    return 'general', {**values, 'dyntype': 'filterexact', 'dynprm': repr(time_constant)}


def _position(p: Mapping[str, float]) -> _Tag:
    return 'position', {'kp': repr(p['kp']), 'kv': repr(p['kd'])}


def _velocity(p: Mapping[str, float]) -> _Tag:
    return 'velocity', {'kv': repr(p['kv'])}


def _motor(p: Mapping[str, float]) -> _Tag:
    return 'motor', {}


def _current(p: Mapping[str, float]) -> _Tag:
    return 'general', {'gainprm': repr(p['gear'] * p['torque_constant'])}


def _voltage(p: Mapping[str, float]) -> _Tag:
    scale = p['gear'] * p['torque_constant'] / p['resistance']
    return 'general', {
        'gainprm': repr(scale * p['supply_voltage']), 'biastype': 'affine',
        'biasprm': f'0 0 {-scale * p["back_emf"] * p["gear"]!r}'}


_TAGS: Mapping[str, Callable[[Mapping[str, float]], _Tag]] = {
    PositionServo.name: _position, VelocityServo.name: _velocity, TorqueDrive.name: _motor,
    CurrentDrive.name: _current, DcMotor.name: _voltage}
