"""Locks of Fast DDS's shared memory that a killed process holds are removed, and no others."""

import ctypes
import os
import threading
import time
from pathlib import Path

import pytest

from sysid_ros.runs.abandoned_locks import remove_abandoned_locks

LIBRARY = ctypes.CDLL(None, use_errno=True)
LIBRARY.sem_open.restype = ctypes.c_void_p
# Of no ROS domain.
PORT = 59_000


@pytest.fixture
def lock():
    """Makes locks of ports that do not exist; whether each is held."""
    made = []

    def make(held):
        name = f'/fastdds_port{PORT + os.getpid() % 900}{len(made)}_mutex'
        value = ctypes.c_uint(0 if held else 1)
        handle = ctypes.c_void_p(LIBRARY.sem_open(name.encode(), os.O_CREAT, 0o600, value))
        made.append((name, handle))
        return name.removeprefix('/'), handle

    if not Path('/dev/shm').is_dir():
        pytest.skip('named semaphores are kept elsewhere')
    yield make
    for name, handle in made:
        LIBRARY.sem_close(handle)
        LIBRARY.sem_unlink(name.encode())


def renew(name):
    LIBRARY.sem_unlink(f'/{name}'.encode())
    handle = LIBRARY.sem_open(f'/{name}'.encode(), os.O_CREAT, 0o600, ctypes.c_uint(0))
    LIBRARY.sem_close(ctypes.c_void_p(handle))


def exists(name):
    return Path(f'/dev/shm/sem.{name}').exists()


def test_a_lock_that_nobody_releases_is_removed_with_its_port_and_no_other_is(lock):
    # One test: while it waits for less than usual, no other may hold a lock on purpose.
    abandoned, free = lock(held=True)[0], lock(held=False)[0]
    port = Path('/dev/shm') / abandoned.removesuffix('_mutex')
    port.write_bytes(b'half made')
    removed = remove_abandoned_locks(patience=0.2)
    assert abandoned in removed
    assert free not in removed
    assert exists(free)
    assert not exists(abandoned)
    assert not port.exists()
    # One that is made anew meanwhile, as by a node that removed the old one, is another lock.
    name, handle = lock(held=True)
    renewed = threading.Thread(target=lambda: (time.sleep(0.1), renew(name)))
    renewed.start()
    removed = remove_abandoned_locks(patience=0.5)
    renewed.join()
    assert name not in removed
    assert exists(name)
    name, handle = lock(held=True)
    release = threading.Thread(target=lambda: (time.sleep(0.3), LIBRARY.sem_post(handle)))
    release.start()
    removed = remove_abandoned_locks(patience=5.0)
    release.join()
    assert name not in removed
    assert exists(name)
