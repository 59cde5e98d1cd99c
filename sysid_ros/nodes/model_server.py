"""The model server: commits estimates, rolls back, and hands the current revision out.

What is committed is judged again by its recordings, in a process beside the node. A commit is
refused while the robot moves, unless it is asked for as pending: then it is made, and consumers
take it over when they can. A rollback is always granted, since it may be what stops a robot from
shaking. Either way the answer says which consumers still run another revision.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticStatus

from sysid_ros.errors import ConfigurationError
from sysid_ros.nodes.model_server_settings import ModelServerSettings
from sysid_ros.nodes.node import SysidNode
from sysid_ros.nodes.process import run

if TYPE_CHECKING:
    from sysid_ros.nodes.revision_server import RevisionServer


class ModelServer(SysidNode[ModelServerSettings]):
    """The model server."""

    settings_class = ModelServerSettings

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self._revisions: RevisionServer | None = None
        super().__init__('model_server', arguments)

    def configure(self) -> None:
        """Load the robot, open the store, and offer the services."""
        # Pinocchio and the compiled functions: no part of a process that waits for its turn.
        from sysid_ros.nodes.revision_server import RevisionServer

        if not self.settings.robot:
            raise ConfigurationError(
                "the parameter 'robot' is empty", where=self.get_fully_qualified_name(),
                allowed='a settings file with the section robot',
                fix='ros2 run sysid_ros model_server --ros-args -p robot:=arm.yaml')
        self._revisions = RevisionServer(self)

    def activate(self) -> None:
        """Hand the current revision out, even if it was before."""
        assert self._revisions is not None  # it is configured
        self._revisions.begin()

    def deactivate(self) -> None:
        """Give up what is being judged: it would not be committed any more."""
        if self._revisions is not None:
            self._revisions.end()

    def cleanup(self) -> None:
        """Let go of the store."""
        if self._revisions is not None:
            self._revisions.close()
            self._revisions = None

    def working(self) -> bool:
        """Whether it commits or rolls back."""
        return self._revisions is not None and self._revisions.busy

    def at_rest(self) -> bool:
        """Whether nobody waits for the end of a commit."""
        return not self.working()

    def diagnose(self) -> tuple[bytes, str, dict[str, object]]:
        """The current revision, who runs another one, and what is wrong with the store."""
        if self._revisions is None:
            return DiagnosticStatus.OK, 'not configured', {}
        return self._revisions.diagnose()


def main() -> int:
    """Run the node."""
    return run(ModelServer)


if __name__ == '__main__':
    sys.exit(main())
