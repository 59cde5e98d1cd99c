"""What errors of commits, rollbacks and the store mean to a client of the model server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sysid_ros.errors import ReleaseError, SysidError
from sysid_ros.msg import ResultCode
from sysid_ros.nodes.refusal import RefusedError
from sysid_ros.release.store import BaseChangedError, RejectedEntryError, UnknownRevisionError
from sysid_ros.runs.commit import InconsistentError
from sysid_ros.runs.judged import NotCommittableError

# The more special first.
_CODES: tuple[tuple[type[SysidError], str], ...] = (
    (NotCommittableError, ResultCode.NOT_COMMITTABLE),
    (InconsistentError, ResultCode.INCONSISTENT),
    (BaseChangedError, ResultCode.BASE_CHANGED),
    (UnknownRevisionError, ResultCode.UNKNOWN_ID),
    (RejectedEntryError, ResultCode.INVALID_REQUEST),
    (ReleaseError, ResultCode.STORAGE),
)


@contextmanager
def release_codes() -> Iterator[None]:
    """Refuse with the code of the error that is raised inside.

    Raises:
        RefusedError: An error that has a code.
        SysidError: An error that has none, as it is.
    """
    try:
        yield
    except RefusedError:
        raise
    except SysidError as error:
        code = next((code for kind, code in _CODES if isinstance(error, kind)), None)
        if code is None:
            raise
        raise RefusedError(code, error) from error
