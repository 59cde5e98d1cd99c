"""Work by Dask's distributed scheduler: a cluster of this machine, or one that is running."""

from __future__ import annotations

import importlib
import importlib.util
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

from sysid_ros.errors import ConfigurationError
from sysid_ros.fleet.pool import ATTEMPTS, ONE_THREAD, LostWork, one_thread_each, usable_processors

_INSTALL = 'Install it with pip install distributed, or choose --engine processes'
# How long a scheduler may take to answer, in [s], and where one of this machine listens.
_PATIENCE = 30.0
_HERE = '127.0.0.1'


def has_dask() -> bool:
    """Whether Dask's distributed scheduler is installed."""
    return importlib.util.find_spec('distributed') is not None


@dataclass(frozen=True)
class DaskPool:
    """Carries out work by the workers of a Dask cluster.

    Attributes:
        workers: Workers of a cluster of this machine, one for each processor by default; or as
            many as the cluster that is named has.
        scheduler: Address of the scheduler of a running cluster, as ``tcp://host:8786``, whose
            workers have one thread each, this package, and the folder of the batch under the same
            name. Empty for a cluster of this machine, which ends with the work.
    """

    workers: int = field(default_factory=usable_processors)
    scheduler: str = ''

    def map(
        self, function: Callable[[Any], Any], items: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        """See :meth:`~sysid_ros.fleet.pool.Pool.map`.

        Raises:
            ConfigurationError: Dask is not installed, no scheduler answers, or its workers have
                several threads.
        """
        with ExitStack() as stack:
            distributed = _distributed()
            client = self._client(distributed, stack)
            futures = client.map(function, items, pure=False)
            numbers = {future.key: number for number, future in enumerate(futures)}
            again = []
            try:
                for future in distributed.as_completed(futures, loop=client.loop):
                    if _is_unsettled(future):
                        again.append(numbers[future.key])
                    else:
                        yield numbers[future.key], _result(future)
                for number in again:
                    futures = [client.submit(function, items[number], pure=False)]
                    for future in distributed.as_completed(futures, loop=client.loop):
                        yield number, _result(future)
            finally:
                client.cancel(futures)

    def _client(self, distributed: Any, stack: ExitStack) -> Any:
        """A client of the cluster, with which ``stack`` closes what was started."""
        if self.scheduler:
            try:
                client = stack.enter_context(
                    distributed.Client(self.scheduler, timeout=_PATIENCE, set_as_default=False))
            except (OSError, TimeoutError, ValueError) as error:
                raise ConfigurationError(
                    'no scheduler answers', where=self.scheduler, found=str(error),
                    fix='Start one with dask scheduler, and name the address that it prints'
                ) from error
            _require_one_thread(client, self.scheduler)
            return client
        logging.getLogger('distributed').setLevel(logging.CRITICAL)
        dask = importlib.import_module('dask')
        stack.enter_context(dask.config.set({
            'distributed.scheduler.allowed-failures': ATTEMPTS - 1,
            'distributed.nanny.pre-spawn-environ': ONE_THREAD}))
        stack.enter_context(one_thread_each())
        cluster = stack.enter_context(distributed.LocalCluster(
            n_workers=self.workers, threads_per_worker=1, processes=True,
            silence_logs=logging.CRITICAL, host=_HERE, dashboard_address=None,
            # Its server of HTTP listens all the same, by default for everybody, on one port.
            scheduler_kwargs={'dashboard_address': f'{_HERE}:0'},
            worker_dashboard_address=f'{_HERE}:0'))
        client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
        # A cluster cannot end while one of its workers begins in the place of another.
        stack.callback(_wait_for_workers, client, self.workers)
        return client


def _wait_for_workers(client: Any, count: int) -> None:
    """Wait until all workers are there, at most for a while."""
    with suppress(TimeoutError):
        client.wait_for_workers(count, timeout=_PATIENCE)


def _distributed() -> Any:
    try:
        return importlib.import_module('distributed')
    except ImportError as error:
        raise ConfigurationError(
            'Dask is not installed', found=str(error), allowed='the package distributed',
            fix=_INSTALL) from error


def _require_one_thread(client: Any, address: str) -> None:
    """Refuse a cluster without workers, or whose workers would fit side by side in a process."""
    workers = client.scheduler_info(n_workers=-1)['workers']
    threads = sorted({worker['nthreads'] for worker in workers.values()})
    if threads != [1]:
        raise ConfigurationError(
            'each worker has to have one thread' if threads else 'the cluster has no workers',
            where=address, found=f'{threads[-1]} threads' if threads else 'none',
            fix=f'Start them with dask worker {address} --nworkers auto --nthreads 1')


def _is_unsettled(future: Any) -> bool:
    """Whether work has to be carried out alone to see what comes of it.

    Dask blames a worker's end on all work that it had, begun or not, and may lose with it results
    that nobody has fetched yet.
    """
    return future.status == 'lost' or _is_killed(future)


def _is_killed(future: Any) -> bool:
    return future.status == 'error' and type(future.exception()).__name__ == 'KilledWorker'


def _result(future: Any) -> Any:
    """What the work gave; of what killed its workers, or raised an error, the reason."""
    if future.status == 'finished':
        return future.result()
    if _is_killed(future):
        return LostWork(f'{ATTEMPTS} workers ended on it, as the system has them do where memory '
                        'is short')
    error = future.exception() if future.status == 'error' else None
    if error is None:
        raise ConfigurationError(
            'the cluster ended before the work was done', found=future.status,
            fix='Call sysid batch again: it goes on where it was')
    return LostWork(f'{type(error).__name__}: {error}')
