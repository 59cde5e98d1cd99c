"""The operator of the demo: a client that runs the whole loop through the nodes' interfaces.

It excites, records, identifies, commits after a shadow test, tracks the same motion by the prior,
the revision and the true parameters, rolls back, and writes what it saw to a file. A robot without
torque sensors has no controller that tracks and no shadow test: a second motion is recorded before
the fit, and judges it.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from lifecycle_msgs.msg import Transition
from pydantic import Field
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from sysid_ros.errors import SysidError
from sysid_ros.msg import ResultCode
from sysid_ros.nodes.context import end_ros, start_ros
from sysid_ros.nodes.parameters import NodeParameters
from sysid_ros.nodes.robot_operator import Operator
from sysid_ros.nodes.tracking_observer import TrackingObserver
from sysid_ros.settings import StrictSettings
from sysid_ros.srv import GetRevision, ListRevisions


class DemoOperatorSettings(StrictSettings):
    """Parameters of the operator."""

    results: str = Field(default='results.json', description='File to write')
    identification_motion: str = Field(
        default='identification', description='Motion that is identified from')
    held_out_motion: str = Field(
        default='held_out', description='Motion for the shadow test, and to track')
    controller: str = Field(
        default='computed_torque_controller', description='Controller that takes revisions; '
        'empty: none, of a robot without torque sensors')
    true_controller: str = Field(
        default='true_model_controller',
        description='Controller with the true parameters, not configured; empty: none')
    shadow_duration: float = Field(
        default=12.0, gt=0.0, description='Last seconds of the shadow test [s]')
    attempts: int = Field(
        default=3, ge=1, description='Times that a motion is begun before the loop ends early')
    patience: float = Field(
        default=120.0, gt=0.0, description='Longest wait for an answer that is not a motion [s]')


class DemoOperator:
    """The loop, step by step.

    Args:
        node: Node to talk through.
    """

    def __init__(self, node: Node) -> None:
        self._settings = NodeParameters(node, DemoOperatorSettings, lambda _: '').settings
        self._observer = TrackingObserver(node)
        self._operator = Operator(node, self._settings.patience, poll=self._observer.poll)
        self._began = time.monotonic()
        self.results: dict[str, Any] = {'tracking': {}, 'seconds': {}, 'stops': []}

    def run(self) -> None:
        """The whole loop.

        Raises:
            SysidError: A step did not do what it should.
        """
        settings = self._settings
        self._tell('waiting for the nodes')
        self._operator.wait_for_nodes()
        # The consumer of revisions runs what it was given first.
        self._wait_for_consumer()
        self._record(settings.identification_motion)
        if settings.controller:
            self._identify(settings.identification_motion)
            self._track('prior', record=True)
            self._commit(settings.shadow_duration)
            self._track('revision')
            self._track_by_truth()
        else:
            self._record(settings.held_out_motion)
            self._identify(settings.identification_motion, settings.held_out_motion)
            self._commit(0.0)
        self._roll_back()
        self._list()

    # Steps

    def _track_by_truth(self) -> None:
        settings = self._settings
        if settings.true_controller:
            self._switch_controller(settings.controller, settings.true_controller)
            self._track('truth')
            self._switch_controller(settings.true_controller, settings.controller)

    def _record(self, motion: str) -> Any:
        self._tell(f'recording the motion {motion!r}')
        self._operator.begin_recording(motion)
        played = self._excite(motion)
        stopped = self._operator.end_recording()
        self._tell(f'{stopped.samples} samples in {stopped.duration:.1f} s, '
                   f'{stopped.dropped} dropped')
        self.results.setdefault('recordings', {})[motion] = {
            'samples': stopped.samples, 'dropped': stopped.dropped}
        return played

    def _excite(self, motion: str) -> Any:
        """Arm, play, and wait for the end.

        Tried again while nodes are finding one another, and, as a person would, after a stop: a
        desktop that simulates the robot may pause for longer than a robot can wait.
        """
        deadline, left = time.monotonic() + self._settings.patience, self._settings.attempts
        while True:
            # What the monitor saw while nodes were starting is over; what it sees in motion stays.
            self._operator.reset_monitor()
            result = self._operator.excite(motion=motion, seconds=0.0)
            if result.success:
                return result
            waits = result.code == ResultCode.NOT_READY and time.monotonic() < deadline
            left -= not waits
            if left <= 0:
                raise SysidError(
                    f'the motion {motion!r} was not played to its end', found=result.code,
                    fix=result.message.rstrip('.'))
            if not waits:
                self._tell(f'stopped: {result.message} Once more')
                self.results['stops'].append(result.message)
            self._operator.spin(0.5 if waits else 2.0)

    def _identify(self, motion: str, validation: str = '') -> None:
        self._tell('identifying')
        result = self._operator.identify(motion, validation)
        self._tell('the verdict: ' + (
            'may be committed' if result.committable else '; '.join(result.reasons)))
        self.results |= {
            'estimate': result.estimate, 'committable': result.committable,
            'reasons': list(result.reasons), 'next_steps': list(result.next_steps),
            'consistency_margin': result.consistency_margin,
        }

    def _track(self, name: str, *, record: bool = False) -> None:
        """Measure how well a motion is tracked; the recorded one is not run in.

        Dry friction keeps the robot where the parameters before let it rest, and a motion that
        begins there begins with their error.
        """
        motion = self._settings.held_out_motion
        if not record:
            self._tell(f'running in by the {name}')
            self._excite(motion)
        self._observer.begin()
        self._tell(f'tracking the motion {motion!r} by the {name}')
        played = self._record(motion) if record else self._excite(motion)
        tracking = self._observer.end(*(
            stamp.sec + 1e-9 * stamp.nanosec for stamp in (played.begin, played.end)))
        self._tell(f'tracked by the {name}: {1e3 * tracking.rms:.2f} mrad')
        self.results['tracking'][name] = tracking.to_json()

    def _commit(self, shadow_duration: float) -> None:
        self._tell('committing' + (' after a shadow test' if shadow_duration else ''))
        answer = self._operator.commit(self.results['estimate'], shadow_duration, 'demo')
        self._tell(answer.message)
        self.results['commit'] = {
            'revision': answer.revision, 'kept': list(answer.kept),
        }
        if shadow_duration:
            self.results['commit'] |= {
                'candidate_error': answer.candidate_error, 'current_error': answer.current_error}
        self.results['commit']['acknowledged'] = self._wait_for_consumer()

    def _switch_controller(self, old: str, new: str) -> None:
        """One controller lets go of the robot, another takes it."""
        self._tell(f'{new} takes over from {old}')
        self._operator.change_state(old, Transition.TRANSITION_DEACTIVATE)
        if new == self._settings.true_controller:
            self._operator.change_state(new, Transition.TRANSITION_CONFIGURE)
        # The robot's drives notice that the commands have ended.
        self._operator.spin(0.5)
        self._operator.change_state(new, Transition.TRANSITION_ACTIVATE)

    def _roll_back(self) -> None:
        self._tell('rolling back')
        answer = self._operator.roll_back('demo')
        self.results['rollback'] = {
            'revision': answer.revision, 'acknowledged': self._wait_for_consumer()}

    def _list(self) -> None:
        answer = self._operator.call(ListRevisions, 'model_server/list_revisions')
        self.results['revisions'] = [
            {'revision': info.revision, 'parent': info.parent, 'kind': info.kind,
             'restored': info.restored, 'current': info.current}
            for info in answer.revisions
        ]

    def _wait_for_consumer(self) -> float:
        """Until its consumer runs the current revision; how long that took in [s]."""
        consumer = self._settings.controller or 'identification_node'
        begin, name = time.monotonic(), f'/{consumer}'.replace('//', '/')

        def runs() -> bool:
            answer = self._operator.call(GetRevision, 'model_server/get_revision')
            found = any(consumer.endswith(name) for consumer in answer.acknowledged)
            if not found:
                self._operator.spin(0.05)
            return found

        self._operator.wait(runs, f'{name} to acknowledge the revision')
        return time.monotonic() - begin

    def _tell(self, text: str) -> None:
        print(f'[{time.monotonic() - self._began:5.1f} s] {text}', flush=True)


def main() -> int:
    """Run the loop; 0 when every step did what it should."""
    start_ros(signals=SignalHandlerOptions.ALL)
    node = Node('demo_operator')
    try:
        operator = DemoOperator(node)
        error = ''
        try:
            operator.run()
        except SysidError as failure:
            error = str(failure)
            print(f'The loop ended early: {error}', file=sys.stderr, flush=True)
        results = operator.results | {'error': error}
        path = Path(node.get_parameter('results').value)
        path.write_text(json.dumps(results, indent=1), encoding='utf-8')
        return 1 if error else 0
    except ExternalShutdownException:
        return 1
    finally:
        end_ros([node])


if __name__ == '__main__':
    sys.exit(main())
