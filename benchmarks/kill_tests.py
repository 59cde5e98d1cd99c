"""SIGKILL of each node but the robot in mid-motion: how long until the robot is at rest?

    python benchmarks/kill_tests.py [--times 20] [--composed]

The bar: half a second after the monitor's reaction time at the latest, every time.
"""

import argparse
import contextlib
import json
import tempfile
from pathlib import Path

import _support  # noqa: F401
import numpy as np

from support import kill_rig
from sysid_ros.errors import ConfigurationError
from sysid_ros.nodes.priority import take_priority

BRAKING = 0.5
# Below that of all nodes of the demo.
PRIORITY = 10


def measure(times: int, composed: bool) -> dict[str, list[float]]:
    """Times to rest in [s] by the node, or the process of several, that was killed."""
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder, kill_rig.kill_rig(
        Path(folder) / 'demo', composed=composed
    ) as rig:
        rest: dict[str, list[float]] = {victim: [] for victim in rig.victims}
        with contextlib.suppress(ConfigurationError):
            # Beside nodes with real-time priority an ordinary process does not hear everything.
            take_priority(PRIORITY)
        bar = rig.reaction + BRAKING
        for _ in range(times):
            for victim, found in rest.items():
                seconds, speed = rig.trial(victim, random.uniform(0.3, 5.0))
                found.append(seconds)
                print(f'{victim}: at rest after {seconds:.3f} s from {speed:.2f} rad/s '
                      f'(bar {bar:.2f} s)', flush=True)
        print(f'{rig.robots} robots were needed: one that rests where no motion can begin is '
              f'replaced. {rig.unheard} trials were repeated: joint states were lost', flush=True)
    return rest | {'bar': [bar]}


def main() -> None:
    """Measure, and print one JSON line last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--times', type=int, default=20)
    parser.add_argument(
        '--composed', action='store_true', help='identification, model server and excitation in '
        'one process')
    asked = parser.parse_args()
    rest = measure(asked.times, asked.composed)
    bar = rest.pop('bar')[0]
    longest = {victim: max(found) for victim, found in rest.items()}
    print(json.dumps([
        {'name': f'{victim} killed {len(found)} times: longest time to rest',
         'value': round(longest[victim], 3), 'unit': 's', 'bar': f'<= {bar:.2f} s',
         'ok': longest[victim] <= bar}
        for victim, found in rest.items()
    ]))


if __name__ == '__main__':
    main()
