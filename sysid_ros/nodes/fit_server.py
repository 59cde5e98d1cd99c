"""The action ``~/identify``: one fit at a time, in a process of its own.

Its field ``recording`` may name several recordings, with commas between, that are fitted together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle

from sysid_ros.action import Identify
from sysid_ros.data_folder import DataFolder, new_id
from sysid_ros.errors import SysidError, did_you_mean
from sysid_ros.msg import IdentificationStatus, ResultCode
from sysid_ros.nodes.estimate_markers import EstimateMarkers
from sysid_ros.nodes.fit_process import FitProcess
from sysid_ros.nodes.fit_standby import FitStandby
from sysid_ros.nodes.node import RESULTS_KEPT, SysidNode, now
from sysid_ros.nodes.refusal import RefusedError, refused, require_short, without_figures
from sysid_ros.robot.model import RobotModel
from sysid_ros.runs.job import FitJob, WarmUpJob
from sysid_ros.runs.live_recording import LiveRecording

_PERIOD = 0.05
# What the executor needs to hand a result to whoever waits for it, in [s].
_DELIVERY = 0.2

# By the class of the error that ended a fit.
_CODES = {
    'ConfigurationError': ResultCode.INVALID_REQUEST, 'ModelError': ResultCode.INVALID_REQUEST,
    'ParameterError': ResultCode.INVALID_REQUEST, 'RecordingError': ResultCode.BAD_DATA,
    'ReleaseError': ResultCode.STORAGE,
}
_FIGURES = ('held_out_relative_error', 'prior_relative_error', 'consistency_margin')


@dataclass
class _Goal:
    """A goal that was accepted; its process starts when the recording is complete."""

    handle: ServerGoalHandle[Any, Any, Any]
    estimate: str
    job: FitJob
    process: FitProcess | None = None
    said: tuple[str, float] = ('', -1.0)


class FitServer:
    """Offers the action from ``configure`` of a node to its clean-up.

    Args:
        node: The node.
        data: Where recordings are, and estimates go to.
        settings: Settings of the robot, for bags without their own.
        holdout: Last part of a recording to judge by.
        warm_up: Compiled functions to load before there is a fit; None to load nothing until then.
        recording: Gives the recording of this node, under way or the last one.
        revision: Gives the id of the revision that runs; empty when none is known.
        robot: The robot as described, which estimates are shown beside.

    Attributes:
        standby: The process for the next fit.
    """

    def __init__(
        self, node: SysidNode[Any], data: DataFolder, settings: Path | None, holdout: float, *,
        warm_up: WarmUpJob | None, recording: Callable[[], LiveRecording | None],
        revision: Callable[[], str], robot: RobotModel,
    ) -> None:
        self._node, self._data, self._settings, self._holdout = node, data, settings, holdout
        self._recording, self._revision = recording, revision
        self._markers = EstimateMarkers(node, robot)
        self._goal: _Goal | None = None
        self._last: _Goal | None = None
        self._results: dict[bytes, tuple[str, Identify.Result]] = {}
        self._replied = -_DELIVERY
        self.standby = FitStandby(warm_up)
        self.standby.start()
        node.keep(_destroyed, ActionServer(
            node, Identify, '~/identify', self._conclude, goal_callback=_accept,
            handle_accepted_callback=node.guarded(self._begin), cancel_callback=_accept_cancel,
            result_timeout=RESULTS_KEPT))
        node.every(_PERIOD, self._watch)

    @property
    def busy(self) -> bool:
        """Whether a fit is under way."""
        return self._goal is not None

    @property
    def settled(self) -> bool:
        """Whether no fit is under way and every client has its result."""
        delivered = now() > self._replied + _DELIVERY
        return self._goal is None and not self._results and delivered

    def end(self, reason: str) -> None:
        """End the fit, if there is one.

        Args:
            reason: What its client is told.
        """
        if self._goal is not None:
            self._finish(self._goal, 'abort', refused(
                without_figures(Identify.Result()),
                RefusedError(ResultCode.STOPPED, SysidError(
                    reason, fix='Activate it, and send the goal again'))))

    def close(self) -> None:
        """End the fit and the process for the next one."""
        self.end('the node was cleaned up')
        self.standby.close()
        self._markers.close()

    def describe(self, status: IdentificationStatus) -> None:
        """Fill in what a status says of the fit under way, or the last one."""
        goal = self._goal or self._last
        process = None if goal is None else goal.process
        status.condition = status.consistency_margin = math.nan
        if goal is not None:
            status.estimate = goal.estimate
        if process is not None:
            status.stage, status.progress = process.stage, process.progress
            status.condition = process.figure('condition_number')
            status.consistency_margin = process.figure('consistency_margin')

    def _begin(self, handle: ServerGoalHandle[Any, Any, Any]) -> None:
        try:
            goal = self._accepted(handle)
        except SysidError as error:
            self._reply(handle, 'abort', refused(without_figures(Identify.Result()), error))
            return
        self._goal = goal

    def _accepted(self, handle: ServerGoalHandle[Any, Any, Any]) -> _Goal:
        request = handle.request
        require_short(request)
        self._node.require_active()
        if self._goal is not None:
            raise RefusedError(ResultCode.BUSY, SysidError(
                'a fit is under way', found=self._goal.estimate, fix='Wait, or cancel it'))
        mine = self._recording()
        given = request.recording or ('' if mine is None else mine.name)
        if not given:
            raise RefusedError(ResultCode.UNKNOWN_ID, SysidError(
                'this node has recorded nothing yet', fix='Name a recording'))
        names = tuple(name.strip() for name in given.split(','))
        if len(set(names)) < len(names) or '' in names:
            raise RefusedError(ResultCode.INVALID_REQUEST, SysidError(
                'a recording is named twice, or not at all between commas', where='recording',
                found=given, fix='Name each once: first,second'))
        recording, *others = [self._existing(name) for name in names]
        validation = self._existing(request.validation) if request.validation else None
        estimate = new_id('estimate')
        return _Goal(handle, estimate, FitJob(
            recording=recording, others=tuple(others), validation=validation,
            settings=self._settings, folder=self._data.estimate(estimate),
            estimator=request.estimator,
            holdout=self._holdout, base_revision=self._revision(),
            recordings=(*names, request.validation) if request.validation else names,
        ))

    def _existing(self, name: str) -> Path:
        folder = self._data.recording(name)
        mine = self._recording()
        if mine is not None and mine.name == name and mine.running:
            raise RefusedError(ResultCode.BUSY, SysidError(
                'the recording is under way', where=name, fix='Stop it first'))
        if not folder.is_dir():
            there = sorted(path.name for path in folder.parent.iterdir() if path.is_dir())
            raise RefusedError(ResultCode.UNKNOWN_ID, SysidError(
                'there is no such recording', found=repr(name),
                allowed=', '.join(there[-10:]) or 'none yet',
                fix=did_you_mean(name, there) or 'Name one of these, or record one: ~/start'))
        return folder

    def _watch(self) -> None:
        goal = self._goal
        self.standby.poll()
        if goal is None:
            if self._node.active:
                self.standby.keep()
            return
        if goal.handle.is_cancel_requested:
            self._finish(goal, 'canceled', refused(
                without_figures(Identify.Result()),
                RefusedError(ResultCode.CANCELLED, SysidError(
                    'the fit was cancelled', fix='Its recording is kept: fit it again'))))
        elif goal.process is None:
            mine = self._recording()
            if mine is None or mine.finished or mine.name not in goal.job.recordings:
                goal.process = self.standby.take(goal.job)
            else:
                self._feed_back(goal, 'Completing the bag', 0.0)
        else:
            self._follow(goal, goal.process)

    def _follow(self, goal: _Goal, process: FitProcess) -> None:
        """Pass on what the process of a fit says, and its result."""
        over = process.poll()
        # Stages may be shorter than the time between two looks.
        for stage, progress in process.new_reports():
            self._feed_back(goal, stage, progress)
        if over and process.lost:
            goal.process = self.standby.take(goal.job)
        elif over:
            result = _result(goal.estimate, process)
            self._finish(goal, 'succeed' if result.success else 'abort', result)
            if result.success:
                self._markers.show(goal.job.folder)

    def _feed_back(self, goal: _Goal, stage: str, progress: float) -> None:
        if (stage, progress) != goal.said:
            goal.said = (stage, progress)
            goal.handle.publish_feedback(Identify.Feedback(stage=stage, progress=progress))

    def _finish(self, goal: _Goal, transition: str, result: Identify.Result) -> None:
        if goal.process is not None:
            goal.process.kill()
        self._goal, self._last = None, goal
        self._reply(goal.handle, transition, result)

    def _reply(
        self, handle: ServerGoalHandle[Any, Any, Any], transition: str, result: Identify.Result
    ) -> None:
        self._results[bytes(handle.goal_id.uuid)] = (transition, result)
        handle.execute()

    def _conclude(self, handle: ServerGoalHandle[Any, Any, Any]) -> Identify.Result:
        # Nothing is left to do when a goal is executed: that would keep the executor.
        transition, result = self._results.pop(bytes(handle.goal_id.uuid))
        self._replied = now()
        # Cancelled in the last moment, it may end in no other way.
        getattr(handle, 'canceled' if handle.is_cancel_requested else transition)()
        return result


def _result(estimate: str, process: FitProcess) -> Identify.Result:
    found = process.result
    if found is None:
        return Identify.Result(
            success=False, code=_CODES.get(process.kind, ResultCode.FAILED), message=process.error,
            **dict.fromkeys(_FIGURES, math.nan))
    converged = bool(found['converged'])
    return Identify.Result(
        success=converged, code=ResultCode.OK if converged else ResultCode.FAILED,
        message=found['message'], estimate=estimate, committable=found['committable'],
        reasons=found['reasons'], next_steps=found['next_steps'],
        **{name: process.figure(name) for name in _FIGURES})


def _accept(_: Identify.Goal) -> GoalResponse:
    # A rejection could not say why; the result does.
    return GoalResponse.ACCEPT


def _accept_cancel(_: ServerGoalHandle[Any, Any, Any]) -> CancelResponse:
    return CancelResponse.ACCEPT


def _destroyed(server: ActionServer[Any, Any, Any]) -> bool:
    server.destroy()
    return True
