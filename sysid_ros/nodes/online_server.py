"""Follows the robot row by row, in a thread, says what it finds, and leaves a page of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from sysid_ros.data_folder import DataFolder, new_id
from sysid_ros.errors import ReleaseError, SysidError
from sysid_ros.estimation.estimate import Estimate
from sysid_ros.estimation.fit_setup import FitSetup
from sysid_ros.estimation.online.change import Change
from sysid_ros.estimation.online.online import (
    Committed,
    OnlineEstimate,
    OnlineIdentification,
    OnlineSettings,
)
from sysid_ros.estimation.online.online_history import OnlineHistory
from sysid_ros.mechanics.torque_model import TorqueModel
from sysid_ros.msg import (
    IdentificationStatus,
    IdentifiedParameters,
    OnlineParameters,
    ParameterChange,
)
from sysid_ros.nodes.conversions import parameters_message, to_time
from sysid_ros.nodes.node import LATCHED, SysidNode
from sysid_ros.recording.live.window import LiveWindow
from sysid_ros.release.link_inertias import require_joint_terms_known
from sysid_ros.release.revision import Quality
from sysid_ros.robot.parameters import ParameterSet

# How often what has come is used, in [s].
_PERIOD = 1.0


class OnlineServer:
    """Follows the robot from ``configure`` of a node to its clean-up, while the node is active.

    Args:
        node: The node.
        setup: What joint states mean, how they are filtered, and the torque model.
        settings: How the robot is followed.
        data: Where estimates are.
        window: Gives the joint states since a time in [s] since 1970.

    Raises:
        SysidError: A robot or model that cannot be followed.
    """

    def __init__(
        self, node: SysidNode[Any], setup: FitSetup, settings: OnlineSettings, data: DataFolder,
        window: Callable[[float], LiveWindow],
    ) -> None:
        self._node, self._model, self._data, self._window = node, setup.model, data, window
        self._following = OnlineIdentification(setup, settings)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix='online')
        self._job: Future[None] | None = None
        self._revision, self._fresh = '', False
        self._committed: tuple[str, Committed] | None = None
        self._estimate: OnlineEstimate | None = None
        self._published = 0
        self._message, self._told = self._following.message, ('', '')
        self._history, self._folder = OnlineHistory(), data.followed(new_id('followed'))
        self._sayable = _sayable(setup.model)
        self._parameters = node.advertise(OnlineParameters, '~/online_parameters')
        self._changes = node.advertise(ParameterChange, '~/parameter_change', LATCHED)
        node.every(_PERIOD, self._follow)

    def compare_with(
        self, message: IdentifiedParameters, model: TorqueModel, parameters: ParameterSet
    ) -> None:
        """Look for changes against a revision from now on, unless it is only the description.

        Args:
            message: The revision.
            model: Torque model with its joint terms.
            parameters: Its parameters.
        """
        self._committed = message.estimate, Committed(message.revision, parameters, model=model)
        self._fresh = True

    def close(self) -> None:
        """Let the thread end after what it is doing, and a page of what was found."""
        self._thread.submit(self._write_page)
        self._thread.shutdown(wait=False)

    def warning(self) -> str:
        """What has changed, in words; empty when nothing has."""
        change = None if self._estimate is None else self._estimate.change
        return '' if change is None else change.words

    def describe(self, status: IdentificationStatus) -> None:
        """Fill in what a status says of the estimate."""
        status.online, status.change = self._message, self.warning()
        if self._estimate is not None:
            status.online_rows = self._estimate.rows
            status.online_consistency_margin = min(self._estimate.margins.values())
            status.online_relative_error = self._estimate.relative_error

    def _follow(self) -> None:
        """Say what the thread has found, and give it what has come."""
        if self._job is not None:
            if not self._job.done():
                return
            job, self._job = self._job, None
            job.result()
            self._say()
        if not self._node.active:
            return
        committed = self._committed if self._fresh else None
        self._fresh = False
        self._job = self._thread.submit(
            self._step, committed, self._window(self._following.since))

    def _step(self, committed: tuple[str, Committed] | None, window: LiveWindow) -> None:
        if committed is not None:
            self._compare(*committed)
        self._following.take(window)
        found = self._following.estimate
        self._estimate, self._message = found, self._following.message
        if found is not None and self._history.add(found, self._following.committed):
            self._write_page()

    def _write_page(self) -> None:
        """Write the page of what was found so far; nothing that is in the way of it stops this."""
        if self._history.newest is None:
            return
        from sysid_ros.report.report import Report  # noqa: PLC0415 (its models take time to build)
        from sysid_ros.runs.report_files import made_now, write_document  # noqa: PLC0415 (as these)

        name = self._folder.name
        report = Report.of_history(
            name, self._model.robot.name, self._history, made_now('', '', {}))
        try:
            self._folder.mkdir(exist_ok=True)
            problem = write_document(self._folder, report)
        except (OSError, SysidError) as error:
            problem = str(error)
        if problem:
            self._node.get_logger().warning(f'no page of what was followed: {problem}')

    def _compare(self, estimate: str, committed: Committed) -> None:
        known = None
        if estimate:
            try:
                known = Estimate.load(self._data.estimate(estimate) / 'estimate.json')
            except SysidError:
                # Made elsewhere: its parameters count as exact.
                known = None
        self._revision = committed.name
        self._following.compare_with(replace(committed, estimate=known) if estimate else None)

    def _say(self) -> None:
        found = self._estimate
        if found is None:
            return
        stamp = to_time(round(found.time * 1e9))
        self._tell(found.change, stamp)
        if found.rows == self._published:
            return
        self._published, parameters = found.rows, found.parameters
        message = OnlineParameters(
            stamp=stamp, rows=found.rows, relative_error=found.relative_error,
            names=list(parameters.names), values=parameters.values.tolist(),
            standard_deviations=found.standard_deviation.tolist(), bodies=list(found.margins),
            consistency_margins=list(found.margins.values()))
        if self._sayable:
            message.parameters = parameters_message(
                self._model.robot, parameters, Quality(
                    held_out_relative_error=found.relative_error,
                    consistency_margin=min(found.margins.values())), stamp=round(found.time * 1e9))
        self._parameters.publish(message)

    def _tell(self, change: Change | None, stamp: Any) -> None:
        """Publish a change when there is another one than before, or none any more."""
        told = ('', '') if change is None else (change.kind, change.where)
        if told == self._told:
            return
        self._told = told
        message = ParameterChange(stamp=stamp, revision=self._revision)
        message.statistic = message.threshold = math.nan
        if change is not None:
            message.kind, message.where, message.message = change.kind, change.where, change.words
            message.names, message.values = list(change.names), change.values.tolist()
            message.standard_deviations = change.deviations.tolist()
            message.statistic, message.threshold = change.statistic, change.threshold
            self._node.get_logger().warning(change.words)
        self._changes.publish(message)


def _sayable(model: TorqueModel) -> bool:
    """Whether messages have a place for all joint terms."""
    try:
        require_joint_terms_known(model.robot, model.parameters)
    except ReleaseError:
        return False
    return True
