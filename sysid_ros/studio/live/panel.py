"""What pages of a robot show and do: the state, the choices, the controls, and what is under way.

Everything that changes a robot goes through here, and asks first who has the controls. A stop asks
nothing and waits for nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, get_args

from sysid_ros.errors import ConfigurationError, SysidError
from sysid_ros.studio.error_notes import error_note
from sysid_ros.studio.live.activity import Activity, Kind, Outcome
from sysid_ros.studio.live.choices import LONGEST_SHADOW, LiveChoices
from sysid_ros.studio.live.controls import OperatorControls
from sysid_ros.studio.live.data_listing import DataListing
from sysid_ros.studio.live.hold import HoldToRun
from sysid_ros.studio.live.robot_link import RobotLink
from sysid_ros.studio.live.state import LiveState
from sysid_ros.studio.notes import Notes

_CHOICES = 'panel'
_Work = Callable[[Activity], Outcome]


class Panel:
    """The panel of one robot, which all its pages share.

    Args:
        state: What the nodes tell.
        link: What is asked of them.
        data: The data folder.
        hold: Signs of life of whoever holds a motion.
        robot: What the robot is called on pages.

    Attributes:
        state: As given.
        data: As given.
        hold: As given.
        robot: As given.
        controls: Who has the controls.
        stopped: When a page last asked for a stop in [s] since 1970, and how, in words.
    """

    def __init__(
        self, state: LiveState, link: RobotLink, data: DataListing, hold: HoldToRun, robot: str,
    ) -> None:
        self.state, self.data, self.hold, self.robot = state, data, hold, robot
        self.controls, self.stopped = OperatorControls(), (0.0, '')
        self._link, self._activities = link, dict[Kind, Activity]()
        self._lanes: dict[Kind, ThreadPoolExecutor] = {
            kind: ThreadPoolExecutor(1, f'panel-{kind}') for kind in get_args(Kind)}
        self._notes = Notes(data.data.root / '.studio')
        self._running: set[asyncio.Future[None]] = set()
        self._choices = self._noted_choices()

    # What is shown

    @property
    def choices(self) -> LiveChoices:
        """What is chosen, as far as it is there."""
        return self._choices.within(self.data.listing())

    def choose(self, **changes: Any) -> None:
        """Choose something else.

        Args:
            changes: New values by field of :class:`~sysid_ros.studio.live.choices.LiveChoices`.

        Raises:
            ConfigurationError: A value is none of its field.
            ReleaseError: It cannot be noted.
        """
        chosen = self.choices.with_changes(changes)
        if chosen != self._choices:
            self._choices = chosen
            self._notes.write(_CHOICES, chosen.model_dump(mode='json'))

    def activity(self, kind: Kind) -> Activity | None:
        """The last activity of a kind; None where nobody asked for one."""
        return self._activities.get(kind)

    # The controls

    def take_controls(self, tab: str, address: str = '', *, over: bool = False) -> None:
        """Give a tab the controls; a motion that another one held is stopped.

        Args:
            tab: Id of the tab.
            address: Where its browser is.
            over: Whether they are taken from whoever has them.

        Raises:
            ConfigurationError: Another tab has them.
        """
        before = self.controls.holder
        self.controls.take(tab, address, over=over)
        if before is not None and before.tab != tab:
            self._drop_hold()

    def give_controls_back(self, tab: str) -> None:
        """Let go of the controls; a motion that the tab held is stopped."""
        if self.controls.holds(tab):
            self._drop_hold()
        self.controls.give_back(tab)

    # Stops

    def stop(self) -> str:
        """Ask for a stop at once, whoever asks; how it was asked for, in words."""
        self.hold.end()
        said = self._link.request_stop()
        self.stopped = (time.time(), said)
        return said

    def watch_hold(self) -> None:
        """Stop a motion whose hold is lost. Called again and again by the node."""
        if self.hold.lost:
            self.stop()
            self.stopped = (time.time(), 'The page that held the motion fell silent: a stop was '
                            'asked for.')

    def release(self, tab: str) -> None:
        """Stop the motion that a tab holds, as its button was let go."""
        if self.controls.holds(tab):
            self._drop_hold()

    def _drop_hold(self) -> None:
        if self.hold.held:
            self.stop()

    # Orders that are answered soon

    async def arm(self, tab: str, *, allowed: bool) -> None:
        """Allow one motion, or take that back.

        Args:
            tab: Id of the tab that asks.
            allowed: Whether a motion is allowed.

        Raises:
            SysidError: The tab does not have the controls, or the node refuses.
        """
        await self._order(tab, partial(self._link.arm, allowed=allowed))

    async def reset_monitor(self, tab: str) -> None:
        """Reset the monitor.

        Raises:
            SysidError: The tab does not have the controls, or the robot does not rest.
        """
        await self._order(tab, self._link.reset_monitor)

    async def begin_recording(self, tab: str) -> None:
        """Begin to record.

        Raises:
            SysidError: The tab does not have the controls, or the node refuses.
        """
        await self._order(tab, self._link.begin_recording)

    async def end_recording(self, tab: str) -> None:
        """End the recording, which is chosen to be fitted.

        Raises:
            SysidError: The tab does not have the controls, or the node refuses.
        """
        self._recorded(await self._order(tab, self._link.end_recording))

    async def _order(self, tab: str, work: Callable[[], Outcome]) -> Outcome:
        self.controls.require(tab)
        return await asyncio.get_running_loop().run_in_executor(self._lanes['order'], work)

    # Activities

    def begin_motion(self, tab: str, *, held: bool = False) -> Activity:
        """Play the motion that is chosen, and record it where that is chosen.

        Args:
            tab: Id of the tab that asks.
            held: Whether it goes on only while the tab says so.

        Raises:
            ConfigurationError: The tab does not have the controls, or there is nothing to play.
        """
        self.controls.require(tab)
        chosen = self.choices
        if not chosen.motion:
            raise ConfigurationError(
                'there is no motion', where=str(self.data.data.root / 'motions'), found='nothing',
                fix='Write one: sysid excite excitation.yaml -o '
                f'{self.data.data.root / "motions" / "first.yaml"}')
        if not self.state.armed:
            raise ConfigurationError(
                'the excitation is not armed', found='nothing' if self.state.phase is None
                else self.state.phase.value, fix='Press Arm, then play within the minute')
        title = f'Motion {chosen.motion} at {100.0 * chosen.speed:g} % of its speed' + (
            ', recorded' if chosen.record else '')
        work = partial(self._play, chosen)
        activity = self._require_free('motion', title)
        if held:
            self.hold.begin(tab)
        return self._begin(activity, work)

    def _play(self, chosen: LiveChoices, activity: Activity) -> Outcome:
        """Play a motion between the beginning and the end of a recording."""
        try:
            if not chosen.record:
                return self._link.play(chosen.motion, chosen.speed, activity.tell)
            activity.tell('Beginning to record', 0.0)
            self._link.begin_recording()
            try:
                played = self._link.play(chosen.motion, chosen.speed, activity.tell)
            finally:
                activity.tell('Writing the recording', 1.0)
                recorded = self._link.end_recording()
            if played.good:
                self._recorded(recorded)
            return Outcome(
                played.good, f'{played.text} {recorded.text}', recorded.name, played.seconds,
                (*played.details, *recorded.details))
        finally:
            self.hold.end()

    def _recorded(self, outcome: Outcome) -> None:
        self.data.expire()
        if outcome.name:
            self.choose(fitted=(outcome.name,))

    def begin_fit(self, tab: str) -> Activity:
        """Fit the recordings that are chosen.

        Raises:
            ConfigurationError: The tab does not have the controls, or there is no recording.
        """
        self.controls.require(tab)
        chosen = self.choices
        if not chosen.fitted:
            raise ConfigurationError(
                'there is no recording', where=str(self.data.data.root / 'recordings'),
                found='nothing', fix='Play and record a motion first')

        def fit(activity: Activity) -> Outcome:
            outcome = self._link.identify(chosen.fitted, chosen.validation, activity.tell)
            self.data.expire()
            self.choose(estimate=outcome.name)
            return outcome

        return self._begin(self._require_free('fit', f'Fit of {", ".join(chosen.fitted)}'), fit)

    def cancel_fit(self, tab: str) -> None:
        """Ask for the end of the fit.

        Raises:
            ConfigurationError: The tab does not have the controls.
        """
        self.controls.require(tab)
        self._link.cancel_fit()

    def begin_commit(self, tab: str, comment: str) -> Activity:
        """Try the estimate that is chosen in a shadow test, and commit it.

        Args:
            tab: Id of the tab that asks.
            comment: Kept with the revision.

        Raises:
            ConfigurationError: The tab does not have the controls, or there is no estimate.
        """
        self.controls.require(tab)
        chosen = self.choices
        if not chosen.estimate:
            raise ConfigurationError(
                'there is no estimate', where=str(self.data.data.root / 'estimates'),
                found='nothing', fix='Fit a recording first')
        return self._begin(
            self._require_free('release', f'Commit of {chosen.estimate}'),
            lambda _: self._link.commit(chosen.estimate, chosen.shadow, comment))

    def begin_rollback(self, tab: str, revision: str = '') -> Activity:
        """Hand out again what an earlier revision held.

        Args:
            tab: Id of the tab that asks.
            revision: Id of the revision; empty: the one before the current.

        Raises:
            ConfigurationError: The tab does not have the controls.
        """
        self.controls.require(tab)
        return self._begin(
            self._require_free('release', f'Return to {revision or "the revision before"}'),
            lambda _: self._link.roll_back(revision, 'from the panel'))

    def _require_free(self, kind: Kind, title: str) -> Activity:
        before = self._activities.get(kind)
        if before is not None and before.active:
            raise ConfigurationError(
                'another one is under way', found=before.title, fix='Wait for its end')
        return Activity(kind, title)

    def _begin(self, activity: Activity, work: _Work) -> Activity:
        self._activities[activity.kind] = activity
        running = asyncio.get_running_loop().run_in_executor(
            self._lanes[activity.kind], self._run_activity, activity, work)
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return activity

    def _run_activity(self, activity: Activity, work: _Work) -> None:
        try:
            activity.outcome = work(activity)
            if activity.kind == 'motion' and activity.outcome.good:
                self.choose(shadow=min(round(activity.outcome.seconds, 1), LONGEST_SHADOW))
        except SysidError as error:
            activity.error = error_note(error)
        except Exception as error:  # noqa: BLE001 (whoever looks is told)
            activity.error = error_note(SysidError(
                f'it broke down: {type(error).__name__}: {error}',
                fix='See what the nodes printed'))
        finally:
            activity.ended = time.time()

    def close(self) -> None:
        """Take no more orders; what is under way in the nodes goes on."""
        for lane in self._lanes.values():
            lane.shutdown(wait=False, cancel_futures=True)

    def _noted_choices(self) -> LiveChoices:
        try:
            return LiveChoices().with_changes(self._notes.read(_CHOICES) or {})
        except ConfigurationError:
            return LiveChoices()
