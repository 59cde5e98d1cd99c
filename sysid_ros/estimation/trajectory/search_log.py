"""The log of one fit: the steps of all its searches, stage by stage, and how many may follow.

A fit of states and parameters is several searches, each from where the last one ended: over pieces
of other lengths, with softer dynamics, with other levels of noise. Their log is one, and so is the
limit of their steps.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar

from sysid_ros.estimation.estimate import Status
from sysid_ros.numerics.least_squares.damped import Iteration

#: Told of every step that a search tried.
Progress = Callable[[Iteration], None]

#: Columns of the table of a log, what :class:`~.damped.Iteration` calls so but for the first two.
COLUMNS = ('iteration', 'stage', 'cost', 'step', 'damping', 'gradient', 'seconds', 'accepted')


class _Ended(Protocol):
    """What a search comes to."""

    @property
    def status(self) -> Status:
        """How it ended."""


S = TypeVar('S', bound=_Ended)


class Stage(NamedTuple):
    """One search of a fit.

    Attributes:
        name: What is particular to it.
        status: How it ended; None where it could not begin.
        iterations: Its log.
    """

    name: str
    status: Status | None
    iterations: tuple[Iteration, ...]


class SearchLog:
    """Steps of all searches of a fit, in their order.

    Args:
        most: Most steps of all searches together.
        progress: Told of every step.
    """

    def __init__(self, most: int, progress: Progress | None = None) -> None:
        self.most = most
        self.iterations: list[Iteration] = []
        self.stages: list[Stage] = []
        self._progress, self._names = progress, list[str]()

    @property
    def left(self) -> int:
        """How many more steps may be tried."""
        return max(self.most - len(self.iterations), 0)

    def at_most(self, own: int) -> int:
        """How many steps a search may try.

        Args:
            own: Most steps of a search of its kind.
        """
        return min(own, self.left)

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """Searches of a part of the fit, whose stages bear its name.

        Args:
            name: The part; empty for none.
        """
        self._names.append(name)
        try:
            yield
        finally:
            self._names.pop()

    def run(self, name: str, search: Callable[[Progress], S]) -> S:
        """Run a search as a stage of its own.

        Args:
            name: What is particular to it.
            search: The search, which tells of every step.

        Raises:
            EstimationError: The search cannot begin, which is kept as well.
        """
        first, status = len(self.iterations), None
        with self.within(name):
            stage = ', '.join(filter(None, self._names))
            try:
                found = search(lambda iteration: self._add(iteration, stage))
                status = found.status
            finally:
                self.stages.append(Stage(stage, status, tuple(self.iterations[first:])))
        return found

    def _add(self, iteration: Iteration, stage: str) -> None:
        self.iterations.append(replace(iteration, stage=stage))
        if self._progress is not None:
            self._progress(self.iterations[-1])


def iterations_table(iterations: Sequence[Iteration]) -> str:
    """The log of a fit as CSV, with a header, see :data:`COLUMNS`; a line for every step tried.

    Args:
        iterations: The log.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator='\n')
    writer.writerow(COLUMNS)
    for number, line in enumerate(iterations, start=1):
        figures = (f'{getattr(line, name):.9g}' for name in COLUMNS[2:-1])
        writer.writerow([number, line.stage, *figures, int(line.accepted)])
    return text.getvalue()
