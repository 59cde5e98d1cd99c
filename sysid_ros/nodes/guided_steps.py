"""Steps of the loop in a terminal, each of which is said, and asked for, first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from sysid_ros.errors import SysidError
from sysid_ros.msg import ResultCode
from sysid_ros.nodes.refusal import RefusedError
from sysid_ros.nodes.robot_operator import Operator
from sysid_ros.nodes.terminal import Listener
from sysid_ros.settings import StrictSettings
from sysid_ros.srv import CommitParameters, ListRevisions

# Speed of the pass before the first recording of a robot of which no estimate was committed.
_FIRST_PASS = 0.2
# What a commit refuses because of the estimate, not because of how it was asked for.
_VERDICTS = (ResultCode.NOT_COMMITTABLE, ResultCode.INCONSISTENT, ResultCode.SHADOW_LOST)
# How long nodes may take to find one another, and longest time of a shadow test by default, in [s].
_FINDING, _SHADOW = 15.0, 50.0


@dataclass(frozen=True)
class NamedMotion:
    """A motion to ask the excitation node for.

    Attributes:
        name: What it is called in words.
        fields: Fields of the goal: ``motion``, its id, or ``motion_yaml``, all of it.
    """

    name: str
    fields: Mapping[str, str]

    @classmethod
    def of(cls, motion: str) -> NamedMotion:
        """A motion of the node's folder, by its id."""
        return cls(f'the motion {motion!r}', {'motion': motion})


class CampaignSettings(StrictSettings):
    """When a campaign ends, and where it finds what the nodes work with.

    Attributes:
        torque: Relative torque error that is wanted on random motion within the limits.
        base: Relative deviation of the base parameters that is wanted; None: not asked for.
        most_motions: Most motions that are played.
        plan: Settings file of the excitation; empty: that of the excitation node.
        settings: Settings file of the fit; empty: that of the identification node.
        data_folder: Folder of the recordings; empty: that of the identification node.
    """

    torque: float = Field(default=0.01, gt=0.0)
    base: float | None = Field(default=None, gt=0.0)
    most_motions: int = Field(default=6, ge=1)
    plan: str = ''
    settings: str = ''
    data_folder: str = ''


class GuidedRunSettings(StrictSettings):
    """What is done in one run.

    Attributes:
        motion: Id of the motion that is identified from; empty where a campaign designs them.
        campaign: The campaign; None for the one motion.
        trial: Id of the motion of the shadow test; empty for the last one again.
        speed: Part of the designed speed that both are played at.
        first_pass: Part of it of a pass before, that is not recorded; 0: none; None: a fifth
            where no estimate was committed yet.
        shadow: Last seconds of the shadow test in [s]; None: those of its motion; 0: no such test.
        commit: Whether the estimate is committed in the end.
        comment: Kept with the revision.
        yes: Whether nothing is asked.
        patience: Longest wait for the nodes in [s].
    """

    motion: str = ''
    campaign: CampaignSettings | None = None
    trial: str = ''
    speed: float = Field(default=1.0, gt=0.0, le=1.0)
    first_pass: float | None = Field(default=None, ge=0.0, le=1.0)
    shadow: float | None = Field(default=None, ge=0.0)
    commit: bool = True
    comment: str = ''
    yes: bool = False
    patience: float = Field(default=60.0, gt=0.0)


