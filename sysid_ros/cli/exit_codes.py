"""What the command's exit code tells a script."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of ``sysid``."""

    OK = 0
    NOT_COMMITTABLE = 1
    BAD_INPUT = 2
    NOT_CONVERGED = 3
    CHANGED = 4
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """The code in words."""
        return {
            ExitCode.OK: 'done',
            ExitCode.NOT_COMMITTABLE: 'done, but the verdict is "not committable"',
            ExitCode.BAD_INPUT: 'a file, value or argument cannot be used',
            ExitCode.NOT_CONVERGED: 'the fit did not converge',
            ExitCode.CHANGED: 'done, and something has changed beyond chance',
            ExitCode.INTERRUPTED: 'stopped by the user',
        }[self]
