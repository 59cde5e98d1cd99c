"""Tells the model server which revision a node runs, until it has heard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sysid_ros.nodes.node import SysidNode
from sysid_ros.nodes.requests import ServiceRequest
from sysid_ros.srv import AcknowledgeRevision

# Time in [s] between looks.
_LOOK = 0.1


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
        self.told = self._asked = ''
        self._request: ServiceRequest | None = None
        server = topic.rpartition('/')[0]
        self._client: Any = node.keep(node.destroy_client, node.create_client(
            AcknowledgeRevision, f'{server}/acknowledge' if server else 'acknowledge'))
        node.every(_LOOK, self._confirm)

    def _confirm(self) -> None:
        revision = self._revision()
        if revision in ('', self.told) or not self._node.active:
            return
        request = self._request
        if request is None or revision != self._asked or request.expired:
            self._ask(revision)
        elif not request.answered and request.poll():
            self._hear(revision, request.answer)

    def _ask(self, revision: str) -> None:
        if not self._client.service_is_ready():
            return
        if self._request is not None:
            self._request.drop()
        self._asked, self._request = revision, ServiceRequest(
            self._client, AcknowledgeRevision.Request(
                consumer=self._node.get_fully_qualified_name(), revision=revision))

    def _hear(self, revision: str, answer: Any) -> None:
        if answer.success:
            self.told = revision
        else:
            self._node.get_logger().warning(
                f'{revision} was not acknowledged: {answer.message}', throttle_duration_sec=5.0)
