"""What the robot carries, against the revision that runs: ``~/identify_payload``.

A service and an action; goals of the action are told how far it is, and may be taken back.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sysid_ros import action, srv
from sysid_ros.data_folder import DataFolder
from sysid_ros.errors import EstimationError, RecordingError, SysidError
from sysid_ros.estimation.payload.payload_estimate import PayloadEstimate
from sysid_ros.msg import IdentifiedParameters, ResultCode
from sysid_ros.nodes.background import Background
from sysid_ros.nodes.conversions import load_messages
from sysid_ros.nodes.node import SysidNode
from sysid_ros.nodes.progress import Progress
from sysid_ros.nodes.refusal import RefusedError
from sysid_ros.recording.live.window import LiveWindow
from sysid_ros.runs.commit import FinishedFit


class PayloadServer:
    """Offers service and action from ``configure`` of a node to its clean-up.

    Args:
        node: The node, whose settings have ``history``, ``motion_velocity`` and ``payload_link``.
        data: Where estimates are.
        window: Gives all joint states that are kept.
        revision: Gives the revision that runs; None when none is known.
    """

    def __init__(
        self, node: SysidNode[Any], data: DataFolder, window: Callable[[], LiveWindow],
        revision: Callable[[], IdentifiedParameters | None],
    ) -> None:
        self._node, self._data = node, data
        self._window, self._revision = window, revision
        self._background = Background(node)
        self._background.serve(srv.IdentifyPayload, '~/identify_payload', self._identify)
        self._background.act(action.IdentifyPayload, '~/identify_payload', self._identify)

    def close(self) -> None:
        """Let the thread end after what it is doing."""
        self._background.close()

    @property
    def busy(self) -> bool:
        """Whether somebody waits for an answer."""
        return self._background.busy

    async def _identify(self, request: Any, response: Any, progress: Progress) -> None:
        settings, revision = self._node.settings, self._empty_robot()
        if not 0.0 < request.duration <= settings.history:
            raise RefusedError(ResultCode.INVALID_REQUEST, SysidError(
                'no such time of the last motion is kept', where='duration',
                found=f'{request.duration:g} s',
                allowed=f'above 0, up to {settings.history:g} s',
                fix='Ask for less, or set the parameter history of this node'))
        try:
            link, load = await self._background.run(
                _load, revision.estimate, self._data.estimate(revision.estimate), self._window(),
                request.duration, settings.motion_velocity,
                request.link or settings.payload_link or None, progress)
        except (EstimationError, RecordingError) as error:
            raise RefusedError(ResultCode.BAD_DATA, error) from error
        response.revision, response.link = revision.revision, link
        response.significant = load.significant
        response.load, response.standard_deviation = load_messages(load)
        response.error_without, response.error_with = load.error_without, load.error_with
        response.message = _sentence(link, load)

    def _empty_robot(self) -> IdentifiedParameters:
        revision = self._revision()
        if revision is None or not revision.estimate:
            raise RefusedError(ResultCode.NOT_READY, SysidError(
                'no estimate of the robot without load is committed',
                found='nothing' if revision is None else f'revision {revision.revision}',
                fix='Identify the robot without load, and commit the estimate'))
        if not self._data.estimate(revision.estimate).is_dir():
            raise RefusedError(ResultCode.UNKNOWN_ID, SysidError(
                'the estimate that was committed is not in the data folder',
                found=revision.estimate, fix='Give the nodes of a robot the same data_folder'))
        return revision


def _load(
    name: str, folder: Path, window: LiveWindow, duration: float, velocity: float,
    link: str | None, progress: Progress,
) -> tuple[str, PayloadEstimate]:
    progress.tell('Reading the estimate of the robot without load', 0.0)
    progress.require_wanted()
    empty = FinishedFit.open(name, folder)
    progress.tell('Fitting the load to the last motion', 0.3)
    progress.require_wanted()
    name, load = empty.payload(window, duration, velocity, link)
    progress.require_wanted()
    if not load.status.ok:
        raise EstimationError(load.status.value.rstrip('.'))
    return name, load


def _sentence(link: str, load: PayloadEstimate) -> str:
    mass, spread = load.mass, float(load.standard_deviation[0])
    if not load.significant:
        return f'No load on {link} can be told from none: {mass:.3g} ± {spread:.2g} kg.'
    return (
        f'{link} carries {mass:.4g} ± {spread:.2g} kg. Torques are predicted with '
        f'{100 * load.error_with:.3g} % error, without a load with '
        f'{100 * load.error_without:.3g} %.')