class GuidedSteps:
    """Steps of the loop for a person: what comes next, whether it may, and what came of it.

    Args:
        settings: What is done.
        operator: What talks to the nodes.
        terminal: Where it is said and asked.
    """

    def __init__(
        self, settings: GuidedRunSettings, operator: Operator, terminal: Listener
    ) -> None:
        self._settings, self._operator, self._terminal = settings, operator, terminal

    def pass_slowly(self, motion: NamedMotion) -> None:
        """Play a motion slowly, without recording, where that was asked for or nothing is known."""
        speed = self._settings.first_pass
        if speed is None:
            revisions = self._operator.call(ListRevisions, 'model_server/list_revisions').revisions
            known = any(revision.current and revision.estimate for revision in revisions)
            speed = 0.0 if known else _FIRST_PASS
        if speed > 0.0:
            self._terminal.require(
                f'Arm the excitation and play {motion.name} at {100.0 * speed:g} % of its speed, '
                'without recording: see that the way is free.')
            self._play(motion, speed)

    def record(self, motion: NamedMotion) -> str:
        """Play a motion and record it; the id of the recording.

        Raises:
            SysidError: It was not played to its end, and is not to be begun again.
        """
        speed = self._settings.speed
        self._terminal.require(
            f'Arm the excitation, record, and play {motion.name} at {100.0 * speed:g} % of its '
            'speed.')
        while True:
            recording = self._operator.begin_recording()
            played = self._excite(motion, speed)
            stopped = self._operator.end_recording()
            if self._was_played(motion, played):
                break
        self._terminal.say(
            f'{stopped.samples} joint states in {stopped.duration:.1f} s, {stopped.dropped} '
            f'dropped: recording {recording}.')
        return recording

    def _play(self, motion: NamedMotion, speed: float) -> Any:
        """Play a motion to its end; the result of the action."""
        while True:
            played = self._excite(motion, speed)
            if self._was_played(motion, played):
                return played

    def _excite(self, motion: NamedMotion, speed: float) -> Any:
        return self._operator.excite(speed=speed, seconds=_FINDING, **motion.fields)

    def _was_played(self, motion: NamedMotion, result: Any) -> bool:
        """Whether a motion was played to its end; if not, the person wants to begin it again."""
        if result.success:
            self._terminal.say(
                f'Played. The robot was within {result.tracking_error:.2g} rad or m of its '
                'command.')
            return True
        error = RefusedError(result.code, SysidError(
            f'{motion.name} was not played to its end', found=result.code,
            fix=result.message.rstrip('.')))
        if self._settings.yes or result.code == ResultCode.UNKNOWN_ID:
            # What stopped a robot is for a person to look at.
            raise error
        self._terminal.say(str(error))
        self._terminal.require('Reset the monitor, and begin the motion again.')
        self._operator.reset_monitor()
        return False

    def identify(self, recordings: str) -> Any:
        """Fit recordings, named with commas between; the result of the action.

        Raises:
            SysidError: There is no estimate.
        """
        self._terminal.require(
            f'Fit {recordings.replace(",", ", ")}, and judge the estimate.')
        result = self._operator.identify(recordings)
        say = self._terminal.say
        say(f'Estimate {result.estimate}: torque error '
            f'{_percent(result.held_out_relative_error)} on data that was not fitted, '
            f'{_percent(result.prior_relative_error)} by the description.')
        say('It may be committed.' if result.committable else 'It must not be committed:')
        for title, sentences in (('-', result.reasons), ('next:', result.next_steps)):
            for sentence in sentences:
                say(f'  {title} {sentence}')
        return result

    def commit(self, estimate: str, last: NamedMotion) -> bool:
        """Try an estimate on a motion, and commit it; whether it was.

        Args:
            estimate: Its id.
            last: The motion to try it on where no other one is named.

        Raises:
            SysidError: It was refused, and not because of what it is.
        """
        settings = self._settings
        shadow = settings.shadow
        if shadow != 0.0:
            trial = NamedMotion.of(settings.trial) if settings.trial else last
            self._terminal.require(
                f'Arm the excitation and play {trial.name} at {100.0 * settings.speed:g} % of its '
                f'speed, on which {estimate} and the current revision predict torques.')
            played = self._play(trial, settings.speed)
            shadow = shadow or min(_seconds(played.end) - _seconds(played.begin), _SHADOW)
        self._terminal.require(f'Commit {estimate}: controllers use it from then on.')
        answer = self._operator.ask(
            CommitParameters, 'model_server/commit', estimate=estimate, shadow_duration=shadow,
            comment=settings.comment)
        if not answer.success:
            if answer.code not in _VERDICTS:
                raise SysidError('the commit was refused', found=answer.code,
                                 fix=answer.message.rstrip('.'))
            self._terminal.say(f'It was not committed: {answer.message}')
            return False
        self._terminal.say(answer.message)
        if answer.kept:
            self._terminal.say('Not told by the data, as described: ' + ', '.join(answer.kept))
        self._terminal.say(
            'To take it back: ros2 service call /model_server/rollback '
            'sysid_ros/srv/RollbackParameters')
        return True


def _percent(part: float) -> str:
    return 'unknown' if math.isnan(part) else f'{100.0 * part:.3g} %'


def _seconds(stamp: Any) -> float:
    return float(stamp.sec + 1e-9 * stamp.nanosec)
