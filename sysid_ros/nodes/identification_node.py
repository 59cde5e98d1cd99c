"""Records joint states, efforts and sensors, and fits recordings on request.

Reception never waits: bags are written by a thread, and fits run in processes of their own. The
node is active when such a process has loaded the compiled functions that its estimator calls.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus

from sysid_ros.data_folder import DataFolder, new_id
from sysid_ros.errors import ConfigurationError, SysidError
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.msg import IdentificationStatus, IdentifiedParameters, ResultCode
from sysid_ros.nodes.acknowledgement import Acknowledgement
from sysid_ros.nodes.background import Background
from sysid_ros.nodes.command_feed import CommandFeed, command_feeds
from sysid_ros.nodes.conversions import model_with_terms_of, parameters_from_message
from sysid_ros.nodes.effort_topics import EffortTopics
from sysid_ros.nodes.fit_server import FitServer
from sysid_ros.nodes.identification_settings import IdentificationNodeSettings
from sysid_ros.nodes.joint_state_feed import JointStateFeed, Tap
from sysid_ros.nodes.joint_state_feeds import joint_state_feeds, wanted_joints
from sysid_ros.nodes.node import LATCHED, SysidNode, now
from sysid_ros.nodes.online_server import OnlineServer
from sysid_ros.nodes.payload_server import PayloadServer
from sysid_ros.nodes.process import run
from sysid_ros.nodes.refusal import RefusedError
from sysid_ros.nodes.robot_description import published_description
from sysid_ros.nodes.sensor_feed import SensorFeed, sensor_feeds
from sysid_ros.nodes.shipping import Shipping
from sysid_ros.nodes.torque_watch import TorqueWatch
from sysid_ros.recording.live.readiness import require_recordable
from sysid_ros.recording.live.window import LiveWindow
from sysid_ros.release.revision import require_successor
from sysid_ros.runs.job import WarmUpJob
from sysid_ros.runs.live_recording import LiveRecording, Tally
from sysid_ros.runs.sources import load_without_recording
from sysid_ros.srv import StartIdentification, StopIdentification

_POLL_PERIOD, _LOAD_PERIOD = 0.05, 0.1
# Motion that the torques of the status are of, and time to ask again for a lost answer, in [s].
_STATUS_WINDOW, _ASKED_AGAIN = 2.0, 10.0
# Longest wait for a bag to be complete, in [s].
_COMPLETION = 30.0
_PARAMETERS = 'model_server/identified_parameters'


class IdentificationNode(SysidNode[IdentificationNodeSettings]):
    """The identification node."""

    settings_class = IdentificationNodeSettings

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__('identification_node', arguments)
        self._recording: LiveRecording | None = None
        self._fits: FitServer | None = None
        self._online: OnlineServer | None = None
        self._payload: PayloadServer | None = None
        self._shipping: Shipping | None = None

    # Lifecycle

    def configure(self) -> None:
        """Load the robot, listen, and offer services."""
        settings = self.settings
        if not settings.settings:
            raise ConfigurationError(
                "the parameter 'settings' is empty", where=self.get_fully_qualified_name(),
                allowed='a settings file with the sections robot, processing and fit',
                fix='ros2 launch sysid_ros identify.launch.py settings:=arm.yaml')
        self._data = DataFolder(Path(settings.data_folder))
        file = Path(settings.settings).expanduser()
        identification = load_without_recording(
            file, published_description(self, file, self.ending))
        fit = identification.settings.fit
        # A misspelt name is refused before any work is done.
        identification.settings.require_estimator(fit.estimator)
        self._setup = FitSetup.of(identification)
        self._model = self._setup.model
        self._believed, self.hardware_id = (
            (self._model, self._model.parameters), self._model.robot.name)
        self._revision: IdentifiedParameters | None = None
        self._foreign = ''
        self._joints = wanted_joints(settings.joints, self._setup)
        self._feeds = tuple(joint_state_feeds(self, self._setup, self._joints, self._tap))
        self._sensors = sensor_feeds(
            self, self._setup.settings.recording.sensors.values(), self._tap, len(self._feeds))
        self._commands = command_feeds(
            self, self._setup, self._tap(len(self._feeds) + len(self._sensors)))
        self._beside: tuple[SensorFeed | CommandFeed, ...] = (*self._sensors, *self._commands)
        self._topics: tuple[JointStateFeed | SensorFeed | CommandFeed, ...] = (
            *self._feeds, *self._beside)
        self._torques = TorqueWatch(
            self._setup, EffortTopics(self, self._model.robot.limb_joints).publish)
        self.listen(IdentifiedParameters, _PARAMETERS, self._take_revision, LATCHED)
        Acknowledgement(self, _PARAMETERS, lambda: self._revision_id)
        self._disk = Background(self)
        self.serve(StartIdentification, '~/start', self._start)
        self.serve(StopIdentification, '~/stop', self._stop, always=True)
        self._fits = FitServer(
            self, self._data, identification.path, settings.holdout, warm_up=WarmUpJob(
                estimator=fit.estimator, closed=self._model.robot.loops is not None)
            if settings.fit_standby else None,
            recording=lambda: self._recording, revision=lambda: self._revision_id,
            robot=self._model.robot)
        self._payload = PayloadServer(self, self._data, self._window, lambda: self._revision)
        self._online = OnlineServer(
            self, self._setup, settings.following(), self._data, self._since,
        ) if settings.online else None
        self._shipping = Shipping(
            self, self._data.root, settings.ship_to, settings.ship_period, self._idle,
        ) if settings.ship_to else None
        self._status = self.advertise(IdentificationStatus, '~/status')
        self.every(_POLL_PERIOD, self._poll)
        self._loader = self.every(_LOAD_PERIOD, self._load_for_joint_states)
        self.every(1.0 / settings.status_rate, self._say)

    def load(self) -> None:
        """Have a process ready for the next fit."""
        assert self._fits is not None  # it is configured
        self._fits.standby.start()

    def loading(self) -> str:
        """What fits, and what comes in, call and is not loaded yet."""
        if self._fits is None or self._fits.standby.problem:
            return ''
        if self._fits.standby.loading:
            return f'the process for fits ({self._fits.standby.loading})'
        return '' if self._torques.loaded else 'the compiled functions for joint states'

    def activate(self) -> None:
        """Grant requests, if a process is ready for the next fit."""
        assert self._fits is not None  # it is configured
        self._fits.standby.require_ready()
        self._torques.require_loaded()

    def deactivate(self) -> None:
        """End the recording and the fit."""
        if self._recording is not None:
            self._recording.stop()
        if self._fits is not None:
            self._fits.end('the node was deactivated')

    def cleanup(self) -> None:
        """Let go of recording and fit."""
        self.deactivate()
        if self._fits is not None:
            self._fits.close()
            self._torques.close()
            self._disk.close()
        for server in (self._payload, self._online, self._shipping):
            if server is not None:
                server.close()

    def working(self) -> bool:
        """Whether it records or fits."""
        return self._records or self._fitting

    def at_rest(self) -> bool:
        """Whether the bag is complete, no fit runs, and nobody waits for a payload."""
        settled = self._fits is None or self._fits.settled
        waited_for = self._payload is not None and self._payload.busy
        return settled and not waited_for and (
            self._recording is None or self._recording.finished)

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """What is wrong with what comes in, and with the recording."""
        if not self.configured:
            return DiagnosticStatus.OK, 'not configured', {}
        recording = self._recording
        values: dict[str, object] = {
            'recording': recording.name if recording is not None else '',
            'rate [Hz]': f'{self._feeds[0].live.rate:.4g}',
            'publishers': self._feeds[0].publishers(),
        }
        for feed in self._feeds:
            if feed.live.unknown:
                values[f'{feed.topic}: other joints, ignored'] = ', '.join(feed.live.unknown)
            values |= {f'{feed.topic}: {name}': n for name, n in feed.live.counts.items()}
        errors = [feed.qos_problem() for feed in self._topics]
        errors += [recording.error] if recording is not None else []
        for level, found in (
            (DiagnosticStatus.ERROR, errors), (DiagnosticStatus.WARN, list(self._warnings())),
        ):
            sentences = [sentence for sentence in found if sentence]
            if sentences:
                return level, '; '.join(sentences), values
        if self.inactive and self.loading():
            return DiagnosticStatus.OK, f'loading {self.loading()}', values
        return DiagnosticStatus.OK, 'recording' if self._records else 'ready', values

    def _load_for_joint_states(self) -> None:
        # After the process for fits, which has compiled by then what both of them need.
        assert self._fits is not None  # it is configured
        if self._fits.standby.ready:
            self._torques.load()
            self._loader.cancel()

    # What comes in

    def _tap(self, number: int) -> Tap:
        def add(payloads: Sequence[bytes], stamps: Sequence[int]) -> None:
            if self._recording is not None:
                self._recording.add(number, payloads, stamps)

        return add

    def _poll(self) -> None:
        for feed in self._topics:
            feed.poll()

    def _take_revision(self, message: IdentifiedParameters) -> None:
        try:
            require_successor(message.revision, self._revision_id)
            model = model_with_terms_of(message, self._model)
            self._believed = model, parameters_from_message(message, model)
        except SysidError as error:
            self._foreign = f'a revision was heard that is not used: {error}'
            return
        self._revision, self._foreign = message, ''
        if self._online is not None:
            self._online.compare_with(message, *self._believed)

    def _window(self, seconds: float = math.inf) -> LiveWindow:
        """What was heard in the last seconds."""
        states, *efforts = (feed.live for feed in self._feeds)
        return LiveWindow.heard(states, efforts[0] if efforts else None, seconds)

    def _since(self, time: float) -> LiveWindow:
        """What was heard since a time in [s] since 1970."""
        latest = self._feeds[0].live.latest
        return self._window(math.inf if latest is None else latest.t - time)

    @property
    def _revision_id(self) -> str:
        return '' if self._revision is None else str(self._revision.revision)

    def _warnings(self) -> Iterator[str]:
        yield self._foreign
        if self._fits is not None and self._fits.standby.problem:
            yield f'the process for the next fit ended: {self._fits.standby.problem}'
        if self._online is not None:
            yield self._online.warning()
        if self._shipping is not None:
            yield self._shipping.problem
        for feed in self._topics:
            yield from feed.warnings()

    # Services

    def _start(
        self, request: StartIdentification.Request, response: StartIdentification.Response
    ) -> None:
        recording = self._recording
        if recording is not None and recording.running:
            if recording.name != request.recording or recording.tally.duration > _ASKED_AGAIN:
                raise RefusedError(ResultCode.BUSY, SysidError(
                    'a recording is under way', found=self._name, fix='Stop it first'))
            response.recording, response.message = self._name, f'recording {self._name}'
            return
        self._poll()
        name = request.recording or new_id('recording')
        folder = self._data.recording(name)
        try:
            self._require_recordable()
        except SysidError as error:
            raise RefusedError(ResultCode.NOT_READY, error) from error
        self._recording = LiveRecording(
            name, folder, self._setup, joints=self._joints,
            topics=[feed.topic for feed in self._feeds], live=[feed.live for feed in self._feeds],
            beside=[(feed.topic, feed.kind) for feed in self._beside],
            commands=self._commands[0].topic if self._commands else '')
        for feed in self._commands:
            feed.repeat_last()
        response.recording, response.message = name, f'recording {name}'

    def _require_recordable(self) -> None:
        for feed in self._topics:
            problem = feed.qos_problem()
            if problem:
                raise SysidError(problem.rstrip('.'))
        if self._waits_for_replay():
            return
        processing = self._setup.settings.processing
        states, *efforts = self._feeds
        require_recordable(
            states.live, states.topic, now(), processing=processing, effort=not efforts,
            unmeasured=self._setup.unmeasured)
        for feed in efforts:
            require_recordable(feed.live, feed.topic, now(), unmeasured=self._setup.unmeasured)
        for beside in self._beside:
            beside.require_heard()

    def _waits_for_replay(self) -> bool:
        # A replay has no time to lose: what it lacks is found by the fit.
        simulated = bool(self.get_parameter('use_sim_time').value)
        return simulated and all(feed.live.first_stamp is None for feed in self._feeds)

    async def _stop(
        self, _: StopIdentification.Request, response: StopIdentification.Response
    ) -> None:
        recording = self._recording
        if recording is None:
            raise RefusedError(ResultCode.NOT_RECORDING, SysidError(
                'nothing was recorded', fix='Begin a recording first: ~/start'))
        if recording.running:
            self._poll()
        tally = recording.stop()
        # Whoever has the answer may read the bag.
        complete = await self._disk.run(recording.wait, _COMPLETION)
        response.recording, response.samples = recording.name, tally.samples
        response.dropped, response.duration = tally.dropped, tally.duration
        response.message = f'{tally.samples} joint states in {tally.duration:.3f} s'
        if recording.error:
            raise RefusedError(ResultCode.STORAGE, SysidError(
                recording.error, fix='Make room on the disk, and record again'))
        if not complete:
            raise RefusedError(ResultCode.STORAGE, SysidError(
                f'{recording.name} is still being written after {_COMPLETION:g} s',
                fix='Stop again to wait for it, and record to a faster disk'))

    def _idle(self) -> bool:
        """Whether the robot stands and nothing is recorded or fitted."""
        states = self._feeds[0].live
        moves = self._heard_of_late and states.latest is not None and bool(
            (np.abs(np.nan_to_num(states.latest.v)) > self.settings.motion_velocity).any())
        return not moves and not self.working() and self.at_rest()

    @property
    def _heard_of_late(self) -> bool:
        states = self._feeds[0].live
        return states.latest is not None and states.age(now()) < _STATUS_WINDOW

    @property
    def _records(self) -> bool:
        return self._recording is not None and self._recording.running

    @property
    def _fitting(self) -> bool:
        return self._fits is not None and self._fits.busy

    @property
    def _name(self) -> str:
        return '' if self._recording is None else self._recording.name

    # Status

    def _say(self) -> None:
        recording = self._recording
        if recording is not None and recording.running and recording.error:
            # What could not be written is over; whoever stops it is told why.
            recording.stop()
            self.get_logger().error(recording.error)
        tally = Tally() if recording is None else recording.tally
        counts = {} if tally.counts is None else dict(tally.counts)
        level, message, _ = self.diagnose()
        status = IdentificationStatus(
            stamp=self.get_clock().now().to_msg(), state=self._state(level), message=message,
            recording=self._name, duration=tally.duration, samples=tally.samples,
            dropped=tally.dropped, fault_names=list(counts), fault_counts=list(counts.values()),
            joint_names=list(self._model.robot.limb_joints))
        self._compare_torques()
        status.torque_rms = self._torques.rms.tolist()
        status.torque_residual_rms = self._torques.residual_rms.tolist()
        assert self._fits is not None  # it is configured
        self._fits.describe(status)
        status.online_consistency_margin = status.online_relative_error = math.nan
        if self._online is not None:
            self._online.describe(status)
        self._status.publish(status)

    def _state(self, level: bytes) -> int:
        if level == DiagnosticStatus.ERROR:
            return int(IdentificationStatus.ERROR)
        return int(
            IdentificationStatus.RECORDING * self._records
            + IdentificationStatus.FITTING * self._fitting)

    def _compare_torques(self) -> None:
        heard = self._window(_STATUS_WINDOW) if self._heard_of_late else None
        self._torques.update(heard, *self._believed)


def main() -> int:
    """Run the node."""
    return run(IdentificationNode)


if __name__ == '__main__':
    sys.exit(main())
