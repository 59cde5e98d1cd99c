"""Tells the model server which revision a node runs, until it has heard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sysid_ros.nodes.node import SysidNode, now
from sysid_ros.srv import AcknowledgeRevision

# Time in [s] between looks, and after which an acknowledgement that got no answer is sent again.
_LOOK, _PATIENCE = 0.1, 2.0


class Acknowledgement:
    """A consumer's word to the model server, from ``configure`` of a node to its clean-up.

    Args:
        node: The consumer.
        topic: Topic of ``IdentifiedParameters`` that it listens to; the service ``acknowledge``
            has the same namespace.
        revision: Gives the id of the revision that holds in the node now; empty for none.

    Attributes:
        told: The revision that the model server has heard of; empty before.
    """

    def __init__(self, node: SysidNode[Any], topic: str, revision: Callable[[], str]) -> None:
        self._node, self._revision = node, revision
        self.told, self._asked = '', -np.inf
        server = topic.rpartition('/')[0]
        self._client: Any = node.keep(node.destroy_client, node.create_client(
            AcknowledgeRevision, f'{server}/acknowledge' if server else 'acknowledge'))
        node.every(_LOOK, self._confirm)

    def _confirm(self) -> None:
        revision = self._revision()
        if revision in ('', self.told) or not self._node.active:
            return
        if now() - self._asked < _PATIENCE or not self._client.service_is_ready():
            return
        self._asked = now()
        future = self._client.call_async(AcknowledgeRevision.Request(
            consumer=self._node.get_fully_qualified_name(), revision=revision))

        def answered(done: Any) -> None:
            response = done.result()
            if response is not None and response.success:
                self.told, self._asked = revision, -np.inf
            elif response is not None:
                self._node.get_logger().warning(
                    f'{revision} was not acknowledged: {response.message}',
                    throttle_duration_sec=5.0)

        future.add_done_callback(self._node.guarded(answered))
