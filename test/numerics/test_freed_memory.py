"""Memory that was freed goes back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Arrays below the size at which glibc maps each by itself, freed but for the last one.
PROGRAM = """
import numpy as np
from sysid_ros.numerics.freed_memory import return_freed_memory

def resident():
    with open('/proc/self/statm') as file:
        return int(file.read().split()[1]) * 4096

arrays = [np.ones(10_000) for _ in range(2000)]
arrays[:-1] = []
kept = resident()
return_freed_memory()
print(kept - resident(), arrays[0].sum())
"""


@pytest.mark.skipif(not sys.platform.startswith('linux'), reason='looks into /proc')
def test_freed_arrays_below_one_that_is_used_go_back_to_the_system():
    answer = subprocess.run(
        [sys.executable, '-c', PROGRAM], check=True, capture_output=True, text=True).stdout
    returned, total = answer.split()
    # 2000 arrays of 80 kB were freed.
    assert float(returned) > 0.9 * 160e6
    assert float(total) == 10_000.0
