"""How far a request is that takes time, and whether it is still wanted."""

from __future__ import annotations

import threading

from sysid_ros.errors import SysidError
from sysid_ros.msg import ResultCode
from sysid_ros.nodes.refusal import RefusedError


class Progress:
    """What is being done for one request; told and asked from any thread."""

    def __init__(self) -> None:
        self._reports: list[tuple[str, float]] = []
        self._last = ('', 0.0)
        self._lock = threading.Lock()
        self._refusal: RefusedError | None = None
        self._withdrawn = self._final = False

    def tell(self, stage: str, part: float) -> None:
        """Say what is being done.

        Args:
            stage: In words.
            part: How much of all is done, from 0 to 1.
        """
        with self._lock:
            if (stage, part) != self._last:
                self._last = (stage, part)
                self._reports.append(self._last)

    def new_reports(self) -> list[tuple[str, float]]:
        """What was told and not asked for yet, in order; no report twice in a row."""
        with self._lock:
            reports, self._reports = self._reports, []
            return reports

    def withdraw(self, refusal: RefusedError | None = None) -> bool:
        """Take the request back; whether that was still possible.

        Args:
            refusal: What ends the work; by default that it was cancelled.
        """
        with self._lock:
            self._withdrawn, self._refusal = not self._final, refusal
            return self._withdrawn

    def require_wanted(self) -> None:
        """End the work for a request that was taken back.

        Raises:
            RefusedError: It was.
        """
        if self._withdrawn:
            raise self._refusal or RefusedError(ResultCode.CANCELLED, SysidError(
                'the request was cancelled', found=self._last[0] or 'nothing was begun',
                fix='What was done before stays'))

    def make_final(self) -> None:
        """Begin what must not be left half done: from now on the request cannot be taken back.

        Raises:
            RefusedError: It was taken back before.
        """
        with self._lock:
            self.require_wanted()
            self._final = True
