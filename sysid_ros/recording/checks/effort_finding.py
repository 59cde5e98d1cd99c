"""What the recorded effort of a joint looks like, in words and with what to change."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sysid_ros.recording.checks.settings_lines import signal_line

#: Name of the finding of all joints together, in place of a joint's.
TOGETHER = 'all joints'
#: What else explains efforts of another scale.
MASSES = 'the masses of the description are wrong: correct them'


class EffortKind(enum.Enum):
    """Kinds of effort signals; the values are clauses for sentences."""

    JOINT_TORQUE = 'a torque at the joint'
    WRONG_SIGN = 'a torque at the joint with the wrong sign'
    MOTOR_SIDE = 'a torque at the motor, before the gears'
    SCALED = 'a current or a motor-side torque'
    GRAVITY_COMPENSATED = 'a torque without the part that carries gravity'
    FILTERED = 'a torque whose slow part is missing'
    INCONSISTENT = 'a torque of another scale than the masses of the description'
    OTHER_UNIT = 'a torque in another unit'
    OTHER_CLOCK = 'a torque on another clock than the motion'
    OTHER_GRAVITY = 'a torque of a robot that stands otherwise than described'
    CONSTANT = 'a constant, whatever the joint does'
    UNRELATED = 'nothing the model could make of this motion'
    UNKNOWN = 'something that prior and motion do not settle'

    @property
    def usable(self) -> bool:
        """Whether a fit may go on without asking."""
        return self in (EffortKind.JOINT_TORQUE, EffortKind.UNKNOWN)

    @property
    def scaled(self) -> bool:
        """Whether a scale says something of it."""
        return self not in (
            EffortKind.UNKNOWN, EffortKind.CONSTANT, EffortKind.GRAVITY_COMPENSATED,
            EffortKind.FILTERED)


@dataclass(frozen=True)
class EffortFinding:
    """Finding on the effort of one joint.

    Attributes:
        joint: Name of the joint, or 'all joints'.
        kind: What it looks like.
        scale: Recorded effort per torque of the best reading, signed; its sign is wrong when
            negative. On another clock, of what accelerates the links beside what carries them; NaN
            under gravity of another direction.
        explained: Part of the recorded effort that this reading explains, from 0 to 1; NaN of all
            joints.
        correlation: Correlation of the effort with what this reading predicts; NaN of all joints.
        suggestion: What to change in the settings, if anything.
        recording: The recording that shows it; empty where there is but one.
    """

    joint: str
    kind: EffortKind
    scale: float
    explained: float
    correlation: float
    suggestion: str = ''
    recording: str = ''

    @property
    def wrong_sign(self) -> bool:
        """Whether the sign is wrong, whatever else is."""
        return not self.kind.usable and self.kind is not EffortKind.UNRELATED and self.scale < 0

    @property
    def sentence(self) -> str:
        """The finding in words."""
        text = f'{self.joint}: the effort looks like {self.kind.value}'
        if np.isfinite(self.scale) and self.kind.scaled:
            text += f': {self.scale:.2g} of the predicted'
            if np.isfinite(self.correlation):
                text += f', correlation {self.correlation:.2f}'
        return f'{text}. {self.suggestion}' if self.suggestion else text


def advice(kind: EffortKind, scales: Mapping[str, float], joints: Sequence[str]) -> str:
    """What to change where efforts are of one kind, in words with the line to paste.

    Args:
        kind: The kind, one of those that single joints have.
        scales: Recorded effort per torque of each joint that shows it, or of :data:`TOGETHER`.
        joints: All joints, in their order.
    """
    those = {name: 1.0 / abs(scale) for name, scale in scales.items() if name != TOGETHER}
    turned = any(scale < 0.0 for scale in scales.values())
    sign = ' and recording.effort.sign to -1' if turned else ''
    each = 'this joint' if len(scales) == 1 else 'these joints'
    factors = f'recording: {{effort: {{scale: {1.0 / abs(scales.get(TOGETHER, 1.0)):.3g}}}}}'
    if those:
        factors = signal_line('effort', 'scale', joints, those, 1.0)
    undriven = ('if nothing drives ' + ('the joint' if len(scales) == 1 else 'the joints')
                + f', say so: recording: {{unpowered: [{", ".join(scales)}]}}')
    return {
        EffortKind.WRONG_SIGN: f'Set recording.effort.sign to -1 for {each}',
        EffortKind.MOTOR_SIDE:
            f'Set recording.effort.side to motor{sign}, with the transmission; or {MASSES}',
        EffortKind.SCALED:
            f'Set {factors}, the torque per unit by the description, times what is there now{sign}'
            f', or side to motor if the gears are left out; or {MASSES}',
        EffortKind.GRAVITY_COMPENSATED:
            'Record the whole torque: masses cannot be told without the load of gravity',
        EffortKind.FILTERED:
            'Record the whole torque: a driver or a filter takes off what changes slowly',
        EffortKind.CONSTANT: f'Check what the drive reports; {undriven}',
        EffortKind.UNRELATED:
            "Check that the columns are in the order of recording.joints, and the robot's base; "
            f'{undriven}',
        EffortKind.INCONSISTENT:
            f'If the sensor is wrong, set {factors}, times what is there now; if the masses of the '
            'description are, correct them, or set processing: {effort_check: warn}',
    }.get(kind, '')
