"""Whether a recording is good enough to be fitted, before any fit: lights, cures, joints."""

from __future__ import annotations

import math
import textwrap
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.measurements import Measurements
from sysid_ros.evaluation.disturbance_choice import undisturbed_part
from sysid_ros.evaluation.disturbances import Disturbances
from sysid_ros.evaluation.model_choice import with_filters
from sysid_ros.mechanics.actuators.actuators import Actuators, actuated
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.recording.checks.effort_finding import EffortFinding
from sysid_ros.recording.checks.motion_content import MotionContent
from sysid_ros.recording.checks.quality import DataQuality
from sysid_ros.report.sections.data_quality import MOST_JITTER, Check, RecordingQuality

# Columns of a terminal.
_WIDTH = 100
_WORDS = {'good': 'good', 'look': 'look', 'bad': 'BAD'}
# What to do about rows that are missing from evenly stamped ones.
_GAPS = (
    'parts before and after a gap are fitted together, without it; if rows were lost that should '
    'not be, look for what lost them')
# What mends a light that is not good.
_CURES = {
    'Content': 'record longer, or faster through more poses (sysid excite plans such a motion)',
    'Stamps': 'stamp where it is measured; processing: {stamps: uniform} if arrival alone jitters',
    'Range': 'move these joints through more of their range',
    'Motion': 'let these joints move, or leave them out of recording: {joints: […]} and hold them, '
    'robot: {locked_joints: rest}',
    'Encoders': 'move faster, or use the estimator iv, made for coarse encoders',
    'Torques': 'load these joints more: faster motion, or poses that carry weight',
    'Samples': 'look for clipped torques and gaps in the recording of these joints',
    'Efforts': 'set what the sentence says',
    'Touched': 'sysid fit leaves that out by itself, and says so; or record it again',
}


@dataclass(frozen=True)
class RecordingCheck:
    """What is to be said of a recording before a fit.

    Attributes:
        quality: What is known of it.
        lights: The same as traffic lights.
        content: How much its motion shows.
    """

    quality: DataQuality
    lights: RecordingQuality
    content: MotionContent

    @property
    def usable(self) -> bool:
        """Whether nothing speaks against the data."""
        return all(check.light != 'bad' for check in self.lights.checks)

    @property
    def verdict(self) -> str:
        """Whether it is good enough to be fitted, in words."""
        poor = [check.name.lower() for check in self.lights.checks if check.light != 'good']
        if not self.usable:
            return 'do not fit this before it is mended: ' + ', '.join(poor)
        enough = 'hardly enough to fit' if 'content' in poor else 'good enough to fit'
        return enough + (f'; worth a look: {", ".join(poor)}' if poor else '')

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {'lights': [check.model_dump() for check in self.lights.checks],
                'quality': self.quality.to_json(), 'content': asdict(self.content)}

    def text(self) -> str:
        """Lights with their cures, then joint by joint."""
        lines = [f'{self.lights.source}: {self.verdict}', '']
        for check in self.lights.checks:
            lines.append(f'  {_WORDS[check.light]:5} {check.name:9} {check.text}')
            if check.light != 'good':
                lines.append(f'{"":17}-> {self.cure(check.name)}')
        lines += ['', *self.quality.text().splitlines()]
        return '\n'.join(
            textwrap.fill(line, _WIDTH, subsequent_indent=' ' * 17) if len(line) > _WIDTH else line
            for line in lines)

    def short_text(self) -> str:
        """Lights as a small table while it is recorded, the bad ones first."""
        good = [check.name.lower() for check in self.lights.checks if check.light == 'good']
        poor = sorted(
            (check for check in self.lights.checks if check.light != 'good'),
            key=lambda check: check.light != 'bad')
        lines = [f'{self.lights.duration:7.1f} s  {self.verdict}']
        lines += [
            f'{"":11}{_WORDS[check.light]:5}{check.name.lower()}: {check.text} '
            f'-> {self.cure(check.name)}' for check in poor]
        lines += [f'{"":11}good {", ".join(good)}'] if good else []
        return '\n'.join(
            textwrap.fill(line, _WIDTH, subsequent_indent=' ' * 16) for line in lines)

    def cure(self, light: str) -> str:
        """What mends a light that is not good.

        Args:
            light: Its name.
        """
        if light == 'Stamps' and self.quality.gaps and self.quality.jitter < MOST_JITTER:
            return _GAPS
        if light == 'Content':
            seconds = self.content.duration / max(self.content.per_combination, 1e-3)
            return f'{_CURES[light]}, {_round_up(seconds)} s of motion like this at least'
        return _CURES[light]


def check_recording(setup: FitSetup) -> RecordingCheck:
    """Judge a recording by itself.

    Args:
        setup: Its settings, and the torque model.

    Raises:
        RecordingError: It cannot be read, or its units or signs are wrong.
    """
    measured = with_filters(Measurements.read(setup))
    part, = measured.parts
    findings: tuple[EffortFinding, ...] = ()
    touched: Disturbances | None = None
    if measured.judged_by_motion:
        # Refuses commands of other units, signs and joints, as a fit does.
        measured.trajectory_problem()
    else:
        undisturbed, touched = undisturbed_part(measured)
        findings, = undisturbed.effort_findings()
    quality = part.quality(findings)
    torque_measured = actuated(setup.model) is None
    # What drives do is known but for a few numbers: bodies and joints are what motion has to tell.
    model = setup.model if torque_measured else TorqueModel(
        setup.model.robot, [one for one in setup.model.terms if not isinstance(one, Actuators)])
    sought = setup.parameters()
    free = np.array([sought.free[sought.index(name)] for name in model.parameters.names])
    content = MotionContent.of(part.dataset, model, free)
    lights = RecordingQuality.of(quality, torque_measured=torque_measured, content=content)
    if touched is not None:
        lights = lights.model_copy(update={'checks': [*lights.checks, Check(
            name='Touched', light='look',
            text=f'by something, it seems, from {touched.spans}, which hold '
            f'{100.0 * touched.squares:.3g} % of what a model of the rest misses')]})
    return RecordingCheck(quality, lights, content)


def _round_up(seconds: float) -> int:
    """Whole multiples of five seconds: the estimate knows no better."""
    return 5 * math.ceil(seconds / 5.0)
