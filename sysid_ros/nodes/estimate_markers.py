"""What the identification node shows: the inertia of its last estimate beside the description's."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sysid_ros.estimation.estimate import Estimate
from sysid_ros.nodes.markers import MarkerTopic
from sysid_ros.nodes.node import SysidNode
from sysid_ros.report.inertia_scene import inertia_scene
from sysid_ros.report.scene import Shape
from sysid_ros.robot.model import RobotModel

# How often to look whether an estimate is read, in [s].
_PERIOD = 0.1


class EstimateMarkers:
    """The topic ``~/inertia_markers``, from ``configure`` of a node to its clean-up.

    The description is there at once, and the estimate after each fit, committable or not.
    Estimates are read in a thread: joint states come in meanwhile.

    Args:
        node: The node.
        robot: The robot as described.
    """

    def __init__(self, node: SysidNode[Any], robot: RobotModel) -> None:
        self._robot = robot
        self._topic = MarkerTopic(node, '~/inertia_markers')
        self._topic.show(inertia_scene(robot))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix='markers')
        self._job: Future[list[Shape]] | None = None
        self._timer = node.every(_PERIOD, self._collect)
        self._timer.cancel()

    def show(self, folder: Path) -> None:
        """Show the estimate of a fit.

        Args:
            folder: The folder that the fit wrote.
        """
        self._job = self._thread.submit(self._scene, folder / 'estimate.json')
        self._timer.reset()

    def close(self) -> None:
        """Let the thread end after what it is doing."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _scene(self, file: Path) -> list[Shape]:
        return inertia_scene(self._robot, Estimate.load(file).parameters)

    def _collect(self) -> None:
        if self._job is None or not self._job.done():
            return
        job, self._job = self._job, None
        self._timer.cancel()
        self._topic.show(job.result())
